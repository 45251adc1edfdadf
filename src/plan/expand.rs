//! Gives the variables of a path their values.
#![forbid(unsafe_code)]

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use super::{Host, workspace};
use crate::policy::{Part, Template};

/// On whose word a path is what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The author's of the policy.
    Author,
    /// A variable's or the working directory's: it can make levels stricter as it likes, and looser only where no
    /// protected place is concerned.
    Surroundings,
    /// A symbolic link's. A run may put one where nothing or its own is, for the next run to follow, so it opens nothing
    /// in the home directory either.
    Link,
}

/// What a template stands for here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expansion {
    /// These paths, absolute and lexically normalised; more than one only for `${workspace}` and `${vcs}`.
    Paths(Vec<PathBuf>, Trust),
    /// Nothing, and why.
    Nothing(String),
}

/// Expands a template. `home` is absolute.
#[must_use]
pub fn expand(template: &Template, home: &Path, host: &Host) -> Expansion {
    let mut trust = Trust::Author;
    let texts = match texts(template, home, host, &mut trust) {
        Ok(texts) => texts,
        Err(why) => return Expansion::Nothing(why),
    };
    let mut paths: Vec<PathBuf> = texts.into_iter().map(normal).collect();
    if let Some(relative) = paths.iter().find(|path| !path.is_absolute()) {
        // Only a default can do this: ${NAME:-relative}.
        return Expansion::Nothing(format!("{} is not an absolute path", relative.display()));
    }
    if let [Part::Workspace] = template.0.as_slice() {
        let elsewhere: Vec<PathBuf> = paths
            .iter()
            .flat_map(|top| workspace::elsewhere(top))
            .collect();
        paths.extend(elsewhere);
    }
    Expansion::Paths(paths, trust)
}

/// The texts of a template, or why it has none; more than one only for `${vcs}`.
fn texts(
    template: &Template,
    home: &Path,
    host: &Host,
    trust: &mut Trust,
) -> Result<Vec<OsString>, String> {
    let mut texts = vec![OsString::new()];
    for part in &template.0 {
        let values = match part {
            Part::Text(plain) => {
                texts.iter_mut().for_each(|text| text.push(&**plain));
                continue;
            }
            Part::Home => {
                texts.iter_mut().for_each(|text| text.push(home));
                continue;
            }
            Part::Workspace => {
                *trust = Trust::Surroundings;
                vec![workspace::top(&host.cwd).as_os_str().to_owned()]
            }
            Part::Vcs => {
                *trust = Trust::Surroundings;
                let folders = workspace::version_control(workspace::top(&host.cwd));
                if folders.is_empty() {
                    return Err("the workspace has no version-control folder".to_owned());
                }
                folders.into_iter().map(PathBuf::into_os_string).collect()
            }
            Part::Tmp => match absolute(host, "TMPDIR", home) {
                Some(value) => {
                    *trust = Trust::Surroundings;
                    vec![value]
                }
                None => vec![OsString::from("/tmp")],
            },
            Part::Env { name, default } => {
                // A value in the middle is one more piece of a path; one at the start must be a whole path.
                let value = if texts.iter().all(|text| text.is_empty()) {
                    absolute(host, name, home)
                } else {
                    host.variable(name).map(OsStr::to_owned)
                };
                let mut own = Trust::Author;
                let usual = default
                    .as_ref()
                    .map(|default| self::texts(default, home, host, &mut own));
                let (values, word) = match (value, usual) {
                    // Who sets a variable to what holds without it says nothing.
                    (Some(value), Some(Ok(usual))) if same(&usual, &value) => (usual, own),
                    (Some(value), _) => (vec![value], Trust::Surroundings),
                    (None, Some(usual)) => (usual?, own),
                    (None, None) => return Err(unset(host, name)),
                };
                if word == Trust::Surroundings {
                    *trust = word;
                }
                values
            }
        };
        texts = each(&texts, &values);
    }
    Ok(texts)
}

/// Whether all texts are the same path as the value.
fn same(texts: &[OsString], value: &OsStr) -> bool {
    let value = normalise(Path::new(value));
    texts.iter().all(|text| normalise(Path::new(text)) == value)
}

