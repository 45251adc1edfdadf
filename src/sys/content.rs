//! What a file holds: its length, and the room that it takes.

use std::os::fd::BorrowedFd;

use super::file::magic_path;
use super::{Errno, check};

/// truncate(2) of exactly what a descriptor holds, through procfs.
///
/// # Errors
/// As truncate(2).
pub fn truncate_held(object: BorrowedFd<'_>, length: i64) -> Result<(), Errno> {
    let path = magic_path(object);
    // SAFETY: the path is terminated.
    check(libc::c_long::from(unsafe {
        libc::truncate(path.as_ptr(), length)
    }))
    .map(drop)
}

/// ftruncate(2).
///
/// # Errors
/// As ftruncate(2).
pub fn truncate(file: BorrowedFd<'_>, length: i64) -> Result<(), Errno> {
    nix::unistd::ftruncate(file, length)
}

/// fallocate(2), its mode as the target gave it.
///
/// # Errors
/// As fallocate(2).
pub fn allocate(file: BorrowedFd<'_>, mode: i32, offset: i64, length: i64) -> Result<(), Errno> {
    let mode = nix::fcntl::FallocateFlags::from_bits_retain(mode);
    nix::fcntl::fallocate(file, mode, offset, length)
}
