//! From a plan to the rules: which directories are granted.

use std::collections::HashSet;
use std::ffi::{CStr, CString, OsStr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use landlock::{
    ABI, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr,
};

use super::silent::Silent;
use super::{NEEDED_VERSION, Wall, WallError};
use crate::plan::{Identity, Plan, Tree};
use crate::policy::Level;
use crate::sys::file::{self, OpenHow, Stat};
use crate::sys::{Errno, process};

/// More grants than this are left to the supervisor: a folder with very many subfolders must not delay the start.
const MOST_GRANTS: usize = 8192;

impl Wall {
    /// Builds the wall of a plan.
    ///
    /// # Errors
    /// [`WallError`].
    pub fn build(plan: &Plan) -> Result<Self, WallError> {
        let (ruleset, handled) = empty()?;
        let mut builder = Builder::new(plan, ruleset, handled);
        let root = open_path(None, c"/").map_err(|source| WallError::Look {
            path: "/".into(),
            source,
        })?;
        builder.visit(root, Path::new("/"))?;
        Ok(Self {
            ruleset: builder.ruleset,
            granted: builder.granted,
        })
    }

    /// A wall that grants one directory and nothing else, for trying whether walls hold.
    ///
    /// # Errors
    /// [`WallError`].
    pub fn around(dir: &OwnedFd) -> Result<Self, WallError> {
        let (ruleset, handled) = empty()?;
        Ok(Self {
            ruleset: ruleset.add_rule(PathBeneath::new(dir.as_fd(), handled))?,
            granted: Vec::new(),
        })
    }
}

/// A ruleset that grants nothing, and the rights that it takes.
fn empty() -> Result<(RulesetCreated, BitFlags<AccessFs>), WallError> {
    enough(process::landlock_version().map_err(WallError::Absent)?)?;
    let handled = AccessFs::from_write(ABI::V3);
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(handled)?
        .create()?;
    Ok((ruleset, handled))
}

/// Whether a version of Landlock can deny all that a wall has to deny.
pub(super) fn enough(found: u32) -> Result<(), WallError> {
    if found < NEEDED_VERSION {
        return Err(WallError::Version { found });
    }
    Ok(())
}

struct Builder<'p> {
    plan: &'p Plan,
    ruleset: RulesetCreated,
    directory_rights: BitFlags<AccessFs>,
    device_rights: BitFlags<AccessFs>,
    /// All places, and the directories below which another level holds somewhere, which say so.
    known: Tree<bool>,
    /// The directories from which strict globs reach down.
    globs: Tree<bool>,
    /// What must not be granted, whatever name it is met under.
    reserved: HashSet<Identity>,
    granted: Vec<Stat>,
    silent: Silent,
}

impl<'p> Builder<'p> {
    fn new(plan: &'p Plan, ruleset: RulesetCreated, handled: BitFlags<AccessFs>) -> Self {
        let mut known = Tree::default();
        for (place, around) in plan.places_around() {
            known.at(&place.path);
            // Where both are the same, another place on the way down is not, or nothing is.
            if (around == Level::Writable) != (place.level == Level::Writable)
                && let Some(above) = place.path.parent()
            {
                mix(&mut known, above);
            }
        }
        let mut globs = Tree::default();
        for base in plan.strict_globs() {
            *globs.at(base) = true;
        }
        let bases = plan.strict_globs().iter();
        let kept = plan.kept.iter().map(|kept| &kept.path);
        for above in bases.chain(kept).filter_map(|path| path.parent()) {
            mix(&mut known, above);
        }
        let protected = plan
            .places
            .iter()
            .filter(|place| place.level != Level::Writable);
        let reserved = protected
            .filter_map(|place| place.identity)
            .chain(plan.kept.iter().map(|kept| kept.identity))
            .collect();
        Self {
            plan,
            ruleset,
            // No wall lets anyone make a block device: that would be a way below every file system.
            directory_rights: handled & !BitFlags::from(AccessFs::MakeBlock),
            device_rights: AccessFs::WriteFile | AccessFs::Truncate,
            known,
            globs,
            reserved,
            granted: Vec::new(),
            silent: Silent::default(),
        }
    }

    /// Grants a directory, or what in it can be granted.
    fn visit(&mut self, dir: OwnedFd, path: &Path) -> Result<(), WallError> {
        let look = |source| WallError::Look {
            path: path.to_path_buf(),
            source,
        };
        let stat = file::stat_at_once(dir.as_fd()).map_err(look)?;
        if stat.kind() != libc::S_IFDIR {
            return Ok(());
        }
        let reserved = self.reserved.contains(&Identity {
            dev: stat.dev,
            ino: stat.ino,
        });
        let mixed = self.known.get(path) == Some(&true);
        let below_glob = self.globs.along(path).any(|strict| *strict);
        let system = path == Path::new("/dev") || path == Path::new("/proc");
        if below_glob && !system && !mixed {
            return Ok(());
        }
        if !mixed {
            if !reserved && self.plan.lookup(path).level == Level::Writable {
                return if path == Path::new("/dev") {
                    self.visit_devices(dir, stat)
                } else {
                    self.grant(&dir, stat)
                };
            }
            return Ok(());
        }
        for (name, kind) in self.children(&dir, path) {
            if kind != libc::DT_DIR && kind != libc::DT_UNKNOWN {
                continue;
            }
            let below = path.join(OsStr::from_bytes(name.to_bytes()));
            let mixed = self.known.get(&below) == Some(&true);
            if !mixed && self.plan.lookup(&below).level != Level::Writable {
                continue;
            }
            // What has gone meanwhile, may not be entered or cannot be looked at is not granted.
            if let Ok(child) = open_path(Some(&dir), &name) {
                if self.is_silent(&child, stat.mount) {
                    continue;
                }
                match self.visit(child, &below) {
                    Err(WallError::Look { .. }) => {}
                    other => other?,
                }
            }
        }
        Ok(())
    }

