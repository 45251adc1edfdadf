//! A machine that lacks something: `guard doctor` says what and what to do, `guard -- COMMAND` refuses with the same words,
//! `--best-effort` runs with what there is, and says and records what is not enforced.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use std::time::Duration;

use support::snapshot::Compare;
use support::{Home, Run, With, each, programs, read_text, skip, tail};

/// What `guard --best-effort` still does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    /// The supervisor does everything.
    Supervisor,
    /// The wall stands alone.
    Wall,
    /// The wall, and a supervisor that cannot look into processes.
    Blind,
    Nothing,
    /// It does not start either.
    No,
}

/// A machine, and what is said on it.
struct Row {
    name: &'static str,
    /// Arguments of `without`.
    without: &'static [&'static str],
    /// The rows of `guard doctor` that are not `ok`, with the beginning of the mark and words of the text.
    rows: &'static [(&'static str, &'static str, &'static str)],
    /// Words of a refused run.
    refused: &'static [&'static str],
    left: Left,
}

const ROWS: &[Row] = &[
    Row {
        name: "no Landlock",
        without: &["landlock_create_ruleset=38"],
        rows: &[("MISSING", "Landlock", "CONFIG_SECURITY_LANDLOCK")],
        refused: &["no Landlock", "Linux 6.2"],
        left: Left::Supervisor,
    },
    Row {
        name: "Landlock switched off",
        without: &["landlock_create_ruleset=95"],
        rows: &[("MISSING", "Landlock", "`lsm=`")],
        refused: &["Landlock", "switched off", "`lsm=`"],
        left: Left::Supervisor,
    },
    Row {
        name: "Landlock forbidden",
        without: &["landlock_restrict_self=1"],
        rows: &[("MISSING", "Landlock", "allow the landlock calls")],
        refused: &["Landlock", "EPERM", "container"],
        left: Left::Supervisor,
    },
    Row {
        name: "too many rulesets",
        without: &["layers"],
        rows: &[("MISSING", "Landlock", "sixteen")],
        refused: &["sixteen", "outside"],
        left: Left::Supervisor,
    },
    Row {
        name: "no filters",
        without: &["seccomp=38"],
        rows: &[
            ("MISSING", "user notification", "CONFIG_SECCOMP_FILTER"),
            ("MISSING", "reading memory", "not tried"),
            ("MISSING", "looking into /proc", "not tried"),
            ("MISSING", "handing in descriptors", "not tried"),
            ("absent", "taking descriptors", "not tried"),
            ("absent", "wake-up in step", "not tried"),
            ("MISSING", "32-bit calls", "not tried"),
        ],
        refused: &["seccomp", "CONFIG_SECCOMP_FILTER"],
        left: Left::Wall,
    },
    Row {
        name: "an old kernel's filters",
        without: &["seccomp=22"],
        rows: &[
            ("MISSING", "user notification", "Linux 5.19"),
            ("MISSING", "reading memory", "not tried"),
            ("MISSING", "looking into /proc", "not tried"),
            ("MISSING", "handing in descriptors", "not tried"),
            ("absent", "taking descriptors", "not tried"),
            ("absent", "wake-up in step", "not tried"),
            ("MISSING", "32-bit calls", "not tried"),
        ],
        refused: &["system call filter", "Linux 5.19"],
        left: Left::Wall,
    },
    Row {
        name: "another supervisor",
        without: &["listener"],
        rows: &[
            ("MISSING", "user notification", "another supervisor"),
            ("MISSING", "reading memory", "not tried"),
            ("MISSING", "looking into /proc", "not tried"),
            ("MISSING", "handing in descriptors", "not tried"),
            ("absent", "taking descriptors", "not tried"),
            ("absent", "wake-up in step", "not tried"),
            ("MISSING", "32-bit calls", "not tried"),
        ],
        refused: &["another supervisor", "allows one", "outside"],
        left: Left::Wall,
    },
    Row {
        name: "neither layer",
        without: &["listener", "landlock_create_ruleset=38"],
        rows: &[
            ("MISSING", "Landlock", "CONFIG_SECURITY_LANDLOCK"),
            ("MISSING", "user notification", "another supervisor"),
            ("MISSING", "reading memory", "not tried"),
            ("MISSING", "looking into /proc", "not tried"),
            ("MISSING", "handing in descriptors", "not tried"),
            ("absent", "taking descriptors", "not tried"),
            ("absent", "wake-up in step", "not tried"),
            ("MISSING", "32-bit calls", "not tried"),
        ],
        refused: &["no Landlock"],
        left: Left::Nothing,
    },
    Row {
        name: "processes may not be read",
        without: &["process_vm_readv=38"],
        rows: &[("MISSING", "reading memory", "process_vm_readv")],
        refused: &["may not look into", "process_vm_readv"],
        left: Left::Blind,
    },
    Row {
        name: "no openat2",
        without: &["openat2=38"],
        rows: &[
            ("MISSING", "openat2", "Linux 5.6"),
            ("MISSING", "reading memory", "not tried"),
            ("MISSING", "looking into /proc", "\"openat2\""),
            ("absent", "taking descriptors", "not tried"),
        ],
        refused: &["cannot look at /", "guard doctor"],
        left: Left::No,
    },
    Row {
        name: "no process descriptors",
        without: &["pidfd_open=1"],
        rows: &[
            ("MISSING", "process descriptors", "pidfd_open"),
            ("absent", "taking descriptors", "EPERM"),
        ],
        refused: &["guard doctor"],
        left: Left::No,
    },
];

