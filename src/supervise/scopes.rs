//! Guards inside this one: each adds its own plan for the processes below it, and the stricter of all answers counts.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use super::receive::{Sink, Supervisor};
use super::territory::Territory;
use crate::sys::process;

/// Which processes a scope is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// The descendants of this process.
    Below(i32),
    /// All of them: the process that kept them together is gone before its time, and they cannot be told apart any more.
    Everything,
}

/// The plan of an inner guard.
pub(super) struct Scope {
    number: usize,
    reach: Reach,
    /// Whether the wall that belongs to it has still to be put up.
    awaits_wall: AtomicBool,
    /// What it protects.
    pub(super) territory: Arc<Territory>,
    /// Who tells people of its attempts.
    pub(super) refused: Arc<Sink>,
}

impl Scope {
    /// Whether a child of `parent` that restricts itself puts up the wall of this scope: once, by a child of its keeper.
    pub(super) fn takes_wall(&self, parent: i32) -> bool {
        self.reach == Reach::Below(parent) && self.awaits_wall.swap(false, Ordering::SeqCst)
    }
}

/// All of them.
#[derive(Default)]
pub(super) struct Scopes(RwLock<Vec<Arc<Scope>>>);

/// Guards that can run inside this one at a time.
const MOST_SCOPES: usize = 256;

/// Guards that can run inside one another: each is told of what is refused below it, one after the other.
const MOST_NESTED: usize = 8;

/// Longest chain of parents that is followed.
const MOST_PARENTS: usize = 4096;

impl Scopes {
    /// The scopes that hold for a thread, innermost last.
    pub(super) fn of(&self, tid: i32) -> Vec<Arc<Scope>> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if all.is_empty() {
            return Vec::new();
        }
        let parents = parents(tid);
        let holds = |scope: &&Arc<Scope>| match scope.reach {
            Reach::Everything => true,
            // A chain that cannot be followed may lead anywhere.
            Reach::Below(keeper) => parents
                .as_ref()
                .is_none_or(|parents| parents.contains(&keeper)),
        };
        all.iter().filter(holds).cloned().collect()
    }
}

/// The processes above a thread, up to this one; none when they cannot be followed.
fn parents(tid: i32) -> Option<Vec<i32>> {
    let own = std::process::id() as i32;
    let status = std::fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    let field = |key: &str| {
        status
            .lines()
            .find_map(|line| line.strip_prefix(key)?.trim().parse::<i32>().ok())
    };
    let mut parents = vec![field("Tgid:")?];
    let mut pid = field("PPid:")?;
    while pid != own {
        if pid <= 1 || parents.len() > MOST_PARENTS {
            return None;
        }
        parents.push(pid);
        pid = process::origin(pid)?.0;
    }
    Some(parents)
}

/// Whether a process descends from this one.
#[must_use]
pub fn is_descendant(pid: i32) -> bool {
    parents(pid).is_some()
}

/// An inner guard, for as long as it is there.
pub struct Inner {
    supervisor: Arc<Supervisor>,
    number: usize,
}

impl Supervisor {
    /// Adds the plan of a guard whose process `keeper` is an ancestor of all that it protects against. None when there
    /// are too many.
    #[must_use]
    pub fn add_inner(
        self: &Arc<Self>,
        keeper: i32,
        territory: Territory,
        refused: Sink,
    ) -> Option<Inner> {
        if self.scopes.of(keeper).len() >= MOST_NESTED {
            return None;
        }
        let mut all = self
            .scopes
            .0
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST_SCOPES {
            return None;
        }
        let number = all.last().map_or(0, |scope| scope.number + 1);
        all.push(Arc::new(Scope {
            number,
            reach: Reach::Below(keeper),
            awaits_wall: AtomicBool::new(true),
            territory: Arc::new(territory),
            refused: Arc::new(refused),
        }));
        Some(Inner {
            supervisor: Arc::clone(self),
            number,
        })
    }
}

impl Inner {
    /// The last of its processes has ended.
    pub fn finish(self) {
        let mut all = self
            .supervisor
            .scopes
            .0
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        all.retain(|scope| scope.number != self.number);
    }

    /// It is gone, and its processes may not be: from now on its plan holds for all.
    pub fn lose(self) {
        let mut all = self
            .supervisor
            .scopes
            .0
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        for scope in all.iter_mut().filter(|scope| scope.number == self.number) {
            *scope = Arc::new(Scope {
                number: scope.number,
                reach: Reach::Everything,
                awaits_wall: AtomicBool::new(false),
                territory: Arc::clone(&scope.territory),
                refused: Arc::clone(&scope.refused),
            });
        }
    }
}
