//! Rows with a place that the policy names inside the row's own folder: the place itself, the folder above it, and places that
//! are not there yet.

use libc::{EACCES, EXDEV};

use super::oracle::{LEVELS, Level, Thing, Whose, change, make, moves, remove, replaces};
use super::row::{Before, Row, at};

use Level::{ReadOnly, Writable};

pub fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for around in LEVELS {
        for level in LEVELS {
            missing(around, level, &mut rows);
            if around != level {
                above(around, level, &mut rows);
                folder(around, level, &mut rows);
                file(around, level, &mut rows);
            }
        }
    }
    rows
}

/// `in` in the folder `up`, whose surroundings have another level.
fn row(what: &str, around: Level, level: Level) -> Row {
    let mut row = Row::new(format!("{what}: {} in {}", level.name(), around.name()))
        .before(Before::Dir(at(around, "up")));
    row.places.push((at(around, "up/in"), level));
    row
}

/// The folder above a place keeps its name, and its owner's way in.
fn above(around: Level, level: Level, rows: &mut Vec<Row>) {
    let up = at(around, "up");
    let there = |what: &str| {
        row(&format!("the folder above, {what}"), around, level)
            .before(Before::Full(at(around, "up/in")))
            .before(Before::Dir(at(around, "other")))
    };
    for to in LEVELS {
        rows.push(
            there(&format!("renamed to {}", to.name()))
                .before(Before::File(at(to, "third")))
                .act(format!("rename {up} {}", at(to, "new")), false),
        );
    }
    rows.push(there("renamed over").act(format!("rename {up} {}", at(around, "other")), false));
    rows.push(there("exchanged").act(format!("exchange {up} {}", at(around, "other")), false));
    rows.push(
        there("exchanged from the other side")
            .act(format!("exchange {} {up}", at(around, "other")), false),
    );
    if make(around) {
        rows.push(
            there("exchanged with an own one")
                .setup(format!("make-full {}", at(around, "own")))
                .act(format!("exchange {} {up}", at(around, "own")), false),
        );
    }
    let may = change(Whose::Existed, around);
    for (mode, allowed) in [("0", false), ("500", false), ("77", false), ("700", may)] {
        rows.push(there(&format!("mode {mode}")).act(format!("chmod-to {mode} {up}"), allowed));
    }
    rows.push(there("times").act(format!("utimensat {up}"), may));
    rows.push(there("attributes").act(format!("setxattr {up}"), may));
    // The place is not there, and the folder is on the way to it all the same; but for a looser one, whose grant nothing
    // could carry along.
    let empty = |what: &str| row(&format!("the empty folder above, {what}"), around, level);
    rows.push(empty("removed").act(format!("rmdir {up}"), false));
    rows.push(empty("renamed").act(
        format!("rename {up} {}", at(around, "new")),
        level > around && change(Whose::Existed, around),
    ));
}

/// The place is a folder.
fn folder(around: Level, level: Level, rows: &mut Vec<Row>) {
    let place = at(around, "up/in");
    let there = |what: &str| {
        row(&format!("a folder that is a place, {what}"), around, level)
            .before(Before::Dir(place.clone()))
    };
    rows.push(there("removed").act(format!("rmdir {place}"), remove(Whose::Existed, level)));
    rows.push(there("mode").act(
        format!("chmod-to 750 {place}"),
        change(Whose::Existed, level),
    ));
    rows.push(there("new entry").act(format!("make {place}/x"), make(level)));
    let thing = Thing {
        whose: Whose::Existed,
        at: level,
        holds_existing: false,
    };
    let guard = match moves(thing, around) {
        // The wall grants it by itself, and would go on granting it where it is moved to.
        true if level == Writable => EXDEV,
        true => 0,
        false => EACCES,
    };
    // Whether a place of its own may go where more is protected is not decided.
    if guard != 0 {
        rows.push(there("renamed").answer(
            format!("rename {place} {}", at(around, "new")),
            0,
            guard,
        ));
    }
}

/// The place is a file.
fn file(around: Level, level: Level, rows: &mut Vec<Row>) {
    let place = at(around, "up/in");
    let there = |what: &str| {
        row(&format!("a file that is a place, {what}"), around, level)
            .before(Before::File(place.clone()))
    };
    let may_change = change(Whose::Existed, level);
    for step in [
        "open WRONLY",
        "open RDONLY|TRUNC",
        "truncate",
        "chmod",
        "utimensat",
    ] {
        rows.push(there(step).act(format!("{step} {place}"), may_change));
    }
    let may_remove = remove(Whose::Existed, level);
    rows.push(there("removed").act(format!("unlink {place}"), may_remove));
    let source = |whose| Thing {
        whose,
        at: Writable,
        holds_existing: false,
    };
    let replaced = Thing {
        whose: Whose::Existed,
        at: level,
        holds_existing: false,
    };
    let s = at(Writable, "s");
    rows.push(
        there("replaced by an own one")
            .setup(format!("make {s}"))
            .act(
                format!("rename {s} {place}"),
                replaces(source(Whose::Own), replaced),
            ),
    );
    rows.push(
        there("replaced by an existing one")
            .before(Before::File(s.clone()))
            .act(
                format!("rename {s} {place}"),
                replaces(source(Whose::Existed), replaced),
            ),
    );
}

/// A place that is not there has its level all the same.
fn missing(around: Level, level: Level, rows: &mut Vec<Row>) {
    let place = at(around, "up/in");
    let there = |what: &str| row(&format!("a missing place, {what}"), around, level);
    let may = make(level);
    for step in [
        "open CREAT|WRONLY %",
        "open CREAT|EXCL|RDWR %",
        "creat %",
        "mkdir %",
        "mknod-file %",
        "mknod-fifo %",
        "bind %",
        "symlink nowhere %",
    ] {
        let first = there(step).act(step.replace('%', &place), may);
        let removal = if step.starts_with("mkdir") {
            "rmdir"
        } else {
            "unlink"
        };
        rows.push(if may {
            first.act(format!("{removal} {place}"), true)
        } else {
            first
        });
    }
    let s = at(Writable, "s");
    for op in ["rename", "noreplace", "link"] {
        rows.push(
            there(&format!("{op} of an existing file to it"))
                .before(Before::File(s.clone()))
                .act(format!("{op} {s} {place}"), may),
        );
        rows.push(
            there(&format!("{op} of an own file to it"))
                .setup(format!("make {s}"))
                .act(format!("{op} {s} {place}"), may),
        );
    }
    if may {
        rows.push(
            there("made with what lies in it, and removed")
                .act(format!("make-full {place}"), true)
                .act(format!("open WRONLY {place}/in"), true)
                .act(format!("unlink {place}/in"), true)
                .act(format!("rmdir {place}"), true),
        );
    }
    // The folder above is missing as well.
    let nothing = |what: &str| {
        let mut row = row(
            &format!("a missing place in a missing folder, {what}"),
            around,
            level,
        );
        row.before = vec![Before::File(at(around, "other"))];
        row
    };
    let up = at(around, "up");
    let first = nothing("made").act(format!("mkdir {up}"), make(around));
    rows.push(if make(around) {
        first.act(format!("mkdir {place}"), may)
    } else {
        first
    });
    if level == ReadOnly && around > ReadOnly {
        rows.push(
            nothing("filled by a rename")
                .setup(format!("make-dir {}", at(around, "d")))
                .setup(format!("make {}", at(around, "d/in")))
                .act(format!("rename {} {up}", at(around, "d")), false),
        );
    }
}
