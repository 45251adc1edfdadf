//! What a call would do: the value between observing and deciding, deciding and performing.

use std::ffi::CString;

use super::decide::{Creates, Effect, Exchange, Intent, Writes};
use super::resolve::{Object, Spot};
use crate::sys::file::{OpenHow, RESOLVE_NO_MAGICLINKS, RESOLVE_NO_SYMLINKS};
use crate::sys::metadata::Time;

/// The bit of `O_TMPFILE` that no other flag has.
pub const NAMELESS: u64 = 0o20_000_000;

/// What a call would do, its objects held.
#[derive(Debug)]
pub enum Action {
    /// Nothing that the supervisor has a say in, or a certain failure: the kernel goes on.
    Pass,
    /// The call asks for nothing and succeeds.
    Nothing,
    /// Refused under every policy.
    Forbidden,
    /// Open.
    Open(Spot, OpenHow),
    /// Make a nameless file in the directory at the spot.
    OpenNameless(Object, OpenHow),
    /// Set a file's length.
    Truncate(Spot, i64),
    /// Use the target's descriptor of this number, which holds what is at the spot.
    Loosen(Spot, i32, Use),
    /// Remove an entry; with `AT_REMOVEDIR` a directory.
    Unlink(Spot, i32),
    /// Move, with the flags of renameat2(2).
    Rename(Spot, Spot, u32),
    /// Give another name.
    Link(Spot, Spot),
    /// Make a symbolic link with this content.
    Symlink(CString, Spot),
    /// Make a directory with this mode.
    Mkdir(Spot, u32),
    /// Make a node of this mode and device.
    Mknod(Spot, u32, u64),
    /// Bind a socket to a path.
    Bind(Binding),
    /// Change metadata.
    Change(Spot, Change),
}

/// A socket that is to get a path for its address.
#[derive(Debug)]
pub struct Binding {
    /// The descriptor's number in the target.
    pub socket: i32,
    /// Where the socket's entry will be.
    pub spot: Spot,
    /// The address as the program gave it (`struct sockaddr_un`, as long as it said).
    pub address: Vec<u8>,
    /// Every directory that the path led through, the one where it started first.
    pub trail: Vec<Object>,
    /// Whether the program's `/` is ours.
    pub in_our_root: bool,
}

/// What a descriptor that is open for writing is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// ftruncate(2) to this length.
    Truncate(i64),
    /// fallocate(2): mode, offset, length.
    Allocate(i32, i64, i64),
    /// fcntl(2), `F_SETFL`: the flags, without `O_APPEND`.
    Flags(i32),
}

/// A change of metadata.
#[derive(Clone, Debug)]
pub enum Change {
    /// Permission bits.
    Mode(u32),
    /// User and group; `u32::MAX` keeps one.
    Owner(u32, u32),
    /// Access and modification time; none means now.
    Times(Option<[Time; 2]>),
    /// Sets an extended attribute, with the flags of setxattr(2).
    SetAttribute(CString, Vec<u8>, i32),
    /// Removes one.
    RemoveAttribute(CString),
    /// `struct file_attr`.
    FileAttributes(Vec<u8>),
    /// An ioctl(2) on descriptor number .0.
    Control(i32, u32, Vec<u8>),
}

impl Action {
    /// Whether it makes something that the umask concerns.
    #[must_use]
    pub fn makes(&self) -> bool {
        match self {
            Self::Open(_, how) => how.flags & libc::O_CREAT as u64 != 0,
            Self::OpenNameless(..) | Self::Mkdir(..) | Self::Mknod(..) | Self::Bind(_) => true,
            _ => false,
        }
    }

    /// The length that it may give a file, where that is more than the file has.
    #[must_use]
    pub fn length(&self) -> Option<(&Spot, i64)> {
        match self {
            Self::Truncate(spot, length) | Self::Loosen(spot, _, Use::Truncate(length)) => {
                Some((spot, *length))
            }
            Self::Loosen(spot, _, Use::Allocate(mode, offset, length))
                if mode & libc::FALLOC_FL_KEEP_SIZE == 0 =>
            {
                Some((spot, offset.saturating_add(*length)))
            }
            _ => None,
        }
    }

    /// Whether it may make something new.
    #[must_use]
    pub fn creates(&self) -> bool {
        let leaves = |flags: u32| flags & libc::RENAME_WHITEOUT != 0;
        self.makes()
            || matches!(self, Self::Symlink(..))
            || matches!(self, Self::Rename(_, _, flags) if leaves(*flags))
    }

