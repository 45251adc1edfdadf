//! Processes: forking, executing, waiting, and reading another one's memory.

use std::ffi::{CString, OsStr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use super::{Errno, check};

/// Forks; the child runs `job` and ends with what it returns.
///
/// # Errors
/// `EDEADLK` when this process has other threads: what they hold would stay locked in the child for ever. `ENOENT` when
/// procfs, which tells, is not mounted. As fork(2).
pub fn fork(job: impl FnOnce() -> i32) -> Result<i32, Errno> {
    let threads = std::fs::read_dir("/proc/self/task").map_err(|_| Errno::ENOENT)?;
    if threads.count() != 1 {
        return Err(Errno::EDEADLK);
    }
    // SAFETY: there is no other thread, so the child is a whole copy of this process.
    let pid = check(libc::c_long::from(unsafe { libc::fork() }))?;
    if pid != 0 {
        return Ok(pid as i32);
    }
    let status = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job)).unwrap_or(125);
    // SAFETY: ends the process at once; what the parent had registered to run at exit is the parent's.
    unsafe { libc::_exit(status) }
}

/// Whether a process of its own does `job` in time, with 0. One that does not is killed, and not waited for: it may hang in
/// the kernel.
pub fn done_in_time(limit: Duration, job: impl FnOnce() -> i32) -> bool {
    let deadline = Instant::now() + limit;
    let Ok(pid) = fork(job) else { return false };
    let Ok(handle) = super::descriptor::open_process(pid, 0) else {
        return false;
    };
    if wait_until([handle.as_fd()], deadline).is_err() {
        let _ = kill(handle.as_fd());
    }
    change(pid) == Ok(Some(Change::Exited(0)))
}

/// Waits until the child `pid` has ended, but not beyond `deadline`; nothing happens to one that has not.
pub fn reap(pid: i32, deadline: Instant) {
    if let Ok(handle) = super::descriptor::open_process(pid, 0)
        && wait_until([handle.as_fd()], deadline).is_ok()
    {
        let _ = change(pid);
    }
}

/// Whether procfs is mounted, and for the pid namespace of this process.
#[must_use]
pub fn sees_itself() -> bool {
    let own = std::process::id().to_string();
    std::fs::read_link("/proc/self").is_ok_and(|link| link == std::path::Path::new(&own))
}

