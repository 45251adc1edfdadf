//! Random operations: outside the protected tree everything ends as without guard, call by call; the protected tree keeps
//! every byte, mode and time while many processes go at it.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use std::time::{SystemTime, UNIX_EPOCH};

use support::snapshot::{Compare, Snapshot};
use support::{Home, With, each, programs, skip, tail};

const PROGRAM: &str = include_str!("programs/random_ops.py");

/// The protected roots alone: new entries beside them, and the times of `~/.pi`, are nobody's business.
const ROOTS: &[&str] = &[".pi/agent", ".codex", ".claude", ".claude.json", ".omp"];

fn roots(home: &Home) -> Snapshot {
    Snapshot::of(&home.path, ROOTS)
}

/// The parent keeps its name, its inode and the owner's way in.
fn parent(home: &Home) -> (u64, u32) {
    let entry = &Snapshot::of(&home.path, &[".pi"]).0[std::path::Path::new(".pi")];
    (entry.ino, entry.mode & 0o700)
}

fn install(home: &Home) {
    std::fs::write(home.outside().join("random_ops.py"), PROGRAM).unwrap();
}

#[test]
fn the_same_calls_have_the_same_results() {
    let seeds: Vec<u32> = (1..=6).collect();
    each(
        "random",
        &seeds,
        |seed| format!("seed {seed}"),
        |seed, who| {
            if programs::missing(who, &["python3"]).is_some() {
                return skip("random operations", "python3");
            }
            let home = Home::new(who);
            let since = i64::try_from(
                SystemTime::now()
                    .duration_since(UNIX_EPOCH)
                    .unwrap()
                    .as_secs(),
            )
            .unwrap()
                - 5;
            let script = format!("exec python3 $O/random_ops.py {seed} 1500");
            install(&home);
            let plain = home.script(With::Nothing, &script)?;
            let left = home.everything();
            if plain.status != 0
                || left.0.len() < 25
                || plain
                    .stdout
                    .lines()
                    .filter(|l| l.ends_with(" None"))
                    .count()
                    < 100
            {
                return Err(format!(
                    "CONTROL: exit {}, {} entries left\n{}",
                    plain.status,
                    left.0.len(),
                    tail(&plain.stderr)
                ));
            }
            home.reset();
            install(&home);
            let guarded = home.script(With::Guard(&[]), &script)?;
            let first = plain
                .stdout
                .lines()
                .zip(guarded.stdout.lines())
                .find(|(a, b)| a != b);
            if let Some((a, b)) = first {
                return Err(format!(
                    "{a:?} without guard, {b:?} with it\n{}",
                    tail(&guarded.stderr)
                ));
            }
            let mut changes =
                left.differences(&home.everything(), Compare::Alike { since, loose: &[] });
            changes.truncate(10);
            if guarded.status != 0 || !changes.is_empty() {
                return Err(format!(
                    "exit {}\n{}\n{}",
                    guarded.status,
                    changes.join("\n"),
                    tail(&guarded.stderr)
                ));
            }
            Ok(())
        },
    );
}

#[test]
fn many_processes_cannot_harm_the_protected_tree() {
    each(
        "random attack",
        &[1_u32, 2],
        |seed| format!("seeds from {seed}00"),
        |seed, who| {
            if programs::missing(who, &["python3"]).is_some() {
                return skip("random attack", "python3");
            }
            let script = format!(
                "for i in 1 2 3 4 5; do python3 $O/random_ops.py {seed}0$i 700 attack >/dev/null & done; wait"
            );
            let home = Home::new(who);
            install(&home);
            let before = roots(&home);
            home.script(With::Nothing, &script)?;
            if before.differences(&roots(&home), Compare::Exact).len() < 5 {
                return Err("CONTROL: nothing is damaged without guard".to_owned());
            }
            drop(home);
            let home = Home::new(who);
            install(&home);
            let (before, parent_before) = (roots(&home), parent(&home));
            let run = home.script(With::Guard(&[]), &script)?;
            let mut changes = before.differences(&roots(&home), Compare::Exact);
            changes.truncate(10);
            if !changes.is_empty() {
                return Err(format!(
                    "DAMAGE: {}\n{}",
                    changes.join("\nDAMAGE: "),
                    tail(&run.stderr)
                ));
            }
            if parent(&home) != parent_before {
                return Err("DAMAGE: ~/.pi is another folder, or closed to its owner".to_owned());
            }
            if home.attempts().is_empty() {
                return Err("nothing is recorded".to_owned());
            }
            Ok(())
        },
    );
}
