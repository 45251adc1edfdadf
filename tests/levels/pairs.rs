//! Rows with one call between two places: renames and links over every pair of levels.

use libc::{EEXIST, EISDIR, ENOENT, ENOTDIR, ENOTEMPTY};

use super::oracle::{LEVELS, Level, Thing, Whose, exchanges, links, make, moves, replaces};
use super::row::{Before, Kind, ORIGINS, Origin, Row, at};

const RENAMES: &[&str] = &["rename", "noreplace", "exchange"];

/// What may lie at the other end.
const DESTINATIONS: &[Option<(Kind, Origin)>] = &[
    None,
    Some((Kind::File, Origin::Existed)),
    Some((Kind::File, Origin::Made)),
    Some((Kind::Dir, Origin::Existed)),
    Some((Kind::Dir, Origin::Made)),
    Some((Kind::Full, Origin::Existed)),
    Some((Kind::Full, Origin::Made)),
];

fn thing(origin: Origin, kind: Kind, at: Level) -> Thing {
    Thing {
        whose: origin.whose(),
        at,
        holds_existing: kind == Kind::Full && origin.whose() == Whose::Existed,
    }
}

pub fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for from in LEVELS {
        for to in LEVELS {
            for origin in [Origin::Existed, Origin::Made] {
                for kind in [Kind::File, Kind::Full] {
                    for destination in DESTINATIONS {
                        renames((from, to), (origin, kind), *destination, &mut rows);
                    }
                }
            }
            for origin in ORIGINS {
                other_sources((from, to), origin, &mut rows);
                hard_links((from, to), origin, &mut rows);
            }
            mixed_folders((from, to), &mut rows);
            from_nameless((from, to), &mut rows);
            missing((from, to), &mut rows);
        }
    }
    rows
}

fn described(op: &str, what: &str, from: Level, to: Level, over: &str) -> Row {
    Row::new(format!(
        "{op} {what} from {} to {} {over}",
        from.name(),
        to.name()
    ))
    // Both folders are there whether or not something lies in them.
    .before(Before::File(at(from, "other")))
    .before(Before::File(at(to, "another")))
}

fn kernel_says(op: &str, source: Kind, destination: Option<Kind>) -> i32 {
    let directory = |kind| matches!(kind, Kind::Dir | Kind::Full);
    match (op, destination) {
        ("noreplace", Some(_)) => EEXIST,
        ("exchange", None) => ENOENT,
        ("exchange", Some(_)) | (_, None) => 0,
        (_, Some(there)) => match (directory(source), directory(there)) {
            (false, true) => EISDIR,
            (true, false) => ENOTDIR,
            (true, true) if there == Kind::Full => ENOTEMPTY,
            _ => 0,
        },
    }
}

fn renames(
    (from, to): (Level, Level),
    (origin, kind): (Origin, Kind),
    destination: Option<(Kind, Origin)>,
    rows: &mut Vec<Row>,
) {
    let there = destination.is_none_or(|(kind, origin)| origin.possible(to, kind));
    if !origin.possible(from, kind) || !there {
        return;
    }
    let (a, b) = (at(from, "s"), at(to, "d"));
    for op in RENAMES {
        let source = thing(origin, kind, from);
        let allowed = match destination {
            None => moves(source, to),
            Some((k, o)) if *op == "exchange" => exchanges(source, thing(o, k, to)),
            Some((k, o)) => replaces(source, thing(o, k, to)),
        };
        let over = destination.map_or_else(
            || "over nothing".to_owned(),
            |(k, o)| format!("over {} {k:?}", o.word()).to_lowercase(),
        );
        let what = format!("{} {kind:?}", origin.word()).to_lowercase();
        let mut row = origin.put(described(op, &what, from, to, &over), kind, &a);
        if let Some((k, o)) = destination {
            row = o.put(row, k, &b);
        }
        let kernel = kernel_says(op, kind, destination.map(|(k, _)| k));
        let guard = if allowed { 0 } else { libc::EACCES };
        rows.push(row.answer(format!("{op} {a} {b}"), kernel, guard));
    }
}

/// Sources of every origin and kind, to where nothing is.
fn other_sources((from, to): (Level, Level), origin: Origin, rows: &mut Vec<Row>) {
    let (a, b) = (at(from, "s"), at(to, "d"));
    for kind in [Kind::File, Kind::Dir, Kind::Full, Kind::Symlink, Kind::Fifo] {
        if !origin.possible(from, kind) {
            continue;
        }
        let what = format!("{} {kind:?}", origin.word()).to_lowercase();
        let allowed = moves(thing(origin, kind, from), to);
        let base =
            |op: &str, over: &str| origin.put(described(op, &what, from, to, over), kind, &a);
        rows.push(base("renameat", "over nothing").act(format!("renameat {a} {b}"), allowed));
        let deeper = at(to, "sub/d");
        rows.push(
            base("rename", "into an existing folder")
                .before(Before::Dir(at(to, "sub")))
                .act(format!("rename {a} {deeper}"), allowed),
        );
        if make(to) {
            rows.push(
                base("rename", "into an own folder")
                    .setup(format!("make-dir {}", at(to, "sub")))
                    .act(format!("rename {a} {deeper}"), allowed),
            );
        }
    }
}

