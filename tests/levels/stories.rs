//! Rows with several calls, where what one did decides about the next: whose an object is follows the object.

use libc::ENOTEMPTY;

use super::oracle::{LEVELS, Level, Thing, Whose, change, make, moves, remove, replaces};
use super::row::{Before, Kind, Origin, Row, at};

use Level::{AddOnly, NoDelete, Writable};

pub fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for level in LEVELS {
        kept_through_names(level, &mut rows);
        saves(level, &mut rows);
        trees(level, &mut rows);
        new_under_an_old_name(level, &mut rows);
        for to in LEVELS {
            kept_through_moves(level, to, &mut rows);
            two_steps_out(level, to, &mut rows);
        }
    }
    rows
}

fn story(name: &str, level: Level) -> Row {
    Row::new(format!("{name} at {}", level.name())).before(Before::File(at(level, "other")))
}

fn kept_through_names(level: Level, rows: &mut Vec<Row>) {
    if !make(level) {
        return;
    }
    let (x, y, z) = (at(level, "x"), at(level, "y"), at(level, "z"));
    rows.push(
        story("make, rename, write, remove", level)
            .act(format!("make {x}"), true)
            .act(format!("rename {x} {y}"), true)
            .act(format!("open WRONLY {y}"), true)
            .act(format!("chmod {y}"), true)
            .act(format!("unlink {y}"), true),
    );
    rows.push(
        story("make, link, remove both", level)
            .act(format!("make {x}"), true)
            .act(format!("link {x} {y}"), true)
            .act(format!("unlink {x}"), true)
            .act(format!("open WRONLY|TRUNC {y}"), true)
            .act(format!("unlink {y}"), true),
    );
    rows.push(
        story(
            "make, link, rename the link over a third own file, remove",
            level,
        )
        .act(format!("make {x}"), true)
        .act(format!("make {z}"), true)
        .act(format!("link {x} {y}"), true)
        .act(format!("rename {y} {z}"), true)
        .act(format!("unlink {z}"), true)
        .act(format!("unlink {x}"), true),
    );
    rows.push(
        story("exchange two own files, remove both", level)
            .act(format!("make {x}"), true)
            .act(format!("make-full {y}"), true)
            .act(format!("exchange {x} {y}"), true)
            .act(format!("unlink {y}"), true)
            .act(format!("unlink {x}/in"), true)
            .act(format!("rmdir {x}"), true),
    );
    rows.push(
        story("a tree of one's own is renamed and removed", level)
            .act(format!("make-full {x}"), true)
            .act(format!("rename {x} {y}"), true)
            .act(format!("make-dir {y}/deep"), true)
            .act(format!("rename {y}/in {y}/deep/in"), true)
            .act(format!("rmdir {y}/deep"), false)
            .act(format!("unlink {y}/deep/in"), true)
            .act(format!("rmdir {y}/deep"), true)
            .act(format!("rmdir {y}"), true),
    );
    // That rmdir finds something in the folder.
    if let Some(act) = rows
        .last_mut()
        .and_then(|row| row.acts.iter_mut().find(|act| act.guard != 0))
    {
        (act.kernel, act.guard) = (ENOTEMPTY, 0);
    }
    rows.push(
        story("make, remove, make again", level)
            .act(format!("make {x}"), true)
            .act(format!("unlink {x}"), true)
            .fails(format!("unlink {x}"), libc::ENOENT)
            .act(format!("make {x}"), true)
            .act(format!("truncate {x}"), true)
            .act(format!("unlink {x}"), true),
    );
}

