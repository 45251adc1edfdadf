//! Other names of protected files: a hard link made before the run is a way to change a file without coming near its
//! protected name. The set of such files is collected beside the start of the command, and who needs it waits.

use std::collections::HashMap;
use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::plan::{Identity, Plan, RuleId};
use crate::policy::Level;
use crate::sys::file::{self, OpenHow, RESOLVE_NO_SYMLINKS, RESOLVE_NO_XDEV};

/// Longest wait for the set. What is not known by then is taken for protected.
const PATIENCE: Duration = Duration::from_secs(10);

type Set = HashMap<Identity, (Level, Option<RuleId>)>;

/// The files below protected places that have more than one name.
#[derive(Debug, Default)]
pub struct Links {
    set: Mutex<Option<Set>>,
    ready: Condvar,
}

/// What is known of a file with several names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linked {
    /// One of its names lies below a protected place.
    Protected(Level, Option<RuleId>),
    /// None does.
    Elsewhere,
    /// The set is not there yet.
    Unknown,
}

impl Links {
    /// Starts collecting, on a thread of its own.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn collect(plan: Arc<Plan>) -> std::io::Result<Arc<Self>> {
        let links = Arc::new(Self::default());
        let shared = Arc::clone(&links);
        std::thread::Builder::new()
            .name("links".into())
            .spawn(move || {
                let set = look(&plan);
                *shared.set.lock().unwrap_or_else(PoisonError::into_inner) = Some(set);
                shared.ready.notify_all();
            })?;
        Ok(links)
    }

    /// Whether a file with several names is protected under one of them.
    #[must_use]
    pub fn find(&self, identity: Identity) -> Linked {
        let set = self.set.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .ready
            .wait_timeout_while(set, PATIENCE, |set| set.is_none());
        let (set, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match set.as_ref().map(|set| set.get(&identity)) {
            None => Linked::Unknown,
            Some(None) => Linked::Elsewhere,
            Some(Some((level, rule))) => Linked::Protected(*level, *rule),
        }
    }
}

fn look(plan: &Plan) -> Set {
    let mut set = Set::new();
    for place in &plan.places {
        if place.level.enforced() == Level::Writable || place.identity.is_none() {
            continue;
        }
        let Ok(path) = CString::new(place.path.as_os_str().as_bytes()) else {
            continue;
        };
        let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_NONBLOCK;
        match file::open_absolute(&path, flags) {
            Ok(dir) => look_below(plan, dir, place.path.clone(), &mut set),
            Err(_) => {
                // Not a directory: its own identity is known as a place.
            }
        }
    }
    set
}

fn look_below(plan: &Plan, dir: OwnedFd, path: PathBuf, set: &mut Set) {
    let mut waiting = vec![(dir, path)];
    while let Some((dir, path)) = waiting.pop() {
        for (name, kind) in file::list(dir.as_fd()).unwrap_or_default() {
            let below = path.join(std::ffi::OsStr::from_bytes(name.to_bytes()));
            if kind == libc::DT_DIR {
                let how = OpenHow {
                    flags: (libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NONBLOCK) as u64,
                    mode: 0,
                    resolve: RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
                };
                if let Ok(dir) = file::open(dir.as_fd(), &name, how) {
                    waiting.push((dir, below));
                }
            } else if let Ok(stat) = file::stat_entry(dir.as_fd(), &name)
                && stat.nlink > 1
                && stat.kind() != libc::S_IFDIR
            {
                note(
                    plan,
                    &below,
                    Identity {
                        dev: stat.dev,
                        ino: stat.ino,
                    },
                    set,
                );
            }
        }
    }
}

fn note(plan: &Plan, path: &Path, identity: Identity, set: &mut Set) {
    let found = plan.lookup(path);
    if found.level.enforced() != Level::Writable {
        set.insert(identity, (found.level, found.rule));
    }
}
