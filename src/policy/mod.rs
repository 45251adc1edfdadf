//! What a policy says, before anything is known about the machine: levels, rules, variables, shipped policies.
#![forbid(unsafe_code)]

use serde::{Deserialize, Serialize};

/// What may happen to a place. Ordered: the stricter level is the smaller one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Nothing is made, changed or removed.
    ReadOnly,
    /// New entries may be made; what exists stays as it is.
    AddOnly,
    /// What exists may be changed, not removed.
    NoDelete,
    /// Anything goes.
    Writable,
}

impl Level {
    /// The level that this version really enforces: everything but `writable` is treated as `read-only`.
    #[must_use]
    pub fn enforced(self) -> Self {
        match self {
            Self::Writable => Self::Writable,
            Self::ReadOnly | Self::AddOnly | Self::NoDelete => Self::ReadOnly,
        }
    }
}

/// Where a rule was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The file as the person named it, `policy pi` for a shipped one, or `built in`.
    pub file: String,
    /// Line, from 1; 0 when there is no text.
    pub line: usize,
    /// Column in characters, from 1; 0 when there is no text.
    pub column: usize,
}
