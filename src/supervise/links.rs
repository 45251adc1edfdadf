//! Other names of files that may not be changed: a hard link made before the run is a way to change a file without coming
//! near its protected name. The set of such files is collected beside the start of the command, and who needs it waits.
//! Where what existed may be changed, another name of it is no way to do more.

use std::collections::HashMap;
use std::ffi::{CString, OsStr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::plan::{Identity, Plan, RuleId};
use crate::policy::Level;
use crate::sys::Errno;
use crate::sys::file::{self, OpenHow, RESOLVE_NO_SYMLINKS, RESOLVE_NO_XDEV};

/// Longest wait for the set. What is not known by then is taken for protected.
const PATIENCE: Duration = Duration::from_secs(10);

/// What was found.
#[derive(Debug, Default)]
struct Set {
    files: HashMap<Identity, (Level, Option<RuleId>)>,
    /// Something could not be looked at for want of descriptors, memory or room for its path.
    incomplete: bool,
}

/// The files that may not be changed and have more than one name.
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
    /// Starts collecting, on a thread of its own. Where none can be started nothing is known.
    pub fn collect(self: &Arc<Self>, plan: Arc<Plan>) {
        let shared = Arc::clone(self);
        let job = move || shared.found(look(&plan));
        let thread = std::thread::Builder::new().name("links".into()).spawn(job);
        if let Err(error) = thread {
            tracing::warn!(%error, "other names of protected files are not looked for");
            self.found(Set {
                incomplete: true,
                ..Set::default()
            });
        }
    }

    fn found(&self, set: Set) {
        *self.set.lock().unwrap_or_else(PoisonError::into_inner) = Some(set);
        self.ready.notify_all();
    }

    /// Whether a file with several names is protected under one of them.
    #[must_use]
    pub fn find(&self, identity: Identity) -> Linked {
        let set = self.set.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .ready
            .wait_timeout_while(set, PATIENCE, |set| set.is_none());
        let (set, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let Some(set) = set.as_ref() else {
            return Linked::Unknown;
        };
        match set.files.get(&identity) {
            Some((level, rule)) => Linked::Protected(*level, *rule),
            None if set.incomplete => Linked::Unknown,
            None => Linked::Elsewhere,
        }
    }
}

fn look(plan: &Plan) -> Set {
    let mut set = Set::default();
    for place in &plan.places {
        if place.level >= Level::NoDelete || place.identity.is_none() {
            continue;
        }
        let Ok(path) = CString::new(place.path.as_os_str().as_bytes()) else {
            continue;
        };
        let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_NONBLOCK;
        match file::open_absolute(&path, flags) {
            Ok(dir) => look_below(plan, &dir, &place.path, &mut set),
            // Not a directory: its own identity is known as a place.
            Err(error) => set.missed(error),
        }
    }
    set
}

impl Set {
    /// Takes note of what could not be looked at. What has gone, lies on another mount or may not be read by us, and so
    /// not by the target, is none of that.
    fn missed(&mut self, error: Errno) {
        let harmless = [
            Errno::ENOENT,
            Errno::ENOTDIR,
            Errno::ELOOP,
            Errno::EXDEV,
            Errno::EACCES,
        ];
        self.incomplete |= !harmless.contains(&error);
    }
}

/// One descriptor at a time, however many folders there are.
fn look_below(plan: &Plan, root: &OwnedFd, path: &Path, set: &mut Set) {
    let how = OpenHow {
        flags: (libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NONBLOCK) as u64,
        mode: 0,
        resolve: RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
    };
    let mut waiting = vec![PathBuf::from(".")];
    while let Some(at) = waiting.pop() {
        let opened = CString::new(at.as_os_str().as_bytes())
            .map_err(|_| Errno::EINVAL)
            .and_then(|name| file::open(root.as_fd(), &name, how))
            .and_then(|dir| Ok((file::list(dir.as_fd())?, dir)));
        let (entries, dir) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                set.missed(error);
                continue;
            }
        };
        for (name, kind) in entries {
            let below = at.join(OsStr::from_bytes(name.to_bytes()));
            if kind == libc::DT_DIR {
                waiting.push(below);
                continue;
            }
            match file::stat_entry(dir.as_fd(), &name) {
                Ok(stat) if stat.kind() == libc::S_IFDIR => waiting.push(below),
                Ok(stat) if stat.nlink > 1 => {
                    let (dev, ino) = (stat.dev, stat.ino);
                    note(
                        plan,
                        &path.join(below.strip_prefix(".").unwrap_or(&below)),
                        Identity { dev, ino },
                        set,
                    );
                }
                Ok(_) => {}
                Err(error) => set.missed(error),
            }
        }
    }
}

fn note(plan: &Plan, path: &Path, identity: Identity, set: &mut Set) {
    let found = plan.lookup(path);
    if found.level < Level::NoDelete {
        set.files.insert(identity, (found.level, found.rule));
    }
}
