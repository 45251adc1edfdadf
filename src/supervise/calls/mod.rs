//! The system calls that change the tree: their numbers on each architecture and where their arguments are.
//!
//! One table feeds both the filter and the supervisor, so that no call can be let through by one and unknown to the
//! other. Numbers: arch/x86/entry/syscalls/syscall_{64,32}.tbl and scripts/syscall.tbl of Linux 6.18.

mod requests;
mod table;

pub use requests::{LOOSENING_REQUESTS, REQUESTS, Request, request};
pub use table::{CALLS, EXECUTIONS, LOOSENING};

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
    /// ftruncate: descriptor 0, length 1.
    Resize,
    /// ftruncate64 of 32-bit callers: descriptor 0, length 1 and 2.
    ResizePair,
    /// fallocate: descriptor 0, mode 1, offset and length; on i386 both in pairs.
    Allocate,
    /// fcntl: descriptor 0, command 1, argument 2. Asked about where `F_SETFL` takes `O_APPEND` away.
    Flags,
    /// pwritev2: flags 5. Answered `EOPNOTSUPP` by the filter itself where the end of the file is not good enough.
    WriteAt,
    /// landlock_restrict_self: let go on, and remembered.
    Restrict,
    /// exec family: the program. Let go on, and looked at.
    Execute(Dir, u8),
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
                | Self::Resize
                | Self::ResizePair
                | Self::Allocate
                | Self::Flags
                | Self::WriteAt
                | Self::Restrict
                | Self::Execute(..)
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
            .chain(EXECUTIONS)
            .chain(LOOSENING)
            .find(|call| call.number(architecture) == Some(number))
    }
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
            ("execve", libc::SYS_execve),
            ("execveat", libc::SYS_execveat),
            ("ftruncate", libc::SYS_ftruncate),
            ("fallocate", libc::SYS_fallocate),
            ("fcntl", libc::SYS_fcntl),
            ("pwritev2", libc::SYS_pwritev2),
            ("io_setup", libc::SYS_io_setup),
        ] {
            let mut all = CALLS.iter().chain(EXECUTIONS).chain(LOOSENING);
            let call = all.find(|call| call.name == name).expect(name);
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
                .chain(EXECUTIONS)
                .chain(LOOSENING)
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
