//! Every intent against every kind of place.

use super::*;

fn facts(level: Level, wall: Wall, kind: Option<u32>) -> Facts {
    Facts {
        path: None,
        level,
        rule: Some(RuleId(0)),
        object: None,
        wall,
        kept: None,
        missing_below: None,
        kind,
        made: Made::Before,
        reach: Reach::Itself,
        rooted: Rooted::Yes,
        carries_grant: false,
    }
}

const FILE: Option<u32> = Some(libc::S_IFREG);
const DIR: Option<u32> = Some(libc::S_IFDIR);
const WRITE: Intent = Intent::Open {
    writes: Writes::Yes,
    creates: Creates::Yes,
};

fn is_refusal(decision: &Decision) -> bool {
    matches!(decision, Decision::Refuse(_))
}

const ORDER: [Level; 5] = Level::ALL;

fn at(level: Level, kind: Option<u32>, made: Made) -> Facts {
    Facts {
        made,
        ..facts(level, Wall::Refuses, kind)
    }
}

fn allowed(decision: &Decision) -> bool {
    matches!(decision, Decision::Perform | Decision::Continue)
}

/// The table of levels: what is made, what changes, what goes.
#[test]
fn the_four_columns() {
    for (level, makes, changes, removes, own) in [
        (Level::ReadOnly, false, false, false, false),
        (Level::AddOnly, true, false, false, true),
        (Level::AppendOnly, true, false, false, true),
        (Level::NoDelete, true, true, false, true),
        (Level::Writable, true, true, true, true),
    ] {
        let empty = at(level, None, Made::Before);
        let old = at(level, FILE, Made::Before);
        let new = at(level, FILE, Made::ByRun);
        let name = at(level, FILE, Made::NameByRun);
        for intent in [WRITE, Intent::Create(libc::S_IFDIR)] {
            assert_eq!(
                allowed(&decide(intent, &empty)),
                makes,
                "{level} {intent:?}"
            );
        }
        assert_eq!(
            allowed(&decide(Intent::OpenNameless, &at(level, DIR, Made::Before))),
            makes
        );
        for intent in [WRITE, Intent::Truncate, Intent::Metadata(Effect::Closing)] {
            assert_eq!(
                allowed(&decide(intent, &old)),
                changes,
                "{level} {intent:?}"
            );
            assert_eq!(
                allowed(&decide(intent, &name)),
                changes,
                "{level} {intent:?}"
            );
            assert_eq!(allowed(&decide(intent, &new)), own, "{level} {intent:?}");
        }
        assert_eq!(allowed(&decide(Intent::Remove, &old)), removes, "{level}");
        assert_eq!(allowed(&decide(Intent::Remove, &new)), own, "{level}");
        assert_eq!(allowed(&decide(Intent::Remove, &name)), own, "{level}");
        let free = at(Level::Writable, None, Made::Before);
        assert_eq!(allowed(&decide_link(&old, &free)), changes, "{level}");
        assert_eq!(allowed(&decide_link(&new, &free)), own, "{level}");
    }
}

#[test]
fn a_move_is_a_change_where_nothing_is_lost_and_else_a_removal() {
    let moves = |from: &Facts, to: &Facts| allowed(&decide_rename(Exchange::No, from, to, None));
    for from in ORDER {
        for to in ORDER {
            let empty = at(to, None, Made::Before);
            let old = moves(&at(from, FILE, Made::Before), &empty);
            let takes = to != Level::ReadOnly;
            let expected =
                from == Level::Writable || from == Level::NoDelete && to <= Level::NoDelete;
            assert_eq!(old, expected && takes, "{from} to {to}");
            let new = moves(&at(from, FILE, Made::ByRun), &empty);
            assert_eq!(new, from != Level::ReadOnly && takes, "own, {from} to {to}");
        }
    }
}

#[test]
fn only_an_atomic_save_replaces_what_existed() {
    let moves = |from: Made, to: Level, there: Made| {
        let (from, to) = (at(to, FILE, from), at(to, FILE, there));
        allowed(&decide_rename(Exchange::No, &from, &to, None))
    };
    assert!(moves(Made::ByRun, Level::NoDelete, Made::Before));
    assert!(!moves(Made::Before, Level::NoDelete, Made::Before));
    assert!(!moves(Made::NameByRun, Level::NoDelete, Made::Before));
    assert!(moves(Made::Before, Level::NoDelete, Made::ByRun));
    assert!(!moves(Made::ByRun, Level::AddOnly, Made::Before));
    assert!(moves(Made::ByRun, Level::AddOnly, Made::ByRun));
    assert!(moves(Made::Before, Level::Writable, Made::Before));
    assert!(!moves(Made::ByRun, Level::ReadOnly, Made::ByRun));
}