/// The way editors write: a new file over the old one.
fn saves(level: Level, rows: &mut Vec<Row>) {
    let (x, t, u) = (at(level, "x"), at(level, "t"), at(level, "u"));
    let own = Thing {
        whose: Whose::Own,
        at: level,
        holds_existing: false,
    };
    let old = Thing {
        whose: Whose::Existed,
        ..own
    };
    if !make(level) {
        return;
    }
    let saving = replaces(own, old);
    let saved = |name: &str| {
        story(name, level)
            .before(Before::File(x.clone()))
            .act(format!("make {t}"), true)
            .act(format!("rename {t} {x}"), saving)
    };
    rows.push(saved("atomic save"));
    if saving {
        // In a writable place nobody asks whose the saved file is.
        let free = level == Writable;
        rows.push(saved("atomic save, then unlink").act(format!("unlink {x}"), free));
        rows.push(
            saved("atomic save, then write and chmod")
                .act(format!("open WRONLY|TRUNC {x}"), true)
                .act(format!("chmod {x}"), true)
                .act(format!("unlink {x}"), free),
        );
        rows.push(
            saved("two atomic saves")
                .act(format!("make {t}"), true)
                .act(format!("rename {t} {x}"), true)
                .act(format!("unlink {x}"), free),
        );
        rows.push(
            saved("atomic save, then put aside")
                .act(format!("rename {x} {u}"), true)
                .act(format!("unlink {u}"), free),
        );
        rows.push(
            saved("atomic save, then out of the place")
                .act(format!("rename {x} {}", at(Writable, "out")), free),
        );
        rows.push(
            saved("atomic save, its own link of before, then unlink")
                .act(format!("link {x} {u}"), true)
                .act(format!("unlink {u}"), true)
                .act(format!("unlink {x}"), free),
        );
    }
    // vim and emacs: the old file is put aside, the new one takes its name.
    let aside = moves(old, level);
    let backup = story("the old file put aside, a new one under its name", level)
        .before(Before::File(x.clone()))
        .act(format!("rename {x} {u}"), aside);
    rows.push(if aside {
        backup
            .act(format!("open CREAT|EXCL|WRONLY {x}"), true)
            .act(format!("unlink {x}"), true)
            .act(format!("unlink {u}"), remove(Whose::Existed, level))
    } else {
        backup
    });
    // Three files moved onto one name: a folder that is missing.
    if level == NoDelete {
        rows.push(
            Row::new("three existing files moved onto one name at no-delete")
                .before(Before::File(x.clone()))
                .before(Before::File(t.clone()))
                .act(format!("rename {x} {u}"), true)
                .act(format!("rename {t} {u}"), false),
        );
    }
}

/// What `rm -rf` does to folders that hold both.
fn trees(level: Level, rows: &mut Vec<Row>) {
    if !make(level) {
        return;
    }
    let d = at(level, "d");
    let gone = remove(Whose::Existed, level);
    let emptied = |row: Row, step: String, may: bool| {
        // What still holds something fails as ever in a home that loses nothing.
        let may = may || !gone && level == Level::NoDelete;
        let guard = if may { 0 } else { libc::EACCES };
        row.answer(step, if gone { 0 } else { ENOTEMPTY }, guard)
    };
    let start = story("rm -rf of an own tree with existing entries", level)
        .setup(format!("make-full {d}"))
        .setup(format!("make-dir {d}/e"))
        .setup(format!("make {d}/e/b"))
        .setup(format!("make-full {d}/own"));
    let start = Origin::Brought.put(start, Kind::File, &format!("{d}/e/x"));
    let start = Origin::Brought.put(start, Kind::Full, &format!("{d}/full"));
    let row = start
        .act(format!("unlinkat {d}/in"), true)
        .act(format!("unlinkat {d}/e/b"), true)
        .act(format!("unlinkat {d}/e/x"), gone);
    let row = emptied(row, format!("removedir {d}/e"), true)
        .act(format!("unlinkat {d}/own/in"), true)
        .act(format!("removedir {d}/own"), true)
        .act(format!("unlinkat {d}/full/in"), gone);
    let row = emptied(row, format!("removedir {d}/full"), gone);
    rows.push(emptied(row, format!("removedir {d}"), true));

    let start = story("rm -rf of an existing tree with own entries", level)
        .before(Before::Full(d.clone()))
        .before(Before::Dir(format!("{d}/empty")))
        .setup(format!("make {d}/own"))
        .setup(format!("make-full {d}/new"));
    let row = start
        .act(format!("unlinkat {d}/own"), true)
        .act(format!("unlinkat {d}/in"), gone)
        .act(format!("removedir {d}/empty"), gone)
        .act(format!("unlinkat {d}/new/in"), true)
        .act(format!("removedir {d}/new"), true);
    rows.push(emptied(row, format!("removedir {d}"), gone));
}

