//! Everything a target is restricted by. The value exists only when all of it can be enforced, or the caller has
//! accepted that it cannot.

use super::{Effort, LaunchError};
use crate::plan::Plan;
use crate::supervise::Backing;
use crate::supervise::calls::Architecture;
use crate::supervise::filter;
use crate::sys::file::Stat;
use crate::sys::seccomp::{self, Instruction};
use crate::sys::{credentials, process};
use crate::wall::{NewPrivileges, Wall};

const CAP_SYS_ADMIN: u64 = 1 << 21;

/// The wall and the filter of one run, not yet in force.
#[derive(Debug)]
pub struct Sandbox {
    /// The wall; none only by [`Effort::BestEffort`].
    pub wall: Option<Wall>,
    /// What the wall grants.
    pub granted: Vec<Stat>,
    /// The filter.
    pub filter: Vec<Instruction>,
    /// Whether the target may gain privileges.
    pub privileges: NewPrivileges,
    /// What is missing, in words.
    pub missing: Vec<String>,
}

impl Sandbox {
    /// Prepares both layers.
    ///
    /// # Errors
    /// When one of them is not to be had and `effort` is strict.
    pub fn prepare(plan: &Plan, effort: Effort) -> Result<Self, LaunchError> {
        let mut missing = Vec::new();
        let wall = match Wall::build(plan) {
            Ok(wall) => Some(wall),
            Err(error) if effort == Effort::BestEffort => {
                missing.push(format!("no wall: {error}"));
                None
            }
            Err(error) => return Err(error.into()),
        };
        if let Err(errno) = seccomp::check_sizes() {
            let text =
                format!("no supervisor: seccomp user notification is not usable here ({errno})");
            if effort == Effort::Strict {
                return Err(LaunchError::NotEnforced(text));
            }
            missing.push(text);
        }
        let capable =
            credentials::capabilities().is_ok_and(|sets| sets.effective & CAP_SYS_ADMIN != 0);
        Ok(Self {
            granted: wall
                .as_ref()
                .map(|wall| wall.granted().to_vec())
                .unwrap_or_default(),
            wall,
            filter: filter::assemble(Architecture::NATIVE),
            privileges: if capable {
                NewPrivileges::Kept
            } else {
                NewPrivileges::GivenUp
            },
            missing,
        })
    }

    /// What stands behind the supervisor.
    #[must_use]
    pub fn backing(&self) -> Backing {
        if self.wall.is_some() {
            Backing::Wall
        } else {
            Backing::Nothing
        }
    }

    /// Puts the wall into force for the calling process.
    ///
    /// # Errors
    /// When the kernel does not enforce it.
    pub fn restrict(wall: Option<Wall>, privileges: NewPrivileges) -> Result<(), String> {
        match wall {
            Some(wall) => wall.enforce(privileges).map_err(|error| error.to_string()),
            None if privileges == NewPrivileges::GivenUp => {
                process::give_up_new_privileges().map_err(|errno| errno.to_string())
            }
            None => Ok(()),
        }
    }
}
