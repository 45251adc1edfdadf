//! The surroundings in which an agent is verified: a home of its own, with a copy of the configuration in which its wrap is.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::super::known::{Agent, Way};
use super::super::{Surroundings, WrapError, edit, file};
use super::VerifyError;
use super::start::Start;

/// A temporary folder, which goes with this.
pub struct Room {
    folder: TempDir,
    /// What the probe has to say.
    pub token: String,
}

fn making(path: &Path) -> impl Fn(io::Error) -> VerifyError + '_ {
    |source| VerifyError::System {
        what: format!("cannot make {}", path.display()),
        source,
    }
}

impl Room {
    /// An empty one.
    pub fn new() -> Result<Self, VerifyError> {
        let temporary = std::env::temp_dir();
        let made = tempfile::Builder::new().prefix("guard-verify-").tempdir();
        let random = std::collections::hash_map::RandomState::new();
        let room = Self {
            folder: made.map_err(making(&temporary))?,
            token: format!("guard-probe-{:016x}", random.build_hasher().finish()),
        };
        for folder in [room.home(), room.work(), room.temporary()] {
            fs::create_dir_all(&folder).map_err(making(&folder))?;
        }
        Ok(room)
    }

    /// The home of the agent.
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// The folder in which it works.
    pub fn work(&self) -> PathBuf {
        self.home().join("work")
    }

    fn temporary(&self) -> PathBuf {
        self.folder.path().join("tmp")
    }

    /// Where the probe leaves its report: among temporary files, which the shipped policies leave open.
    pub fn report(&self) -> PathBuf {
        self.temporary().join("report")
    }

    /// What the agent prints.
    pub fn output(&self) -> PathBuf {
        self.folder.path().join("output")
    }

    /// The session that the probe tries to remove.
    pub fn session(&self, start: &Start) -> PathBuf {
        self.home().join(start.session)
    }

    /// Puts in what the agent needs.
    pub fn furnish(
        &self,
        agent: &Agent,
        start: &Start,
        here: &Surroundings<'_>,
        url: &str,
    ) -> Result<(), VerifyError> {
        self.put(
            &self.session(start),
            "{\"type\":\"session\",\"id\":\"guard-verify\"}\n",
        )?;
        for (path, text) in start.files {
            self.put(&self.home().join(path), &text.replace("{url}", url))?;
        }
        self.configuration(agent, start, here, url)
    }

    /// A copy of the configuration in which the wrap is, pointed at the fake model.
    fn configuration(
        &self,
        agent: &Agent,
        start: &Start,
        here: &Surroundings<'_>,
        url: &str,
    ) -> Result<(), VerifyError> {
        let (templates, format) = match &agent.way {
            Way::Edit { file, format, .. } => (*file, *format),
            Way::File { file, .. } => (*file, edit::Format::Whole),
            Way::Hand(_) => return Ok(()),
        };
        let inside = Surroundings {
            home: self.home(),
            env: &|_| None,
            guard: here.guard.clone(),
        };
        let (Some(theirs), Some(copy)) = (
            here.first(templates).map_err(WrapError::from)?,
            inside.first(templates).map_err(WrapError::from)?,
        ) else {
            return Ok(());
        };
        let current = file::read(&theirs).map_err(WrapError::from)?;
        let edits = (start.settings)(url);
        let text = match (&current.text, edits.is_empty()) {
            (None, true) => return Ok(()),
            (Some(text), true) => text.clone(),
            (text, false) => {
                let text = text.as_deref().unwrap_or_default();
                let wrong = |source| WrapError::Edit {
                    path: theirs.clone(),
                    source,
                };
                edit::apply(format, text, &edits).map_err(wrong)?
            }
        };
        self.put(&copy, &text)?;
        let mode = current.real.metadata().map(|data| data.permissions());
        let mode: Permissions =
            mode.unwrap_or_else(|_| std::os::unix::fs::PermissionsExt::from_mode(0o600));
        fs::set_permissions(&copy, mode).map_err(making(&copy))
    }

    fn put(&self, path: &Path, text: &str) -> Result<(), VerifyError> {
        let folder = path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(path, text))
            .map_err(making(path))
    }

    /// The environment of the agent: nothing of the person's but the way to programs, the language and guard's policy.
    pub fn environment(
        &self,
        start: &Start,
        here: &Surroundings<'_>,
        url: &str,
    ) -> Vec<(String, OsString)> {
        let mut all: Vec<(String, OsString)> = vec![
            ("HOME".into(), self.home().into()),
            ("TMPDIR".into(), self.temporary().into()),
            ("TERM".into(), "dumb".into()),
        ];
        for name in ["PATH", "LANG"] {
            all.extend((here.env)(name).map(|value| (name.to_owned(), value)));
        }
        all.extend(policy(here).map(|policy| ("GUARD_POLICY".to_owned(), policy)));
        let own = start.env.iter();
        all.extend(
            own.map(|(name, value)| ((*name).to_owned(), value.replace("{url}", url).into())),
        );
        all
    }
}

/// The person's policy, by a name that holds in another home as well.
fn policy(here: &Surroundings<'_>) -> Option<OsString> {
    let own = here.shells().with_file_name("policy.toml");
    let Some(named) = (here.env)("GUARD_POLICY").filter(|name| !name.is_empty()) else {
        return own.exists().then(|| own.into());
    };
    let is_file =
        named.to_string_lossy().contains('/') || named.to_string_lossy().ends_with(".toml");
    if !is_file {
        return Some(named);
    }
    std::path::absolute(&named).ok().map(Into::into)
}
