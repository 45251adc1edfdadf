//! Proves that an agent's commands run under guard: the real agent is started against a fake model, which has it run a probe.

mod answer;
mod asked;
mod model;
mod probe;
mod room;
mod stage;
mod start;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use probe::{Report, Session, probe};

use self::model::Model;
use self::room::Room;
use self::stage::Stage;
use super::known::Agent;
use super::listing::{self, Found};
use super::{PlaceError, Surroundings, WrapError};
use crate::launch;
use crate::sys::{process, signal};

/// Why an agent was not even started.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// There is no row for it.
    #[error("{0}")]
    NoWay(&'static str),
    /// Its program is not there.
    #[error("none of its programs is on PATH: {0}")]
    NotInstalled(String),
    /// Everything would look guarded.
    #[error(
        "guard agent verify runs under guard itself, and so does all that it starts; run it outside"
    )]
    Inside,
    /// A signal asked for the end.
    #[error("it was interrupted")]
    Interrupted,
    /// Its configuration.
    #[error(transparent)]
    Wrap(#[from] WrapError),
    /// A place.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The system says no.
    #[error("{what}: {source}")]
    System {
        /// What was to be done.
        what: String,
        /// What it says.
        source: io::Error,
    },
}

/// What came out.
#[derive(Debug)]
pub struct Verified {
    /// The version that the agent says it has.
    pub version: Option<String>,
    /// Whether its command ran under guard.
    pub verdict: Verdict,
    /// The end of what it printed.
    pub output: String,
}

/// Whether an agent's command ran under guard.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The probe ran, and this is its report.
    Ran(Report),
    /// It did not run, so nothing is known; why.
    Untried(String),
}

/// What is known of an agent before it is started.
///
/// # Errors
/// It cannot be started.
pub fn prepare(
    agent: &'static Agent,
    here: &Surroundings<'_>,
) -> Result<(Found, PathBuf), VerifyError> {
    start::how(agent.name).map_err(VerifyError::NoWay)?;
    let mut found = listing::find(agent, here)?;
    let Some(program) = found.program.take() else {
        return Err(VerifyError::NotInstalled(agent.programs.join(", ")));
    };
    if launch::is_guarded() {
        return Err(VerifyError::Inside);
    }
    Ok((found, program))
}

/// Whether there is a way to verify an agent.
#[must_use]
pub fn can_verify(agent: &Agent) -> bool {
    start::how(agent.name).is_ok()
}

/// Starts an agent and looks where its command runs. All that it started is ended when this returns.
///
/// # Errors
/// It cannot be started.
pub fn verify(
    agent: &'static Agent,
    program: &Path,
    here: &Surroundings<'_>,
    limit: Duration,
) -> Result<Verified, VerifyError> {
    let start = start::how(agent.name).map_err(VerifyError::NoWay)?;
    let room = Room::new()?;
    let command = probe::line(
        &here.guard,
        &room.token,
        &room.session(start),
        &room.report(),
    )?;
    // Whoever interrupts this wants the agent ended and the folder gone. The model's thread keeps the mask.
    let mask = signal::block_all().map_err(doing("block signals"))?;
    let play = || {
        let model = Model::serve(command).map_err(doing("serve a model"))?;
        room.furnish(agent, start, here, &model.url())?;
        // What outlives the agent comes to this process, and is ended by it.
        process::become_subreaper().map_err(doing("become the parent of orphans"))?;
        let env = room.environment(start, here, &model.url());
        let signals = signal::receive_all().map_err(doing("receive signals"))?;
        let stage = Stage {
            program,
            start,
            room: &room,
            env,
            mask,
            signals,
            model: &model,
        };
        stage.play(limit)
    };
    let verified = play();
    process::end_children(Duration::from_secs(5));
    drop(room);
    signal::set_mask(&mask).map_err(doing("unblock signals"))?;
    verified
}

/// Names what was to be done when a call fails.
fn doing<E: Into<io::Error>>(what: &str) -> impl FnOnce(E) -> VerifyError {
    let what = format!("cannot {what}");
    |source| VerifyError::System {
        what,
        source: source.into(),
    }
}

#[cfg(test)]
mod tests;
