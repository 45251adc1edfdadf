//! The command that the fake model has run: it looks whether its process is under guard, and tries to remove a session.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::super::hook::quote;
use super::super::{PlaceError, Surroundings};
use crate::launch;

/// What became of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Session {
    /// It could not be removed.
    Kept,
    /// It was removed.
    Removed,
    /// It was not there.
    Gone,
}

/// What a probe found, one JSON object a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The word that its caller gave it.
    pub token: String,
    /// Whether a guard around it answered.
    pub guarded: bool,
    /// The id of that guard's run.
    pub run: Option<String>,
    /// Whether its environment claims that there is a guard.
    pub claimed: bool,
    /// What became of the session.
    pub session: Session,
}

/// The command line of a probe.
pub fn line(
    guard: &Path,
    token: &str,
    session: &Path,
    report: &Path,
) -> Result<String, PlaceError> {
    let text = |path| Surroundings::text(path).map(quote);
    Ok(format!(
        "{} agent probe {token} {} {}",
        text(guard)?,
        text(session)?,
        text(report)?
    ))
}

/// Looks and tries, and leaves a report. Returns the line to print.
pub fn probe(token: &str, session: &Path, report: &Path) -> String {
    let guarded = launch::is_guarded();
    let found = Report {
        token: token.to_owned(),
        guarded,
        run: launch::run_around(),
        claimed: std::env::var_os(launch::ACTIVE).is_some(),
        session: match fs::remove_file(session) {
            Ok(()) => Session::Removed,
            Err(error) if error.kind() == ErrorKind::NotFound => Session::Gone,
            Err(_) => Session::Kept,
        },
    };
    let written = write(&found, report);
    let state = match (&found.run, guarded) {
        (Some(run), true) => format!("guarded {run}"),
        (None, true) => "guarded".to_owned(),
        (_, false) => "unguarded".to_owned(),
    };
    let failed = written.err().map(|error| format!("; no report: {error}"));
    format!("{token} {state}{}", failed.unwrap_or_default())
}

fn write(found: &Report, path: &Path) -> std::io::Result<()> {
    let line = format!("{}\n", serde_json::to_string(found)?);
    // Behind what an earlier one wrote.
    let mut file = File::options().append(true).create(true).open(path)?;
    file.write_all(line.as_bytes())
}

/// The reports with this token in a file, if there are any.
pub fn read(path: &Path, token: &str) -> Vec<Report> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let all = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    all.filter(|report: &Report| report.token == token)
        .collect()
}
