//! Proves that an agent's commands run under guard: the real agent is started against a fake model, which has it run a probe.

mod answer;
mod asked;
mod model;
mod probe;
mod room;
mod start;

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

pub use probe::{Report, Session, probe};

use self::model::{Heard, Model};
use self::room::Room;
use self::start::Start;
use super::known::Agent;
use super::listing::{self, Found};
use super::{PlaceError, Surroundings, WrapError};
use crate::launch;
use crate::sys::process;

/// An agent that has said its version takes no longer.
const FOR_VERSION: Duration = Duration::from_secs(20);
/// After the probe's report the agent may go on so long: it may call its tool once more.
const AFTER_REPORT: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(30);
/// Bytes of what an agent printed that are kept.
const KEPT: usize = 4000;

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
    let failed = |what: &str| {
        let what = what.to_owned();
        |source| VerifyError::System { what, source }
    };
    let model = Model::serve(command).map_err(failed("cannot serve a model"))?;
    room.furnish(agent, start, here, &model.url())?;
    // What outlives the agent comes to this process, and is ended by it.
    process::become_subreaper()
        .map_err(io::Error::from)
        .map_err(failed("cannot become the parent of orphans"))?;
    let stage = Stage {
        program,
        start,
        room: &room,
        env: room.environment(start, here, &model.url()),
        url: model.url(),
    };
    let verified = stage.play(&model, limit);
    process::end_children(Duration::from_secs(5));
    verified
}

/// An agent in its room.
struct Stage<'a> {
    program: &'a Path,
    start: &'static Start,
    room: &'a Room,
    env: Vec<(String, OsString)>,
    url: String,
}

impl Stage<'_> {
    fn play(&self, model: &Model, limit: Duration) -> Result<Verified, VerifyError> {
        let mut asked = self.start(&["--version"])?;
        self.wait(&mut asked, limit.min(FOR_VERSION), || false);
        let version = version(&self.output());
        if !self.start.before.is_empty() {
            let mut before = self.start(self.start.before)?;
            self.wait(&mut before, limit, || false);
        }
        let mut agent = self.start(self.start.arguments)?;
        let reports = || probe::read(&self.room.report(), &self.room.token);
        let ended = self.wait(&mut agent, limit, || !reports().is_empty());
        let verdict = match worst(reports()) {
            Some(report) => Verdict::Ran(report),
            None => Verdict::Untried(why(&model.heard(), &self.room.token, ended, limit)),
        };
        Ok(Verified {
            version,
            verdict,
            output: self.output(),
        })
    }

    fn start(&self, arguments: &[&str]) -> Result<Child, VerifyError> {
        let arguments = arguments
            .iter()
            .map(|word| word.replace("{url}", &self.url));
        let spawn = || {
            let output = File::create(self.room.output())?;
            Command::new(self.program)
                .args(arguments)
                .env_clear()
                .envs(self.env.iter().map(|(name, value)| (name, value)))
                .current_dir(self.room.work())
                .stdin(Stdio::null())
                .stdout(output.try_clone()?)
                .stderr(output)
                .process_group(0)
                .spawn()
        };
        spawn().map_err(|source| VerifyError::System {
            what: format!("cannot start {}", self.program.display()),
            source,
        })
    }

    /// Waits until it ends, is `done` for a while, or has taken too long; then it is ended.
    fn wait(
        &self,
        child: &mut Child,
        limit: Duration,
        done: impl Fn() -> bool,
    ) -> Option<ExitStatus> {
        let begun = Instant::now();
        let mut since = None;
        let mut status = None;
        while begun.elapsed() < limit {
            status = child.try_wait().ok().flatten();
            if since.is_none() && done() {
                since = Some(Instant::now());
            }
            if status.is_some() || since.is_some_and(|since| since.elapsed() > AFTER_REPORT) {
                break;
            }
            thread::sleep(PAUSE);
        }
        if status.is_none() {
            let _ = child.kill();
            let _ = child.wait();
        }
        status
    }

    fn output(&self) -> String {
        let bytes = std::fs::read(self.room.output()).unwrap_or_default();
        let end = &bytes[bytes.len().saturating_sub(KEPT)..];
        String::from_utf8_lossy(end).into_owned()
    }
}

/// Of several reports the worst: one command without guard is enough.
fn worst(reports: Vec<Report>) -> Option<Report> {
    let badness = |report: &Report| (!report.guarded, report.session == Session::Removed);
    reports.into_iter().reduce(|worst, report| {
        if badness(&report) > badness(&worst) {
            report
        } else {
            worst
        }
    })
}

/// The first word that looks like a version.
fn version(output: &str) -> Option<String> {
    let words = output.split(|c: char| c.is_whitespace() || "/(),".contains(c));
    let mut numbers = words.map(|word| word.trim_start_matches('v'));
    let is_one = |word: &&str| {
        word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.') && word.len() < 40
    };
    numbers
        .find(is_one)
        .map(|word| word.trim_end_matches('.').to_owned())
}

/// Why there is no report.
fn why(heard: &Heard, token: &str, ended: Option<ExitStatus>, limit: Duration) -> String {
    let far = match heard {
        Heard {
            result: Some(text), ..
        } if text.contains(token) => {
            "its tool's answer has the probe's word in it, but the probe itself left no report"
                .to_owned()
        }
        Heard {
            result: Some(text), ..
        } => format!(
            "its tool did not run the probe, it answered: {}",
            text.trim()
        ),
        Heard { asked: 0, .. } => "it never asked the model".to_owned(),
        Heard { called: 0, .. } => {
            "it asked the model, but with no tool that runs commands".to_owned()
        }
        _ => "it was told to call its shell tool and never did".to_owned(),
    };
    match ended {
        Some(status) => format!("{far} ({status})"),
        None => format!("{far} within {} s", limit.as_secs()),
    }
}

#[cfg(test)]
mod tests;
