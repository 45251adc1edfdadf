//! Which level holds where: membership by climbing from a held directory and comparing identities, and by the path that
//! the kernel gives for it; the stricter answer counts.

mod facts;
mod moves;

pub use super::owned::Made;
pub use moves::Loss;

use std::collections::{HashMap, HashSet};
use std::ffi::{CString, OsString};
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};

use super::links::Links;
use super::mark::Mark;
use super::owned::Owned;
use super::resolve::{Object, PROC_SUPER_MAGIC};
use crate::plan::{Found, Identity, Place, Plan, RuleId};
use crate::policy::Level;
use crate::sys::Errno;
use crate::sys::file::{self, OpenHow, Stat};

/// Whether the wall lets the target change entries of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wall {
    /// It does: the kernel may go on by itself.
    Grants,
    /// It does not: the supervisor has to act or refuse.
    Refuses,
}

/// What is known of a directory.
#[derive(Clone, Debug)]
pub struct Standing {
    /// Its path, as the kernel gives it; none for a removed or unreachable one.
    pub path: Option<PathBuf>,
    /// The path under which the plan knows it by a place above it, where that is another one: the place has been moved
    /// or mounted elsewhere since the start.
    pub known_as: Option<PathBuf>,
    /// The level of what lies in it.
    pub level: Level,
    /// The rule behind the level.
    pub rule: Option<RuleId>,
    /// What the wall does there.
    pub wall: Wall,
    /// Whether names in it mean the same for every process.
    pub names: Names,
}

/// Whether the names in a directory depend on who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// They are the same for all.
    Common,
    /// It lies in procfs.
    PerProcess,
}

/// What is known of one spot that a call names.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Its path.
    pub path: Option<PathBuf>,
    /// The level of the name.
    pub level: Level,
    /// The rule behind the level.
    pub rule: Option<RuleId>,
    /// The level of what is there under all its names, where that is stricter, and the rule behind it.
    pub object: Option<(Level, Option<RuleId>)>,
    /// What the wall does in its directory.
    pub wall: Wall,
    /// The rule for whose sake it keeps its name.
    pub kept: Option<RuleId>,
    /// The rule of a place below it that does not exist yet.
    pub missing_below: Option<RuleId>,
    /// Type bits of what is there; none when nothing is.
    pub kind: Option<u32>,
    /// Who made it.
    pub made: Made,
    /// Whether writing it reaches past every rule.
    pub reach: Reach,
    /// Whether it has a place in the tree at all.
    pub rooted: Rooted,
    /// Whether it is itself a directory that the wall grants with all that it holds.
    pub carries_grant: bool,
}

/// How far writing to an object reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// To itself.
    Itself,
    /// A device that holds file systems, or memory.
    RawDevice,
    /// A setting that makes the kernel run programs of its own, outside of every sandbox, or act on disks.
    KernelHelper,
}

/// Whether an object has a name somewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rooted {
    /// It has.
    Yes,
    /// A pipe, a socket, a file without a name: nothing of it can be below a protected place.
    No,
}

type Key = (u64, u64, i64, u64);

/// A plan with the directories that the wall grants, as the supervisor asks it.
#[derive(Debug)]
pub struct Territory {
    plan: Arc<Plan>,
    granted: Arc<HashSet<Mark>>,
    kept: HashMap<Identity, RuleId>,
    kept_paths: HashMap<PathBuf, RuleId>,
    links: Arc<Links>,
    owned: Arc<Owned>,
    known: RwLock<HashMap<Key, (Standing, Instant)>>,
    generation: AtomicU64,
}

/// How long a directory's standing is remembered. Renames by the run itself make guard forget at once; this bounds what
/// a process outside can make stale.
const REMEMBER: Duration = Duration::from_secs(1);
/// Folders that are remembered at a time: the more there are, the longer it takes until what is too old is dropped.
const MOST_KNOWN: usize = 4096;

impl Territory {
    /// Puts a plan and the wall's grants together.
    #[must_use]
    pub fn new(plan: Arc<Plan>, granted: impl IntoIterator<Item = Mark>, owned: Owned) -> Self {
        let granted = Arc::new(granted.into_iter().collect());
        Self::of(plan, granted, Arc::default(), Arc::new(owned))
    }

    /// The same with another plan, behind the same wall.
    #[must_use]
    pub fn with_plan(&self, plan: Plan) -> Self {
        let (granted, links) = (Arc::clone(&self.granted), Arc::clone(&self.links));
        Self::of(Arc::new(plan), granted, links, Arc::clone(&self.owned))
    }