#[test]
fn an_exchange_is_two_moves() {
    let swaps = |from: &Facts, to: &Facts| {
        let there = allowed(&decide_rename(Exchange::Yes, from, to, None));
        assert_eq!(
            there,
            allowed(&decide_rename(Exchange::Yes, to, from, None))
        );
        there
    };
    let old = |level| at(level, FILE, Made::Before);
    let new = |level| at(level, FILE, Made::ByRun);
    assert!(swaps(&old(Level::NoDelete), &old(Level::NoDelete)));
    assert!(swaps(&new(Level::NoDelete), &old(Level::NoDelete)));
    assert!(!swaps(&old(Level::NoDelete), &old(Level::Writable)));
    assert!(swaps(&new(Level::NoDelete), &old(Level::Writable)));
    assert!(!swaps(&old(Level::AddOnly), &new(Level::AddOnly)));
    assert!(swaps(&new(Level::AddOnly), &old(Level::NoDelete)));
    assert!(!swaps(&new(Level::AddOnly), &old(Level::ReadOnly)));
}

#[test]
fn a_directory_with_a_grant_of_its_own_is_copied_not_moved() {
    let mut from = at(Level::Writable, DIR, Made::Before);
    from.carries_grant = true;
    let there = at(Level::NoDelete, None, Made::Before);
    assert_eq!(
        decide_rename(Exchange::No, &from, &there, None),
        Decision::Fail(Errno::EXDEV)
    );
    let free = at(Level::Writable, None, Made::Before);
    assert!(allowed(&decide_rename(Exchange::No, &from, &free, None)));
}

#[test]
fn metadata_is_never_continued() {
    for wall in [Wall::Grants, Wall::Refuses] {
        for level in [
            Level::ReadOnly,
            Level::AddOnly,
            Level::NoDelete,
            Level::Writable,
        ] {
            for kind in [None, FILE, DIR] {
                for effect in [Effect::Open, Effect::Closing] {
                    let decision = decide(Intent::Metadata(effect), &facts(level, wall, kind));
                    assert_ne!(decision, Decision::Continue);
                }
            }
        }
    }
}

#[test]
fn the_kernel_goes_on_only_behind_the_wall_or_to_its_own_error() {
    let free = facts(Level::Writable, Wall::Refuses, FILE);
    assert_eq!(decide(WRITE, &free), Decision::Perform);
    assert_eq!(
        decide(WRITE, &facts(Level::Writable, Wall::Grants, FILE)),
        Decision::Continue
    );
    assert_eq!(decide(Intent::Remove, &free), Decision::Perform);
    let empty = facts(Level::Writable, Wall::Grants, None);
    assert_eq!(
        decide_rename(Exchange::No, &free, &empty, None),
        Decision::Perform
    );
    assert_eq!(
        decide(
            Intent::Create(libc::S_IFDIR),
            &facts(Level::ReadOnly, Wall::Refuses, DIR)
        ),
        Decision::Continue
    );
}

#[test]
fn what_is_on_the_way_keeps_its_name_and_stays_open() {
    let mut home = facts(Level::Writable, Wall::Refuses, DIR);
    home.kept = Some(RuleId(3));
    let empty = facts(Level::Writable, Wall::Grants, None);
    let free = facts(Level::Writable, Wall::Grants, DIR);
    assert!(is_refusal(&decide(Intent::Remove, &home)));
    assert!(is_refusal(&decide_rename(
        Exchange::No,
        &home,
        &empty,
        None
    )));
    assert!(is_refusal(&decide_rename(
        Exchange::Yes,
        &free,
        &home,
        None
    )));
    assert!(is_refusal(&decide_rename(Exchange::No, &free, &home, None)));
    assert!(is_refusal(&decide(
        Intent::Metadata(Effect::Closing),
        &home
    )));
    assert_eq!(
        decide(Intent::Metadata(Effect::Open), &home),
        Decision::Perform
    );
}

