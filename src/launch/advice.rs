//! What is missing and what to do about it, in words that a refused run and `guard doctor` share.

use std::error::Error;
use std::fmt::Write as _;

use crate::sys::Errno;

/// Why the kernel gives no listener.
#[must_use]
pub fn no_listener(errno: Errno) -> String {
    match errno {
        Errno::EBUSY => {
            let who = if std::env::var_os("GUARD_ACTIVE").is_some() {
                "another guard"
            } else {
                "another supervisor (a sandbox or a container of that kind)"
            };
            format!(
                "{who} is in charge of this process already, and the kernel allows one: run the command without the inner \
                 guard, or start guard outside of the other"
            )
        }
        Errno::EACCES => {
            "the kernel allows no system call filter: no_new_privs is not set and CAP_SYS_ADMIN is missing".into()
        }
        Errno::ENOSYS | Errno::EPERM => format!(
            "the kernel does not take a system call filter ({errno}): use a kernel with CONFIG_SECCOMP_FILTER; in a \
             container, let its own filter allow seccomp(2)"
        ),
        Errno::EPROTO => "the kernel's notifications have a shape that this guard does not know: use a newer guard".into(),
        errno => format!("the kernel does not take guard's system call filter ({errno}): use Linux 5.19 or later"),
    }
}

/// Why a process may not be looked into.
#[must_use]
pub fn unreadable() -> String {
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    match scope.trim() {
        scope @ ("2" | "3") => format!(
            "Yama forbids it: set kernel.yama.ptrace_scope, which is {scope}, to 1 (sysctl(8); 3 lasts until the next boot)"
        ),
        _ => "let the container's system call filter allow process_vm_readv and its like, or give the container the \
              capability SYS_PTRACE"
            .into(),
    }
}

/// An error with all that caused it.
#[must_use]
pub fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let _ = write!(text, ": {cause}");
        source = cause.source();
    }
    text
}

/// What a run without a wall still has.
pub const NO_WALL: &str = "the supervisor alone protects: a program that exchanges a path while guard looks at it, or runs on \
                           when guard was killed, is not held back";

/// What a run without a supervisor still has.
pub const NO_SUPERVISOR: &str = "the wall alone protects: contents and names are kept; modes, owners, times and attributes \
                                 are not, nothing is recorded, and what lies directly in a folder above a protected place \
                                 cannot be changed. Where another supervisor does calls itself, its policy holds, not this \
                                 one";

/// What a run has whose supervisor sees no arguments.
pub const BLIND: &str = "calls of which it cannot see the path are left to the wall, or refused where the wall has no say; \
                         refusals of the wall are not recorded";

/// What a run without both has.
pub const NOTHING: &str = "NOTHING of what the policy asks is enforced in this run";

/// Nothing works without.
pub const NO_PROCFS: &str = "there is no procfs of this process's own pid namespace at /proc: mount it (mount -t proc proc /proc; \
                             bwrap --proc /proc)";

/// The supervisor died before the command started.
pub const LOST_EARLY: &str = "the supervisor was killed while it got ready; a system call filter that ends processes, as \
                              some containers have, may do that: let it allow what guard needs";

/// So few descriptors that the supervisor cannot look at a call for sure.
pub fn few_descriptors(limit: u64) -> String {
    format!(
        "no more than {limit} files may be open at once, and guard needs 64: raise `ulimit -Hn`"
    )
}
