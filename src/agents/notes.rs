//! What was done to an agent's configuration: one note an agent in guard's own state, with the file as it was beside it.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::edit::{Edit, Format};
use super::file::{self, FileError};
use super::{Surroundings, WrapError};

/// The version of a note.
const VERSION: u32 = 1;

/// One note.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Note {
    version: u32,
    /// The agent.
    pub agent: String,
    /// The configuration as the agent names it.
    pub asked: PathBuf,
    /// The file that was changed.
    pub file: PathBuf,
    /// Its language.
    pub format: Format,
    /// What was put in.
    pub edits: Vec<Edit>,
    /// Whether the file was there; then `NAME.before` holds it.
    pub existed: bool,
    /// The folders that were made for it.
    pub made: Vec<PathBuf>,
    /// The file as guard wrote it.
    pub after: String,
}

impl Note {
    /// A note about a change that is to come.
    pub fn new(
        agent: &str,
        asked: &Path,
        file: &Path,
        format: Format,
        edits: Vec<Edit>,
        after: &str,
    ) -> Self {
        Self {
            version: VERSION,
            agent: agent.to_owned(),
            asked: asked.to_owned(),
            file: file.to_owned(),
            format,
            edits,
            existed: false,
            made: Vec::new(),
            after: after.to_owned(),
        }
    }

    /// The note about an agent, and the file as it was.
    pub fn read(
        here: &Surroundings<'_>,
        agent: &str,
    ) -> Result<Option<(Self, Option<String>)>, WrapError> {
        let path = note(here, agent);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(FileError::System { path, source }.into()),
        };
        let bad = |what: String| WrapError::Note {
            path: path.clone(),
            what,
        };
        let it: Self = serde_json::from_slice(&bytes).map_err(|error| bad(error.to_string()))?;
        if it.version != VERSION {
            return Err(bad(format!("version {} is not known", it.version)));
        }
        let before = if it.existed {
            Some(
                fs::read_to_string(backup(here, agent))
                    .map_err(|error| bad(format!("the file as it was: {error}")))?,
            )
        } else {
            None
        };
        Ok(Some((it, before)))
    }

    /// Writes the note, after the file as it was.
    pub fn write(
        &mut self,
        here: &Surroundings<'_>,
        before: Option<&str>,
    ) -> Result<(), WrapError> {
        self.existed = before.is_some();
        let path = note(here, &self.agent);
        let bytes = serde_json::to_vec_pretty(self).map_err(|error| WrapError::Note {
            path: path.clone(),
            what: error.to_string(),
        })?;
        if let Some(before) = before {
            file::write(&backup(here, &self.agent), before.as_bytes(), 0o600)?;
        }
        Ok(file::write(&path, &bytes, 0o600)?)
    }

    /// Forgets it.
    pub fn remove(here: &Surroundings<'_>, agent: &str) -> Result<(), WrapError> {
        file::remove(&note(here, agent), &[])?;
        let _ = fs::remove_file(backup(here, agent));
        Ok(())
    }
}

fn note(here: &Surroundings<'_>, agent: &str) -> PathBuf {
    here.notes().join(format!("{agent}.json"))
}

fn backup(here: &Surroundings<'_>, agent: &str) -> PathBuf {
    here.notes().join(format!("{agent}.before"))
}
