//! The front: what the caller of guard waits for. It passes on signals, stops when the command stops, and ends with the
//! command's status.

use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::sys::signalfd::{SignalFd, siginfo};

use super::environment::Environment;
use super::message::Message;
use super::sandbox::Sandbox;
use super::supervisor::{Run, supervise};
use super::{Doing, LaunchError, Observer, Request, advice};
use crate::sys::{Errno, descriptor, file, process, signal};

/// Runs a command; gives the exit status.
///
/// # Errors
/// [`LaunchError`].
pub fn run(request: Request, observer: Box<dyn Observer>) -> Result<i32, LaunchError> {
    let program = request
        .command
        .first()
        .map(|word| word.to_string_lossy().into_owned())
        .unwrap_or_default();
    let command =
        process::words(&request.command).doing("pass on a word with a zero byte in it")?;
    if !process::sees_itself() {
        return Err(LaunchError::NotEnforced(advice::NO_PROCFS.into()));
    }
    let sandbox = Sandbox::prepare(&request.plan, request.effort)?;
    let mask = signal::block_all().doing("block signals")?;
    let (ours, theirs) = process::socket_pair().doing("make a socket pair")?;
    let run = Run {
        command,
        environment: Environment::of_the_caller(&request.run),
        plan: request.plan,
        sandbox,
        effort: request.effort,
        mask,
        observer,
        workspace: request.workspace,
    };
    let held = ours.as_fd();
    // The front has no use for the plan, and taking it apart would give it a copy of every page first.
    let run = ManuallyDrop::new(run);
    let job = move || {
        descriptor::close_copy(held);
        supervise(ManuallyDrop::into_inner(run), theirs.as_fd())
    };
    let supervisor = process::fork(job).doing("start the supervisor")?;
    let signals = signal::receive_all().doing("receive signals")?;
    give_up_streams(Streams::InputAndOutput)?;
    Front {
        supervisor,
        socket: ours,
        signals,
        target: None,
        program,
    }
    .wait()
}

/// Which standard streams a process of guard's own has no use for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Streams {
    /// Input and output: they are the command's, and whoever reads them waits for all copies to be closed.
    InputAndOutput,
    /// Errors, once the command has ended.
    Errors,
}

/// Lets go of streams, and of every other descriptor that the caller handed down.
///
/// # Errors
/// When the null device cannot be opened.
pub fn give_up_streams(streams: Streams) -> Result<(), LaunchError> {
    let null = file::open_absolute(c"/dev/null", libc::O_RDWR).doing("open the null device")?;
    let numbers: &[i32] = if streams == Streams::Errors {
        &[2]
    } else {
        &[0, 1]
    };
    for number in numbers {
        descriptor::replace(*number, null.as_fd()).doing("let go of a standard stream")?;
    }
    descriptor::close_inherited();
    Ok(())
}

/// How long the front waits for a supervisor that is about to end: by waiting for it the front's caller learns what time the
/// command took (getrusage(2): only children that were waited for count), and finds a record that is complete.
const MOMENT: Duration = Duration::from_millis(250);

struct Front {
    supervisor: i32,
    socket: OwnedFd,
    signals: SignalFd,
    target: Option<(i32, Option<OwnedFd>)>,
    program: String,
}

impl Front {
    fn wait(mut self) -> Result<i32, LaunchError> {
        loop {
            let [told, signalled] =
                process::wait_for([self.socket.as_fd(), self.signals.as_fd()]).doing("wait")?;
            while signalled && let Ok(Some(signal)) = self.signals.read_signal() {
                self.pass_on(&signal);
            }
            if !told {
                continue;
            }
            match Message::receive(self.socket.as_fd()).doing("listen to the supervisor")? {
                Some(Message::Started(pid)) => {
                    self.target = Some((pid, descriptor::open_process(pid, 0).ok()))
                }
                Some(Message::Stopped(signal)) => self.stop(signal)?,
                Some(Message::Ended(status)) => return Ok(status),
                Some(Message::Over(status)) => {
                    let deadline = Instant::now() + MOMENT;
                    process::reap(self.supervisor, deadline);
                    return Ok(status);
                }
                Some(failure) => return Err(failure.error(&self.program)),
                None => return Err(self.lost()),
            }
        }
    }

    /// A signal from a person or another process goes to the command. One from the terminal has reached it already, as
    /// a member of the same group.
    fn pass_on(&self, signal: &siginfo) {
        let number = signal.ssi_signo as i32;
        let from_kernel = signal.ssi_code > 0;
        let own = matches!(
            number,
            libc::SIGCHLD | libc::SIGWINCH | libc::SIGPIPE | libc::SIGTTIN | libc::SIGTTOU
        );
        if own || from_kernel && number != libc::SIGCONT {
            return;
        }
        Message::Signal(number).send(self.socket.as_fd());
    }

    /// Stops as the command did, so that the shell sees it, and goes on with it.
    fn stop(&self, number: i32) -> Result<(), LaunchError> {
        signal::stop_self(number).doing("stop with the command")?;
        Message::Signal(libc::SIGCONT).send(self.socket.as_fd());
        Ok(())
    }

    fn lost(&self) -> LaunchError {
        let Some((_, process)) = &self.target else {
            return LaunchError::NotEnforced(advice::LOST_EARLY.into());
        };
        if let Some(process) = process
            && let Err(error) = process::kill(process.as_fd())
            && error != Errno::ESRCH
        {
            tracing::error!(%error, "cannot end the command");
        }
        LaunchError::SupervisorLost
    }
}
