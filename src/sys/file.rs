//! Opening, looking at and changing entries, always relative to a held directory.

use std::ffi::{CStr, CString};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use super::{Errno, check};

/// Resolve restrictions for [`open`]; values of linux/openat2.h.
pub const RESOLVE_NO_XDEV: u64 = 0x01;
/// No magic links of procfs.
pub const RESOLVE_NO_MAGICLINKS: u64 = 0x02;
/// No symbolic links at all.
pub const RESOLVE_NO_SYMLINKS: u64 = 0x04;
/// Stay below the starting directory.
pub const RESOLVE_BENEATH: u64 = 0x08;
/// Treat the starting directory as root.
pub const RESOLVE_IN_ROOT: u64 = 0x10;
/// Only what the dentry cache holds.
pub const RESOLVE_CACHED: u64 = 0x20;
/// All of them.
pub const RESOLVE_KNOWN: u64 = 0x3F;

/// `struct open_how` of linux/openat2.h.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenHow {
    /// `O_*`.
    pub flags: u64,
    /// Permission bits for a new file.
    pub mode: u64,
    /// `RESOLVE_*`.
    pub resolve: u64,
}

/// openat2(2). The descriptor is close-on-exec whatever `how` says.
///
/// # Errors
/// As openat2(2).
pub fn open(dir: BorrowedFd<'_>, name: &CStr, how: OpenHow) -> Result<OwnedFd, Errno> {
    open_raw(dir.as_raw_fd(), name, how)
}

/// openat2(2) for an absolute path.
///
/// # Errors
/// As openat2(2).
pub fn open_absolute(path: &CStr, flags: i32) -> Result<OwnedFd, Errno> {
    open_raw(
        libc::AT_FDCWD,
        path,
        OpenHow {
            flags: flags as u64,
            mode: 0,
            resolve: 0,
        },
    )
}

/// openat2(2) from the calling thread's working directory.
///
/// # Errors
/// As openat2(2).
pub fn open_here(path: &CStr, how: OpenHow) -> Result<OwnedFd, Errno> {
    open_raw(libc::AT_FDCWD, path, how)
}

fn open_raw(dir: RawFd, name: &CStr, mut how: OpenHow) -> Result<OwnedFd, Errno> {
    how.flags |= libc::O_CLOEXEC as u64;
    // SAFETY: `name` is a terminated string and `how` a live open_how of the size given; the kernel only reads them.
    let fd = check(unsafe {
        libc::syscall(
            libc::SYS_openat2,
            dir,
            name.as_ptr(),
            &raw const how,
            size_of::<OpenHow>(),
        )
    })?;
    // SAFETY: the kernel has just made this descriptor for us and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// What statx(2) says, as far as guard asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// Device, in the encoding of stat(2).
    pub dev: u64,
    /// Inode number.
    pub ino: u64,
    /// Birth time in nanoseconds since the epoch; 0 where the file system keeps none.
    pub birth: i64,
    /// Type and permission bits.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Number of names.
    pub nlink: u32,
    /// Mount id.
    pub mount: u64,
    /// Device number, if it is a device.
    pub rdev: u64,
}

impl Stat {
    /// The type bits: `S_IFREG`, ...
    #[must_use]
    pub fn kind(&self) -> u32 {
        self.mode & libc::S_IFMT
    }
}

/// Whether writing to a device reaches memory or disks past every file system (Documentation/admin-guide/devices.txt).
#[must_use]
pub fn is_raw_device(stat: &Stat) -> bool {
    const MEMORY: u32 = 1;
    const SCSI_GENERIC: u32 = 21;
    let (major, minor) = (libc::major(stat.rdev), libc::minor(stat.rdev));
    match stat.kind() {
        libc::S_IFBLK => true,
        libc::S_IFCHR => major == SCSI_GENERIC || major == MEMORY && matches!(minor, 1 | 2 | 4),
        _ => false,
    }
}

fn statx(dir: RawFd, name: &CStr, flags: i32) -> Result<Stat, Errno> {
    // SAFETY: statx is plain data; all zeroes is a value of it.
    let mut buffer: libc::statx = unsafe { std::mem::zeroed() };
    let mask = libc::STATX_BASIC_STATS | libc::STATX_BTIME | libc::STATX_MNT_ID;
    // SAFETY: `name` is terminated, `buffer` is live and of the type that the kernel fills.
    check(libc::c_long::from(unsafe {
        libc::statx(
            dir,
            name.as_ptr(),
            flags | libc::AT_NO_AUTOMOUNT,
            mask,
            &raw mut buffer,
        )
    }))?;
    let birth = if buffer.stx_mask & libc::STATX_BTIME == 0 {
        0
    } else {
        buffer.stx_btime.tv_sec * 1_000_000_000 + i64::from(buffer.stx_btime.tv_nsec)
    };
    Ok(Stat {
        dev: libc::makedev(buffer.stx_dev_major, buffer.stx_dev_minor),
        ino: buffer.stx_ino,
        birth,
        mode: u32::from(buffer.stx_mode),
        uid: buffer.stx_uid,
        gid: buffer.stx_gid,
        nlink: buffer.stx_nlink,
        mount: buffer.stx_mnt_id,
        rdev: libc::makedev(buffer.stx_rdev_major, buffer.stx_rdev_minor),
    })
}

