//! Wrapping an agent and taking that back: first what would change, then, when somebody agrees, the change.

use std::path::{Path, PathBuf};

use super::edit::{self, Edit, EditError, Format};
use super::file::{self, Current, FileError};
use super::known::{Agent, Tools, Way};
use super::notes::Note;
use super::{PlaceError, Surroundings, shell};

/// Why an agent was not wrapped, or stays so.
#[derive(Debug, thiserror::Error)]
pub enum WrapError {
    /// A place.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// A file.
    #[error(transparent)]
    File(#[from] FileError),
    /// What is in it.
    #[error("{path}: {source}; nothing was changed")]
    Edit {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        source: EditError,
    },
    /// Somebody else's file is where guard's own has to go.
    #[error("{0} is there already and is not guard's; nothing was changed")]
    Occupied(PathBuf),
    /// It is wrapped elsewhere.
    #[error(
        "{agent} is wrapped in {there}, and would now be in {here}; `guard agent unwrap {agent}` first"
    )]
    Elsewhere {
        /// The agent.
        agent: String,
        /// Where it is wrapped.
        there: PathBuf,
        /// Where its configuration is now.
        here: PathBuf,
    },
    /// What guard noted cannot be read.
    #[error("{path}: {what}")]
    Note {
        /// Which note.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
}

/// What is to be done.
#[derive(Debug)]
pub enum Outcome {
    /// Nothing; in words.
    Nothing(String),
    /// It is wrapped already; in words.
    Wrapped(String),
    /// Something that a person does.
    Hand(String),
    /// A change of a file.
    Change(Box<Proposal>),
}

/// A change of a file that has not been made yet.
#[derive(Debug)]
pub struct Proposal {
    agent: &'static str,
    /// The file.
    pub current: Current,
    /// What it will hold; none if it will be removed.
    pub after: Option<String>,
    /// What stays although it was asked to go.
    pub left: Vec<String>,
    mode: u32,
    then: Then,
}

/// What becomes of the note.
#[derive(Debug)]
enum Then {
    /// It is written, with the file as it was before guard.
    Write(Box<Note>, Option<String>),
    /// It goes, and with it the folders that were made.
    Remove(Vec<PathBuf>),
}

/// What the row of an agent comes to here.
struct Target {
    asked: PathBuf,
    current: Current,
    format: Format,
    edits: Vec<Edit>,
    /// A file of guard's own.
    whole: Option<String>,
    mode: u32,
}

fn target(agent: &Agent, here: &Surroundings<'_>) -> Result<Option<Target>, WrapError> {
    let tools = Tools::new(here)?;
    let (templates, format, edits, whole, mode) = match &agent.way {
        Way::Hand(_) => return Ok(None),
        Way::Edit {
            file,
            format,
            edits,
            ..
        } => (*file, *format, edits(&tools), None, 0o600),
        Way::File {
            file, mode, text, ..
        } => (*file, Format::Whole, Vec::new(), Some(text(&tools)), *mode),
    };
    let Some(asked) = here.first(templates)? else {
        return Ok(None);
    };
    let current = file::read(&asked)?;
    Ok(Some(Target {
        asked,
        current,
        format,
        edits,
        whole,
        mode,
    }))
}

fn wrong(path: &Path) -> impl Fn(EditError) -> WrapError + '_ {
    |source| WrapError::Edit {
        path: path.to_owned(),
        source,
    }
}

impl Target {
    fn holds(&self) -> Result<bool, WrapError> {
        match (&self.current.text, &self.whole) {
            (None, _) => Ok(false),
            (Some(text), Some(whole)) => Ok(text == whole),
            (Some(text), None) => {
                edit::holds(self.format, text, &self.edits).map_err(wrong(&self.asked))
            }
        }
    }
}

/// Whether an agent's configuration has what guard puts there; none if there is nothing to put.
///
/// # Errors
/// It cannot be read.
pub fn holds(agent: &Agent, here: &Surroundings<'_>) -> Result<Option<(bool, PathBuf)>, WrapError> {
    let Some(target) = target(agent, here)? else {
        return Ok(None);
    };
    Ok(Some((target.holds()?, target.asked)))
}

