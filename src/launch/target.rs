//! The target: puts wall and filter into force on itself, hands over the listener, executes the command.

use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::sys::signal::{SigSet, Signal};

use super::environment::Environment;
use super::message::{Layer, Message};
use super::{Effort, advice};
use crate::sys::seccomp::{self, Instruction};
use crate::sys::{Errno, descriptor, process, signal, startup};
use crate::wall::{NewPrivileges, Wall};

/// Who answers a target's calls.
pub enum Answering {
    /// The supervisor that has just forked it, by this filter (or why the kernel will not take it).
    Own(Result<Vec<Instruction>, Errno>),
    /// The supervisor of the guard that this one runs in.
    Outer,
}

/// What a target becomes.
pub struct Becoming {
    /// Program and arguments.
    pub command: Vec<CString>,
    /// What it finds in its environment.
    pub environment: Environment,
    /// The wall.
    pub wall: Option<Wall>,
    /// Who answers its calls.
    pub answering: Answering,
    /// Whether it may gain privileges.
    pub privileges: NewPrivileges,
    /// What to do where a layer cannot be put into force.
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
        // The supervisor tries on this process whether it can look into others; guard's own file may be unreadable.
        process::become_readable()
            .map_err(|errno| Message::Failed(format!("cannot be looked into: {errno}")))?;
        let missing = |layer, why: String| match self.effort {
            Effort::BestEffort => {
                Message::Missing(layer, why).send(supervisor);
                Ok(())
            }
            Effort::Strict => Err(Message::Failed(why)),
        };
        if self.privileges == NewPrivileges::GivenUp {
            process::give_up_new_privileges().map_err(|errno| {
                Message::Failed(format!("cannot give up gaining privileges: {errno}"))
            })?;
        }
        if let Some(wall) = self.wall
            && let Err(error) = wall.enforce(self.privileges)
        {
            missing(Layer::Wall, advice::with_causes(&error))?;
        }
        match self.answering.install() {
            Ok(None) => Message::Ready.send(supervisor),
            Ok(Some(listener)) => {
                descriptor::send(supervisor, listener.as_fd()).map_err(|errno| {
                    Message::Failed(format!("cannot hand over the listener: {errno}"))
                })?;
                // Any copy that stays would make callers wait for ever once the supervisor is gone.
                drop(listener);
            }
            Err(errno) => missing(Layer::Supervisor, advice::no_listener(errno))?,
        }
        match Message::receive(supervisor) {
            Ok(Some(Message::Go)) => {}
            _ => return Err(Message::Failed("the supervisor did not get ready".into())),
        }
        if startup::pipe_signal() == startup::PipeSignal::Default {
            signal::restore_default(Signal::SIGPIPE)
                .map_err(|errno| Message::Failed(format!("cannot restore SIGPIPE: {errno}")))?;
        }
        for stream in startup::closed_streams() {
            descriptor::close_standard(stream);
        }
        signal::set_mask(&self.mask)
            .map_err(|errno| Message::Failed(format!("cannot restore the signal mask: {errno}")))?;
        Err(
            match process::execute(&self.command, self.environment.words()) {
                Errno::ENOENT | Errno::ENOTDIR => Message::NotFound,
                errno => Message::NotExecutable(errno as i32),
            },
        )
    }
}

impl Answering {
    /// Puts the filter into force, where that is ours to do.
    fn install(self) -> Result<Option<OwnedFd>, Errno> {
        match self {
            Self::Own(filter) => seccomp::install(&filter?).map(Some),
            Self::Outer => Ok(None),
        }
    }
}
