//! Calls with two spots: a move is a removal here and a making there, a link needs a source that may be changed.

use super::{
    Decision, Exchange, Reason, Refusal, Which, act, fails, may_change, may_remove, of_object,
    refuse, refuse_kept, takes_new,
};
use crate::plan::RuleId;
use crate::policy::Level;
use crate::record::Operation;
use crate::supervise::territory::{Facts, Made};
use crate::sys::Errno;

/// Whether the entry may get another name: within one level, or where more is protected, nothing is lost.
fn may_move(from: &Facts, to: &Facts) -> bool {
    may_remove(from) || from.level == Level::NoDelete && to.level <= Level::NoDelete
}

/// Whether something may take the place of what is at `to`: an atomic save counts as a change of what it replaces.
fn may_replace(from: &Facts, to: &Facts) -> bool {
    to.level == Level::Writable
        || may_remove(to) && to.made != Made::NameByRun
        || to.level == Level::NoDelete && from.made == Made::ByRun
}

/// Decides on a rename. `fills` is the rule of a missing place that the move would make exist.
pub fn decide_rename(
    exchange: Exchange,
    from: &Facts,
    to: &Facts,
    fills: Option<RuleId>,
) -> Decision {
    let walls = [from.wall, to.wall];
    if from.kind.is_none() || exchange == Exchange::Yes && to.kind.is_none() {
        return fails(Errno::ENOENT, &walls);
    }
    if exchange == Exchange::NoReplace && to.kind.is_some() {
        return fails(Errno::EEXIST, &walls);
    }
    let operation = if to.kind.is_some() {
        Operation::Replace
    } else {
        Operation::Create
    };
    if let Some(decision) = refuse_move(exchange, operation, from, to) {
        return decision;
    }
    // What has a grant of its own would take it where it must not be: as between two mounts, the program has to copy.
    let carried =
        |this: &Facts, there: &Facts| this.carries_grant && there.level != Level::Writable;
    if carried(from, to) || exchange == Exchange::Yes && carried(to, from) {
        return Decision::Fail(Errno::EXDEV);
    }
    // A directory takes the wall's grant along, so that what is made in it later would not be seen.
    let fills = fills
        .or(to.missing_below.filter(|_| leads_away(from)))
        .or(from
            .missing_below
            .filter(|_| exchange == Exchange::Yes && leads_away(to)));
    if fills.is_some() {
        return Decision::Refuse(Refusal {
            operation,
            spot: Which::Second,
            rule: fills,
            reason: Reason::WouldFill,
        });
    }
    act(&walls)
}

/// The answer to a move that the levels or a kept name forbid.
fn refuse_move(
    exchange: Exchange,
    operation: Operation,
    from: &Facts,
    to: &Facts,
) -> Option<Decision> {
    if !may_move(from, to) {
        return Some(refuse(Operation::Rename, Which::First, from));
    }
    if from.kept.is_some() {
        return Some(refuse_kept(Operation::Rename, Which::First, from.kept));
    }
    if !takes_new(to) {
        return Some(refuse(operation, Which::Second, to));
    }
    to.kind?;
    let gives_way = match exchange {
        Exchange::Yes => may_move(to, from) && takes_new(from),
        Exchange::No | Exchange::NoReplace => may_replace(from, to),
    };
    if !gives_way {
        return Some(refuse(operation, Which::Second, to));
    }
    to.kept
        .is_some()
        .then(|| refuse_kept(operation, Which::Second, to.kept))
}

/// Whether what would be made below it later is out of the supervisor's sight.
fn leads_away(facts: &Facts) -> bool {
    facts.carries_grant || facts.kind == Some(libc::S_IFLNK)
}

/// Decides on a hard link. The new name would be a way to change the object, so that must be allowed.
pub fn decide_link(from: &Facts, to: &Facts) -> Decision {
    let walls = [from.wall, to.wall];
    if from.kind.is_none() {
        return fails(Errno::ENOENT, &walls);
    }
    if to.kind.is_some() {
        return fails(Errno::EEXIST, &walls);
    }
    let object = of_object(from);
    if !may_change(&object) {
        return refuse(Operation::Link, Which::First, &object);
    }
    if !takes_new(to) {
        return refuse(Operation::Create, Which::Second, to);
    }
    if to.missing_below.is_some() && leads_away(from) {
        return Decision::Refuse(Refusal {
            operation: Operation::Create,
            spot: Which::Second,
            rule: to.missing_below,
            reason: Reason::WouldFill,
        });
    }
    if from.kind == Some(libc::S_IFDIR) {
        return Decision::Perform; // fails, and not as the wall would have it
    }
    act(&walls)
}