/// Every text with every value after it.
fn each(texts: &[OsString], values: &[OsString]) -> Vec<OsString> {
    let join = |text: &OsString, value: &OsString| {
        let mut text = text.clone();
        text.push(value);
        text
    };
    texts
        .iter()
        .flat_map(|text| values.iter().map(move |value| join(text, value)))
        .collect()
}

/// Why a variable counts as unset.
fn unset(host: &Host, name: &str) -> String {
    match host.variable(name) {
        None => format!("${name} is not set"),
        Some(value) => format!(
            "${name} is {}, not an absolute path",
            value.to_string_lossy()
        ),
    }
}

/// A variable that holds an absolute path. Programs expand a leading `~/` in such a variable themselves.
fn absolute(host: &Host, name: &str, home: &Path) -> Option<OsString> {
    let value = host.variable(name)?;
    if value == "~" || value.as_bytes().starts_with(b"~/") {
        let mut path = home.as_os_str().to_owned();
        path.push(OsStr::from_bytes(&value.as_bytes()[1..]));
        return Some(path);
    }
    value.as_bytes().starts_with(b"/").then(|| value.to_owned())
}

/// Whether a path is what [`normalise`] would make of it.
#[must_use]
pub fn is_normal(path: &Path) -> bool {
    let bytes = path.as_os_str().as_bytes();
    bytes == b"/"
        || bytes.strip_prefix(b"/").is_some_and(|names| {
            let odd = |name: &[u8]| matches!(name, b"" | b"." | b"..");
            !names.split(|byte| *byte == b'/').any(odd)
        })
}

/// As [`normalise`], of a text that is not needed any more: most are normal.
fn normal(text: OsString) -> PathBuf {
    let path = PathBuf::from(text);
    match is_normal(&path) {
        true => path,
        false => normalise(&path),
    }
}

/// Removes `.`, `..` and doubled slashes, without looking at the disk.
#[must_use]
pub fn normalise(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

/// What a normal path has after a directory.
fn below<'p>(path: &'p Path, directory: &Path) -> Option<&'p Path> {
    let bytes = path.as_os_str().as_bytes();
    let rest = bytes.strip_prefix(directory.as_os_str().as_bytes())?;
    match rest {
        [] | [b'/'] => Some(Path::new("")),
        [b'/', rest @ ..] => Some(Path::new(OsStr::from_bytes(rest))),
        _ => None,
    }
}

