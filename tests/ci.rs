//! What continuous integration is told: exit status, reports, annotations and the step's summary.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use std::fs;

use support::home::check;
use support::{Home, Run, With, each, read_text};

struct Row {
    name: &'static str,
    script: &'static str,
    /// Groups of attempts.
    groups: usize,
    status: i32,
}

const ROWS: &[Row] = &[
    Row {
        name: "errors are swallowed",
        script: "rm -rf ~/.pi/agent; chmod 0 $P/auth.json; true",
        groups: 2,
        status: 123,
    },
    Row {
        name: "the command fails itself",
        script: "rm -f ~/.pi/agent/auth.json; exit 7",
        groups: 1,
        status: 7,
    },
    Row {
        name: "a name that is more than a name",
        script: r"mkdir $P/$'x\n::error title=guard::forged\n\n| <code>forged\e[2J\x01\xff<failure><b>' 2> /dev/null",
        groups: 1,
        status: 1,
    },
    Row {
        name: "nothing was tried",
        script: "echo fine",
        groups: 0,
        status: 0,
    },
];

/// The script as a step of a workflow, with both reports.
fn step(home: &Home, script: &str, environment: &[(&str, &str)]) -> Result<Run, String> {
    let options = [
        "--fail-on-attempt",
        "--report",
        "junit=guard.xml",
        "--report",
        "sarif=out/guard.sarif",
    ];
    let mut command = home.command(With::Guard(&options), &["bash", "-c", script]);
    command
        .current_dir(home.outside())
        .envs(environment.iter().copied());
    home.finish(command)
}

#[test]
fn reports_annotations_and_summary_tell_what_was_tried() {
    each(
        "ci",
        ROWS,
        |row| row.name.to_owned(),
        |row, who| {
            let home = Home::new(who);
            let out = home.outside();
            home.script(With::Nothing, "mkdir $O/out; echo before > $O/summary.md")?;
            let summary = out.join("summary.md");
            let environment = [
                ("GITHUB_ACTIONS", "true"),
                ("GITHUB_STEP_SUMMARY", summary.to_str().unwrap()),
            ];
            let run = step(&home, row.script, &environment)?;
            check("exit status", run.status == row.status, &run)?;
            check(
                "stdout is the command's",
                !run.stdout.contains("::error"),
                &run,
            )?;
            let annotations = run
                .stderr
                .lines()
                .filter(|line| line.starts_with("::error title=guard::"));
            check("annotations", annotations.count() == row.groups, &run)?;

            let text = read_text(&summary);
            let rows = text
                .lines()
                .filter(|line| line.starts_with("| <code>"))
                .count();
            check(
                "summary",
                text.starts_with("before\n") && rows == row.groups,
                &run,
            )?;

            let sarif: serde_json::Value =
                serde_json::from_str(&read_text(&out.join("out/guard.sarif"))).unwrap();
            let results = sarif["runs"][0]["results"].as_array().unwrap().len();
            check("sarif", results == row.groups, &run)?;
            let junit = read_text(&out.join("guard.xml"));
            let controls = |c: char| c.is_control() && c != '\n';
            let written = [&run.stderr, &text, &junit];
            let harmless = !written.iter().any(|it| it.contains(controls))
                && !text.contains("<b>")
                && !junit.contains("<b>");
            check("harmless", harmless, &run)?;
            check(
                "junit",
                junit.contains(&format!("failures=\"{}\"", row.groups)),
                &run,
            )
        },
    );
}

#[test]
fn without_a_workflow_nothing_is_annotated() {
    each(
        "ci",
        &ROWS[..1],
        |_| "no workflow".into(),
        |row, who| {
            let home = Home::new(who);
            home.script(With::Nothing, "mkdir $O/out")?;
            let run = step(&home, row.script, &[("GITHUB_ACTIONS", "false")])?;
            check("no annotation", !run.stderr.contains("::error"), &run)
        },
    );
}

