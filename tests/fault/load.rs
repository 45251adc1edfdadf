//! Many calls at once, many short processes, signals all the time, callers killed in the middle: each call exactly once.

use std::time::Instant;

use crate::run::{Running, both, fault, figures, number};
use crate::support::{Home, With, each, programs, say, skip, tail};

const GUARD: With<'_> = With::Guard(&[]);
const DEFAULT: With<'_> = With::Guard(&["--policy", "default"]);

/// Growth that is none: a receiver more has a stack and an arena of its own, and remembers sixteen folders of procfs; what the
/// run made is known by identity, in a table that doubles now and then.
const MORE_KIB: usize = 4096;
const MORE_DESCRIPTORS: usize = 64;

/// Runs what stops for a look when it is warm and when it is over, and compares the supervisor then.
fn grows(home: &Home, with: With<'_>, arguments: &[&str]) -> Result<String, String> {
    let mut run = Running::start(home, fault(home, with, arguments), arguments[0]);
    run.until("warm")?;
    let supervisor = run.supervisor()?;
    let warm = figures(supervisor);
    run.go_on();
    run.until("over")?;
    let over = figures(supervisor);
    run.go_on();
    let last = run.good_end("0 wrong")?;
    say(&format!(
        "fault: {} ({}): {} descriptors and {} KiB when warm, {} and {} when over; {last}",
        arguments[0],
        home.who.name(),
        warm.descriptors,
        warm.kib,
        over.descriptors,
        over.kib
    ));
    if over.kib > warm.kib + MORE_KIB || over.descriptors > warm.descriptors + MORE_DESCRIPTORS {
        return Err(format!("the supervisor grows: {warm:?}, then {over:?}"));
    }
    Ok(last)
}

#[test]
fn sixty_four_threads_at_once() {
    let rows: &[(&str, With<'_>, &str)] = &[
        ("without guard", With::Nothing, ""),
        ("closed roots", GUARD, ""),
        ("a granted folder", GUARD, "tmp"),
        ("a home that loses nothing", DEFAULT, ""),
    ];
    each(
        "64 threads",
        rows,
        |r| r.0.to_owned(),
        |(_, with, place), who| {
            let home = Home::new(who);
            let rounds = number(4, 200);
            let mut run = Running::start(
                &home,
                fault(&home, *with, &["once", place, "64", &rounds]),
                "once",
            );
            let line = run.good_end("0 wrong")?;
            let want = 22 * 64 * rounds.parse::<u32>().unwrap();
            if line == format!("0 wrong, {want} done") {
                return Ok(());
            }
            Err(line)
        },
    );
}

#[test]
fn signals_all_the_time() {
    let rows = &[
        ("restart", "1000", "1"),
        ("restart", "1000", "4"),
        ("restart", "150", "4"),
        ("interrupt", "1000", "1"),
        ("interrupt", "1000", "4"),
        ("interrupt", "150", "4"),
    ];
    each(
        "signals",
        rows,
        |r| format!("{} every {} microseconds, {} threads", r.0, r.1, r.2),
        |(handler, pause, threads), who| {
            for with in [With::Nothing, GUARD] {
                let home = Home::new(who);
                let rounds = number(if *threads == "1" { 40 } else { 15 }, 2000);
                let command = fault(
                    &home,
                    with,
                    &["storm", "", threads, &rounds, pause, handler],
                );
                let mut run = Running::start(&home, command, "storm");
                run.good_end("0 wrong")?;
                if *handler == "restart" && !run.said().contains("fault: 0 interrupted") {
                    return Err(run.said());
                }
            }
            Ok(())
        },
    );
}

/// Go's scheduler sends its threads SIGURG all the time, with a handler that restarts calls.
#[test]
fn a_go_program() {
    both("a Go program", |who| {
        if programs::go_helper("hurt-go").is_none() {
            return skip("a Go program", "go");
        }
        for with in [With::Nothing, GUARD, DEFAULT] {
            let home = Home::new(who);
            let run = home.script(with, &format!("$B/hurt-go once $HOME {}", number(30, 400)))?;
            if run.status != 0 || !run.stdout.starts_with("0 wrong") {
                return Err(format!("{}\n{}", run.stdout, tail(&run.stderr)));
            }
        }
        Ok(())
    });
}

#[test]
fn callers_killed_in_the_middle_of_every_call() {
    let rows: &[(&str, With<'_>)] = &[
        ("closed roots", GUARD),
        ("a home that loses nothing", DEFAULT),
    ];
    each(
        "killed",
        rows,
        |r| r.0.to_owned(),
        |(_, with), who| {
            let home = Home::new(who);
            grows(&home, *with, &["kills", "", &number(50, 500)]).map(drop)
        },
    );
}

#[test]
fn ten_thousand_short_processes() {
    both("short processes", |who| {
        let home = Home::new(who);
        let many = number(1_500, 10_000);
        let started = Instant::now();
        let mut plain = Running::start(
            &home,
            fault(&home, With::Nothing, &["forks", "", &many]),
            "plain",
        );
        plain.until("warm")?;
        plain.go_on();
        plain.until("over")?;
        plain.go_on();
        plain.good_end("0 wrong")?;
        let unguarded = started.elapsed();
        let started = Instant::now();
        grows(&home, GUARD, &["forks", "", &many])?;
        let guarded = started.elapsed();
        say(&format!(
            "fault: {many} processes ({}): {unguarded:.2?} without guard, {guarded:.2?} with it",
            who.name()
        ));
        Ok(())
    });
}

#[test]
fn three_hundred_processes_in_parallel() {
    both("300 processes", |who| {
        let home = Home::new(who);
        let script = "seq 300 | xargs -P 32 -I{} sh -c 'echo {} > ~/n{} && mv ~/n{} ~/m{} && cat ~/m{} && rm ~/m{}' | sort -n | cksum; ls ~ | wc -l";
        let plain = home.script(With::Nothing, script)?;
        home.reset();
        let guarded = home.script(GUARD, script)?;
        if plain.stdout == guarded.stdout && guarded.status == 0 && plain.status == 0 {
            return Ok(());
        }
        Err(format!(
            "{} {}, not {}\n{}",
            guarded.status,
            guarded.stdout,
            plain.stdout,
            tail(&guarded.stderr)
        ))
    });
}
