//! Other paths to a protected place: further mounts of its file system, and the layers of overlays.
#![forbid(unsafe_code)]

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::index::GlobRule;
use super::layers::folder;
use super::mounts::join;
use super::resolve::Draft;
use super::walk::Seen;
use super::{Identity, Mount, Mounts, Place, PlanError, RuleId, Via};
use crate::policy::Level;

/// Far more than any machine has; a bound on the work all the same.
const MOST_ALIASES: usize = 4096;
/// How often an alias may have aliases of its own. A few steps are real: a mount of an overlay's folder.
const MOST_STEPS: usize = 32;

/// A path that shows a place, or a part of it.
pub(super) struct Alias {
    pub(super) path: PathBuf,
    pub(super) via: Via,
    /// What part of the place, relative to it; empty for the whole of it.
    pub(super) part: PathBuf,
    /// What must be there for the path to be an alias, if that is known.
    pub(super) expected: Option<Identity>,
}

/// Counts the work, so that mounts that show each other come to an end.
#[derive(Default)]
struct Bound {
    steps: usize,
    aliases: usize,
}

impl Bound {
    fn step(&mut self, aliases: usize) -> Result<(), PlanError> {
        self.steps += usize::from(aliases > 0);
        self.aliases += aliases;
        if self.steps > MOST_STEPS || self.aliases > MOST_ALIASES {
            return Err(PlanError::TooManyAliases);
        }
        Ok(())
    }
}

impl Draft<'_> {
    /// Adds all other paths to the places with these numbers, and to those in turn.
    pub(super) fn spread(&mut self, mut places: Vec<usize>) -> Result<(), PlanError> {
        let mut bound = Bound::default();
        // Where the parts are that some mount shows, with the rule that holds there: the way back from the mount has
        // nothing to add.
        let mut origins = HashSet::new();
        while !places.is_empty() {
            let mut found = Vec::new();
            for number in places {
                let place = self.places[number].clone();
                if place.level == Level::Writable {
                    continue;
                }
                for alias in self.aliases(&place.path, place.identity, place.via)? {
                    origins.extend(self.origin(&place, &alias));
                    found.push((place.clone(), alias));
                }
            }
            let mut added = Vec::new();
            for (place, alias) in found {
                let known = alias.part.as_os_str().is_empty()
                    && origins.contains(&(alias.path.clone(), place.rule));
                if !known {
                    added.extend(self.add(&place, alias)?);
                }
            }
            bound.step(added.len())?;
            places = added;
        }
        Ok(())
    }

    /// The path inside the place of the part that an alias shows, and the rule that holds for it; none for an alias of
    /// the whole, and where something else is mounted over the part.
    fn origin(&self, place: &Place, alias: &Alias) -> Option<(PathBuf, RuleId)> {
        if alias.part.as_os_str().is_empty() {
            return None;
        }
        let path = place.path.join(&alias.part);
        let own = self.host.mounts.showing(&place.path)?;
        let rule = self.index.lookup(&self.places, &path).rule;
        own.shows(&self.host.mounts, &path)
            .then(|| (path, rule.unwrap_or(place.rule)))
    }

    /// A glob, and the same glob below every other path to the directory before its first wildcard.
    pub(super) fn spread_glob(&mut self, glob: GlobRule) -> Result<(), PlanError> {
        let mut bound = Bound::default();
        let mut known = HashSet::from([glob.base.clone()]);
        let mut globs = vec![(glob, Via::Named)];
        while !globs.is_empty() {
            let mut added = Vec::new();
            for (glob, via) in globs {
                if glob.level != Level::Writable {
                    for Alias {
                        path, part, via, ..
                    } in self.aliases(&glob.base, None, via)?
                    {
                        if known.insert(path.clone()) {
                            let within = join(&glob.within, &part);
                            let base = path;
                            added.push((
                                GlobRule {
                                    base,
                                    within,
                                    ..glob.clone()
                                },
                                via,
                            ));
                        }
                    }
                }
                self.index.add_glob(glob);
            }
            bound.step(added.len())?;
            globs = added;
        }
        Ok(())
    }

    /// Takes an alias in where it really shows the place, and tells the new place's number.
    fn add(&mut self, place: &Place, alias: Alias) -> Result<Option<usize>, PlanError> {
        let Alias {
            path,
            via,
            part,
            expected,
        } = alias;
        let (level, rule) = if part.as_os_str().is_empty() {
            (place.level, place.rule)
        } else {
            // A part of a protected place may have another level.
            let found = self.index.lookup(&self.places, &place.path.join(part));
            (found.level, found.rule.unwrap_or(place.rule))
        };
        // An alias that lies in a stricter place must not make a hole in it.
        let known = self
            .index
            .exact(&path)
            .map(|number| self.places[number].level);
        let around = self.index.lookup(&self.places, &path).level;
        let strict = level != Level::Writable;
        if !strict || around < level || known.is_some_and(|known| known <= level) {
            return Ok(None);
        }
        let seen = self.walker.look(&path)?;
        let shows = match (expected, seen.identity()) {
            (Some(expected), Some(found)) => expected == found,
            // It exists here and not there: there is something else there, unless it only cannot be looked at.
            (Some(_), None) => seen == Seen::Hidden,
            (None, _) => true,
        };
        let identity = seen.identity();
        let place = Place {
            path,
            identity,
            rule,
            level,
            via,
        };
        Ok(if shows { self.place(place) } else { None })
    }

    /// The other paths to a path, one step away.
    fn aliases(
        &mut self,
        path: &Path,
        identity: Option<Identity>,
        via: Via,
    ) -> Result<Vec<Alias>, PlanError> {
        let host = self.host;
        let mut aliases = Vec::new();
        let alone = |own: &Mount| {
            let elsewhere = |other: &Mount| other.device == own.device && other.id != own.id;
            own.overlay.is_none() && self.layers.is_empty() && !host.mounts.iter().any(elsewhere)
        };
        if let Some(own) = host.mounts.showing(path).filter(|own| !alone(own))
            && let Some(inside) = own.inside(path)
        {
            let spot = (own.device, inside);
            other_mounts(&host.mounts, own, &spot.1, identity, &mut aliases);
            self.layers
                .overlays_over(&host.mounts, &spot, via, &mut aliases);
            let inside = spot.1;
            if let Some(overlay) = &own.overlay {
                let rest = inside.strip_prefix("/").unwrap_or(&inside);
                for name in overlay.upper.iter().chain(&overlay.lower) {
                    if let Some(folder) = folder(name, &mut self.walker)? {
                        let backing = whole(join(&folder, rest), Via::Backing);
                        aliases.push(backing);
                    }
                }
            }
        }
        Ok(aliases)
    }
}

