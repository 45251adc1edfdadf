//! What this run made: known by device, inode and birth time from the moment it exists, never by name.
//!
//! The supervisor makes everything that the wall does not grant itself, so it knows what it made. Where the wall grants,
//! the kernel goes on by itself, and birth times tell what is younger than the run; nothing there is kept from the run
//! anyway, so a process outside that makes something beside it gains and loses nothing by that.
//!
//! File systems that keep no birth time cannot tell a reused inode number, so nothing on them counts as made by the run.

use std::collections::{HashMap, HashSet};
use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};

use super::mark::Mark;
use crate::sys::file::Stat;
use crate::sys::{Errno, clock};

/// Objects that are remembered: 25 bytes each, and a table has up to twice the room, three times while it grows. What is
/// made beyond that counts as having existed.
const MOST_OBJECTS: usize = 1 << 20;
/// Names that are remembered, of a few hundred bytes each.
const MOST_NAMES: usize = 1 << 16;

/// Who made what is at a spot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// This run made the object.
    ByRun,
    /// The object existed; this run gave it this further name.
    NameByRun,
    /// It existed before, or somebody else made it.
    Before,
}

/// A name in a directory.
type Name = (Mark, Box<[u8]>);

/// What one run made.
#[derive(Debug)]
pub struct Owned {
    since: i64,
    objects: RwLock<HashSet<Mark>>,
    /// Further names that the run gave to what existed, each with what it named.
    names: RwLock<HashMap<Name, Mark>>,
    /// What these have named: it stays what it is, under every name.
    foreign: RwLock<HashSet<Mark>>,
    full: AtomicBool,
    /// Not all of it could be remembered.
    lost_track: AtomicBool,
}

impl Owned {
    /// Of a run that starts now.
    ///
    /// # Errors
    /// As clock_gettime(2).
    pub fn from_now() -> Result<Self, Errno> {
        Ok(Self {
            since: clock::last_tick()?,
            objects: RwLock::default(),
            names: RwLock::default(),
            foreign: RwLock::default(),
            full: AtomicBool::new(false),
            lost_track: AtomicBool::new(false),
        })
    }

    /// Whether the run made this object.
    #[must_use]
    pub fn holds(&self, stat: &Stat) -> bool {
        let objects = self.objects.read().unwrap_or_else(PoisonError::into_inner);
        objects.contains(&Mark::new(stat))
    }

    /// Whether an object is not older than the run.
    #[must_use]
    pub fn is_younger(&self, stat: &Stat) -> bool {
        stat.birth >= self.since
    }

    /// Whether the run may have made an object that is found where it could: it is not older than the run, nor known to be
    /// somebody else's (who made it meanwhile; or an overlay has copied it up, which makes it young again).
    #[must_use]
    pub fn may_hold(&self, stat: &Stat) -> bool {
        if !self.is_younger(stat) || self.lost_track.load(Ordering::SeqCst) {
            return false;
        }
        let foreign = self.foreign.read().unwrap_or_else(PoisonError::into_inner);
        !foreign.contains(&Mark::new(stat))
    }

    /// Whether the run gave this name to what it names.
    #[must_use]
    pub fn holds_name(&self, dir: &Stat, name: &CStr, object: &Stat) -> bool {
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        !names.is_empty() && names.get(&key(dir, name)) == Some(&Mark::new(object))
    }

    /// The run made this object.
    pub fn add(&self, stat: &Stat) {
        if stat.birth == 0 {
            return;
        }
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        if objects.len() < MOST_OBJECTS {
            objects.insert(Mark::new(stat));
        } else {
            drop(objects);
            self.say_full();
        }
    }

    /// The object is gone, or stands for something that existed.
    pub fn remove(&self, stat: &Stat) {
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        objects.remove(&Mark::new(stat));
    }

    /// The run gave an object that existed a further name.
    pub fn add_name(&self, dir: &Stat, name: &CStr, object: Mark) {
        let mut foreign = self.foreign.write().unwrap_or_else(PoisonError::into_inner);
        if foreign.len() < MOST_NAMES {
            foreign.insert(object);
        } else {
            self.lost_track.store(true, Ordering::SeqCst);
        }
        drop(foreign);
        if dir.birth == 0 {
            return;
        }
        let mut names = self.names.write().unwrap_or_else(PoisonError::into_inner);
        if names.len() < MOST_NAMES {
            names.insert(key(dir, name), object);
        } else {
            drop(names);
            self.say_full();
        }
    }

