//! seccomp(2): installing a filter and answering its notifications (linux/seccomp.h).

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use super::{Errno, check};

/// One instruction of classic BPF (`struct sock_filter`).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Operation.
    pub code: u16,
    /// Instructions to skip when a test holds.
    pub jump_true: u8,
    /// Instructions to skip when it does not.
    pub jump_false: u8,
    /// Operand.
    pub operand: u32,
}

#[repr(C)]
struct Program {
    length: u16,
    instructions: *const Instruction,
}

const SET_MODE_FILTER: libc::c_uint = 1;
const GET_NOTIF_SIZES: libc::c_uint = 3;
const NEW_LISTENER: libc::c_ulong = 1 << 3;
const WAIT_KILLABLE_RECV: libc::c_ulong = 1 << 5;
const FD_SYNC_WAKE_UP: u64 = 1;
const CONTINUE: u32 = 1;

const fn request(direction: u64, number: u64, size: u64) -> u64 {
    direction << 30 | size << 16 | (b'!' as u64) << 8 | number
}
const NOTIF_RECV: u64 = request(3, 0, 80);
const NOTIF_SEND: u64 = request(3, 1, 24);
const NOTIF_ID_VALID: u64 = request(1, 2, 8);
const NOTIF_ADDFD: u64 = request(1, 3, 24);
const NOTIF_SET_FLAGS: u64 = request(1, 4, 8);

/// A system call that waits for an answer (`struct seccomp_notif`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Notification {
    /// What the answer names.
    pub id: u64,
    /// The thread, in our pid namespace; 0 when it is not visible there.
    pub tid: u32,
    /// Always 0.
    pub flags: u32,
    /// The call's number, of the architecture below.
    pub number: i32,
    /// `AUDIT_ARCH_*`.
    pub architecture: u32,
    /// Where the call was made.
    pub instruction: u64,
    /// The registers.
    pub arguments: [u64; 6],
}

#[repr(C)]
struct Response {
    id: u64,
    value: i64,
    error: i32,
    flags: u32,
}

#[repr(C)]
struct AddDescriptor {
    id: u64,
    flags: u32,
    source: u32,
    target: u32,
    target_flags: u32,
}

/// Installs the filter on the calling thread; gives the listener.
///
/// # Errors
/// As seccomp(2): `EBUSY` when a listener is above already, `EACCES` without no_new_privs or CAP_SYS_ADMIN, `EINVAL` on
/// kernels before 5.19.
pub fn install(filter: &[Instruction]) -> Result<OwnedFd, Errno> {
    let length = u16::try_from(filter.len()).map_err(|_| Errno::E2BIG)?;
    let program = Program {
        length,
        instructions: filter.as_ptr(),
    };
    // SAFETY: `program` leads to as many instructions as it says; the kernel copies them.
    let fd = check(unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            SET_MODE_FILTER,
            NEW_LISTENER | WAIT_KILLABLE_RECV,
            &raw const program,
        )
    })?;
    // SAFETY: the kernel has just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// Checks that the kernel's structures have the sizes that this file was written for.
///
/// # Errors
/// `EPROTO` when they have not; as seccomp(2).
pub fn check_sizes() -> Result<(), Errno> {
    let mut sizes = [0_u16; 3];
    // SAFETY: the kernel writes three 16-bit sizes.
    check(unsafe { libc::syscall(libc::SYS_seccomp, GET_NOTIF_SIZES, 0, sizes.as_mut_ptr()) })?;
    if sizes == [80, 24, 64] {
        Ok(())
    } else {
        Err(Errno::EPROTO)
    }
}

/// The end of a filter at which its calls arrive.
#[derive(Debug)]
pub struct Listener(OwnedFd);

impl Listener {
    /// Takes over a listener. Asks the kernel to wake the receiver on the caller's processor.
    #[must_use]
    pub fn new(fd: OwnedFd) -> Self {
        let listener = Self(fd);
        // A refusal only costs speed.
        let _ = listener.wake_in_step();
        listener
    }

    /// Asks the kernel to wake the receiver on the caller's processor, which waits for it anyway.
    ///
    /// # Errors
    /// `EINVAL` before Linux 6.6.
    pub fn wake_in_step(&self) -> Result<(), Errno> {
        // SAFETY: the argument is a value, not a pointer.
        check(libc::c_long::from(unsafe {
            libc::ioctl(self.0.as_raw_fd(), NOTIF_SET_FLAGS as _, FD_SYNC_WAKE_UP)
        }))
        .map(drop)
    }

