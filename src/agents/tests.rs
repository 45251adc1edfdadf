//! Wrapping and unwrapping, over many configurations of every agent.
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::edit::Format;
use super::known::Way;
use super::*;

/// What is below a folder: for each name the mode and the bytes or the target of a link. guard's own is left out, and
/// `.config` itself, which may be there for that alone.
type Tree = BTreeMap<PathBuf, (u32, Vec<u8>)>;

fn tree(at: &Path, found: &mut Tree) {
    for entry in fs::read_dir(at).unwrap() {
        let path = entry.unwrap().path();
        let data = path.symlink_metadata().unwrap();
        if path.ends_with(".local") || path.ends_with(".config/guard") {
            continue;
        }
        if path.ends_with(".config") {
            tree(&path, found);
            continue;
        }
        let bytes = if data.is_symlink() {
            fs::read_link(&path)
                .unwrap()
                .into_os_string()
                .into_encoded_bytes()
        } else if data.is_dir() {
            tree(&path, found);
            Vec::new()
        } else {
            fs::read(&path).unwrap()
        };
        found.insert(path, (data.permissions().mode(), bytes));
    }
}

fn seen(at: &Path) -> Tree {
    let mut found = Tree::new();
    tree(at, &mut found);
    found
}

/// A configuration as it may be found.
#[derive(Clone, Debug)]
struct Before {
    /// Bits of the text: see [`Before::text`].
    parts: Vec<usize>,
    kind: Kind,
    has_mark: bool,
    has_crlf: bool,
    ends_with_newline: bool,
    mode: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Missing,
    MissingFolder,
    Empty,
    File,
    Link,
    ReadOnly,
    Broken,
}

const JSON: &[(&str, &str)] = &[
    ("theme", "\"dark\""),
    ("ünknown", "[1, 2.50, {\"a\": null}, ]"),
    ("shellPath", "\"/bin/zsh\""),
    ("shell", "\"fish\""),
    ("env", "{ \"A\": \"b\" /* why */ }"),
    (
        "hooks",
        "{\n    // theirs\n    \"PreToolUse\": [\n      {\"matcher\": \"Edit\", \"hooks\": []},\n    ],\n  }",
    ),
    ("version", "1"),
    ("deep", "{\"x\": {\"y\": {}}}"),
    ("text", "\"a \\u00e9 \\\" // no comment\""),
];

const TOML: &[&str] = &[
    "# a comment\n",
    "model = \"m\" # why\n",
    "n = 1_000\nwhen = 1979-05-27T07:32:00Z\n",
    "\n\n",
    "[mcp_servers.x]\ncommand = 'c'\nargs = [ \"a\", # one\n  \"b\" ]\n",
    "[shell_environment_policy]\ninherit = \"all\"\n",
    "[shell_environment_policy]\nset = { A = \"1\" } # mine\n",
    "[shell_environment_policy.set]\nBASH_ENV = '/old' # mine\n",
    "[[hooks.PreToolUse]]\nmatcher = \"x\"\n",
];

impl Before {
    fn text(&self, format: Format) -> String {
        let mut once = BTreeSet::new();
        let parts = self.parts.iter().copied().filter(|part| once.insert(*part));
        let mut text = match format {
            Format::Toml => {
                // What has a header goes last, and a table is there once.
                let mut parts: Vec<usize> = parts.map(|part| part % TOML.len()).collect();
                parts.sort_unstable();
                parts.dedup();
                let tables = parts
                    .iter()
                    .copied()
                    .filter(|part| (5..8).contains(part))
                    .skip(1)
                    .collect::<Vec<_>>();
                parts
                    .into_iter()
                    .filter(|part| !tables.contains(part))
                    .map(|part| TOML[part])
                    .collect()
            }
            _ => {
                let members: Vec<String> = parts
                    .filter(|part| *part < JSON.len())
                    .map(|part| {
                        format!(
                            "  // about {part}\n  \"{}\": {}",
                            JSON[part].0, JSON[part].1
                        )
                    })
                    .collect();
                let comma = if self.parts.len().is_multiple_of(2) && !members.is_empty() {
                    ","
                } else {
                    ""
                };
                if self.parts.len() == 1 {
                    format!("{{ \"{}\": 1 }}\n", JSON[self.parts[0] % 2].0)
                } else {
                    format!(
                        "/* top */\n{{\n{}{comma} // end\n}}\n// after\n",
                        members.join(",\n")
                    )
                }
            }
        };
        if self.kind == Kind::Broken {
            text.push_str("{ = ");
        }
        if !self.ends_with_newline {
            text.truncate(text.trim_end_matches('\n').len());
        }
        if self.has_crlf {
            text = text.replace('\n', "\r\n");
        }
        if self.has_mark {
            text.insert(0, '\u{feff}');
        }
        text
    }
}

