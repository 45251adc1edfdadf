//! guard starved, stopped, killed, and made to wait: nothing protected changes, nothing hangs, the supervisor does not grow,
//! and each call happens exactly once. `GUARD_LONG=1 cargo test --release --test fault` takes the long numbers; what
//! they gave is in `fault/README.md`.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

#[path = "fault/killed.rs"]
mod killed;
#[path = "fault/load.rs"]
mod load;
#[path = "fault/record.rs"]
mod record;
#[path = "fault/run.rs"]
mod run;
#[path = "fault/starve.rs"]
mod starve;
#[path = "fault/stuck.rs"]
mod stuck;
