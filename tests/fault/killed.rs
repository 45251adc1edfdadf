//! guard's own processes killed and stopped.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::run::{Running, argv, both, fault, is_gone, number, send, state, working};
use crate::support::snapshot::Compare;
use crate::support::{Home, With, eventually, tail};

const GUARD: With<'_> = With::Guard(&[]);

/// The command is a shell, which guard's front ends; what the shell started is left with the wall alone.
fn with_a_shell(home: &Home, threads: &str) -> Running {
    let words = argv(home, &["lose", "", threads]);
    let mut argv = vec!["bash", "-c", "echo $$ > $T/shell; \"$@\" & wait", "shell"];
    argv.extend(words.iter().map(String::as_str));
    Running::start(home, home.command(GUARD, &argv), "lose")
}

#[test]
fn the_supervisor_is_killed_while_threads_call() {
    both("supervisor killed", |who| {
        let tries: u32 = number(3, 100).parse().unwrap();
        for pause in (0..tries).map(|n| Duration::from_millis(u64::from(40 + n * 37 % 200))) {
            let home = Home::new(who);
            let before = home.protected();
            let mut run = with_a_shell(&home, "8");
            run.until("calling")?;
            let supervisor = run.supervisor()?;
            std::thread::sleep(pause);
            let killed = Instant::now();
            send(supervisor, Signal::SIGKILL);
            // The threads go on until a hundred more calls of each kind have been refused.
            let line = run.line();
            let (status, said) = run.end()?;
            let took = killed.elapsed();
            let line = line?;
            let shell: i32 = crate::support::read_text(&home.tmp().join("shell"))
                .trim()
                .parse()
                .unwrap();
            let gone = eventually(Duration::from_secs(2), || {
                is_gone(shell) && is_gone(supervisor)
            });
            let changes = before.differences(&home.protected(), Compare::Exact);
            let good = line == "0 wrong, all of them refused"
                && status == 125
                && said.contains("guard: the supervisor was killed")
                && gone
                && changes.is_empty();
            if !good {
                return Err(format!(
                    "after {pause:?}: {line}, exit {status} after {took:?}, all gone: {gone}; {}\n{}",
                    changes.join("\n"),
                    tail(&said)
                ));
            }
        }
        Ok(())
    });
}

/// The control of the one above: the same program without guard never ends, and damages.
#[test]
fn without_guard_the_same_threads_do_damage() {
    both("supervisor killed, control", |who| {
        let home = Home::new(who);
        let before = home.protected();
        let run = Running::start(
            &home,
            fault(&home, With::Nothing, &["lose", "", "8"]),
            "control",
        );
        run.until("calling")?;
        let lost = eventually(Duration::from_secs(5), || {
            !home.agent().join("auth.json").exists() && !home.agent().join("sessions").exists()
        });
        let changes = before.differences(&home.protected(), Compare::Exact);
        if lost && !changes.is_empty() {
            return Ok(());
        }
        Err("CONTROL: nothing is lost".to_owned())
    });
}

#[test]
fn a_killed_front_kills_the_command() {
    both("front killed", |who| {
        let home = Home::new(who);
        let before = home.protected();
        let run = with_a_shell(&home, "4");
        run.until("calling")?;
        let supervisor = run.supervisor()?;
        let shell: i32 = crate::support::read_text(&home.tmp().join("shell"))
            .trim()
            .parse()
            .unwrap();
        if is_gone(shell) {
            return Err("the command does not run".to_owned());
        }
        send(run.front(), Signal::SIGKILL);
        let gone = eventually(Duration::from_secs(5), || is_gone(shell));
        // What the command had started goes on, guarded, until it ends.
        let guarded = !is_gone(supervisor);
        send(supervisor, Signal::SIGKILL);
        let line = run.line();
        let changes = before.differences(&home.protected(), Compare::Exact);
        if gone
            && guarded
            && line.as_deref() == Ok("0 wrong, all of them refused")
            && changes.is_empty()
        {
            return Ok(());
        }
        Err(format!(
            "the command is gone: {gone}; what it left is guarded: {guarded}; {line:?}; {}",
            changes.join("\n")
        ))
    });
}

#[test]
fn a_stopped_supervisor_only_delays() {
    both("supervisor stopped", |who| {
        let home = Home::new(who);
        let mut run = Running::start(&home, fault(&home, GUARD, &["once", "", "8", "60"]), "stop");
        let supervisor = run.supervisor()?;
        working(&home)?;
        send(supervisor, Signal::SIGSTOP);
        let stopped = eventually(Duration::from_secs(2), || state(supervisor) == 'T');
        let early = run.line_within(Duration::from_secs(1));
        send(supervisor, Signal::SIGCONT);
        let line = run.good_end("0 wrong")?;
        let want = format!("0 wrong, {} done", 22 * 8 * 60);
        if !(stopped && early.is_err() && line == want) {
            return Err(format!(
                "stopped: {stopped}, before it went on: {early:?}, {line}"
            ));
        }
        Ok(())
    });
}

/// The same with the front, which has no part in calls.
#[test]
fn a_stopped_front_does_not_delay() {
    both("front stopped", |who| {
        let home = Home::new(who);
        let mut run = Running::start(
            &home,
            fault(&home, GUARD, &["once", "", "2", "40"]),
            "front",
        );
        run.supervisor()?;
        send(run.front(), Signal::SIGSTOP);
        let line = run.line();
        send(run.front(), Signal::SIGCONT);
        let (status, said) = run.end()?;
        if line.as_deref() == Ok(&*format!("0 wrong, {} done", 22 * 2 * 40)) && status == 0 {
            return Ok(());
        }
        Err(format!("{line:?}, exit {status}\n{}", tail(&said)))
    });
}
