//! The lookup: from a path to the rule that holds for it.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};

use super::glob::Matcher;
use super::mounts::join;
use super::tree::Tree;
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

    /// Whether it could say anything of `path`, or of what lies there: `path` lies in its directory. A glob for the entries
    /// of that directory alone gives way to a place that lies deeper, and to an entry that it does not match.
    fn concerns(&self, path: &Path) -> bool {
        let tail = self.matcher.wildcards();
        let entries = !tail.contains('/') && !tail.contains("**");
        let plain = self.reach == Reach::Full && self.within.as_os_str().is_empty();
        !(entries && plain) || path == self.base || self.matches(path)
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

/// What the rules say of exactly one path.
#[derive(Debug, Default)]
struct Here {
    /// The place.
    place: Option<usize>,
    /// The positions of the globs that start from it.
    globs: Vec<usize>,
    /// Its number among the paths that no glob can loosen.
    firm: Option<usize>,
}

/// Finds places by path.
#[derive(Debug)]
pub struct Index {
    tree: Tree<Here>,
    /// The globs, in the order of the rules.
    globs: Vec<GlobRule>,
    /// Paths that no glob can loosen.
    firm: Vec<PathBuf>,
    default: Level,
}

impl Index {
    /// An index without rules.
    #[must_use]
    pub fn new(default: Level) -> Self {
        Self {
            tree: Tree::default(),
            globs: Vec::new(),
            firm: Vec::new(),
            default,
        }
    }

    /// The globs, in the order of the rules.
    #[must_use]
    pub fn globs(&self) -> &[GlobRule] {
        &self.globs
    }

    /// Paths that no glob can loosen.
    #[must_use]
    pub fn firm(&self) -> &[PathBuf] {
        &self.firm
    }

    /// Says which paths no glob can loosen.
    pub fn set_firm(&mut self, paths: Vec<PathBuf>) {
        for (number, path) in paths.iter().enumerate() {
            self.tree.at(path).firm.get_or_insert(number);
        }
        self.firm = paths;
    }

    /// The first of these that is the path or that it lies in.
    #[must_use]
    pub fn firm_above(&self, path: &Path) -> Option<&Path> {
        let first = self.tree.along(path).filter_map(|here| here.firm).min()?;
        self.firm.get(first).map(PathBuf::as_path)
    }

    /// Adds a glob.
    pub fn add_glob(&mut self, glob: GlobRule) {
        self.tree.at(&glob.base).globs.push(self.globs.len());
        self.globs.push(glob);
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
        let here = self.tree.at(&place.path);
        if let Some(index) = here.place {
            if places[index].level <= place.level {
                return None;
            }
            places[index] = place;
            return Some(index);
        }
        here.place = Some(places.len());
        places.push(place);
        here.place
    }

    /// The place with exactly this path.
    #[must_use]
    pub fn exact(&self, path: &Path) -> Option<usize> {
        self.tree.get(path)?.place
    }

    /// The numbers of the places at or below a path, in no order.
    pub fn places_below(&self, path: &Path) -> impl Iterator<Item = usize> {
        self.tree.below(path).filter_map(|here| here.place)
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
        // Most paths lie below no glob's directory: then the last place on the way decides.
        let mut last = None;
        let mut plain = true;
        for here in self.tree.along(path) {
            last = here.place.or(last);
            plain &= here.globs.is_empty();
        }
        let none = Hit {
            level: self.default,
            source: Source::Default,
        };
        if plain {
            return last.map_or(none, |index| hit(places, index));
        }
        let way = self.way(path);
        let specific = self.specific(places, &way).next().unwrap_or(none);
        self.ceilings(&way)
            .chain([specific])
            .min_by_key(|hit| hit.level)
            .unwrap_or(specific)
    }

    /// What holds around each place, in the order of the places: the level of the directory that it lies in. The root
    /// directory lies in itself.
    #[must_use]
    pub fn around(&self, places: &[Place]) -> Vec<Level> {
        let mut around: Vec<Level> = places.iter().map(|place| place.level).collect();
        // Where no glob reaches, one way through the tree tells it of all of them.
        let mut waiting = vec![(Tree::<Here>::ROOT, None)];
        while let Some((spot, above)) = waiting.pop() {
            let here = self.tree.value(spot);
            if let (Some(index), Some(above)) = (here.place, above) {
                around[index] = above;
            }
            let level = here.place.map(|index| places[index].level);
            let level = level.or(above).unwrap_or(self.default);
            if here.globs.is_empty() {
                let below = self.tree.inside(spot);
                waiting.extend(below.map(|child| (child, Some(level))));
                continue;
            }
            // The place itself has its answer already, and this is the same.
            for index in self.tree.under(spot).filter_map(|here| here.place) {
                if let Some(parent) = places[index].path.parent() {
                    around[index] = self.find(places, parent).level;
                }
            }
        }
        around
    }

    /// Everything that concerns a path, the most specific first, the stricter of equals first.
    #[must_use]
    pub fn hits(&self, places: &[Place], path: &Path) -> Vec<Hit> {
        self.specific(places, &self.way(path)).collect()
    }

    /// The globs that are stricter than something at or below their directory.
    pub fn strict_globs<'a>(
        &'a self,
        places: &'a [Place],
    ) -> impl Iterator<Item = &'a GlobRule> + 'a {
        self.globs.iter().filter(move |glob| {
            let looser = |level: Level| level > glob.level;
            let globs = |here: &Here| here.globs.iter().any(|at| looser(self.globs[*at].level));
            let place = |here: &Here| {
                let places = here.place.map(|at| &places[at]);
                places.is_some_and(|place| looser(place.level) && glob.concerns(&place.path))
            };
            looser(self.lookup(places, &glob.base).level)
                || self.tree.along(&glob.base).any(globs)
                || self
                    .tree
                    .below(&glob.base)
                    .any(|here| place(here) || globs(here))
        })
    }

    /// The way down to a path, with what is known on it.
    fn way<'a>(&'a self, path: &'a Path) -> Way<'a> {
        let mut prefixes: Vec<&Path> = path.ancestors().collect();
        prefixes.reverse();
        let known: Vec<&Here> = self.tree.along(path).collect();
        let globs = known.iter().flat_map(|here| &here.globs);
        let mut globs: Vec<usize> = globs.copied().collect();
        globs.sort_unstable();
        Way {
            prefixes,
            known,
            globs,
        }
    }

    /// As [`Index::hits`].
    fn specific<'a>(
        &'a self,
        places: &'a [Place],
        way: &'a Way<'a>,
    ) -> impl Iterator<Item = Hit> + 'a {
        let steps = way.prefixes.iter().enumerate().rev();
        steps.flat_map(move |(depth, prefix)| {
            let place = way.known.get(depth).and_then(|here| here.place);
            let mut hits = Vec::from_iter(place.map(|index| hit(places, index)));
            hits.extend(self.matching(&way.globs, prefix, Reach::Full));
            hits.sort_by_key(|hit| hit.level);
            hits
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
    fn ceilings<'a>(&'a self, way: &'a Way<'a>) -> impl Iterator<Item = Hit> + 'a {
        let firm = way.known.iter().filter(|here| here.firm.is_some());
        // Of these one is as good as another, so the first counts.
        let first = firm.min_by_key(|here| here.firm);
        let firm = first.and_then(|here| here.place).map(|index| Hit {
            level: Level::ReadOnly,
            source: Source::Place(index),
        });
        firm.into_iter().chain(
            way.prefixes
                .iter()
                .rev()
                .flat_map(|prefix| self.matching(&way.globs, prefix, Reach::OnlyStricter)),
        )
    }
}

/// The way down to a path.
struct Way<'a> {
    /// The path and what it lies in, the root directory first.
    prefixes: Vec<&'a Path>,
    /// What is known of the first of these.
    known: Vec<&'a Here>,
    /// The positions of the globs that start from one of them: only these can match it or what it lies in.
    globs: Vec<usize>,
}

/// What a place says.
fn hit(places: &[Place], index: usize) -> Hit {
    Hit {
        level: places[index].level,
        source: Source::Place(index),
    }
}
