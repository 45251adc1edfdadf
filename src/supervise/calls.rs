//! The system calls that change the tree: their numbers on each architecture and where their arguments are.
//!
//! One table feeds both the filter and the supervisor, so that no call can be let through by one and unknown to the
//! other. Numbers: arch/x86/entry/syscalls/syscall_{64,32}.tbl and scripts/syscall.tbl of Linux 6.18.

/// An architecture whose calls the filter knows (linux/audit.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Architecture {
    /// x86_64.
    X86_64,
    /// 32-bit programs and `int 0x80` on x86_64.
    I386,
    /// aarch64.
    Aarch64,
}

impl Architecture {
    /// Those that this build meets at run time; the first is its own.
    pub const NATIVE: &'static [Self] = if cfg!(target_arch = "aarch64") {
        &[Self::Aarch64]
    } else {
        &[Self::X86_64, Self::I386]
    };

    /// `AUDIT_ARCH_*`.
    #[must_use]
    pub fn audit(self) -> u32 {
        match self {
            Self::X86_64 => 0xC000_003E,
            Self::I386 => 0x4000_0003,
            Self::Aarch64 => 0xC000_00B7,
        }
    }

    /// The one with this `AUDIT_ARCH_*`.
    #[must_use]
    pub fn from_audit(audit: u32) -> Option<Self> {
        [Self::X86_64, Self::I386, Self::Aarch64]
            .into_iter()
            .find(|known| known.audit() == audit)
    }
}

/// The last call number of Linux 6.18; the kernels guard knows have none above it on any architecture.
pub const LAST_KNOWN: u32 = 469;

/// Where a path starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dir {
    /// The working directory.
    Cwd,
    /// The descriptor in this argument, or the working directory for `AT_FDCWD`.
    Arg(u8),
}

/// Whether a final symbolic link is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    /// Always.
    Yes,
    /// Never.
    No,
    /// Unless this argument holds `AT_SYMLINK_NOFOLLOW`; it may hold `AT_EMPTY_PATH` too.
    UnlessFlag(u8),
}

/// How a call names an object that must exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// By a path.
    Path(Dir, u8, Follow),
    /// By a descriptor.
    Descriptor(u8),
}

/// How a pair of times is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeLayout {
    /// `struct utimbuf`: seconds, of the caller's word size.
    Seconds,
    /// Two `struct timeval` of the caller's word size.
    Micro,
    /// Two `struct timespec` of the caller's word size.
    Nano,
    /// Two `struct timespec` of 64 bits each field, whatever the caller's.
    Nano64,
}

/// What a call does and in which arguments it says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// open, openat: path, flags, mode.
    Open(Dir, u8, u8, u8),
    /// creat: path, mode.
    Creat,
    /// openat2.
    Openat2,
    /// truncate: path 0, length 1.
    Truncate,
    /// truncate64 of 32-bit callers: path 0, length 1 and 2.
    TruncatePair,
    /// unlink: path.
    Unlink(Dir, u8),
    /// rmdir: path 0.
    Rmdir,
    /// unlinkat: directory 0, path 1, flags 2.
    Unlinkat,
    /// rename family: old, new, flags.
    Rename(Dir, u8, Dir, u8, Option<u8>),
    /// link family: old, new, flags.
    Link(Dir, u8, Dir, u8, Option<u8>),
    /// symlink family: content 0, then where.
    Symlink(Dir, u8),
    /// mkdir family: path, mode.
    Mkdir(Dir, u8, u8),
    /// mknod family: path, mode, device.
    Mknod(Dir, u8, u8, u8),
    /// bind: socket 0, address 1, length 2.
    Bind,
    /// socketcall of i386: which 0, arguments behind 1.
    Socketcall,
    /// chmod family: object, mode.
    Mode(At, u8),
    /// chown family: object, user, group.
    Owner(At, u8, u8),
    /// chown family with 16-bit ids.
    ShortOwner(At, u8, u8),
    /// utime family: object, times.
    Times(At, u8, TimeLayout),
    /// utimensat: directory 0, path 1 (null: the descriptor itself), times 2, flags 3.
    Utimensat(TimeLayout),
    /// setxattr family: object, name, value, size, flags.
    SetAttribute(At, u8),
    /// setxattrat: directory 0, path 1, flags 2, name 3, structure 4, size 5.
    SetAttributeAt,
    /// removexattr family: object, name.
    RemoveAttribute(At, u8),
    /// file_setattr: directory 0, path 1, structure 2, size 3, flags 4.
    FileAttributes,
    /// ioctl: descriptor 0, request 1, argument 2.
    Control,
    /// Refused under every policy with `EPERM`.
    Forbidden,
    /// Answered `ENOSYS` by the filter itself: io_uring would let calls pass unseen, and programs fall back.
    Absent,
}