fn under(home: &Home, without: &[&str], guard: &[&str], argv: &[&str]) -> Result<Run, String> {
    let helper = programs::helper("without").unwrap();
    let binary = programs::guard();
    let mut full = vec![helper.to_str().unwrap()];
    full.extend(without);
    full.extend(["--", binary.to_str().unwrap()]);
    full.extend(guard);
    full.extend(argv);
    home.finish(home.command(With::Nothing, &full))
}

/// Every row of the table that `guard doctor` prints: mark, name and text.
fn rows(text: &str) -> Vec<(&str, &str, &str)> {
    let table = text.lines().take_while(|line| !line.is_empty());
    table
        .map(|line| {
            let (mark, rest) = line.split_once(' ').unwrap();
            let (name, text) = rest.trim_start().split_once("  ").unwrap();
            (mark, name, text.trim_start())
        })
        .collect()
}

const NAMES: &[&str] = &[
    "openat2",
    "Landlock",
    "process descriptors",
    "user notification",
    "reading memory",
    "looking into /proc",
    "handing in descriptors",
    "taking descriptors",
    "wake-up in step",
    #[cfg(target_arch = "x86_64")]
    "32-bit calls",
    "mount ids, birth times",
];

#[test]
fn doctor_finds_nothing_missing_here() {
    each(
        "doctor",
        &[
            "as it is",
            "in a sandbox",
            "below a tight limit of files",
            "from a file that may only be executed",
        ],
        |name| (*name).to_owned(),
        |name, who| {
            let home = Home::new(who);
            let run = match *name {
                "in a sandbox" => {
                    if programs::missing(who, &["bwrap"]).is_some() {
                        return skip(name, "bwrap");
                    }
                    let bwrap = ["bwrap", "--dev-bind", "/", "/"];
                    let plain = home
                        .finish(home.command(With::Nothing, &[&bwrap[..], &["true"]].concat()))?;
                    if plain.status != 0 {
                        return skip(name, "a bwrap that works here");
                    }
                    let guard = programs::guard().to_str().unwrap();
                    let argv = [&bwrap[..], &[guard, "doctor"]].concat();
                    home.finish(home.command(With::Nothing, &argv))?
                }
                "below a tight limit of files" => home.script(
                    With::Nothing,
                    &format!("ulimit -n 24; {} doctor", programs::guard().display()),
                )?,
                "from a file that may only be executed" => {
                    let script = format!(
                        "cp {} $O/guard && chmod 111 $O/guard && $O/guard -- rm -rf .pi/agent 2> /dev/null; \
                         ls .pi/agent/auth.json >&2 && $O/guard doctor",
                        programs::guard().display()
                    );
                    let mut run = home.script(With::Nothing, &script)?;
                    if run.stderr == ".pi/agent/auth.json\n" {
                        run.stderr.clear();
                    }
                    run
                }
                _ => under(&home, &[], &["doctor"], &[])?,
            };
            let found = rows(&run.stdout);
            let names: Vec<_> = found.iter().map(|(_, name, _)| *name).collect();
            let required = found.iter().all(|(mark, _, _)| *mark != "MISSING");
            let left: Vec<_> = std::fs::read_dir(home.tmp()).unwrap().collect();
            if run.status != 0
                || !required
                || names != NAMES
                || !left.is_empty()
                || !run.stderr.is_empty()
            {
                return Err(format!(
                    "exit {}, {} files left behind\n{}{}",
                    run.status,
                    left.len(),
                    run.stdout,
                    run.stderr
                ));
            }
            if run.took > Duration::from_secs(5) {
                return Err(format!("took {:?}", run.took));
            }
            Ok(())
        },
    );
}

