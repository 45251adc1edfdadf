//! Everything a target is restricted by. The value exists only when all of it can be enforced, or the caller has
//! accepted that it cannot.

use super::{Effort, LaunchError, advice};
use crate::plan::Plan;
use crate::supervise::calls::Architecture;
use crate::supervise::filter::{self, Besides};
use crate::sys::file::Stat;
use crate::sys::seccomp::{self, Instruction};
use crate::sys::{Errno, credentials, process};
use crate::wall::{NewPrivileges, Wall};

const CAP_SYS_ADMIN: u64 = 1 << 21;

/// The wall and the filter of one run, not yet in force.
#[derive(Debug)]
pub struct Sandbox {
    /// The wall; none only by [`Effort::BestEffort`].
    pub wall: Option<Wall>,
    /// What the wall grants.
    pub granted: Vec<Stat>,
    /// The filter, or why the kernel will not take it.
    pub filter: Result<Vec<Instruction>, Errno>,
    /// Whether the target may gain privileges.
    pub privileges: NewPrivileges,
    /// What the filter asks about besides what changes the tree.
    pub besides: Besides,
    /// Why there is no wall, in words.
    pub no_wall: Option<String>,
}

impl Sandbox {
    /// Prepares both layers.
    ///
    /// # Errors
    /// When one of them is not to be had and `effort` is strict.
    pub fn prepare(plan: &Plan, effort: Effort) -> Result<Self, LaunchError> {
        let (wall, no_wall) = match Wall::build(plan) {
            Ok(wall) => (Some(wall), None),
            Err(error) if effort == Effort::BestEffort => (None, Some(advice::with_causes(&error))),
            Err(error) => return Err(error.into()),
        };
        let privileges = privileges();
        let besides = Besides {
            // Only where guard itself takes away what they would give.
            executions: privileges == NewPrivileges::GivenUp
                && !process::has_given_up_new_privileges(),
            loosening: plan.lets_files_grow(),
        };
        let granted = wall.as_ref().map(|wall| wall.granted().to_vec());
        Ok(Self {
            granted: granted.unwrap_or_default(),
            wall,
            filter: seccomp::check_sizes()
                .map(|()| filter::assemble(Architecture::NATIVE, besides)),
            privileges,
            besides,
            no_wall,
        })
    }
}

/// What the calling process has to give up before the kernel lets it restrict itself.
#[must_use]
pub fn privileges() -> NewPrivileges {
    let capable = credentials::capabilities().is_ok_and(|sets| sets.effective & CAP_SYS_ADMIN != 0);
    if capable {
        NewPrivileges::Kept
    } else {
        NewPrivileges::GivenUp
    }
}
