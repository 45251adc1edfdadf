//! A policy met with one machine: which existing places have which level, which names must stay, and why.
//!
//! [`Plan::resolve`] is the only way to a [`Plan`]. It looks at the disk once, through [`walk`]; everything after that
//! is a lookup in memory.
#![forbid(unsafe_code)]

mod alias;
mod error;
mod expand;
mod explain;
mod glob;
mod host;
mod index;
mod kept;
mod layers;
mod mounts;
mod resolve;
mod settle;
mod tree;
mod trust;
mod walk;
mod wire;
mod workspace;

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::policy::{Firmness, Level, OnAttempt, Origin, Part, Pattern, Rule, Template, Text};

pub use error::PlanError;
pub use explain::{
    Answer, Beaten, Column, Contrast, Doer, Explanation, Keeper, Kind, Note, Now, Row, Specificity,
};
pub use host::Host;
pub use mounts::{Mount, Mounts};
pub use tree::Tree;

use index::{GlobRule, Index};

/// What a file is known by for as long as it exists, whatever it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// `st_dev` as stat(2) gives it.
    pub dev: u64,
    /// `st_ino`.
    pub ino: u64,
}

/// Index into [`Plan::rules`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RuleId(pub usize);

/// Whether a rule does anything here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It gives some path its level.
    Holds,
    /// It names nothing on this machine: a variable is not set.
    Nothing(String),
    /// It would loosen what another rule protects, and the stricter level stays.
    Ignored(String),
}

/// A path that a rule stands for here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Absolute, without symbolic links in what exists.
    pub path: PathBuf,
    /// What is there now.
    pub identity: Option<Identity>,
    /// How it came to be.
    pub via: Via,
}

/// A rule with its variables expanded.
#[derive(Clone, Debug)]
pub struct PlannedRule {
    /// The path or glob as a person would write it now, home shown as `~`.
    pub shown: String,
    /// The level that the policy names.
    pub level: Level,
    /// Why, in the policy's words.
    pub why: Option<Text>,
    /// How the policy knows.
    pub source: Option<Text>,
    /// The name of the policy that holds the rule: `pi`, or a file.
    pub policy: Text,
    /// Where it is written.
    pub origin: Origin,
    /// Whether it does anything here.
    pub effect: Effect,
    /// The paths that it stands for here, aliases too; empty for a glob.
    pub targets: Vec<Target>,
    /// How much it gives way to others.
    firmness: Firmness,
    /// The variable that its path starts with.
    lead: Option<Part>,
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Absolute, without symbolic links in what exists, `.` or `..`.
    pub path: PathBuf,
    /// What is there now; none when nothing is, or when it cannot be looked at.
    pub identity: Option<Identity>,
    /// The rule that gives the level.
    pub rule: RuleId,
    /// Its level.
    pub level: Level,
    /// How it came to be.
    pub via: Via,
}

/// An existing directory or symbolic link on the way to a place with another level: it keeps its name.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// The level.
    pub level: Level,
    /// The rule; none where the policy's `default` holds.
    pub rule: Option<RuleId>,
}

/// Whether another level holds for something below a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Below {
    /// The whole of it may have the level of the directory.
    Nothing,
    /// Somewhere below lies a stricter place, or a link that keeps its name.
    Stricter,
}

/// Everything that the wall and the supervisor need to know of a policy on this machine.
#[derive(Debug)]
pub struct Plan {
    /// The policy's name for messages: `default`, or the file.
    pub policy: String,
    /// All rules; those without an effect too. First the policy's in their order, then the workspace's, then those that
    /// are built in.
    pub rules: Vec<PlannedRule>,
    /// The level of what no rule names.
    pub default: Level,
    /// What an attempt does to the exit status of a command that succeeded.
    pub on_attempt: OnAttempt,
    /// Every path with a level of its own, each once.
    pub places: Vec<Place>,
    /// Directories and links that keep their names, each once.
    pub kept: Vec<Kept>,
    /// The home directory, canonical.
    pub home: PathBuf,
    /// Things to say once at start, in words.
    pub notices: Vec<String>,
    /// The home directory as the environment has it.
    named_home: PathBuf,
    index: Index,
    /// All ancestors, existing or not, of stricter places and of kept links, that could be moved or removed but for them.
    gaps: HashSet<PathBuf>,
    by_identity: HashMap<Identity, usize>,
    /// Which places are stricter than what is around them where nothing is yet, each by its number.
    missing: HashSet<usize>,
    strict_globs: Vec<PathBuf>,
    /// What holds around each place ([`Index::around`]).
    around: Vec<Level>,
}

impl Plan {
    /// The level of `path`, an absolute path without symbolic links: the longest place or glob match that is the path
    /// itself or one of its parents, the stricter of equals.
    #[must_use]
    pub fn lookup(&self, path: &Path) -> Found {
        self.index.lookup(&self.places, path)
    }

    /// Whether a glob may protect something at or below `path` that its surroundings do not. A glob
    /// concerns only what lies below the directory before its first wildcard.
    #[must_use]
    pub fn strict_globs_below(&self, path: &Path) -> Below {
        let concerns = |base: &PathBuf| base.starts_with(path) || path.starts_with(base);
        match self.strict_globs.iter().any(concerns) {
            true => Below::Stricter,
            false => Below::Nothing,
        }
    }

    /// Fills in what follows from the rest.
    fn derive(&mut self) {
        let around = &self.around;
        for (number, place) in self.places.iter().enumerate() {
            match place.identity {
                None if place.level < around[number] => {
                    self.missing.insert(number);
                }
                None => {}
                Some(identity) => {
                    let known = self.by_identity.entry(identity).or_insert(number);
                    if self.places[*known].level > place.level {
                        *known = number;
                    }
                }
            }
        }
        let strict = self.index.strict_globs(&self.places);
        self.strict_globs = strict.map(|glob| glob.base.clone()).collect();
    }