    /// A name is gone. Tells what it named if it was one that the run gave.
    pub fn remove_name(&self, dir: &Stat, name: &CStr) -> Option<Mark> {
        if self
            .names
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .is_empty()
        {
            return None;
        }
        let mut names = self.names.write().unwrap_or_else(PoisonError::into_inner);
        names.remove(&key(dir, name))
    }

    fn say_full(&self) {
        if !self.full.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "this run has made more than guard remembers: what it makes from now on cannot be removed where the policy \
                 says no-delete or add-only"
            );
        }
    }
}

fn key(dir: &Stat, name: &CStr) -> Name {
    (Mark::new(dir), name.to_bytes().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(ino: u64, birth: i64) -> Stat {
        Stat {
            dev: 1,
            ino,
            birth,
            mode: libc::S_IFREG | 0o644,
            uid: 0,
            gid: 0,
            nlink: 1,
            mount: 1,
            rdev: 0,
        }
    }

    #[test]
    fn an_inode_number_that_is_used_again_is_another_object() {
        let owned = Owned::from_now().unwrap();
        owned.add(&stat(7, 100));
        assert!(owned.holds(&stat(7, 100)));
        assert!(!owned.holds(&stat(7, 101)));
        owned.remove(&stat(7, 100));
        assert!(!owned.holds(&stat(7, 100)));
    }

    #[test]
    fn without_a_birth_time_nothing_is_known() {
        let owned = Owned::from_now().unwrap();
        owned.add(&stat(7, 0));
        assert!(!owned.holds(&stat(7, 0)));
        assert!(!owned.is_younger(&stat(7, 0)));
    }

    #[test]
    fn a_name_counts_for_the_object_that_it_was_given_to() {
        let owned = Owned::from_now().unwrap();
        let (dir, file) = (stat(1, 1), stat(2, 2));
        owned.add_name(&dir, c"x", Mark::new(&file));
        assert!(owned.holds_name(&dir, c"x", &file));
        assert!(!owned.holds_name(&dir, c"x", &stat(3, 3)), "swapped");
        assert!(!owned.holds_name(&dir, c"y", &file));
        assert!(!owned.holds_name(&stat(1, 9), c"x", &file), "elsewhere");
        assert!(owned.remove_name(&dir, c"x").is_some());
        assert!(!owned.holds_name(&dir, c"x", &file));
    }

    #[test]
    fn what_was_given_a_further_name_is_never_the_runs_own() {
        let owned = Owned::from_now().unwrap();
        let (dir, file) = (stat(1, 1), stat(2, i64::MAX));
        assert!(owned.may_hold(&file));
        owned.add_name(&dir, c"x", Mark::new(&file));
        owned.remove_name(&dir, c"x");
        assert!(!owned.may_hold(&file));
        assert!(!owned.may_hold(&dir), "older than the run");
        owned.lost_track.store(true, Ordering::SeqCst);
        assert!(!owned.may_hold(&stat(3, i64::MAX)), "not all is remembered");
    }

    /// In a process of its own, where no other test needs memory at the same time.
    #[test]
    fn a_million_objects_need_less_than_100_mib_and_more_are_not_known() {
        const ALONE: &str = "GUARD_TEST_ALONE";
        if std::env::var_os(ALONE).is_none() {
            let name = "supervise::owned::tests::a_million_objects_need_less_than_100_mib_and_more_are_not_known";
            let status = std::process::Command::new(std::env::current_exe().unwrap())
                .args(["--exact", name])
                .env(ALONE, "1")
                .stdout(std::process::Stdio::null())
                .status();
            assert!(status.unwrap().success());
            return;
        }
        let resident = || {
            let text = std::fs::read_to_string("/proc/self/status").unwrap();
            let line = text.lines().find(|line| line.starts_with("VmHWM")).unwrap();
            let kib = line.split_whitespace().nth(1).unwrap();
            kib.parse::<usize>().unwrap()
        };
        let before = resident();
        let owned = Owned::from_now().unwrap();
        for number in 0..=MOST_OBJECTS as u64 {
            owned.add(&stat(number, 5));
        }
        let used = resident() - before;
        assert!(used > 20 * 1024 && used < 100 * 1024, "{used} KiB");
        assert!(owned.holds(&stat(MOST_OBJECTS as u64 - 1, 5)));
        assert!(!owned.holds(&stat(MOST_OBJECTS as u64, 5)));
    }
}
