//! What is known of one spot: its name, what is there, and what either means to the plan.

use std::ffi::{CString, OsString};
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::{Facts, Mark, Names, Rooted, Standing, Territory, Wall, identity, path_of, reach};
use crate::plan::{Place, RuleId};
use crate::policy::Level;
use crate::supervise::links::Linked;
use crate::supervise::resolve::{Entry, Object, Spot};
use crate::sys::Errno;
use crate::sys::file::{self, OpenHow, RESOLVE_NO_MAGICLINKS, RESOLVE_NO_SYMLINKS, Stat};

/// Something would come out of a glob's reach; by which rule it was in it, if that is known.
pub struct Loss(pub Option<RuleId>);

/// Entries of a folder that is moved under the eyes of a glob. Beyond this it does not move.
const MOST_LOOKED_THROUGH: usize = 200_000;

impl Territory {
    /// What is known of a spot.
    ///
    /// # Errors
    /// When its surroundings cannot be looked at.
    pub fn facts(&self, spot: &Spot) -> Result<Facts, Errno> {
        match spot {
            Spot::Entry(entry) => self.entry(entry),
            Spot::Held(object) if object.is_dir() => self.directory(object),
            Spot::Held(object) => self.file(object),
        }
    }

    /// Whether only the supervisor changes entries there, so that names stay what they are while it holds the tree.
    #[must_use]
    pub fn is_steady(&self, dir: &Object) -> bool {
        self.standing(dir)
            .is_ok_and(|standing| standing.wall == Wall::Refuses && standing.names == Names::Common)
    }

    /// What is known of an entry.
    ///
    /// # Errors
    /// When its directory cannot be looked at.
    pub fn entry(&self, entry: &Entry) -> Result<Facts, Errno> {
        let standing = self.standing(&entry.dir)?;
        let path = standing
            .path
            .as_ref()
            .map(|dir| dir.join(OsString::from_vec(entry.name.to_bytes().to_vec())));
        let stat = entry.object.as_ref().map(|object| &object.stat);
        let facts = self.about(path, &standing, stat);
        Ok(self.keep_filled(facts, entry.object.as_ref()))
    }

    /// A directory that was not there at the start is on the way, too, once the protected place below it exists.
    fn keep_filled(&self, mut facts: Facts, object: Option<&Object>) -> Facts {
        if facts.kept.is_none()
            && facts.missing_below.is_some()
            && let Some(object) = object.filter(|object| object.is_dir())
            && let Some(path) = &facts.path
        {
            facts.kept = self.would_fill(object, path);
        }
        facts
    }

    fn about(&self, path: Option<PathBuf>, standing: &Standing, stat: Option<&Stat>) -> Facts {
        let (mut level, mut rule) = (standing.level, standing.rule);
        if let Some(path) = &path {
            // What is known of the directory by identity stays; the entry's own path can be named by a rule.
            let found = self.plan.lookup(path);
            let parent = standing.path.as_ref().map(|dir| self.plan.lookup(dir));
            if parent.is_none_or(|parent| parent.level == standing.level) || found.level < level {
                (level, rule) = (found.level, found.rule.or(rule));
            }
        }
        let mut kept = path
            .as_ref()
            .and_then(|path| self.kept_paths.get(path).copied());
        if let Some(stat) = stat {
            let identity = identity(stat);
            if stat.kind() == libc::S_IFDIR
                && let Some(place) = self.plan.place_by_identity(identity)
                && place.level < level
            {
                (level, rule) = (place.level, Some(place.rule));
            }
            kept = kept.or_else(|| self.kept.get(&identity).copied());
        }
        let missing_below = path.as_ref().and_then(|path| self.missing_below(path));
        Facts {
            level,
            rule,
            object: stat.and_then(|stat| self.object(stat)),
            wall: standing.wall,
            kept,
            missing_below,
            kind: stat.map(Stat::kind),
            reach: reach(path.as_deref(), stat),
            rooted: Rooted::Yes,
            carries_grant: stat.is_some_and(|stat| self.granted.contains(&Mark::new(stat))),
            path,
        }
    }

    /// The level that a file has because of another of its names.
    fn object(&self, stat: &Stat) -> Option<(Level, Option<RuleId>)> {
        if stat.kind() == libc::S_IFDIR {
            return None;
        }
        if stat.nlink < 2 && self.plan.place_by_identity(identity(stat)).is_none() {
            return None;
        }
        self.linked(stat)
    }

    /// The same, for a file that may have lost a name since the start.
    fn linked(&self, stat: &Stat) -> Option<(Level, Option<RuleId>)> {
        let identity = identity(stat);
        if let Some(place) = self.plan.place_by_identity(identity) {
            return Some((place.level, Some(place.rule)));
        }
        match self.links.find(identity) {
            Linked::Elsewhere => None,
            Linked::Protected(level, rule) => Some((level, rule)),
            Linked::Unknown => Some((Level::ReadOnly, None)),
        }
    }

    fn missing_below(&self, path: &Path) -> Option<RuleId> {
        self.waiting_below(path).next().map(|place| place.rule)
    }

    /// Protected places truly below a path where nothing is yet.
    fn waiting_below<'a>(&'a self, path: &'a Path) -> impl Iterator<Item = &'a Place> {
        self.plan
            .missing_below(path)
            .filter(move |place| place.path != path && place.level.enforced() != Level::Writable)
    }

