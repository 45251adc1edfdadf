//! The walk beside the kernel's own: the same path in a tree full of links, and where each of the two comes out. For the
//! tests and the fuzzing target; the process walks for itself, so the kernel means the same by every path.

use std::ffi::{CStr, CString, OsStr};
use std::fs;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};

use super::{
    Base, Entry, Last, Object, Spot, Target, Trouble, step_by_step, walk, walk_with_trail,
};
use crate::supervise::calls::Architecture;
use crate::sys::Errno;
use crate::sys::file::{
    self, OpenHow, RESOLVE_BENEATH, RESOLVE_CACHED, RESOLVE_IN_ROOT, RESOLVE_NO_XDEV,
};

/// A tree to walk in, below a directory that is there and empty.
pub struct Maze {
    top: PathBuf,
    base: OwnedFd,
    target: Target,
}

/// As which we run ourselves.
pub(super) const NATIVE: Architecture = if cfg!(target_arch = "aarch64") {
    Architecture::Aarch64
} else {
    Architecture::X86_64
};

/// What paths are made of. Each byte of a random input picks one.
const WORDS: &[&str] = &[
    "a", "b", "f", "up", "self", "la", "lab", "abs", "dangling", "loop1", "loop2", "chain39",
    "chain40", "chain41", "slash", "fslash", "x", "y", "proc", "fdlink", "cwdlink", "sticky",
    "alien", "fifo", "deep", "f2", "out", "mine",
];

/// All ways through a path lead to the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Shortest,
    StepByStep,
    /// To names only, and without restrictions.
    WithTrail,
}

impl Maze {
    /// Makes the tree.
    ///
    /// # Errors
    /// When an entry cannot be made.
    pub fn new(top: &Path) -> std::io::Result<Self> {
        let top = top.canonicalize()?;
        let at = |name: &str| top.join(name);
        for dir in ["a/b/a/b", "sticky", "deep/a/b", "closed/a"] {
            fs::create_dir_all(at(dir))?;
        }
        for file in ["f", "a/f", "a/b/f", "f2", "deep/f"] {
            fs::write(at(file), "")?;
        }
        let absolute = at("a");
        let own = format!("/proc/self/fd/{}", 0);
        for (dir, links) in [
            ("", &["a/b/f", "deep/a", "up"][..]),
            ("a", &["b/f", "../deep/a", ".."]),
            ("a/b", &["f", "../../deep/a", "../.."]),
            ("deep", &["a/b", "../a", ".."]),
        ] {
            let here = |name: &str| top.join(dir).join(name);
            for (name, to) in [("lab", links[0]), ("la", links[1]), ("up", "..")] {
                symlink(to, here(name))?;
            }
            for (name, to) in [
                ("self", "."),
                ("dangling", "x/y"),
                ("out", "x"),
                ("loop1", "loop2"),
                ("loop2", "loop1"),
                ("slash", "a/"),
                ("fslash", "f/"),
                ("proc", "/proc/self"),
                ("fdlink", &own),
                ("cwdlink", "/proc/self/cwd"),
                ("mine", "/proc/thread-self/root"),
            ] {
                symlink(to, here(name))?;
            }
            symlink(&absolute, here("abs"))?;
            symlink("a", here("chain0"))?;
            for n in 1..=41 {
                symlink(format!("chain{}", n - 1), here(&format!("chain{n}")))?;
            }
        }
        let folder = fs::File::open(at("a"))?;
        file::make_node(folder.as_fd(), c"fifo", libc::S_IFIFO | 0o600, 0)?;
        // Links of others in a folder that all share, for root; for others they are their own.
        fs::set_permissions(at("sticky"), PermissionsExt::from_mode(0o1777))?;
        symlink("../a", at("sticky/la"))?;
        symlink("../a", at("sticky/alien"))?;
        let _ = lchown(at("sticky/alien"), Some(65_534), Some(65_534));
        let base = file::open_absolute(
            &string(top.as_os_str().as_bytes()),
            libc::O_PATH | libc::O_DIRECTORY,
        )?;
        let thread = fs::read_link("/proc/thread-self")?;
        let tid = thread
            .file_name()
            .and_then(OsStr::to_str)
            .and_then(|name| name.parse().ok());
        let target = Target::new(tid.unwrap_or_default(), NATIVE).map_err(std::io::Error::other)?;
        Ok(Self { top, base, target })
    }

