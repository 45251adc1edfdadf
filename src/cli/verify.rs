//! `guard agent verify`: what it says of an agent that it started. And the probe, which the agent runs.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::words::{chain, visible};
use super::{Failure, agent, report, say};
use crate::agents::{self, Found, Report, Session, Surroundings, Verdict, Verified, Wrapped};

/// It could not be tried.
const UNTRIED: i32 = 2;
/// Lines of what an agent printed that are shown.
const LINES: usize = 6;

/// What verifying is asked.
#[derive(Args, Debug)]
pub struct VerifyArgs {
    /// The agent, as `guard agent list` names it
    name: String,
    /// How long the agent may take
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: u64,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

/// What the probe is given.
#[derive(Args, Debug)]
pub struct ProbeArgs {
    token: String,
    session: PathBuf,
    report: PathBuf,
}

/// The probe.
pub fn probe(arguments: &ProbeArgs, out: &mut dyn Write) -> Result<i32, Failure> {
    let line = agents::probe(&arguments.token, &arguments.session, &arguments.report);
    writeln!(out, "{}", visible(&line))?;
    Ok(0)
}

/// Verifies an agent.
pub fn main(
    arguments: &VerifyArgs,
    here: &Surroundings<'_>,
    out: &mut dyn Write,
) -> Result<i32, Failure> {
    let agent = agent::named(&arguments.name)?;
    let limit = Duration::from_secs(arguments.timeout);
    let done = agents::prepare(agent, here).and_then(|(found, program)| {
        if let Some(text) = unwrapped(&found.wrapped, agent.name) {
            say(&report::notice(&text));
        }
        agents::verify(agent, &program, here, limit).map(|verified| (verified, Some(found)))
    });
    let (verified, found) = done.unwrap_or_else(|error| {
        let verdict = Verdict::Untried(chain(&error));
        (
            Verified {
                version: None,
                verdict,
                output: String::new(),
            },
            None,
        )
    });
    let said = Said::of(agent.name, &verified, found.as_ref());
    if arguments.json {
        writeln!(out, "{}", said.object(agent.name, &verified))?;
    } else {
        writeln!(out, "{}", said.text)?;
        if said.status == UNTRIED {
            let lines: Vec<&str> = verified
                .output
                .lines()
                .filter(|line| !line.trim().is_empty())
                .collect();
            for line in &lines[lines.len().saturating_sub(LINES)..] {
                writeln!(out, "    {}", visible(line))?;
            }
        }
    }
    Ok(said.status)
}

/// What the files say of the wrap, where that is not that all is well.
fn unwrapped(wrapped: &Wrapped, name: &str) -> Option<String> {
    match wrapped {
        Wrapped::Yes | Wrapped::Unknown => None,
        Wrapped::No => Some(format!("{name} is not wrapped; it is started all the same")),
        Wrapped::Broken(why) => Some(format!(
            "the wrap of {name} is broken: {}; it is started all the same",
            visible(why)
        )),
    }
}

/// A verdict in words.
struct Said {
    status: i32,
    verdict: &'static str,
    text: String,
}

impl Said {
    fn of(name: &str, verified: &Verified, found: Option<&Found>) -> Self {
        let version = verified
            .version
            .as_deref()
            .map(|version| format!(" {}", visible(version)));
        let who = format!("{name}{}", version.unwrap_or_default());
        let report = match &verified.verdict {
            Verdict::Ran(report) => report,
            Verdict::Untried(why) => {
                let text = format!("{who}: could not be tried: {}", visible(why));
                return Self {
                    status: UNTRIED,
                    verdict: "untried",
                    text,
                };
            }
        };
        if !report.guarded {
            let text = format!(
                "{who}: its command ran WITHOUT guard{}",
                advice(name, report, found)
            );
            return Self {
                status: 1,
                verdict: "unguarded",
                text,
            };
        }
        let run = report
            .run
            .as_deref()
            .map(|run| format!(" (run {})", visible(run)));
        let begin = format!(
            "{who}: its command ran under guard{}",
            run.unwrap_or_default()
        );
        let (status, end) = match report.session {
            Session::Kept => (0, ", and could not remove a session"),
            Session::Removed => (
                1,
                ", but could REMOVE a session: the policy does not protect it, see `guard check`",
            ),
            Session::Gone => (0, "; the session that it was to try was gone before"),
        };
        Self {
            status,
            verdict: "guarded",
            text: format!("{begin}{end}"),
        }
    }

    fn object(&self, name: &str, verified: &Verified) -> serde_json::Value {
        let (report, why) = match &verified.verdict {
            Verdict::Ran(report) => (Some(report), None),
            Verdict::Untried(why) => (None, Some(why)),
        };
        json!({
            "agent": name,
            "version": verified.version,
            "verdict": self.verdict,
            "run": report.and_then(|report| report.run.as_ref()),
            "session": report.map(|report| report.session),
            "why": why,
            "output": (self.status == UNTRIED).then_some(&verified.output),
        })
    }
}

/// What to do about a command without guard.
fn advice(name: &str, report: &Report, found: Option<&Found>) -> String {
    if report.claimed {
        return "; GUARD_ACTIVE is set, but no guard answers".to_owned();
    }
    match found.map(|found| &found.wrapped) {
        Some(Wrapped::Yes) => {
            format!("; it ignores its wrap: run it as a whole, `guard -- {name}`")
        }
        Some(Wrapped::Unknown) => format!("; `guard agent wrap {name}` says how to start it"),
        _ => format!("; wrap it with `guard agent wrap {name}`"),
    }
}
