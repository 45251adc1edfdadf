//! The four levels and what the run made itself: every operation x level x own or existing, and every pair of levels for the
//! calls that have two, compared with rules that are written down here a second time. `GUARD_TEST_ROWS=words` picks rows by
//! their names, `GUARD_TEST_SHOW=n` shows that many problems instead of forty.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

#[path = "levels/oracle.rs"]
mod oracle;
#[path = "levels/pairs.rs"]
mod pairs;
#[path = "levels/places.rs"]
mod places;
#[path = "levels/row.rs"]
mod row;
#[path = "levels/run.rs"]
mod run;
#[path = "levels/single.rs"]
mod single;
#[path = "levels/stories.rs"]
mod stories;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use run::Layout;
use support::{Home, Who, With, each, steps::Stepper};

const LAYOUTS: &[Layout] = &[
    Layout {
        name: "side by side in a writable home",
        areas: ["a/ro", "a/add", "a/nd", "a/wr"],
        policy: "version = 1\nrecord.list-attempts = 100000\ndefault = \"writable\"\n[paths]\n\
                 \"~/a/ro\" = \"read-only\"\n\"~/a/add\" = \"add-only\"\n\"~/a/nd\" = \"no-delete\"\n\"~/a/wr\" = \"writable\"\n",
    },
    Layout {
        name: "looser inside stricter",
        areas: ["b", "b/add", "b/add/nd", "b/add/nd/wr"],
        policy: "version = 1\nrecord.list-attempts = 100000\ndefault = \"writable\"\n[paths]\n\
                 \"~/b\" = \"read-only\"\n\"~/b/add\" = \"add-only\"\n\"~/b/add/nd\" = \"no-delete\"\n\"~/b/add/nd/wr\" = \"writable\"\n",
    },
    Layout {
        name: "stricter inside looser",
        areas: ["c/nd/add/ro", "c/nd/add", "c/nd", "c"],
        policy: "version = 1\nrecord.list-attempts = 100000\ndefault = \"writable\"\n[paths]\n\
                 \"~/c/nd\" = \"no-delete\"\n\"~/c/nd/add\" = \"add-only\"\n\"~/c/nd/add/ro\" = \"read-only\"\n",
    },
    Layout {
        name: "a home that loses nothing",
        areas: ["ro", "add", "plain", "wr"],
        policy: "version = 1\nrecord.list-attempts = 100000\ndefault = \"writable\"\n[paths]\n\"~\" = \"no-delete\"\n\
                 \"~/ro\" = \"read-only\"\n\"~/add\" = \"add-only\"\n\"~/wr\" = \"writable\"\n",
    },
    Layout {
        name: "everything else read-only",
        areas: ["elsewhere", "e/add", "e/add/wr/nd", "e/add/wr"],
        policy: "version = 1\nrecord.list-attempts = 100000\ndefault = \"read-only\"\n[paths]\n\"~\" = \"read-only\"\n\
                 \"~/e/add\" = \"add-only\"\n\"~/e/add/wr\" = \"writable\"\n\"~/e/add/wr/nd\" = \"no-delete\"\n",
    },
];

/// Where the homes of a table are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum On {
    /// Where everything else is tested, most often on ext4 or an overlay.
    Disk,
    /// In memory, if that has all that the rows need: another file system, and one that makes a hundred thousand entries in no
    /// time.
    Memory,
}

fn folder_for(on: On) -> PathBuf {
    static MEMORY: OnceLock<bool> = OnceLock::new();
    let shm = Path::new("/dev/shm");
    let usable = || {
        tempfile::NamedTempFile::new_in(shm)
            .is_ok_and(|file| support::snapshot::set_xattr(file.path(), "user.note", b"x"))
    };
    if on == On::Memory && *MEMORY.get_or_init(usable) {
        shm.to_owned()
    } else {
        std::env::temp_dir()
    }
}

/// Drops what this file system or kernel does not have, loudly.
fn possible(home: &Home, rows: Vec<row::Row>) -> Result<Vec<row::Row>, String> {
    let mut plain = Stepper::start(home, With::Nothing, "probe");
    let file = home.tmp().join("probe").to_str().unwrap().to_owned();
    plain.step(&format!("make {file}"))?;
    let mut missing = Vec::new();
    for (step, words) in [
        ("setxattr", "xattr"),
        ("setflags", "setflags"),
        ("fchmodat2", "fchmodat2"),
        ("tmpfile", "tmpfile"),
    ] {
        let argument = if step == "tmpfile" {
            home.tmp().to_str().unwrap().to_owned()
        } else {
            file.clone()
        };
        if plain.step(&format!("{step} {argument}"))? != 0 {
            support::skip(&format!("levels: rows with {words}"), step)?;
            missing.push(words);
        }
    }
    plain.end()?;
    let words = std::env::var("GUARD_TEST_ROWS").unwrap_or_default();
    let rows = rows.into_iter().filter(|row| {
        let wanted = row.name.contains(&words);
        let steps = row.acts.iter().map(|act| &act.step).chain(&row.setup);
        wanted
            && !steps
                .into_iter()
                .any(|step| missing.iter().any(|m| step.contains(m)))
    });
    Ok(rows.collect())
}

fn table(name: &str, on: On, layouts: &[Layout], rows: impl Fn() -> Vec<row::Row> + Sync) {
    each(
        name,
        layouts,
        |layout| layout.name.to_owned(),
        |layout, who: Who| {
            let home = Home::new_in(who, &folder_for(on));
            let rows = possible(&home, rows())?;
            home.renew();
            run::run(&home, layout, &rows)
        },
    );
}

fn every_fifth(rows: Vec<row::Row>) -> Vec<row::Row> {
    rows.into_iter().step_by(5).collect()
}

#[test]
fn one_place() {
    table("one place", On::Memory, LAYOUTS, single::rows);
}

#[test]
fn two_places() {
    table("two places", On::Memory, LAYOUTS, pairs::rows);
}

#[test]
fn one_call_after_the_other() {
    table("stories", On::Memory, LAYOUTS, stories::rows);
}

/// The rows name their own places, so that the areas around them are granted piece by piece.
#[test]
fn places_of_their_own() {
    table("places", On::Memory, &LAYOUTS[..1], places::rows);
}

/// Another file system answers by the same rules; nothing of the rows is bound to one layout, so one has to do.
#[test]
fn on_disk() {
    let rows = || {
        let mut rows = stories::rows();
        rows.extend(every_fifth(single::rows()));
        rows.extend(every_fifth(pairs::rows()));
        rows
    };
    table("on disk", On::Disk, &LAYOUTS[..1], rows);
    table("places on disk", On::Disk, &LAYOUTS[..1], || {
        every_fifth(places::rows())
    });
}