/// A folder of the run's own that holds something which existed.
fn mixed_folders((from, to): (Level, Level), rows: &mut Vec<Row>) {
    if from == Level::ReadOnly {
        return;
    }
    let (a, b) = (at(from, "s"), at(to, "d"));
    for depth in ["x", "deep/x"] {
        let mixed = Thing {
            whose: Whose::Own,
            at: from,
            holds_existing: true,
        };
        let base = |op: &str, over: &str| {
            let mut row = described(op, "own folder with something existing", from, to, over)
                .setup(format!("make-full {a}"));
            if depth != "x" {
                row = row.setup(format!("make-dir {a}/deep"));
            }
            row.name += &format!(" ({depth})");
            Origin::Brought.put(row, Kind::File, &format!("{a}/{depth}"))
        };
        rows.push(base("rename", "over nothing").act(format!("rename {a} {b}"), moves(mixed, to)));
        if make(to) {
            let own = thing(Origin::Made, Kind::File, to);
            rows.push(
                base("exchange", "with own file")
                    .setup(format!("make {b}"))
                    .act(format!("exchange {a} {b}"), exchanges(mixed, own)),
            );
            rows.push(
                base("exchange", "from the other side")
                    .setup(format!("make {b}"))
                    .act(format!("exchange {b} {a}"), exchanges(mixed, own)),
            );
        }
    }
}

fn hard_links((from, to): (Level, Level), origin: Origin, rows: &mut Vec<Row>) {
    let (a, b) = (at(from, "s"), at(to, "d"));
    for kind in [Kind::File, Kind::Symlink, Kind::Fifo] {
        if !origin.possible(from, kind) {
            continue;
        }
        let what = format!("{} {kind:?}", origin.word()).to_lowercase();
        let allowed = links(origin.whose(), from, to);
        let ops: &[&str] = if kind == Kind::File {
            &["link", "linkat", "link-number"]
        } else {
            &["linkat"]
        };
        for op in ops {
            let base = |over: &str| origin.put(described(op, &what, from, to, over), kind, &a);
            let step = format!("{op} {a} {b}");
            rows.push(base("to a new name").act(&step, allowed));
            rows.push(
                base("onto something")
                    .before(Before::File(b.clone()))
                    .fails(&step, EEXIST),
            );
        }
        // A name that the run gave goes away again, the first one only where it could go before.
        if kind == Kind::File && allowed {
            let first = super::oracle::remove(origin.whose(), from);
            rows.push(
                origin
                    .put(described("link and unlink", &what, from, to, ""), kind, &a)
                    .act(format!("link {a} {b}"), true)
                    .act(format!("unlink {b}"), true)
                    .act(format!("unlink {a}"), first),
            );
            rows.push(
                origin
                    .put(described("link and write", &what, from, to, ""), kind, &a)
                    .act(format!("link {a} {b}"), true)
                    .act(
                        format!("open WRONLY {b}"),
                        super::oracle::change(origin.whose(), to),
                    ),
            );
            if first {
                rows.push(
                    origin
                        .put(
                            described("link and unlink the first", &what, from, to, ""),
                            kind,
                            &a,
                        )
                        .act(format!("link {a} {b}"), true)
                        .act(format!("unlink {a}"), true),
                );
            }
        }
    }
    if origin == Origin::Existed {
        let allowed = links(origin.whose(), from, to);
        let guard = if allowed { 0 } else { libc::EACCES };
        rows.push(
            described("link", "existing dir", from, to, "")
                .before(Before::Dir(a.clone()))
                .answer(format!("link {a} {b}"), libc::EPERM, guard),
        );
    }
}

/// A file without a name that gets one at another level.
fn from_nameless((from, to): (Level, Level), rows: &mut Vec<Row>) {
    let name = at(to, "d");
    let allowed = make(from) && make(to);
    let step = format!("tmpfile-link @{} {name}", from as usize);
    let row = described("tmpfile and link", "", from, to, "").act(step, allowed);
    rows.push(if allowed {
        row.act(format!("unlink {name}"), true)
    } else {
        row
    });
}

fn missing((from, to): (Level, Level), rows: &mut Vec<Row>) {
    let (a, b) = (at(from, "s"), at(to, "d"));
    for op in ["rename", "noreplace", "exchange", "link", "linkat"] {
        rows.push(described(op, "nothing", from, to, "").fails(format!("{op} {a} {b}"), ENOENT));
        rows.push(
            described(op, "nothing", from, to, "over something")
                .before(Before::File(b.clone()))
                .fails(format!("{op} {a} {b}"), ENOENT),
        );
    }
}
