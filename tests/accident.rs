//! The accident that started it, as a real node project: unguarded the agent's files are gone, with guard all are there,
//! and what was tried is told and recorded.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use support::snapshot::Compare;
use support::{Home, Run, With, each, programs, skip, tail};

struct Row {
    name: &'static str,
    environment: &'static [(&'static str, &'static str)],
    /// The agent's folders whose removal the record has to name, from `~/.pi/agent`; none: there is no record.
    tried: &'static [&'static str],
    /// What is left of the agent's folder without guard.
    control: Left,
}

/// What is left of the agent's folder.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    Nothing,
    All,
}

const ROWS: &[Row] = &[
    Row {
        name: "as it was",
        environment: &[],
        tried: &["sessions"],
        control: Left::Nothing,
    },
    Row {
        name: "a teardown that goes on after errors",
        environment: &[("TEARDOWN", "persistent")],
        tried: &["sessions", ""],
        control: Left::Nothing,
    },
    Row {
        name: "a session folder that was there before",
        environment: &[("SESSION_OF", "work")],
        tried: &["sessions/--work--"],
        control: Left::Nothing,
    },
    Row {
        name: "both",
        environment: &[("TEARDOWN", "persistent"), ("SESSION_OF", "work")],
        tried: &["sessions/--work--", "sessions", ""],
        control: Left::Nothing,
    },
    Row {
        name: "the repaired teardown",
        environment: &[("TEARDOWN", "repaired")],
        tried: &[],
        control: Left::All,
    },
];

/// The project, in a folder of the home that was there before.
fn install(home: &Home) -> std::path::PathBuf {
    let project = home.tmp().join("accident");
    fs::create_dir(&project).unwrap();
    for name in ["package.json", "create.test.js"] {
        let from = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("examples/accident")
            .join(name);
        fs::copy(from, project.join(name)).unwrap();
        fs::set_permissions(project.join(name), PermissionsExt::from_mode(0o644)).unwrap();
        chown(
            project.join(name),
            Some(home.who.uid()),
            Some(home.who.gid()),
        )
        .unwrap();
    }
    chown(&project, Some(home.who.uid()), Some(home.who.gid())).unwrap();
    project
}

fn npm_test(home: &Home, row: &Row, with: With<'_>) -> Result<Run, String> {
    let project = install(home);
    let mut command = home.command(with, &["npm", "test"]);
    command
        .current_dir(project)
        .envs(row.environment.iter().copied());
    home.finish(command)
}

#[test]
fn npm_test_loses_nothing() {
    each(
        "accident",
        ROWS,
        |r| r.name.to_owned(),
        |row, who| {
            if let Some(need) = programs::missing(who, &["node", "npm"]) {
                return skip(row.name, &need);
            }
            let home = Home::new(who);
            let plain = npm_test(&home, row, With::Nothing)?;
            let left = if home.agent().exists() {
                Left::All
            } else {
                Left::Nothing
            };
            if plain.status != 0 || left != row.control {
                return Err(format!(
                    "CONTROL: exit {}, the agent's folder is there: {}\n{}",
                    plain.status,
                    home.agent().exists(),
                    tail(&plain.stdout)
                ));
            }
            home.reset();
            let before = home.protected();
            assert_eq!(before.0.values().filter(|e| e.kind == 'f').count(), 9);
            let guarded = npm_test(&home, row, With::Guard(DEFAULT))?;
            // What the test made in a folder shows in that folder's time. Its own session stays where the teardown gave up
            // at a folder that was there before.
            let is_its_own = |d: &String| {
                d.starts_with(".pi/agent/sessions")
                    && (d.contains(": mtime")
                        || !row.environment.is_empty() && d.contains("_test.jsonl is new"))
            };
            let mut problems: Vec<String> = before
                .differences(&home.protected(), Compare::Exact)
                .into_iter()
                .filter(|d| !is_its_own(d))
                .map(|d| format!("DAMAGE: {d}"))
                .collect();
            if guarded.status != 0 {
                problems.push(format!(
                    "exit {}: the test is green without guard",
                    guarded.status
                ));
            }
            problems.extend(told_wrongly(&home, row, &guarded));
            if problems.is_empty() {
                return Ok(());
            }
            Err(format!(
                "{}\nstdout:\n{}\nstderr:\n{}",
                problems.join("\n"),
                tail(&guarded.stdout),
                tail(&guarded.stderr)
            ))
        },
    );
}

