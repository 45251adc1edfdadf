//! The table of calls.

use super::{At, Call, Dir, Follow, Kind, TimeLayout};

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
    call("landlock_restrict_self", 446, 446, 446, K::Restrict),
    call("open_by_handle_at", 304, 265, 342, K::Forbidden),
    call("mount_setattr", 442, 442, 442, K::Forbidden),
    call("open_tree_attr", 467, 467, 467, K::Forbidden),
    // Trees that hang nowhere: of no use behind the wall, which lets nothing be attached, but what lies in one has no
    // path, and making an overlay writes into its folders without asking Landlock.
    call("open_tree", 428, 428, 428, K::Forbidden),
    call("fsopen", 430, 430, 430, K::Forbidden),
    call("fsconfig", 431, 431, 431, K::Forbidden),
    call("fsmount", 432, 432, 432, K::Forbidden),
    call("fspick", 433, 433, 433, K::Forbidden),
    call("swapon", 167, 224, 87, K::Forbidden),
    call("acct", 163, 89, 51, K::Forbidden),
    call("quotactl", 179, 60, 131, K::Forbidden),
    call("quotactl_fd", 443, 443, 443, K::Forbidden),
    call("init_module", 175, 105, 128, K::Forbidden),
    call("finit_module", 313, 273, 350, K::Forbidden),
    call("iopl", 172, 0, 110, K::Forbidden),
    call("ioperm", 173, 0, 101, K::Forbidden),
    call("kexec_load", 246, 104, 283, K::Forbidden),
    call("kexec_file_load", 320, 294, 0, K::Forbidden),
    call("bpf", 321, 280, 357, K::Forbidden),
    call("io_uring_setup", 425, 425, 425, K::Absent),
    call("io_uring_enter", 426, 426, 426, K::Absent),
    call("io_uring_register", 427, 427, 427, K::Absent),
];

/// What the filter stops besides where programs that would gain privileges are to be noticed ([`Kind::Execute`]).
pub const EXECUTIONS: &[Call] = &[
    call("execve", 59, 221, 11, K::Execute(Cwd, 0)),
    call("execveat", 322, 281, 358, K::Execute(Arg(0), 1)),
];

/// What the filter stops besides where a policy lets files grow at their end and do nothing else: the ways to write elsewhere
/// through a descriptor that was opened to append. io_submit(2) has one as well (`RWF_NOAPPEND`), told in memory.
pub const LOOSENING: &[Call] = &[
    call("fcntl", 72, 25, 55, K::Flags),
    call("fcntl64", 0, 0, 221, K::Flags),
    call("ftruncate", 77, 46, 93, K::Resize),
    call("ftruncate64", 0, 0, 194, K::ResizePair),
    call("fallocate", 285, 47, 324, K::Allocate),
    call("pwritev2", 328, 287, 379, K::WriteAt),
    IO_SETUP,
];

/// Its number on aarch64 is 0.
const IO_SETUP: Call = Call {
    name: "io_setup",
    x86_64: Some(206),
    aarch64: Some(0),
    i386: Some(245),
    kind: K::Absent,
};
