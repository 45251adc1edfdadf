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
use std::sync::{OnceLock, RwLock};

use run::Layout;
use support::{Home, Who, With, each, steps::Stepper};

const LAYOUTS: &[Layout] = &[
    Layout {
        name: "side by side in a writable home",
        areas: ["a/ro", "a/add", "a/nd", "a/wr"],
        policy: "version = 1\ndefault = \"writable\"\n[paths]\n\
                 \"~/a/ro\" = \"read-only\"\n\"~/a/add\" = \"add-only\"\n\"~/a/nd\" = \"no-delete\"\n\"~/a/wr\" = \"writable\"\n",
    },
    Layout {
        name: "looser inside stricter",
        areas: ["b", "b/add", "b/add/nd", "b/add/nd/wr"],
        policy: "version = 1\ndefault = \"writable\"\n[paths]\n\
                 \"~/b\" = \"read-only\"\n\"~/b/add\" = \"add-only\"\n\"~/b/add/nd\" = \"no-delete\"\n\"~/b/add/nd/wr\" = \"writable\"\n",
    },
    Layout {
        name: "stricter inside looser",
        areas: ["c/nd/add/ro", "c/nd/add", "c/nd", "c"],
        policy: "version = 1\ndefault = \"writable\"\n[paths]\n\
                 \"~/c/nd\" = \"no-delete\"\n\"~/c/nd/add\" = \"add-only\"\n\"~/c/nd/add/ro\" = \"read-only\"\n",
    },
    Layout {
        name: "a home that loses nothing",
        areas: ["ro", "add", "plain", "wr"],
        policy: "version = 1\ndefault = \"writable\"\n[paths]\n\"~\" = \"no-delete\"\n\
                 \"~/ro\" = \"read-only\"\n\"~/add\" = \"add-only\"\n\"~/wr\" = \"writable\"\n",
    },
    Layout {
        name: "everything else read-only",
        areas: ["elsewhere", "e/add", "e/add/wr/nd", "e/add/wr"],
        policy: "version = 1\ndefault = \"read-only\"\n[paths]\n\"~\" = \"read-only\"\n\
                 \"~/e/add\" = \"add-only\"\n\"~/e/add/wr\" = \"writable\"\n\"~/e/add/wr/nd\" = \"no-delete\"\n",
    },
];

/// The first layout is where everything else is tested, most often on ext4 or an overlay. The others are in memory where that
/// has all that the rows need: another file system, and one that makes a hundred thousand entries in no time.
fn folder_for(layout: &Layout) -> PathBuf {
    static MEMORY: OnceLock<bool> = OnceLock::new();
    let shm = Path::new("/dev/shm");
    let usable = || {
        tempfile::NamedTempFile::new_in(shm)
            .is_ok_and(|file| support::snapshot::set_xattr(file.path(), "user.note", b"x"))
    };
    if layout.areas != LAYOUTS[0].areas && *MEMORY.get_or_init(usable) {
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

/// guard looks through all of /dev when it builds the wall, and what it grants there counts against the most that it grants by
/// itself: a table about such grants waits until the folders in memory are gone.
static MEMORY_IN_USE: RwLock<()> = RwLock::new(());

fn table(name: &str, layouts: &[Layout], rows: impl Fn() -> Vec<row::Row> + Sync) {
    each(
        name,
        layouts,
        |layout| layout.name.to_owned(),
        |layout, who: Who| {
            let home = Home::new_in(who, &folder_for(layout));
            let rows = possible(&home, rows())?;
            home.renew();
            run::run(&home, layout, &rows)
        },
    );
}

#[test]
fn one_place() {
    let _shared = MEMORY_IN_USE.read();
    table("one place", LAYOUTS, single::rows);
}

#[test]
fn two_places() {
    let _shared = MEMORY_IN_USE.read();
    table("two places", LAYOUTS, pairs::rows);
}

#[test]
fn one_call_after_the_other() {
    let _shared = MEMORY_IN_USE.read();
    table("stories", LAYOUTS, stories::rows);
}

/// The rows name their own places, so that the areas around them are granted piece by piece.
#[test]
fn places_of_their_own() {
    let _alone = MEMORY_IN_USE.write();
    table("places", &LAYOUTS[..1], places::rows);
}
