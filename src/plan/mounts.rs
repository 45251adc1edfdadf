//! `/proc/self/mountinfo`: which mount shows a path, and what an overlay is made of.
//!
//! The format is in proc_pid_mountinfo(5); spaces, tabs, newlines, backslashes (and commas in options) are octal.
#![forbid(unsafe_code)]

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use super::PlanError;
use super::tree::Tree;

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Its number.
    pub id: u64,
    /// The number of the mount that it sits on.
    pub parent: u64,
    /// Major and minor number of the file system, the same for all mounts that show it.
    pub device: (u32, u32),
    /// The directory of the file system that it shows.
    pub root: PathBuf,
    /// Where it shows it.
    pub point: PathBuf,
    /// The layers, if it is an overlay.
    pub overlay: Option<Overlay>,
}

/// The folders that an overlay mount is made of, as its options name them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overlay {
    /// Where changes go; two readings of one name that holds a backslash, since kernels differ in what they print.
    pub upper: Vec<PathBuf>,
    /// What lies below, the topmost first; data-only layers too.
    pub lower: Vec<PathBuf>,
}

/// All mounts that the process sees.
#[derive(Clone, Debug, Default)]
pub struct Mounts {
    list: Vec<Mount>,
    /// From a mount's number to the mounts on it, by their points; the last of equals, since it covers the others.
    children: HashMap<u64, Tree<Option<usize>>>,
    top: Option<usize>,
}

impl Mounts {
    /// Parses the text of a mountinfo file.
    ///
    /// # Errors
    /// The first line that is not understood.
    pub fn parse(text: &[u8]) -> Result<Self, PlanError> {
        let lines = text
            .split(|byte| *byte == b'\n')
            .enumerate()
            .filter(|(_, line)| !line.is_empty());
        let list = lines
            .map(|(at, line)| mount(line).ok_or(PlanError::MountLine { line: at + 1 }))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self::new(list))
    }

    /// Arranges mounts, given in the order in which they were made.
    fn new(list: Vec<Mount>) -> Self {
        let mut children: HashMap<u64, Tree<Option<usize>>> = HashMap::new();
        for (index, mount) in list.iter().enumerate() {
            if mount.parent != mount.id {
                let on = children.entry(mount.parent).or_default();
                *on.at(&mount.point) = Some(index);
            }
        }
        let known: HashSet<u64> = list.iter().map(|mount| mount.id).collect();
        let top = list.iter().position(|mount| {
            mount.point == Path::new("/")
                && (mount.parent == mount.id || !known.contains(&mount.parent))
        });
        Self {
            list,
            children,
            top,
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Mount> {
        self.list.iter()
    }

    /// The mount at a position in the list.
    pub(super) fn at(&self, number: usize) -> &Mount {
        &self.list[number]
    }

    /// Whether mounts are listed, but not the one of the root directory, as in a chroot.
    #[must_use]
    pub fn lacks_root(&self) -> bool {
        self.top.is_none() && !self.list.is_empty()
    }

    /// The mount that shows an absolute path without symbolic links; none when the mount of the root directory is not
    /// listed, as in a chroot.
    #[must_use]
    pub fn showing(&self, path: &Path) -> Option<&Mount> {
        let mut index = self.top?;
        // Walk down as the kernel does: of the mounts on this one, the first that is met on the way. A stacked mount has
        // the same point as the one below it.
        for _ in 0..self.list.len() {
            let Some(on) = self.children.get(&self.list[index].id) else {
                break;
            };
            match on.along(path).find_map(|mount| *mount) {
                Some(child) => index = child,
                None => break,
            }
        }
        Some(&self.list[index])
    }
}

impl Mount {
    /// The path inside the file system of a path that this mount shows.
    #[must_use]
    pub fn inside(&self, path: &Path) -> Option<PathBuf> {
        path.strip_prefix(&self.point)
            .ok()
            .map(|rest| join(&self.root, rest))
    }

    /// Whether it is this mount that shows a path, and no other covers it.
    #[must_use]
    pub fn shows(&self, mounts: &Mounts, path: &Path) -> bool {
        mounts.showing(path).is_some_and(|top| top.id == self.id)
    }

    /// Where this mount shows a path of its file system.
    #[must_use]
    pub fn outside(&self, inside: &Path) -> Option<PathBuf> {
        inside
            .strip_prefix(&self.root)
            .ok()
            .map(|rest| join(&self.point, rest))
    }
}

/// Joins without a trailing slash where there is nothing to join.
pub(super) fn join(base: &Path, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() {
        base.to_path_buf()
    } else {
        base.join(rest)
    }
}

/// One line: `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`.
fn mount(line: &[u8]) -> Option<Mount> {
    let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let (major, minor) = std::str::from_utf8(fields.get(2)?).ok()?.split_once(':')?;
    // Optional fields end with a lone hyphen.
    let hyphen = fields.iter().skip(6).position(|field| *field == b"-")? + 6;
    let options = fields.get(hyphen + 3).copied().unwrap_or_default();
    let point = path(unescape(fields.get(4)?));
    point.is_absolute().then_some(())?;
    Some(Mount {
        id: number(fields[0])?,
        parent: number(fields[1])?,
        device: (major.parse().ok()?, minor.parse().ok()?),
        root: path(unescape(fields[3])),
        point,
        overlay: (*fields.get(hyphen + 1)? == b"overlay").then(|| overlay(options)),
    })
}

/// The layers in an overlay's options: `lowerdir=a:b`, `lowerdir+=a`, `upperdir=c`. A colon or backslash in a name has
/// a backslash before it, and the kernel then writes all of it in octal.
fn overlay(options: &[u8]) -> Overlay {
    let mut layers = Overlay::default();
    for option in options.split(|byte| *byte == b',') {
        let Some(equals) = option.iter().position(|byte| *byte == b'=') else {
            continue;
        };
        let (name, value) = (&option[..equals], unescape(&option[equals + 1..]));
        match name {
            b"upperdir" => {
                layers.upper = vec![path(plain(&value)), path(value)];
                layers.upper.dedup();
            }
            // Given one by one, a name is taken as it is.
            b"lowerdir+" | b"datadir+" => layers.lower.push(path(value)),
            b"lowerdir" => layers
                .lower
                .extend(layer_names(&value).into_iter().map(path)),
            _ => {}
        }
    }
    layers
}

/// Splits at colons that have no backslash before them. Data-only layers follow two colons.
fn layer_names(value: &[u8]) -> Vec<Vec<u8>> {
    let mut names = vec![Vec::new()];
    let mut bytes = value.iter().copied();
    while let Some(byte) = bytes.next() {
        match (byte, names.last_mut()) {
            (b':', _) => names.push(Vec::new()),
            (b'\\', Some(name)) => name.push(bytes.next().unwrap_or(b'\\')),
            (_, Some(name)) => name.push(byte),
            (_, None) => {}
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// Drops the backslash before an escaped character.
fn plain(value: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(value.len());
    let mut bytes = value.iter().copied();
    while let Some(byte) = bytes.next() {
        plain.push(if byte == b'\\' {
            bytes.next().unwrap_or(byte)
        } else {
            byte
        });
    }
    plain
}

/// Turns `\040` and its like back into the bytes that they stand for.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, after)) = rest.split_first() {
        let octal = (byte == b'\\')
            .then(|| after.get(..3).and_then(octal))
            .flatten();
        plain.push(octal.unwrap_or(byte));
        rest = if octal.is_some() { &after[3..] } else { after };
    }
    plain
}

/// Three octal digits as a byte.
fn octal(digits: &[u8]) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()
}

fn number(field: &[u8]) -> Option<u64> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

fn path(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests;
