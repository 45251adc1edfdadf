//! Judging: what one plan says of an action.

use std::os::fd::AsFd;

use super::attempt::{Action, Binding, exchange};
use super::decide::{Decision, Reason, Refusal, Which, decide, decide_link, decide_rename};
use super::resolve::{Entry, Object, Spot};
use super::territory::{Facts, Loss, Made, Territory};
use crate::plan::RuleId;
use crate::policy::Level;
use crate::record::Operation;
use crate::sys::Errno;
use crate::sys::file::{self, OpenHow};

/// A decision and what it rests on.
pub(super) struct Verdict<'a> {
    /// The decision.
    pub decision: Decision,
    /// The first or only spot.
    pub first: Option<Facts>,
    /// The second one.
    pub second: Option<Facts>,
    /// Under which plan.
    pub territory: &'a Territory,
}

impl Verdict<'_> {
    /// Whether it would be another one if the run had made what is there.
    pub(super) fn depends_on_made(&self) -> bool {
        let Decision::Refuse(refusal) = &self.decision else {
            return false;
        };
        let levels = Level::AddOnly..=Level::NoDelete;
        refusal.reason == Reason::Level
            && [&self.first, &self.second]
                .into_iter()
                .flatten()
                .any(|facts| facts.kind.is_some() && levels.contains(&facts.level))
    }

    /// Whether what existed gets another place or a further name, here or there where not all is free.
    pub(super) fn moves_what_existed(&self, action: &Action) -> bool {
        let (Some(first), Some(second)) = (&self.first, &self.second) else {
            return false;
        };
        let free = first.level == Level::Writable && second.level == Level::Writable;
        let swaps =
            matches!(action, Action::Rename(_, _, flags) if flags & libc::RENAME_EXCHANGE != 0);
        let existed = |facts: &Facts| facts.made != Made::ByRun;
        !free && (existed(first) || swaps && existed(second))
    }

    /// Whether its first spot has this level.
    pub(super) fn is_at(&self, level: Level) -> bool {
        self.first
            .as_ref()
            .is_some_and(|facts| facts.level == level)
    }
}

/// The strictest of all, the first of equals.
pub(super) fn strictest<'v, 'a>(verdicts: &'v [Verdict<'a>]) -> Option<&'v Verdict<'a>> {
    verdicts
        .iter()
        .rev()
        .max_by_key(|verdict| weight(&verdict.decision))
}

/// How strict a decision is.
fn weight(decision: &Decision) -> u8 {
    match decision {
        Decision::Continue => 0,
        Decision::Perform => 1,
        Decision::Fail(_) => 2,
        Decision::Refuse(_) => 3,
    }
}

/// Decides under one plan.
///
/// # Errors
/// When the surroundings of a spot cannot be looked at.
pub(super) fn judge<'a>(territory: &'a Territory, action: &Action) -> Result<Verdict<'a>, Errno> {
    let one = |spot: &Spot| {
        let facts = territory.facts(spot)?;
        let decision = action
            .intent()
            .map_or(Decision::Fail(Errno::ENOSYS), |intent| {
                decide(intent, &facts)
            });
        Ok(Verdict {
            decision,
            first: Some(facts),
            second: None,
            territory,
        })
    };
    match action {
        Action::Rename(Spot::Entry(from), Spot::Entry(to), flags) => {
            let (source, destination) = (territory.entry(from)?, territory.entry(to)?);
            let there = fills(territory, from, &destination);
            let back = if flags & libc::RENAME_EXCHANGE == 0 {
                None
            } else {
                fills(territory, to, &source)
            };
            let decision = decide_rename(exchange(*flags), &source, &destination, there.or(back));
            let decision = between_mounts(decision, from, to);
            let decision = if matches!(decision, Decision::Continue | Decision::Perform)
                && let Some(Loss(rule)) =
                    loss(territory, *flags, (from, &source), (to, &destination))
            {
                Decision::Refuse(Refusal {
                    operation: Operation::Rename,
                    spot: Which::First,
                    rule,
                    reason: Reason::OutOfReach,
                })
            } else {
                decision
            };
            Ok(Verdict {
                decision,
                first: Some(source),
                second: Some(destination),
                territory,
            })
        }
        Action::Link(from, Spot::Entry(to)) => {
            let (source, destination) = (territory.facts(from)?, territory.entry(to)?);
            let decision = decide_link(&source, &destination);
            Ok(Verdict {
                decision,
                first: Some(source),
                second: Some(destination),
                territory,
            })
        }
        Action::Open(spot, _)
        | Action::Truncate(spot, _)
        | Action::Loosen(spot, ..)
        | Action::Change(spot, _) => one(spot),
        Action::Unlink(spot @ Spot::Entry(at), flags) => {
            let mut verdict = one(spot)?;
            if verdict.depends_on_made()
                && verdict.is_at(Level::NoDelete)
                && let Some(errno) = removes_nothing(at, *flags)
            {
                verdict.decision = Decision::Fail(errno);
            }
            Ok(verdict)
        }
        Action::Symlink(_, spot @ Spot::Entry(_))
        | Action::Mkdir(spot @ Spot::Entry(_), _)
        | Action::Mknod(spot @ Spot::Entry(_), _, _)
        | Action::Bind(Binding {
            spot: spot @ Spot::Entry(_),
            ..
        }) => one(spot),
        Action::OpenNameless(dir, _) => one(&Spot::Held(dir.duplicate()?)),
        // A path that ends in `.`, `..` or `/` cannot be made, removed or moved: the kernel says how.
        Action::Rename(..)
        | Action::Link(..)
        | Action::Unlink(..)
        | Action::Symlink(..)
        | Action::Mkdir(..)
        | Action::Mknod(..)
        | Action::Bind(..)
        | Action::Pass
        | Action::Nothing
        | Action::Forbidden => Ok(Verdict {
            decision: Decision::Continue,
            first: None,
            second: None,
            territory,
        }),
    }
}

