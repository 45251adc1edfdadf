//! The decision: from what a call would do and what is known of its spots to one of four answers. Pure.

mod pairs;

use super::territory::{Facts, Made, Reach, Rooted, Wall};
use crate::plan::RuleId;
use crate::policy::Level;
use crate::record::Operation;
use crate::sys::Errno;

pub use pairs::{decide_link, decide_rename};

/// What a call would do, as far as deciding needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// Open, in a mode that could change something.
    Open {
        /// Whether it writes to what exists.
        writes: Writes,
        /// Whether it makes what does not exist.
        creates: Creates,
    },
    /// Make a file without a name in a directory (`O_TMPFILE`).
    OpenNameless,
    /// truncate(2).
    Truncate,
    /// Use a descriptor that is open for writing for more than to write at the end.
    Loosen,
    /// Make an entry of this type (`S_IFMT` bits).
    Create(u32),
    /// Remove an entry.
    Remove,
    /// Change mode, owner, times, attributes or flags.
    Metadata(Effect),
}

/// Whether opening changes what exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    /// Opened for writing, or emptied.
    Yes,
    /// Opened to write at its end, and for nothing else (`O_WRONLY` with `O_APPEND`).
    AtEnd,
    /// Only read.
    No,
}

/// Whether opening makes what does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Creates {
    /// `O_CREAT`.
    Yes,
    /// `O_CREAT` with `O_EXCL`.
    Only,
    /// Not.
    No,
}

/// What a change of metadata does to the way to what lies below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Its owner can still go through.
    Open,
    /// Its owner loses access, or could lose it.
    Closing,
}

/// How the two spots of a rename change places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exchange {
    /// One moves.
    No,
    /// `RENAME_NOREPLACE`: one moves, onto nothing.
    NoReplace,
    /// `RENAME_EXCHANGE`: both move.
    Yes,
}

/// What becomes of a call.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The kernel goes on: the wall grants the place, or the call fails by itself and the wall stands behind that.
    Continue,
    /// The supervisor does it.
    Perform,
    /// It does not happen.
    Refuse(Refusal),
    /// It fails as the kernel would have it fail.
    Fail(Errno),
}

/// Why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What it would have done.
    pub operation: Operation,
    /// Which of the spots is in the way.
    pub spot: Which,
    /// The rule.
    pub rule: Option<RuleId>,
    /// More than the rule says.
    pub reason: Reason,
}

/// One of a call's spots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The first or only one.
    First,
    /// The second one.
    Second,
}

/// Why a call is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The level says so.
    Level,
    /// It is on the way to a protected place and keeps its name and access.
    OnTheWay,
    /// A protected place that does not exist yet would come to exist.
    WouldFill,
    /// A block device holds file systems.
    BlockDevice,
    /// The kernel would run a program outside of every sandbox.
    KernelHelper,
    /// A folder would take what a glob protects out of its reach.
    OutOfReach,
    /// Refused under every policy.
    Forbidden,
    /// The process may not be looked into.
    Unreadable,
    /// Its place in the tree could not be found out.
    Unknown,
    /// It acts as a user that guard cannot act as.
    Credentials,
}

/// Whether new entries may be made there.
fn takes_new(facts: &Facts) -> bool {
    facts.level >= Level::AddOnly
}

/// Whether what is there may be written to and have its metadata changed.
fn may_change(facts: &Facts) -> bool {
    match facts.made {
        Made::ByRun => facts.level >= Level::AddOnly,
        Made::NameByRun | Made::Before => facts.level >= Level::NoDelete,
    }
}

/// Whether what is there may be written to at its end.
fn may_grow(facts: &Facts) -> bool {
    facts.level >= Level::AppendOnly && facts.kind == Some(libc::S_IFREG)
}

/// Whether the entry may be taken away altogether.
fn may_remove(facts: &Facts) -> bool {
    match facts.made {
        Made::ByRun | Made::NameByRun => facts.level >= Level::AddOnly,
        Made::Before => facts.level == Level::Writable,
    }
}

/// The same facts with the stricter level of the object: for what changes the object, not only the name.
fn of_object(facts: &Facts) -> Facts {
    match facts.object {
        Some((level, rule)) if level < facts.level => Facts {
            level,
            rule,
            ..facts.clone()
        },
        _ => facts.clone(),
    }
}

fn refuse(operation: Operation, spot: Which, facts: &Facts) -> Decision {
    Decision::Refuse(Refusal {
        operation,
        spot,
        rule: facts.rule,
        reason: Reason::Level,
    })
}

fn refuse_kept(operation: Operation, spot: Which, rule: Option<RuleId>) -> Decision {
    Decision::Refuse(Refusal {
        operation,
        spot,
        rule,
        reason: Reason::OnTheWay,
    })
}

/// For a call that Landlock checks and whose places are both free to change.
fn act(walls: &[Wall]) -> Decision {
    if walls.iter().all(|wall| *wall == Wall::Grants) {
        Decision::Continue
    } else {
        Decision::Perform
    }
}

/// For a call that fails by what was found. The kernel says so itself only where the wall is open: elsewhere it may find
/// something else by now (another thread made or removed it), and the wall would then say `EACCES` to what is allowed.
fn fails(errno: Errno, walls: &[Wall]) -> Decision {
    if walls.iter().all(|wall| *wall == Wall::Grants) {
        Decision::Continue
    } else {
        Decision::Fail(errno)
    }
}