    /// Whether another file system begins here, one that does not answer: the supervisor acts there.
    fn is_silent(&mut self, dir: &OwnedFd, mount: u64) -> bool {
        let other = |stat: &Stat| stat.mount != mount;
        let stat = file::stat_at_once(dir.as_fd()).ok().filter(other);
        stat.is_some_and(|stat| self.silent.is(dir, stat.mount))
    }

    /// Names in a directory that may be granted: where the directory is not writable, or may not be read, those that the
    /// plan knows.
    fn children(&self, dir: &OwnedFd, path: &Path) -> Vec<(CString, u8)> {
        let around = self.plan.lookup(path).level;
        let entries = match around {
            Level::Writable => listing(dir).ok(),
            _ => None,
        };
        match entries {
            Some(entries) => entries,
            None => {
                let names = self.known.children(path);
                let names = names.filter_map(|name| CString::new(name.as_bytes()).ok());
                names.map(|name| (name, libc::DT_UNKNOWN)).collect()
            }
        }
    }

    fn grant(&mut self, dir: &OwnedFd, stat: Stat) -> Result<(), WallError> {
        if self.granted.len() < MOST_GRANTS {
            self.rule(dir, stat, self.directory_rights)?;
        }
        Ok(())
    }

    fn rule(
        &mut self,
        fd: &OwnedFd,
        stat: Stat,
        rights: BitFlags<AccessFs>,
    ) -> Result<(), WallError> {
        (&mut self.ruleset).add_rule(PathBeneath::new(fd.as_fd(), rights))?;
        self.granted.push(stat);
        Ok(())
    }

    /// Grants a folder of devices without those that hold file systems.
    fn visit_devices(&mut self, dir: OwnedFd, stat: Stat) -> Result<(), WallError> {
        let mount = stat.mount;
        let Ok(entries) = listing(&dir) else {
            return Ok(());
        };
        let folders = entries.iter().filter(|(_, kind)| *kind == libc::DT_DIR);
        let deep = folders.clone().any(|(name, _)| {
            open_path(Some(&dir), name).is_ok_and(|dir| holds_devices(&dir, mount))
        });
        if !deep
            && !entries
                .iter()
                .any(|(name, kind)| may_be_raw(&dir, name, *kind))
        {
            return self.grant(&dir, stat);
        }
        for (name, kind) in entries.iter().filter(|(name, _)| !is_console(name)) {
            let Ok(child) = open_path(Some(&dir), name) else {
                continue;
            };
            let Ok(stat) = file::stat(child.as_fd()) else {
                continue;
            };
            match *kind {
                // What is mounted there (/dev/shm) holds files, as /tmp does.
                libc::DT_DIR if stat.mount != mount => self.grant(&child, stat)?,
                libc::DT_DIR => self.visit_devices(child, stat)?,
                libc::DT_CHR if !file::is_raw_device(&stat) => {
                    self.rule(&child, stat, self.device_rights)?
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Whether a device is one of the many virtual consoles, or what they show: few programs open one, and the supervisor does
/// it for them, so that a start need not grant each.
fn is_console(name: &CStr) -> bool {
    let name = name.to_bytes();
    let number = name.strip_prefix(b"tty").and_then(|rest| rest.first());
    number.is_some_and(u8::is_ascii_digit) || name.starts_with(b"vcs")
}

/// Whether writing to an entry could reach past every file system; what cannot be looked at could.
fn may_be_raw(dir: &OwnedFd, name: &CStr, kind: u8) -> bool {
    match kind {
        libc::DT_BLK | libc::DT_UNKNOWN => true,
        libc::DT_CHR => {
            file::stat_entry(dir.as_fd(), name).map_or(true, |stat| file::is_raw_device(&stat))
        }
        _ => false,
    }
}

/// Whether a folder on this mount holds such devices, or folders that could.
fn holds_devices(dir: &OwnedFd, mount: u64) -> bool {
    if file::stat(dir.as_fd()).is_ok_and(|stat| stat.mount != mount) {
        return false;
    }
    listing(dir).map_or(true, |entries| {
        let one =
            |(name, kind): &(CString, u8)| *kind == libc::DT_DIR || may_be_raw(dir, name, *kind);
        entries.iter().any(one)
    })
}

/// Notes that another level holds somewhere below a directory, and so below those that it lies in: on the way to it they
/// have to be gone through as well.
fn mix(known: &mut Tree<bool>, directory: &Path) {
    for above in directory.ancestors() {
        if std::mem::replace(known.at(above), true) {
            break;
        }
    }
}

fn open_path(dir: Option<&OwnedFd>, name: &CStr) -> Result<OwnedFd, Errno> {
    let flags = libc::O_PATH | libc::O_NOFOLLOW;
    match dir {
        None => file::open_absolute(name, flags),
        Some(dir) => file::open(
            dir.as_fd(),
            name,
            OpenHow {
                flags: flags as u64,
                ..OpenHow::default()
            },
        ),
    }
}

fn listing(dir: &OwnedFd) -> Result<Vec<(CString, u8)>, Errno> {
    let how = OpenHow {
        flags: (libc::O_RDONLY | libc::O_DIRECTORY) as u64,
        ..OpenHow::default()
    };
    let readable = file::open(dir.as_fd(), c".", how)?;
    file::list(readable.as_fd())
}

#[cfg(test)]
mod devices;
