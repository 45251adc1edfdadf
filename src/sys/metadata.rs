//! Mode, owner, times, extended attributes and inode flags of exactly what a descriptor holds.
//!
//! The descriptors are `O_PATH`, for which fchmod(2) and its like answer `EBADF`; the magic link of procfs leads to the
//! very object, and where a symbolic link itself is meant, `AT_EMPTY_PATH` does.

use std::ffi::CStr;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::file::magic_path;
use super::{Errno, check};

/// chmod(2). On a symbolic link: `EOPNOTSUPP`, as fchmodat2(2) answers.
///
/// # Errors
/// As chmod(2).
pub fn set_mode(object: BorrowedFd<'_>, mode: u32) -> Result<(), Errno> {
    let path = magic_path(object);
    // SAFETY: the path is terminated.
    check(libc::c_long::from(unsafe {
        libc::chmod(path.as_ptr(), mode)
    }))
    .map(drop)
}

/// fchownat(2) with `AT_EMPTY_PATH`; `u32::MAX` leaves an id as it is.
///
/// # Errors
/// As fchownat(2).
pub fn set_owner(object: BorrowedFd<'_>, user: u32, group: u32) -> Result<(), Errno> {
    // SAFETY: the path is a terminated literal.
    check(libc::c_long::from(unsafe {
        libc::fchownat(
            object.as_raw_fd(),
            c"".as_ptr(),
            user,
            group,
            libc::AT_EMPTY_PATH,
        )
    }))
    .map(drop)
}

/// A time for [`set_times`]: seconds, and nanoseconds or `UTIME_NOW` or `UTIME_OMIT`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time {
    /// Seconds since the epoch.
    pub seconds: i64,
    /// Nanoseconds, or a `UTIME_` word.
    pub nanoseconds: i64,
}

/// utimensat(2) with `AT_EMPTY_PATH`: access and modification time; none means now.
///
/// # Errors
/// As utimensat(2).
pub fn set_times(object: BorrowedFd<'_>, times: Option<[Time; 2]>) -> Result<(), Errno> {
    let pointer = times
        .as_ref()
        .map_or(std::ptr::null(), |pair| pair.as_ptr());
    // SAFETY: the path is a terminated literal; `pointer` is null or leads to two timespecs of the 64-bit layout.
    check(unsafe {
        libc::syscall(
            libc::SYS_utimensat,
            object.as_raw_fd(),
            c"".as_ptr(),
            pointer,
            libc::AT_EMPTY_PATH,
        )
    })
    .map(drop)
}

/// setxattr(2) on what the descriptor holds, a symbolic link itself included.
///
/// # Errors
/// As setxattr(2).
pub fn set_attribute(
    object: BorrowedFd<'_>,
    name: &CStr,
    value: &[u8],
    flags: i32,
) -> Result<(), Errno> {
    let path = magic_path(object);
    // SAFETY: path and name are terminated; the kernel reads as many bytes of the value as it has.
    check(libc::c_long::from(unsafe {
        libc::setxattr(
            path.as_ptr(),
            name.as_ptr(),
            value.as_ptr().cast(),
            value.len(),
            flags,
        )
    }))
    .map(drop)
}

/// removexattr(2) on what the descriptor holds.
///
/// # Errors
/// As removexattr(2).
pub fn remove_attribute(object: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
    let path = magic_path(object);
    // SAFETY: path and name are terminated.
    check(libc::c_long::from(unsafe {
        libc::removexattr(path.as_ptr(), name.as_ptr())
    }))
    .map(drop)
}

/// Whether what the descriptor holds lies in a mount where executing gives no rights (`nosuid`), as far as that can be seen.
#[must_use]
pub fn is_nosuid(object: BorrowedFd<'_>) -> bool {
    use nix::sys::statvfs::{FsFlags, fstatvfs};
    fstatvfs(object).is_ok_and(|it| it.flags().contains(FsFlags::ST_NOSUID))
}

/// file_setattr(2) (Linux 6.17) with the structure as the target gave it.
///
/// # Errors
/// As file_setattr(2); `ENOSYS` before 6.17.
pub fn set_file_attributes(object: BorrowedFd<'_>, attributes: &[u8]) -> Result<(), Errno> {
    const FILE_SETATTR: libc::c_long = 469;
    // SAFETY: the path is a terminated literal; the kernel reads as many bytes as the slice has.
    check(unsafe {
        libc::syscall(
            FILE_SETATTR,
            object.as_raw_fd(),
            c"".as_ptr(),
            attributes.as_ptr(),
            attributes.len(),
            libc::AT_EMPTY_PATH,
        )
    })
    .map(drop)
}

/// ioctl(2) with a structure that the kernel reads and may write: inode flags, subvolumes.
///
/// # Errors
/// As ioctl(2) for that request.
pub fn control(object: BorrowedFd<'_>, request: u32, argument: &mut [u8]) -> Result<i64, Errno> {
    // SAFETY: the requests that guard performs read or write a structure of at most the size that the request's own
    // number encodes; the caller passes a buffer of at least that size.
    check(unsafe {
        libc::syscall(
            libc::SYS_ioctl,
            object.as_raw_fd(),
            request,
            argument.as_mut_ptr(),
        )
    })
}

/// ioctl(2) with nothing behind it, for a request that reads a structure before all else: whether it is known here.
///
/// # Errors
/// `EFAULT` where it is; `ENOTTY` or `EOPNOTSUPP` where it is not.
pub fn control_nothing(object: BorrowedFd<'_>, request: u32) -> Result<(), Errno> {
    // SAFETY: the kernel reads through a null pointer, which fails with EFAULT, and touches no memory of this process.
    check(unsafe {
        libc::syscall(
            libc::SYS_ioctl,
            object.as_raw_fd(),
            request,
            std::ptr::null_mut::<u8>(),
        )
    })
    .map(drop)
}
