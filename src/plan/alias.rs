//! Other paths to a protected place: further mounts of its file system, and the layers of overlays.
#![forbid(unsafe_code)]

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::index::GlobRule;
use super::mounts::join;
use super::resolve::Draft;
use super::walk::{Seen, Walker};
use super::{Identity, Mount, Mounts, Place, PlanError, Via};
use crate::policy::Level;

/// Far more than any machine has; a bound on the work all the same.
const MOST_ALIASES: usize = 4096;
/// How often an alias may have aliases of its own. A few steps are real: a mount of an overlay's folder.
const MOST_STEPS: usize = 32;

/// A path that shows a place, or a part of it.
struct Alias {
    path: PathBuf,
    via: Via,
    /// What part of the place, relative to it; empty for the whole of it.
    part: PathBuf,
    /// What must be there for the path to be an alias, if that is known.
    expected: Option<Identity>,
}

/// A directory of a file system, however it is mounted: the device, and the path inside it.
type Spot = ((u32, u32), PathBuf);

/// The folders of all overlays. An overlay sees a layer without what is mounted on top of it, so a path is compared
/// with them inside its file system.
#[derive(Debug)]
pub(super) struct Layers {
    /// From a folder that changes go to, to the mounts, by their position in the list.
    upper: HashMap<Spot, Vec<usize>>,
    /// From a folder below, which is only shown, to the mounts.
    lower: HashMap<Spot, Vec<usize>>,
}

impl Layers {
    /// Finds them. A folder that is not there belongs to another mount namespace.
    pub(super) fn find(mounts: &Mounts, walker: &mut Walker) -> Result<Self, PlanError> {
        let mut layers = Self {
            upper: HashMap::new(),
            lower: HashMap::new(),
        };
        for (number, mount) in mounts.iter().enumerate() {
            let Some(overlay) = &mount.overlay else {
                continue;
            };
            for (names, known) in [
                (&overlay.upper, &mut layers.upper),
                (&overlay.lower, &mut layers.lower),
            ] {
                for name in names {
                    let folder = folder(name, walker)?;
                    let spot = folder.and_then(|folder| spot(mounts, &folder));
                    if let Some(spot) = spot {
                        known.entry(spot).or_default().push(number);
                    }
                }
            }
        }
        Ok(layers)
    }
}

/// Where a path is inside its file system.
fn spot(mounts: &Mounts, path: &Path) -> Option<Spot> {
    let mount = mounts.showing(path)?;
    Some((mount.device, mount.inside(path)?))
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
        while !places.is_empty() {
            let mut added = Vec::new();
            for place in places
                .into_iter()
                .map(|number| self.places[number].clone())
                .collect::<Vec<_>>()
            {
                if place.level.enforced() == Level::Writable {
                    continue;
                }
                for alias in self.aliases(&place.path, place.identity, place.via)? {
                    added.extend(self.add(&place, alias)?);
                }
            }
            bound.step(added.len())?;
            places = added;
        }
        Ok(())
    }

    /// A glob, and the same glob below every other path to the directory before its first wildcard.
    pub(super) fn spread_glob(&mut self, glob: GlobRule) -> Result<(), PlanError> {
        let mut bound = Bound::default();
        let mut known = HashSet::from([glob.base.clone()]);
        let mut globs = vec![(glob, Via::Named)];
        while !globs.is_empty() {
            let mut added = Vec::new();
            for (glob, via) in globs {
                if glob.level.enforced() != Level::Writable {
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
                self.index.globs.push(glob);
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
        if level.enforced() == Level::Writable
            || self
                .index
                .exact(&path)
                .is_some_and(|index| self.places[index].level <= level)
        {
            return Ok(None);
        }
        let seen = self.walker.look(&path)?;
        let shows = match (expected, seen.identity()) {
            (Some(expected), Some(found)) => expected == found,
            // It exists here and not there: there is something else there, unless it only cannot be looked at.
            (Some(_), None) => seen == Seen::Hidden,
            (None, _) => true,
        };
        Ok(if shows {
            self.place(Place {
                path,
                identity: seen.identity(),
                rule,
                level,
                via,
            })
        } else {
            None
        })
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
        if let Some(own) = host.mounts.showing(path)
            && let Some(inside) = own.inside(path)
        {
            let spot = (own.device, inside);
            other_mounts(&host.mounts, own, &spot.1, identity, &mut aliases);
            overlays_over(&host.mounts, &self.layers, &spot, via, &mut aliases);
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
            if shows(mounts, other, &path) {
                found.push(Alias {
                    expected: identity,
                    ..whole(path, Via::MountAlias)
                });
            }
        } else if let Ok(part) = other.root.strip_prefix(inside)
            && shows(mounts, other, &other.point)
        {
            found.push(Alias {
                part: part.to_path_buf(),
                ..whole(other.point.clone(), Via::MountAlias)
            });
        }
    }
}

/// Overlays that show a directory among their layers, or that write into something below it.
fn overlays_over(mounts: &Mounts, layers: &Layers, spot: &Spot, via: Via, found: &mut Vec<Alias>) {
    let (device, inside) = spot;
    for above in inside.ancestors() {
        let above = (*device, above.to_path_buf());
        let upper = layers.upper.get(&above);
        // An overlay of the root directory shows its own folders, and so without an end. They are shown only: what
        // changes there is not what is protected.
        let lower = layers.lower.get(&above).filter(|_| via != Via::Backing);
        for number in upper.into_iter().chain(lower).flatten() {
            let mount = mounts.at(*number);
            let rest = inside.strip_prefix(&above.1).unwrap_or(Path::new(""));
            let shown = mount.outside(&join(Path::new("/"), rest));
            let shown = shown.filter(|shown| shows(mounts, mount, shown));
            found.extend(shown.map(|shown| whole(shown, Via::Backing)));
        }
    }
    for ((layer_device, folder), numbers) in &layers.upper {
        let below = folder
            .strip_prefix(inside)
            .ok()
            .filter(|part| !part.as_os_str().is_empty());
        let Some(part) = below.filter(|_| layer_device == device) else {
            continue;
        };
        for mount in numbers.iter().map(|number| mounts.at(*number)) {
            if shows(mounts, mount, &mount.point) {
                let part = join(part, mount.root.strip_prefix("/").unwrap_or(&mount.root));
                found.push(Alias {
                    part,
                    ..whole(mount.point.clone(), Via::Backing)
                });
            }
        }
    }
}

/// An alias of the whole of a place.
fn whole(path: PathBuf, via: Via) -> Alias {
    Alias {
        path,
        via,
        part: PathBuf::new(),
        expected: None,
    }
}

/// Whether it is this mount that shows a path, and no other covers it.
fn shows(mounts: &Mounts, mount: &Mount, path: &Path) -> bool {
    mounts.showing(path).is_some_and(|top| top.id == mount.id)
}

/// The canonical path of a layer that this process can see. A relative one is seen from a directory that only the
/// mounting process knew.
fn folder(name: &Path, walker: &mut Walker) -> Result<Option<PathBuf>, PlanError> {
    if !name.is_absolute() {
        return Ok(None);
    }
    let walked = walker.walk(name)?;
    Ok(walked.path.filter(|_| walked.identity.is_some()))
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