    /// A path out of random bytes: words, dots, slashes, now and then something odd.
    #[must_use]
    pub fn path(&self, bytes: &[u8]) -> CString {
        let mut path = Vec::new();
        for (index, byte) in bytes.iter().enumerate() {
            match byte % 64 {
                word if usize::from(word) < WORDS.len() => {
                    path.extend(WORDS[usize::from(word)].as_bytes())
                }
                30..34 => path.extend(b".."),
                34..37 => path.push(b'.'),
                37 => path.extend(vec![b'n'; 255]),
                38 => path.extend(vec![b'n'; 256]),
                39 if index == 0 => path.extend(self.top.as_os_str().as_bytes()),
                40 if index == 0 => path.extend(b"/proc/self/cwd"),
                41 if index == 0 => {
                    path.extend(format!("/proc/self/fd/{}", self.base.as_raw_fd()).bytes())
                }
                42 if index == 0 => path.extend(b"/proc/thread-self/root"),
                43 => path.extend(b"\xff\n"),
                44 | 45 => path.push(b'/'),
                _ => path.extend(b"a"),
            }
            if index + 1 < bytes.len() || byte % 5 == 0 {
                path.push(b'/');
            }
        }
        string(&path)
    }

    /// Walks `path` in both ways and asks the kernel.
    ///
    /// # Errors
    /// What the two disagree on, in words.
    pub fn agree(&self, path: &CStr, last: Last, restrict: u64) -> Result<(), String> {
        let mut restrict = restrict & !RESOLVE_CACHED;
        if restrict & RESOLVE_BENEATH != 0 {
            restrict &= !RESOLVE_IN_ROOT; // together they are EINVAL, before any walk
        }
        // Where a `..` leads out, the kernel begins anew, and counts the links that it has followed twice.
        if path.to_bytes().starts_with(b"chain")
            || path.to_bytes().windows(6).any(|part| part == b"/chain")
        {
            restrict &= !RESOLVE_BENEATH;
        }
        // Only openat2(2) restricts a walk, and it means no name.
        if last == Last::Name {
            restrict &= !RESOLVE_NO_XDEV;
        }
        for way in [Way::Shortest, Way::StepByStep, Way::WithTrail] {
            let base = Base(self.base.as_raw_fd());
            let got = match way {
                Way::WithTrail if last != Last::Name || restrict != 0 => continue,
                Way::WithTrail => match walk_with_trail(&self.target, base, path) {
                    Ok((spot, trail)) => {
                        self.check_trail(path, &spot, &trail)?;
                        Ok(spot)
                    }
                    Err(trouble) => Err(trouble),
                },
                Way::StepByStep if !path.is_empty() => {
                    step_by_step(&self.target, base, path, last, restrict)
                }
                Way::Shortest | Way::StepByStep => walk(&self.target, base, path, last, restrict),
            };
            self.check(path, last, restrict, got)
                .map_err(|problem| format!("{path:?} {last:?} {restrict:#x} {way:?}: {problem}"))?;
        }
        Ok(())
    }

    fn kernel(&self, path: &CStr, flags: i32, resolve: u64) -> Result<Object, Errno> {
        let how = OpenHow {
            flags: (libc::O_PATH | flags) as u64,
            mode: 0,
            resolve,
        };
        loop {
            match file::open(self.base.as_fd(), path, how) {
                // Someone renames somewhere on the machine while a `..` of a scoped walk is looked at (openat2(2)).
                Err(Errno::EAGAIN) => {}
                other => return other.and_then(Object::new),
            }
        }
    }

    fn check(
        &self,
        path: &CStr,
        last: Last,
        restrict: u64,
        got: Result<Spot, Trouble>,
    ) -> Result<(), String> {
        if last == Last::Name {
            return self.check_name(path, restrict, got);
        }
        let flags = if last == Last::Keep {
            libc::O_NOFOLLOW
        } else {
            0
        };
        match (self.kernel(path, flags, restrict), got) {
            (Ok(theirs), Ok(ours)) => match ours.object() {
                Some(object) if object.is(&theirs) => Ok(()),
                other => Err(format!("found {other:?}, the kernel {theirs:?}")),
            },
            (Err(Errno::ENOENT), Ok(Spot::Entry(entry))) if entry.object.is_none() => {
                self.check_missing(path, restrict, &entry)
            }
            (Err(theirs), Err(Trouble::Fault(ours))) if theirs == ours => Ok(()),
            (theirs, ours) => Err(format!("{ours:?}, the kernel {theirs:?}")),
        }
    }

    /// The way begins where the path does, and ends in the folder of the name.
    fn check_trail(&self, path: &CStr, spot: &Spot, trail: &[Object]) -> Result<(), String> {
        let start = if path.to_bytes().starts_with(b"/") {
            c"/"
        } else {
            c"."
        };
        let start = self
            .kernel(start, 0, 0)
            .map_err(|error| error.to_string())?;
        let end = match spot {
            Spot::Entry(entry) => &entry.dir,
            Spot::Held(object) => object,
        };
        let begins = trail.first().is_some_and(|first| first.is(&start));
        let ends = trail.last().is_some_and(|last| last.is(end));
        let is_held = matches!(spot, Spot::Held(_));
        (begins && (ends || is_held))
            .then_some(())
            .ok_or_else(|| format!("{path:?}: the way to {end:?} is {trail:?}"))
    }

