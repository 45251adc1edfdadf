//! What an object is known by for as long as it exists, and never afterwards.

use crate::sys::file::Stat;

/// Device, inode and birth time: a later object with the same inode number has another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mark {
    dev: u64,
    ino: u64,
    birth: i64,
}

impl Mark {
    /// The mark of what statx(2) described.
    #[must_use]
    pub fn new(stat: &Stat) -> Self {
        Self {
            dev: stat.dev,
            ino: stat.ino,
            birth: stat.birth,
        }
    }

    /// For another guard.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 24] {
        let mut bytes = [0; 24];
        bytes[..8].copy_from_slice(&self.dev.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.ino.to_le_bytes());
        bytes[16..].copy_from_slice(&self.birth.to_le_bytes());
        bytes
    }

    /// From another guard; none when these are not 24 bytes.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let part = |at: usize| bytes.get(at..at + 8)?.try_into().ok();
        Some(Self {
            dev: u64::from_le_bytes(part(0)?),
            ino: u64::from_le_bytes(part(8)?),
            birth: i64::from_le_bytes(part(16)?),
        })
    }
}