/// Mounts of the same file system that show a path of it, a directory above, or a part of it.
fn other_mounts(
    mounts: &Mounts,
    own: &Mount,
    inside: &Path,
    identity: Option<Identity>,
    found: &mut Vec<Alias>,
) {
    for other in mounts
        .iter()
        .filter(|other| other.device == own.device && other.id != own.id)
    {
        if let Some(path) = other.outside(inside) {
            if other.shows(mounts, &path) {
                found.push(Alias {
                    expected: identity,
                    ..whole(path, Via::MountAlias)
                });
            }
        } else if let Ok(part) = other.root.strip_prefix(inside)
            && other.shows(mounts, &other.point)
        {
            found.push(Alias {
                part: part.to_path_buf(),
                ..whole(other.point.clone(), Via::MountAlias)
            });
        }
    }
}

/// An alias of the whole of a place.
pub(super) fn whole(path: PathBuf, via: Via) -> Alias {
    Alias {
        path,
        via,
        part: PathBuf::new(),
        expected: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_is_bounded() {
        let mut bound = Bound::default();
        assert!((0..MOST_STEPS).all(|_| bound.step(1).is_ok() && bound.step(0).is_ok()));
        assert!(matches!(bound.step(1), Err(PlanError::TooManyAliases)));
        assert!(Bound::default().step(MOST_ALIASES).is_ok());
        assert!(Bound::default().step(MOST_ALIASES + 1).is_err());
    }
}
