//! The facts about the machine and the caller that a policy is resolved against.
#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use super::{Mounts, PlanError, workspace};

/// The facts, given from outside; tests build them by hand.
#[derive(Clone, Debug)]
pub struct Host {
    /// The environment. It is the caller's, so no rule is loosened on its word alone.
    pub env: HashMap<OsString, OsString>,
    /// The working directory, absolute.
    pub cwd: PathBuf,
    /// The running binary, absolute; none when it is not known.
    pub guard_binary: Option<PathBuf>,
    /// The home directory in the user database.
    pub passwd_home: Option<PathBuf>,
    /// What is mounted.
    pub mounts: Mounts,
}

/// The home directory that `~` stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    /// Absolute, as the environment or the user database has it.
    pub path: PathBuf,
    /// What is odd about it.
    pub notice: Option<String>,
}

impl Host {
    /// Gathers the facts that are not given from this process's view of the mounts.
    ///
    /// # Errors
    /// The mounts cannot be read, or the working directory is relative.
    pub fn gather(
        env: impl IntoIterator<Item = (OsString, OsString)>,
        cwd: PathBuf,
        guard_binary: Option<PathBuf>,
        passwd_home: Option<PathBuf>,
    ) -> Result<Self, PlanError> {
        let text =
            fs::read("/proc/self/mountinfo").map_err(|source| PlanError::Mounts { source })?;
        let mounts = Mounts::parse(&text)?;
        if !cwd.is_absolute() {
            return Err(PlanError::WorkingDirectory { path: cwd });
        }
        let mut variables = HashMap::new();
        for (name, value) in env {
            // As getenv(3): the first of several.
            variables.entry(name).or_insert(value);
        }
        Ok(Self {
            env: variables,
            cwd,
            guard_binary,
            passwd_home,
            mounts,
        })
    }

    /// A variable's value; none when it is not set or empty.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        self.env
            .get(OsStr::new(name))
            .map(OsString::as_os_str)
            .filter(|value| !value.is_empty())
    }

    /// What `~` stands for: `$HOME` if it is an absolute path to a directory, else the user database's.
    ///
    /// # Errors
    /// Neither is an absolute path.
    pub fn home(&self) -> Result<Home, PlanError> {
        let env = self.variable("HOME").map(PathBuf::from);
        let asked = env.clone().filter(|path| path.is_absolute());
        let database = self.passwd_home.clone().filter(|path| path.is_absolute());
        let exists = |path: &Option<PathBuf>| path.as_ref().is_some_and(|path| path.is_dir());
        let (path, notice) = if exists(&asked) {
            (asked, None)
        } else if exists(&database) {
            let said = env.map(|env| format!("HOME is {}, which is no directory", env.display()));
            (
                database,
                said.or_else(|| Some("HOME is not set".to_owned())),
            )
        } else {
            (
                asked.or(database),
                Some("the home directory does not exist".to_owned()),
            )
        };
        let path = path.ok_or(PlanError::NoHome)?;
        let notice = match notice {
            Some(odd) => Some(format!("{odd}: \"~\" stands for {}", path.display())),
            None if is_root(&path) => Some(
                "the home directory is \"/\": a rule for \"~\" covers the whole system; set HOME to a directory of its own"
                    .to_owned(),
            ),
            None => None,
        };
        Ok(Home { path, notice })
    }

    /// The home directory in the user database, where there is one and `$HOME` names another: programs ask either.
    #[must_use]
    pub fn other_home(&self) -> Option<PathBuf> {
        let other = self.passwd_home.clone()?;
        let real = other.canonicalize().ok().filter(|path| path.is_dir())?;
        let home = self.home().ok()?.path;
        let same = home.canonicalize().is_ok_and(|home| home == real);
        (other.is_absolute() && !same && !is_root(&other)).then_some(other)
    }

    /// The repository of the working directory, or the working directory.
    #[must_use]
    pub fn workspace(&self) -> PathBuf {
        workspace::top(&self.cwd).to_path_buf()
    }
}

/// Whether this is the root directory by any spelling.
fn is_root(path: &Path) -> bool {
    super::expand::normalise(path) == Path::new("/")
        || path.canonicalize().is_ok_and(|real| real == Path::new("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(home: Option<&Path>, passwd: Option<&Path>) -> Host {
        Host {
            env: home
                .map(|home| ("HOME".into(), home.into()))
                .into_iter()
                .collect(),
            cwd: "/".into(),
            guard_binary: None,
            passwd_home: passwd.map(Path::to_path_buf),
            mounts: Mounts::default(),
        }
    }

    #[test]
    fn home_and_what_is_odd_about_it() {
        let folder = tempfile::tempdir().unwrap();
        let there = folder.path();
        let gone = there.join("gone");
        let home = |home, passwd| host(home, passwd).home().unwrap();
        assert_eq!(
            home(Some(there), Some(Path::new("/"))),
            Home {
                path: there.into(),
                notice: None
            }
        );
        let other = home(Some(&gone), Some(there));
        assert_eq!(other.path, there);
        assert!(
            other
                .notice
                .unwrap()
                .contains("gone, which is no directory")
        );
        assert_eq!(home(Some(Path::new("relative")), Some(there)).path, there);
        assert_eq!(
            home(Some(Path::new("")), Some(there)).notice.unwrap(),
            format!("HOME is not set: \"~\" stands for {}", there.display())
        );
        let neither = home(Some(&gone), Some(Path::new("/nonexistent")));
        assert_eq!(neither.path, gone);
        assert!(
            neither
                .notice
                .unwrap()
                .starts_with("the home directory does not exist")
        );
        assert_eq!(home(None, Some(&gone)).path, gone);
        assert!(
            home(Some(Path::new("/.//")), None)
                .notice
                .unwrap()
                .contains("is \"/\"")
        );
        assert!(matches!(
            host(Some(Path::new("x")), None).home(),
            Err(PlanError::NoHome)
        ));
    }

    #[test]
    fn the_first_of_two_variables_counts() {
        let env = [
            ("A".into(), "1".into()),
            ("A".into(), "2".into()),
            ("B".into(), "".into()),
        ];
        let host = Host::gather(env, "/".into(), None, None).unwrap();
        assert_eq!(host.variable("A"), Some(OsStr::new("1")));
        assert_eq!(host.variable("B"), None);
        assert!(host.mounts.iter().next().is_some());
        assert!(Host::gather([], "x".into(), None, None).is_err());
    }
}
