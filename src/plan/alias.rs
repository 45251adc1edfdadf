//! Other paths to a protected place: further mounts of its file system, and the layers of overlays.
#![forbid(unsafe_code)]

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use super::mounts::join;
use super::resolve::Draft;
use super::walk::Seen;
use super::{Identity, Mount, Mounts, Place, PlanError, RuleId, Via};
use crate::policy::Level;

/// Far more than any machine has; a bound on the work all the same.
const MOST_ALIASES: usize = 4096;

/// A path that shows a protected place.
struct Alias {
    path: PathBuf,
    via: Via,
    /// What must be there for the path to be one, if that is known.
    expected: Option<Identity>,
    level: Level,
    rule: RuleId,
}

impl Draft<'_> {
    /// Adds all other paths to the places with these numbers, and to those in turn.
    pub(super) fn spread(&mut self, start: Vec<usize>) -> Result<(), PlanError> {
        let mut ahead: VecDeque<Place> = start
            .into_iter()
            .map(|index| self.places[index].clone())
            .collect();
        let mut added = 0;
        while let Some(place) = ahead.pop_front() {
            if place.level.enforced() == Level::Writable {
                continue;
            }
            let mut aliases = self.other_mounts(&place);
            aliases.extend(self.layers(&place)?);
            aliases.extend(self.overlays_over(&place)?);
            for alias in aliases {
                let Some(index) = self.add(alias)? else {
                    continue;
                };
                added += 1;
                if added > MOST_ALIASES {
                    return Err(PlanError::TooManyAliases {
                        limit: MOST_ALIASES,
                    });
                }
                ahead.push_back(self.places[index].clone());
            }
        }
        Ok(())
    }

    /// Takes an alias in where it really shows the place, and tells the new place's number.
    fn add(&mut self, alias: Alias) -> Result<Option<usize>, PlanError> {
        if self
            .index
            .exact(&alias.path)
            .is_some_and(|index| self.places[index].level <= alias.level)
        {
            return Ok(None);
        }
        let seen = self.walker.look(&alias.path)?;
        let shows = match (alias.expected, seen.identity()) {
            (Some(expected), Some(found)) => expected == found,
            // It exists in one place and not in the other: something else is mounted there.
            (Some(_), None) => seen == Seen::Hidden,
            (None, _) => true,
        };
        if !shows {
            return Ok(None);
        }
        let Alias {
            path,
            via,
            level,
            rule,
            ..
        } = alias;
        Ok(self.place(Place {
            path,
            identity: seen.identity(),
            rule,
            level,
            via,
        }))
    }

    /// Mounts of the same file system that show the place, a directory above it, or one below it.
    fn other_mounts(&self, place: &Place) -> Vec<Alias> {
        let mounts = &self.host.mounts;
        let Some((own, inside)) = position(mounts, &place.path) else {
            return Vec::new();
        };
        let others = mounts
            .iter()
            .filter(|other| other.device == own.device && other.id != own.id);
        others
            .filter_map(|other| {
                if let Some(path) = other.outside(&inside) {
                    return shows(mounts, other, &path)
                        .then(|| self.alias(place, path, Via::MountAlias, place.identity));
                }
                // The mount shows only a part of the place. That part may have another level.
                let part = join(&place.path, other.root.strip_prefix(&inside).ok()?);
                let found = self.index.lookup(&self.places, &part);
                let alias = self.alias(place, other.point.clone(), Via::MountAlias, None);
                let strict =
                    found.level.enforced() != Level::Writable && shows(mounts, other, &other.point);
                strict.then(|| Alias {
                    level: found.level,
                    rule: found.rule.unwrap_or(place.rule),
                    ..alias
                })
            })
            .collect()
    }

    /// The folders that back a place inside an overlay.
    fn layers(&mut self, place: &Place) -> Result<Vec<Alias>, PlanError> {
        let host = self.host;
        let Some((
            Mount {
                overlay: Some(overlay),
                ..
            },
            inside,
        )) = position(&host.mounts, &place.path)
        else {
            return Ok(Vec::new());
        };
        let rest = inside.strip_prefix("/").unwrap_or(&inside).to_path_buf();
        let mut aliases = Vec::new();
        for layer in overlay.upper.iter().chain(&overlay.lower) {
            if let Some(base) = self.real_directory(layer)? {
                aliases.push(self.alias(place, join(&base, &rest), Via::Backing, None));
            }
        }
        Ok(aliases)
    }

    /// The overlays that show a place among their layers, or that change something inside the place.
    fn overlays_over(&mut self, place: &Place) -> Result<Vec<Alias>, PlanError> {
        let host = self.host;
        let mut aliases = Vec::new();
        for mount in host.mounts.iter() {
            let Some(overlay) = &mount.overlay else {
                continue;
            };
            for layer in overlay.upper.iter().chain(&overlay.lower) {
                let Some(base) = self.real_directory(layer)? else {
                    continue;
                };
                if let Ok(rest) = place.path.strip_prefix(&base) {
                    let shown = mount.outside(&join(Path::new("/"), rest));
                    let shown = shown.filter(|path| shows(&host.mounts, mount, path));
                    aliases.extend(shown.map(|path| self.alias(place, path, Via::Backing, None)));
                } else if base.starts_with(&place.path)
                    && overlay.upper.contains(layer)
                    && shows(&host.mounts, mount, &mount.point)
                {
                    let found = self.index.lookup(&self.places, &base);
                    let alias = self.alias(place, mount.point.clone(), Via::Backing, None);
                    aliases.push(Alias {
                        level: found.level,
                        rule: found.rule.unwrap_or(place.rule),
                        ..alias
                    });
                }
            }
        }
        aliases.retain(|alias| alias.level.enforced() != Level::Writable);
        Ok(aliases)
    }

    fn alias(&self, place: &Place, path: PathBuf, via: Via, expected: Option<Identity>) -> Alias {
        Alias {
            path,
            via,
            expected,
            level: place.level,
            rule: place.rule,
        }
    }

    /// The canonical path of a layer, where this process can see it. A relative one is seen from a directory that only
    /// the mounting process knew.
    fn real_directory(&mut self, layer: &Path) -> Result<Option<PathBuf>, PlanError> {
        if !layer.is_absolute() {
            return Ok(None);
        }
        let walked = self.walker.walk(layer)?;
        Ok(walked.path.filter(|_| walked.identity.is_some()))
    }
}

/// Whether it is this mount that shows a path, and no other covers it.
fn shows(mounts: &Mounts, mount: &Mount, path: &Path) -> bool {
    mounts.showing(path).is_some_and(|top| top.id == mount.id)
}

/// The mount that shows a path, and the path inside its file system.
fn position<'m>(mounts: &'m Mounts, path: &Path) -> Option<(&'m Mount, PathBuf)> {
    let mount = mounts.showing(path)?;
    Some((mount, mount.inside(path)?))
}
