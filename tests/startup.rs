//! Starting: `guard -- true` beside bubblewrap's plainest sandbox, in one run.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use std::process::Stdio;
use std::time::{Duration, Instant};

use support::{Home, Who, With, programs, say, skip};

const RUNS: usize = 20;

#[test]
fn under_three_times_bubblewrap() {
    if programs::missing(Who::Me, &["bwrap"]).is_some() {
        skip("startup", "bwrap").unwrap();
        return;
    }
    let home = Home::new(Who::Me);
    let once = |with: With<'_>, argv: &[&str]| -> Option<Duration> {
        let mut command = home.command(with, argv);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        // As people have it: HOME is what the user database says. (Another one is protected beside that, for a millisecond.)
        if let Some(own) = own_home() {
            command.env("HOME", own);
        }
        let started = Instant::now();
        let status = command.status().unwrap();
        let took = started.elapsed();
        status.success().then_some(took)
    };
    let bwrap = ["bwrap", "--dev-bind", "/", "/", "true"];
    if once(With::Nothing, &bwrap).is_none() {
        skip("startup", "a bwrap that works here").unwrap();
        return;
    }
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        ours.push(once(With::Guard(&["--policy", "default"]), &["true"]).expect("guard -- true"));
        theirs.push(once(With::Nothing, &bwrap).expect("bwrap"));
    }
    ours.sort();
    theirs.sort();
    let (ours, theirs) = (ours[RUNS / 2], theirs[RUNS / 2]);
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    say(&format!(
        "startup: guard {ours:.2?}, bwrap {theirs:.2?} (medians of {RUNS}), {ratio:.2} times"
    ));
    if cfg!(debug_assertions) {
        say("startup: a debug build; the ratio is not judged");
    } else {
        assert!(ratio < 3.0, "{ratio:.2} times bubblewrap's start");
    }
}

/// The home directory of this user in the user database.
fn own_home() -> Option<String> {
    let all = std::fs::read_to_string("/etc/passwd").ok()?;
    let uid = Who::Me.uid().to_string();
    let line = all
        .lines()
        .find(|line| line.split(':').nth(2) == Some(&uid))?;
    let home = line.split(':').nth(5)?;
    std::path::Path::new(home).is_dir().then(|| home.to_owned())
}
