//! The three processes of a run: front, supervisor, target; signals, hand-over, exit status.
#![forbid(unsafe_code)]

use std::ffi::OsString;

use crate::plan::Plan;
use crate::record::Attempt;

/// What a run tells the outside. Lives in the supervisor's process, called from one thread at a time.
pub trait Observer: Send {
    /// The supervisor runs; `argv` is about to be executed as `pid`.
    fn started(&mut self, pid: i32);
    /// A call was refused.
    fn refused(&mut self, attempt: &Attempt);
    /// Something to say once, in words.
    fn notice(&mut self, text: &str);
    /// The command itself has ended; background descendants may still run. Says the summary. Returns the exit status
    /// for the caller of guard, given the command's own.
    fn command_ended(&mut self, status: i32) -> i32;
    /// The last descendant is gone.
    fn finished(&mut self);
}

/// Whether a run starts when not all that the policy asks can be enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// It does not.
    Strict,
    /// It does, and says what is missing.
    BestEffort,
}

/// A run to be made.
pub struct Request {
    /// What is protected.
    pub plan: Plan,
    /// The command and its arguments; never empty.
    pub command: Vec<OsString>,
    /// How much must be enforced.
    pub effort: Effort,
}

/// Why a command was not started.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// There is no such program.
    #[error("{0}: not found")]
    NotFound(String),
    /// It cannot be executed.
    #[error("{0}: cannot be executed")]
    NotExecutable(String),
    /// This version cannot.
    #[error("this build of guard cannot start commands yet")]
    Stub,
}

impl LaunchError {
    /// What guard exits with.
    #[must_use]
    pub fn exit_status(&self) -> i32 {
        match self {
            Self::NotFound(_) => 127,
            Self::NotExecutable(_) => 126,
            Self::Stub => 125,
        }
    }
}

/// Runs a command under guard. Returns the exit status for the caller.
///
/// # Errors
/// When the command was not started.
pub fn run(request: Request, observer: Box<dyn Observer>) -> Result<i32, LaunchError> {
    let _ = (request, observer);
    Err(LaunchError::Stub)
}

/// Whether guard can do without a capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// No run starts without it.
    Required,
    /// Runs are slower or less precise without it.
    Wanted,
}

/// Something this machine can do for guard, or not.
pub struct Capability {
    /// A short name.
    pub name: &'static str,
    /// Details; or what is missing and what to do.
    pub works: Result<String, String>,
    /// Whether guard can do without.
    pub needed: Need,
}

/// Tries everything that a run needs, each in a child.
#[must_use]
pub fn probe() -> Vec<Capability> {
    Vec::new()
}
