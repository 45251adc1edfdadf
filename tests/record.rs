//! The record as a program sees it: complete, in the shape that docs/record.schema.json tells, as it was written.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use support::home::check;
use support::{Home, Run, Who, With, both, each, eventually, programs, read_text, skip, tail};

const GUARD: With<'static> = With::Guard(&[]);

/// Everything that a home's records hold, by run, once all have their ends: guard's last line comes after its exit status,
/// since what the command left running may still try something.
fn records(home: &Home) -> Vec<(PathBuf, Vec<Value>)> {
    let read = || -> Vec<(PathBuf, Vec<Value>)> {
        let lines = |path: &PathBuf| {
            let text = read_text(path);
            let whole = text
                .split_inclusive('\n')
                .filter(|line| line.ends_with('\n'));
            whole
                .map(|line| serde_json::from_str(line).unwrap())
                .collect()
        };
        let paths = home.records().into_iter();
        paths.map(|path| (path.clone(), lines(&path))).collect()
    };
    let ended = || {
        let is_footer = |line: &Value| line["type"] == "footer";
        read()
            .iter()
            .all(|(_, lines)| lines.last().is_some_and(is_footer))
    };
    assert!(
        eventually(Duration::from_secs(20), ended),
        "a record has no end"
    );
    read()
}

/// `guard log` in this home.
fn log(home: &Home, arguments: &[&str]) -> Run {
    let guard = programs::guard().to_str().unwrap();
    let argv: Vec<&str> = [guard, "log"].iter().chain(arguments).copied().collect();
    home.finish(home.command(With::Nothing, &argv)).unwrap()
}

/// That the records of a home are as they were written.
fn verified(home: &Home) -> Result<(), String> {
    let run = log(home, &["--verify"]);
    check(
        "verify",
        run.status == 0 && !run.stdout.contains("no record"),
        &run,
    )
}

/// All refused attempts that a record tells, those that are only counted too: by its groups and by its footer.
fn counted(lines: &[Value]) -> (u64, Option<u64>) {
    let mut groups = std::collections::HashMap::new();
    for line in lines {
        match line["type"].as_str().unwrap() {
            "attempt" => *groups.entry(line["group"].as_u64()).or_insert(0) += 1,
            "group" => {
                groups.insert(line["id"].as_u64(), line["attempts"].as_u64().unwrap());
            }
            _ => {}
        }
    }
    let footer = lines.iter().find(|line| line["type"] == "footer");
    let footer = footer.and_then(|line| line["attempts"].as_u64());
    (groups.values().sum(), footer)
}

struct Row {
    name: &'static str,
    script: &'static str,
}

/// What records are made of: single attempts, groups, names that are hard to write, calls that no policy allows.
const SHAPES: &[Row] = &[
    Row {
        name: "single attempts",
        script: "rm $P/npm; : > $P/npm; chmod 600 $P/npm; mv $P $P.x; ln $P/npm $T/x; mkdir $P/new; ln -s x $P/new; true",
    },
    Row {
        name: "groups",
        script: "rm -rf $P; for i in 1 2 3 4 5; do chmod 7$i$i $P/npm; : > $P/npm; done; true",
    },
    Row {
        name: "names",
        script: r#"rm "$P"/$'new\nline' "$P"/$'q"\'uote\\' "$P"/$'esc\e[2J\a' "$P"/$'caf\xe9' "$P"/$'\xff\xfe' "$P"/$'\u202e'; true"#,
    },
    Row {
        name: "no policy allows it",
        // swapon(2), which an ordinary user may not call anyway.
        script: "rm -f $P/auth.json; perl -e 'syscall(167, \"/nowhere\", 0)'; true",
    },
    Row {
        name: "long arguments",
        script: "rm $P/auth.json $(seq -s ' ' -f '/nowhere/%.0f' 4000); true",
    },
];

/// The agent's folder has files with such names.
fn odd_names(home: &Home) {
    use std::os::unix::ffi::OsStrExt;
    for name in [
        &b"new\nline"[..],
        b"q\"'uote\\",
        b"esc\x1b[2J\x07",
        b"caf\xe9",
        b"\xff\xfe",
        "\u{202e}".as_bytes(),
    ] {
        fs::write(home.agent().join(std::ffi::OsStr::from_bytes(name)), "").unwrap();
    }
}

