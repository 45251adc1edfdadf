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
    /// The operation that the record has to name.
    operation: &'static str,
    /// Whether all of the agent's folder goes without guard.
    persistent: bool,
}

const ROWS: &[Row] = &[
    Row {
        name: "as it was",
        environment: &[],
        operation: "create",
        persistent: false,
    },
    Row {
        name: "a teardown that goes on after errors",
        environment: &[("TEARDOWN", "persistent")],
        operation: "delete",
        persistent: true,
    },
    Row {
        name: "a session folder that was there before",
        environment: &[("SESSION_OF", "work")],
        operation: "delete",
        persistent: false,
    },
    Row {
        name: "both",
        environment: &[("TEARDOWN", "persistent"), ("SESSION_OF", "work")],
        operation: "delete",
        persistent: true,
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
            if plain.status != 0 || home.agent().exists() {
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
            let guarded = npm_test(&home, row, With::Guard(&[]))?;
            let mut problems: Vec<String> = before
                .differences(&home.protected(), Compare::Exact)
                .into_iter()
                .map(|d| format!("DAMAGE: {d}"))
                .collect();
            let told = guarded
                .stderr
                .lines()
                .any(|l| l.starts_with("guard: refused: node (pid "))
                && guarded
                    .stderr
                    .lines()
                    .any(|l| l.starts_with("guard: ") && l.contains("rule ~/.pi/agent"));
            if !told {
                problems.push("stderr does not name the process and the rule".to_owned());
            }
            let recorded = home.attempts().iter().any(|a| {
                a["operation"] == row.operation
                    && a["found"]
                        .as_str()
                        .is_some_and(|f| f.starts_with(home.agent().to_str().unwrap()))
                    && a["executable"]
                        .as_str()
                        .is_some_and(|e| e.ends_with("node"))
                    && a["rule"]["path"] == "~/.pi/agent"
                    && a["parents"].as_array().is_some_and(|p| !p.is_empty())
            });
            if !recorded {
                problems.push(format!("the record has no {} by node", row.operation));
            }
            if row.persistent && guarded.status != 0 {
                problems.push(format!(
                    "exit {}: the test swallows its errors and is green without guard",
                    guarded.status
                ));
            }
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
