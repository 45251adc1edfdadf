//! Rows with one call on one object: making, changing, removing, and calls that change nothing or fail by what is there.

use libc::{EADDRINUSE, EEXIST, EISDIR, ENOENT, ENOTDIR, ENOTEMPTY};

use super::oracle::{LEVELS, Level, Whose, change, make, remove};
use super::row::{Before, Kind, ORIGINS, Origin, Row, at};

/// `%` is the path.
const MAKE: &[&str] = &[
    "open CREAT|WRONLY %",
    "open CREAT|EXCL|WRONLY %",
    "open CREAT|TRUNC|WRONLY %",
    "open CREAT|RDWR|APPEND %",
    "open CREAT|RDONLY %",
    "creat %",
    "mkdir %",
    "mkdirat %",
    "mknod-file %",
    "mknod-fifo %",
    "mknod-socket %",
    "symlink nowhere %",
    "symlinkat nowhere %",
    "bind %",
];

const CHANGE_FILE: &[&str] = &[
    "open WRONLY %",
    "open RDWR %",
    "open WRONLY|APPEND %",
    "open WRONLY|TRUNC %",
    "open RDONLY|TRUNC %",
    "open CREAT|WRONLY %",
    "open CREAT|WRONLY|TRUNC %",
    "open CREAT|RDONLY|TRUNC %",
    "creat %",
    "truncate %",
    "reopen %",
];

const CHANGE_METADATA: &[&str] = &[
    "chmod %",
    "fchmod %",
    "fchmodat %",
    "fchmodat2 %",
    "chown %",
    "lchown %",
    "fchown %",
    "fchownat %",
    "utimensat %",
    "lutimes %",
    "futimens %",
    "setxattr %",
    "lsetxattr %",
    "fsetxattr %",
    "removexattr %",
    "lremovexattr %",
    "fremovexattr %",
    "setflags %",
];

/// Calls on a file that is there, which change nothing.
const NO_CHANGE: &[(&str, i32)] = &[
    ("open RDONLY %", 0),
    ("open CREAT|RDONLY %", 0),
    ("open CREAT|EXCL|WRONLY %", EEXIST),
    ("open CREAT|EXCL|RDONLY %", EEXIST),
    ("mkdir %", EEXIST),
    ("mknod-file %", EEXIST),
    ("symlink nowhere %", EEXIST),
    ("bind %", EADDRINUSE),
    ("rmdir %", ENOTDIR),
    ("open WRONLY %/below", ENOTDIR),
    ("open CREAT|WRONLY %/below", ENOTDIR),
    ("mkdir %/below", ENOTDIR),
    ("unlink %/below", ENOTDIR),
];

/// Calls on what is not there.
const MISSING: &[(&str, i32)] = &[
    ("unlink %", ENOENT),
    ("unlinkat %", ENOENT),
    ("rmdir %", ENOENT),
    ("open WRONLY %", ENOENT),
    ("open WRONLY|TRUNC %", ENOENT),
    ("open RDONLY %", ENOENT),
    ("truncate %", ENOENT),
    ("chmod %", ENOENT),
    ("utimensat %", ENOENT),
    ("setxattr %", ENOENT),
    ("open CREAT|WRONLY %/below", ENOENT),
    ("mkdir %/below", ENOENT),
];

fn on(step: &str, path: &str) -> String {
    step.replace('%', path)
}

fn row(step: &str, what: &str, level: Level) -> Row {
    Row::new(format!(
        "{} {what} at {}",
        step.replace(" %", ""),
        level.name()
    ))
}

pub fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for level in LEVELS {
        making(level, &mut rows);
        for origin in ORIGINS {
            objects(level, origin, &mut rows);
            inside(level, origin, &mut rows);
            through_links(level, origin, &mut rows);
        }
    }
    rows
}

fn making(level: Level, rows: &mut Vec<Row>) {
    let path = at(level, "x");
    for step in MAKE {
        // The folder has to be there: a row is in the area that it names.
        let place = Before::File(at(level, "other"));
        rows.push(
            row(step, "of nothing", level)
                .before(place.clone())
                .act(on(step, &path), make(level)),
        );
        if level > Level::ReadOnly {
            rows.push(
                row(step, "of nothing in an own folder", level)
                    .setup(format!("make-dir {}", at(level, "d")))
                    .act(on(step, &at(level, "d/x")), make(level)),
            );
        }
        rows.push(
            row(step, "of nothing in an existing folder", level)
                .before(Before::Dir(at(level, "d")))
                .act(on(step, &at(level, "d/x")), make(level)),
        );
        // Made, it is own: whatever was used to make it, it goes away again.
        if make(level) {
            let removal = if step.contains("mkdir") {
                "rmdir"
            } else {
                "unlink"
            };
            rows.push(
                row(step, "and its removal", level)
                    .before(place)
                    .act(on(step, &path), true)
                    .act(format!("{removal} {path}"), remove(Whose::Own, level)),
            );
        }
    }
    // Nothing of this shows: the file has no name.
    let mut nameless = row("tmpfile %", "without a name", level)
        .before(Before::File(at(level, "other")))
        .act(format!("tmpfile @{}", level as usize), make(level));
    nameless.acts[0].silent = true;
    rows.push(nameless);
    for (step, errno) in MISSING {
        rows.push(
            row(step, "of nothing", level)
                .before(Before::File(at(level, "other")))
                .fails(on(step, &path), *errno),
        );
    }
}

