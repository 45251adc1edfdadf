//! Processes: exit status, signals, what the command inherits, what outlives it. What happens when guard is killed, and many
//! at once: `fault.rs`.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use support::snapshot::Compare;
use support::{Home, Who, With, each, eventually, programs, read_text, tail, wait};

const GUARD: With<'_> = With::Guard(&[]);

/// One case for everyone.
fn both(name: &str, case: impl Fn(Who) -> Result<(), String> + Sync) {
    support::both("process", name, case);
}

fn expect(
    what: &str,
    got: impl std::fmt::Debug,
    want: impl std::fmt::Debug,
    same: bool,
) -> Result<(), String> {
    if same {
        Ok(())
    } else {
        Err(format!("{what}: {got:?}, not {want:?}"))
    }
}

fn status(home: &Home, with: With<'_>, argv: &[&str]) -> Result<i32, String> {
    Ok(home.finish(home.command(with, argv))?.status)
}

#[test]
fn every_exit_status() {
    both("exit status", |who| {
        let home = Home::new(who);
        // All of them once; the other user gets a sample.
        let step = if who == Who::Me { 1 } else { 17 };
        for want in (0..=255).step_by(step) {
            let got = status(&home, GUARD, &["bash", "-c", &format!("exit {want}")])?;
            expect("exit status", got, want, got == want)?;
        }
        Ok(())
    });
}

#[test]
fn death_by_signal() {
    both("death by signal", |who| {
        let home = Home::new(who);
        for signal in [1, 2, 3, 6, 9, 10, 11, 13, 14, 15] {
            let script = format!("ulimit -c 0; kill -{signal} $$; sleep 5");
            // bash ignores some of them.
            let plain = status(&home, With::Nothing, &["sh", "-c", &script])?;
            let guarded = status(&home, GUARD, &["sh", "-c", &script])?;
            expect("control", plain, 128 + signal, plain == 128 + signal)?;
            expect(
                "status after a signal",
                guarded,
                128 + signal,
                guarded == 128 + signal,
            )?;
        }
        Ok(())
    });
}

#[test]
fn commands_that_cannot_be_started() {
    both("cannot be started", |who| {
        let home = Home::new(who);
        std::fs::write(home.tmp().join("text"), "echo").unwrap();
        std::fs::set_permissions(home.tmp().join("text"), PermissionsExt::from_mode(0o644))
            .unwrap();
        std::fs::write(
            home.tmp().join("script"),
            "echo from a script without a first line\nexit 9\n",
        )
        .unwrap();
        std::fs::set_permissions(home.tmp().join("script"), PermissionsExt::from_mode(0o755))
            .unwrap();
        let text = home.tmp().join("text").to_str().unwrap().to_owned();
        for (argv, want) in [
            (vec!["no-such-command-anywhere"], 127),
            (vec!["/no/such/path"], 127),
            (vec!["./tmp/none"], 127),
            (vec![text.as_str()], 126),
            (vec!["/etc"], 126),
        ] {
            let run = home.finish(home.command(GUARD, &argv))?;
            expect(&format!("{argv:?}"), run.status, want, run.status == want)?;
            if !run.stderr.lines().all(|l| l.starts_with("guard: ")) || run.stderr.is_empty() {
                return Err(format!("{argv:?}: stderr is {:?}", run.stderr));
            }
        }
        for options in [
            &["--policy", "no-such-policy"][..],
            &["--policy", "/no/such/file.toml"],
        ] {
            let run = home.finish(home.command(With::Guard(options), &["touch", "tmp/ran"]))?;
            expect(&format!("{options:?}"), run.status, 125, run.status == 125)?;
            if home.tmp().join("ran").exists() || !run.stderr.starts_with("guard: ") {
                return Err(format!(
                    "{options:?}: the command ran, or nothing was said: {:?}",
                    run.stderr
                ));
            }
        }
        Ok(())
    });
}