/// The policy of a run without any option.
const DEFAULT: &[&str] = &["--policy", "default"];

/// What is wrong with guard's words and its record.
fn told_wrongly(home: &Home, row: &Row, guarded: &Run) -> Vec<String> {
    let attempts = home.attempts();
    let mut problems = Vec::new();
    if row.tried.is_empty() {
        if guarded.stderr.contains("guard: ") || !attempts.is_empty() {
            problems.push(format!("{} attempts where there are none", attempts.len()));
        }
        return problems;
    }
    let lines: Vec<&str> = guarded.stderr.lines().collect();
    let told = lines
        .iter()
        .any(|l| l.starts_with("guard: refused: node (pid "))
        && lines
            .iter()
            .any(|l| l.starts_with("guard: ") && l.contains("rule ~/.pi/agent"));
    if !told {
        problems.push("stderr does not name the process and the rule".to_owned());
    }
    for folder in row.tried {
        let path = home.agent().join(folder);
        let path = path.to_str().unwrap().trim_end_matches('/');
        let recorded = attempts.iter().any(|a| {
            a["operation"] == "delete"
                && a["found"] == path
                && a["executable"]
                    .as_str()
                    .is_some_and(|e| e.ends_with("node"))
                && a["rule"]["path"]
                    .as_str()
                    .is_some_and(|rule| rule.starts_with("~/.pi/agent"))
                && a["parents"].as_array().is_some_and(|p| !p.is_empty())
        });
        if !recorded {
            problems.push(format!("the record has no removal of {path} by node"));
        }
    }
    problems
}

/// The demonstration of the README needs nothing but guard, and ends with what survived.
#[test]
fn the_demo_shows_both_homes() {
    each(
        "demo",
        &["guard demo"],
        |n| (*n).to_owned(),
        |_, who| {
            let home = Home::new(who);
            let before = home.everything();
            let run = home.finish(home.command(
                With::Nothing,
                &[programs::guard().to_str().unwrap(), "demo"],
            ))?;
            // It works in the temporary folder, whose own time tells that something was there.
            let mut changes = before.differences(&home.everything(), Compare::Exact);
            changes.retain(|change| !change.starts_with("tmp: mtime"));
            let told = run.stdout.contains("refused") || run.stderr.contains("guard: refused");
            if run.status != 0 || !told || !changes.is_empty() {
                return Err(format!(
                    "exit {}, {}\n{}\n{}",
                    run.status,
                    changes.join("\n"),
                    tail(&run.stdout),
                    tail(&run.stderr)
                ));
            }
            Ok(())
        },
    );
}

/// Every policy in examples/ parses and resolves.
#[test]
fn example_policies_are_valid() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let policies: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "toml"))
        .collect();
    each(
        "example policies",
        &policies,
        |p| p.file_name().unwrap().to_string_lossy().into_owned(),
        |policy, who| {
            let home = Home::new(who);
            let copy = home.tmp().join("policy.toml");
            fs::copy(policy, &copy).unwrap();
            fs::set_permissions(&copy, PermissionsExt::from_mode(0o644)).unwrap();
            let guard = programs::guard().to_str().unwrap();
            let run = home
                .finish(home.command(With::Nothing, &[guard, "check", copy.to_str().unwrap()]))?;
            if run.status != 0 {
                return Err(format!("exit {}: {}", run.status, tail(&run.stderr)));
            }
            let run = home.script(
                With::Guard(&["--policy", copy.to_str().unwrap()]),
                "touch ~/new",
            )?;
            if run.status == 0 {
                Ok(())
            } else {
                Err(format!("exit {}: {}", run.status, tail(&run.stderr)))
            }
        },
    );
}
