//! What a performed action means for what the run made.

use std::os::fd::AsFd;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::attempt::Action;
use super::judge::Verdict;
use super::mark::Mark;
use super::owned::{Made, Owned};
use super::perform::Outcome;
use super::resolve::{Entry, Object, Spot};
use crate::policy::Level;
use crate::sys::file::{self, Stat};

/// What an action has just made, if anything. `tick` is the time of the last tick before it was done: what is older has been
/// put in its place by somebody else.
#[must_use]
pub fn made(action: &Action, outcome: &Outcome, tick: i64) -> Option<Stat> {
    let (at, kind) = match (action, outcome) {
        (Action::Open(spot, how), Outcome::Descriptor(fd, _)) => {
            let makes = spot.object().is_none() && how.flags & libc::O_CREAT as u64 != 0;
            return makes.then(|| file::stat(fd.as_fd()).ok()).flatten();
        }
        (Action::OpenNameless(..), Outcome::Descriptor(fd, _)) => {
            return file::stat(fd.as_fd()).ok();
        }
        (Action::Mkdir(Spot::Entry(at), _), _) => (at, libc::S_IFDIR),
        (Action::Mknod(Spot::Entry(at), mode, _), _) => (at, mode & libc::S_IFMT),
        (Action::Symlink(_, Spot::Entry(at)), _) => (at, libc::S_IFLNK),
        // What it leaves in the place of what moves (rename(2)).
        (Action::Rename(Spot::Entry(at), _, flags), _) if flags & libc::RENAME_WHITEOUT != 0 => {
            (at, libc::S_IFCHR)
        }
        (Action::Bind(binding), _) => match &binding.spot {
            Spot::Entry(at) => (at, libc::S_IFSOCK),
            Spot::Held(_) => return None,
        },
        _ => return None,
    };
    let found = file::stat_entry(at.dir.as_fd(), &at.name).ok()?;
    (found.kind() == kind && found.birth >= tick).then_some(found)
}

/// Keeps account under one plan.
pub fn note(verdict: &Verdict<'_>, action: &Action, made: Option<&Stat>) {
    let owned = verdict.territory.owned();
    if let Some(stat) = made {
        owned.add(stat);
    }
    match action {
        Action::Unlink(Spot::Entry(at), _) => {
            owned.remove_name(&at.dir.stat, &at.name);
            if let Some(object) = &at.object {
                forget(owned, object);
            }
        }
        Action::Rename(Spot::Entry(from), Spot::Entry(to), flags) => {
            if flags & libc::RENAME_EXCHANGE == 0 {
                moved(verdict, from, to);
            } else {
                exchanged(verdict, from, to);
            }
        }
        Action::Link(source, Spot::Entry(to)) => linked(verdict, source, to),
        _ => {}
    }
}

/// An object has lost a name, perhaps its last one.
fn forget(owned: &Owned, object: &Object) {
    let gone = |stat: Stat| stat.nlink == 0 || stat.kind() == libc::S_IFDIR;
    if owned.holds(&object.stat) && file::stat(object.as_fd()).map_or(true, gone) {
        owned.remove(&object.stat);
    }
}

fn moved(verdict: &Verdict<'_>, from: &Entry, to: &Entry) {
    let owned = verdict.territory.owned();
    let (Some(first), Some(second), Some(object)) = (&verdict.first, &verdict.second, &from.object)
    else {
        return;
    };
    let mark = |object: &Object| Mark::new(&object.stat);
    if to.object.as_ref().map(mark) == Some(mark(object)) {
        return; // onto itself, or onto another of its names: nothing has happened
    }
    if first.level == Level::Writable && second.level != Level::Writable {
        verdict.territory.adopt(object);
    }
    owned.remove_name(&to.dir.stat, &to.name);
    if let Some(mark) = owned.remove_name(&from.dir.stat, &from.name) {
        owned.add_name(&to.dir.stat, &to.name, mark);
    }
    let Some(replaced) = &to.object else { return };
    if second.level != Level::Writable && second.made == Made::Before {
        // It stands for what existed from now on.
        owned.remove(&object.stat);
    } else {
        forget(owned, replaced);
    }
}

fn exchanged(verdict: &Verdict<'_>, from: &Entry, to: &Entry) {
    let owned = verdict.territory.owned();
    for entry in [from, to] {
        owned.remove_name(&entry.dir.stat, &entry.name);
    }
    let (Some(first), Some(second)) = (&verdict.first, &verdict.second) else {
        return;
    };
    let leaves = match (first.level, second.level) {
        (Level::Writable, Level::Writable) => return,
        (Level::Writable, _) => from,
        (_, Level::Writable) => to,
        _ => return,
    };
    if let Some(object) = &leaves.object {
        verdict.territory.adopt(object);
    }
}

fn linked(verdict: &Verdict<'_>, source: &Spot, to: &Entry) {
    let (Some(first), Some(second), Some(object)) =
        (&verdict.first, &verdict.second, source.object())
    else {
        return;
    };
    if first.made != Made::ByRun {
        // An overlay has copied both up by now, so they are younger than they were.
        let now = |object: &Object| file::stat(object.as_fd()).unwrap_or(object.stat);
        let owned = verdict.territory.owned();
        owned.add_name(&now(&to.dir), &to.name, Mark::new(&now(object)));
    } else if first.level == Level::Writable && second.level != Level::Writable {
        verdict.territory.adopt(object);
    }
}

/// Those who are making something: it exists already, and is not known to be the run's own yet.
#[derive(Debug, Default)]
pub struct Makers {
    busy: Mutex<usize>,
    none: Condvar,
}

/// One of them, until it is dropped.
#[derive(Debug)]
pub struct Making<'a>(&'a Makers);

/// Longest wait for them: what somebody else has just made is worth no more.
const PATIENCE: Duration = Duration::from_millis(50);

impl Makers {
    /// To be held from before something is made until it has been noted.
    #[must_use]
    pub fn start(&self) -> Making<'_> {
        *self.busy.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        Making(self)
    }

    /// Waits until everything that exists has been noted.
    pub fn wait(&self) {
        let busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .none
            .wait_timeout_while(busy, PATIENCE, |busy| *busy > 0);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

impl Drop for Making<'_> {
    fn drop(&mut self) {
        let mut busy = self.0.busy.lock().unwrap_or_else(PoisonError::into_inner);
        *busy -= 1;
        if *busy == 0 {
            self.0.none.notify_all();
        }
    }
}