    fn of(
        plan: Arc<Plan>,
        granted: Arc<HashSet<Mark>>,
        links: Arc<Links>,
        owned: Arc<Owned>,
    ) -> Self {
        let kept = plan
            .kept
            .iter()
            .map(|kept| (kept.identity, kept.rule))
            .collect();
        let kept_paths = plan
            .kept
            .iter()
            .map(|kept| (kept.path.clone(), kept.rule))
            .collect();
        let known = RwLock::default();
        Self {
            plan,
            granted,
            kept,
            kept_paths,
            links,
            owned,
            known,
            generation: AtomicU64::new(0),
        }
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What the run made.
    #[must_use]
    pub fn owned(&self) -> &Owned {
        &self.owned
    }

    /// Looks for other names of protected files, beside the run. Who needs to know waits.
    pub fn collect_links(&self) {
        self.links.collect(Arc::clone(&self.plan));
    }

    /// To be called when a directory may have got another place.
    pub fn forget(&self) {
        self.generation.fetch_add(1, Ordering::SeqCst);
        if let Ok(mut known) = self.known.write() {
            known.clear();
        }
    }

    /// What is known of a directory.
    ///
    /// # Errors
    /// When it cannot be climbed from.
    pub fn standing(&self, dir: &Object) -> Result<Standing, Errno> {
        let key = (dir.stat.dev, dir.stat.ino, dir.stat.birth, dir.stat.mount);
        if let Ok(known) = self.known.read()
            && let Some((standing, since)) = known.get(&key)
            && since.elapsed() < REMEMBER
        {
            return Ok(standing.clone());
        }
        let generation = self.generation.load(Ordering::SeqCst);
        let standing = self.look(dir)?;
        if let Ok(mut known) = self.known.write()
            && generation == self.generation.load(Ordering::SeqCst)
        {
            if known.len() >= MOST_KNOWN {
                known.retain(|_, (_, since)| since.elapsed() < REMEMBER);
                if known.len() > MOST_KNOWN / 2 {
                    known.clear();
                }
            }
            known.insert(key, (standing.clone(), Instant::now()));
        }
        Ok(standing)
    }

    fn look(&self, dir: &Object) -> Result<Standing, Errno> {
        let (above, wall) = self.climb(dir)?;
        let path = match wall {
            Wall::Grants => path_of(dir),
            Wall::Refuses => self.certain_path(dir)?,
        };
        let known_as = above.and_then(|above| above.known_as(path.as_deref()));
        let Found { level, rule } = self.level(path.as_deref(), known_as.as_deref());
        let names = match file::file_system(dir.as_fd())? {
            PROC_SUPER_MAGIC => Names::PerProcess,
            _ => Names::Common,
        };
        let wall = if level == Level::Writable {
            wall
        } else {
            Wall::Refuses
        };
        Ok(Standing {
            path,
            known_as,
            level,
            rule,
            wall,
            names,
        })
    }

    /// The level of a path, and of the path under which a place above it is known: the stricter.
    fn level(&self, path: Option<&Path>, known_as: Option<&Path>) -> Found {
        let found = path.map_or(
            Found {
                level: self.plan.default,
                rule: None,
            },
            |path| self.plan.lookup(path),
        );
        known_as
            .map(|path| self.plan.lookup(path))
            .filter(|known| known.level < found.level)
            .unwrap_or(found)
    }

    /// The path of a directory, checked by going there: in a tree that hangs nowhere (open_tree(2), a lazy unmount) the
    /// kernel gives paths that mean something else. Where the wall grants, nothing depends on it.
    fn certain_path(&self, dir: &Object) -> Result<Option<PathBuf>, Errno> {
        for _ in 0..8 {
            let Some(path) = path_of(dir) else {
                return Ok(None);
            };
            let text = CString::new(path.as_os_str().as_bytes()).map_err(|_| Errno::EINVAL)?;
            let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW;
            match file::open_absolute(&text, flags) {
                Ok(there) => {
                    if identity(&file::stat(there.as_fd())?) == identity(&dir.stat) {
                        return Ok(Some(path));
                    }
                }
                // We may not go there, as the target may not; the descriptor came another way.
                Err(Errno::EACCES) => return Ok(Some(path)),
                // It is being moved, or not there.
                Err(Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP) => {}
                Err(error) => return Err(error),
            }
        }
        Err(Errno::EACCES)
    }

    /// Goes up until something is known.
    fn climb(&self, dir: &Object) -> Result<(Option<Above<'_>>, Wall), Errno> {
        let mut at = dir.duplicate()?;
        loop {
            let identity = identity(&at.stat);
            if let Some(place) = self.plan.place_by_identity(identity) {
                let wall = if self.granted.contains(&Mark::new(&at.stat)) {
                    Wall::Grants
                } else {
                    Wall::Refuses
                };
                return Ok((Some(Above { place, at }), wall));
            }
            if self.granted.contains(&Mark::new(&at.stat)) {
                return Ok((None, Wall::Grants));
            }
            if self.kept.contains_key(&identity) {
                return Ok((None, Wall::Refuses));
            }
            let how = OpenHow {
                flags: (libc::O_PATH | libc::O_DIRECTORY) as u64,
                ..OpenHow::default()
            };
            let parent = match file::open(at.as_fd(), c"..", how) {
                // A directory that may not be entered, by us as by the target: its path alone has to do.
                Err(Errno::EACCES) => return Ok((None, Wall::Refuses)),
                other => Object::new(other?)?,
            };
            if (parent.stat.dev, parent.stat.ino, parent.stat.mount)
                == (at.stat.dev, at.stat.ino, at.stat.mount)
            {
                let root = file::stat(file::open_absolute(c"/", libc::O_PATH)?.as_fd())?;
                // The top of a tree that hangs nowhere says nothing about what lies in it.
                return if identity == self::identity(&root) {
                    Ok((None, Wall::Refuses))
                } else {
                    Err(Errno::EACCES)
                };
            }
            at = parent;
        }
    }
}

/// A place above a directory.
struct Above<'p> {
    place: &'p Place,
    /// The place itself, as it was met.
    at: Object,
}