#[test]
fn doctor_says_what_is_missing_and_what_to_do() {
    each(
        "missing",
        ROWS,
        |row| row.name.to_owned(),
        |row, who| {
            let home = Home::new(who);
            let run = under(&home, row.without, &["doctor"], &[])?;
            let found: Vec<_> = rows(&run.stdout)
                .into_iter()
                .filter(|(mark, _, _)| *mark != "ok")
                .collect();
            let expected = row.rows.iter().filter(|(_, name, _)| NAMES.contains(name));
            let same = found.len() == expected.clone().count()
                && expected.zip(&found).all(|(want, got)| {
                    want.0 == got.0 && want.1 == got.1 && got.2.contains(want.2)
                });
            if run.status != 1 || !same {
                return Err(format!("exit {}\n{}{}", run.status, run.stdout, run.stderr));
            }
            Ok(())
        },
    );
}

#[test]
fn a_run_is_refused_with_the_reason_and_the_remedy() {
    each(
        "refused",
        ROWS,
        |row| row.name.to_owned(),
        |row, who| {
            let home = Home::new(who);
            let run = under(&home, row.without, &["--"], &["touch", "tmp/ran"])?;
            let said = row.refused.iter().all(|words| run.stderr.contains(words));
            let lines = run.stderr.lines().all(|line| line.starts_with("guard: "));
            if run.status != 125 || !said || !lines || home.tmp().join("ran").exists() {
                return Err(format!("exit {}\n{}", run.status, run.stderr));
            }
            if row.left != Left::No && !run.stderr.contains("--best-effort") {
                return Err(format!("no way out is named\n{}", run.stderr));
            }
            Ok(())
        },
    );
}

/// What guard can do without is said, and is no failure.
#[test]
fn what_is_only_wanted_may_be_absent() {
    each(
        "wanted",
        &["pidfd_getfd=38"],
        |name| (*name).to_owned(),
        |name, who| {
            let home = Home::new(who);
            let run = under(&home, &[name], &["doctor"], &[])?;
            let absent: Vec<_> = rows(&run.stdout)
                .into_iter()
                .filter(|row| row.0 != "ok")
                .collect();
            if run.status != 0
                || absent.len() != 1
                || absent[0].1 != "taking descriptors"
                || !absent[0].2.contains("sockets")
            {
                return Err(format!("exit {}\n{}{}", run.status, run.stdout, run.stderr));
            }
            let run = under(&home, &[name], &["--"], &["rm", "-rf", ".pi"])?;
            if home.agent().join("auth.json").exists() && run.stderr.contains("guard: refused: rm ")
            {
                Ok(())
            } else {
                Err(format!("exit {}\n{}", run.status, run.stderr))
            }
        },
    );
}

/// What a command does that is nothing but ordinary, with the supervisor or without.
const ORDINARY: &str = "echo > /dev/null && mkdir -p tmp/a/b && echo 1 > tmp/a/b/c && mv tmp/a/b/c tmp/a/d && \
                        ln -s d tmp/a/e && rm -r tmp/a/b && cat tmp/a/e && rm -rf tmp/a && ! ls tmp/a 2>/dev/null";

#[test]
fn best_effort_runs_with_what_there_is() {
    each(
        "best effort",
        ROWS,
        |row| row.name.to_owned(),
        |row, who| {
            let home = Home::new(who);
            let attack = match row.left {
                Left::Nothing => "",
                // It is blind to modes, and says so.
                Left::Wall => "rm -rf .pi; mv .pi/agent tmp; echo > .pi/agent/auth.json;",
                _ => {
                    "rm -rf .pi; mv .pi/agent tmp; echo > .pi/agent/auth.json; chmod 777 .pi/agent/auth.json;"
                }
            };
            let script = format!("{{ {ORDINARY}; }} && echo fine; {attack} exit 7");
            let before = home.protected();
            let run = under(
                &home,
                row.without,
                &["--best-effort", "--"],
                &["bash", "-c", &script],
            )?;
            let fail = |what: &str| {
                Err(format!(
                    "{what}: exit {}\n{}\n{}",
                    run.status,
                    run.stdout,
                    tail(&run.stderr)
                ))
            };
            if row.left == Left::No {
                return if run.status == 125 && run.stdout.is_empty() {
                    Ok(())
                } else {
                    fail("must not start")
                };
            }
            if run.status != 7 || run.stdout != "1\nfine\n" {
                return fail("the command does not do what it does elsewhere");
            }
            let words: &[&str] = match row.left {
                Left::Supervisor => &["guard: no wall: "],
                Left::Wall => &["guard: no supervisor: ", "the wall alone protects"],
                Left::Blind => &["guard: a blind supervisor: "],
                Left::Nothing => &["guard: no wall: ", "guard: no supervisor: ", "NOTHING"],
                Left::No => &[],
            };
            if !words.iter().all(|words| run.stderr.contains(words)) {
                return fail("stderr does not say what is missing");
            }
            if let Some(damage) = before
                .differences(&home.protected(), Compare::Exact)
                .first()
            {
                return fail(&format!("DAMAGE: {damage}"));
            }
            let attempts = home.attempts();
            if (row.left == Left::Supervisor)
                != attempts
                    .iter()
                    .any(|a| a["operation"] == "delete" && a["answer"] == "refused")
            {
                return fail("the record of attempts");
            }
            recorded(&home, words)
        },
    );
}