#[test]
fn every_line_has_the_shape_of_the_schema() {
    let schema =
        read_text(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/record.schema.json"));
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    each(
        "record",
        SHAPES,
        |row| row.name.to_owned(),
        |row, who| {
            let home = Home::new(who);
            odd_names(&home);
            let run = home.script(GUARD, row.script)?;
            let records = records(&home);
            check("one record", records.len() == 1, &run)?;
            let lines = &records[0].1;
            for line in lines {
                let problems: Vec<String> = schema
                    .iter_errors(line)
                    .map(|it| format!("{it} at {}", it.instance_path()))
                    .collect();
                if !problems.is_empty() {
                    return Err(format!("{}\n{line}", problems.join("\n")));
                }
                // What a later version adds or a typo makes is noticed.
                let mut other = line.clone();
                other["surprise"] = Value::Null;
                if schema.is_valid(&other) {
                    return Err(format!("the schema lets anything through: {other}"));
                }
            }
            let (attempts, footer) = counted(lines);
            check("attempts", attempts > 0 && Some(attempts) == footer, &run)?;
            verified(&home)?;
            let shown = log(&home, &["last"]);
            let harmless = !shown
                .stdout
                .contains(|c: char| c.is_control() && c != '\n' || c == '\u{202e}');
            check("log", shown.status == 0 && harmless, &shown)
        },
    );
}

#[test]
fn names_are_kept_exactly() {
    both("record", "exact names", |who| {
        let home = Home::new(who);
        odd_names(&home);
        home.script(GUARD, SHAPES[2].script)?;
        let found: Vec<String> = home
            .attempts()
            .iter()
            .map(|attempt| match &attempt["found"] {
                Value::String(text) => text.rsplit('/').next().unwrap().to_owned(),
                other => other["escaped"]
                    .as_str()
                    .unwrap()
                    .rsplit('/')
                    .next()
                    .unwrap()
                    .to_owned(),
            })
            .collect();
        let expected = [
            "new\nline",
            "q\"'uote\\",
            "esc\u{1b}[2J\u{7}",
            "caf\\xe9",
            "\\xff\\xfe",
            "\u{202e}",
        ];
        if found == expected {
            Ok(())
        } else {
            Err(format!("{found:?}"))
        }
    });
}

/// A loop that tries so many removals, in one process.
fn flood(many: u32) -> String {
    format!("perl -e 'unlink \"$ENV{{HOME}}/.pi/agent/auth.json\" for 1..{many}'")
}

#[test]
fn a_flood_is_counted_and_takes_no_room() {
    let many = if support::is_long() {
        1_000_000
    } else {
        20_000
    };
    both("record", "flood", |who| {
        if let Some(need) = programs::missing(who, &["perl"]) {
            return skip("flood", &need);
        }
        let home = Home::new(who);
        let run = home.script(GUARD, &flood(many))?;
        let (path, lines) = records(&home).remove(0);
        let told = counted(&lines);
        check(
            "all are counted",
            told == (u64::from(many), Some(u64::from(many))),
            &run,
        )?;
        let size = fs::metadata(path).unwrap().len();
        support::say(&format!(
            "record: {many} attempts in {:.1} s, {size} bytes",
            run.took.as_secs_f64()
        ));
        check("size", size < 64 * 1024, &run)?;
        verified(&home)
    });
}

#[test]
fn a_thousand_processes_at_once() {
    both("record", "processes", |who| {
        let home = Home::new(who);
        let script = "for i in $(seq 1000); do rm -f ~/.pi/agent/auth.json & done; wait; true";
        let run = home.script(GUARD, script)?;
        let (path, lines) = records(&home).remove(0);
        check(
            "all are counted",
            counted(&lines) == (1000, Some(1000)),
            &run,
        )?;
        check("room", fs::metadata(path).unwrap().len() < 128 * 1024, &run)?;
        let group = lines
            .iter()
            .rev()
            .find(|line| line["type"] == "group")
            .unwrap();
        check(
            "one group",
            group["processes"] == 1000 && group["kind"] == "recursive-delete" && lines.len() < 60,
            &run,
        )?;
        verified(&home)
    });
}

#[test]
fn runs_at_once_keep_apart() {
    both("record", "runs at once", |who| {
        let home = Home::new(who);
        let mut children: Vec<_> = (0..6)
            .map(|_| {
                let script = "for i in $(seq 40); do rm -f ~/.pi/agent/auth.json; done";
                let mut command = home.command(GUARD, &["bash", "-c", script]);
                command.stderr(std::process::Stdio::null());
                command.spawn().unwrap()
            })
            .collect();
        for child in &mut children {
            support::wait(child, Duration::from_secs(90))?;
        }
        let records = records(&home);
        let all = records.iter().map(|(_, lines)| counted(lines));
        if records.len() != 6 || all.clone().any(|told| told != (40, Some(40))) {
            return Err(format!("{:?}", all.collect::<Vec<_>>()));
        }
        verified(&home)
    });
}

/// guard is killed again and again while a flood is recorded. Every line that was whole then is there, in its place.
#[test]
fn a_killed_guard_leaves_what_it_wrote() {
    let rounds = if support::is_long() { 200 } else { 6 };
    both("record", "killed", |who| {
        let home = Home::new(who);
        for round in 0..rounds {
            let script =
                "while :; do rm -f ~/.pi/agent/auth.json; rm -f ~/.pi/agent/settings.json; done";
            let mut command = home.command(GUARD, &["bash", "-c", script]);
            command.stderr(std::process::Stdio::null());
            let mut child = command.spawn().unwrap();
            let written = || home.records().len();
            if !eventually(Duration::from_secs(30), || written() > round) {
                child.kill().unwrap();
                child.wait().unwrap();
                return Err("no record".into());
            }
            std::thread::sleep(Duration::from_millis(7 * (round as u64 % 13)));
            kill_supervisor(child.id());
            support::wait(&mut child, Duration::from_secs(30))?;
            let before = fs::read(home.records().pop().unwrap()).unwrap();
            let shown = log(&home, &["last"]);
            let after = fs::read(home.records().pop().unwrap()).unwrap();
            let whole = before
                .iter()
                .rposition(|&byte| byte == b'\n')
                .map_or(0, |at| at + 1);
            check(
                "what was written is there",
                after.starts_with(&before[..whole]),
                &shown,
            )?;
            check(
                "shown",
                shown.status == 0 && shown.stdout.contains("The record has no end"),
                &shown,
            )?;
        }
        verified(&home)
    });
}

/// The child of guard's front is the supervisor.
fn kill_supervisor(front: u32) {
    let children = read_text(&PathBuf::from(format!(
        "/proc/{front}/task/{front}/children"
    )));
    for child in children.split_whitespace() {
        let done = std::process::Command::new("kill")
            .args(["-9", child])
            .status();
        assert!(done.unwrap().success());
    }
}

/// A program under guard tries to hold the lock of the folder: it cannot even open it, and its attempts are recorded.
#[test]
fn nobody_inside_holds_the_lock() {
    both("record", "lock", |who| {
        if who.is_root() {
            return Ok(()); // root opens everything to read, and holds up its own index; lines are written nevertheless
        }
        let home = Home::new(who);
        home.script(GUARD, "rm -f ~/.pi/agent/auth.json")?;
        let script = "exec 9< ~/.local/state/guard/runs/lock && flock 9 && echo held; rm -f ~/.pi/agent/auth.json; true";
        let run = home.script(GUARD, script)?;
        check("not held", run.stdout.is_empty(), &run)?;
        check("recorded", records(&home).len() == 2, &run)?;
        verified(&home)
    });
}

/// A disk that is full has room again while the run goes on: the record is whole.
#[test]
fn a_disk_that_has_room_again() {
    let rows = [
        Row {
            name: "full from the beginning",
            script: "head -c 100000 /dev/zero > $O/ballast; ",
        },
        Row {
            name: "not mounted for writing",
            script: "mount -o remount,ro $O; ",
        },
    ];
    each(
        "record",
        &rows,
        |row| row.name.to_owned(),
        |row, who| {
            if programs::missing(who, &["mounts"]).is_some() {
                return skip(row.name, "root");
            }
            let home = Home::new(who);
            let mounts = format!(
                "mount -t tmpfs -o size=64k,mode=777 none $O; {{ {} }} 2>/dev/null || true; \
             ( until [ -e $T/now ]; do sleep 0.02; done; mount -o remount,rw $O; rm -f $O/ballast; touch $T/free ) & true",
                row.script
            );
            let script = "rm -f ~/.pi/agent/auth.json; touch $T/now; until [ -e $T/free ]; do sleep 0.02; done; \
                      for i in $(seq 20); do rm -f ~/.pi/agent/auth.json; done; mkdir $T/copy; cp -r $O/guard $T/copy; true";
            let mut command = home.command_with_mounts(&mounts, GUARD, &["bash", "-c", script]);
            command.env("XDG_STATE_HOME", home.outside());
            let run = home.finish(command)?;
            check(
                "said",
                run.stderr.contains("is kept in memory and tried again"),
                &run,
            )?;
            check(
                "in the end it is there",
                run.stderr.contains("Details: guard log"),
                &run,
            )?;
            let copy = home.tmp().join("copy/guard/runs");
            let file = fs::read_dir(&copy)
                .map_err(|error| format!("{error}\n{}", tail(&run.stderr)))?
                .map(|entry| entry.unwrap().path())
                .find(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
                .unwrap();
            let lines: Vec<Value> = read_text(&file)
                .lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect();
            let attempts = lines
                .iter()
                .filter(|line| line["type"] == "attempt")
                .count();
            check(
                "the first attempts",
                attempts == 8 && lines[1]["seq"] == 1,
                &run,
            )
        },
    );
}

#[test]
fn old_records_go_as_the_policy_says() {
    both("record", "pruning", |who| {
        let home = Home::new(who);
        let policy = home.outside().join("keep.toml");
        fs::write(
            &policy,
            "version = 1\ninclude = [\"agents-closed\"]\n[record]\nkeep-runs = 3\n",
        )
        .unwrap();
        let with = With::Guard(&["--policy", policy.to_str().unwrap()]);
        for round in 1..=5 {
            let run = home.script(with, "rm -f ~/.pi/agent/auth.json")?;
            check("kept", home.records().len() == round.min(3), &run)?;
        }
        verified(&home)
    });
}

/// The accident in the log: one group, and the way down to it from `npm test`.
#[test]
fn the_log_shows_who_tried_what() {
    both("record", "log", |who| {
        let home = Home::new(who);
        home.script(GUARD, "sh -c 'rm -rf ~/.pi/agent; true'; true")?;
        let shown = log(&home, &["last"]);
        let lines: Vec<&str> = shown.stdout.lines().collect();
        let at = |text: &str| lines.iter().position(|line| line.contains(text));
        let chain = [
            at("bash -c"),
            at("rm -rf ~/.pi/agent (pid"),
            at("tried to remove"),
        ];
        check("the chain", chain.is_sorted() && chain[0].is_some(), &shown)?;
        check(
            "one group",
            shown.stdout.matches("tried to remove").count() == 1,
            &shown,
        )?;
        let colored = log(&home, &["last", "--color", "always"]);
        check(
            "colours",
            colored.stdout.contains("\u{1b}[31mtried to remove"),
            &colored,
        )?;
        check("no colours", !shown.stdout.contains('\u{1b}'), &shown)?;
        let none = log(&home, &["--program", "cargo"]);
        check("filter", none.stdout.lines().count() == 1, &none)?;
        let some = log(
            &home,
            &["--program", "rm", "--operation", "delete", "--since", "1h"],
        );
        check("filter", some.stdout.lines().count() >= 2, &some)
    });
}

/// `guard log --follow` tells what is tried while it is tried.
#[test]
fn the_log_is_followed() {
    let home = Home::new(Who::Me);
    let guard = programs::guard().to_str().unwrap();
    let mut command = home.command(With::Nothing, &[guard, "log", "--follow"]);
    let out = home.outside().join("followed");
    command.stdout(fs::File::create(&out).unwrap());
    let mut child = command.spawn().unwrap();
    let heard = |text: &str| eventually(Duration::from_secs(20), || read_text(&out).contains(text));
    // It says nothing of what was before, so what comes now has to be after its start.
    std::thread::sleep(Duration::from_millis(500));
    home.script(GUARD, "rm -f ~/.pi/agent/auth.json; sleep 0.5")
        .unwrap();
    let good = heard("begins: bash -c")
        && heard("delete ~/.pi/agent/auth.json (EACCES)")
        && heard("ends: 1 attempt");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(good, "{}", read_text(&out));
}