/// statx(2) of what a descriptor holds; works for `O_PATH`.
///
/// # Errors
/// As statx(2).
pub fn stat(fd: BorrowedFd<'_>) -> Result<Stat, Errno> {
    statx(fd.as_raw_fd(), c"", libc::AT_EMPTY_PATH)
}

/// The same without asking a file system that may never answer: network file systems and FUSE tell what they last knew.
///
/// # Errors
/// As statx(2).
pub fn stat_at_once(fd: BorrowedFd<'_>) -> Result<Stat, Errno> {
    statx(
        fd.as_raw_fd(),
        c"",
        libc::AT_EMPTY_PATH | libc::AT_STATX_DONT_SYNC,
    )
}

/// statx(2) of an entry, a final symbolic link not followed.
///
/// # Errors
/// As statx(2).
pub fn stat_entry(dir: BorrowedFd<'_>, name: &CStr) -> Result<Stat, Errno> {
    statx(dir.as_raw_fd(), name, libc::AT_SYMLINK_NOFOLLOW)
}

/// The magic number of the file system that holds `fd` (statfs(2)).
///
/// # Errors
/// As fstatfs(2).
pub fn file_system(fd: BorrowedFd<'_>) -> Result<i64, Errno> {
    // SAFETY: statfs is plain data; all zeroes is a value of it.
    let mut buffer: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: `buffer` is live and of the type that the kernel fills.
    check(libc::c_long::from(unsafe {
        libc::fstatfs(fd.as_raw_fd(), &raw mut buffer)
    }))?;
    Ok(buffer.f_type as i64)
}

/// readlinkat(2); with an empty name, of the link that `dir` itself holds.
///
/// # Errors
/// As readlinkat(2); `ENAMETOOLONG` past 4096 bytes.
pub fn read_link(dir: BorrowedFd<'_>, name: &CStr) -> Result<Vec<u8>, Errno> {
    read_link_raw(dir.as_raw_fd(), name)
}

fn read_link_raw(dir: RawFd, name: &CStr) -> Result<Vec<u8>, Errno> {
    let mut buffer = vec![0_u8; 4097];
    // SAFETY: `name` is terminated; the kernel writes at most the length given into the live buffer.
    let length = check(unsafe {
        libc::readlinkat(dir, name.as_ptr(), buffer.as_mut_ptr().cast(), buffer.len())
            as libc::c_long
    })?;
    if length as usize == buffer.len() {
        return Err(Errno::ENAMETOOLONG);
    }
    buffer.truncate(length as usize);
    Ok(buffer)
}

/// `/proc/self/fd/N` for a descriptor of this process: a path that leads to exactly what it holds.
#[must_use]
pub fn magic_path(fd: BorrowedFd<'_>) -> CString {
    CString::new(format!("/proc/self/fd/{}", fd.as_raw_fd())).unwrap_or_default()
}

/// The path by which the kernel now knows what `fd` holds.
///
/// # Errors
/// As readlink(2).
pub fn path_of(fd: BorrowedFd<'_>) -> Result<Vec<u8>, Errno> {
    read_link_raw(libc::AT_FDCWD, &magic_path(fd))
}

/// mkdirat(2). The calling thread's umask applies.
///
/// # Errors
/// As mkdirat(2).
pub fn make_dir(dir: BorrowedFd<'_>, name: &CStr, mode: u32) -> Result<(), Errno> {
    // SAFETY: `name` is terminated.
    check(libc::c_long::from(unsafe {
        libc::mkdirat(dir.as_raw_fd(), name.as_ptr(), mode)
    }))
    .map(drop)
}

/// mknodat(2). The calling thread's umask applies.
///
/// # Errors
/// As mknodat(2).
pub fn make_node(dir: BorrowedFd<'_>, name: &CStr, mode: u32, device: u64) -> Result<(), Errno> {
    // SAFETY: `name` is terminated. The raw call, since the C library's checks are not the kernel's.
    check(unsafe {
        libc::syscall(
            libc::SYS_mknodat,
            dir.as_raw_fd(),
            name.as_ptr(),
            mode,
            device as libc::c_uint,
        )
    })
    .map(drop)
}

/// symlinkat(2).
///
/// # Errors
/// As symlinkat(2).
pub fn make_symlink(content: &CStr, dir: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
    // SAFETY: both strings are terminated.
    check(libc::c_long::from(unsafe {
        libc::symlinkat(content.as_ptr(), dir.as_raw_fd(), name.as_ptr())
    }))
    .map(drop)
}