/// What wrapping an agent would change.
///
/// # Errors
/// The configuration cannot be changed as it is.
pub fn wrap(agent: &'static Agent, here: &Surroundings<'_>) -> Result<Outcome, WrapError> {
    if let Way::Hand(text) = agent.way {
        return Ok(Outcome::Hand(Tools::new(here)?.fill(text)));
    }
    let Some(target) = target(agent, here)? else {
        return Ok(Outcome::Nothing(format!(
            "nothing is known of where {} keeps its configuration",
            agent.name
        )));
    };
    if target.holds()? {
        return Ok(Outcome::Wrapped(format!(
            "{} is wrapped already, in {}",
            agent.name,
            target.asked.display()
        )));
    }
    file::may_replace(&target.current)?;
    let noted = Note::read(here, agent.name)?;
    if let Some((note, _)) = &noted
        && note.file != target.current.real
    {
        let there = note.file.clone();
        return Err(WrapError::Elsewhere {
            agent: agent.name.to_owned(),
            there,
            here: target.asked,
        });
    }
    // What an earlier guard put in goes first.
    let (before, made) = match (&noted, &target.current.text) {
        (Some((note, before)), Some(text)) => {
            (without(note, before.as_deref(), text)?.0, note.made.clone())
        }
        (_, text) => (text.clone(), Vec::new()),
    };
    let after = match &target.whole {
        Some(_) if before.is_some() => return Err(WrapError::Occupied(target.asked)),
        Some(whole) => whole.clone(),
        None => edit::apply(
            target.format,
            before.as_deref().unwrap_or_default(),
            &target.edits,
        )
        .map_err(wrong(&target.asked))?,
    };
    let mut note = Note::new(
        agent.name,
        &target.asked,
        &target.current.real,
        target.format,
        target.edits,
        &after,
    );
    note.made = made;
    Ok(Outcome::Change(Box::new(Proposal {
        agent: agent.name,
        current: target.current,
        after: Some(after),
        left: Vec::new(),
        mode: target.mode,
        then: Then::Write(Box::new(note), before),
    })))
}

/// What taking that back would change.
///
/// # Errors
/// The configuration cannot be changed as it is.
pub fn unwrap(agent: &'static Agent, here: &Surroundings<'_>) -> Result<Outcome, WrapError> {
    let Some((note, before)) = Note::read(here, agent.name)? else {
        return Ok(Outcome::Nothing(format!(
            "{} was not wrapped by guard",
            agent.name
        )));
    };
    let current = file::read(&note.file)?;
    let Some(text) = &current.text else {
        Note::remove(here, agent.name)?;
        return Ok(Outcome::Nothing(format!(
            "{} is not there any more",
            note.file.display()
        )));
    };
    let (after, left) = without(&note, before.as_deref(), text)?;
    if after.as_deref() == Some(text) {
        Note::remove(here, agent.name)?;
        let what = format!(
            "{} holds nothing of guard's any more; it stays as it is",
            note.file.display()
        );
        return Ok(Outcome::Nothing(what));
    }
    file::may_replace(&current)?;
    Ok(Outcome::Change(Box::new(Proposal {
        agent: agent.name,
        current,
        after,
        left,
        mode: 0o600,
        then: Then::Remove(note.made),
    })))
}

/// `text` without what the note says, and what of that is left: the old bytes where nobody changed it since.
fn without(
    note: &Note,
    before: Option<&str>,
    text: &str,
) -> Result<(Option<String>, Vec<String>), WrapError> {
    if text == note.after {
        return Ok((before.map(str::to_owned), Vec::new()));
    }
    if note.format == Format::Whole {
        return Ok((Some(text.to_owned()), Vec::new()));
    }
    let undone = edit::undo(
        note.format,
        text,
        &note.edits,
        before.unwrap_or_default(),
        &note.after,
    )
    .map_err(wrong(&note.asked))?;
    let gone = before.is_none() && edit::is_empty(note.format, &undone.text);
    Ok(((!gone).then_some(undone.text), undone.left))
}

impl Proposal {
    /// Whether it wraps, and does not take a wrap back.
    #[must_use]
    pub fn is_wrap(&self) -> bool {
        matches!(self.then, Then::Write(..))
    }

    /// Makes the change. What is needed to take it back is written first.
    ///
    /// # Errors
    /// A file could not be written; the configuration is then as it was.
    pub fn carry_out(self, here: &Surroundings<'_>) -> Result<(), WrapError> {
        match (self.then, self.after) {
            (Then::Write(mut note, before), Some(after)) => {
                shell::install(here)?;
                note.write(here, before.as_deref())?;
                let made = file::replace(&self.current, &after, self.mode)?;
                if !made.is_empty() {
                    note.made = made;
                    note.write(here, before.as_deref())?;
                }
                Ok(())
            }
            (Then::Remove(made), None) => {
                file::remove(&self.current.real, &made)?;
                Note::remove(here, self.agent)
            }
            (_, Some(after)) => {
                file::replace(&self.current, &after, self.mode)?;
                Note::remove(here, self.agent)
            }
            (Then::Write(..), None) => Ok(()),
        }
    }
}
