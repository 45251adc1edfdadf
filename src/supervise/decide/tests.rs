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

#[test]
fn only_writable_places_change() {
    for level in [Level::ReadOnly, Level::AddOnly, Level::NoDelete] {
        for wall in [Wall::Grants, Wall::Refuses] {
            for kind in [None, FILE] {
                let here = facts(level, wall, kind);
                assert!(is_refusal(&decide(WRITE, &here)), "{level:?} {kind:?}");
            }
            let missing = facts(level, wall, None);
            let there = facts(level, wall, FILE);
            assert!(is_refusal(&decide(Intent::Create(libc::S_IFDIR), &missing)));
            assert!(is_refusal(&decide(Intent::Remove, &there)));
            assert!(is_refusal(&decide(Intent::Truncate, &there)));
            assert!(is_refusal(&decide(Intent::Metadata(Effect::Open), &there)));
            let free = facts(Level::Writable, Wall::Grants, FILE);
            let empty = facts(Level::Writable, Wall::Grants, None);
            assert!(
                is_refusal(&decide_rename(Exchange::No, &there, &empty, None)),
                "out"
            );
            assert!(
                is_refusal(&decide_rename(Exchange::No, &free, &missing, None)),
                "in"
            );
            assert!(
                is_refusal(&decide_rename(Exchange::No, &free, &there, None)),
                "over"
            );
            assert!(
                is_refusal(&decide_rename(Exchange::Yes, &free, &there, None)),
                "exchange"
            );
            assert!(is_refusal(&decide_link(&there, &empty)));
            assert!(is_refusal(&decide_link(&free, &missing)));
        }
    }
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
