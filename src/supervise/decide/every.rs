//! Every combination of facts, against what the README promises: stated as what a call would do to the tree and which of
//! the four columns that needs, not as the order in which the code asks.

use super::*;

mod pairs;

const FILE: u32 = libc::S_IFREG;
const DIR: u32 = libc::S_IFDIR;
const LINK: u32 = libc::S_IFLNK;

/// Makes all values of one fact from those so far.
fn each<T: Copy>(so_far: Vec<Facts>, values: &[T], set: impl Fn(&mut Facts, T)) -> Vec<Facts> {
    let with = |facts: &Facts, value: T| {
        let mut facts = facts.clone();
        set(&mut facts, value);
        facts
    };
    let combined = so_far
        .iter()
        .flat_map(|facts| values.iter().map(|value| with(facts, *value)));
    combined.collect()
}

/// What can be true of a spot at once: the wall grants only what is writable, and who made what is not there has no answer.
fn possible(facts: &Facts) -> bool {
    let walled = facts.wall == Wall::Refuses || facts.level == Level::Writable;
    let made = facts.kind.is_some() || facts.made == Made::Before;
    let object = facts.object.is_none() || facts.kind.is_some_and(|kind| kind != DIR);
    walled && made && object
}

fn places() -> Vec<Facts> {
    let start = vec![Facts {
        path: None,
        level: Level::ReadOnly,
        rule: Some(RuleId(1)),
        object: None,
        wall: Wall::Refuses,
        kept: None,
        missing_below: None,
        kind: None,
        made: Made::Before,
        reach: Reach::Itself,
        rooted: Rooted::Yes,
        carries_grant: false,
    }];
    let all = each(start, &Level::ALL, |facts, level| facts.level = level);
    let all = each(all, &[Wall::Refuses, Wall::Grants], |facts, wall| {
        facts.wall = wall
    });
    let all = each(all, &[None, Some(RuleId(2))], |facts, kept| {
        facts.kept = kept
    });
    let all = each(all, &[None, Some(RuleId(3))], |facts, rule| {
        facts.missing_below = rule
    });
    let all = each(all, &[false, true], |facts, carries| {
        facts.carries_grant = carries
    });
    each(
        all,
        &[Made::Before, Made::ByRun, Made::NameByRun],
        |facts, made| facts.made = made,
    )
}

fn single() -> Vec<Facts> {
    let kinds = [
        None,
        Some(FILE),
        Some(DIR),
        Some(LINK),
        Some(libc::S_IFCHR),
        Some(libc::S_IFBLK),
        Some(libc::S_IFIFO),
    ];
    let all = each(places(), &kinds, |facts, kind| facts.kind = kind);
    let reach = [Reach::Itself, Reach::RawDevice, Reach::KernelHelper];
    let all = each(all, &reach, |facts, reach| facts.reach = reach);
    let all = each(all, &[Rooted::Yes, Rooted::No], |facts, rooted| {
        facts.rooted = rooted
    });
    let objects = [
        None,
        Some(Level::ReadOnly),
        Some(Level::AddOnly),
        Some(Level::AppendOnly),
        Some(Level::NoDelete),
    ];
    let all = each(all, &objects, |facts, level| {
        facts.object = level.map(|level| (level, Some(RuleId(4))));
    });
    all.into_iter().filter(possible).collect()
}

/// The table of the README: make, change, remove, change what the run made, remove what the run made.
fn columns(level: Level) -> [bool; 4] {
    match level {
        Level::ReadOnly => [false, false, false, false],
        Level::AddOnly | Level::AppendOnly => [true, false, false, true],
        Level::NoDelete => [true, true, false, true],
        Level::Writable => [true, true, true, true],
    }
}

fn may_make(facts: &Facts) -> bool {
    columns(facts.level)[0]
}

/// Whether the object may change, whatever name it has.
fn may_change_object(facts: &Facts) -> bool {
    let level = facts
        .object
        .map_or(facts.level, |(object, _)| object.min(facts.level));
    columns(level)[if facts.made == Made::ByRun { 3 } else { 1 }]
}