/// The command lays links where guard is about to write: what they lead to stays as it is.
#[test]
fn a_report_is_not_led_to_what_is_protected() {
    let row = "rm -f guard.xml summary.md; ln -s $P/auth.json guard.xml; ln -s $P/auth.json summary.md; rm -f $P/auth.json; true";
    each(
        "ci",
        &[row],
        |_| "links for reports".into(),
        |script, who| {
            let home = Home::new(who);
            let out = home.outside();
            home.script(With::Nothing, "mkdir $O/out; : > $O/summary.md")?;
            let before = fs::read(home.agent().join("auth.json")).unwrap();
            let summary = out.join("summary.md");
            let environment = [
                ("GITHUB_ACTIONS", "true"),
                ("GITHUB_STEP_SUMMARY", summary.to_str().unwrap()),
            ];
            let run = step(&home, script, &environment)?;
            check(
                "the links were laid",
                out.join("guard.xml").is_symlink(),
                &run,
            )?;
            let said = run
                .stderr
                .matches("it was removed or replaced meanwhile")
                .count();
            check(
                "kept and said",
                fs::read(home.agent().join("auth.json")).unwrap() == before && said == 2,
                &run,
            )?;
            // The next run finds the links of the first.
            let next = step(&home, "echo next", &environment)?;
            check(
                "not started",
                next.status == 125 && next.stdout.is_empty(),
                &next,
            )?;
            check(
                "kept",
                fs::read(home.agent().join("auth.json")).unwrap() == before,
                &next,
            )
        },
    );
}

/// A report that could not be written at the end is a failed run before it begins.
#[test]
fn a_report_that_cannot_be_written_stops_the_run_before_it_starts() {
    each(
        "ci",
        &ROWS[2..],
        |_| "no folder for the report".into(),
        |row, who| {
            let home = Home::new(who);
            let run = step(&home, row.script, &[])?;
            let said = run.stderr.contains("guard: cannot write the report")
                && run.stderr.contains("out/guard.sarif");
            check(
                "not started",
                run.status == 125 && run.stdout.is_empty() && said,
                &run,
            )?;
            check(
                "no sarif",
                fs::metadata(home.outside().join("out")).is_err(),
                &run,
            )
        },
    );
}

/// The scripts of action.yml's steps, in order: the blocks below `run: |`.
fn steps_of_the_action() -> Vec<String> {
    let text = read_text(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("action.yml"));
    let mut steps: Vec<String> = Vec::new();
    let mut depth = None;
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        match depth {
            Some(outer) if indent > outer => {
                let script = steps.last_mut().unwrap();
                script.push_str(line.trim_start());
                script.push('\n');
            }
            _ => {
                depth = (line.trim() == "run: |").then_some(indent);
                if depth.is_some() {
                    steps.push(String::new());
                }
            }
        }
    }
    steps
}

#[test]
fn the_action_runs_its_commands_under_guard() {
    let steps = steps_of_the_action();
    assert_eq!(steps.len(), 3);
    let rows = [
        (
            "all is well",
            "echo \"a  b\"; false || echo c",
            "",
            0,
            "a  b\nc\n",
        ),
        ("a command fails", "echo a; false; echo b", "", 1, "a\n"),
        (
            "something is refused",
            "rm -rf ~/.pi/agent || true; echo b",
            "--report junit=guard.xml",
            123,
            "b\n",
        ),
    ];
    each(
        "action",
        &rows,
        |row| row.0.to_owned(),
        |(_, commands, options, status, stdout), who| {
            let home = Home::new(who);
            let bin = support::programs::guard().parent().unwrap();
            let script = |step: &str, more: &[(&str, &str)]| {
                let mut command = home.command(
                    With::Nothing,
                    &[
                        "bash",
                        "--noprofile",
                        "--norc",
                        "-eo",
                        "pipefail",
                        "-c",
                        step,
                    ],
                );
                let path = format!("{}:{}", bin.display(), support::programs::path_for(who));
                command
                    .current_dir(home.outside())
                    .env("PATH", path)
                    .env_remove("GUARD_POLICY");
                command.envs(more.iter().copied());
                home.finish(command)
            };
            let doctor = script(&steps[1], &[])?;
            check(
                "doctor",
                doctor.status == 0 && doctor.stdout.contains("A trial run was stopped"),
                &doctor,
            )?;
            let run = script(
                &steps[2],
                &[
                    ("COMMANDS", commands),
                    ("POLICY", "ci"),
                    ("OPTIONS", options),
                ],
            )?;
            check("run", run.status == *status && run.stdout == *stdout, &run)?;
            let report = home.outside().join("guard.xml").exists();
            check("report", report != options.is_empty(), &run)
        },
    );
}
