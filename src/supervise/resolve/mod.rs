//! The walk: from a path as the target gave it to held objects, as the kernel would go, without trusting names.
//!
//! Every step opens one component with `O_PATH`, links not followed; symbolic links are expanded here, those of procfs
//! for the *target*. What comes out is held by descriptors, so that nothing found can be swapped afterwards.

#[cfg(any(test, fuzzing))]
pub mod compare;
#[cfg(test)]
mod tests;
mod walker;

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use walker::{Walker, fault};

use super::target::{Target, Trouble};
use crate::sys::file::{
    self, OpenHow, RESOLVE_BENEATH, RESOLVE_CACHED, RESOLVE_IN_ROOT, RESOLVE_NO_MAGICLINKS,
    RESOLVE_NO_SYMLINKS, Stat,
};
use crate::sys::{Errno, process};

/// `f_type` of procfs (linux/magic.h).
pub const PROC_SUPER_MAGIC: i64 = 0x9FA0;

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
    step_by_step(target, base, path, last, restrict)
}

/// One component after the other.
fn step_by_step(
    target: &Target,
    base: Base,
    path: &CStr,
    last: Last,
    restrict: u64,
) -> Result<Spot, Trouble> {
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
        rooted: absolute || restrict & (RESOLVE_BENEATH | RESOLVE_IN_ROOT) != 0,
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
        rooted: absolute,
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
