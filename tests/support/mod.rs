//! What the integration tests share: who runs a case, throw-away homes, snapshots of a tree, helper programs, and running
//! a command with and without guard.
//!
//! Three variables of the environment change how tests run; the product knows none of them.
//! `GUARD_MUST_ENFORCE=1` turns every skip for something missing into a failure.
//! `GUARD_LONG=1` asks for the long numbers of those tests that have some.
//! `GUARD_UNDER_TEST=/path` tests another binary than the one that cargo built.
#![allow(dead_code, reason = "each test binary uses its own part")]

pub mod home;
pub mod programs;
pub mod pty;
pub mod snapshot;
pub mod steps;
pub mod talker;

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

#[allow(unused_imports, reason = "each test binary uses its own part")]
pub use home::{Home, Run, With};

/// The ordinary user that root's cases run as a second time.
pub const NOBODY: u32 = 65534;

/// Who runs a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// The user that runs the tests.
    Me,
    /// Uid and gid 65534 without further groups; only when the tests run as root.
    Nobody,
}

impl Who {
    pub fn is_root(self) -> bool {
        self == Self::Me && am_root()
    }

    pub fn name(self) -> &'static str {
        match (self, am_root()) {
            (Self::Me, true) => "root",
            (Self::Me, false) => "user",
            (Self::Nobody, _) => "uid 65534",
        }
    }

    pub fn uid(self) -> u32 {
        if self == Self::Nobody {
            NOBODY
        } else {
            nix::unistd::geteuid().as_raw()
        }
    }

    pub fn gid(self) -> u32 {
        if self == Self::Nobody {
            NOBODY
        } else {
            nix::unistd::getegid().as_raw()
        }
    }
}

pub fn am_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// Everyone that a case has to work for: the user of the tests, and for root an ordinary user as well.
pub fn everyone() -> &'static [Who] {
    if am_root() {
        &[Who::Me, Who::Nobody]
    } else {
        &[Who::Me]
    }
}

/// Whether the long numbers are asked for.
pub fn is_long() -> bool {
    std::env::var_os("GUARD_LONG").is_some_and(|value| value == "1")
}

/// Says on the real stderr, past the test runner's capture.
pub fn say(text: &str) {
    let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
}

/// Says that something cannot be tested here; a failure where everything must be there.
pub fn skip(name: &str, needs: &str) -> Result<(), String> {
    say(&format!("SKIPPED {name}: needs {needs}"));
    if std::env::var_os("GUARD_MUST_ENFORCE").is_some_and(|v| v == "1") {
        return Err(format!(
            "{name}: skipped although GUARD_MUST_ENFORCE=1: needs {needs}"
        ));
    }
    Ok(())
}

/// Runs every row as everyone, a few at a time, and fails at the end with all that went wrong.
pub fn each<R: Sync>(
    table: &str,
    rows: &[R],
    name: impl Fn(&R) -> String + Sync,
    case: impl Fn(&R, Who) -> Result<(), String> + Sync,
) {
    each_of(4, table, rows, name, case);
}

/// One case as everyone.
pub fn both(table: &str, name: &str, case: impl Fn(Who) -> Result<(), String> + Sync) {
    each(table, &[name], |n| (*n).to_owned(), |_, who| case(who));
}

/// As [`each`], so many at a time.
pub fn each_of<R: Sync>(
    at_once: usize,
    table: &str,
    rows: &[R],
    name: impl Fn(&R) -> String + Sync,
    case: impl Fn(&R, Who) -> Result<(), String> + Sync,
) {
    let only = std::env::var("GUARD_TEST_ONLY").unwrap_or_default();
    let cases: Vec<(&R, Who)> = rows
        .iter()
        .filter(|row| name(row).contains(&only))
        .flat_map(|row| everyone().iter().map(move |who| (row, *who)))
        .collect();
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                while let Some((row, who)) = cases.get(next.fetch_add(1, Ordering::SeqCst)) {
                    let title = format!("{table}: {} ({})", name(row), who.name());
                    let started = Instant::now();
                    let problem = match catch_unwind(AssertUnwindSafe(|| case(row, *who))) {
                        Ok(Ok(())) => None,
                        Ok(Err(text)) => Some(text),
                        Err(panic) => Some(panic_text(panic.as_ref())),
                    };
                    if started.elapsed() > Duration::from_secs(10) {
                        say(&format!(
                            "SLOW {title}: {:.1} s",
                            started.elapsed().as_secs_f64()
                        ));
                    }
                    if let Some(text) = problem {
                        failures
                            .lock()
                            .unwrap()
                            .push(format!("{title}\n    {}", text.replace('\n', "\n    ")));
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    say(&format!(
        "{table}: {} of {} cases hold",
        cases.len() - failures.len(),
        cases.len()
    ));
    assert!(
        failures.is_empty(),
        "{} of {} cases fail\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n")
    );
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()))
        .unwrap_or_else(|| "panicked".to_owned())
}

/// The shell's view of how a process ended.
pub fn status_number(status: ExitStatus) -> i32 {
    status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// Waits for `child`, at most `limit`; kills its process group when that is over.
pub fn wait(child: &mut Child, limit: Duration) -> Result<i32, String> {
    let started = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
            return Ok(status_number(status));
        }
        if started.elapsed() > limit {
            let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
            let _ = nix::sys::signal::killpg(pid, nix::sys::signal::Signal::SIGKILL);
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("still running after {} s; killed", limit.as_secs()));
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// Waits until `ready` says so, at most `limit`.
pub fn eventually(limit: Duration, mut ready: impl FnMut() -> bool) -> bool {
    let started = Instant::now();
    while started.elapsed() < limit {
        if ready() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    ready()
}

/// The last lines of a text, for messages.
pub fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(12)..].join("\n")
}

pub fn read_text(path: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned()
}