/// An own object under the name of an existing one is own; the existing one under another name is not.
fn new_under_an_old_name(level: Level, rows: &mut Vec<Row>) {
    let (x, y) = (at(level, "x"), at(level, "y"));
    if level == Writable {
        rows.push(
            story("existing removed, made again, removed", level)
                .before(Before::File(x.clone()))
                .act(format!("unlink {x}"), true)
                .act(format!("make {x}"), true)
                .act(format!("unlink {x}"), true),
        );
    }
    if make(level) && level < Writable {
        let own = Thing {
            whose: Whose::Own,
            at: level,
            holds_existing: false,
        };
        let old = Thing {
            whose: Whose::Existed,
            ..own
        };
        let swaps = super::oracle::exchanges(own, old);
        let row = story("own and existing exchanged", level)
            .before(Before::File(x.clone()))
            .setup(format!("make {y}"))
            .act(format!("exchange {x} {y}"), swaps);
        rows.push(if swaps {
            row.act(format!("unlink {x}"), true)
                .act(format!("unlink {y}"), false)
        } else {
            row.act(format!("unlink {y}"), true)
                .act(format!("unlink {x}"), false)
        });
    }
}

fn kept_through_moves(from: Level, to: Level, rows: &mut Vec<Row>) {
    if !make(from) || !make(to) {
        return;
    }
    let (x, y) = (at(from, "x"), at(to, "y"));
    let name = format!("made at {}, moved, used and removed", from.name());
    rows.push(
        story(&name, to)
            .act(format!("make-full {x}"), true)
            .act(format!("rename {x} {y}"), true)
            .act(format!("open WRONLY|APPEND {y}/in"), true)
            .act(format!("utimensat {y}"), true)
            .act(format!("make {y}/more"), true)
            .act(format!("unlink {y}/in"), true)
            .act(format!("unlink {y}/more"), true)
            .act(format!("rmdir {y}"), true),
    );
    let name = format!("made at {}, moved there and back, removed", from.name());
    rows.push(
        story(&name, to)
            .act(format!("make {x}"), true)
            .act(format!("rename {x} {y}"), true)
            .act(format!("rename {y} {x}"), true)
            .act(format!("unlink {x}"), true),
    );
}

/// What existed does not become removable by way of a third place.
fn two_steps_out(from: Level, by: Level, rows: &mut Vec<Row>) {
    let old = |at| Thing {
        whose: Whose::Existed,
        at,
        holds_existing: true,
    };
    if from == Writable || !moves(old(from), by) {
        return;
    }
    let (x, y, out) = (at(from, "x"), at(by, "y"), at(Writable, "out"));
    let name = format!("existing from {} out by way of a place", from.name());
    let first = |what: &str| {
        story(&format!("{name}, {what}"), by)
            .before(Before::Full(x.clone()))
            .act(format!("rename {x} {y}"), true)
    };
    rows.push(first("rename").act(format!("rename {y} {out}"), moves(old(by), Writable)));
    rows.push(first("rename below").act(format!("rename {y}/in {out}"), moves(old(by), Writable)));
    rows.push(first("unlink").act(format!("unlink {y}/in"), remove(Whose::Existed, by)));
    rows.push(first("write").act(format!("open WRONLY {y}/in"), change(Whose::Existed, by)));
    if by != NoDelete {
        return;
    }
    rows.push(
        first("in an own folder")
            .setup(format!("make-dir {}", at(AddOnly, "bag")))
            .act(format!("rename {y} {}", at(AddOnly, "bag/y")), true)
            .act(format!("rename {} {out}", at(AddOnly, "bag")), false),
    );
}
