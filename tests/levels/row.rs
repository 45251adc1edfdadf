//! One row of the table: what is there before the run, what the guarded program makes, and what it then tries.

use libc::{EACCES, EISDIR, ENOTDIR, ENOTEMPTY, EPERM};

use super::oracle::{Level, Whose};

/// `@0` to `@3` in paths stand for the row's own folder in the area of that level.
pub fn at(level: Level, name: &str) -> String {
    format!("@{}/{name}", level as usize)
}

/// What is there before the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Before {
    File(String),
    Dir(String),
    /// A directory with a file `in` in it.
    Full(String),
    /// From its name to its target.
    Symlink(String, String),
    Fifo(String),
}

/// One call of the guarded program.
#[derive(Clone, Debug)]
pub struct Act {
    /// In the words of `programs/steps.c`.
    pub step: String,
    /// What the kernel says without guard, 0 for success.
    pub kernel: i32,
    /// What guard has to say when the kernel has nothing against it, 0 for success.
    pub guard: i32,
    /// It leaves no trace in a snapshot.
    pub silent: bool,
}

impl Act {
    /// The kernel looks for a name first, then at permission, and only then at what kind it is and whether it is empty.
    pub fn expected(&self) -> i32 {
        match self.kernel {
            0 => self.guard,
            ENOTEMPTY | EISDIR | ENOTDIR | EPERM if self.guard != 0 => self.guard,
            errno => errno,
        }
    }

    /// Whether it is guard that says no.
    pub fn refused(&self) -> bool {
        self.guard != 0 && self.expected() == self.guard
    }

    /// Whether that is an attempt: a move that has to be made by copying, as between two mounts, is none.
    pub fn recorded(&self) -> bool {
        self.refused() && self.guard == EACCES
    }
}

#[derive(Clone, Debug, Default)]
pub struct Row {
    pub name: String,
    /// Places with a level of their own: only in tables whose policy is written for their rows.
    pub places: Vec<(String, Level)>,
    pub before: Vec<Before>,
    /// Calls that have to work: they make what is the run's own.
    pub setup: Vec<String>,
    pub acts: Vec<Act>,
}

impl Row {
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }

    pub fn before(mut self, thing: Before) -> Self {
        self.before.push(thing);
        self
    }

    pub fn setup(mut self, step: impl Into<String>) -> Self {
        self.setup.push(step.into());
        self
    }

    /// A call that the kernel alone would let through, and whether guard may.
    pub fn act(self, step: impl Into<String>, allowed: bool) -> Self {
        self.answer(step, 0, if allowed { 0 } else { EACCES })
    }

    /// A call that fails by what is there, guard or not.
    pub fn fails(self, step: impl Into<String>, errno: i32) -> Self {
        self.answer(step, errno, 0)
    }

    pub fn answer(mut self, step: impl Into<String>, kernel: i32, guard: i32) -> Self {
        let step = step.into();
        self.acts.push(Act {
            silent: step.contains("chown"),
            step,
            kernel,
            guard,
        });
        self
    }

    /// How many refusals the record has to hold.
    pub fn recorded(&self) -> usize {
        self.acts.iter().filter(|act| act.recorded()).count()
    }
}

/// What kind an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    File,
    Dir,
    Full,
    Symlink,
    Fifo,
}

/// How an object came to be where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It was there before.
    Existed,
    /// The run made it there.
    Made,
    /// The run made it in a writable place and moved it there.
    MovedIn,
    /// It existed in a writable place, and the run moved it there.
    Brought,
    /// The run made it and moved it over a file that existed: since then it counts as having existed.
    Saved,
}

pub const ORIGINS: [Origin; 5] = [
    Origin::Existed,
    Origin::Made,
    Origin::MovedIn,
    Origin::Brought,
    Origin::Saved,
];

impl Origin {
    pub fn whose(self) -> Whose {
        match self {
            Self::Made | Self::MovedIn => Whose::Own,
            Self::Existed | Self::Brought | Self::Saved => Whose::Existed,
        }
    }

    /// Whether an object can have come there like this.
    pub fn possible(self, level: Level, kind: Kind) -> bool {
        match self {
            Self::Existed => true,
            Self::Made | Self::MovedIn | Self::Brought => level >= Level::AddOnly,
            Self::Saved => level == Level::NoDelete && kind == Kind::File,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Existed => "existing",
            Self::Made => "own",
            Self::MovedIn => "own moved-in",
            Self::Brought => "existing moved-in",
            Self::Saved => "just saved",
        }
    }

    /// Adds to `row` what brings an object of this origin to `path`.
    pub fn put(self, row: Row, kind: Kind, path: &str) -> Row {
        let aside = at(
            Level::Writable,
            &format!("aside-{}", path.replace(['@', '/'], "-")),
        );
        match self {
            Self::Existed => row.before(existing(kind, path)),
            Self::Made => row.setup(making(kind, path)),
            Self::MovedIn => row
                .setup(making(kind, &aside))
                .setup(format!("rename {aside} {path}")),
            Self::Brought => row
                .before(existing(kind, &aside))
                .setup(format!("rename {aside} {path}")),
            Self::Saved => row
                .before(existing(kind, path))
                .setup(making(kind, &format!("{path}-new")))
                .setup(format!("rename {path}-new {path}")),
        }
    }
}

fn existing(kind: Kind, path: &str) -> Before {
    let path = path.to_owned();
    match kind {
        Kind::File => Before::File(path),
        Kind::Dir => Before::Dir(path),
        Kind::Full => Before::Full(path),
        Kind::Symlink => Before::Symlink(path, "nowhere".to_owned()),
        Kind::Fifo => Before::Fifo(path),
    }
}

fn making(kind: Kind, path: &str) -> String {
    match kind {
        Kind::File => format!("make {path}"),
        Kind::Dir => format!("make-dir {path}"),
        Kind::Full => format!("make-full {path}"),
        Kind::Symlink => format!("symlink nowhere {path}"),
        Kind::Fifo => format!("mknod-fifo {path}"),
    }
}
