//! The walk: from a path as the target gave it to held objects, as the kernel would go, without trusting names.
//!
//! Every step opens one component with `O_PATH`, links not followed; symbolic links are expanded here, those of procfs
//! for the *target*. What comes out is held by descriptors, so that nothing found can be swapped afterwards.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::target::{Target, Trouble};
use crate::sys::file::{
    self, OpenHow, RESOLVE_BENEATH, RESOLVE_CACHED, RESOLVE_IN_ROOT, RESOLVE_NO_MAGICLINKS,
    RESOLVE_NO_SYMLINKS, RESOLVE_NO_XDEV, Stat,
};
use crate::sys::{Errno, process};

/// Symbolic links in one path (`MAXSYMLINKS`).
const MOST_LINKS: u32 = 40;
/// `f_type` of procfs (linux/magic.h).
pub const PROC_SUPER_MAGIC: i64 = 0x9FA0;
/// Inode number of the root of every procfs (fs/proc/internal.h).
const PROC_ROOT_INO: u64 = 1;

/// Something that exists, held by an `O_PATH` descriptor.
#[derive(Debug)]
pub struct Object {
    /// Holds it.
    pub fd: OwnedFd,
    /// What it was when it was taken.
    pub stat: Stat,
}

impl Object {
    /// Looks at what `fd` holds.
    ///
    /// # Errors
    /// As statx(2).
    pub fn new(fd: OwnedFd) -> Result<Self, Errno> {
        let stat = file::stat(fd.as_fd())?;
        Ok(Self { fd, stat })
    }

    /// Borrowed descriptor.
    #[must_use]
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Another descriptor of the same object.
    ///
    /// # Errors
    /// As fcntl(2).
    pub fn duplicate(&self) -> Result<Self, Errno> {
        Ok(Self {
            fd: process::duplicate(self.fd.as_fd())?,
            stat: self.stat,
        })
    }

    /// Whether it is a directory.
    #[must_use]
    pub fn is_dir(&self) -> bool {
        self.stat.kind() == libc::S_IFDIR
    }

    fn is(&self, other: &Self) -> bool {
        (self.stat.dev, self.stat.ino, self.stat.mount)
            == (other.stat.dev, other.stat.ino, other.stat.mount)
    }
}

/// A name in a directory.
#[derive(Debug)]
pub struct Entry {
    /// The directory.
    pub dir: Object,
    /// The name, one component.
    pub name: CString,
    /// The name as the call has to get it: with a slash behind it where the path ended in one.
    pub asked: CString,
    /// What is there.
    pub object: Option<Object>,
}

/// Where a path ends.
#[derive(Debug)]
pub enum Spot {
    /// At a name.
    Entry(Entry),
    /// At an object reached without one: by a descriptor, a magic link, or a path that ends in `.`, `..` or `/`.
    Held(Object),
}

impl Spot {
    /// What exists there.
    #[must_use]
    pub fn object(&self) -> Option<&Object> {
        match self {
            Self::Entry(entry) => entry.object.as_ref(),
            Self::Held(object) => Some(object),
        }
    }
}

/// What becomes of the last component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// Followed if it is a symbolic link.
    Follow,
    /// Not followed, unless a slash comes after it.
    Keep,
    /// The name itself is meant (mkdir, unlink, rename): never followed.
    Name,
}

/// Walks `path` for `target`, starting at `base` where it is relative. `restrict` are the `RESOLVE_*` of openat2(2).
///
/// # Errors
/// [`Trouble::Fault`] with the kernel's own answer; [`Trouble::Foreign`] for a magic link of another process.
pub fn walk(
    target: &Target,
    base: Base,
    path: &CStr,
    last: Last,
    restrict: u64,
) -> Result<Spot, Trouble> {
    if path.is_empty() {
        return Err(Trouble::Fault(Errno::ENOENT));
    }
    if restrict & RESOLVE_CACHED != 0 {
        return Err(Trouble::Fault(Errno::EAGAIN));
    }
    if restrict == 0
        && let Some(spot) = straight(target, base, path, last)?
    {
        return Ok(spot);
    }
    let absolute = path.to_bytes().first() == Some(&b'/');
    if absolute && restrict & RESOLVE_BENEATH != 0 {
        return Err(Trouble::Fault(Errno::EXDEV));
    }
    let scoped = restrict & (RESOLVE_BENEATH | RESOLVE_IN_ROOT) != 0;
    let start = if !absolute || scoped {
        Some(base.open(target)?)
    } else {
        None
    };
    let root = match &start {
        Some(start) if scoped => start.duplicate().map_err(Trouble::Own)?,
        _ => target.root()?,
    };
    let dir = match start {
        Some(start) if !absolute => start,
        _ => root.duplicate().map_err(Trouble::Own)?,
    };
    Walker {
        target,
        root,
        dir,
        last,
        restrict,
        links: 0,
        trail: None,
    }
    .run(path.to_bytes().to_vec())
    .map(|(spot, _)| spot)
}

