//! Which policy holds: `--policy`, `$GUARD_POLICY`, the person's own file, the shipped default; and the workspace's.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::parse::{place, shipped_policy};
use super::{Hint, Policy, PolicyError, Problem, parse, shipped};

/// A policy is text that a person wrote; what is larger is something else.
const LARGEST: u64 = 1 << 20;

/// Where to look.
pub struct Search<'a> {
    /// What `--policy` says.
    pub asked: Option<&'a str>,
    /// The environment.
    pub env: &'a dyn Fn(&str) -> Option<OsString>,
    /// The home directory, if there is one.
    pub home: Option<&'a Path>,
    /// The directory that may hold a `guard.toml`.
    pub workspace: Option<&'a Path>,
}

/// What was found.
#[derive(Debug)]
pub struct Discovered {
    /// The policy.
    pub base: Policy,
    /// The workspace's own, which can only make levels stricter.
    pub workspace: Option<Policy>,
}

/// Finds and parses the policy that holds.
///
/// # Errors
/// A policy that was asked for, or a file that exists, cannot be read or parsed: guard does not fall back to another.
pub fn discover(search: &Search<'_>) -> Result<Discovered, PolicyError> {
    let from_env = (search.env)("GUARD_POLICY").filter(|name| !name.is_empty());
    let base = match (search.asked, from_env) {
        (Some(name), _) => load(name)?,
        (None, Some(name)) => match name.to_str() {
            Some(name) => load(name)?,
            None => load_file(Path::new(&name))?,
        },
        (None, None) => own_policy(search)?,
    };
    let workspace = match search.workspace {
        Some(directory) => of_workspace(&base, directory)?,
        None => None,
    };
    Ok(Discovered { base, workspace })
}

/// The policy of a workspace's own, unless that is the base itself.
///
/// # Errors
/// It exists and cannot be read or parsed.
pub fn of_workspace(base: &Policy, directory: &Path) -> Result<Option<Policy>, PolicyError> {
    let file = directory.join("guard.toml");
    if is_same(Path::new(&*base.name), &file) {
        return Ok(None);
    }
    load_if_present(&file)
}

/// Loads a shipped policy by its name, or a file: whatever holds a `/` or ends in `.toml`.
///
/// # Errors
/// There is no such policy, or it cannot be read or parsed.
pub fn load(name: &str) -> Result<Policy, PolicyError> {
    if name.contains('/') || name.ends_with(".toml") {
        return load_file(Path::new(name));
    }
    shipped_policy(name).unwrap_or_else(|| {
        Err(PolicyError::UnknownName {
            name: name.to_owned(),
            hint: Hint::new(name, &shipped::names()),
        })
    })
}

