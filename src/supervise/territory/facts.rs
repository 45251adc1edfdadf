//! What is known of one spot: its name, what is there, and what either means to the plan.

use std::ffi::{CString, OsStr};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::{
    Facts, Made, Mark, Names, Rooted, Standing, Territory, Wall, identity, path_of, reach,
};
use crate::plan::{Found, Place, RuleId};
use crate::policy::Level;
use crate::supervise::links::Linked;
use crate::supervise::resolve::{Entry, Object, Spot};
use crate::sys::Errno;
use crate::sys::file::{self, OpenHow, RESOLVE_NO_MAGICLINKS, RESOLVE_NO_SYMLINKS, Stat};

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
        let name = Path::new(OsStr::from_bytes(entry.name.to_bytes()));
        let within = |dir: &PathBuf| dir.join(name);
        let stat = entry.object.as_ref().map(|object| &object.stat);
        let known_as = standing.known_as.as_ref().map(within);
        let mut facts = self.about(
            standing.path.as_ref().map(within),
            known_as.as_deref(),
            &standing,
            stat,
        );
        if let Some(stat) = stat
            && facts.made == Made::Before
            && self.owned.holds_name(&entry.dir.stat, &entry.name, stat)
        {
            facts.made = Made::NameByRun;
        }
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

    fn about(
        &self,
        path: Option<PathBuf>,
        known_as: Option<&Path>,
        standing: &Standing,
        stat: Option<&Stat>,
    ) -> Facts {
        let (mut level, mut rule) = (standing.level, standing.rule);
        if path.is_some() {
            Found { level, rule } = self.level(path.as_deref(), known_as);
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
            made: stat.map_or(Made::Before, |stat| self.made(level, stat)),
            reach: reach(path.as_deref(), stat),
            rooted: Rooted::Yes,
            carries_grant: stat.is_some_and(|stat| self.granted.contains(&Mark::new(stat))),
            path,
        }
    }

    /// Who made an object that is found at a level.
    fn made(&self, level: Level, stat: &Stat) -> Made {
        if self.owned.holds(stat) || level == Level::Writable && self.owned.may_hold(stat) {
            Made::ByRun
        } else {
            Made::Before
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

    /// Places truly below a path, stricter than what is around them, where nothing is yet.
    pub(super) fn waiting_below<'a>(&'a self, path: &'a Path) -> impl Iterator<Item = &'a Place> {
        self.plan
            .missing_below(path)
            .filter(move |place| place.path != path)
    }

    fn directory(&self, dir: &Object) -> Result<Facts, Errno> {
        let standing = self.standing(dir)?;
        let facts = self.about(
            standing.path.clone(),
            standing.known_as.as_deref(),
            &standing,
            Some(&dir.stat),
        );
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
                Err(Errno::EACCES) => return Ok(self.by_word(path, object)),
                Err(_) => continue,
            };
            let dir = Object::new(dir)?;
            let found = match file::stat_entry(dir.fd.as_fd(), &name) {
                Ok(found) => found,
                Err(Errno::ENOENT) => continue,
                Err(Errno::EACCES) => return Ok(self.by_word(path, object)),
                Err(error) => return Err(error),
            };
            if (found.dev, found.ino) != (object.stat.dev, object.stat.ino) {
                continue;
            }
            let standing = self.standing(&dir)?;
            let entry = path.file_name().unwrap_or_default();
            let known_as = standing.known_as.as_ref().map(|dir| dir.join(entry));
            return Ok(self.about(
                Some(path),
                known_as.as_deref(),
                &standing,
                Some(&object.stat),
            ));
        }
        // Its name is gone or keeps changing. Known roots still count by identity; what cannot be placed is refused.
        Err(Errno::EACCES)
    }

    /// Where we may not look, as the target may not: the descriptor came another way, or its folder was closed since. The
    /// kernel's own word for the path has to do.
    fn by_word(&self, path: PathBuf, object: &Object) -> Facts {
        let above = path.parent();
        let found = above.map_or(self.plan.lookup(&path), |above| self.plan.lookup(above));
        let standing = Standing {
            path: above.map(Path::to_path_buf),
            known_as: None,
            level: found.level,
            rule: found.rule,
            wall: Wall::Refuses,
            names: Names::Common,
        };
        self.about(Some(path), None, &standing, Some(&object.stat))
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
            made: self.made(Level::Writable, &object.stat),
            reach: reach(None, Some(&object.stat)),
            rooted: Rooted::No,
            carries_grant: false,
        }
    }
}