#[test]
fn signals_reach_the_command() {
    both("signals", |who| {
        for (signal, name) in [
            (Signal::SIGTERM, "TERM"),
            (Signal::SIGINT, "INT"),
            (Signal::SIGHUP, "HUP"),
            (Signal::SIGUSR1, "USR1"),
        ] {
            for with in [With::Nothing, GUARD] {
                let home = Home::new(who);
                let script = format!(
                    "trap 'echo {name} > $T/got; exit 7' {name}; touch $T/ready; while :; do sleep 0.02; done"
                );
                let mut command = home.command(with, &["bash", "-c", &script]);
                let mut child = command
                    .process_group(0)
                    .stdin(Stdio::null())
                    .spawn()
                    .unwrap();
                if !eventually(Duration::from_secs(10), || {
                    home.tmp().join("ready").exists()
                }) {
                    let _ = wait(&mut child, Duration::ZERO);
                    return Err("the command did not start".to_owned());
                }
                kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
                let got = wait(&mut child, Duration::from_secs(10))?;
                expect(
                    name,
                    got,
                    7,
                    got == 7 && read_text(&home.tmp().join("got")).trim() == name,
                )?;
            }
        }
        Ok(())
    });
}

/// guard returns with the command; what it left running goes on, guarded.
#[test]
fn a_server_left_behind() {
    const SCRIPT: &str = "(sleep 0.5; for i in $(seq 400); do [ -e $T/stop ] && break; touch ~/made; rm -rf $P; sleep 0.02; done; touch $T/over) </dev/null >/dev/null 2>$T/err & echo started";
    both("a server left behind", |who| {
        let control = Home::new(who);
        control.script(With::Nothing, SCRIPT)?;
        let damaged = eventually(Duration::from_secs(5), || !control.agent().exists());
        std::fs::write(control.tmp().join("stop"), "").unwrap();
        eventually(Duration::from_secs(5), || {
            control.tmp().join("over").exists()
        });
        expect("CONTROL: nothing is lost", damaged, true, damaged)?;

        let home = Home::new(who);
        let before = home.protected();
        let run = home.script(GUARD, SCRIPT)?;
        let early = !home.path.join("made").exists();
        let worked = eventually(Duration::from_secs(5), || home.path.join("made").exists());
        std::thread::sleep(Duration::from_millis(200));
        std::fs::write(home.tmp().join("stop"), "").unwrap();
        let over = eventually(Duration::from_secs(10), || home.tmp().join("over").exists());
        let changes = before.differences(&home.protected(), Compare::Exact);
        if !(early && worked && over && run.stdout == "started\n" && changes.is_empty()) {
            return Err(format!(
                "guard returned with the command: {early}; the server works in home: {worked}; ended: {over}; {:?}; {}\n{}",
                run.stdout,
                changes.join("\n"),
                read_text(&home.tmp().join("err"))
            ));
        }
        let seen = eventually(Duration::from_secs(3), || {
            home.attempts()
                .iter()
                .any(|a| a["executable"].as_str().is_some_and(|e| e.ends_with("/rm")))
        });
        expect(
            "what it tried after the command's end is in the record",
            seen,
            true,
            seen,
        )
    });
}

