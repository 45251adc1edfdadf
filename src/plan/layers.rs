//! The folders that overlay mounts are made of.
#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::alias::{Alias, whole};
use super::mounts::join;
use super::walk::Walker;
use super::{Mounts, PlanError, Via};

/// A directory of a file system, however it is mounted: the device, and the path inside it.
pub(super) type Spot = ((u32, u32), PathBuf);

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

    /// Whether there is no overlay, or none whose folders this process sees.
    pub(super) fn is_empty(&self) -> bool {
        self.upper.is_empty() && self.lower.is_empty()
    }

    /// Overlays that show a directory among their layers, or that write into something below it.
    pub(super) fn overlays_over(
        &self,
        mounts: &Mounts,
        spot: &Spot,
        via: Via,
        found: &mut Vec<Alias>,
    ) {
        if self.is_empty() {
            return;
        }
        let (device, inside) = spot;
        for above in inside.ancestors() {
            let above = (*device, above.to_path_buf());
            let upper = self.upper.get(&above);
            // An overlay of the root directory shows its own folders, and so without an end. They are shown only: what
            // changes there is not what is protected.
            let lower = self.lower.get(&above).filter(|_| via != Via::Backing);
            for number in upper.into_iter().chain(lower).flatten() {
                let mount = mounts.at(*number);
                let rest = inside.strip_prefix(&above.1).unwrap_or(Path::new(""));
                let shown = mount.outside(&join(Path::new("/"), rest));
                let shown = shown.filter(|shown| mount.shows(mounts, shown));
                found.extend(shown.map(|shown| whole(shown, Via::Backing)));
            }
        }
        for ((layer_device, folder), numbers) in &self.upper {
            let below = folder
                .strip_prefix(inside)
                .ok()
                .filter(|part| !part.as_os_str().is_empty());
            let Some(part) = below.filter(|_| layer_device == device) else {
                continue;
            };
            for mount in numbers.iter().map(|number| mounts.at(*number)) {
                if mount.shows(mounts, &mount.point) {
                    let part = join(part, mount.root.strip_prefix("/").unwrap_or(&mount.root));
                    found.push(Alias {
                        part,
                        ..whole(mount.point.clone(), Via::Backing)
                    });
                }
            }
        }
    }
}

/// Where a path is inside its file system.
fn spot(mounts: &Mounts, path: &Path) -> Option<Spot> {
    let mount = mounts.showing(path)?;
    Some((mount.device, mount.inside(path)?))
}

/// The canonical path of a layer that this process can see. A relative one is seen from a directory that only the
/// mounting process knew.
pub(super) fn folder(name: &Path, walker: &mut Walker) -> Result<Option<PathBuf>, PlanError> {
    if !name.is_absolute() {
        return Ok(None);
    }
    let walked = walker.walk(name)?;
    Ok(walked.path.filter(|_| walked.identity.is_some()))
}
