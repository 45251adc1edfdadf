//! The wall: a Landlock ruleset that grants, directory by directory, everything but what a plan protects.
//!
//! Landlock grants whole subtrees and cannot take anything back below a grant, so each ancestor of a protected place is
//! left out and its other subdirectories are granted one by one. What lies directly in an ancestor is the supervisor's.
#![forbid(unsafe_code)]

mod build;
mod silent;
#[cfg(test)]
mod tests;

use landlock::{
    RestrictSelfError, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus,
};

use crate::sys::file::Stat;

/// Landlock's interface version from which truncation can be denied; below it a wall would have a hole.
pub const NEEDED_VERSION: u32 = 3;

/// A ruleset that waits for the process it shall restrict.
#[derive(Debug)]
pub struct Wall {
    ruleset: RulesetCreated,
    granted: Vec<Stat>,
}

/// Why there is no wall.
#[derive(Debug, thiserror::Error)]
pub enum WallError {
    /// The kernel has none, or hides it.
    #[error("the kernel offers no Landlock: {}", absence(*.0))]
    Absent(crate::sys::Errno),
    /// Too old a one.
    #[error(
        "this kernel offers Landlock version {found}, and guard needs version {NEEDED_VERSION}: use Linux 6.2 or later"
    )]
    Version {
        /// What it has.
        found: u32,
    },
    /// The kernel did not take the rules.
    #[error("the kernel did not take the Landlock rules")]
    Ruleset(#[from] landlock::RulesetError),
    /// A directory could not be looked at.
    #[error("cannot look at {path} to build the wall")]
    Look {
        /// The directory.
        path: std::path::PathBuf,
        /// Why.
        source: crate::sys::Errno,
    },
    /// Not every right that was asked for is enforced.
    #[error("the kernel enforces only a part of the wall")]
    Partly,
    /// Too many walls stand already: the kernel puts sixteen around a process.
    #[error(
        "sixteen Landlock rulesets, the most that the kernel allows, are in force already: start guard outside of some of \
         the sandboxes around it"
    )]
    TooDeep,
}

/// Why the kernel did not put a whole ruleset into force (landlock_restrict_self(2)).
fn refused(error: &std::io::Error) -> WallError {
    match error.raw_os_error() {
        Some(libc::E2BIG) => WallError::TooDeep,
        errno => WallError::Absent(crate::sys::Errno::from_raw(errno.unwrap_or(0))),
    }
}

fn absence(errno: crate::sys::Errno) -> String {
    use crate::sys::Errno;
    match errno {
        Errno::ENOSYS => "use a kernel with CONFIG_SECURITY_LANDLOCK (Linux 6.2 or later); in a container, let its system \
                          call filter allow the landlock calls"
            .into(),
        Errno::EOPNOTSUPP => "it is built in, but switched off; add `landlock` to the `lsm=` parameter that the kernel is \
                              started with"
            .into(),
        other => format!("it answers {other}; let the container's system call filter allow the landlock calls"),
    }
}

/// Whether the process gives up gaining privileges by executing programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewPrivileges {
    /// It gives them up (no_new_privs): needed by everyone without CAP_SYS_ADMIN.
    GivenUp,
    /// It keeps them.
    Kept,
}

impl Wall {
    /// What is granted: directories with all that they hold, and devices.
    #[must_use]
    pub fn granted(&self) -> &[Stat] {
        &self.granted
    }

    /// Restricts the calling process for good.
    ///
    /// # Errors
    /// When the kernel does not enforce all of it.
    pub fn enforce(self, privileges: NewPrivileges) -> Result<(), WallError> {
        let keeps = privileges == NewPrivileges::Kept;
        let status = self.ruleset.no_new_privs(!keeps).restrict_self();
        let status = status.map_err(|error| match error {
            RulesetError::RestrictSelf(RestrictSelfError::RestrictSelfCall { source, .. }) => {
                refused(&source)
            }
            other => WallError::Ruleset(other),
        })?;
        if status.ruleset == RulesetStatus::FullyEnforced {
            Ok(())
        } else {
            Err(WallError::Partly)
        }
    }
}
