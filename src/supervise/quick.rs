//! The short way for the commonest case: a call on an entry of a directory that the wall grants.
//!
//! It only ever ends in letting the kernel go on, which grants nothing, so it may look carelessly: what it takes for a
//! granted directory and is none, the wall refuses. Everything else takes the long way.

use std::ffi::{CString, OsStr};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::attempt::NAMELESS;
use super::calls::{Call, Dir, Kind};
use super::resolve::Object;
use super::target::Target;
use super::territory::{Names, Territory, Wall, is_kernel_helper};
use crate::sys::file::{self, OpenHow, RESOLVE_NO_MAGICLINKS};

/// Whether the last component is followed if it is a link.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Follow,
    Name,
}

/// Whether the kernel may go on at once.
#[must_use]
pub fn is_granted(
    territory: &Territory,
    target: &Target,
    call: &Call,
    arguments: &[u64; 6],
) -> bool {
    let check = |dir, path, last| entry_is_granted(territory, target, arguments, dir, path, last);
    match call.kind {
        Kind::Open(dir, path, flags, _) => {
            // What is opened is looked at whatever the flags say: `O_NOFOLLOW` does not make an old hard link harmless.
            arguments[flags as usize] & NAMELESS == 0 && check(dir, path, Last::Follow)
        }
        Kind::Creat | Kind::Truncate => check(Dir::Cwd, 0, Last::Follow),
        Kind::Unlink(dir, path) | Kind::Mkdir(dir, path, _) | Kind::Symlink(dir, path) => {
            check(dir, path, Last::Name)
        }
        Kind::Unlinkat => check(Dir::Arg(0), 1, Last::Name),
        Kind::Rmdir => check(Dir::Cwd, 0, Last::Name),
        Kind::Rename(from_dir, from, to_dir, to, _) => {
            check(from_dir, from, Last::Name) && check(to_dir, to, Last::Name)
        }
        _ => false,
    }
}

fn entry_is_granted(
    territory: &Territory,
    target: &Target,
    arguments: &[u64; 6],
    dir: Dir,
    path: u8,
    last: Last,
) -> bool {
    let Ok(text) = target.string(arguments[path as usize]) else {
        return false;
    };
    let text = text.to_bytes();
    let (parent, name) = match text.iter().rposition(|byte| *byte == b'/') {
        None => (&b""[..], text),
        Some(0) => (&b"/"[..], &text[1..]),
        Some(slash) => (&text[..slash], &text[slash + 1..]),
    };
    if matches!(name, b"" | b"." | b"..") {
        return false;
    }
    let Some(directory) = directory(target, arguments, dir, parent) else {
        return false;
    };
    let Ok(standing) = territory.standing(&directory) else {
        return false;
    };
    if standing.wall != Wall::Grants || standing.names != Names::Common {
        return false;
    }
    if last == Last::Name {
        return true;
    }
    let Ok(name) = CString::new(name) else {
        return false;
    };
    // Of the kernel's own file systems, procfs has been left to the long way.
    let of_the_kernel = |dir: &PathBuf| {
        dir.starts_with("/sys") && is_kernel_helper(&dir.join(OsStr::from_bytes(name.to_bytes())))
    };
    if standing.path.as_ref().is_some_and(of_the_kernel) {
        return false;
    }
    match file::stat_entry(directory.as_fd(), &name) {
        // A link leads elsewhere, and another name may lie below a protected place.
        Ok(stat) => stat.kind() != libc::S_IFLNK && !file::is_raw_device(&stat) && stat.nlink < 2,
        Err(error) => error == crate::sys::Errno::ENOENT,
    }
}

fn directory(target: &Target, arguments: &[u64; 6], dir: Dir, parent: &[u8]) -> Option<Object> {
    let how = OpenHow {
        flags: (libc::O_PATH | libc::O_DIRECTORY) as u64,
        mode: 0,
        resolve: RESOLVE_NO_MAGICLINKS,
    };
    if parent.first() == Some(&b'/') {
        if !target.has_our_root() {
            return None;
        }
        let path = CString::new(parent).ok()?;
        return Object::new(file::open_here(&path, how).ok()?).ok();
    }
    let number = match dir {
        Dir::Cwd => libc::AT_FDCWD,
        Dir::Arg(index) => arguments[index as usize] as i32,
    };
    let base = target.base(number).ok()?;
    if parent.is_empty() {
        return Some(base);
    }
    let path = CString::new(parent).ok()?;
    Object::new(file::open(base.fd.as_fd(), &path, how).ok()?).ok()
}
