//! What a directory takes along when it gets another name.

use std::ffi::{CString, OsString};
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::{Mark, Territory};
use crate::plan::{Place, RuleId};
use crate::supervise::resolve::Object;
use crate::sys::Errno;
use crate::sys::file::{self, OpenHow, RESOLVE_NO_SYMLINKS, Stat};

/// A move would put something where it may be lost; by which rule it was kept, if that is known.
pub struct Loss(pub Option<RuleId>);

/// Entries of a folder that is looked through because it moves. Beyond this it does not move.
const MOST_LOOKED_THROUGH: usize = 200_000;

impl Territory {
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

    /// What would be lost if the directory `source`, called `from`, were called `to`: something below it that the run did
    /// not make would be in a looser place, or out of a glob's reach. What cannot be looked through is taken for that.
    #[must_use]
    pub fn would_lose(&self, source: &Object, from: &Path, to: &Path) -> Option<Loss> {
        let concerns = |base: &PathBuf| from.starts_with(base) || base.starts_with(from);
        let level = self.plan.lookup(from).level;
        let looser = self.plan.lookup(to).level > level || self.plan.opens_below(to, level);
        if !looser && !self.plan.strict_globs().iter().any(concerns) {
            return None;
        }
        let mut loss = None;
        let looked = look_through(source, &mut |below, stat| {
            let before = self.plan.lookup(&from.join(below));
            let after = self.plan.lookup(&to.join(below));
            let owned = || stat().is_ok_and(|stat| self.owned.holds(&stat));
            if before.level < after.level && !owned() {
                loss = Some(Loss(before.rule));
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        match looked {
            Ok(()) => loss,
            Err(_) => Some(Loss(None)),
        }
    }

    /// Takes what the run made in a writable place for its own before it goes to a stricter one: a file, or a directory
    /// with all that is younger than the run below it.
    pub fn adopt(&self, object: &Object) {
        if self.owned.may_hold(&object.stat) {
            self.owned.add(&object.stat);
        }
        if !object.is_dir() {
            return;
        }
        // What cannot be looked through counts as having existed.
        let _ = look_through(object, &mut |_, stat| {
            if let Ok(stat) = stat()
                && self.owned.may_hold(&stat)
            {
                self.owned.add(&stat);
            }
            ControlFlow::Continue(())
        });
    }
}

/// Looks at an entry.
type Look<'a> = &'a dyn Fn() -> Result<Stat, Errno>;

/// Calls `job` for every entry below a directory, with its path from there and a way to look at it, until it says stop.
///
/// # Errors
/// Something cannot be listed, or there is too much.
fn look_through(
    source: &Object,
    job: &mut dyn FnMut(&Path, Look<'_>) -> ControlFlow<()>,
) -> Result<(), Errno> {
    let how = OpenHow {
        flags: (libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NONBLOCK) as u64,
        mode: 0,
        resolve: RESOLVE_NO_SYMLINKS,
    };
    let mut waiting = vec![PathBuf::new()];
    let mut seen = 0;
    while let Some(at) = waiting.pop() {
        let name = CString::new(at.join(".").as_os_str().as_bytes()).map_err(|_| Errno::EINVAL)?;
        let dir = file::open(source.as_fd(), &name, how)?;
        for (name, kind) in file::list(dir.as_fd())? {
            seen += 1;
            if seen > MOST_LOOKED_THROUGH {
                return Err(Errno::E2BIG);
            }
            let stat = || file::stat_entry(dir.as_fd(), &name);
            let below = at.join(OsString::from_vec(name.to_bytes().to_vec()));
            if job(&below, &stat).is_break() {
                return Ok(());
            }
            let goes_down = match kind {
                libc::DT_UNKNOWN => stat()?.kind() == libc::S_IFDIR,
                kind => kind == libc::DT_DIR,
            };
            if goes_down {
                waiting.push(below);
            }
        }
    }
    Ok(())
}