/// One call.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Its name.
    pub name: &'static str,
    /// Its number on x86_64.
    pub x86_64: Option<u32>,
    /// Its number on aarch64.
    pub aarch64: Option<u32>,
    /// Its number on i386.
    pub i386: Option<u32>,
    /// What it does.
    pub kind: Kind,
}

impl Kind {
    /// Whether the wall checks such a call too, so that letting the kernel go on grants nothing.
    #[must_use]
    pub fn is_checked_by_landlock(self) -> bool {
        !matches!(
            self,
            Self::Mode(..)
                | Self::Owner(..)
                | Self::ShortOwner(..)
                | Self::Times(..)
                | Self::Utimensat(_)
                | Self::SetAttribute(..)
                | Self::SetAttributeAt
                | Self::RemoveAttribute(..)
                | Self::FileAttributes
                | Self::Control
                | Self::Forbidden
                | Self::Absent
        )
    }
}

impl Call {
    /// Its number there, if it exists there.
    #[must_use]
    pub fn number(&self, architecture: Architecture) -> Option<u32> {
        match architecture {
            Architecture::X86_64 => self.x86_64,
            Architecture::I386 => self.i386,
            Architecture::Aarch64 => self.aarch64,
        }
    }

    /// The call with this number.
    #[must_use]
    pub fn find(architecture: Architecture, number: i32) -> Option<&'static Self> {
        let number = u32::try_from(number).ok()?;
        CALLS
            .iter()
            .find(|call| call.number(architecture) == Some(number))
    }
}

/// A number, or none for 0: no call that changes the tree has number 0 on these architectures (io_setup on aarch64 and
/// read on x86_64 have).
const fn nr(number: u32) -> Option<u32> {
    if number == 0 { None } else { Some(number) }
}

const fn call(name: &'static str, x86_64: u32, aarch64: u32, i386: u32, kind: Kind) -> Call {
    Call {
        name,
        x86_64: nr(x86_64),
        aarch64: nr(aarch64),
        i386: nr(i386),
        kind,
    }
}

use At::{Descriptor, Path};
use Dir::{Arg, Cwd};
use Kind as K;

