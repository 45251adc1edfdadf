//! The lookup: from a path to the rule that holds for it.
#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use globset::{Glob, GlobMatcher};

use super::mounts::join;
use super::{Found, Place, RuleId};
use crate::policy::Level;

/// What a glob may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// It is as specific as the path that it matches.
    Full,
    /// It can only make stricter what other rules say.
    OnlyStricter,
}

/// A glob that is compiled when it is first asked: few of a policy's are, and compiling is slow beside everything else
/// that is done before a command starts.
#[derive(Clone, Debug)]
pub struct Matcher {
    glob: Glob,
    compiled: OnceLock<GlobMatcher>,
}

impl Matcher {
    /// Of a glob.
    #[must_use]
    pub fn new(glob: Glob) -> Self {
        Self {
            glob,
            compiled: OnceLock::new(),
        }
    }

    /// The glob.
    #[must_use]
    pub fn glob(&self) -> &Glob {
        &self.glob
    }

    /// Whether the whole of a path matches.
    #[must_use]
    pub fn is_match(&self, path: impl AsRef<Path>) -> bool {
        self.compiled
            .get_or_init(|| self.glob.compile_matcher())
            .is_match(path)
    }
}

/// A glob of the policy.
#[derive(Clone, Debug)]
pub struct GlobRule {
    /// The directory before the first wildcard, canonical, or another path to it or to a part of it.
    pub base: PathBuf,
    /// Which part, relative to the directory; empty for the whole of it.
    pub within: PathBuf,
    /// Matches paths relative to the directory.
    pub matcher: Matcher,
    /// The rule.
    pub rule: RuleId,
    /// Its level.
    pub level: Level,
    /// What it may do.
    pub reach: Reach,
}

impl GlobRule {
    /// Whether the glob matches exactly this path.
    pub fn matches(&self, path: &Path) -> bool {
        let Ok(rest) = path.strip_prefix(&self.base) else {
            return false;
        };
        if self.within.as_os_str().is_empty() {
            return !rest.as_os_str().is_empty() && self.matcher.is_match(rest);
        }
        self.matcher.is_match(join(&self.within, rest))
    }
}

/// What a path met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A place, by its index.
    Place(usize),
    /// A glob, by its index.
    Glob(usize),
    /// No rule.
    Default,
}

/// A rule that concerns a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The level.
    pub level: Level,
    /// Where it comes from.
    pub source: Source,
}

/// Finds places by path.
#[derive(Debug)]
pub struct Index {
    by_path: HashMap<PathBuf, usize>,
    /// The globs, in the order of the rules.
    globs: Vec<GlobRule>,
    /// Their positions, by the directory that they start from.
    by_base: HashMap<PathBuf, Vec<usize>>,
    /// Paths that no glob can loosen.
    pub firm: Vec<PathBuf>,
    default: Level,
}

impl Index {
    /// An index without rules.
    #[must_use]
    pub fn new(default: Level) -> Self {
        Self {
            by_path: HashMap::new(),
            globs: Vec::new(),
            by_base: HashMap::new(),
            firm: Vec::new(),
            default,
        }
    }

    /// The globs, in the order of the rules.
    #[must_use]
    pub fn globs(&self) -> &[GlobRule] {
        &self.globs
    }

    /// Adds a glob.
    pub fn add_glob(&mut self, glob: GlobRule) {
        let known = self.by_base.entry(glob.base.clone()).or_default();
        known.push(self.globs.len());
        self.globs.push(glob);
    }

    /// The positions of the globs that start from a directory at or above a path: only these can match it or what it
    /// lies in.
    fn above(&self, path: &Path) -> Vec<usize> {
        if self.globs.is_empty() {
            return Vec::new();
        }
        let known = path.ancestors().filter_map(|base| self.by_base.get(base));
        let mut positions: Vec<usize> = known.flatten().copied().collect();
        positions.sort_unstable();
        positions
    }

    /// The level of what no rule names.
    #[must_use]
    pub fn default(&self) -> Level {
        self.default
    }

    /// Makes that level stricter, never looser.
    pub fn tighten(&mut self, default: Level) {
        self.default = self.default.min(default);
    }

    /// Adds a place unless an equal path has a level as strict. Says whether it was added.
    pub fn insert(&mut self, places: &mut Vec<Place>, place: Place) -> Option<usize> {
        if let Some(&index) = self.by_path.get(&place.path) {
            if places[index].level <= place.level {
                return None;
            }
            places[index] = place;
            return Some(index);
        }
        self.by_path.insert(place.path.clone(), places.len());
        places.push(place);
        Some(places.len() - 1)
    }