#[test]
fn a_missing_place_is_not_filled_by_a_move() {
    let mut to = facts(Level::Writable, Wall::Refuses, None);
    to.missing_below = Some(RuleId(1));
    let mut from = facts(Level::Writable, Wall::Refuses, DIR);
    assert_eq!(
        decide_rename(Exchange::No, &from, &to, None),
        Decision::Perform
    );
    assert!(is_refusal(&decide_rename(
        Exchange::No,
        &from,
        &to,
        Some(RuleId(1))
    )));
    from.carries_grant = true;
    assert!(is_refusal(&decide_rename(Exchange::No, &from, &to, None)));
    assert!(is_refusal(&decide(Intent::Create(libc::S_IFLNK), &to)));
    let link = facts(Level::Writable, Wall::Refuses, Some(libc::S_IFLNK));
    assert!(is_refusal(&decide_link(&link, &to)), "a link of a link");
    let mut there = to.clone();
    there.kind = DIR;
    assert!(
        is_refusal(&decide_rename(Exchange::Yes, &there, &link, None)),
        "a link put in its place by an exchange"
    );
    assert_eq!(
        decide(Intent::Create(libc::S_IFDIR), &to),
        Decision::Perform
    );
}

#[test]
fn another_name_of_a_protected_file_can_go_but_not_change_it() {
    let mut alias = facts(Level::Writable, Wall::Grants, FILE);
    alias.object = Some((Level::ReadOnly, Some(RuleId(2))));
    let empty = facts(Level::Writable, Wall::Grants, None);
    assert!(is_refusal(&decide(WRITE, &alias)));
    assert!(is_refusal(&decide(Intent::Truncate, &alias)));
    assert!(is_refusal(&decide(Intent::Metadata(Effect::Open), &alias)));
    assert!(is_refusal(&decide_link(&alias, &empty)));
    assert_eq!(decide(Intent::Remove, &alias), Decision::Continue);
    assert_eq!(
        decide_rename(Exchange::No, &alias, &empty, None),
        Decision::Continue
    );
}

#[test]
fn block_devices_are_not_written() {
    for reach in [Reach::RawDevice, Reach::KernelHelper] {
        let mut far = facts(Level::Writable, Wall::Grants, FILE);
        far.reach = reach;
        assert!(is_refusal(&decide(WRITE, &far)));
    }
    assert!(is_refusal(&decide(
        Intent::Create(libc::S_IFBLK),
        &facts(Level::Writable, Wall::Grants, None)
    )));
}

/// What is a directory when it is looked at may be gone when the kernel looks, which would then say something else.
#[test]
fn a_directory_cannot_be_written_or_made_again() {
    for (writes, creates, errno) in [
        (Writes::Yes, Creates::No, Errno::EISDIR),
        (Writes::No, Creates::Yes, Errno::EISDIR),
        (Writes::Yes, Creates::Only, Errno::EEXIST),
    ] {
        let facts = at(Level::NoDelete, DIR, Made::Before);
        let decision = decide(Intent::Open { writes, creates }, &facts);
        assert_eq!(decision, Decision::Fail(errno));
    }
}

/// What is opened to append may not be used for more, but for what the run made; and nothing of that is left to the kernel,
/// since the number may stand for another descriptor by then.
#[test]
fn what_may_grow_does_nothing_else() {
    let grow = Intent::Open {
        writes: Writes::AtEnd,
        creates: Creates::Yes,
    };
    for (level, grows, loosens) in [
        (Level::ReadOnly, false, true),
        (Level::AddOnly, false, true),
        (Level::AppendOnly, true, false),
        (Level::NoDelete, true, true),
        (Level::Writable, true, true),
    ] {
        let old = at(level, FILE, Made::Before);
        assert_eq!(allowed(&decide(grow, &old)), grows, "{level}");
        let loosened = decide(Intent::Loosen, &old);
        assert_eq!(loosened == Decision::Perform, loosens, "{level}");
        let new = at(level, FILE, Made::ByRun);
        assert_eq!(decide(Intent::Loosen, &new), Decision::Perform, "{level}");
    }
    let pipe = at(Level::AppendOnly, Some(libc::S_IFIFO), Made::Before);
    assert!(is_refusal(&decide(grow, &pipe)));
}
