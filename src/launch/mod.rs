//! The three processes of a run: front, supervisor, target; signals, hand-over, exit status.
//!
//! `guard` itself is the front, which its caller waits for. It forks the supervisor, which forks the target; so the
//! supervisor is an ancestor of everything that the command starts, and outlives the front while anything of it runs.
#![forbid(unsafe_code)]

mod advice;
mod environment;
mod events;
mod front;
mod inner;
mod message;
mod probe;
mod sandbox;
mod supervisor;
mod target;
mod watch;

use std::ffi::OsString;
use std::time::Duration;

pub use advice::with_causes;
pub use environment::ACTIVE;
pub use probe::{Capability, Need, probe};

use crate::plan::Plan;
use crate::record::{Attempt, Weight};
pub use crate::supervise::Voice;
pub use crate::supervise::workspace::{Found, Resolve};
use crate::sys::Errno;
use crate::wall::WallError;

/// What a run tells the outside. Lives in the supervisor's process, called from one thread at a time.
pub trait Observer: Send {
    /// Another guard is in charge of this process already: it keeps the record for both.
    fn inside_another(&mut self);
    /// The supervisor runs; the command is about to be executed as process `pid`.
    fn started(&mut self, pid: i32);
    /// A call was refused.
    fn refused(&mut self, attempt: &Attempt, voice: Voice);
    /// Something to say once, in words.
    fn notice(&mut self, text: &str, weight: Weight);
    /// The command itself has ended; background descendants may still run. Says the summary. Returns the exit status
    /// for the caller of guard, given the command's own.
    fn command_ended(&mut self, status: i32) -> i32;
    /// The last descendant is gone.
    fn finished(&mut self);
    /// After how long without news [`Observer::catch_up`] is to be called; none when it need not be.
    fn due(&self) -> Option<Duration>;
    /// Does what had to wait.
    fn catch_up(&mut self);
}

/// A command to run under a plan.
pub struct Request {
    /// What is protected.
    pub plan: Plan,
    /// Program and arguments.
    pub command: Vec<OsString>,
    /// The id of the run, for the command's environment.
    pub run: String,
    /// What to do where not all of it can be enforced.
    pub effort: Effort,
    /// Finds the workspace of a command that goes to one; none where there is one already.
    pub workspace: Option<Resolve>,
}

/// What to do where not all can be enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// The command does not start.
    Strict,
    /// It starts with what there is.
    BestEffort,
}

/// Why a command did not start, or could not be seen through.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// There is no such program.
    #[error("cannot find {program}")]
    NotFound {
        /// Its name as given.
        program: String,
    },
    /// It cannot be executed.
    #[error("cannot execute {program}: {errno}")]
    NotExecutable {
        /// Its name as given.
        program: String,
        /// Why.
        errno: Errno,
    },
    /// There is no wall.
    #[error("cannot build the wall")]
    Wall(#[from] WallError),
    /// What the policy asks cannot be enforced.
    #[error("{0}")]
    NotEnforced(String),
    /// A system call of guard's own failed.
    #[error("cannot {what}: {errno}")]
    System {
        /// What it was to do.
        what: &'static str,
        /// Why.
        errno: Errno,
    },
    /// The supervisor went away while the command ran.
    #[error(
        "the supervisor was killed; the command was ended, and nothing protected could change meanwhile"
    )]
    SupervisorLost,
}

impl LaunchError {
    /// Whether it is about what this machine lets guard do, and not about the command.
    #[must_use]
    pub fn is_about_the_machine(&self) -> bool {
        matches!(
            self,
            Self::Wall(_) | Self::NotEnforced(_) | Self::System { .. }
        )
    }

    /// The exit status that stands for it, as for env(1) and timeout(1).
    #[must_use]
    pub fn exit_status(&self) -> i32 {
        match self {
            Self::NotFound { .. } => 127,
            Self::NotExecutable { .. } => 126,
            Self::Wall(_) | Self::NotEnforced(_) | Self::System { .. } | Self::SupervisorLost => {
                125
            }
        }
    }
}

/// Names what was to be done when a system call fails.
trait Doing<T> {
    fn doing(self, what: &'static str) -> Result<T, LaunchError>;
}

impl<T> Doing<T> for Result<T, Errno> {
    fn doing(self, what: &'static str) -> Result<T, LaunchError> {
        self.map_err(|errno| LaunchError::System { what, errno })
    }
}

/// Runs a command; gives the exit status for guard's caller.
///
/// # Errors
/// [`LaunchError`], with nothing of the command run, but for [`LaunchError::SupervisorLost`].
pub fn run(request: Request, observer: Box<dyn Observer>) -> Result<i32, LaunchError> {
    front::run(request, observer)
}

/// Whether this process is under a guard that answers: a door is open, a filter is in force, and who listens at the door is
/// above this process. A variable alone is no guard.
#[must_use]
pub fn is_guarded() -> bool {
    inner::Outer::find().is_some()
}

/// The id of the run that this process is a part of, where the environment is that run's own.
#[must_use]
pub fn run_around() -> Option<String> {
    inner::Outer::announced()?;
    std::env::var(environment::RUN).ok()
}