fn before() -> impl Strategy<Value = Before> {
    let kinds = prop_oneof![
        1 => Just(Kind::Missing),
        1 => Just(Kind::MissingFolder),
        1 => Just(Kind::Empty),
        9 => Just(Kind::File),
        3 => Just(Kind::Link),
        2 => Just(Kind::ReadOnly),
        2 => Just(Kind::Broken),
    ];
    let parts = prop::collection::vec(0_usize..9, 0..6);
    let modes = prop_oneof![Just(0o644), Just(0o600), Just(0o640)];
    (
        parts,
        kinds,
        prop::bool::weighted(0.1),
        prop::bool::weighted(0.2),
        prop::bool::weighted(0.8),
        modes,
    )
        .prop_map(
            |(parts, kind, has_mark, has_crlf, ends_with_newline, mode)| Before {
                parts,
                kind,
                has_mark,
                has_crlf,
                ends_with_newline,
                mode,
            },
        )
}

/// Where the configuration of an agent is, and its language.
fn place(agent: &Agent, here: &Surroundings<'_>) -> Option<(PathBuf, Format)> {
    let (file, format) = match agent.way {
        Way::Hand(_) => return None,
        Way::Edit { file, format, .. } => (file, format),
        Way::File { file, .. } => (file, Format::Whole),
    };
    Some((here.first(file).unwrap().unwrap(), format))
}

/// Puts the configuration where the agent looks for it.
fn furnish(path: &Path, format: Format, before: &Before) {
    let folder = path.parent().unwrap();
    if before.kind != Kind::MissingFolder {
        fs::create_dir_all(folder).unwrap();
    }
    let write = |path: &Path, text: &str, mode| {
        fs::write(path, text).unwrap();
        fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    };
    match before.kind {
        Kind::Missing | Kind::MissingFolder => {}
        Kind::Empty => write(path, "", before.mode),
        Kind::ReadOnly => write(path, &before.text(format), 0o444),
        Kind::File | Kind::Broken => write(path, &before.text(format), before.mode),
        Kind::Link => {
            let real = folder.parent().unwrap().join("dotfiles-of-mine");
            write(&real, &before.text(format), before.mode);
            symlink(&real, path).unwrap();
        }
    }
}

fn carry_out(outcome: Result<Outcome, WrapError>, here: &Surroundings<'_>) -> bool {
    match outcome {
        Ok(Outcome::Change(proposal)) => {
            proposal.carry_out(here).unwrap();
            true
        }
        Ok(_) => false,
        Err(error) => panic!("{error}"),
    }
}

/// Wraps and unwraps one agent. Returns whether it could be wrapped.
fn there_and_back(agent: &'static Agent, before: &Before) -> bool {
    // Where writing through to the disk costs nothing.
    let memory = Path::new("/dev/shm");
    let home = if memory.is_dir() {
        tempfile::tempdir_in(memory)
    } else {
        tempfile::tempdir()
    }
    .unwrap();
    let here = Surroundings {
        home: home.path().to_owned(),
        env: &|_| None,
        guard: "/opt/guard".into(),
    };
    let Some((path, format)) = place(agent, &here) else {
        return false;
    };
    furnish(&path, format, before);
    let old = seen(home.path());
    let there = matches!(
        before.kind,
        Kind::File | Kind::Link | Kind::Empty | Kind::ReadOnly | Kind::Broken
    );
    let refused = |error: &WrapError| match before.kind {
        _ if format == Format::Whole => {
            matches!(error, WrapError::Occupied(_)) || error.to_string().contains("read-only")
        }
        Kind::ReadOnly => error.to_string().contains("read-only (mode 444)"),
        Kind::Broken => error.to_string().contains(": line "),
        _ => false,
    };
    let asked = wrap(agent, &here);
    assert_eq!(
        seen(home.path()),
        old,
        "{}: changed before anybody agreed",
        agent.name
    );
    if let Err(error) = &asked {
        assert!(
            there && refused(error),
            "{}: {before:?}: {error}",
            agent.name
        );
        return false;
    }
    assert!(
        ![Kind::ReadOnly, Kind::Broken].contains(&before.kind),
        "{}: {before:?}",
        agent.name
    );
    assert!(carry_out(asked, &here), "{}: {before:?}", agent.name);
    let wrapped = seen(home.path());
    assert_ne!(wrapped, old);
    assert!(
        matches!(wrap(agent, &here), Ok(Outcome::Wrapped(_))),
        "{}: {before:?}",
        agent.name
    );
    assert_eq!(seen(home.path()), wrapped);
    assert!(carry_out(unwrap(agent, &here), &here));
    assert_eq!(seen(home.path()), old, "{}: {before:?}", agent.name);
    assert!(matches!(unwrap(agent, &here), Ok(Outcome::Nothing(_))));
    edited_in_between(agent, &here, &path, format);
    true
}

