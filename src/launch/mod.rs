//! The three processes of a run: front, supervisor, target; signals, hand-over, exit status.
#![forbid(unsafe_code)]

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
