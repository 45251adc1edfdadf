//! The tree as a whole: while a call is decided and done nothing is moved, since a decision holds for a place, and a move
//! changes what place that is.
//!
//! A call is looked at without holding anything, for looking may wait for a file system that never answers; if something
//! was moved meanwhile, it is looked at again. Whoever still is not done after a while is not waited for: what it waits for
//! is its own file system, a move leaves no file system, and takes nothing that existed to a looser place.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Longest wait for somebody who decides or acts.
const PATIENCE: Duration = Duration::from_secs(2);
/// So often a wait is looked at, and no single look counts for more than twice as much: a supervisor that somebody stopped
/// for a while has nobody in it who hangs.
const LOOK: Duration = Duration::from_millis(50);

/// What a call needs of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// Nothing is moved meanwhile.
    Together,
    /// Nothing at all is done meanwhile: it moves something, or spells a path again.
    Alone,
}

/// The lock.
#[derive(Debug, Default)]
pub struct Tree {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Calls that are being decided or done, together.
    together: usize,
    /// One that is alone.
    alone: usize,
    /// Calls that wait to be alone: those that come later let them go first.
    waiting: usize,
    /// All that wait.
    sleeping: usize,
    /// Changes when something may have been moved.
    moves: u64,
    /// Changes when somebody is not waited for any more.
    epoch: u64,
}

/// A call that is being looked at.
#[derive(Debug)]
pub struct Looking(u64);

/// A call that is being decided or done.
#[derive(Debug)]
pub struct Held<'a> {
    tree: &'a Tree,
    share: Share,
    /// Whether something may be moved while it is held.
    moves: bool,
    epoch: u64,
}

impl Tree {
    /// To be called before a call is looked at.
    #[must_use]
    pub fn look(&self) -> Looking {
        Looking(self.lock().moves)
    }

    /// To be called when a call has been looked at. None when something has been moved since.
    #[must_use]
    pub fn settle(&self, looking: &Looking, share: Share) -> Option<Held<'_>> {
        let (mut held, moves) = self.acquire(share);
        let current = moves == looking.0;
        held.moves &= current;
        current.then_some(held)
    }

    /// For a call that is looked at while it holds the tree.
    #[must_use]
    pub fn hold(&self, share: Share) -> Held<'_> {
        self.acquire(share).0
    }

    fn acquire(&self, share: Share) -> (Held<'_>, u64) {
        let mut state = self.lock();
        if share == Share::Alone {
            state.waiting += 1;
        }
        let mut waited = Duration::ZERO;
        loop {
            let busy = match share {
                Share::Together => state.alone + state.waiting,
                Share::Alone => state.alone + state.together,
            };
            if busy == 0 {
                break;
            }
            if waited >= PATIENCE {
                if share == Share::Together && state.alone == 0 {
                    break; // those before it wait for others that act together, as it does
                }
                (state.together, state.alone) = (0, 0);
                state.epoch += 1;
                state.moves += 1;
                break;
            }
            state.sleeping += 1;
            let asleep = Instant::now();
            let woken = self.changed.wait_timeout(state, LOOK);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
            state.sleeping -= 1;
            waited += asleep.elapsed().min(LOOK * 2);
        }
        match share {
            Share::Together => state.together += 1,
            Share::Alone => {
                state.waiting -= 1;
                state.alone += 1;
            }
        }
        let held = Held {
            tree: self,
            share,
            moves: share == Share::Alone,
            epoch: state.epoch,
        };
        (held, state.moves)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let mut state = self.tree.lock();
        let counted = usize::from(state.epoch == self.epoch);
        match self.share {
            Share::Together => state.together -= counted,
            Share::Alone => state.alone -= counted,
        }
        state.moves += u64::from(self.moves);
        let sleeping = state.sleeping;
        drop(state);
        if sleeping > 0 {
            self.tree.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_makes_others_look_again() {
        let tree = Tree::default();
        let (first, second) = (tree.look(), tree.look());
        let moving = tree.settle(&first, Share::Alone);
        assert!(moving.is_some());
        drop(moving);
        assert!(tree.settle(&second, Share::Together).is_none());
        assert!(tree.settle(&tree.look(), Share::Together).is_some());
    }

    #[test]
    fn who_never_ends_is_not_waited_for() {
        let tree = Tree::default();
        let stuck = tree.hold(Share::Together);
        let late = tree.look();
        let moving = tree.hold(Share::Alone);
        drop(moving);
        assert!(tree.settle(&late, Share::Together).is_none());
        let started = Instant::now();
        drop(tree.hold(Share::Alone));
        assert!(started.elapsed() < PATIENCE, "it is not waited for twice");
        let next = tree.hold(Share::Alone);
        drop(stuck);
        assert_eq!(tree.lock().alone, 1);
        drop(next);
        let state = tree.lock();
        assert_eq!((state.together, state.alone, state.waiting), (0, 0, 0));
    }
}