/// execvpe(3). Returns only on failure.
#[must_use]
pub fn execute(command: &[CString], environment: &[CString]) -> Errno {
    let Some(program) = command.first() else {
        return Errno::ENOENT;
    };
    let list = |words: &[CString]| -> Vec<*const libc::c_char> {
        words
            .iter()
            .map(|word| word.as_ptr())
            .chain([std::ptr::null()])
            .collect()
    };
    let (arguments, environment) = (list(command), list(environment));
    // SAFETY: terminated strings in lists that end with null.
    unsafe { libc::execvpe(program.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    Errno::last()
}

/// Waits until one of these can be read or is closed; which, in order.
///
/// # Errors
/// As poll(2), but for interruptions, which are waited through.
pub fn wait_for<const N: usize>(fds: [BorrowedFd<'_>; N]) -> Result<[bool; N], Errno> {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    let mut polls = fds.map(|fd| PollFd::new(fd, PollFlags::POLLIN));
    loop {
        match poll(&mut polls, PollTimeout::NONE) {
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error),
            Ok(_) => return Ok(polls.map(|poll| poll.any().unwrap_or(true))),
        }
    }
}

/// Waits as [`wait_for`] does, but not beyond `deadline`.
///
/// # Errors
/// `ETIMEDOUT` after that; as poll(2).
pub fn wait_until<const N: usize>(
    fds: [BorrowedFd<'_>; N],
    deadline: Instant,
) -> Result<[bool; N], Errno> {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    let mut polls = fds.map(|fd| PollFd::new(fd, PollFlags::POLLIN));
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
        match poll(&mut polls, left) {
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error),
            Ok(0) => return Err(Errno::ETIMEDOUT),
            Ok(_) => return Ok(polls.map(|poll| poll.any().unwrap_or(true))),
        }
    }
}

/// Leaves the process group for one of its own.
///
/// # Errors
/// As setpgid(2).
pub fn leave_group() -> Result<(), Errno> {
    nix::unistd::setpgid(nix::unistd::Pid::from_raw(0), nix::unistd::Pid::from_raw(0))
}

/// Becomes the parent of orphaned descendants (prctl(2), `PR_SET_CHILD_SUBREAPER`).
///
/// # Errors
/// As prctl(2).
pub fn become_subreaper() -> Result<(), Errno> {
    nix::sys::prctl::set_child_subreaper(true)
}

/// Ends all children of this process, and those that come to it when theirs are ended, for at most `limit`.
pub fn end_children(limit: std::time::Duration) {
    use nix::sys::signal::{Signal, kill};
    use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
    let begun = std::time::Instant::now();
    while begun.elapsed() < limit {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) => {}
            Ok(_) => continue,
            Err(_) => return,
        }
        let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let me = nix::unistd::getpid().as_raw();
        for child in numbers.filter(|pid| origin(*pid).is_some_and(|(parent, _)| parent == me)) {
            let _ = kill(nix::unistd::Pid::from_raw(child), Signal::SIGKILL);
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// Gives the calling thread a working directory and umask of its own (unshare(2), `CLONE_FS`).
///
/// # Errors
/// As unshare(2).
pub fn unshare_file_state() -> Result<(), Errno> {
    // SAFETY: no pointers.
    check(libc::c_long::from(unsafe { libc::unshare(libc::CLONE_FS) })).map(drop)
}

/// A connected pair of close-on-exec UNIX sockets that keep message boundaries.
///
/// # Errors
/// As socketpair(2).
pub fn socket_pair() -> Result<(OwnedFd, OwnedFd), Errno> {
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
    socketpair(
        AddressFamily::Unix,
        SockType::SeqPacket,
        None,
        SockFlag::SOCK_CLOEXEC,
    )
}

/// What another process's memory holds at `address`, as much as can be read of `length` bytes.
///
/// # Errors
/// `EFAULT` when nothing can be read there; `EPERM` when the process may not be looked into; `ESRCH`.
pub fn read_memory(tid: i32, address: u64, length: usize) -> Result<Vec<u8>, Errno> {
    if length == 0 {
        return Ok(Vec::new());
    }
    let mut buffer = vec![0_u8; length];
    let local = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: length,
    };
    let remote = libc::iovec {
        iov_base: address as *mut libc::c_void,
        iov_len: length,
    };
    // SAFETY: `local` describes the live buffer; `remote` is an address of the other process, checked by the kernel.
    let got = check(unsafe {
        libc::process_vm_readv(tid, &raw const local, 1, &raw const remote, 1, 0) as libc::c_long
    });
    let got = match got {
        Ok(got) => got as usize,
        // Where root has no CAP_SYS_PTRACE (containers), the real user counts here and the one for files in procfs.
        Err(Errno::EPERM) => read_memory_file(tid, address, &mut buffer)?,
        Err(error) => return Err(error),
    };
    buffer.truncate(got);
    Ok(buffer)
}

fn read_memory_file(tid: i32, address: u64, buffer: &mut [u8]) -> Result<usize, Errno> {
    use std::os::unix::fs::FileExt;
    let memory = std::fs::File::open(format!("/proc/{tid}/mem")).map_err(|_| Errno::EPERM)?;
    memory.read_at(buffer, address).map_err(|_| Errno::EFAULT)
}

/// How a child's state changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It ended with this status.
    Exited(i32),
    /// A signal ended it.
    Killed(i32),
    /// A signal stopped it.
    Stopped(i32),
    /// It goes on.
    Continued,
}

/// The next child whose state has changed, without waiting; none when there is no such child now.
///
/// # Errors
/// `ECHILD` when there are no children.
pub fn next_change() -> Result<Option<(i32, Change)>, Errno> {
    change_of(None)
}

/// How the state of the child `pid` has changed, without waiting; none when it has not.
///
/// # Errors
/// `ECHILD` when there is no such child.
pub fn change(pid: i32) -> Result<Option<Change>, Errno> {
    let changed = change_of(Some(nix::unistd::Pid::from_raw(pid)))?;
    Ok(changed.map(|(_, change)| change))
}

fn change_of(child: Option<nix::unistd::Pid>) -> Result<Option<(i32, Change)>, Errno> {
    use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
    let flags = WaitPidFlag::WNOHANG
        | WaitPidFlag::WUNTRACED
        | WaitPidFlag::WCONTINUED
        | WaitPidFlag::__WALL;
    Ok(match waitpid(child, Some(flags))? {
        WaitStatus::Exited(pid, status) => Some((pid.as_raw(), Change::Exited(status))),
        WaitStatus::Signaled(pid, signal, _) => Some((pid.as_raw(), Change::Killed(signal as i32))),
        WaitStatus::Stopped(pid, signal) => Some((pid.as_raw(), Change::Stopped(signal as i32))),
        WaitStatus::Continued(pid) => Some((pid.as_raw(), Change::Continued)),
        _ => None,
    })
}

/// The version of Landlock's interface in this kernel.
///
/// # Errors
/// `ENOSYS` when the kernel was built without it, `EOPNOTSUPP` when it was switched off at boot.
pub fn landlock_version() -> Result<u32, Errno> {
    const CREATE_RULESET: libc::c_long = 444;
    // SAFETY: no structure is passed; flag 1 asks for the version.
    let version = check(unsafe { libc::syscall(CREATE_RULESET, std::ptr::null::<u8>(), 0, 1) })?;
    u32::try_from(version).map_err(|_| Errno::EINVAL)
}

