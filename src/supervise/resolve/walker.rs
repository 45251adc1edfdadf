//! Step by step: one component at a time, symbolic links expanded for the target.

use std::ffi::{CStr, CString};

use super::{Entry, Last, Object, PROC_SUPER_MAGIC, Spot};
use crate::supervise::target::{Target, Trouble};
use crate::sys::Errno;
use crate::sys::file::{
    self, OpenHow, RESOLVE_BENEATH, RESOLVE_NO_MAGICLINKS, RESOLVE_NO_SYMLINKS, RESOLVE_NO_XDEV,
    Stat,
};

/// Symbolic links in one path (`MAXSYMLINKS`).
const MOST_LINKS: u32 = 40;
/// No path can come to more, with every link on it as long as a link may be.
const MOST_TEXT: usize = (MOST_LINKS as usize + 1) * 4096;
/// Inode number of the root of every procfs (fs/proc/internal.h).
const PROC_ROOT_INO: u64 = 1;

/// A walk under way.
pub(super) struct Walker<'t> {
    /// For whom.
    pub(super) target: &'t Target,
    /// What it takes for `/`.
    pub(super) root: Object,
    /// Whether the kernel would have looked up its root by now.
    pub(super) rooted: bool,
    /// Where the walk is.
    pub(super) dir: Object,
    /// What becomes of the last component.
    pub(super) last: Last,
    /// `RESOLVE_*`.
    pub(super) restrict: u64,
    /// Symbolic links so far.
    pub(super) links: u32,
    /// Every directory so far, if they are wanted.
    pub(super) trail: Option<Vec<Object>>,
}

/// The kernel's own answer.
pub(super) fn fault(error: Errno) -> Trouble {
    Trouble::Fault(error)
}

