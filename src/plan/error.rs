//! Why a policy cannot be met with this machine.
#![forbid(unsafe_code)]

use std::io;
use std::path::PathBuf;

/// A plan that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The list of mounts cannot be read.
    #[error("cannot read /proc/self/mountinfo, which says what else shows a protected directory")]
    Mounts {
        /// Why.
        source: io::Error,
    },
    /// A line of it means nothing.
    #[error("line {line} of /proc/self/mountinfo is not understood")]
    MountLine {
        /// From 1.
        line: usize,
    },
    /// Neither `$HOME` nor the user database names an absolute path.
    #[error("there is no home directory: set HOME to an absolute path")]
    NoHome,
    /// Something on the way to a protected place cannot be looked at.
    #[error("cannot look at {}", path.display())]
    Look {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The working directory is not an absolute path.
    #[error("the working directory {} is not an absolute path", path.display())]
    WorkingDirectory {
        /// What was given.
        path: PathBuf,
    },
    /// Mounts that show each other without an end.
    #[error("the protected directories are seen through mounts in too many ways")]
    TooManyAliases,
}
