//! Limits of other processes, and the signal for who goes past one.

use std::os::fd::BorrowedFd;

use super::{Errno, check};

/// A limit of setrlimit(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// `RLIMIT_NOFILE`: one more than the highest descriptor.
    Descriptors,
    /// `RLIMIT_FSIZE`: bytes in a file.
    FileSize,
}

impl Limit {
    fn number(self) -> libc::__rlimit_resource_t {
        match self {
            Self::Descriptors => libc::RLIMIT_NOFILE,
            Self::FileSize => libc::RLIMIT_FSIZE,
        }
    }
}

/// The soft limit of the process that `tid` belongs to; `u64::MAX` is none (prlimit(2)).
///
/// # Errors
/// As prlimit(2): `EPERM` where it belongs to another user.
pub fn soft(tid: i32, limit: Limit) -> Result<u64, Errno> {
    let mut found = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: nothing is set, and `found` is live and of the type that the kernel fills.
    check(libc::c_long::from(unsafe {
        libc::prlimit(tid, limit.number(), std::ptr::null(), &raw mut found)
    }))?;
    Ok(found.rlim_cur)
}

/// Raises this process's soft limit to the hard one; tells it.
///
/// # Errors
/// As setrlimit(2).
pub fn raise(limit: Limit) -> Result<u64, Errno> {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let resource = match limit {
        Limit::Descriptors => Resource::RLIMIT_NOFILE,
        Limit::FileSize => Resource::RLIMIT_FSIZE,
    };
    let (_, hard) = getrlimit(resource)?;
    setrlimit(resource, hard, hard)?;
    Ok(hard)
}

/// Bytes in the file that a descriptor holds.
///
/// # Errors
/// As fstat(2).
pub fn size(fd: BorrowedFd<'_>) -> Result<u64, Errno> {
    Ok(nix::sys::stat::fstat(fd)?.st_size as u64)
}

/// Sends `SIGXFSZ` to one thread, as the kernel does when it wants a file to be too large.
///
/// # Errors
/// As tgkill(2).
pub fn signal_too_large(process: i32, thread: i32) -> Result<(), Errno> {
    // SAFETY: no pointers.
    check(unsafe { libc::syscall(libc::SYS_tgkill, process, thread, libc::SIGXFSZ) }).map(drop)
}
