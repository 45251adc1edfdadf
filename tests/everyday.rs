//! Everyday work under the default policy, in an empty home and in one that somebody has lived in for years: each row runs
//! twice in identical homes, and exit status, output and the tree that is left are compared. And what destroys a home,
//! as people type it: nothing that was there is lost.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

#[path = "everyday/destroy.rs"]
mod destroy;
#[path = "everyday/homes.rs"]
mod homes;
#[path = "everyday/rows.rs"]
mod rows;
mod support;

use std::time::{SystemTime, UNIX_EPOCH};

use homes::Kind;
use support::snapshot::{Compare, Snapshot};
use support::{Home, Run, Who, With, am_root, each, programs, say, skip, tail};

/// One piece of work.
pub struct Row {
    name: &'static str,
    needs: &'static [&'static str],
    homes: &'static [Kind],
    /// Where it is done, seen from home. What is there is the workspace; in home itself there is none.
    cwd: &'static str,
    /// Without guard, before both runs: what the script needs to find.
    before: &'static str,
    script: &'static str,
    /// Files whose path contains one of these may differ in their bytes.
    loose: &'static [&'static str],
    /// Files whose path contains one of these may differ altogether.
    ignore: &'static [&'static str],
    weight: Weight,
}

/// How much of a machine a row takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Weight {
    Light,
    /// Seconds: as root in the full home only, as the other user in the fresh one.
    Heavy,
    /// The same, and nothing is amiss where the program is missing: the gate does not install it.
    Extra,
}

/// A row that is done in home itself, in both kinds of home.
const ROW: Row = Row {
    name: "",
    needs: &[],
    homes: &[Kind::Fresh, Kind::Full],
    cwd: "",
    before: "",
    script: "",
    loose: &[],
    ignore: &[],
    weight: Weight::Light,
};

/// What a terminal's user types, with time between the keys for the program to follow.
const TYPING: &str =
    "typing() { sleep 0.5; for key in \"$@\"; do printf \"$key\"; sleep 0.2; done; }";

struct Outcome {
    run: Run,
    tree: Snapshot,
}

fn once(home: &Home, kind: Kind, row: &Row, with: With<'_>) -> Result<Outcome, String> {
    homes::furnish(home, kind)?;
    if !row.before.is_empty() {
        let run = homes::script(home, "", With::Nothing, row.before)?;
        if run.status != 0 {
            return Err(format!("the preparation fails: {}", tail(&run.stderr)));
        }
    }
    let run = homes::script(home, row.cwd, with, &format!("{TYPING}\n{}", row.script))?;
    let mut tree = home.everything();
    tree.0.retain(|path, _| {
        let path = path.to_string_lossy();
        !row.ignore.iter().any(|word| path.contains(word))
    });
    Ok(Outcome { run, tree })
}

fn case(row: &Row, who: Who) -> Result<(), String> {
    if let Some(need) = programs::missing(who, row.needs) {
        if row.weight == Weight::Extra {
            say(&format!("NOT RUN {}: needs {need}", row.name));
            return Ok(());
        }
        return skip(row.name, &need);
    }
    let home = Home::new(who);
    for kind in row.homes {
        let other = if who.is_root() {
            Kind::Full
        } else {
            Kind::Fresh
        };
        if row.weight != Weight::Light && am_root() && *kind != other {
            continue;
        }
        alike(&home, *kind, row).map_err(|text| format!("in a {} home: {text}", kind.name()))?;
    }
    Ok(())
}

fn alike(home: &Home, kind: Kind, row: &Row) -> Result<(), String> {
    let since = now() - 5;
    let plain = once(home, kind, row, With::Nothing)?;
    let guarded = once(home, kind, row, With::Guard(&["--policy", "default"]))?;
    let mut problems = Vec::new();
    if plain.run.status != 0 {
        let why = tail(&plain.run.stderr);
        problems.push(format!(
            "CONTROL: exit {} without guard: {why}",
            plain.run.status
        ));
    }
    if plain.run.status != guarded.run.status {
        problems.push(format!(
            "exit {} without guard, {} with it",
            plain.run.status, guarded.run.status
        ));
    }
    if plain.run.stdout != guarded.run.stdout {
        let (a, b) = (tail(&plain.run.stdout), tail(&guarded.run.stdout));
        problems.push(format!("stdout was\n{a}\nand is\n{b}"));
    }
    let how = Compare::Alike {
        since,
        loose: row.loose,
    };
    problems.extend(plain.tree.differences(&guarded.tree, how));
    // In home itself guard says once that home is no workspace; it has nothing else to say.
    let said = |line: &&str| line.starts_with("guard: ") && !line.contains("has no effect");
    problems.extend(
        guarded
            .run
            .stderr
            .lines()
            .filter(said)
            .map(|line| format!("guard speaks: {line}")),
    );
    if problems.is_empty() {
        return Ok(());
    }
    problems.truncate(15);
    let stderr = tail(&guarded.run.stderr);
    Err(format!("{}\nstderr:\n{stderr}", problems.join("\n")))
}

fn now() -> i64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(since_1970.as_secs()).unwrap()
}

#[test]
fn everyday_work() {
    each("everyday", rows::ROWS, |row| row.name.to_owned(), case);
}

#[test]
fn a_home_is_not_lost() {
    each(
        "destroy",
        destroy::ROWS,
        |row| row.name.to_owned(),
        destroy::case,
    );
}