/// What is not refused fails between two mounts, before anything else that could be said of it (fs/namei.c: do_renameat2).
fn between_mounts(decision: Decision, from: &Entry, to: &Entry) -> Decision {
    match decision {
        Decision::Refuse(_) => decision,
        _ if from.dir.stat.mount != to.dir.stat.mount => Decision::Fail(Errno::EXDEV),
        _ => decision,
    }
}

/// Why a removal would come to nothing anyway. Programs try what they know to fail: a folder that may have become empty,
/// a name that may be a folder. In the home directory at large that is no attempt worth a word.
fn removes_nothing(at: &Entry, flags: i32) -> Option<Errno> {
    let object = at.object.as_ref()?;
    match (flags & libc::AT_REMOVEDIR != 0, object.is_dir()) {
        (false, false) => None,
        (false, true) => Some(Errno::EISDIR),
        (true, false) => Some(Errno::ENOTDIR),
        (true, true) => holds_something(object).then_some(Errno::ENOTEMPTY),
    }
}

fn holds_something(dir: &Object) -> bool {
    let how = OpenHow {
        flags: (libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NONBLOCK) as u64,
        ..OpenHow::default()
    };
    let listed = file::open(dir.as_fd(), c".", how).and_then(|dir| file::list(dir.as_fd()));
    listed.is_ok_and(|entries| !entries.is_empty())
}

/// The rule of a missing place that would come to exist if what is at `from` moved to `to`.
fn fills(territory: &Territory, from: &Entry, to: &Facts) -> Option<RuleId> {
    let object = from.object.as_ref().filter(|object| object.is_dir())?;
    territory.would_fill(object, to.path.as_ref()?)
}

/// What a move would take to a looser place, or out of a glob's reach, with a folder that moves: the first, and in an
/// exchange the second as well.
fn loss(
    territory: &Territory,
    flags: u32,
    from: (&Entry, &Facts),
    to: (&Entry, &Facts),
) -> Option<Loss> {
    let leaves = |(entry, here): (&Entry, &Facts), there: &Facts| {
        let object = entry.object.as_ref().filter(|object| object.is_dir())?;
        let (Some(old), Some(new)) = (&here.path, &there.path) else {
            // The kernel has no word for a path longer than 4096 bytes, so nobody knows what holds below it.
            let unclear = there.level > here.level || !territory.plan().strict_globs().is_empty();
            return unclear.then_some(Loss(here.rule));
        };
        territory.would_lose(object, old, new)
    };
    leaves(from, to.1).or_else(|| {
        let exchange = flags & libc::RENAME_EXCHANGE != 0;
        exchange.then(|| leaves(to, from.1)).flatten()
    })
}