/// Every call that the filter stops. The busiest come first: those that look at arguments are not cached by the kernel.
pub const CALLS: &[Call] = &[
    call("openat", 257, 56, 295, K::Open(Arg(0), 1, 2, 3)),
    call("open", 2, 0, 5, K::Open(Cwd, 0, 1, 2)),
    call("ioctl", 16, 29, 54, K::Control),
    call("openat2", 437, 437, 437, K::Openat2),
    call("creat", 85, 0, 8, K::Creat),
    call("truncate", 76, 45, 92, K::Truncate),
    call("truncate64", 0, 0, 193, K::TruncatePair),
    call("unlink", 87, 0, 10, K::Unlink(Cwd, 0)),
    call("unlinkat", 263, 35, 301, K::Unlinkat),
    call("rmdir", 84, 0, 40, K::Rmdir),
    call("rename", 82, 0, 38, K::Rename(Cwd, 0, Cwd, 1, None)),
    call(
        "renameat",
        264,
        38,
        302,
        K::Rename(Arg(0), 1, Arg(2), 3, None),
    ),
    call(
        "renameat2",
        316,
        276,
        353,
        K::Rename(Arg(0), 1, Arg(2), 3, Some(4)),
    ),
    call("link", 86, 0, 9, K::Link(Cwd, 0, Cwd, 1, None)),
    call(
        "linkat",
        265,
        37,
        303,
        K::Link(Arg(0), 1, Arg(2), 3, Some(4)),
    ),
    call("symlink", 88, 0, 83, K::Symlink(Cwd, 1)),
    call("symlinkat", 266, 36, 304, K::Symlink(Arg(1), 2)),
    call("mkdir", 83, 0, 39, K::Mkdir(Cwd, 0, 1)),
    call("mkdirat", 258, 34, 296, K::Mkdir(Arg(0), 1, 2)),
    call("mknod", 133, 0, 14, K::Mknod(Cwd, 0, 1, 2)),
    call("mknodat", 259, 33, 297, K::Mknod(Arg(0), 1, 2, 3)),
    call("bind", 49, 200, 361, K::Bind),
    call("socketcall", 0, 0, 102, K::Socketcall),
    call("chmod", 90, 0, 15, K::Mode(Path(Cwd, 0, Follow::Yes), 1)),
    call("fchmod", 91, 52, 94, K::Mode(Descriptor(0), 1)),
    call(
        "fchmodat",
        268,
        53,
        306,
        K::Mode(Path(Arg(0), 1, Follow::Yes), 2),
    ),
    call(
        "fchmodat2",
        452,
        452,
        452,
        K::Mode(Path(Arg(0), 1, Follow::UnlessFlag(3)), 2),
    ),
    call(
        "chown",
        92,
        0,
        212,
        K::Owner(Path(Cwd, 0, Follow::Yes), 1, 2),
    ),
    call(
        "lchown",
        94,
        0,
        198,
        K::Owner(Path(Cwd, 0, Follow::No), 1, 2),
    ),
    call("fchown", 93, 55, 207, K::Owner(Descriptor(0), 1, 2)),
    call(
        "fchownat",
        260,
        54,
        298,
        K::Owner(Path(Arg(0), 1, Follow::UnlessFlag(4)), 2, 3),
    ),
    call(
        "chown16",
        0,
        0,
        182,
        K::ShortOwner(Path(Cwd, 0, Follow::Yes), 1, 2),
    ),
    call(
        "lchown16",
        0,
        0,
        16,
        K::ShortOwner(Path(Cwd, 0, Follow::No), 1, 2),
    ),
    call("fchown16", 0, 0, 95, K::ShortOwner(Descriptor(0), 1, 2)),
    call(
        "utime",
        132,
        0,
        30,
        K::Times(Path(Cwd, 0, Follow::Yes), 1, TimeLayout::Seconds),
    ),
    call(
        "utimes",
        235,
        0,
        271,
        K::Times(Path(Cwd, 0, Follow::Yes), 1, TimeLayout::Micro),
    ),
    call(
        "futimesat",
        261,
        0,
        299,
        K::Times(Path(Arg(0), 1, Follow::Yes), 2, TimeLayout::Micro),
    ),
    call("utimensat", 280, 88, 320, K::Utimensat(TimeLayout::Nano)),
    call(
        "utimensat_time64",
        0,
        0,
        412,
        K::Utimensat(TimeLayout::Nano64),
    ),
    call(
        "setxattr",
        188,
        5,
        226,
        K::SetAttribute(Path(Cwd, 0, Follow::Yes), 1),
    ),
    call(
        "lsetxattr",
        189,
        6,
        227,
        K::SetAttribute(Path(Cwd, 0, Follow::No), 1),
    ),
    call("fsetxattr", 190, 7, 228, K::SetAttribute(Descriptor(0), 1)),
    call("setxattrat", 463, 463, 463, K::SetAttributeAt),
    call(
        "removexattr",
        197,
        14,
        235,
        K::RemoveAttribute(Path(Cwd, 0, Follow::Yes), 1),
    ),
    call(
        "lremovexattr",
        198,
        15,
        236,
        K::RemoveAttribute(Path(Cwd, 0, Follow::No), 1),
    ),
    call(
        "fremovexattr",
        199,
        16,
        237,
        K::RemoveAttribute(Descriptor(0), 1),
    ),
    call(
        "removexattrat",
        466,
        466,
        466,
        K::RemoveAttribute(Path(Arg(0), 1, Follow::UnlessFlag(2)), 3),
    ),
    call("file_setattr", 469, 469, 469, K::FileAttributes),
    call("open_by_handle_at", 304, 265, 342, K::Forbidden),
    call("mount_setattr", 442, 442, 442, K::Forbidden),
    call("open_tree_attr", 467, 467, 467, K::Forbidden),
    call("swapon", 167, 224, 87, K::Forbidden),
    call("acct", 163, 89, 51, K::Forbidden),
    call("quotactl", 179, 60, 131, K::Forbidden),
    call("quotactl_fd", 443, 443, 443, K::Forbidden),
    call("init_module", 175, 105, 128, K::Forbidden),
    call("finit_module", 313, 273, 350, K::Forbidden),
    call("kexec_load", 246, 104, 283, K::Forbidden),
    call("kexec_file_load", 320, 294, 0, K::Forbidden),
    call("bpf", 321, 280, 357, K::Forbidden),
    call("io_uring_setup", 425, 425, 425, K::Absent),
    call("io_uring_enter", 426, 426, 426, K::Absent),
    call("io_uring_register", 427, 427, 427, K::Absent),
];

/// What an ioctl(2) request changes on a descriptor that is open for reading only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Flags of the inode itself, as so many bytes behind the argument.
    InodeFlags(usize),
    /// Refused under every policy.
    Forbidden,
}

