//! Which agents are here, and whether their commands run under guard as far as the files tell.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::known::{Agent, KNOWN, Tools, Way};
use super::{Surroundings, WrapError, place, shell, wrap};

/// What is known of an agent on this machine.
#[derive(Debug)]
pub struct Found {
    /// The agent.
    pub agent: &'static Agent,
    /// Its program.
    pub program: Option<PathBuf>,
    /// Where its state is, or would be.
    pub state: Option<PathBuf>,
    /// Whether that is there.
    pub has_state: bool,
    /// The variables that move it.
    pub variables: Vec<&'static str>,
    /// What is used to wrap it; none where a person has to do it.
    pub by: Option<&'static str>,
    /// What a person has to do.
    pub hand: Option<String>,
    /// The configuration that is changed for it.
    pub file: Option<PathBuf>,
    /// Whether that was done.
    pub wrapped: Wrapped,
}

/// Whether an agent's configuration leads to guard. That it obeys its configuration is another matter.
#[derive(Debug, PartialEq, Eq)]
pub enum Wrapped {
    /// Yes.
    Yes,
    /// No.
    No,
    /// It does, but what it names does not work; why.
    Broken(String),
    /// No file says.
    Unknown,
}

impl Found {
    /// Whether anything of the agent is on this machine.
    #[must_use]
    pub fn is_here(&self) -> bool {
        let has_file = self.file.as_deref().is_some_and(Path::exists);
        self.program.is_some() || self.has_state || has_file
    }
}

/// Looks for every agent.
///
/// # Errors
/// A variable that moves one is wrong; what is wrong with the files of one is said of that one.
pub fn look(here: &Surroundings<'_>) -> Result<Vec<Found>, WrapError> {
    KNOWN.iter().map(|agent| find(agent, here)).collect()
}

/// Looks for one.
pub fn find(agent: &'static Agent, here: &Surroundings<'_>) -> Result<Found, WrapError> {
    let state = here.first(agent.state)?;
    let tools = Tools::new(here)?;
    let (by, hand) = match agent.way {
        Way::Edit { by, .. } | Way::File { by, .. } => (Some(by), None),
        Way::Hand(text) => (None, Some(tools.fill(text))),
    };
    let (wrapped, file) = match wrap::holds(agent, here) {
        Ok(None) => (Wrapped::Unknown, None),
        Ok(Some((false, file))) => (Wrapped::No, Some(file)),
        Ok(Some((true, file))) => (works(here), Some(file)),
        Err(error) => (Wrapped::Broken(error.to_string()), None),
    };
    Ok(Found {
        agent,
        program: on_path(agent, here),
        has_state: state.as_deref().is_some_and(Path::exists),
        state,
        variables: place::variables(agent.state),
        by,
        hand,
        file,
        wrapped,
    })
}

/// Whether guard's shell is there, and the guard that it runs.
fn works(here: &Surroundings<'_>) -> Wrapped {
    let path = here.shells().join(shell::SHELL);
    let is_executable = |path: &Path| {
        path.metadata()
            .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    let guard = match shell::guard_of(&path) {
        Ok(Some(guard)) => guard,
        Ok(None) => return Wrapped::Broken(format!("{} is not as guard wrote it", path.display())),
        Err(error) => return Wrapped::Broken(format!("{}: {error}", path.display())),
    };
    if is_executable(&path) && is_executable(Path::new(&guard)) {
        Wrapped::Yes
    } else {
        Wrapped::Broken(format!("{} cannot run {guard}", path.display()))
    }
}

fn on_path(agent: &Agent, here: &Surroundings<'_>) -> Option<PathBuf> {
    let path = (here.env)("PATH")?;
    let mut all = std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .flat_map(|folder| agent.programs.iter().map(move |name| folder.join(name)));
    all.find(|program| {
        program
            .metadata()
            .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    })
}