/// The person's own file where XDG puts it, else the shipped default. A moved `$XDG_CONFIG_HOME` that holds no policy
/// does not hide the one in its default place.
fn own_policy(search: &Search<'_>) -> Result<Policy, PolicyError> {
    let moved = (search.env)("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    let default = search.home.map(|home| home.join(".config"));
    for directory in moved.into_iter().chain(default) {
        if let Some(policy) = load_if_present(&directory.join("guard/policy.toml"))? {
            return Ok(policy);
        }
    }
    load("default")
}

/// Whether both are one existing file.
fn is_same(a: &Path, b: &Path) -> bool {
    a.canonicalize()
        .is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}

/// A file's policy; none where there is no such file.
fn load_if_present(path: &Path) -> Result<Option<Policy>, PolicyError> {
    match load_file(path) {
        Ok(policy) => Ok(Some(policy)),
        Err(PolicyError::Read { source, .. })
            if matches!(
                source.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// A file's policy. What is no regular file is not opened, since a FIFO would keep guard waiting.
fn load_file(path: &Path) -> Result<Policy, PolicyError> {
    let file = path.display().to_string();
    let unreadable = |source| PolicyError::Read {
        file: file.clone(),
        source,
    };
    let facts = fs::metadata(path).map_err(unreadable)?;
    if !facts.is_file() || facts.len() > LARGEST {
        return Err(PolicyError::NotAFile { file });
    }
    let bytes = fs::read(path).map_err(unreadable)?;
    match std::str::from_utf8(&bytes) {
        Ok(text) => parse(text, &file),
        Err(error) => {
            let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
            let (line, column) = place(&valid, valid.len());
            Err(PolicyError::Text {
                file,
                line,
                column,
                problem: Problem::NotUtf8,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINE: &str = "version = 1\ndefault = \"no-delete\"\n";

    fn search<'a>(
        asked: Option<&'a str>,
        env: &'a dyn Fn(&str) -> Option<OsString>,
        home: &'a Path,
    ) -> Search<'a> {
        Search {
            asked,
            env,
            home: Some(home),
            workspace: None,
        }
    }

    fn none(_: &str) -> Option<OsString> {
        None
    }

    fn write(directory: &Path, name: &str, text: &str) -> PathBuf {
        let path = directory.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    #[test]
    fn the_order_of_the_search() {
        let home = tempfile::tempdir().unwrap();
        let at = home.path();
        assert_eq!(
            discover(&search(None, &none, at)).unwrap().base.name,
            "default"
        );
        let own = write(at, ".config/guard/policy.toml", MINE);
        assert_eq!(
            discover(&search(None, &none, at)).unwrap().base.name,
            own.display().to_string()
        );

        let moved = write(at, "xdg/guard/policy.toml", MINE);
        let xdg = at.join("xdg").into_os_string();
        let env = move |name: &str| (name == "XDG_CONFIG_HOME").then(|| xdg.clone());
        assert_eq!(
            discover(&search(None, &env, at)).unwrap().base.name,
            moved.display().to_string()
        );
        fs::remove_file(&moved).unwrap();
        assert_eq!(
            discover(&search(None, &env, at)).unwrap().base.name,
            own.display().to_string()
        );

        let env = |name: &str| (name == "GUARD_POLICY").then(|| "codex".into());
        assert_eq!(
            discover(&search(None, &env, at)).unwrap().base.name,
            "codex"
        );
        assert_eq!(
            discover(&search(Some("ci"), &env, at)).unwrap().base.name,
            "ci"
        );
    }

    #[test]
    fn a_broken_policy_is_never_skipped() {
        let home = tempfile::tempdir().unwrap();
        write(home.path(), ".config/guard/policy.toml", "version = 3");
        let error = discover(&search(None, &none, home.path()))
            .unwrap_err()
            .to_string();
        assert!(
            error.ends_with("policy.toml:1:11: version 3 is not known; this guard reads version 1"),
            "{error}"
        );
        fs::remove_file(home.path().join(".config/guard/policy.toml")).unwrap();
        fs::create_dir(home.path().join(".config/guard/policy.toml")).unwrap();
        let error = discover(&search(None, &none, home.path())).unwrap_err();
        assert!(matches!(error, PolicyError::NotAFile { .. }), "{error}");
    }

    #[test]
    fn the_workspace_policy_is_read_beside_the_base() {
        let home = tempfile::tempdir().unwrap();
        let found = |workspace| {
            discover(&Search {
                asked: Some("pi"),
                env: &none,
                home: Some(home.path()),
                workspace: Some(workspace),
            })
        };
        assert!(found(home.path()).unwrap().workspace.is_none());
        write(home.path(), "guard.toml", MINE);
        let both = found(home.path()).unwrap();
        assert_eq!(
            (&*both.base.name, both.workspace.unwrap().default.name()),
            ("pi", "no-delete")
        );
        let file = home.path().join("guard.toml");
        let asked = discover(&Search {
            asked: file.to_str(),
            env: &none,
            home: None,
            workspace: Some(home.path()),
        });
        assert!(
            asked.unwrap().workspace.is_none(),
            "the policy itself is no second one"
        );
    }

    #[test]
    fn names_and_files_that_do_not_exist() {
        assert_eq!(
            load("kubernetes").unwrap_err().to_string(),
            "unknown policy \"kubernetes\"; known are default, ci, test, strict, agents, agents-closed, \
             caches, credentials, pi, claude-code, codex, opencode, omp, gemini, qwen, copilot, cline, hermes, droid, \
             aider, crush, goose, cursor, amp, qoder, rivumi, agent-pi, agent-omp, agent-opencode, agent-codex, \
             agent-claude-code, agent-gemini (a file needs a \"/\" in its path or the ending .toml)"
        );
        assert!(
            load("opncode")
                .unwrap_err()
                .to_string()
                .contains("did you mean \"opencode\"?")
        );
        assert!(matches!(
            load("./nothing").unwrap_err(),
            PolicyError::Read { .. }
        ));
        assert!(matches!(
            load("nothing.toml").unwrap_err(),
            PolicyError::Read { .. }
        ));
    }

    #[test]
    fn text_that_is_not_utf8() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("x.toml");
        fs::write(&path, b"version = 1\n# \xff").unwrap();
        let error = load(&path.display().to_string()).unwrap_err().to_string();
        assert_eq!(
            error,
            format!("{}:2:3: the text is not UTF-8", path.display())
        );
    }
}
