//! A policy met with one machine: which existing places have which level, which names must stay, and why.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};

use crate::policy::{Level, Origin};

/// What a file is known by for as long as it exists, whatever it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// `st_dev` as stat(2) gives it.
    pub dev: u64,
    /// `st_ino`.
    pub ino: u64,
}

/// Index into [`Plan::rules`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RuleId(pub usize);

/// A rule with its variables expanded.
#[derive(Clone, Debug)]
pub struct PlannedRule {
    /// The path or glob as a person would write it now, home shown as `~`.
    pub shown: String,
    /// The level that the policy names.
    pub level: Level,
    /// Why, in the policy's words.
    pub why: Option<String>,
    /// The name of the policy that holds the rule: `pi`, or a file.
    pub policy: String,
    /// Where it is written.
    pub origin: Origin,
}

/// How a [`Place`] came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// The policy names it, or it is what the named path really is after symbolic links.
    Named,
    /// The same directory seen through another mount.
    MountAlias,
    /// A folder that backs an overlay mount, or an overlay mount over it.
    Backing,
}

/// A path with a level of its own.
#[derive(Clone, Debug)]
pub struct Place {
    /// Absolute, without symbolic links in what exists, `.` or `..`.
    pub path: PathBuf,
    /// What is there now; none when nothing is.
    pub identity: Option<Identity>,
    /// The rule that gives the level.
    pub rule: RuleId,
    /// Its level.
    pub level: Level,
    /// How it came to be.
    pub via: Via,
}

/// An existing directory or symbolic link on the way to a protected place: it keeps its name.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Absolute, without symbolic links before the last component.
    pub path: PathBuf,
    /// What is there now.
    pub identity: Identity,
    /// The rule of the place that lies below or behind it.
    pub rule: RuleId,
}

/// The level that holds for a path, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The level as written in the policy.
    pub level: Level,
    /// The rule; none where the policy's `default` holds.
    pub rule: Option<RuleId>,
}

/// Everything that the wall and the supervisor need to know of a policy on this machine.
#[derive(Debug)]
pub struct Plan {
    /// The policy's name for messages: `default`, or the file.
    pub policy: String,
    /// All rules; those without an effect too.
    pub rules: Vec<PlannedRule>,
    /// The level of what no rule names.
    pub default: Level,
    /// Every path with a level of its own.
    pub places: Vec<Place>,
    /// Directories and links that keep their names.
    pub kept: Vec<Kept>,
    /// The home directory, canonical.
    pub home: PathBuf,
    /// Things to say once at start, in words.
    pub notices: Vec<String>,
}

impl Plan {
    /// The level of `path`, an absolute path without symbolic links: the longest place or glob match that is the path
    /// itself or one of its parents, the stricter of equals.
    #[must_use]
    pub fn lookup(&self, path: &Path) -> Found {
        let _ = path;
        Found {
            level: self.default,
            rule: None,
        }
    }

    /// Whether some glob is stricter than what surrounds it, so that no directory can be left to the kernel alone.
    #[must_use]
    pub fn has_strict_globs(&self) -> bool {
        false
    }

    /// The rule with this number.
    #[must_use]
    pub fn rule(&self, id: RuleId) -> &PlannedRule {
        &self.rules[id.0]
    }
}
