//! Descriptors between processes: passing, taking, closing.

use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};

use super::{Errno, check};

/// What came over a socket that keeps message boundaries.
#[derive(Debug)]
pub enum Received {
    /// A descriptor.
    Descriptor(OwnedFd),
    /// Bytes.
    Bytes(Vec<u8>),
    /// The other side is closed.
    Closed,
}

/// Sends one descriptor over a UNIX socket.
///
/// # Errors
/// As sendmsg(2).
pub fn send(socket: BorrowedFd<'_>, descriptor: BorrowedFd<'_>) -> Result<(), Errno> {
    let fds = [descriptor.as_raw_fd()];
    let control = [ControlMessage::ScmRights(&fds)];
    sendmsg::<()>(
        socket.as_raw_fd(),
        &[IoSlice::new(b"d")],
        &control,
        MsgFlags::MSG_NOSIGNAL,
        None,
    )
    .map(drop)
}

/// Sends bytes over a UNIX socket, as one message.
///
/// # Errors
/// As sendmsg(2).
pub fn send_bytes(socket: BorrowedFd<'_>, bytes: &[u8]) -> Result<(), Errno> {
    sendmsg::<()>(
        socket.as_raw_fd(),
        &[IoSlice::new(bytes)],
        &[],
        MsgFlags::MSG_NOSIGNAL,
        None,
    )
    .map(drop)
}

/// Waits for one message.
///
/// # Errors
/// As recvmsg(2), but for interruptions, which are waited through.
pub fn receive(socket: BorrowedFd<'_>) -> Result<Received, Errno> {
    let mut buffer = vec![0_u8; 4096];
    let mut space = nix::cmsg_space!(RawFd);
    let (length, fd) = loop {
        let mut data = [IoSliceMut::new(&mut buffer)];
        match recvmsg::<()>(
            socket.as_raw_fd(),
            &mut data,
            Some(&mut space),
            MsgFlags::MSG_CMSG_CLOEXEC,
        ) {
            Err(Errno::EINTR) => {}
            Err(Errno::ECONNRESET) => return Ok(Received::Closed),
            Err(error) => return Err(error),
            Ok(message) => {
                let mut fd = None;
                for control in message.cmsgs()? {
                    if let ControlMessageOwned::ScmRights(fds) = control {
                        fd = fds.first().copied();
                    }
                }
                break (message.bytes, fd);
            }
        }
    };
    if let Some(fd) = fd {
        // SAFETY: the kernel has just installed this descriptor for us.
        return Ok(Received::Descriptor(unsafe { OwnedFd::from_raw_fd(fd) }));
    }
    buffer.truncate(length);
    Ok(if length == 0 {
        Received::Closed
    } else {
        Received::Bytes(buffer)
    })
}

/// pidfd_open(2).
///
/// # Errors
/// As pidfd_open(2).
pub fn open_process(pid: i32, flags: u32) -> Result<OwnedFd, Errno> {
    // SAFETY: no pointers.
    let fd = check(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, flags) })?;
    // SAFETY: the kernel has just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// fcntl(2), `F_SETFL`: for all duplicates of the descriptor, whoever has them.
///
/// # Errors
/// As fcntl(2).
pub fn set_status_flags(fd: BorrowedFd<'_>, flags: i32) -> Result<(), Errno> {
    // SAFETY: no pointers.
    check(libc::c_long::from(unsafe {
        libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags)
    }))
    .map(drop)
}

/// pidfd_getfd(2): a duplicate of another process's descriptor.
///
/// # Errors
/// As pidfd_getfd(2).
pub fn take(process: BorrowedFd<'_>, number: i32) -> Result<OwnedFd, Errno> {
    // SAFETY: no pointers.
    let fd =
        check(unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), number, 0) })?;
    // SAFETY: the kernel has just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// Replaces descriptor `number` (0, 1 or 2) of this process by what `with` holds.
///
/// # Errors
/// As dup2(2).
pub fn replace(number: RawFd, with: BorrowedFd<'_>) -> Result<(), Errno> {
    // SAFETY: no pointers; the standard streams are not owned by any value of ours.
    check(libc::c_long::from(unsafe {
        libc::dup2(with.as_raw_fd(), number)
    }))
    .map(drop)
}

/// Closes what the caller of guard handed down beside the standard streams: everything that would outlive execve(2).
/// guard's own descriptors all are close-on-exec.
pub fn close_inherited() {
    let numbers = std::fs::read_dir("/proc/self/fd")
        .into_iter()
        .flatten()
        .flatten();
    let numbers: Vec<RawFd> = numbers
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    for number in numbers.into_iter().filter(|number| *number > 2) {
        // SAFETY: no pointers; asks for the descriptor's flags.
        let flags = unsafe { libc::fcntl(number, libc::F_GETFD) };
        if flags != -1 && flags & libc::FD_CLOEXEC == 0 {
            // SAFETY: no value of ours owns a descriptor that is not close-on-exec.
            unsafe { libc::close(number) };
        }
    }
}

/// Closes a forked child's copy of a descriptor that its parent goes on using. The child never returns to the code whose
/// value owns it.
pub fn close_copy(fd: BorrowedFd<'_>) {
    // SAFETY: no value that owns this descriptor is dropped in the child.
    unsafe { libc::close(fd.as_raw_fd()) };
}

/// Closes one standard stream, so that the command starts without it as its caller did.
pub fn close_standard(number: RawFd) {
    if (0..=2).contains(&number) {
        // SAFETY: no value owns a standard stream.
        unsafe { libc::close(number) };
    }
}

/// Clears `O_NONBLOCK`.
///
/// # Errors
/// As fcntl(2).
pub fn set_blocking(fd: BorrowedFd<'_>) -> Result<(), Errno> {
    use nix::fcntl::{FcntlArg, OFlag, fcntl};
    let flags = OFlag::from_bits_retain(fcntl(fd, FcntlArg::F_GETFL)?);
    fcntl(fd, FcntlArg::F_SETFL(flags - OFlag::O_NONBLOCK)).map(drop)
}
