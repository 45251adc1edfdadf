//! Everything else works as without guard: what is here runs twice in identical homes, and exit status, output and the whole
//! tree that is left are compared. Real programs first (`tools`), then the calls themselves: random sequences (`property`),
//! every errno of every call (`errnos`), and what a supervisor that acts for others could get wrong (`traps`).
//!
//! The random sequences: `cargo test --test transparent property`; many more, with new seeds each time:
//! `GUARD_LONG=1 cargo test --release --test transparent property`.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

#[path = "transparent/errnos.rs"]
mod errnos;
#[path = "transparent/generate.rs"]
mod generate;
#[path = "transparent/kept.rs"]
mod kept;
#[path = "transparent/ops.rs"]
mod ops;
#[path = "transparent/places.rs"]
mod places;
#[path = "transparent/property.rs"]
mod property;
#[path = "transparent/tools.rs"]
mod tools;
#[path = "transparent/traps.rs"]
mod traps;
#[path = "transparent/twice.rs"]
mod twice;

use support::snapshot::Compare;
use support::{Home, With, each, programs, skip, tail};
use twice::{now, row, table};

/// The calls themselves, odd ones and all, where guard performs them (in HOME and below what was made there) and where
/// the kernel does (in a folder that was there before).
#[test]
#[rustfmt::skip] // one row a line
fn calls() {
    table(
        "calls",
        &[
            row("in home itself", &["odd"], "exec $B/odd ~"),
            row("in a folder made in home", &["odd"], "mkdir ~/made && $B/odd ~/made"),
            row("in a folder made below one made in home", &["odd"], "mkdir -p ~/made/a/b && $B/odd ~/made/a/b"),
            row("in a folder that was there", &["odd"], "exec $B/odd $T"),
            row("outside home", &["odd"], "exec $B/odd $O"),
            row("in home through a link", &["odd"], "ln -s ~ $T/h && $B/odd $T/h"),
            row("in home through /proc/self/cwd", &["odd"], "exec $B/odd /proc/self/cwd"),
        ],
    );
}

/// cargo and a compiler lie below the caller's home: a mount makes them reachable for the other user.
#[test]
fn cargo() {
    let script = "export PATH=$T/toolchain/bin:$PATH CARGO_INCREMENTAL=0; cargo new -q --vcs none --offline c && cd c && cargo build -q --offline && ./target/debug/c && cargo test -q --offline && cargo clean -q && ls";
    each(
        "cargo",
        &["cargo new and build"],
        |n| (*n).to_owned(),
        |name, who| {
            let Some(cargo) = std::env::var_os("CARGO").map(std::path::PathBuf::from) else {
                return skip(name, "cargo");
            };
            let toolchain = cargo.parent().and_then(|p| p.parent()).unwrap().to_owned();
            let home = Home::new(who);
            let since = now() - 5;
            let mut results = Vec::new();
            for with in [With::Nothing, With::Guard(&[])] {
                home.reset();
                let run = if support::am_root() {
                    let mounts = format!(
                        "mkdir -p $T/toolchain && mount --bind {} $T/toolchain",
                        toolchain.display()
                    );
                    home.finish(home.command_with_mounts(&mounts, with, &["bash", "-c", script]))?
                } else {
                    std::os::unix::fs::symlink(&toolchain, home.tmp().join("toolchain")).unwrap();
                    home.script(with, script)?
                };
                let mut tree = home.everything();
                tree.0
                    .retain(|path, _| !path.starts_with(".cargo") && !path.starts_with("tmp"));
                results.push((run, tree));
            }
            let ((plain, before), (guarded, after)) = (&results[0], &results[1]);
            let changes = before.differences(after, Compare::Alike { since, loose: &[] });
            if plain.status != 0 {
                return Err(format!(
                    "CONTROL: exit {} without guard: {}",
                    plain.status,
                    tail(&plain.stderr)
                ));
            }
            let timeless = |text: &str| {
                text.lines()
                    .filter(|l| !l.contains("finished in"))
                    .collect::<Vec<_>>()
                    .join("\n")
            };
            if plain.status != guarded.status
                || timeless(&plain.stdout) != timeless(&guarded.stdout)
                || !changes.is_empty()
            {
                return Err(format!(
                    "exit {} and {}\n{}\n{}",
                    guarded.status,
                    plain.status,
                    changes.join("\n"),
                    tail(&guarded.stderr)
                ));
            }
            Ok(())
        },
    );
}

/// The limit that is stated: such a program's calls cannot be read, so that where the wall does not grant, they are refused,
/// and the record says why.
#[test]
fn not_to_be_looked_into() {
    each(
        "not to be looked into",
        &["in home itself"],
        |n| (*n).to_owned(),
        |name, who| {
            if programs::helper("hurt").is_none() {
                return skip(name, "cc");
            }
            let home = Home::new(who);
            let control = home.script(With::Nothing, "$B/hurt undumpable-open ~/u")?;
            if control.status != 0 {
                return Err(format!("CONTROL: {}", tail(&control.stderr)));
            }
            home.reset();
            let run = home.script(With::Guard(&[]), "$B/hurt undumpable-open ~/u")?;
            if who.is_root() {
                // Root's supervisor may read everything: nothing is different.
                return if run.status == 0 {
                    Ok(())
                } else {
                    Err(tail(&run.stderr))
                };
            }
            if run.status != 1 || !run.stderr.contains("Permission denied") {
                return Err(format!(
                    "exit {}, not EACCES: {}",
                    run.status,
                    tail(&run.stderr)
                ));
            }
            let said = home
                .attempts()
                .iter()
                .any(|a| a["because"].as_str().is_some_and(|b| !b.is_empty()));
            if said {
                Ok(())
            } else {
                Err(format!(
                    "the record does not say why: {:?}",
                    home.attempts()
                ))
            }
        },
    );
}

/// A run in which nothing was refused leaves nothing behind and says nothing.
#[test]
fn a_clean_run_leaves_no_trace() {
    each(
        "no trace",
        &["true"],
        |n| (*n).to_owned(),
        |_, who| {
            let home = Home::new(who);
            let before = home.everything();
            let run = home.script(
                With::Guard(&[]),
                "cat ~/.pi/agent/auth.json; ls ~ >/dev/null; true",
            )?;
            let changes = before.differences(&home.everything(), Compare::Exact);
            if !changes.is_empty() || !run.stderr.is_empty() || run.status != 0 {
                return Err(format!(
                    "{}\nexit {}, stderr {:?}",
                    changes.join("\n"),
                    run.status,
                    run.stderr
                ));
            }
            Ok(())
        },
    );
}