/// getrusage(2) counts what was waited for, all the way down; time(1), hyperfine and `ulimit -t` go by it. And by the end of
/// guard the record is whole, where nothing of the run is left.
#[test]
fn its_caller_waits_for_all_of_it() {
    both("the time of a command", |who| {
        let home = Home::new(who);
        let busy = "TIMEFORMAT='%U'; i=0; time { \"$@\"; }";
        let work = "rm $P/auth.json; for ((i = 0; i < 300000; i++)); do :; done";
        let took = |argv: &[&str]| -> Result<f64, String> {
            let full = [&["bash", "-c", busy, "busy"], argv].concat();
            let run = home.finish(home.command(With::Nothing, &full))?;
            let last = run.stderr.lines().last().unwrap_or_default();
            last.parse().map_err(|_| format!("{last}?\n{}", run.stderr))
        };
        let guard = programs::guard().to_str().unwrap();
        let guarded = took(&[guard, "--", "bash", "-c", work])?;
        let record = read_text(&home.records()[0]);
        let whole = record
            .lines()
            .last()
            .is_some_and(|line| line.contains(r#""type":"footer""#));
        let plain = took(&["bash", "-c", work])?;
        if plain > 0.1 && guarded > plain / 3.0 && whole {
            return Ok(());
        }
        Err(format!(
            "{plain} s, under guard {guarded} s; whole: {whole}"
        ))
    });
}

#[test]
fn standard_output_ends_with_the_command() {
    both("end of stdout", |who| {
        let home = Home::new(who);
        for with in [With::Nothing, GUARD] {
            let mut command =
                home.command(with, &["sh", "-c", "sleep 5 >/dev/null 2>&1 & echo out"]);
            let started = Instant::now();
            let mut child = command
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut text = String::new();
            child
                .stdout
                .take()
                .unwrap()
                .read_to_string(&mut text)
                .unwrap();
            let took = started.elapsed();
            wait(&mut child, Duration::from_secs(10))?;
            expect(
                "stdout",
                text.clone(),
                "out, at once",
                text == "out\n" && took < Duration::from_secs(3),
            )?;
        }
        Ok(())
    });
}

/// Everything that a process inherits, as the command sees it.
#[test]
fn what_the_command_inherits() {
    let rows: &[(&str, &str)] = &[
        ("signals", "grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status"),
        (
            "ignored signals",
            "trap '' HUP USR1 PIPE TSTP; exec RUN grep -E '^Sig(Blk|Ign)' /proc/self/status",
        ),
        ("SIGPIPE", "RUN yes | head -1; echo ${PIPESTATUS[0]}"),
        ("umask", "umask 027; RUN bash -c umask"),
        ("working folder", "cd ~/tmp; RUN pwd; cd /; RUN pwd"),
        (
            "environment",
            "A=1 B='two words' RUN env | grep -vE '^(GUARD_|_=)' | sort",
        ),
        (
            "an empty environment",
            "env -i PATH=$PATH HOME=$HOME RUN env | grep -vE '^(GUARD_|_=)' | sort",
        ),
        (
            "limits",
            "ulimit -n 100; ulimit -S -c 0; RUN bash -c 'ulimit -a | grep -v pending'",
        ),
        (
            "descriptors",
            "exec 7<plain.txt 8>tmp/out; RUN ls /proc/self/fd; RUN cat <&7; RUN sh -c 'echo eight >&8'; cat tmp/out",
        ),
        (
            "standard input",
            "echo from stdin | RUN cat; RUN cat < plain.txt; RUN wc -c </dev/null",
        ),
        (
            "standard error",
            "RUN sh -c 'echo to stderr >&2' 2>&1 >/dev/null",
        ),
        ("closed stdout", "RUN sh -c 'echo x' >&- 2>&1; echo $?"),
        (
            "arguments",
            "RUN printf '[%s]' a 'b c' '' -- --help '*' $'new\\nline'; RUN sh -c 'echo $0 $# \"$@\"' zero one -- two",
        ),
        (
            "parents and priorities",
            "RUN nice; nice -n 5 RUN nice; RUN cat /proc/self/oom_score_adj",
        ),
        (
            "no zombies for the command to find",
            "RUN bash -c 'sleep 0.1 & wait; jobs; wait; echo $?'",
        ),
        (
            "user and groups",
            "RUN id; RUN id -G; RUN sh -c 'grep -E \"^(Uid|Gid|Groups|Cap)\" /proc/self/status'",
        ),
        (
            "timers and traps",
            "RUN bash -c 'trap \"echo exit\" EXIT; trap \"echo usr\" USR1; kill -USR1 $$; true'",
        ),
        (
            "binary through a pipe",
            "head -c 300000 /dev/zero | tr '\\0' '\\377' | RUN cat | cksum",
        ),
    ];
    each(
        "inherits",
        rows,
        |r| r.0.to_owned(),
        |(_, script), who| {
            let home = Home::new(who);
            let guard = format!("{} --", programs::guard().display());
            let with = |run: &str| {
                if script.contains("RUN ") {
                    script.replace("RUN ", run)
                } else {
                    format!("{run}{script}")
                }
            };
            let plain = home.script(With::Nothing, &with(""))?;
            home.reset();
            let guarded = home.script(With::Nothing, &with(&format!("{guard} ")))?;
            if plain.stdout.is_empty() {
                return Err(format!("CONTROL: says nothing: {}", tail(&plain.stderr)));
            }
            expect(
                "seen by the command",
                (
                    guarded.status,
                    guarded.stdout.clone(),
                    tail(&guarded.stderr),
                ),
                (plain.status, plain.stdout.clone()),
                (plain.status, &plain.stdout) == (guarded.status, &guarded.stdout),
            )
        },
    );
}

/// The run-time library of Rust opens /dev/null in place of a closed standard descriptor before guard's first line runs,
/// so that this and nothing else may be there: none of guard's own.
#[test]
fn closed_standard_input() {
    both("closed stdin", |who| {
        let home = Home::new(who);
        let script = format!(
            "exec {} -- readlink /proc/self/fd/0 <&-",
            programs::guard().display()
        );
        let run = home.script(With::Nothing, &script)?;
        let seen = run.stdout.trim().to_owned();
        expect(
            "descriptor 0",
            seen.clone(),
            "nothing, or /dev/null",
            seen.is_empty() || seen == "/dev/null",
        )
    });
}

#[test]
fn fail_on_attempt() {
    both("--fail-on-attempt", |who| {
        for (options, script, want) in [
            (&["--fail-on-attempt"][..], "rm -rf $P; true", 123),
            (&["--fail-on-attempt"], "rm -rf $P; exit 5", 5),
            (&["--fail-on-attempt"], "rm -rf $P/none; touch ~/x", 0),
            (&["--policy", "ci"], "rm -rf $P; true", 123),
            (&["--policy", "ci"], "true", 0),
            (&[], "rm -rf $P; true", 0),
        ] {
            let home = Home::new(who);
            let run = home.script(With::Guard(options), script)?;
            expect(
                &format!("{options:?} {script}"),
                (run.status, tail(&run.stderr)),
                want,
                run.status == want,
            )?;
        }
        Ok(())
    });
}

/// What a person and a model read: one refusal a process and rule, the end's summary, and the way to the record.
#[test]
fn the_words_on_stderr() {
    both("words", |who| {
        let home = Home::new(who);
        let run = home.script(GUARD, "find $P/npm -type f -delete; echo out; true")?;
        let lines: Vec<&str> = run
            .stderr
            .lines()
            .filter(|l| l.starts_with("guard: "))
            .collect();
        let refusals = lines
            .iter()
            .filter(|l| l.starts_with("guard: refused: find (pid "))
            .count();
        let home_shown = !lines
            .iter()
            .any(|l| l.contains(home.path.to_str().unwrap()));
        let summary = lines
            .iter()
            .any(|l| l.contains("attempts refused") && l.contains("guard log "));
        if refusals != 1 || !home_shown || !summary || run.stdout != "out\n" {
            return Err(format!(
                "{refusals} refusals; home as ~: {home_shown}; summary: {summary}; stdout {:?}; stderr\n{}",
                run.stdout, run.stderr
            ));
        }
        let id = run
            .stderr
            .split("guard log ")
            .nth(1)
            .unwrap_or_default()
            .trim();
        let log = home.finish({
            let mut command = home.command(
                With::Nothing,
                &[programs::guard().to_str().unwrap(), "log", id],
            );
            command.env("NO_COLOR", "1");
            command
        })?;
        let told =
            log.status == 0 && log.stdout.contains("find") && log.stdout.contains(".pi/agent");
        expect(
            "guard log",
            (log.status, log.stdout.clone(), log.stderr.clone()),
            "the attempts of the run",
            told,
        )
    });
}

#[test]
fn guards_side_by_side() {
    both("side by side", |who| {
        let home = Home::new(who);
        let before = home.protected();
        let guard = programs::guard().display();
        let script = format!(
            "for i in $(seq 12); do {guard} -- sh -c \"rm -rf $P; echo $i > ~/x$i; exit $i\" 2>/dev/null & pids=\"$pids $!\"; done; for p in $pids; do wait $p; echo $?; done; cat ~/x* | sort -n | xargs"
        );
        let run = home.script(With::Nothing, &script)?;
        let want: String =
            (1..=12).map(|n| format!("{n}\n")).collect::<String>() + "1 2 3 4 5 6 7 8 9 10 11 12\n";
        expect("output", run.stdout.clone(), &want, run.stdout == want)?;
        let changes = before.differences(&home.protected(), Compare::Exact);
        let files = home.records().len();
        expect(
            "records",
            (files, changes.clone()),
            "one a run",
            files == 12 && changes.is_empty(),
        )
    });
}