/// The header of the only record names what was missing.
fn recorded(home: &Home, words: &[&str]) -> Result<(), String> {
    let files: Vec<_> = home.records().iter().map(|path| read_text(path)).collect();
    let [text] = files.as_slice() else {
        return Err(format!("{} records", files.len()));
    };
    let header: serde_json::Value = serde_json::from_str(text.lines().next().unwrap_or_default())
        .map_err(|error| format!("header: {error}"))?;
    let missing = header["not_enforced"].to_string();
    let said = words
        .iter()
        .map(|words| words.trim_start_matches("guard: "))
        .all(|words| missing.contains(words));
    if said && header["effort"] == "best-effort" {
        Ok(())
    } else {
        Err(format!("the record says: {header}"))
    }
}

/// A guard inside a guard is told from other supervisors.
#[test]
fn a_guard_in_a_guard_is_named() {
    each(
        "nested",
        &["nested"],
        |name| (*name).to_owned(),
        |_, who| {
            let home = Home::new(who);
            let guard = programs::guard().to_str().unwrap();
            let doctor = home.finish(home.command(With::Guard(&[]), &[guard, "doctor"]))?;
            if doctor.status != 0 || !doctor.stdout.contains("another guard") {
                return Err(format!(
                    "exit {}\n{}{}",
                    doctor.status, doctor.stdout, doctor.stderr
                ));
            }
            let inner = home.finish(home.command(With::Guard(&[]), &[guard, "--", "true"]))?;
            if inner.status != 0 || !inner.stderr.is_empty() {
                return Err(format!("exit {}\n{}", inner.status, inner.stderr));
            }
            // One that cannot be found, since the name is gone, is another supervisor like any.
            let hidden = ["env", "-u", "GUARD_ACTIVE", guard, "--", "true"];
            let hidden = home.finish(home.command(With::Guard(&[]), &hidden))?;
            if hidden.status != 125 || !hidden.stderr.contains("in charge") {
                return Err(format!("exit {}\n{}", hidden.status, hidden.stderr));
            }
            Ok(())
        },
    );
}

/// A sandbox that ends processes, or never answers, cannot end or stop doctor.
#[test]
fn doctor_outlives_what_it_tries() {
    let table = [
        ("openat2=kill", "openat2", "ends processes"),
        ("landlock_create_ruleset=kill", "Landlock", "ends processes"),
        ("process_vm_readv=kill", "reading memory", "ends processes"),
        ("openat2=hang", "openat2", "did not end within"),
    ];
    each(
        "hostile",
        &table,
        |row| row.0.to_owned(),
        |row, who| {
            let home = Home::new(who);
            let run = under(&home, &[row.0], &["doctor"], &[])?;
            let found = rows(&run.stdout);
            let said = found.iter().any(|(mark, name, text)| {
                *mark == "MISSING" && *name == row.1 && text.contains(row.2)
            });
            if run.status == 1 && said && found.len() == NAMES.len() {
                Ok(())
            } else {
                Err(format!("exit {}\n{}{}", run.status, run.stdout, run.stderr))
            }
        },
    );
}

/// Without procfs nothing can be known, and that is what is said.
#[test]
fn a_missing_proc_is_named() {
    each(
        "no /proc",
        &["bwrap"],
        |name| (*name).to_owned(),
        |name, who| {
            if programs::missing(who, &["bwrap"]).is_some() {
                return skip(name, "bwrap");
            }
            let home = Home::new(who);
            let bwrap = ["bwrap", "--dev-bind", "/", "/", "--tmpfs", "/proc"];
            let with = |argv: &[&str]| {
                home.finish(home.command(With::Nothing, &[&bwrap[..], argv].concat()))
            };
            if with(&["true"])?.status != 0 {
                return skip(name, "a bwrap that works here");
            }
            let guard = programs::guard().to_str().unwrap();
            for (argv, status) in [(&[guard, "doctor"][..], 1), (&[guard, "--", "true"], 125)] {
                let run = with(argv)?;
                let text = format!("{}{}", run.stdout, run.stderr);
                if run.status != status || !text.contains("/proc") || !text.contains("mount") {
                    return Err(format!("{argv:?}: exit {}\n{text}", run.status));
                }
            }
            Ok(())
        },
    );
}