/// Decides on a call with one spot.
pub fn decide(intent: Intent, facts: &Facts) -> Decision {
    let object = of_object(facts);
    match intent {
        Intent::Open { writes, creates } => open(writes, creates, &object),
        Intent::OpenNameless if !takes_new(facts) => refuse(Operation::Create, Which::First, facts),
        Intent::OpenNameless | Intent::Truncate if facts.kind.is_none() => {
            fails(Errno::ENOENT, &[facts.wall])
        }
        Intent::OpenNameless => act(&[facts.wall]),
        Intent::Truncate => open(Writes::Yes, Creates::No, &object),
        Intent::Loosen => loosen(&object),
        Intent::Create(kind) => create(kind, facts),
        Intent::Remove => remove(facts),
        Intent::Metadata(effect) => metadata(effect, &object),
    }
}

fn open(writes: Writes, creates: Creates, facts: &Facts) -> Decision {
    match facts.kind {
        None if creates == Creates::No => fails(Errno::ENOENT, &[facts.wall]),
        None if !takes_new(facts) => refuse(Operation::Create, Which::First, facts),
        None => act(&[facts.wall]),
        Some(libc::S_IFDIR) if creates == Creates::Only => fails(Errno::EEXIST, &[facts.wall]),
        Some(libc::S_IFDIR) if creates == Creates::Yes || writes != Writes::No => {
            fails(Errno::EISDIR, &[facts.wall])
        }
        // Neither touches what is there, but what is there may be gone by now, and then it is made.
        Some(kind)
            if creates == Creates::Only
                || creates == Creates::Yes && writes == Writes::No && kind == libc::S_IFREG =>
        {
            if takes_new(facts) {
                act(&[facts.wall])
            } else {
                Decision::Continue
            }
        }
        Some(_) if creates == Creates::Only || writes == Writes::No => Decision::Continue,
        Some(libc::S_IFLNK) => Decision::Continue, // ELOOP
        Some(_) if facts.reach == Reach::RawDevice => always(Reason::BlockDevice),
        Some(_) if facts.reach == Reach::KernelHelper => always(Reason::KernelHelper),
        Some(_) if writes == Writes::AtEnd && may_grow(facts) => act(&[facts.wall]),
        Some(_) if !may_change(facts) => refuse(Operation::Write, Which::First, facts),
        // A device that the wall grants by itself: opening /dev/tty means the caller's own terminal.
        Some(libc::S_IFCHR) if facts.carries_grant => Decision::Continue,
        // Pipes and the like are on no mount that Landlock restricts.
        Some(kind) if facts.rooted == Rooted::No && kind != libc::S_IFREG => Decision::Continue,
        Some(_) => act(&[facts.wall]),
    }
}

/// A descriptor is as good as what it was opened for, but for one that was opened where what is there may only grow: that
/// one stays at the end. All of these are done on the descriptor itself: its number may stand for another one by now.
fn loosen(facts: &Facts) -> Decision {
    if facts.level == Level::AppendOnly && !may_change(facts) && may_grow(facts) {
        refuse(Operation::Write, Which::First, facts)
    } else {
        Decision::Perform
    }
}

/// A refusal of writing that no rule is needed for.
fn always(reason: Reason) -> Decision {
    Decision::Refuse(Refusal {
        operation: Operation::Write,
        spot: Which::First,
        rule: None,
        reason,
    })
}

fn create(kind: u32, facts: &Facts) -> Decision {
    if facts.kind.is_some() {
        // EEXIST, unless it is gone by now: then the call makes it.
        let must_not = !takes_new(facts) || facts.missing_below.is_some() || kind == libc::S_IFBLK;
        return if must_not {
            Decision::Continue
        } else {
            act(&[facts.wall])
        };
    }
    if !takes_new(facts) {
        return refuse(Operation::Create, Which::First, facts);
    }
    match kind {
        libc::S_IFBLK => Decision::Refuse(Refusal {
            operation: Operation::Create,
            spot: Which::First,
            rule: None,
            reason: Reason::BlockDevice,
        }),
        libc::S_IFLNK if facts.missing_below.is_some() => Decision::Refuse(Refusal {
            operation: Operation::Create,
            spot: Which::First,
            rule: facts.missing_below,
            reason: Reason::WouldFill,
        }),
        _ => act(&[facts.wall]),
    }
}

fn remove(facts: &Facts) -> Decision {
    if facts.kind.is_none() {
        return fails(Errno::ENOENT, &[facts.wall]);
    }
    if !may_remove(facts) {
        return refuse(Operation::Delete, Which::First, facts);
    }
    if facts.kept.is_some() {
        return refuse_kept(Operation::Delete, Which::First, facts.kept);
    }
    act(&[facts.wall])
}

fn metadata(effect: Effect, facts: &Facts) -> Decision {
    if facts.kind.is_none() {
        return Decision::Fail(Errno::ENOENT);
    }
    if !may_change(facts) {
        return refuse(Operation::Metadata, Which::First, facts);
    }
    if facts.kept.is_some() && effect == Effect::Closing {
        return refuse_kept(Operation::Metadata, Which::First, facts.kept);
    }
    Decision::Perform
}

#[cfg(test)]
mod every;
#[cfg(test)]
mod tests;