/// A path for people: home as `~`, lossy where it is not UTF-8.
#[must_use]
pub fn show(path: &Path, homes: &[&Path]) -> String {
    let normal = is_normal(path);
    for home in homes.iter().filter(|home| **home != Path::new("/")) {
        let rest = match normal && is_normal(home) {
            // The bytes tell, which is far quicker.
            true => below(path, home),
            false => path.strip_prefix(home).ok(),
        };
        if let Some(rest) = rest {
            let mut text = OsString::from("~");
            if !rest.as_os_str().is_empty() {
                text.push("/");
                text.push(rest);
            }
            return String::from_utf8_lossy(&text.into_vec()).into_owned();
        }
    }
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Mounts;
    use crate::policy::Pattern;
    use crate::policy::parse;

    fn host(env: &[(&str, &[u8])]) -> Host {
        Host {
            env: env
                .iter()
                .map(|(name, value)| (name.into(), OsString::from_vec(value.to_vec())))
                .collect(),
            cwd: "/w/here".into(),
            guard_binary: None,
            passwd_home: None,
            mounts: Mounts::default(),
        }
    }

    fn run(path: &str, env: &[(&str, &[u8])]) -> Expansion {
        let policy = parse(&format!("version = 1\n[paths]\n'{path}' = 'writable'"), "x").unwrap();
        let Pattern::Path(template) = &policy.rules[0].pattern else {
            panic!("{path} is a glob")
        };
        expand(template, Path::new("/home/u"), &host(env))
    }

    fn author(path: &str) -> Expansion {
        Expansion::Paths(vec![path.into()], Trust::Author)
    }

    fn surroundings(path: &str) -> Expansion {
        Expansion::Paths(vec![path.into()], Trust::Surroundings)
    }

    #[test]
    fn every_form() {
        assert_eq!(run("/a/./b//../c/", &[]), author("/a/c"));
        assert_eq!(run("~", &[]), author("/home/u"));
        assert_eq!(run("~/../../..", &[]), author("/"));
        assert_eq!(run("${X:-~/.codex}/a", &[]), author("/home/u/.codex/a"));
        assert_eq!(
            run("${X:-~/.codex}/a", &[("X", b"/moved")]),
            surroundings("/moved/a")
        );
        assert_eq!(
            run("${X:-~/.codex}/a", &[("X", b"/home/u/.codex/")]),
            author("/home/u/.codex/a"),
            "the value is the default"
        );
        assert_eq!(
            run("${X:-${Y:-/d}}", &[("X", b"/y"), ("Y", b"/y")]),
            surroundings("/y")
        );
        assert_eq!(run("${X:-${Y:-/d}}", &[("Y", b"/y")]), surroundings("/y"));
        assert_eq!(
            run("~/${NAME}", &[("NAME", b".omp2")]),
            surroundings("/home/u/.omp2")
        );
        assert_eq!(
            run("~/${NAME}", &[("NAME", b"/abs")]),
            surroundings("/home/u/abs")
        );
        assert_eq!(
            run("${DB}-wal", &[("DB", b"/d/x.db")]),
            surroundings("/d/x.db-wal")
        );
        assert_eq!(
            run("${X}", &[("X", b"~/moved")]),
            surroundings("/home/u/moved")
        );
        assert_eq!(run("${workspace}/t", &[]), surroundings("/w/here/t"));
        assert_eq!(run("${tmp}/t", &[]), author("/tmp/t"));
        assert_eq!(
            run("${tmp}/t", &[("TMPDIR", b"/var/t")]),
            surroundings("/var/t/t")
        );
        assert_eq!(run("${tmp}", &[("TMPDIR", b"t")]), author("/tmp"));
    }

    #[test]
    fn values_that_count_as_unset() {
        let nothing = |why: &str| Expansion::Nothing(why.to_owned());
        assert_eq!(run("${X}/a", &[]), nothing("$X is not set"));
        assert_eq!(run("${X}/a", &[("X", b"")]), nothing("$X is not set"));
        assert_eq!(
            run("${X}/a", &[("X", b"rel")]),
            nothing("$X is rel, not an absolute path")
        );
        assert_eq!(run("${X:-~/d}", &[("X", b"rel")]), author("/home/u/d"));
        assert_eq!(run("~/${X}/a", &[("X", b"")]), nothing("$X is not set"));
        assert_eq!(
            run("${X:-rel}", &[]),
            nothing("rel is not an absolute path")
        );
    }

    #[test]
    fn what_is_normal_stays() {
        let texts = ["/", "/a", "/a/b.c/..d"];
        assert!(texts.iter().all(|text| is_normal(Path::new(text))));
        let texts = [
            "", "a", "//", "/a/", "/a//b", "/a/.", "/./a", "/a/../b", "/..",
        ];
        assert!(!texts.iter().any(|text| is_normal(Path::new(text))));
    }

    #[test]
    fn bytes_that_are_not_utf8_survive() {
        let Expansion::Paths(paths, _) = run("${X}/a", &[("X", b"/\xff")]) else {
            panic!("no path")
        };
        assert_eq!(paths[0].as_os_str().as_bytes(), b"/\xff/a");
    }

    #[test]
    fn shown_to_people() {
        let homes = [Path::new("/home/u"), Path::new("/data/u")];
        assert_eq!(show(Path::new("/home/u"), &homes), "~");
        assert_eq!(show(Path::new("/data/u/.pi"), &homes), "~/.pi");
        assert_eq!(show(Path::new("/home/u2"), &homes), "/home/u2");
        assert_eq!(show(Path::new("/a"), &[Path::new("/")]), "/a");
    }
}