/// The requests that the filter stops (linux/fs.h, btrfs.h, fscrypt.h, msdos_fs.h, fsverity.h, tty, SCSI, NVMe).
pub const REQUESTS: &[(u32, Request)] = &[
    (0x4008_6602, Request::InodeFlags(4)), // FS_IOC_SETFLAGS: the kernel reads an int, whatever the number says
    (0x4004_6602, Request::InodeFlags(4)), // FS_IOC32_SETFLAGS
    (0x4008_7602, Request::InodeFlags(4)), // FS_IOC_SETVERSION
    (0x4004_7602, Request::InodeFlags(4)), // FS_IOC32_SETVERSION
    (0x401C_5820, Request::InodeFlags(28)), // FS_IOC_FSSETXATTR
    (0x4004_7211, Request::InodeFlags(4)), // FAT_IOCTL_SET_ATTRIBUTES
    (0x4008_941A, Request::InodeFlags(8)), // BTRFS_IOC_SUBVOL_SETFLAGS
    (0x4080_6685, Request::Forbidden),     // FS_IOC_ENABLE_VERITY
    (0x800C_6613, Request::Forbidden),     // FS_IOC_SET_ENCRYPTION_POLICY
    (0xC040_6618, Request::Forbidden),     // FS_IOC_REMOVE_ENCRYPTION_KEY
    (0xC040_6619, Request::Forbidden),     // FS_IOC_REMOVE_ENCRYPTION_KEY_ALL_USERS
    (0x5000_940E, Request::Forbidden),     // BTRFS_IOC_SUBVOL_CREATE
    (0x5000_9401, Request::Forbidden),     // BTRFS_IOC_SNAP_CREATE
    (0x5000_9417, Request::Forbidden),     // BTRFS_IOC_SNAP_CREATE_V2
    (0x5000_9418, Request::Forbidden),     // BTRFS_IOC_SUBVOL_CREATE_V2
    (0x5000_940F, Request::Forbidden),     // BTRFS_IOC_SNAP_DESTROY
    (0x5000_943F, Request::Forbidden),     // BTRFS_IOC_SNAP_DESTROY_V2
    (0x4020_BC10, Request::Forbidden),     // BCH_IOCTL_SUBVOLUME_CREATE
    (0x4020_BC11, Request::Forbidden),     // BCH_IOCTL_SUBVOLUME_DESTROY
    (0xC004_5877, Request::Forbidden),     // FIFREEZE
    (0x8004_587D, Request::Forbidden),     // FS_IOC_SHUTDOWN
    (0x5412, Request::Forbidden),          // TIOCSTI
    (0x541C, Request::Forbidden),          // TIOCLINUX
    (0x2285, Request::Forbidden),          // SG_IO
    (0xC048_4E41, Request::Forbidden),     // NVME_IOCTL_ADMIN_CMD
    (0xC048_4E43, Request::Forbidden),     // NVME_IOCTL_IO_CMD
];

/// The request of this number; the kernel looks at the low 32 bits only.
#[must_use]
pub fn request(number: u64) -> Option<Request> {
    REQUESTS
        .iter()
        .find(|(known, _)| *known == number as u32)
        .map(|(_, request)| *request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_this_machine_are_those_of_the_c_library() {
        if !cfg!(target_arch = "x86_64") {
            return;
        }
        #[cfg(target_arch = "x86_64")]
        for (name, number) in [
            ("openat", libc::SYS_openat),
            ("open", libc::SYS_open),
            ("ioctl", libc::SYS_ioctl),
            ("truncate", libc::SYS_truncate),
            ("renameat2", libc::SYS_renameat2),
            ("linkat", libc::SYS_linkat),
            ("symlinkat", libc::SYS_symlinkat),
            ("mknodat", libc::SYS_mknodat),
            ("bind", libc::SYS_bind),
            ("fchmodat", libc::SYS_fchmodat),
            ("fchownat", libc::SYS_fchownat),
            ("futimesat", libc::SYS_futimesat),
            ("utimensat", libc::SYS_utimensat),
            ("utime", libc::SYS_utime),
            ("utimes", libc::SYS_utimes),
            ("setxattr", libc::SYS_setxattr),
            ("fremovexattr", libc::SYS_fremovexattr),
            ("open_by_handle_at", libc::SYS_open_by_handle_at),
            ("mount_setattr", libc::SYS_mount_setattr),
            ("swapon", libc::SYS_swapon),
            ("acct", libc::SYS_acct),
            ("quotactl", libc::SYS_quotactl),
            ("init_module", libc::SYS_init_module),
            ("finit_module", libc::SYS_finit_module),
            ("kexec_load", libc::SYS_kexec_load),
            ("bpf", libc::SYS_bpf),
            ("io_uring_setup", libc::SYS_io_uring_setup),
        ] {
            let call = CALLS.iter().find(|call| call.name == name).expect(name);
            assert_eq!(call.x86_64.map(i64::from), Some(number), "{name}");
        }
    }

    #[test]
    fn no_number_stands_for_two_calls() {
        for architecture in [
            Architecture::X86_64,
            Architecture::I386,
            Architecture::Aarch64,
        ] {
            let mut numbers: Vec<_> = CALLS
                .iter()
                .filter_map(|call| call.number(architecture))
                .collect();
            let all = numbers.len();
            numbers.sort_unstable();
            numbers.dedup();
            assert_eq!(numbers.len(), all, "{architecture:?}");
            assert!(numbers.iter().all(|number| *number <= LAST_KNOWN));
        }
    }
}