    /// Waits for the next call.
    ///
    /// # Errors
    /// `ENOENT` when the caller was killed meanwhile, or nobody is left; `EINTR`.
    pub fn receive(&self) -> Result<Notification, Errno> {
        let mut notification = Notification::default();
        // SAFETY: the structure is live, zeroed as the kernel wants it, and of the size that the request encodes.
        check(libc::c_long::from(unsafe {
            libc::ioctl(self.0.as_raw_fd(), NOTIF_RECV as _, &raw mut notification)
        }))?;
        Ok(notification)
    }

    /// Whether the caller still waits, so that what was looked up under its number was its own.
    #[must_use]
    pub fn is_waiting(&self, id: u64) -> bool {
        // SAFETY: the kernel reads one number.
        check(libc::c_long::from(unsafe {
            libc::ioctl(self.0.as_raw_fd(), NOTIF_ID_VALID as _, &raw const id)
        }))
        .is_ok()
    }

    /// Lets the kernel go on with the call, as it then finds its arguments.
    ///
    /// # Errors
    /// `ENOENT` when the caller is gone.
    pub fn answer_continue(&self, id: u64) -> Result<(), Errno> {
        self.send(&Response {
            id,
            value: 0,
            error: 0,
            flags: CONTINUE,
        })
    }

    /// Answers with a result.
    ///
    /// # Errors
    /// `ENOENT` when the caller is gone.
    pub fn answer(&self, id: u64, result: Result<i64, Errno>) -> Result<(), Errno> {
        self.send(&match result {
            Ok(value) => Response {
                id,
                value,
                error: 0,
                flags: 0,
            },
            Err(error) => Response {
                id,
                value: 0,
                error: -(error as i32),
                flags: 0,
            },
        })
    }

    /// Answers as if a signal had come in between: the kernel runs the handler, then repeats the call or fails it with
    /// `EINTR`, as the handler was set up. Only for a caller for which a signal waits.
    ///
    /// # Errors
    /// `ENOENT` when the caller is gone.
    pub fn answer_interrupted(&self, id: u64) -> Result<(), Errno> {
        const ERESTARTSYS: i32 = 512;
        self.send(&Response {
            id,
            value: 0,
            error: -ERESTARTSYS,
            flags: 0,
        })
    }

    fn send(&self, response: &Response) -> Result<(), Errno> {
        // SAFETY: the structure is live and of the size that the request encodes.
        check(libc::c_long::from(unsafe {
            libc::ioctl(
                self.0.as_raw_fd(),
                NOTIF_SEND as _,
                std::ptr::from_ref(response),
            )
        }))
        .map(drop)
    }

    /// Moves a descriptor into the caller and answers with its number.
    ///
    /// Two steps, although the kernel has one for both: our own copy must be closed before the caller goes on, or it
    /// would meet a writer of its FIFO, a lock, or a program busy being written, that it has closed itself. Only a fatal
    /// signal can come in between.
    ///
    /// # Errors
    /// `EMFILE` when the caller's limit is reached, and the call then still waits; `ENOENT` when it is gone.
    pub fn answer_descriptor(&self, id: u64, descriptor: OwnedFd, flags: i32) -> Result<(), Errno> {
        let add = AddDescriptor {
            id,
            flags: 0,
            source: descriptor.as_raw_fd() as u32,
            target: 0,
            target_flags: (flags & libc::O_CLOEXEC) as u32,
        };
        // SAFETY: the structure is live and of the size that the request encodes.
        let number = check(libc::c_long::from(unsafe {
            libc::ioctl(self.0.as_raw_fd(), NOTIF_ADDFD as _, &raw const add)
        }))?;
        drop(descriptor);
        self.answer(id, Ok(number))
    }

    /// Whether no process is left that uses the filter.
    #[must_use]
    pub fn is_over(&self) -> bool {
        let mut poll = libc::pollfd {
            fd: self.0.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one live pollfd.
        unsafe { libc::poll(&raw mut poll, 1, 0) };
        poll.revents & (libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) != 0
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