/// The whole way to the last component at once, for a path without links and `..`: then there is nothing on it that
/// would mean another thing to the target. None when the walk has to go step by step.
fn straight(target: &Target, base: Base, path: &CStr, last: Last) -> Result<Option<Spot>, Trouble> {
    let bytes = path.to_bytes();
    let trimmed = bytes.len() - bytes.iter().rev().take_while(|byte| **byte == b'/').count();
    let slash = trimmed < bytes.len();
    let start = bytes[..trimmed]
        .iter()
        .rposition(|byte| *byte == b'/')
        .map_or(0, |at| at + 1);
    let (parent, name) = (&bytes[..start], &bytes[start..trimmed]);
    let dotted = parent.split(|byte| *byte == b'/').any(|part| part == b"..");
    if dotted || matches!(name, b"" | b"." | b"..") {
        return Ok(None);
    }
    let from = if bytes[0] == b'/' {
        target.root()?
    } else {
        base.open(target)?
    };
    let below = &parent[parent.iter().take_while(|byte| **byte == b'/').count()..];
    let plain = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    let string = |bytes: &[u8]| CString::new(bytes).map_err(|_| Trouble::Own(Errno::EINVAL));
    let dir = if below.is_empty() {
        from
    } else {
        let flags = (libc::O_PATH | libc::O_DIRECTORY) as u64;
        let how = OpenHow {
            flags,
            mode: 0,
            resolve: plain,
        };
        match file::open(from.as_fd(), &string(below)?, how) {
            Ok(fd) => Object::new(fd).map_err(Trouble::Own)?,
            Err(_) => return Ok(None),
        }
    };
    let flags = (libc::O_PATH | libc::O_NOFOLLOW) as u64;
    let name = string(name)?;
    let object = match file::open(
        dir.as_fd(),
        &name,
        OpenHow {
            flags,
            mode: 0,
            resolve: plain,
        },
    ) {
        Ok(fd) => Some(Object::new(fd).map_err(Trouble::Own)?),
        Err(Errno::ENOENT) => None,
        Err(error) => return Err(fault(error)),
    };
    let followed = last == Last::Follow || last == Last::Keep && slash;
    if let Some(object) = &object {
        if object.stat.kind() == libc::S_IFLNK && followed {
            return Ok(None);
        }
        if slash && !object.is_dir() && last != Last::Name {
            return Err(fault(Errno::ENOTDIR));
        }
    }
    let asked = string(&bytes[start..trimmed + usize::from(slash)])?;
    Ok(Some(Spot::Entry(Entry {
        dir,
        name,
        asked,
        object,
    })))
}

/// Walks to a name, and gives every directory in which the way looked something up.
///
/// # Errors
/// As [`walk`].
pub fn walk_with_trail(
    target: &Target,
    base: Base,
    path: &CStr,
) -> Result<(Spot, Vec<Object>), Trouble> {
    if path.is_empty() {
        return Err(Trouble::Fault(Errno::ENOENT));
    }
    let root = target.root()?;
    let absolute = path.to_bytes().first() == Some(&b'/');
    let dir = if absolute {
        root.duplicate().map_err(Trouble::Own)?
    } else {
        base.open(target)?
    };
    let trail = Some(Vec::new());
    let walker = Walker {
        target,
        root,
        dir,
        last: Last::Name,
        restrict: 0,
        links: 0,
        trail,
    };
    walker.run(path.to_bytes().to_vec())
}

/// Where a relative path starts: at what this number (a descriptor, or `AT_FDCWD`) stands for in the target.
#[derive(Clone, Copy, Debug)]
pub struct Base(pub i32);

impl Base {
    fn open(self, target: &Target) -> Result<Object, Trouble> {
        target.base(self.0)
    }
}

struct Walker<'t> {
    target: &'t Target,
    root: Object,
    dir: Object,
    last: Last,
    restrict: u64,
    links: u32,
    trail: Option<Vec<Object>>,
}

fn fault(error: Errno) -> Trouble {
    Trouble::Fault(error)
}

impl Walker<'_> {
    fn run(mut self, mut rest: Vec<u8>) -> Result<(Spot, Vec<Object>), Trouble> {
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
                b"." if is_last => return self.directory(),
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

    fn directory(self) -> Result<(Spot, Vec<Object>), Trouble> {
        self.need_directory()?;
        Ok((Spot::Held(self.dir), self.trail.unwrap_or_default()))
    }

    fn up(&mut self) -> Result<(), Trouble> {
        self.need_directory()?;
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
            let root = self.root.duplicate().map_err(Trouble::Own)?;
            self.enter(root)?;
        }
        let mut path = content;
        path.append(rest);
        if path.len() > 1 << 16 {
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
        if !self.is_own_proc()? {
            return Err(Trouble::Foreign);
        }
        let how = OpenHow {
            flags: libc::O_PATH as u64,
            ..OpenHow::default()
        };
        let fd = file::open(self.dir.as_fd(), name, how).map_err(fault)?;
        Object::new(fd).map(ProcLink::Object).map_err(Trouble::Own)
    }

    /// Whether the directory that the walk is in belongs to the target's own process.
    fn is_own_proc(&self) -> Result<bool, Trouble> {
        let path = file::path_of(self.dir.as_fd()).map_err(Trouble::Own)?;
        let path = String::from_utf8_lossy(&path).into_owned();
        let tgid = self.target.status()?.tgid;
        let numbers: Vec<i32> = path
            .split('/')
            .filter_map(|part| part.parse().ok())
            .collect();
        Ok(numbers
            .first()
            .is_some_and(|first| *first == tgid || *first == self.target.tid))
    }

    /// Links in a sticky directory that all may write to are followed only for their owner or the directory's
    /// (fs.protected_symlinks, fs/namei.c: may_follow_link).
    fn check_sticky(&self, link: &Object) -> Result<(), Trouble> {
        let shared = libc::S_ISVTX | libc::S_IWOTH;
        if self.dir.stat.mode & shared != shared || link.stat.uid == self.dir.stat.uid {
            return Ok(());
        }
        if link.stat.uid == self.target.status()?.user {
            return Ok(());
        }
        match std::fs::read("/proc/sys/fs/protected_symlinks") {
            Ok(text) if text.starts_with(b"0") => Ok(()),
            _ => Err(fault(Errno::EACCES)),
        }
    }
}

enum ProcLink {
    /// An ordinary link.
    Content(Vec<u8>),
    /// A magic one, and what it leads to.
    Object(Object),
}
