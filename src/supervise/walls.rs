//! Walls inside ours: a process may put Landlock on itself. What the supervisor does for it later would go round that wall,
//! and the kernel tells nobody who stands behind which, so it is remembered who built one.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use super::target::{Target, Trouble};
use crate::sys::{Errno, process};

/// A process, told from a later one with the same number by when it was started.
type Known = (i32, u64);

/// Processes that have restricted themselves.
#[derive(Debug, Default)]
pub struct Walls {
    walled: Mutex<HashSet<Known>>,
}

impl Walls {
    /// Takes note of a process that is about to restrict itself.
    ///
    /// # Errors
    /// When it is gone.
    pub fn note(&self, target: &Target) -> Result<(), Trouble> {
        let pid = target.status()?.tgid;
        let (_, started) = process::origin(pid).ok_or(Trouble::Own(Errno::ESRCH))?;
        let mut walled = self.walled.lock().unwrap_or_else(PoisonError::into_inner);
        walled.insert((pid, started));
        Ok(())
    }

    /// Whether a process may stand behind such a wall: it or one above it, up to `command`, has built one. Whoever has
    /// lost its parents may.
    #[must_use]
    pub fn may_hold(&self, target: &Target, command: i32) -> bool {
        let walled = self.walled.lock().unwrap_or_else(PoisonError::into_inner);
        if walled.is_empty() {
            return false;
        }
        let own = std::process::id() as i32;
        let mut pid = target.status().map_or(0, |status| status.tgid);
        while let Some((parent, started)) = process::origin(pid) {
            if walled.contains(&(pid, started)) {
                return true;
            }
            if parent == own {
                return pid != command;
            }
            pid = parent;
        }
        true
    }
}
