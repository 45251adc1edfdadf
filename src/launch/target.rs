//! The target: puts wall and filter into force on itself, hands over the listener, executes the command.

use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;

use nix::sys::signal::{SigSet, Signal};

use super::Effort;
use super::message::Message;
use super::sandbox::Sandbox;
use crate::sys::seccomp::{self, Instruction};
use crate::sys::signal::Disposition;
use crate::sys::{Errno, descriptor, process, signal, startup};
use crate::wall::{NewPrivileges, Wall};

/// What a target becomes.
pub struct Becoming {
    /// Program and arguments.
    pub command: Vec<CString>,
    /// The wall.
    pub wall: Option<Wall>,
    /// The filter.
    pub filter: Vec<Instruction>,
    /// Whether it may gain privileges.
    pub privileges: NewPrivileges,
    /// What to do without a listener.
    pub effort: Effort,
    /// Signals that the caller had blocked.
    pub mask: SigSet,
}

impl Becoming {
    /// Becomes the command. Returns the status to exit with when that failed; the supervisor has been told why.
    pub fn become_command(self, supervisor: BorrowedFd<'_>) -> i32 {
        match self.try_become(supervisor) {
            Ok(never) => match never {},
            Err(message) => {
                message.send(supervisor);
                125
            }
        }
    }

    fn try_become(self, supervisor: BorrowedFd<'_>) -> Result<std::convert::Infallible, Message> {
        Sandbox::restrict(self.wall, self.privileges)
            .map_err(|error| Message::Failed(format!("the wall does not stand: {error}")))?;
        match seccomp::install(&self.filter) {
            Ok(listener) => {
                descriptor::send(supervisor, listener.as_fd()).map_err(|errno| {
                    Message::Failed(format!("cannot hand over the listener: {errno}"))
                })?;
                // Any copy that stays would make callers wait for ever once the supervisor is gone.
                drop(listener);
                match Message::receive(supervisor) {
                    Ok(Some(Message::Go)) => {}
                    _ => return Err(Message::Failed("the supervisor did not get ready".into())),
                }
            }
            Err(errno) if self.effort == Effort::BestEffort => {
                tracing::warn!(%errno, "no supervisor");
            }
            Err(errno) => return Err(Message::Failed(no_listener(errno))),
        }
        let environment = environment();
        if startup::pipe_signal() == startup::PipeSignal::Default {
            signal::set_disposition(Signal::SIGPIPE, Disposition::Default)
                .map_err(|errno| Message::Failed(format!("cannot restore SIGPIPE: {errno}")))?;
        }
        for stream in startup::closed_streams() {
            descriptor::close_standard(stream);
        }
        signal::set_mask(&self.mask)
            .map_err(|errno| Message::Failed(format!("cannot restore the signal mask: {errno}")))?;
        Err(match process::execute(&self.command, &environment) {
            Errno::ENOENT | Errno::ENOTDIR => Message::NotFound,
            errno => Message::NotExecutable(errno as i32),
        })
    }
}

fn no_listener(errno: Errno) -> String {
    match errno {
        Errno::EBUSY => "another supervisor (a guard, or a sandbox of its kind) is in charge of this process already, \
             and the kernel allows one; run the command without the inner guard"
            .into(),
        Errno::EACCES => {
            "the kernel allows no system call filter: no_new_privs is not set and CAP_SYS_ADMIN is missing".into()
        }
        errno => format!("the kernel does not take the system call filter (Linux 5.19 or later is needed): {errno}"),
    }
}

/// The caller's environment, and the sign by which a command can tell that it is guarded.
fn environment() -> Vec<CString> {
    let inherited = std::env::vars_os().filter(|(name, _)| name != "GUARD_ACTIVE");
    inherited
        .filter_map(|(name, value)| {
            CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()).ok()
        })
        .chain([c"GUARD_ACTIVE=1".to_owned()])
        .collect()
}