/// unlinkat(2) with `AT_REMOVEDIR` or without.
///
/// # Errors
/// As unlinkat(2).
pub fn unlink(dir: BorrowedFd<'_>, name: &CStr, flags: i32) -> Result<(), Errno> {
    // SAFETY: `name` is terminated.
    check(libc::c_long::from(unsafe {
        libc::unlinkat(dir.as_raw_fd(), name.as_ptr(), flags)
    }))
    .map(drop)
}

/// renameat2(2).
///
/// # Errors
/// As renameat2(2).
pub fn rename(
    from: BorrowedFd<'_>,
    old: &CStr,
    to: BorrowedFd<'_>,
    new: &CStr,
    flags: u32,
) -> Result<(), Errno> {
    // SAFETY: both names are terminated.
    check(unsafe {
        libc::syscall(
            libc::SYS_renameat2,
            from.as_raw_fd(),
            old.as_ptr(),
            to.as_raw_fd(),
            new.as_ptr(),
            flags,
        )
    })
    .map(drop)
}

/// linkat(2) of an entry, symbolic links not followed.
///
/// # Errors
/// As linkat(2).
pub fn link(from: BorrowedFd<'_>, old: &CStr, to: BorrowedFd<'_>, new: &CStr) -> Result<(), Errno> {
    // SAFETY: both names are terminated.
    check(libc::c_long::from(unsafe {
        libc::linkat(
            from.as_raw_fd(),
            old.as_ptr(),
            to.as_raw_fd(),
            new.as_ptr(),
            0,
        )
    }))
    .map(drop)
}

/// linkat(2) of exactly what a descriptor holds, through procfs.
///
/// # Errors
/// As linkat(2).
pub fn link_held(object: BorrowedFd<'_>, to: BorrowedFd<'_>, new: &CStr) -> Result<(), Errno> {
    let path = magic_path(object);
    // SAFETY: both names are terminated.
    check(libc::c_long::from(unsafe {
        libc::linkat(
            libc::AT_FDCWD,
            path.as_ptr(),
            to.as_raw_fd(),
            new.as_ptr(),
            libc::AT_SYMLINK_FOLLOW,
        )
    }))
    .map(drop)
}

/// bind(2) with a raw address.
///
/// # Errors
/// As bind(2).
pub fn bind(socket: BorrowedFd<'_>, address: &[u8]) -> Result<(), Errno> {
    // SAFETY: the kernel reads as many bytes as the slice has.
    check(unsafe {
        libc::syscall(
            libc::SYS_bind,
            socket.as_raw_fd(),
            address.as_ptr(),
            address.len() as libc::c_uint,
        )
    })
    .map(drop)
}

/// fchdir(2), for the calling thread when it has a working directory of its own.
///
/// # Errors
/// As fchdir(2).
pub fn change_dir(dir: BorrowedFd<'_>) -> Result<(), Errno> {
    // SAFETY: no pointers.
    check(libc::c_long::from(unsafe { libc::fchdir(dir.as_raw_fd()) })).map(drop)
}

/// umask(2), for the calling thread when it has one of its own. Gives the old one.
pub fn set_umask(mask: u32) -> u32 {
    // SAFETY: no pointers, cannot fail.
    unsafe { libc::umask(mask) }
}

/// All of a small file, such as procfs has.
///
/// # Errors
/// As openat2(2) and read(2).
pub fn read_whole(dir: BorrowedFd<'_>, name: &CStr) -> Result<Vec<u8>, Errno> {
    let fd = open(dir, name, OpenHow::default())?;
    let mut bytes = Vec::new();
    loop {
        let mut buffer = [0_u8; 4096];
        let length = nix::unistd::read(&fd, &mut buffer)?;
        bytes.extend_from_slice(&buffer[..length]);
        // procfs gives what fits at once; a shorter answer is the end.
        if length < buffer.len() {
            return Ok(bytes);
        }
    }
}

/// Names and `d_type` of a directory's entries, without `.` and `..`.
///
/// # Errors
/// As getdents64(2).
pub fn list(dir: BorrowedFd<'_>) -> Result<Vec<(CString, u8)>, Errno> {
    let mut entries = Vec::new();
    let mut buffer = vec![0_u8; 32 * 1024];
    loop {
        // SAFETY: the kernel writes at most the length given into the live buffer.
        let length = check(unsafe {
            libc::syscall(
                libc::SYS_getdents64,
                dir.as_raw_fd(),
                buffer.as_mut_ptr(),
                buffer.len(),
            )
        })? as usize;
        if length == 0 {
            return Ok(entries);
        }
        let mut at = 0;
        while at + 19 <= length {
            let record = usize::from(u16::from_ne_bytes([buffer[at + 16], buffer[at + 17]]));
            let kind = buffer[at + 18];
            if let Ok(name) = CStr::from_bytes_until_nul(&buffer[at + 19..at + record])
                && name != c"."
                && name != c".."
            {
                entries.push((name.to_owned(), kind));
            }
            at += record;
        }
    }
}