    /// Where something would be made: in the same folder, under the same name.
    fn check_missing(&self, path: &CStr, restrict: u64, entry: &Entry) -> Result<(), String> {
        let dir = file::path_of(entry.dir.as_fd()).map_err(|error| error.to_string())?;
        let dir = Path::new(OsStr::from_bytes(&dir));
        // Nothing is made outside of the tree: it is not ours, and an ordinary user may not.
        if restrict != 0 || !dir.starts_with(&self.top) || path.to_bytes().ends_with(b"/") {
            return Ok(());
        }
        let how = OpenHow {
            flags: (libc::O_CREAT | libc::O_WRONLY) as u64,
            mode: 0o600,
            resolve: 0,
        };
        let made = match file::open(self.base.as_fd(), path, how) {
            Ok(made) => made,
            // The content of a link may end in a slash, which the walk leaves to the call itself.
            Err(Errno::EISDIR | Errno::ENOENT) if entry.asked.to_bytes().ends_with(b"/") => {
                return Ok(());
            }
            Err(error) => return Err(format!("{entry:?} could be made, the kernel says {error}")),
        };
        let real = file::path_of(made.as_fd()).map_err(|error| error.to_string())?;
        let real = Path::new(OsStr::from_bytes(&real)).to_path_buf();
        let _ = fs::remove_file(&real);
        let ours = dir.join(OsStr::from_bytes(entry.name.to_bytes()));
        (ours == real)
            .then_some(())
            .ok_or_else(|| format!("{ours:?} would be made, the kernel made {real:?}"))
    }

    /// The folder is where the kernel goes for all but the last component, and the name is the last component.
    fn check_name(
        &self,
        path: &CStr,
        restrict: u64,
        got: Result<Spot, Trouble>,
    ) -> Result<(), String> {
        let bytes = path.to_bytes();
        let end = bytes
            .iter()
            .rposition(|byte| *byte != b'/')
            .map_or(0, |at| at + 1);
        let start = bytes[..end]
            .iter()
            .rposition(|byte| *byte == b'/')
            .map_or(0, |at| at + 1);
        let name = &bytes[start..end];
        if matches!(name, b"" | b"." | b"..") {
            return match (self.kernel(path, 0, restrict), got) {
                (Ok(theirs), Ok(Spot::Held(ours))) if ours.is(&theirs) => Ok(()),
                (Err(theirs), Err(Trouble::Fault(ours))) if theirs == ours => Ok(()),
                (theirs, ours) => Err(format!("{ours:?}, the kernel {theirs:?}")),
            };
        }
        let parent = if start == 0 {
            c".".to_owned()
        } else {
            string(&bytes[..start])
        };
        let dir = match self.kernel(&parent, libc::O_DIRECTORY, restrict) {
            Ok(dir) => dir,
            Err(theirs) => {
                return match got {
                    Err(Trouble::Fault(ours)) if theirs == ours => Ok(()),
                    ours => Err(format!("{ours:?}, the kernel {theirs} for the folder")),
                };
            }
        };
        let how = OpenHow {
            flags: (libc::O_PATH | libc::O_NOFOLLOW) as u64,
            ..OpenHow::default()
        };
        let there = file::open(dir.as_fd(), &string(name), how).and_then(Object::new);
        match (there, got) {
            // Where nothing is, there is still a place.
            (Err(theirs), Err(Trouble::Fault(ours)))
                if theirs == ours && theirs != Errno::ENOENT =>
            {
                Ok(())
            }
            (there, Ok(Spot::Entry(entry)))
                if entry.dir.is(&dir)
                    && entry.name.to_bytes() == name
                    && is_asked_as_spelled(&entry, bytes.len() > end) =>
            {
                match (there, entry.object) {
                    (Ok(theirs), Some(ours)) if theirs.is(&ours) => Ok(()),
                    (Err(Errno::ENOENT), None) => Ok(()),
                    (theirs, ours) => Err(format!("{ours:?}, the kernel {theirs:?}")),
                }
            }
            (there, got) => Err(format!("{got:?}, the kernel {there:?} in {dir:?}")),
        }
    }
}

/// The name as the call has to get it is the name, with a slash behind it where the path has some.
fn is_asked_as_spelled(entry: &Entry, slash: bool) -> bool {
    let asked = entry.asked.to_bytes();
    asked.strip_suffix(b"/").unwrap_or(asked) == entry.name.to_bytes()
        && asked.ends_with(b"/") == slash
}

fn string(bytes: &[u8]) -> CString {
    CString::new(bytes).unwrap_or_default()
}
