//! Every way to lose a file, as one table of attacks: `cargo test --test escape`.
//!
//! Each row is done without guard (the control, which has to do damage), under guard, and with each of guard's two layers
//! alone, by which it is tried who stops it. Its numbers are those of `escape/ways.rs`.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

#[path = "escape/allowed.rs"]
mod allowed;
#[path = "escape/answers.rs"]
mod answers;
#[path = "escape/contexts.rs"]
mod contexts;
#[path = "escape/detours.rs"]
mod detours;
#[path = "escape/itself.rs"]
mod itself;
#[path = "escape/links.rs"]
mod links;
#[path = "escape/metadata.rs"]
mod metadata;
#[path = "escape/mounts.rs"]
mod mounts;
#[path = "escape/new_entries.rs"]
mod new_entries;
#[path = "escape/paths.rs"]
mod paths;
#[path = "escape/raw.rs"]
mod raw;
#[path = "escape/reach.rs"]
mod reach;
#[path = "escape/removals.rs"]
mod removals;
#[path = "escape/renames.rs"]
mod renames;
#[path = "escape/row.rs"]
mod row;
mod support;
#[path = "escape/ways.rs"]
mod ways;
#[path = "escape/writes.rs"]
mod writes;

/// A test for each table, and a list of them all.
macro_rules! tables {
    ($($name:ident: $rows:path),*) => {
        $(#[test]
        fn $name() {
            row::table(stringify!($name), $rows);
        })*

        fn all() -> impl Iterator<Item = &'static row::Row> {
            [$($rows),*].into_iter().flatten()
        }
    };
}

tables!(
    removals: removals::ROWS,
    renames: renames::ROWS,
    writes: writes::ROWS,
    metadata: metadata::ROWS,
    links: links::ROWS,
    new_entries: new_entries::ROWS,
    mounts: mounts::ROWS,
    raw_opens: raw::OPENS,
    raw_opens_32: raw::OPENS_32,
    raw_entries: raw::ENTRIES,
    raw_entries_32: raw::ENTRIES_32,
    raw_metadata: raw::METADATA,
    raw_metadata_32: raw::METADATA_32,
    raw_own: raw::OWN,
    raw_own_32: raw::OWN_32,
    reach: reach::ROWS,
    paths: paths::ROWS,
    itself: itself::ROWS
);

/// Numbers of all rows, with their names.
fn tried() -> impl Iterator<Item = (u8, &'static str)> {
    let rows = all().chain(contexts::ROWS).map(|r| (r.numbers, r.name));
    let answers = answers::ANSWERS.iter().map(|a| (a.numbers, a.name));
    rows.chain(answers)
        .flat_map(|(numbers, name)| numbers.iter().map(move |n| (*n, name)))
}

#[test]
fn every_way_is_tried_or_says_why_not() {
    let mut problems = Vec::new();
    for (at, way) in ways::WAYS.iter().enumerate() {
        let number = u8::try_from(at + 1).unwrap();
        let rows = tried().filter(|(n, _)| *n == number).count();
        let excused = ways::NOT_TRIED.iter().any(|(n, _)| *n == number);
        if (rows > 0) == excused {
            problems.push(format!("{number} {way}: {rows} rows, excused: {excused}"));
        }
    }
    let unknown = tried().filter(|(n, _)| *n == 0 || usize::from(*n) > ways::WAYS.len());
    problems.extend(unknown.map(|(n, name)| format!("{name}: {n}?")));
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// A limit that README.md does not name is a hole.
#[test]
fn limits_are_named() {
    let readme = include_str!("../README.md");
    for row in all() {
        if let row::Limit(words) = row.stopper {
            assert!(
                readme.contains(&format!("- **{words}")),
                "{}: {words}",
                row.name
            );
        }
    }
}

#[test]
fn names_are_told_apart() {
    let mut names: Vec<_> = all().map(|row| row.name).collect();
    names.extend(answers::ANSWERS.iter().map(|a| a.name));
    names.sort_unstable();
    let twice: Vec<_> = names.windows(2).filter(|w| w[0] == w[1]).collect();
    assert!(twice.is_empty(), "{twice:?}");
}
