//! The supervisor: receives every call that changes the tree, finds its objects, decides, and lets the kernel go on,
//! refuses, or does the call itself.
#![forbid(unsafe_code)]

mod acting;
mod aftermath;
mod attempt;
pub mod calls;
mod consider;
mod decide;
pub mod filter;
mod judge;
mod limits;
pub mod links;
pub mod mark;
mod observe;
pub mod owned;
mod perform;
pub mod privileged;
mod quick;
mod receive;
mod report;
mod resolve;
mod scopes;
pub mod target;
pub mod territory;
mod tree;
mod unable;
mod wait;
mod walls;
pub mod workspace;

#[cfg(fuzzing)]
pub use resolve::{Last, compare::Maze};

pub use receive::{Backing, Lookouts, Sink, Supervisor, Voice};
pub use scopes::is_descendant;
