//! `guard`: runs a command so that nothing it starts can delete, overwrite or hide what a policy protects.
//!
//! A library only so that the program itself and the fuzzing targets are two users of the same code; nothing in it is
//! meant for other programs.

mod agents;
mod cli;
mod forward;
#[cfg(fuzzing)]
pub mod fuzzing;
mod launch;
mod plan;
mod policy;
#[cfg(test)]
mod random;
mod record;
mod supervise;
mod sys;
mod wall;

pub use cli::main;