    /// The places, each with the level of the directory that it lies in.
    pub fn places_around(&self) -> impl Iterator<Item = (&Place, Level)> {
        self.places.iter().zip(self.around.iter().copied())
    }

    /// The directories from which globs reach down that are stricter than what they meet: nothing below them can be left
    /// to the kernel, which knows no globs.
    #[must_use]
    pub fn strict_globs(&self) -> &[PathBuf] {
        &self.strict_globs
    }

    /// Whether something may be at a level where what exists grows at its end: that asks for more of the supervisor.
    #[must_use]
    pub fn lets_files_grow(&self) -> bool {
        let grows = |level: Level| level == Level::AppendOnly;
        grows(self.default)
            || self.places.iter().any(|place| grows(place.level))
            || self.index.globs().iter().any(|glob| grows(glob.level))
    }

    /// Whether something below `path` may be looser than `level`: a place, there or not, or what a glob matches.
    #[must_use]
    pub fn opens_below(&self, path: &Path, level: Level) -> bool {
        let place = |place: &Place| {
            place.level > level && place.path != path && place.path.starts_with(path)
        };
        let glob = |glob: &GlobRule| {
            glob.level > level && (glob.base.starts_with(path) || path.starts_with(&glob.base))
        };
        self.places.iter().any(place) || self.index.globs().iter().any(glob)
    }

    /// The lines that the workspace closes here, each with its path, for a plan that is resolved for another workspace. None
    /// when a path cannot be written in a policy.
    #[must_use]
    pub fn closed_in_workspace(&self) -> Option<Vec<Rule>> {
        let closed = self.places.iter().filter(|place| {
            let lead = self.rule(place.rule).lead.as_ref();
            place.level != Level::Writable && matches!(lead, Some(Part::Workspace | Part::Vcs))
        });
        closed
            .map(|place| {
                let planned = self.rule(place.rule);
                let path = Text::Owned(place.path.to_str()?.to_owned());
                Some(Rule {
                    text: Text::Owned(planned.shown.clone()),
                    pattern: Pattern::Path(Template(vec![Part::Text(path)])),
                    level: place.level,
                    why: planned.why.clone(),
                    source: planned.source.clone(),
                    policy: planned.policy.clone(),
                    origin: planned.origin.clone(),
                    firmness: planned.firmness,
                })
            })
            .collect()
    }

    /// What has to be older than the run for this plan to take the place of `other`: it opens the workspace `top`, and what
    /// its version control writes elsewhere. None when it opens something else, too: a link or a folder may have changed
    /// since `other` was made.
    #[must_use]
    pub fn proofs(&self, other: &Self, top: &Path) -> Option<Vec<PathBuf>> {
        let mut proofs = vec![top.join(".git")];
        let lead = |rule: RuleId| self.rule(rule).lead.as_ref();
        // Through another mount, too.
        let opened = self.places.iter().find(|place| place.path == top);
        let opened = opened.and_then(|place| place.identity);
        let is_top = |place: &Place| opened.is_some() && place.identity == opened;
        for place in self.places.iter().chain(&other.places) {
            let found = self.lookup(&place.path);
            if found.level <= other.lookup(&place.path).level {
                continue;
            }
            match found.rule.and_then(lead) {
                Some(Part::Workspace | Part::Vcs) => {
                    if !place.path.starts_with(top) && !is_top(place) {
                        proofs.push(place.path.join("objects"));
                    }
                }
                _ => return None,
            }
        }
        let work = |rule: RuleId| matches!(lead(rule), Some(Part::Workspace | Part::Vcs));
        let same = |glob: &GlobRule| {
            let known = |known: &GlobRule| {
                (&known.base, &known.within, known.level) == (&glob.base, &glob.within, glob.level)
                    && known.matcher.wildcards() == glob.matcher.wildcards()
            };
            glob.level == Level::ReadOnly
                || work(glob.rule)
                || other.index.globs().iter().any(known)
        };
        self.index.globs().iter().all(same).then_some(proofs)
    }

    /// Whether `path` could be moved or removed but for a stricter place below it, or a link that keeps its name: then it
    /// cannot be left to the kernel as a whole.
    #[must_use]
    pub fn names_below(&self, path: &Path) -> Below {
        if self.gaps.contains(path) {
            Below::Stricter
        } else {
            Below::Nothing
        }
    }

    /// The place that has this identity; the stricter of several.
    #[must_use]
    pub fn place_by_identity(&self, identity: Identity) -> Option<&Place> {
        self.by_identity
            .get(&identity)
            .map(|index| &self.places[*index])
    }

    /// The places at or below `path` that are stricter than what is around them, and where nothing is yet.
    pub fn missing_below(&self, path: &Path) -> impl Iterator<Item = &Place> {
        let below = self.index.places_below(path);
        let mut missing: Vec<usize> = below.filter(|at| self.missing.contains(at)).collect();
        // The order of the rules tells which of several is named.
        missing.sort_unstable();
        missing.into_iter().map(|index| &self.places[index])
    }

    /// A path for people: home as `~`, lossy where it is not UTF-8.
    #[must_use]
    pub fn show(&self, path: &Path) -> String {
        expand::show(path, &[&self.home, &self.named_home])
    }

    /// The rule with this number.
    #[must_use]
    pub fn rule(&self, id: RuleId) -> &PlannedRule {
        &self.rules[id.0]
    }
}
