//! Which attempts are one event.

use super::*;
use crate::record::samples::of;

fn grouped(attempts: &[(&[i32], Operation, &str)]) -> Vec<(i32, u64, u64)> {
    let mut groups = Groups::new(8);
    for &(chain, operation, found) in attempts {
        groups.add(&of(chain, operation, found), 0, None);
    }
    groups
        .iter()
        .map(|group| (group.process.pid, group.attempts, group.processes))
        .collect()
}

use Operation::{Delete, Metadata, Write};

#[test]
fn one_process_is_one_group_for_each_operation() {
    let delete: (&[i32], _, _) = (&[1, 2], Delete, "/a");
    assert_eq!(
        grouped(&[delete, (&[1, 2], Write, "/a"), delete, delete]),
        [(2, 3, 1), (2, 1, 1)]
    );
}

#[test]
fn children_and_siblings_join() {
    // Its own children.
    assert_eq!(
        grouped(&[(&[1, 2], Delete, "/a"), (&[1, 2, 3, 4], Delete, "/b")]),
        [(2, 2, 2)]
    );
    // One process for each entry, as of `find -exec rm`: their parent leads.
    assert_eq!(
        grouped(&[
            (&[1, 2, 3], Delete, "/a"),
            (&[1, 2, 4], Delete, "/b"),
            (&[1, 2, 5], Delete, "/c"),
        ]),
        [(2, 3, 3)]
    );
    // And a sibling of that parent.
    assert_eq!(
        grouped(&[
            (&[1, 2, 3], Delete, "/a"),
            (&[1, 2, 4], Delete, "/b"),
            (&[1, 5], Delete, "/c"),
        ]),
        [(1, 3, 3)]
    );
}

#[test]
fn strangers_and_the_next_process_of_the_same_number_do_not() {
    assert_eq!(
        grouped(&[(&[1, 2, 3], Delete, "/a"), (&[1, 5, 6], Delete, "/b")]),
        [(3, 1, 1), (6, 1, 1)]
    );
    let mut groups = Groups::new(8);
    let mut attempt = of(&[3], Delete, "/a");
    groups.add(&attempt, 0, None);
    attempt.process.started += 1;
    groups.add(&attempt, 0, None);
    assert_eq!(groups.iter().count(), 2);
}

#[test]
fn a_group_tells_what_and_where() {
    let mut groups = Groups::new(8);
    for (name, object) in [
        ("/h/s/a/1", ObjectKind::File),
        ("/h/s/a/2", ObjectKind::Link),
        ("/h/s/a", ObjectKind::Folder),
        ("/h/s/b", ObjectKind::Other),
    ] {
        let mut attempt = of(&[3], Delete, name);
        attempt.object = Some(object);
        groups.add(&attempt, 0, None);
    }
    let group = groups.iter().next().unwrap();
    assert_eq!((group.files, group.folders, group.attempts), (2, 1, 4));
    assert_eq!(group.kind, GroupKind::RecursiveDelete);
    assert_eq!(group.first, Some("/h/s/a/1".into()));
    assert_eq!(group.last, Some("/h/s/b".into()));
    assert_eq!(group.within, Some("/h/s".into()));
}

#[test]
fn the_kind_follows_from_operation_and_number() {
    assert_eq!(GroupKind::of(Delete, 2), GroupKind::Single);
    assert_eq!(GroupKind::of(Write, 3), GroupKind::RepeatedWrite);
    assert_eq!(GroupKind::of(Metadata, 9), GroupKind::MetadataSweep);
    assert_eq!(GroupKind::of(Operation::Link, 9), GroupKind::Repeated);
}

#[test]
fn places_in_common() {
    for (one, other, common) in [
        ("/a/b/c", "/a/b/d", "/a/b"),
        ("/a/b", "/a/b/d", "/a/b"),
        ("/a/b", "/a/bc", "/a"),
        ("/a", "/b", "/"),
        ("/a", "/a", "/a"),
    ] {
        assert_eq!(within(one.as_bytes(), other.as_bytes()), common);
        assert_eq!(within(other.as_bytes(), one.as_bytes()), common);
    }
}

/// Lines that the groups ask for while `number` attempts are made, one every `pause`.
fn lines(number: u64, pause: Duration, attempt: impl Fn(u64) -> Attempt) -> u64 {
    let mut groups = Groups::new(8);
    let mut now = Instant::now();
    let mut lines = 0;
    for n in 0..number {
        lines += u64::from(groups.add(&attempt(n), 0, None).listed);
        now += pause;
        lines += groups.due(now, false).len() as u64;
    }
    lines + groups.due(now, true).len() as u64
}

#[test]
fn a_flood_takes_few_lines() {
    let one = |_| of(&[1, 2], Delete, "/a");
    assert!(lines(100_000, Duration::ZERO, one) < 30);
    // Ten a second, for hours.
    assert!(lines(100_000, Duration::from_millis(100), one) < 120);
    // One process for each, all of one parent, and all of different ones.
    let siblings = |n: u64| of(&[1, 2, 10 + n as i32], Delete, "/a");
    assert!(lines(100_000, Duration::ZERO, siblings) < 30);
    let strangers = |n: u64| of(&[1, 100 + n as i32, 200_000 + n as i32], Delete, "/a");
    assert!(lines(100_000, Duration::ZERO, strangers) < MOST_GROUPS as u64 + 40);
}

#[test]
fn news_is_due_after_a_second_and_a_lost_line_again() {
    let mut groups = Groups::new(8);
    let now = Instant::now();
    groups.add(&of(&[2], Delete, "/a"), 0, None);
    assert!(
        groups.due(now, true).is_empty(),
        "the attempt has its own line"
    );
    groups.add(&of(&[2], Delete, "/b"), 0, None);
    assert!(groups.due(now, false).is_empty() && groups.has_news());
    let due = groups.due(now + Duration::from_secs(3), false);
    assert_eq!(due.len(), 1);
    assert!(!groups.has_news());
    groups.unwritten(due[0].id);
    assert_eq!(groups.due(now, true).len(), 1);
}