/// What somebody adds while the agent is wrapped is still there afterwards, and nothing else is different.
fn edited_in_between(agent: &'static Agent, here: &Surroundings<'_>, path: &Path, format: Format) {
    let comment = match format {
        Format::Json => "\n// added",
        _ => "\n# added",
    };
    let old = fs::read_to_string(path).ok();
    assert!(carry_out(wrap(agent, here), here));
    let wrapped = fs::read_to_string(path).unwrap();
    fs::write(path, format!("{wrapped}{comment}")).unwrap();
    let changed = carry_out(unwrap(agent, here), here);
    let after = fs::read_to_string(path).unwrap();
    if format == Format::Whole {
        assert!(
            !changed && after == format!("{wrapped}{comment}"),
            "a file that is not guard's any more stays"
        );
    } else {
        assert_eq!(
            after,
            format!("{}{comment}", old.unwrap_or_default()),
            "{}",
            agent.name
        );
    }
}

/// Two hundred configurations for each agent that has one.
#[test]
fn wrapped_and_unwrapped_every_configuration_is_as_it_was() {
    use proptest::test_runner::{Config, TestRunner};
    let mut runner = TestRunner::new(Config {
        failure_persistence: None,
        ..Config::with_cases(200)
    });
    let counted = std::cell::RefCell::new(BTreeMap::<&str, u32>::new());
    let result = runner.run(&before(), |before| {
        for agent in KNOWN {
            *counted.borrow_mut().entry(agent.name).or_default() +=
                u32::from(there_and_back(agent, &before));
        }
        Ok(())
    });
    result.unwrap();
    for agent in KNOWN {
        let wrapped = counted.borrow()[agent.name];
        match agent.way {
            Way::Edit { .. } => assert!(wrapped > 100, "{}: {wrapped}", agent.name),
            Way::File { .. } => assert!(wrapped > 5, "{}: {wrapped}", agent.name),
            Way::Hand(_) => assert_eq!(wrapped, 0),
        }
    }
}

#[test]
fn a_guard_that_has_moved_wraps_anew_and_the_first_state_comes_back() {
    let home = tempfile::tempdir().unwrap();
    let at = |guard: &str| Surroundings {
        home: home.path().to_owned(),
        env: &|_| None,
        guard: guard.into(),
    };
    let agent = known("gemini").unwrap();
    let path = home.path().join(".gemini/settings.json");
    fs::create_dir(path.parent().unwrap()).unwrap();
    fs::write(&path, "{\"hooks\": {\"BeforeTool\": []}}").unwrap();
    assert!(carry_out(wrap(agent, &at("/old/guard")), &at("/old/guard")));
    let here = at("/new/it's guard");
    assert!(carry_out(wrap(agent, &here), &here));
    let text = fs::read_to_string(&path).unwrap();
    assert!(
        text.contains("/new/it") && !text.contains("/old/guard"),
        "{text}"
    );
    assert!(carry_out(unwrap(agent, &here), &here));
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        "{\"hooks\": {\"BeforeTool\": []}}"
    );
}

#[test]
fn a_configuration_that_has_moved_is_unwrapped_where_it_was() {
    let home = tempfile::tempdir().unwrap();
    let moved = home.path().join("moved");
    let env = |name: &str| (name == "PI_CODING_AGENT_DIR").then(|| moved.clone().into_os_string());
    let here = Surroundings {
        home: home.path().to_owned(),
        env: &|_| None,
        guard: "/g".into(),
    };
    let there = Surroundings {
        home: home.path().to_owned(),
        env: &env,
        guard: "/g".into(),
    };
    let agent = known("pi").unwrap();
    assert!(carry_out(wrap(agent, &here), &here));
    assert!(matches!(
        wrap(agent, &there),
        Err(WrapError::Elsewhere { .. })
    ));
    assert!(carry_out(unwrap(agent, &there), &there));
    assert!(!home.path().join(".pi").exists());
    assert!(carry_out(wrap(agent, &there), &there) && moved.join("settings.json").exists());
}

#[test]
fn what_changes_meanwhile_is_not_overwritten() {
    let home = tempfile::tempdir().unwrap();
    let here = Surroundings {
        home: home.path().to_owned(),
        env: &|_| None,
        guard: "/g".into(),
    };
    let path = home.path().join("settings");
    fs::write(&path, "{}").unwrap();
    fs::create_dir_all(home.path().join(".pi/agent")).unwrap();
    symlink(&path, home.path().join(".pi/agent/settings.json")).unwrap();
    let Ok(Outcome::Change(proposal)) = wrap(known("pi").unwrap(), &here) else {
        panic!("no change")
    };
    fs::write(&path, "{\"a\": 1}").unwrap();
    assert!(
        proposal
            .carry_out(&here)
            .unwrap_err()
            .to_string()
            .contains("changed by somebody else")
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\"a\": 1}");
    fs::remove_file(&path).unwrap();
    let said = wrap(known("pi").unwrap(), &here).unwrap_err().to_string();
    assert!(said.contains("is a symbolic link to"), "{said}");
}

#[test]
fn the_names_are_in_order_and_hooks_belong_to_known_agents() {
    assert!(KNOWN.is_sorted_by_key(|agent| agent.name));
    assert_eq!(KNOWN.len(), 18);
    for dialect in DIALECTS {
        assert!(known(dialect.name).is_some(), "{}", dialect.name);
    }
}
