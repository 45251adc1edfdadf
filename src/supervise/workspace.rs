//! The workspace of a command that was started elsewhere.
//!
//! `guard -- script` from outside the home directory has no workspace in it, though the script may go to a repository
//! there and work. So the first repository in the home directory in which the command starts a program is taken for the
//! workspace, and the plan is resolved anew as for a run that starts there. It opens nothing but that repository: one that
//! was there before the run, holds nothing protected, and into which the run has moved nothing; and, where it is a worktree
//! or submodule, what it belongs to, if that was there before, too. After one has been found none is looked for.

use std::collections::HashMap;
use std::ffi::CString;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::receive::Supervisor;
use super::target::Target;
use super::territory::Territory;
use crate::plan::Plan;
use crate::sys::file;

/// A repository and the plan of a run that starts in it.
#[derive(Debug)]
pub struct Found {
    /// The repository's top directory, canonical.
    pub top: PathBuf,
    /// The plan.
    pub plan: Plan,
}

/// Tells what the workspace would be for a program that starts in a directory; none where there is none in the home
/// directory.
pub type Resolve = Box<dyn Fn(&Path) -> Option<Found> + Send + Sync>;

/// The search for a workspace.
pub struct Search {
    resolve: Resolve,
    found: Box<dyn Fn(String) + Send + Sync>,
    looks: Mutex<HashMap<i32, u8>>,
    goes_on: AtomicBool,
}

/// Threads that are remembered as having been looked at.
const MOST_SEEN: usize = 65_536;
/// How often a thread is looked at: a shell that opens its terminal may execute a program afterwards.
const MOST_LOOKS: u8 = 8;

impl Search {
    /// Starts one. `found` is told in words.
    #[must_use]
    pub fn new(resolve: Resolve, found: Box<dyn Fn(String) + Send + Sync>) -> Self {
        Self {
            resolve,
            found,
            looks: Mutex::default(),
            goes_on: AtomicBool::new(true),
        }
    }

    /// Nothing can be found any more: the run has moved what existed, perhaps into a repository.
    pub(super) fn end(&self) {
        self.goes_on.store(false, Ordering::SeqCst);
    }

    fn looks_at(&self, tid: i32) -> bool {
        let mut all = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST_SEEN {
            all.clear();
        }
        let looks = all.entry(tid).or_default();
        *looks = looks.saturating_add(1);
        *looks <= MOST_LOOKS
    }
}

impl Supervisor {
    /// Takes the repository in which a program was started for the workspace, if one is looked for.
    pub(super) fn look_for_workspace(&self, target: &Target) {
        let Some(search) = &self.search else { return };
        if !search.goes_on.load(Ordering::Relaxed) || !search.looks_at(target.tid) {
            return;
        }
        let Some(found) = target
            .start_directory()
            .and_then(|dir| (search.resolve)(&dir))
        else {
            return;
        };
        let known = self.territory();
        let Some(proofs) = found.plan.proofs(known.plan(), &found.top) else {
            return;
        };
        let genuine = proofs.iter().all(|proof| was_there_before(proof, &known));
        if !genuine || !search.goes_on.swap(false, Ordering::SeqCst) {
            return;
        }
        let told = format!(
            "{} is taken for the workspace: guard was started outside the home directory, and the command works there",
            found.plan.show(&found.top)
        );
        let mut territory = self
            .territory
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *territory = Arc::new(known.with_plan(found.plan));
        drop(territory);
        (search.found)(told);
    }
}

/// Whether what makes a folder a repository is older than the run.
fn was_there_before(proof: &Path, territory: &Territory) -> bool {
    let Ok(path) = CString::new(proof.as_os_str().as_bytes()) else {
        return false;
    };
    let flags = libc::O_PATH | libc::O_NOFOLLOW;
    let stat = file::open_absolute(&path, flags).and_then(|git| file::stat(git.as_fd()));
    stat.is_ok_and(|stat| stat.birth != 0 && !territory.owned().is_younger(&stat))
}
