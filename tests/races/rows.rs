//! The table: what is swapped in which place under which calls.

/// What is promised.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing is lost.
    Holds,
    /// The README says that it may be.
    Limit,
}

/// Where the free side and the kept one are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Read-only beside a folder that the wall grants.
    Granted,
    /// Read-only beside a folder in the home directory that the run makes, where only the supervisor acts.
    Made,
    /// Both at add-only: the run's own, and what existed.
    AddOnly,
    /// Both at no-delete: the run's own, and what existed.
    NoDelete,
    /// Both in a folder where a glob is read-only.
    Glob,
}

impl Place {
    pub fn name(self) -> &'static str {
        match self {
            Self::Granted => "granted",
            Self::Made => "made",
            Self::AddOnly => "add-only",
            Self::NoDelete => "no-delete",
            Self::Glob => "glob",
        }
    }
}

pub struct Row {
    /// One of those of `programs/race.c`.
    pub swap: &'static str,
    pub place: Place,
    pub calls: Vec<&'static [&'static str]>,
    pub kind: Kind,
    pub needs_root: bool,
}

impl Row {
    pub fn name(&self) -> String {
        let limit = if self.kind == Kind::Limit {
            ", a limit"
        } else {
            ""
        };
        format!("{} {}{limit}", self.swap, self.place.name())
    }
}

/// Calls that follow a link at the end, and `link-from` as it is asked to.
const FOLLOWING: &[&str] = &[
    "open",
    "open-truncate",
    "open-append",
    "read-truncate",
    "openat2",
    "creat",
    "truncate",
    "link-from",
    "chmod",
    "fchmodat",
    "chown",
    "utimensat",
    "setxattr",
];
/// Calls that take a name away.
const REMOVING: &[&str] = &["unlink", "rmdir", "rename-out"];
/// Calls that put another object behind a name.
const REPLACING: &[&str] = &["rename-over", "exchange"];
/// Calls that make a name.
const MAKING: &[&str] = &[
    "create",
    "rename-in",
    "link-to",
    "symlink",
    "mkdir",
    "mknod",
];
/// One that guard performs by the path as the program spells it, which the socket keeps for its address: what swaps a folder on
/// the way from outside of guard may lead it elsewhere.
const BIND: &[&str] = &["bind"];
/// Calls on a descriptor.
const HOLDING: &[&str] = &["fchmod", "fsetxattr", "setflags"];
/// The path stays, another argument is rewritten.
const VALUES: &[&str] = &["how", "how-odd", "times", "attribute"];
/// The same, and it would make something.
const MAKING_BY_VALUE: &[&str] = &["family", "slash"];
/// One that shows only where its argument cannot be read for a while.
const FLAGS: &[&str] = &["flags"];
/// Calls on an object that is held, not on a name.
const PINNED: &[&str] = &[
    "open",
    "open-truncate",
    "open-append",
    "read-truncate",
    "openat2",
    "creat",
    "truncate",
    "chmod",
    "fchmodat",
    "chown",
    "utimensat",
];
const UNLINK: &[&str] = &["unlink"];
const OPEN: &[&str] = &["open", "open-truncate", "truncate"];

/// What a swap can be used for.
enum Reach {
    /// Every path.
    Paths,
    /// Every path, by a process that is not under guard.
    Outside,
    /// The last component, where it is followed.
    Last,
    /// Every path, and descriptors.
    Numbers,
    /// Every path, and other arguments.
    Memory,
    /// As that, where memory cannot be read for a while.
    Holes,
}

/// Every place has the ways that differ in what guard does; the rest of them differ only in what the program does.
const EVERYWHERE: &[Place] = &[
    Place::Granted,
    Place::Made,
    Place::AddOnly,
    Place::NoDelete,
    Place::Glob,
];
const TWO: &[Place] = &[Place::Granted, Place::Made];
const SWAPS: &[(&str, Reach, &[Place])] = &[
    ("link", Reach::Paths, EVERYWHERE),
    ("exchange", Reach::Paths, EVERYWHERE),
    ("moves", Reach::Paths, TWO),
    ("parent", Reach::Paths, EVERYWHERE),
    (
        "leaf",
        Reach::Last,
        &[Place::Granted, Place::Made, Place::AddOnly, Place::Glob],
    ),
    ("dup2", Reach::Numbers, EVERYWHERE),
    ("chdir", Reach::Paths, TWO),
    ("chroot", Reach::Paths, TWO),
    ("text", Reach::Memory, EVERYWHERE),
    ("shared", Reach::Memory, TWO),
    ("protect", Reach::Holes, TWO),
    ("unmap", Reach::Holes, EVERYWHERE),
    ("straddle", Reach::Paths, TWO),
    ("peer", Reach::Outside, EVERYWHERE),
];

fn calls(reach: &Reach, place: Place) -> Vec<&'static [&'static str]> {
    if place == Place::NoDelete {
        return vec![REMOVING]; // what existed there may be changed
    }
    let paths: &[&[&str]] = match reach {
        Reach::Last => &[FOLLOWING],
        _ => &[FOLLOWING, REMOVING, REPLACING],
    };
    let more: &[&[&str]] = match reach {
        Reach::Last | Reach::Paths | Reach::Outside => &[],
        Reach::Numbers => &[HOLDING],
        Reach::Memory => &[VALUES],
        Reach::Holes => &[VALUES, FLAGS],
    };
    let making: &[&[&str]] = match reach {
        _ if place == Place::AddOnly => &[], // anything may be made there
        Reach::Last => &[],
        Reach::Outside if place != Place::Granted => &[MAKING],
        Reach::Paths | Reach::Numbers | Reach::Outside => &[MAKING, BIND],
        Reach::Memory | Reach::Holes => &[MAKING, BIND, MAKING_BY_VALUE],
    };
    [paths, more, making].concat()
}

/// Every row.
pub fn all() -> Vec<Row> {
    let mut rows = Vec::new();
    let mut add = |swap, place, calls, kind| {
        let needs_root = swap == "chroot";
        rows.push(Row {
            swap,
            place,
            calls,
            kind,
            needs_root,
        });
    };
    for (swap, reach, places) in SWAPS {
        for place in *places {
            add(swap, *place, calls(reach, *place), Kind::Holds);
        }
    }
    // What existed and what the run made change names, by the run itself where it may, else from outside.
    add("names", Place::NoDelete, vec![REMOVING], Kind::Holds);
    add("peer-names", Place::AddOnly, vec![PINNED], Kind::Holds);
    add("peer-names", Place::NoDelete, vec![UNLINK], Kind::Limit);
    add("peer", Place::Made, vec![BIND], Kind::Limit);
    add("old-link", Place::Granted, vec![OPEN], Kind::Limit);
    rows
}
