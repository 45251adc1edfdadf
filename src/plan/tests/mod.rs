//! Whole plans on real directories, with hand-made mounts.

mod aliases;
mod explain;
mod lookup;
mod misled;
mod policies;
mod roots;
mod trust;
mod untrusted;

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::*;
use crate::policy::{Policy, parse};

/// A throw-away machine: a directory without links in its path, with a home directory `h` and a working directory `w`.
struct World {
    _folder: tempfile::TempDir,
    at: PathBuf,
    env: Vec<(String, OsString)>,
    mounts: String,
    cwd: PathBuf,
    binary: Option<PathBuf>,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().canonicalize().unwrap();
        fs::create_dir_all(at.join("h")).unwrap();
        fs::create_dir_all(at.join("w")).unwrap();
        let env = vec![("HOME".to_owned(), at.join("h").into_os_string())];
        let cwd = at.join("w");
        Self {
            _folder: folder,
            at,
            env,
            mounts: String::new(),
            cwd,
            binary: None,
        }
    }

    /// A path of this world: `~` is the home directory.
    fn path(&self, path: &str) -> PathBuf {
        match path.strip_prefix('~') {
            Some(rest) => self.at.join("h").join(rest.trim_start_matches('/')),
            None => self.at.join(path),
        }
    }

    fn dir(&self, path: &str) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(&path).unwrap();
        path
    }

    fn file(&self, path: &str, text: &str) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn link(&self, target: impl AsRef<Path>, path: &str) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, &path).unwrap();
        path
    }

    fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.to_owned(), value.into()));
    }

    fn host(&self) -> Host {
        Host {
            env: self
                .env
                .iter()
                .map(|(name, value)| (name.into(), value.clone()))
                .collect(),
            cwd: self.cwd.clone(),
            guard_binary: self.binary.clone(),
            passwd_home: None,
            mounts: Mounts::parse(self.mounts.as_bytes()).unwrap(),
        }
    }

    /// A plan for `[paths]` lines; `@` stands for this world's directory. Lines before an empty line are top-level keys.
    fn plan(&self, lines: &str) -> Plan {
        Plan::resolve(&self.policy(lines), None, &self.host()).unwrap()
    }

    fn with_workspace(&self, lines: &str, own: &str) -> Plan {
        Plan::resolve(&self.policy(lines), Some(&self.policy(own)), &self.host()).unwrap()
    }

    fn policy(&self, lines: &str) -> Policy {
        let lines = lines.replace('@', &self.at.display().to_string());
        let (head, paths) = lines.split_once("\n\n").unwrap_or(("", &lines));
        parse(
            &format!("version = 1\n{head}\n[paths]\n{paths}"),
            "test.toml",
        )
        .unwrap()
    }
}

fn identity(path: &Path) -> Option<Identity> {
    let facts = fs::symlink_metadata(path).unwrap();
    Some(Identity {
        dev: facts.dev(),
        ino: facts.ino(),
    })
}

impl Plan {
    fn level(&self, path: &Path) -> Level {
        self.lookup(path).level
    }

    fn place(&self, path: &Path) -> Option<&Place> {
        self.places.iter().find(|place| place.path == path)
    }

    fn keeps(&self, path: &Path) -> bool {
        self.kept.iter().any(|kept| kept.path == path)
    }

    /// The rule's text at a path, home as `~`.
    fn shown(&self, path: &Path) -> &str {
        self.lookup(path)
            .rule
            .map_or("default", |rule| &self.rule(rule).shown)
    }

    fn effect(&self, level: Level, policy: &str) -> Vec<&Effect> {
        let wanted = |rule: &&PlannedRule| rule.level == level && rule.policy == policy;
        self.rules
            .iter()
            .filter(wanted)
            .map(|rule| &rule.effect)
            .collect()
    }
}