/// Whether the object may at least grow at its end.
fn may_grow_object(facts: &Facts) -> bool {
    let level = facts
        .object
        .map_or(facts.level, |(object, _)| object.min(facts.level));
    facts.kind == Some(FILE) && level == Level::AppendOnly
}

fn may_take_away(facts: &Facts) -> bool {
    columns(facts.level)[if facts.made == Made::Before { 2 } else { 3 }]
}

/// What a call would do to the tree.
#[derive(Debug, PartialEq, Eq)]
enum Effects {
    Nothing,
    Makes,
    Grows,
    Changes,
    /// Goes beyond what a descriptor was opened for.
    Loosens,
    TakesAway,
}

fn effects(intent: Intent, facts: &Facts) -> Effects {
    match (intent, facts.kind) {
        (
            Intent::Open {
                creates: Creates::No,
                ..
            }
            | Intent::Truncate,
            None,
        ) => Effects::Nothing,
        (Intent::OpenNameless, _) => Effects::Makes,
        (Intent::Loosen, _) => Effects::Loosens,
        (Intent::Open { .. } | Intent::Create(_), None) => Effects::Makes,
        (Intent::Create(_), Some(_)) | (Intent::Remove | Intent::Metadata(_), None) => {
            Effects::Nothing
        }
        (Intent::Open { .. } | Intent::Truncate, Some(DIR | LINK)) => Effects::Nothing,
        (
            Intent::Open {
                creates: Creates::Only,
                ..
            }
            | Intent::Open {
                writes: Writes::No, ..
            },
            Some(_),
        ) => Effects::Nothing,
        (
            Intent::Open {
                writes: Writes::AtEnd,
                ..
            },
            Some(_),
        ) => Effects::Grows,
        (Intent::Open { .. } | Intent::Truncate | Intent::Metadata(_), Some(_)) => Effects::Changes,
        (Intent::Remove, Some(_)) => Effects::TakesAway,
    }
}

/// The one refusal that fits, or none where the call may happen.
fn due(intent: Intent, facts: &Facts) -> Option<(Operation, Reason, Option<RuleId>)> {
    let object_rule = match facts.object {
        Some((level, rule)) if level < facts.level => rule,
        _ => facts.rule,
    };
    match effects(intent, facts) {
        Effects::Nothing => None,
        Effects::Makes if !may_make(facts) => Some((Operation::Create, Reason::Level, facts.rule)),
        Effects::Makes => match intent {
            Intent::Create(libc::S_IFBLK) => Some((Operation::Create, Reason::BlockDevice, None)),
            Intent::Create(LINK) if facts.missing_below.is_some() => {
                Some((Operation::Create, Reason::WouldFill, facts.missing_below))
            }
            _ => None,
        },
        Effects::Loosens => (may_grow_object(facts) && !may_change_object(facts)).then_some((
            Operation::Write,
            Reason::Level,
            object_rule,
        )),
        Effects::Grows | Effects::Changes => {
            let metadata = matches!(intent, Intent::Metadata(_));
            let operation = if metadata {
                Operation::Metadata
            } else {
                Operation::Write
            };
            match facts.reach {
                Reach::RawDevice if !metadata => {
                    return Some((operation, Reason::BlockDevice, None));
                }
                Reach::KernelHelper if !metadata => {
                    return Some((operation, Reason::KernelHelper, None));
                }
                _ => {}
            }
            let grows = effects(intent, facts) == Effects::Grows && may_grow_object(facts);
            if !may_change_object(facts) && !grows {
                Some((operation, Reason::Level, object_rule))
            } else if facts.kept.is_some() && intent == Intent::Metadata(Effect::Closing) {
                Some((operation, Reason::OnTheWay, facts.kept))
            } else {
                None
            }
        }
        Effects::TakesAway if !may_take_away(facts) => {
            Some((Operation::Delete, Reason::Level, facts.rule))
        }
        Effects::TakesAway => facts
            .kept
            .map(|rule| (Operation::Delete, Reason::OnTheWay, Some(rule))),
    }
}

