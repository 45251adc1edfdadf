//! The process that waits for an answer: its memory, descriptors, directories, credentials.

mod kin;
mod status;

use std::cell::{OnceCell, RefCell};
use std::collections::VecDeque;
use std::ffi::{CStr, CString, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::rc::Rc;

pub use status::Status;

use super::calls::Architecture;
use super::resolve::Object;
use crate::sys::file::{self, OpenHow};
use crate::sys::{Errno, descriptor, process};

/// Longest path with its terminating zero (`PATH_MAX`).
const PATH_MAX: usize = 4096;
const PAGE: u64 = 4096;

/// Why an attempt could not be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// The call itself is at fault; the kernel would answer the same.
    #[error("{0}")]
    Fault(Errno),
    /// The process has made itself unreadable (`PR_SET_DUMPABLE`), or runs a program that may not be read.
    #[error("the process may not be looked into")]
    Unreadable,
    /// The way leads through procfs into another process that the target may not look into.
    #[error("the path leads through another process")]
    Foreign,
    /// A descriptor number stands for another object by now.
    #[error("the descriptor was replaced meanwhile")]
    Replaced,
    /// guard itself could not go on.
    #[error("guard could not look: {0}")]
    Own(Errno),
}

impl Trouble {
    /// guard itself has no room left: that is no refusal, and another time it may have.
    #[must_use]
    pub fn exhausted(self) -> Option<Errno> {
        match self {
            Self::Fault(errno) | Self::Own(errno) => {
                matches!(errno, Errno::EMFILE | Errno::ENFILE | Errno::ENOMEM).then_some(errno)
            }
            Self::Unreadable | Self::Foreign | Self::Replaced => None,
        }
    }

    /// A failure of looking into the process itself.
    fn looking(error: Errno) -> Self {
        match error {
            Errno::EPERM | Errno::EACCES | Errno::ENOSYS => Self::Unreadable,
            Errno::EFAULT => Self::Fault(Errno::EFAULT),
            other => Self::Own(other),
        }
    }
}

/// The calling thread. Valid for as long as its notification is.
#[derive(Debug)]
pub struct Target {
    /// Its number in our pid namespace.
    pub tid: i32,
    /// How it passes arguments.
    pub architecture: Architecture,
    proc: RefCell<(Rc<OwnedFd>, Age)>,
    status: OnceCell<Status>,
}

/// Whether a directory of procfs was opened for this very call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Age {
    Fresh,
    Remembered,
}

/// The `/proc/TID` that a receiver used last: most calls come from few threads.
#[derive(Default)]
struct Recent(VecDeque<(i32, Rc<OwnedFd>)>);

const MOST_RECENT: usize = 16;

thread_local! {
    static RECENT: RefCell<Recent> = RefCell::default();
}

impl Recent {
    fn find(&self, tid: i32) -> Option<Rc<OwnedFd>> {
        self.0
            .iter()
            .find(|(known, _)| *known == tid)
            .map(|(_, proc)| Rc::clone(proc))
    }

    fn remember(&mut self, tid: i32, proc: &Rc<OwnedFd>) {
        self.0.retain(|(known, _)| *known != tid);
        self.0.truncate(MOST_RECENT - 1);
        self.0.push_front((tid, Rc::clone(proc)));
    }
}

fn open_proc(tid: i32) -> Result<Rc<OwnedFd>, Trouble> {
    let path = CString::new(format!("/proc/{tid}")).map_err(|_| Trouble::Own(Errno::EINVAL))?;
    let flags = libc::O_PATH | libc::O_DIRECTORY;
    let proc = Rc::new(file::open_absolute(&path, flags).map_err(Trouble::Own)?);
    RECENT.with_borrow_mut(|recent| recent.remember(tid, &proc));
    Ok(proc)
}