    /// The rule of a missing place that would come to exist if the directory `source` were called `path`, or that would
    /// then lie in a directory that the wall grants.
    #[must_use]
    pub fn would_fill(&self, source: &Object, path: &Path) -> Option<RuleId> {
        let conflicts = |place: &&Place| {
            let rest = place.path.strip_prefix(path).unwrap_or(&place.path);
            let mut ways: Vec<&Path> = rest.ancestors().collect();
            ways.pop(); // the directory itself
            let whole = ways.remove(0);
            self.is_there(source, whole).is_some()
                || ways.into_iter().any(|way| {
                    let there = self.is_there(source, way);
                    there.is_some_and(|stat| {
                        stat.is_none_or(|stat| self.granted.contains(&Mark::new(&stat)))
                    })
                })
        };
        self.waiting_below(path)
            .find(conflicts)
            .map(|place| place.rule)
    }

    /// What is at `way` below a directory: none when nothing is, and nothing known of it when it cannot be looked at. A
    /// link on the way may lead to nothing now and to something later, so it counts as something.
    fn is_there(&self, source: &Object, way: &Path) -> Option<Option<Stat>> {
        let Ok(way) = CString::new(way.as_os_str().as_bytes()) else {
            return Some(None);
        };
        let how = OpenHow {
            flags: (libc::O_PATH | libc::O_NOFOLLOW) as u64,
            mode: 0,
            resolve: RESOLVE_NO_SYMLINKS,
        };
        match file::open(source.as_fd(), &way, how) {
            Err(Errno::ENOENT | Errno::ENOTDIR) => None,
            Err(_) => Some(None),
            Ok(fd) => Some(file::stat(fd.as_fd()).ok()),
        }
    }

    /// The rule of a glob that protects something below the directory `source`, called `from`, and would not protect it
    /// below `to`. What cannot be looked through is taken for protected.
    #[must_use]
    pub fn would_lose(&self, source: &Object, from: &Path, to: &Path) -> Option<Loss> {
        let concerns = |path: &Path| {
            self.plan
                .strict_globs()
                .iter()
                .any(|base| path.starts_with(base) || base.starts_with(path))
        };
        if !concerns(from) {
            return None;
        }
        let mut waiting = vec![PathBuf::new()];
        let mut seen = 0;
        while let Some(at) = waiting.pop() {
            let name = CString::new(at.join(".").as_os_str().as_bytes()).ok();
            let how = OpenHow {
                flags: (libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NONBLOCK) as u64,
                mode: 0,
                resolve: RESOLVE_NO_SYMLINKS,
            };
            let listed = name
                .and_then(|name| file::open(source.as_fd(), &name, how).ok())
                .and_then(|dir| file::list(dir.as_fd()).ok());
            let Some(listed) = listed else {
                return Some(Loss(None));
            };
            for (name, kind) in listed {
                let below = at.join(OsString::from_vec(name.into_bytes()));
                let before = self.plan.lookup(&from.join(&below));
                let after = self.plan.lookup(&to.join(&below));
                seen += 1;
                if before.level.enforced() < after.level.enforced() || seen > MOST_LOOKED_THROUGH {
                    return Some(Loss(before.rule));
                }
                if kind == libc::DT_DIR {
                    waiting.push(below);
                }
            }
        }
        None
    }

    fn directory(&self, dir: &Object) -> Result<Facts, Errno> {
        let standing = self.standing(dir)?;
        let facts = self.about(standing.path.clone(), &standing, Some(&dir.stat));
        Ok(self.keep_filled(facts, Some(dir)))
    }

    /// A file that was reached through a descriptor: the kernel says under which name it was opened.
    fn file(&self, object: &Object) -> Result<Facts, Errno> {
        for _ in 0..8 {
            let Some(path) = path_of(object) else {
                return Ok(self.unrooted(object));
            };
            let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
                return Ok(self.unrooted(object));
            };
            let parent = CString::new(parent.as_os_str().as_bytes()).map_err(|_| Errno::EINVAL)?;
            let name = CString::new(name.as_bytes()).map_err(|_| Errno::EINVAL)?;
            let how = OpenHow {
                flags: (libc::O_PATH | libc::O_DIRECTORY) as u64,
                mode: 0,
                resolve: RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
            };
            let dir = file::open_here(&parent, how);
            let dir = match dir {
                Ok(dir) => dir,
                // We may not go there, as the target may not; the descriptor came another way. The kernel's own word for
                // the path has to do.
                Err(Errno::EACCES) => {
                    let found = path
                        .parent()
                        .map_or(self.plan.lookup(&path), |parent| self.plan.lookup(parent));
                    let standing = Standing {
                        path: path.parent().map(Path::to_path_buf),
                        level: found.level,
                        rule: found.rule,
                        wall: Wall::Refuses,
                        names: Names::Common,
                    };
                    return Ok(self.about(Some(path), &standing, Some(&object.stat)));
                }
                Err(_) => continue,
            };
            let dir = Object::new(dir)?;
            let found = match file::stat_entry(dir.fd.as_fd(), &name) {
                Ok(found) => found,
                Err(Errno::ENOENT) => continue,
                Err(error) => return Err(error),
            };
            if (found.dev, found.ino) != (object.stat.dev, object.stat.ino) {
                continue;
            }
            let standing = self.standing(&dir)?;
            return Ok(self.about(Some(path), &standing, Some(&object.stat)));
        }
        // Its name is gone or keeps changing. Known roots still count by identity; what cannot be placed is refused.
        Err(Errno::EACCES)
    }

    fn unrooted(&self, object: &Object) -> Facts {
        // The name by which it was opened is gone; another one may be left, and be protected.
        let named = object.stat.kind() == libc::S_IFREG && object.stat.nlink > 0;
        let other = named.then(|| self.linked(&object.stat)).flatten();
        Facts {
            path: None,
            level: Level::Writable,
            rule: None,
            object: other,
            wall: Wall::Refuses,
            kept: None,
            missing_below: None,
            kind: Some(object.stat.kind()),
            reach: reach(None, Some(&object.stat)),
            rooted: Rooted::No,
            carries_grant: false,
        }
    }
}