fn intents() -> Vec<Intent> {
    let mut all = vec![
        Intent::OpenNameless,
        Intent::Truncate,
        Intent::Loosen,
        Intent::Remove,
    ];
    all.extend([Effect::Open, Effect::Closing].map(Intent::Metadata));
    all.extend([FILE, DIR, LINK, libc::S_IFBLK, libc::S_IFIFO].map(Intent::Create));
    for writes in [Writes::Yes, Writes::AtEnd, Writes::No] {
        all.extend(
            [Creates::Yes, Creates::Only, Creates::No]
                .map(|creates| Intent::Open { writes, creates }),
        );
    }
    all
}

/// Who answers what may happen. The kernel may go on where it changes nothing or the wall grants it, and for what no
/// ruleset is asked about; metadata it may never, since no wall stands behind that.
fn answers_rightly(intent: Intent, facts: &Facts, decision: &Decision) -> bool {
    let device = facts.kind == Some(libc::S_IFCHR) && facts.carries_grant;
    let nowhere = facts.rooted == Rooted::No && facts.kind != Some(FILE);
    let nothing = effects(intent, facts) == Effects::Nothing;
    let granted = facts.wall == Wall::Grants;
    match decision {
        Decision::Continue if matches!(intent, Intent::Metadata(_) | Intent::Loosen) => false,
        Decision::Continue => nothing || granted || device || nowhere,
        // Only where the kernel would not say so by itself.
        Decision::Perform => !granted || matches!(intent, Intent::Metadata(_) | Intent::Loosen),
        // A call that would succeed must not fail.
        Decision::Fail(errno) => {
            let absent = facts.kind.is_none() && *errno == Errno::ENOENT;
            let there = facts.kind == Some(DIR) && matches!(*errno, Errno::EISDIR | Errno::EEXIST);
            (nothing || intent == Intent::OpenNameless) && (absent || there)
        }
        Decision::Refuse(_) => false,
    }
}

#[test]
fn a_call_with_one_spot_is_refused_exactly_where_a_column_says_no() {
    let all = single();
    assert!(all.len() > 10_000);
    for facts in &all {
        for intent in intents() {
            let decision = decide(intent, facts);
            match (due(intent, facts), &decision) {
                (Some((operation, reason, rule)), Decision::Refuse(refusal)) => {
                    let expected = Refusal {
                        operation,
                        spot: Which::First,
                        rule,
                        reason,
                    };
                    assert_eq!(*refusal, expected, "{intent:?} {facts:?}");
                }
                (None, decision) => assert!(
                    answers_rightly(intent, facts, decision),
                    "{intent:?} {facts:?}: {decision:?}"
                ),
                (due, _) => panic!("{intent:?} {facts:?}: {decision:?} instead of {due:?}"),
            }
        }
    }
}

/// What fails by what was found must fail so only where no wall says so, and what may be made must be made although it was
/// there when it was looked at.
#[test]
fn what_was_found_may_have_changed_by_the_time_of_the_call() {
    for facts in single()
        .iter()
        .filter(|facts| facts.wall == Wall::Refuses && facts.object.is_none())
    {
        for creates in [Creates::Yes, Creates::No, Creates::Only] {
            let decision = decide(
                Intent::Open {
                    writes: Writes::No,
                    creates,
                },
                facts,
            );
            let may_yet_make = creates == Creates::Only
                && facts.kind.is_some_and(|kind| kind != DIR)
                || creates == Creates::Yes && facts.kind == Some(FILE);
            if may_yet_make && may_make(facts) {
                assert_eq!(decision, Decision::Perform, "{facts:?}");
            }
        }
        let again = decide(Intent::Create(DIR), facts);
        if facts.kind.is_some() && may_make(facts) && facts.missing_below.is_none() {
            assert_eq!(again, Decision::Perform, "{facts:?}");
        }
        let block = decide(Intent::Create(libc::S_IFBLK), facts);
        assert_ne!(block, Decision::Perform, "{facts:?}");
        if facts.kind.is_some() && facts.missing_below.is_some() {
            assert_eq!(
                decide(Intent::Create(LINK), facts),
                Decision::Continue,
                "{facts:?}"
            );
        }
    }
}