    /// The place with exactly this path.
    #[must_use]
    pub fn exact(&self, path: &Path) -> Option<usize> {
        self.by_path.get(path).copied()
    }

    /// The level of a path.
    #[must_use]
    pub fn lookup(&self, places: &[Place], path: &Path) -> Found {
        let hit = self.find(places, path);
        Found {
            level: hit.level,
            rule: self.rule(places, hit.source),
        }
    }

    /// The rule behind a hit.
    #[must_use]
    pub fn rule(&self, places: &[Place], source: Source) -> Option<RuleId> {
        match source {
            Source::Place(index) => Some(places[index].rule),
            Source::Glob(index) => Some(self.globs[index].rule),
            Source::Default => None,
        }
    }

    /// What decides for a path.
    #[must_use]
    pub fn find(&self, places: &[Place], path: &Path) -> Hit {
        let specific = self.hits(places, path).next().unwrap_or(Hit {
            level: self.default,
            source: Source::Default,
        });
        let globs = self.above(path);
        if globs.is_empty() {
            return specific;
        }
        self.ceilings(path, &globs)
            .chain([specific])
            .min_by_key(|hit| hit.level)
            .unwrap_or(specific)
    }

    /// Everything that concerns a path, the most specific first, the stricter of equals first.
    pub fn hits<'a>(
        &'a self,
        places: &'a [Place],
        path: &'a Path,
    ) -> impl Iterator<Item = Hit> + 'a {
        let globs = self.above(path);
        path.ancestors().flat_map(move |prefix| {
            let place = self.exact(prefix);
            let place = place.map(|index| Hit {
                level: places[index].level,
                source: Source::Place(index),
            });
            let mut hits: Vec<Hit> = Vec::new();
            if !globs.is_empty() {
                hits.extend(place);
                hits.extend(self.matching(&globs, prefix, Reach::Full));
                hits.sort_by_key(|hit| hit.level);
                return Hits::Several(hits.into_iter());
            }
            Hits::One(place)
        })
    }

    /// The globs that are stricter than something at or below their directory.
    pub fn strict_globs<'a>(
        &'a self,
        places: &'a [Place],
    ) -> impl Iterator<Item = &'a GlobRule> + 'a {
        self.globs.iter().filter(move |glob| {
            let looser = |level: Level| level > glob.level;
            let inside = |path: &Path| path.starts_with(&glob.base);
            let meets =
                |other: &&GlobRule| inside(&other.base) || glob.base.starts_with(&other.base);
            looser(self.lookup(places, &glob.base).level)
                || places
                    .iter()
                    .any(|place| looser(place.level) && inside(&place.path))
                || self
                    .globs
                    .iter()
                    .filter(meets)
                    .any(|other| looser(other.level))
        })
    }

    /// Those of the globs at these positions that match exactly this path.
    fn matching<'a>(
        &'a self,
        positions: &'a [usize],
        path: &'a Path,
        reach: Reach,
    ) -> impl Iterator<Item = Hit> + 'a {
        positions.iter().filter_map(move |position| {
            let glob = &self.globs[*position];
            (glob.reach == reach && glob.matches(path)).then_some(Hit {
                level: glob.level,
                source: Source::Glob(*position),
            })
        })
    }

    /// What a path cannot be looser than, however specific another rule is.
    fn ceilings<'a>(
        &'a self,
        path: &'a Path,
        globs: &'a [usize],
    ) -> impl Iterator<Item = Hit> + 'a {
        let firm = self
            .firm
            .iter()
            .filter(|firm| path.starts_with(firm))
            .filter_map(|firm| self.exact(firm));
        let firm = firm.map(|index| Hit {
            level: Level::ReadOnly,
            source: Source::Place(index),
        });
        firm.chain(
            path.ancestors()
                .flat_map(|prefix| self.matching(globs, prefix, Reach::OnlyStricter)),
        )
    }
}

/// The hits of one prefix, without an allocation where there are no globs.
enum Hits {
    One(Option<Hit>),
    Several(std::vec::IntoIter<Hit>),
}

impl Iterator for Hits {
    type Item = Hit;

    fn next(&mut self) -> Option<Hit> {
        match self {
            Self::One(hit) => hit.take(),
            Self::Several(hits) => hits.next(),
        }
    }
}