fn objects(level: Level, origin: Origin, rows: &mut Vec<Row>) {
    let path = at(level, "x");
    let may_change = change(origin.whose(), level);
    let may_remove = remove(origin.whose(), level);
    for kind in [Kind::File, Kind::Dir, Kind::Full, Kind::Symlink, Kind::Fifo] {
        if !origin.possible(level, kind) {
            continue;
        }
        let what = format!("of {} {kind:?}", origin.word()).to_lowercase();
        let mut add = |step: &str, kernel: i32, allowed: bool| {
            let guard = if allowed { 0 } else { libc::EACCES };
            rows.push(origin.put(row(step, &what, level), kind, &path).answer(
                on(step, &path),
                kernel,
                guard,
            ));
        };
        let directory = matches!(kind, Kind::Dir | Kind::Full);
        // What would come to nothing anyway fails as it always does in a home that loses nothing.
        let may_try = may_remove || level == Level::NoDelete;
        if kind == Kind::File {
            for step in CHANGE_FILE {
                add(step, 0, may_change);
            }
            for (step, errno) in NO_CHANGE {
                add(step, *errno, *step != "rmdir %" || may_try);
            }
        }
        if matches!(kind, Kind::File | Kind::Dir) {
            for step in CHANGE_METADATA {
                add(step, 0, may_change);
            }
        }
        match kind {
            Kind::Dir => {
                add("rmdir %", 0, may_remove);
                add("removedir %", 0, may_remove);
            }
            Kind::Full => {
                add("rmdir %", ENOTEMPTY, may_try);
                add("removedir %", ENOTEMPTY, may_try);
            }
            Kind::File | Kind::Symlink | Kind::Fifo => {
                add("unlink %", 0, may_remove);
                add("unlinkat %", 0, may_remove);
            }
        }
        if kind == Kind::Symlink || kind == Kind::Fifo {
            add("lchown %", 0, may_change);
            add("lutimes %", 0, may_change);
        }
        if directory {
            add("unlink %", EISDIR, may_try);
            add("open WRONLY %", EISDIR, true);
            add("mkdir %", EEXIST, true);
        }
    }
}

/// The same below a folder that the run made: whose the folder is says nothing about what lies in it.
fn inside(level: Level, origin: Origin, rows: &mut Vec<Row>) {
    if !matches!(origin, Origin::Made | Origin::Brought) || level == Level::ReadOnly {
        return;
    }
    let path = at(level, "d/x");
    let what = format!("of {} file in an own folder", origin.word());
    for step in [
        "open WRONLY %",
        "open RDONLY|TRUNC %",
        "chmod %",
        "unlink %",
        "unlinkat %",
    ] {
        let allowed = if step.starts_with("unlink") {
            remove(origin.whose(), level)
        } else {
            change(origin.whose(), level)
        };
        let start = row(step, &what, level).setup(format!("make-dir {}", at(level, "d")));
        rows.push(
            origin
                .put(start, Kind::File, &path)
                .act(on(step, &path), allowed),
        );
    }
}

/// Through a symbolic link what it points to counts, and the link itself for its own removal.
fn through_links(level: Level, origin: Origin, rows: &mut Vec<Row>) {
    if !matches!(origin, Origin::Made | Origin::Existed) || !origin.possible(level, Kind::File) {
        return;
    }
    let target = at(level, "x");
    for link_level in LEVELS {
        let link = at(link_level, "l");
        let what = format!(
            "through a link at {} to {} file",
            link_level.name(),
            origin.word()
        );
        let base = |step: &str| {
            origin.put(
                row(step, &what, level).before(Before::Symlink(link.clone(), target.clone())),
                Kind::File,
                &target,
            )
        };
        for step in [
            "open WRONLY %",
            "open WRONLY|TRUNC %",
            "open CREAT|WRONLY %",
            "truncate %",
            "chmod %",
            "utimensat %",
            "setxattr %",
        ] {
            rows.push(base(step).act(on(step, &link), change(origin.whose(), level)));
        }
        rows.push(base("unlink %").act(on("unlink %", &link), remove(Whose::Existed, link_level)));
        if origin == Origin::Existed {
            let dangling = |step: &str| {
                row(
                    step,
                    &format!("through a link at {} to nothing", link_level.name()),
                    level,
                )
                .before(Before::Symlink(link.clone(), target.clone()))
                .before(Before::File(at(level, "other")))
            };
            for step in ["open CREAT|WRONLY %", "creat %"] {
                rows.push(dangling(step).act(on(step, &link), make(level)));
            }
            rows.push(dangling("mkdir %").fails(on("mkdir %", &link), EEXIST));
        }
    }
}
