//! A child process that has to be done by a deadline and is ended after that.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use crate::sys::descriptor::{self, Received};
use crate::sys::process::{self, Change};
use crate::sys::{Errno, signal};

/// The child's end of what connects it with its parent.
pub type Socket<'a> = BorrowedFd<'a>;

/// A process that the calling one has started and not yet buried.
pub struct Child {
    /// Its number.
    pub pid: i32,
    /// Closed at the other end when it has ended.
    socket: OwnedFd,
    /// When its time is over.
    pub deadline: Instant,
    buried: Option<Change>,
}

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By itself.
    Itself,
    /// By a signal that was not ours.
    Killed(i32),
    /// It had to be ended.
    TooLate,
}

impl Child {
    /// Starts one.
    ///
    /// # Errors
    /// As fork(2) and socketpair(2).
    pub fn start(limit: Duration, job: impl FnOnce(Socket<'_>)) -> Result<Self, Errno> {
        let (ours, theirs) = process::socket_pair()?;
        let held = ours.as_fd();
        let pid = process::fork(move || {
            descriptor::close_copy(held);
            job(theirs.as_fd());
            0
        })?;
        Ok(Self {
            pid,
            socket: ours,
            deadline: Instant::now() + limit,
            buried: None,
        })
    }

    /// What it sends next: a message or a descriptor.
    ///
    /// # Errors
    /// `ETIMEDOUT` when its time is over; as recvmsg(2).
    pub fn next(&self) -> Result<Received, Errno> {
        process::wait_until([self.socket.as_fd()], self.deadline)?;
        descriptor::receive(self.socket.as_fd())
    }

    /// The next message; none when it has ended.
    ///
    /// # Errors
    /// As [`Self::next`]; `EBADMSG` for a descriptor.
    pub fn bytes(&self) -> Result<Option<Vec<u8>>, Errno> {
        match self.next()? {
            Received::Bytes(bytes) => Ok(Some(bytes)),
            Received::Closed => Ok(None),
            Received::Descriptor(_) => Err(Errno::EBADMSG),
        }
    }

    /// What can be waited for: a message, or its end.
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Waits for its end.
    pub fn end(mut self) -> Ending {
        loop {
            match self.bytes() {
                Ok(None) => break,
                Ok(Some(_)) | Err(Errno::EBADMSG) => {}
                Err(_) => return Ending::TooLate,
            }
        }
        // Between closing its files and its end lies next to nothing, but it lies there.
        match self.wait(Instant::now() + GRACE) {
            Some(Change::Killed(signal)) => Ending::Killed(signal),
            Some(_) => Ending::Itself,
            None => Ending::TooLate,
        }
    }

    fn wait(&mut self, until: Instant) -> Option<Change> {
        while self.buried.is_none() && Instant::now() < until {
            match process::change(self.pid) {
                Ok(Some(change @ (Change::Exited(_) | Change::Killed(_)))) => {
                    self.buried = Some(change);
                }
                Ok(_) => std::thread::sleep(Duration::from_micros(200)),
                Err(_) => return None,
            }
        }
        self.buried
    }
}

/// How long a process that was killed may take to be gone.
const GRACE: Duration = Duration::from_secs(1);

impl Drop for Child {
    fn drop(&mut self) {
        if self.buried.is_none() {
            // Not buried, so the number is still its own.
            let _ = signal::send(self.pid, libc::SIGKILL);
            self.wait(Instant::now() + GRACE);
        }
    }
}

/// Sends the parent a message. When it is gone, nobody needs to know.
pub fn send(socket: Socket<'_>, bytes: &[u8]) {
    let _ = descriptor::send_bytes(socket, bytes);
}
