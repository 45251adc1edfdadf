//! The coding agents that guard knows: where they keep their state, how their commands come to run under guard, and what
//! was done for that to their configuration.
#![forbid(unsafe_code)]

mod edit;
mod file;
mod hook;
mod known;
mod listing;
mod notes;
mod place;
mod shell;
mod verify;
mod wrap;

#[cfg(fuzzing)]
pub use hook::inside;
pub use hook::{Answer, DIALECTS, MOST, dialect};
pub use known::{Agent, KNOWN, known};
pub use listing::{Found, Wrapped, look};
pub use place::{PlaceError, Surroundings};
pub use shell::install;
pub use verify::{Report, Session, Verdict, Verified, can_verify, prepare, probe, verify};
pub use wrap::{Outcome, Proposal, WrapError, unwrap, wrap};

#[cfg(test)]
mod tests;
