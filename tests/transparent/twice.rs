//! A script that runs twice in identical homes, with and without guard, and what differs.

use std::time::{SystemTime, UNIX_EPOCH};

use super::support::snapshot::{Compare, Snapshot};
use super::support::{Home, Run, Who, With, each, programs, skip, tail};

pub struct Row {
    pub name: &'static str,
    pub needs: &'static [&'static str],
    /// Without guard, before both runs: what the script needs to find.
    pub before: &'static str,
    pub script: &'static str,
    /// Files whose path contains one of these may differ in their bytes.
    pub loose: &'static [&'static str],
    /// Files whose path contains one of these may differ altogether.
    pub ignore: &'static [&'static str],
}

pub const ROW: Row = Row {
    name: "",
    needs: &[],
    before: "",
    script: "",
    loose: &[],
    ignore: &[],
};

pub const fn row(name: &'static str, needs: &'static [&'static str], script: &'static str) -> Row {
    Row {
        name,
        needs,
        script,
        ..ROW
    }
}

struct Outcome {
    run: Run,
    home: Snapshot,
    outside: Snapshot,
}

fn once(home: &Home, row: &Row, with: With<'_>) -> Result<Outcome, String> {
    if !row.before.is_empty() {
        let run = home.script(With::Nothing, row.before)?;
        if run.status != 0 {
            return Err(format!("the preparation fails: {}", tail(&run.stderr)));
        }
    }
    let run = home.script(with, row.script)?;
    let keep = |mut snapshot: Snapshot| {
        snapshot.0.retain(|path, _| {
            !row.ignore
                .iter()
                .any(|word| path.to_string_lossy().contains(word))
        });
        snapshot
    };
    Ok(Outcome {
        run,
        home: keep(home.everything()),
        outside: keep(Snapshot::of(&home.outside(), &[""])),
    })
}

fn case(row: &Row, who: Who) -> Result<(), String> {
    if programs::not_for(who, row.needs) {
        return Ok(());
    }
    if let Some(need) = programs::missing(who, row.needs) {
        return skip(row.name, &need);
    }
    let home = Home::new(who);
    let since = now() - 5;
    let plain = once(&home, row, With::Nothing)?;
    let trouble = plain.run.stderr.clone();
    home.reset();
    let guarded = once(&home, row, With::Guard(&[]))?;
    let mut problems = Vec::new();
    if plain.run.status != guarded.run.status {
        problems.push(format!(
            "exit {} without guard, {} with it",
            plain.run.status, guarded.run.status
        ));
    }
    problems.extend(first_difference(&plain.run.stdout, &guarded.run.stdout));
    let how = Compare::Alike {
        since,
        loose: row.loose,
    };
    problems.extend(
        plain
            .home
            .differences(&guarded.home, how)
            .into_iter()
            .map(|d| format!("~/{d}")),
    );
    problems.extend(
        plain
            .outside
            .differences(&guarded.outside, how)
            .into_iter()
            .map(|d| format!("outside/{d}")),
    );
    if guarded.run.stderr.contains("guard: refused") {
        problems.push("guard refuses something".to_owned());
    }
    // A row that fails without guard as well shows nothing, unless it was meant to.
    if plain.run.status != 0 && !row.name.contains("fails") {
        problems.push(format!(
            "CONTROL: exit {} without guard: {}",
            plain.run.status,
            tail(&trouble)
        ));
    }
    if problems.is_empty() {
        return Ok(());
    }
    problems.truncate(15);
    Err(format!(
        "{}\nstderr:\n{}",
        problems.join("\n"),
        tail(&guarded.run.stderr)
    ))
}

pub fn now() -> i64 {
    i64::try_from(
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_secs(),
    )
    .unwrap()
}

/// All lines that differ, up to a few.
pub fn first_difference(plain: &str, guarded: &str) -> Vec<String> {
    let (a, b): (Vec<&str>, Vec<&str>) = (plain.lines().collect(), guarded.lines().collect());
    let mut out: Vec<String> = (0..a.len().max(b.len()))
        .filter(|n| a.get(*n) != b.get(*n))
        .map(|n| (n, a.get(n), b.get(n)))
        .map(|(n, a, b)| {
            format!(
                "stdout line {}: {:?} without guard, {:?} with it",
                n + 1,
                a,
                b
            )
        })
        .collect();
    out.truncate(10);
    out
}

pub fn table(name: &str, rows: &[Row]) {
    each(name, rows, |r| r.name.to_owned(), case);
}
