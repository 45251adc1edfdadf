//! What never answers: FIFOs without a reader, file systems that hang; and folders with very many entries.

use std::time::{Duration, Instant};

use crate::run::{Running, both, fault, limit};
use crate::support::snapshot::Compare;
use crate::support::{Home, Who, With, each, programs, say, skip, tail};

const GUARD: With<'_> = With::Guard(&[]);
const DEFAULT: With<'_> = With::Guard(&["--policy", "default"]);

#[test]
fn sixty_four_opens_that_wait_for_a_reader() {
    let rows: &[(&str, With<'_>)] = &[
        ("without guard", With::Nothing),
        ("closed roots", GUARD),
        ("a home that loses nothing", DEFAULT),
    ];
    each(
        "FIFOs",
        rows,
        |r| r.0.to_owned(),
        |(_, with), who| {
            let home = Home::new(who);
            let mut run = Running::start(&home, fault(&home, *with, &["fifos", "", "64"]), "fifos");
            run.until("worked")?;
            run.go_on();
            run.good_end(&format!("0 wrong, {} done", 22 * 20))?;
            // And ended by force while they wait.
            let mut run = Running::start(
                &home,
                fault(&home, *with, &["fifos", "tmp", "64"]),
                "killed",
            );
            run.until("worked")?;
            let started = Instant::now();
            crate::run::send(run.front(), nix::sys::signal::Signal::SIGTERM);
            let (status, said) = run.end()?;
            if status == 128 + 15 && started.elapsed() < Duration::from_secs(5) {
                return Ok(());
            }
            Err(format!("exit {status}\n{}", tail(&said)))
        },
    );
}

/// Where a file system that hangs lies, how it hangs, and under which policy.
struct Hung(&'static str, &'static str, With<'static>);

impl Hung {
    fn name(&self) -> String {
        let policy = match self.2 {
            With::Guard(&[]) => "closed roots",
            _ => "a home that loses nothing",
        };
        format!("{} in ~/{} under {policy}", self.1, self.0)
    }

    /// What mounts it, before guard starts.
    fn mounts(&self) -> String {
        let Self(place, mode, _) = self;
        format!(
            "mkdir -p ~/{place}; $B/stuck ~/{place} {mode} & until grep -q \" $HOME/{place} \" /proc/self/mountinfo; do sleep 0.01; done"
        )
    }
}

#[test]
fn a_file_system_that_hangs() {
    let mut rows = Vec::new();
    for place in ["net", ".pi/agent/net", ".pi/net", "tmp/net", ".cache/net"] {
        for mode in ["silent", "init", "lookup", "dead", "auto"] {
            for with in [GUARD, DEFAULT] {
                // The kinds of place where nothing new is to be seen wait for a long run.
                let telling = place == "net" || place == ".pi/agent/net" && mode == "lookup";
                if telling || crate::support::is_long() {
                    rows.push(Hung(place, mode, with));
                }
            }
        }
    }
    each("hung", &rows, Hung::name, |row, who| {
        if programs::missing(who, &["mounts"]).is_some()
            || !std::path::Path::new("/dev/fuse").exists()
        {
            return skip("hung", "root and /dev/fuse");
        }
        for program in ["stuck", "fault"] {
            programs::helper(program).unwrap();
        }
        let home = Home::new(who);
        let before = home.protected();
        let run = |with: With<'_>, argv: &[&str]| {
            let started = Instant::now();
            let run = home.finish(home.command_with_mounts(&row.mounts(), with, argv))?;
            Ok::<_, String>((run.status, run.stdout, run.stderr, started.elapsed()))
        };
        // In the folder that hangs nothing comes back; elsewhere all goes on, and who hangs can be killed.
        let script = format!(
            "touch ~/{0}/x & p=$!; sleep 0.2; kill -0 $p && echo hangs; mkdir -p ~/work; \
             $B/fault once ~/work 4 5; kill -9 $p; wait $p; echo $?",
            row.0
        );
        let want = if row.1 == "dead" {
            "0 wrong, 440 done\n1\n"
        } else {
            "hangs\n0 wrong, 440 done\n137\n"
        };
        for with in [With::Nothing, row.2] {
            let (status, out, said, took) = run(with, &["true"])?;
            if status != 0 || took > Duration::from_secs(5) {
                return Err(format!(
                    "start: exit {status} after {took:?}\n{}",
                    tail(&said)
                ));
            }
            let (status, out2, said, took) = run(with, &["bash", "-c", &script])?;
            if out2 != want || took > limit() {
                return Err(format!(
                    "exit {status} after {took:?}: {out}{out2}\n{}",
                    tail(&said)
                ));
            }
        }
        let _ = std::fs::remove_dir(home.path.join(row.0));
        let changes = before.differences(&home.protected(), Compare::Exact);
        let changes: Vec<String> = changes
            .into_iter()
            .filter(|line| !line.contains("mtime"))
            .collect();
        if changes.is_empty() {
            Ok(())
        } else {
            Err(changes.join("\n"))
        }
    });
}

/// A folder with a hundred thousand entries beside a protected place.
#[test]
fn a_hundred_thousand_siblings() {
    both("siblings", |who| {
        if who != Who::Me {
            return Ok(());
        }
        let memory = std::path::Path::new("/dev/shm");
        let home = if memory.is_dir() {
            Home::new_in(who, memory)
        } else {
            Home::new(who)
        };
        for n in 0..100_000 {
            std::fs::write(home.path.join(format!("s{n}")), "").unwrap();
        }
        for (name, with) in [
            ("closed roots", GUARD),
            ("a home that loses nothing", DEFAULT),
        ] {
            let mut took: Vec<Duration> = (0..5)
                .map(|_| {
                    let started = Instant::now();
                    let run = home.finish(home.command(with, &["true"]))?;
                    if run.status == 0 {
                        Ok(started.elapsed())
                    } else {
                        Err(run.stderr)
                    }
                })
                .collect::<Result<_, String>>()?;
            took.sort();
            say(&format!(
                "fault: a start beside 100,000 entries, {name}: {:.2?} at best, {:.2?} mostly",
                took[0], took[2]
            ));
            // Other tests run beside it, so the best counts.
            if took[0] > Duration::from_millis(if cfg!(debug_assertions) { 400 } else { 100 }) {
                return Err(format!("{name}: {took:?}"));
            }
        }
        Ok(())
    });
}