/// mkdir(2) of the path at address 0, as a 32-bit program calls it (`int 0x80`). Where the kernel has no 32-bit calls,
/// the process dies of SIGSEGV.
///
/// # Errors
/// What came back: `EFAULT`, if nothing steps in.
#[cfg(target_arch = "x86_64")]
pub fn make_dir_by_32_bit_call() -> Result<(), Errno> {
    const MKDIR: i32 = 39;
    let mut value = MKDIR;
    // SAFETY: the kernel only gets a null address, which it checks; rbx, which the compiler keeps for itself, is put back
    // from a register that the call preserves, and those that older kernels clear are declared.
    unsafe {
        std::arch::asm!(
            "mov r12, rbx",
            "xor ebx, ebx",
            "int 0x80",
            "mov rbx, r12",
            inlateout("eax") value,
            in("ecx") 0o700,
            out("r12") _,
            out("r8") _,
            out("r9") _,
            out("r10") _,
            out("r11") _,
        );
    }
    if value < 0 {
        Err(Errno::from_raw(-value))
    } else {
        Ok(())
    }
}

/// Lets this process be looked into as if its program could be read by its user (prctl(2), `PR_SET_DUMPABLE`); undone by
/// execve(2).
///
/// # Errors
/// As prctl(2).
pub fn become_readable() -> Result<(), Errno> {
    nix::sys::prctl::set_dumpable(true)
}

/// Lets this process die without leaving a core file.
///
/// # Errors
/// As setrlimit(2).
#[cfg(target_arch = "x86_64")]
pub fn leave_no_core() -> Result<(), Errno> {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let (_, hard) = getrlimit(Resource::RLIMIT_CORE)?;
    setrlimit(Resource::RLIMIT_CORE, 0, hard)
}

/// Words of a command as C strings.
///
/// # Errors
/// `EINVAL` when a word holds a zero byte.
pub fn words(command: &[impl AsRef<OsStr>]) -> Result<Vec<CString>, Errno> {
    command
        .iter()
        .map(|word| CString::new(word.as_ref().as_bytes()).map_err(|_| Errno::EINVAL))
        .collect()
}

/// Duplicates a descriptor, close-on-exec.
///
/// # Errors
/// As fcntl(2).
pub fn duplicate(fd: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    // SAFETY: no pointers.
    let copy = check(libc::c_long::from(unsafe {
        libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 3)
    }))?;
    // SAFETY: the kernel has just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(copy as RawFd) })
}

/// The parent's process number.
#[must_use]
pub fn parent() -> i32 {
    nix::unistd::getppid().as_raw()
}

/// Ends a process at once (pidfd_send_signal(2), SIGKILL).
///
/// # Errors
/// `ESRCH` when it is gone.
pub fn kill(process: BorrowedFd<'_>) -> Result<(), Errno> {
    // SAFETY: no structure is passed.
    check(unsafe {
        libc::syscall(
            libc::SYS_pidfd_send_signal,
            process.as_raw_fd(),
            libc::SIGKILL,
            std::ptr::null::<libc::siginfo_t>(),
            0,
        )
    })
    .map(drop)
}

/// Sets no_new_privs for this process and all that it starts.
///
/// # Errors
/// As prctl(2).
pub fn give_up_new_privileges() -> Result<(), Errno> {
    nix::sys::prctl::set_no_new_privs()
}

/// Whether no_new_privs is set.
#[must_use]
pub fn has_given_up_new_privileges() -> bool {
    nix::sys::prctl::get_no_new_privs().unwrap_or(false)
}

/// The process at the other end of a UNIX socket: who connected, or who listened.
///
/// # Errors
/// As getsockopt(2).
pub fn peer(socket: BorrowedFd<'_>) -> Result<i32, Errno> {
    use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
    getsockopt(&socket, PeerCredentials).map(|credentials| credentials.pid())
}

/// Whether a system call filter is in force on this thread.
#[must_use]
pub fn is_filtered() -> bool {
    std::fs::read_to_string("/proc/thread-self/status").is_ok_and(|text| {
        text.lines()
            .any(|line| line.starts_with("Seccomp:") && line.ends_with('2'))
    })
}

/// A process's parent, and when it was started, in clock ticks since boot (proc_pid_stat(5), fields 4 and 22); none when
/// it is gone.
#[must_use]
pub fn origin(pid: i32) -> Option<(i32, u64)> {
    origin_and_name(pid).map(|(parent, started, _)| (parent, started))
}

/// The same, and the process's short name, which changes when it executes another program.
#[must_use]
pub fn origin_and_name(pid: i32) -> Option<(i32, u64, Vec<u8>)> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything.
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let start = stat.iter().position(|byte| *byte == b'(')? + 1;
    let rest = String::from_utf8_lossy(&stat[end + 1..]);
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let (parent, started) = (fields.get(1)?.parse().ok()?, fields.get(19)?.parse().ok()?);
    Some((parent, started, stat.get(start..end)?.to_vec()))
}

/// Whether a process is above this one.
#[must_use]
pub fn is_ancestor(process: i32) -> bool {
    let mut pid = parent();
    while pid > 1 {
        if pid == process {
            return true;
        }
        pid = origin(pid).map_or(0, |(parent, _)| parent);
    }
    false
}