impl Target {
    /// Takes hold of `/proc/TID`.
    ///
    /// # Errors
    /// [`Trouble::Own`] when there is no such thread.
    pub fn new(tid: i32, architecture: Architecture) -> Result<Self, Trouble> {
        let (proc, age) = match RECENT.with_borrow(|recent| recent.find(tid)) {
            Some(proc) => (proc, Age::Remembered),
            None => (open_proc(tid)?, Age::Fresh),
        };
        Ok(Self {
            tid,
            architecture,
            proc: RefCell::new((proc, age)),
            status: OnceCell::new(),
        })
    }

    /// Looks at something below `/proc/TID`. A directory that is remembered belongs to the thread that had the number
    /// then: once that is gone nothing can be reached through it, and the number is looked up again.
    fn look<T>(&self, look: impl Fn(BorrowedFd<'_>) -> Result<T, Errno>) -> Result<T, Errno> {
        let (proc, age) = self.proc.borrow().clone();
        match look(proc.as_fd()) {
            Err(Errno::ENOENT | Errno::ESRCH) if age == Age::Remembered => {
                let proc = open_proc(self.tid).map_err(|_| Errno::ESRCH)?;
                self.proc.replace((Rc::clone(&proc), Age::Fresh));
                look(proc.as_fd())
            }
            other => other,
        }
    }

    /// Size of a pointer, `long` and `time_t` of the caller, bytes.
    #[must_use]
    pub fn word(&self) -> usize {
        if self.architecture == Architecture::I386 {
            4
        } else {
            8
        }
    }

    /// A path (or other string below `PATH_MAX`) at `address`.
    ///
    /// # Errors
    /// `EFAULT`, `ENAMETOOLONG`; [`Trouble::Unreadable`].
    pub fn string(&self, address: u64) -> Result<CString, Trouble> {
        let mut text = Vec::new();
        let mut wish = 512;
        while text.len() < PATH_MAX {
            let at = address.wrapping_add(text.len() as u64);
            let length = wish
                .min((PAGE - at % PAGE) as usize)
                .min(PATH_MAX - text.len());
            let chunk = process::read_memory(self.tid, at, length).map_err(Trouble::looking)?;
            if chunk.is_empty() {
                return Err(Trouble::Fault(Errno::EFAULT));
            }
            if let Some(end) = chunk.iter().position(|byte| *byte == 0) {
                text.extend_from_slice(&chunk[..end]);
                return CString::new(text).map_err(|_| Trouble::Own(Errno::EINVAL));
            }
            text.extend_from_slice(&chunk);
            wish = PATH_MAX;
        }
        Err(Trouble::Fault(Errno::ENAMETOOLONG))
    }

    /// Exactly `length` bytes at `address`.
    ///
    /// # Errors
    /// `EFAULT`; [`Trouble::Unreadable`].
    pub fn bytes(&self, address: u64, length: usize) -> Result<Vec<u8>, Trouble> {
        let bytes = process::read_memory(self.tid, address, length).map_err(Trouble::looking)?;
        if bytes.len() == length {
            Ok(bytes)
        } else {
            Err(Trouble::Fault(Errno::EFAULT))
        }
    }

    /// The directory that this descriptor number, or `AT_FDCWD`, stands for as the start of a path.
    ///
    /// # Errors
    /// `EBADF`; [`Trouble::Unreadable`].
    pub fn base(&self, number: i32) -> Result<Object, Trouble> {
        if number == libc::AT_FDCWD {
            self.held(c"cwd")
        } else {
            self.descriptor(number)
        }
    }

    /// What descriptor `number` holds, as `O_PATH`.
    ///
    /// # Errors
    /// `EBADF`; [`Trouble::Unreadable`].
    pub fn descriptor(&self, number: i32) -> Result<Object, Trouble> {
        if number < 0 {
            return Err(Trouble::Fault(Errno::EBADF));
        }
        let name = CString::new(format!("fd/{number}")).map_err(|_| Trouble::Own(Errno::EINVAL))?;
        self.held(&name)
    }

    /// Whether descriptor `number` is open, as far as one can look.
    #[must_use]
    pub fn has_descriptor(&self, number: i32) -> bool {
        let Ok(link) = CString::new(format!("fd/{number}")) else {
            return false;
        };
        self.look(|proc| file::stat_entry(proc, &link)).is_ok()
    }

    /// How many descriptors with a number below `most` are open, as far as one can look.
    #[must_use]
    pub fn descriptors_below(&self, most: u64) -> u64 {
        let how = OpenHow {
            flags: (libc::O_RDONLY | libc::O_DIRECTORY) as u64,
            ..OpenHow::default()
        };
        let listed = self
            .look(|proc| file::open(proc, c"fd", how))
            .and_then(|dir| file::list(dir.as_fd()));
        let numbers = listed.unwrap_or_default().into_iter();
        let below = numbers.filter(|(name, _)| {
            let number = name.to_str().ok().and_then(|name| name.parse().ok());
            number.is_some_and(|number: u64| number < most)
        });
        below.count() as u64
    }

    /// Whether a descriptor was opened with `O_PATH`.
    #[must_use]
    pub fn only_names(&self, number: i32) -> bool {
        let Ok(link) = CString::new(format!("fd/{number}")) else {
            return false;
        };
        // procfs shows the ways in which a descriptor is open as the permissions of its link.
        if self
            .look(|proc| file::stat_entry(proc, &link))
            .is_ok_and(|stat| stat.mode & 0o700 != 0)
        {
            return false;
        }
        let text = std::fs::read_to_string(format!("/proc/{}/fdinfo/{number}", self.tid))
            .unwrap_or_default();
        let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = flags.and_then(|flags| i32::from_str_radix(flags.trim(), 8).ok());
        flags.is_some_and(|flags| flags & libc::O_PATH != 0)
    }

    /// The directory that it takes for `/`.
    ///
    /// # Errors
    /// [`Trouble::Unreadable`].
    pub fn root(&self) -> Result<Object, Trouble> {
        self.held(c"root")
    }

    /// Whether its `/` is ours, as far as its path says; another mount namespace is not told.
    #[must_use]
    pub fn has_our_root(&self) -> bool {
        self.look(|proc| file::read_link(proc, c"root"))
            .is_ok_and(|path| path == b"/")
    }

    /// The directory in which its program was started, as far as its environment says so; absolute.
    #[must_use]
    pub fn start_directory(&self) -> Option<PathBuf> {
        let all = self.look(|proc| file::read_whole(proc, c"environ")).ok()?;
        let value = all
            .split(|byte| *byte == 0)
            .find_map(|line| line.strip_prefix(b"PWD="))?;
        let path = PathBuf::from(OsString::from_vec(value.to_vec()));
        path.is_absolute().then_some(path)
    }

    fn held(&self, name: &CStr) -> Result<Object, Trouble> {
        let how = OpenHow {
            flags: libc::O_PATH as u64,
            ..OpenHow::default()
        };
        match self.look(|proc| file::open(proc, name, how)) {
            Ok(fd) => Object::new(fd).map_err(Trouble::Own),
            Err(Errno::ENOENT) => Err(Trouble::Fault(Errno::EBADF)),
            Err(error) => Err(Trouble::looking(error)),
        }
    }

    /// A duplicate of descriptor `number`, with all that it may do. `like` is what was found under that number: another
    /// thread may have put something else there since.
    ///
    /// # Errors
    /// `EBADF` when it now holds another thing; [`Trouble::Unreadable`].
    pub fn take(&self, number: i32, like: &Object) -> Result<OwnedFd, Trouble> {
        const PIDFD_THREAD: u32 = libc::O_EXCL as u32; // Linux 6.9
        let process = descriptor::open_process(self.tid, PIDFD_THREAD)
            .or_else(|_| descriptor::open_process(self.status()?.tgid, 0).map_err(Trouble::Own))?;
        let fd = match descriptor::take(process.as_fd(), number) {
            Err(Errno::EBADF) => return Err(Trouble::Fault(Errno::EBADF)),
            other => other.map_err(Trouble::looking)?,
        };
        let stat = file::stat(fd.as_fd()).map_err(Trouble::Own)?;
        if (stat.dev, stat.ino) == (like.stat.dev, like.stat.ino) {
            Ok(fd)
        } else {
            Err(Trouble::Replaced)
        }
    }

    /// Its line in the process table, read once: while the thread waits it changes nothing of this itself.
    ///
    /// # Errors
    /// [`Trouble::Own`] when it is gone.
    pub fn status(&self) -> Result<&Status, Trouble> {
        if let Some(status) = self.status.get() {
            return Ok(status);
        }
        let text = self
            .look(|proc| file::read_whole(proc, c"status"))
            .map_err(|_| Trouble::Own(Errno::ESRCH))?;
        let status =
            Status::parse(&String::from_utf8_lossy(&text)).ok_or(Trouble::Own(Errno::EINVAL))?;
        Ok(self.status.get_or_init(|| status))
    }

    /// Whether it lives in our user namespace, so that its capabilities mean what ours do.
    #[must_use]
    pub fn user_namespace(&self) -> UserNamespace {
        let theirs = self.look(|proc| file::read_link(proc, c"ns/user"));
        let ours = std::fs::read_link("/proc/self/ns/user");
        match (theirs, ours) {
            (Ok(theirs), Ok(ours))
                if theirs == std::os::unix::ffi::OsStrExt::as_bytes(ours.as_os_str()) =>
            {
                UserNamespace::Ours
            }
            _ => UserNamespace::Another,
        }
    }

    /// A user id as the target means it, as ours: one that has no meaning in its user namespace is `EINVAL`.
    ///
    /// # Errors
    /// `EINVAL`; [`Trouble::Own`] when the table cannot be read.
    pub fn user(&self, id: u32) -> Result<u32, Trouble> {
        self.outside("uid_map", id)
    }

    /// A group id as the target means it, as ours.
    ///
    /// # Errors
    /// As [`Target::user`].
    pub fn group(&self, id: u32) -> Result<u32, Trouble> {
        self.outside("gid_map", id)
    }

    fn outside(&self, map: &str, id: u32) -> Result<u32, Trouble> {
        let theirs = self.look(|proc| file::read_link(proc, c"ns/user"));
        let ours = std::fs::read_link("/proc/self/ns/user");
        let (Ok(theirs), Ok(ours)) = (theirs, ours) else {
            return Ok(id);
        };
        if id == u32::MAX || theirs == std::os::unix::ffi::OsStrExt::as_bytes(ours.as_os_str()) {
            return Ok(id);
        }
        // Read from another user namespace, the table says what an id is in the reader's (user_namespaces(7)).
        let text = std::fs::read_to_string(format!("/proc/{}/{map}", self.tid))
            .map_err(|_| Trouble::Own(Errno::ESRCH))?;
        outside(&text, id).ok_or(Trouble::Fault(Errno::EINVAL))
    }
}

/// Where a process's capabilities hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserNamespace {
    /// In ours.
    Ours,
    /// In one below ours (or that cannot be told).
    Another,
}

/// Looks `id` up in a table with lines of first id inside, first id outside, count.
fn outside(map: &str, id: u32) -> Option<u32> {
    map.lines().find_map(|line| {
        let mut fields = line.split_whitespace().map(str::parse::<u32>);
        let (inside, outside, count) = (
            fields.next()?.ok()?,
            fields.next()?.ok()?,
            fields.next()?.ok()?,
        );
        let offset = id.checked_sub(inside).filter(|offset| *offset < count)?;
        outside.checked_add(offset)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_a_user_namespace() {
        let map = "         0       1000          1\n         1     100000      65536\n";
        assert_eq!(outside(map, 0), Some(1000));
        assert_eq!(outside(map, 1), Some(100_000));
        assert_eq!(outside(map, 65_536), Some(165_535));
        assert_eq!(outside(map, 65_537), None);
        assert_eq!(outside("", 0), None);
    }
}