impl Above<'_> {
    /// The path under which the plan knows a directory below the place, if `path` is another one.
    fn known_as(&self, path: Option<&Path>) -> Option<PathBuf> {
        let known = &self.place.path;
        if path.is_some_and(|path| path.starts_with(known)) {
            return None;
        }
        let here = path_of(&self.at);
        let below = path.and_then(|path| path.strip_prefix(here?).ok());
        Some(below.map_or_else(
            || known.clone(),
            |below| {
                if below.as_os_str().is_empty() {
                    known.clone()
                } else {
                    known.join(below)
                }
            },
        ))
    }
}

/// Settings by which the kernel starts programs as root outside of every sandbox, or does things to disks: the last
/// component, or two (Documentation/admin-guide/sysctl/kernel.rst, sysrq.rst, binfmt-misc.rst, cgroup-v1).
const KERNEL_HELPERS: &[&str] = &[
    "kernel/core_pattern",
    "kernel/modprobe",
    "kernel/hotplug",
    "kernel/poweroff_cmd",
    "kernel/uevent_helper",
    "binfmt_misc/register",
    "sysrq-trigger",
    "release_agent",
];

/// Whether a path is one of them, where it lies in a file system of the kernel's own.
#[must_use]
pub fn is_kernel_helper(path: &Path) -> bool {
    (path.starts_with("/proc") || path.starts_with("/sys"))
        && KERNEL_HELPERS.iter().any(|helper| path.ends_with(helper))
}

/// How far writing to what `path` and `stat` describe reaches.
fn reach(path: Option<&Path>, stat: Option<&Stat>) -> Reach {
    if stat.is_some_and(file::is_raw_device) {
        Reach::RawDevice
    } else if path.is_some_and(is_kernel_helper) {
        Reach::KernelHelper
    } else {
        Reach::Itself
    }
}

fn identity(stat: &Stat) -> Identity {
    Identity {
        dev: stat.dev,
        ino: stat.ino,
    }
}

/// The path of something held; none when it has none: pipes, sockets, removed files.
fn path_of(object: &Object) -> Option<PathBuf> {
    let path = file::path_of(object.fd.as_fd()).ok()?;
    let removed = object.stat.nlink == 0 || path.ends_with(b" (deleted)") && is_gone(&path);
    (path.first() == Some(&b'/') && !removed).then(|| PathBuf::from(OsString::from_vec(path)))
}

fn is_gone(path: &[u8]) -> bool {
    std::fs::symlink_metadata(Path::new(std::ffi::OsStr::from_bytes(path))).is_err()
}
