//! An agent in its room: started, waited for, and what its run comes to.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::SignalFd;

use super::model::{Heard, Model};
use super::probe::{self, Report, Session};
use super::room::Room;
use super::start::Start;
use super::{Verdict, Verified, VerifyError, doing};
use crate::sys::signal;

/// An agent that has said its version takes no longer.
const FOR_VERSION: Duration = Duration::from_secs(20);
/// After the probe's report the agent may go on so long: it may call its tool once more.
const AFTER_REPORT: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(30);
/// Bytes of what an agent printed that are kept.
const KEPT: usize = 4000;

/// An agent in its room.
pub struct Stage<'a> {
    /// Its program.
    pub program: &'a Path,
    /// How it is started.
    pub start: &'static Start,
    /// Where.
    pub room: &'a Room,
    /// Its environment.
    pub env: Vec<(String, OsString)>,
    /// Which signals are blocked for it; for this process all are.
    pub mask: SigSet,
    /// The signals to this process.
    pub signals: SignalFd,
    /// Its model.
    pub model: &'a Model,
}

/// The signals that ask for the end.
const ENDING: [Signal; 4] = [
    Signal::SIGINT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGQUIT,
];

impl Stage<'_> {
    /// Runs it.
    pub fn play(&self, limit: Duration) -> Result<Verified, VerifyError> {
        let mut asked = self.start(&["--version"])?;
        let ended = self.wait(&mut asked, limit.min(FOR_VERSION), || false)?;
        let version = ended
            .filter(ExitStatus::success)
            .and(version(&self.output()));
        if !self.start.before.is_empty() {
            let mut before = self.start(self.start.before)?;
            self.wait(&mut before, limit, || false)?;
        }
        let mut agent = self.start(self.start.arguments)?;
        let reports = || probe::read(&self.room.report(), &self.room.token);
        let ended = self.wait(&mut agent, limit, || !reports().is_empty())?;
        let verdict = match worst(reports()) {
            Some(report) => Verdict::Ran(report),
            None => Verdict::Untried(why(&self.model.heard(), &self.room.token, ended, limit)),
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
            .map(|word| word.replace("{url}", &self.model.url()));
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
        // A child inherits the mask.
        signal::set_mask(&self.mask).map_err(doing("unblock signals"))?;
        let spawned = spawn();
        signal::block_all().map_err(doing("block signals"))?;
        spawned.map_err(doing(&format!("start {}", self.program.display())))
    }

    /// Waits until it ends, is `done` for a while, or has taken too long; then it is ended.
    fn wait(
        &self,
        child: &mut Child,
        limit: Duration,
        done: impl Fn() -> bool,
    ) -> Result<Option<ExitStatus>, VerifyError> {
        let begun = Instant::now();
        let mut since = None;
        let mut status = None;
        while begun.elapsed() < limit {
            status = child.try_wait().ok().flatten();
            if since.is_none() && done() {
                since = Some(Instant::now());
            }
            if self.is_interrupted() {
                return Err(VerifyError::Interrupted);
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
        Ok(status)
    }

    fn is_interrupted(&self) -> bool {
        let next = || self.signals.read_signal().ok().flatten();
        std::iter::from_fn(next).any(|got| ENDING.iter().any(|it| *it as u32 == got.ssi_signo))
    }

    fn output(&self) -> String {
        let bytes = std::fs::read(self.room.output()).unwrap_or_default();
        let end = &bytes[bytes.len().saturating_sub(KEPT)..];
        String::from_utf8_lossy(end).into_owned()
    }
}

/// Of several reports the worst: one command without guard is enough.
pub fn worst(reports: Vec<Report>) -> Option<Report> {
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
pub fn version(output: &str) -> Option<String> {
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
pub fn why(heard: &Heard, token: &str, ended: Option<ExitStatus>, limit: Duration) -> String {
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