    /// What deciding needs to know, for a call with one spot.
    #[must_use]
    pub fn intent(&self) -> Option<Intent> {
        Some(match self {
            Self::Open(_, how) => {
                let has = |flag: i32| how.flags & flag as u64 != 0;
                Intent::Open {
                    writes: writes(how.flags as i32),
                    creates: match (has(libc::O_CREAT), has(libc::O_EXCL)) {
                        (true, true) => Creates::Only,
                        (true, false) => Creates::Yes,
                        (false, _) => Creates::No,
                    },
                }
            }
            Self::OpenNameless(..) => Intent::OpenNameless,
            Self::Truncate(..) => Intent::Truncate,
            Self::Loosen(..) => Intent::Loosen,
            Self::Unlink(..) => Intent::Remove,
            Self::Symlink(..) => Intent::Create(libc::S_IFLNK),
            Self::Mkdir(..) => Intent::Create(libc::S_IFDIR),
            Self::Mknod(_, mode, _) => Intent::Create(mode & libc::S_IFMT),
            Self::Bind(_) => Intent::Create(libc::S_IFSOCK),
            Self::Change(spot, change) => Intent::Metadata(effect(spot, change)),
            Self::Pass | Self::Nothing | Self::Forbidden | Self::Rename(..) | Self::Link(..) => {
                return None;
            }
        })
    }
}

/// How flags of open(2) write to what exists.
fn writes(flags: i32) -> Writes {
    if flags & (libc::O_ACCMODE | libc::O_TRUNC) == 0 {
        Writes::No
    } else if flags & (libc::O_ACCMODE | libc::O_TRUNC | libc::O_APPEND)
        == libc::O_WRONLY | libc::O_APPEND
    {
        Writes::AtEnd
    } else {
        Writes::Yes
    }
}

/// The kind of move that renameat2(2) flags ask for.
#[must_use]
pub fn exchange(flags: u32) -> Exchange {
    if flags & libc::RENAME_EXCHANGE != 0 {
        Exchange::Yes
    } else if flags & libc::RENAME_NOREPLACE != 0 {
        Exchange::NoReplace
    } else {
        Exchange::No
    }
}

fn effect(spot: &Spot, change: &Change) -> Effect {
    const OWNER: u32 = 0o700;
    let open = match change {
        Change::Mode(mode) => mode & OWNER == OWNER,
        Change::Owner(user, _) => {
            *user == u32::MAX || spot.object().is_some_and(|it| it.stat.uid == *user)
        }
        Change::SetAttribute(name, value, _) if name.as_c_str() == c"system.posix_acl_access" => {
            acl_keeps_owner(value)
        }
        Change::SetAttribute(name, ..) | Change::RemoveAttribute(name) => is_note(name.to_bytes()),
        Change::FileAttributes(_) | Change::Control(..) => false,
        Change::Times(_) => true,
    };
    if open { Effect::Open } else { Effect::Closing }
}

/// Whether an extended attribute says nothing about who may enter a directory or what is seen in it: not the lists of
/// NFS and SMB, no label of a security module, no mark of an overlay.
fn is_note(name: &[u8]) -> bool {
    name.starts_with(b"system.posix_acl_")
        || name.starts_with(b"user.") && !name.starts_with(b"user.overlay.")
}

/// Whether an access control list (linux/posix_acl_xattr.h: a version, then entries of tag, permissions, id) leaves the
/// owner all rights.
fn acl_keeps_owner(value: &[u8]) -> bool {
    const USER_OBJ: u16 = 1;
    value
        .get(4..)
        .unwrap_or_default()
        .chunks_exact(8)
        .all(|entry| {
            let tag = u16::from_le_bytes([entry[0], entry[1]]);
            let permissions = u16::from_le_bytes([entry[2], entry[3]]);
            tag != USER_OBJ || permissions & 7 == 7
        })
}

/// How the supervisor opens by itself: never through a link, never taking a terminal. The flags that fcntl(2) shows
/// afterwards are the caller's.
#[must_use]
pub fn careful(how: OpenHow) -> OpenHow {
    OpenHow {
        flags: how.flags | libc::O_NOCTTY as u64,
        mode: how.mode,
        resolve: RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    }
}