impl Walker<'_> {
    /// Goes to the end of `rest`.
    ///
    /// # Errors
    /// As [`super::walk`].
    pub(super) fn run(mut self, mut rest: Vec<u8>) -> Result<(Spot, Vec<Object>), Trouble> {
        loop {
            if let Some(trail) = &mut self.trail {
                trail.push(self.dir.duplicate().map_err(Trouble::Own)?);
            }
            let skip = rest.iter().take_while(|byte| **byte == b'/').count();
            rest.drain(..skip);
            let end = rest
                .iter()
                .position(|byte| *byte == b'/')
                .unwrap_or(rest.len());
            let after = rest.split_off(end);
            let component = std::mem::replace(&mut rest, after);
            let is_last = rest.iter().all(|byte| *byte == b'/');
            match component.as_slice() {
                b"" => return Ok((Spot::Held(self.dir), self.trail.unwrap_or_default())),
                b"." if is_last => {
                    self.look_up()?;
                    return self.directory();
                }
                b"." => self.need_directory()?,
                b".." => {
                    self.up()?;
                    if is_last {
                        return self.directory();
                    }
                }
                name => {
                    let slash = is_last && !rest.is_empty();
                    let name = CString::new(name).map_err(|_| Trouble::Own(Errno::EINVAL))?;
                    if let Some(spot) = self.step(name, is_last, slash, &mut rest)? {
                        return Ok((spot, self.trail.unwrap_or_default()));
                    }
                }
            }
        }
    }

    fn need_directory(&self) -> Result<(), Trouble> {
        if self.dir.is_dir() {
            Ok(())
        } else {
            Err(fault(Errno::ENOTDIR))
        }
    }

    /// Looking up even `.` takes the right to search.
    fn look_up(&self) -> Result<(), Trouble> {
        let how = OpenHow {
            flags: (libc::O_PATH | libc::O_DIRECTORY) as u64,
            ..OpenHow::default()
        };
        file::open(self.dir.as_fd(), c".", how)
            .map(drop)
            .map_err(fault)
    }

    fn directory(self) -> Result<(Spot, Vec<Object>), Trouble> {
        self.need_directory()?;
        Ok((Spot::Held(self.dir), self.trail.unwrap_or_default()))
    }

    fn up(&mut self) -> Result<(), Trouble> {
        self.need_directory()?;
        self.rooted = true;
        if self.dir.is(&self.root) {
            return if self.restrict & RESOLVE_BENEATH != 0 {
                Err(fault(Errno::EXDEV))
            } else {
                Ok(())
            };
        }
        let how = OpenHow {
            flags: (libc::O_PATH | libc::O_DIRECTORY) as u64,
            ..OpenHow::default()
        };
        let parent = file::open(self.dir.as_fd(), c"..", how).map_err(fault)?;
        self.enter(Object::new(parent).map_err(Trouble::Own)?)
    }

    /// Goes into `next`, which may lie on another mount only if the call allows that.
    fn enter(&mut self, next: Object) -> Result<(), Trouble> {
        if self.restrict & RESOLVE_NO_XDEV != 0 && next.stat.mount != self.dir.stat.mount {
            return Err(fault(Errno::EXDEV));
        }
        self.dir = next;
        Ok(())
    }

    /// One named component. Gives the end of the walk, or none to go on with `rest`.
    fn step(
        &mut self,
        name: CString,
        is_last: bool,
        slash: bool,
        rest: &mut Vec<u8>,
    ) -> Result<Option<Spot>, Trouble> {
        let how = OpenHow {
            flags: (libc::O_PATH | libc::O_NOFOLLOW) as u64,
            mode: 0,
            resolve: RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
        };
        let child = match file::open(self.dir.as_fd(), &name, how) {
            Ok(fd) => Object::new(fd).map_err(Trouble::Own)?,
            Err(Errno::ENOENT) if is_last => return self.entry(name, slash, None).map(Some),
            Err(error) => return Err(fault(error)),
        };
        let link = child.stat.kind() == libc::S_IFLNK;
        let follow = !is_last
            || match self.last {
                Last::Follow => true,
                Last::Keep => slash,
                Last::Name => false,
            };
        if link && follow {
            return self.follow(&name, &child, is_last, rest);
        }
        if is_last {
            if slash && !child.is_dir() && self.last != Last::Name {
                return Err(fault(Errno::ENOTDIR));
            }
            return self.entry(name, slash, Some(child)).map(Some);
        }
        self.enter(child)?;
        Ok(None)
    }

    fn entry(&self, name: CString, slash: bool, object: Option<Object>) -> Result<Spot, Trouble> {
        if let Some(object) = &object
            && self.restrict & RESOLVE_NO_XDEV != 0
            && object.stat.mount != self.dir.stat.mount
        {
            return Err(fault(Errno::EXDEV));
        }
        let mut asked = name.to_bytes().to_vec();
        if slash {
            asked.push(b'/');
        }
        let asked = CString::new(asked).map_err(|_| Trouble::Own(Errno::EINVAL))?;
        let dir = self.dir.duplicate().map_err(Trouble::Own)?;
        Ok(Spot::Entry(Entry {
            dir,
            name,
            asked,
            object,
        }))
    }

    fn follow(
        &mut self,
        name: &CStr,
        link: &Object,
        is_last: bool,
        rest: &mut Vec<u8>,
    ) -> Result<Option<Spot>, Trouble> {
        self.links += 1;
        if self.links > MOST_LINKS || self.restrict & RESOLVE_NO_SYMLINKS != 0 {
            return Err(fault(Errno::ELOOP));
        }
        let content = if file::file_system(link.as_fd()).map_err(Trouble::Own)? == PROC_SUPER_MAGIC
        {
            match self.proc_link(name, link)? {
                ProcLink::Content(content) => content,
                ProcLink::Object(object) if is_last && !rest.is_empty() && !object.is_dir() => {
                    return Err(fault(Errno::ENOTDIR)); // a slash comes after it
                }
                ProcLink::Object(object) if is_last => return Ok(Some(Spot::Held(object))),
                ProcLink::Object(object) => {
                    self.enter(object)?;
                    return Ok(None);
                }
            }
        } else {
            self.check_sticky(link)?;
            file::read_link(link.as_fd(), c"").map_err(fault)?
        };
        if content.is_empty() {
            return Err(fault(Errno::ENOENT));
        }
        if content.first() == Some(&b'/') {
            if self.restrict & RESOLVE_BENEATH != 0 {
                return Err(fault(Errno::EXDEV));
            }
            // Before its root is looked up, the kernel takes that for another mount (fs/namei.c: nd_jump_root).
            if self.restrict & RESOLVE_NO_XDEV != 0 && !self.rooted {
                return Err(fault(Errno::EXDEV));
            }
            self.rooted = true;
            let root = self.root.duplicate().map_err(Trouble::Own)?;
            self.enter(root)?;
        }
        let mut path = content;
        path.append(rest);
        if path.len() > MOST_TEXT {
            return Err(fault(Errno::ENAMETOOLONG));
        }
        *rest = path;
        Ok(None)
    }

    /// A link of procfs: what it says depends on who asks, and that is the target, not us.
    fn proc_link(&self, name: &CStr, link: &Object) -> Result<ProcLink, Trouble> {
        if self.dir.stat.ino == PROC_ROOT_INO {
            let text = match name.to_bytes() {
                b"self" => self.target.status()?.tgid.to_string(),
                b"thread-self" => {
                    format!("{}/task/{}", self.target.status()?.tgid, self.target.tid)
                }
                _ => {
                    return file::read_link(link.as_fd(), c"")
                        .map(ProcLink::Content)
                        .map_err(fault);
                }
            };
            return Ok(ProcLink::Content(text.into_bytes()));
        }
        let how = OpenHow {
            flags: libc::O_PATH as u64,
            mode: 0,
            resolve: RESOLVE_NO_MAGICLINKS,
        };
        match file::open(self.dir.as_fd(), name, how) {
            Err(Errno::ELOOP) => {}
            _ => {
                return file::read_link(link.as_fd(), c"")
                    .map(ProcLink::Content)
                    .map_err(fault);
            }
        }
        if self.restrict & RESOLVE_NO_MAGICLINKS != 0 {
            return Err(fault(Errno::ELOOP));
        }
        if !self.may_follow()? {
            return Err(Trouble::Foreign);
        }
        let how = OpenHow {
            flags: libc::O_PATH as u64,
            ..OpenHow::default()
        };
        let fd = file::open(self.dir.as_fd(), name, how).map_err(fault)?;
        Object::new(fd).map(ProcLink::Object).map_err(Trouble::Own)
    }

    /// Whether the directory that the walk is in belongs to the target's own process, or to one that it may look into.
    /// What is held is that very process's: once it has ended, nothing can be opened through it any more.
    fn may_follow(&self) -> Result<bool, Trouble> {
        let path = file::path_of(self.dir.as_fd()).map_err(Trouble::Own)?;
        let path = String::from_utf8_lossy(&path).into_owned();
        let tgid = self.target.status()?.tgid;
        let number = process_of(&path);
        Ok(number.is_some_and(|pid| {
            pid == tgid || pid == self.target.tid || self.target.may_look_into(pid)
        }))
    }

    fn check_sticky(&self, link: &Object) -> Result<(), Trouble> {
        if !is_planted(&self.dir.stat, &link.stat) || link.stat.uid == self.target.status()?.user {
            return Ok(());
        }
        match std::fs::read("/proc/sys/fs/protected_symlinks") {
            Ok(text) if text.starts_with(b"0") => Ok(()),
            _ => Err(fault(Errno::EACCES)),
        }
    }
}

/// Whether a link is one that anybody may have laid: in a sticky directory that all may write to links are followed only
/// for their owner or the directory's (fs.protected_symlinks, fs/namei.c: may_follow_link).
pub(super) fn is_planted(dir: &Stat, link: &Stat) -> bool {
    let shared = libc::S_ISVTX | libc::S_IWOTH;
    dir.mode & shared == shared && link.uid != dir.uid
}

/// The process that a directory of procfs belongs to, wherever procfs is mounted: `…/PID`, `…/PID/fd`, `…/PID/task/TID/ns`.
pub(super) fn process_of(path: &str) -> Option<i32> {
    let is_number = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = path.rsplit('/').skip_while(|part| !is_number(part));
    let thread = parts.next()?;
    let process = match parts.next() {
        Some("task") => parts.next()?,
        _ => thread,
    };
    process.parse().ok()
}

enum ProcLink {
    /// An ordinary link.
    Content(Vec<u8>),
    /// A magic one, and what it leads to.
    Object(Object),
}
