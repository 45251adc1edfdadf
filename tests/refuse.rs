//! Races: the path is swapped while guard looks at it. The other ways to lose a file are in `escape.rs`.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use std::time::Duration;

use support::snapshot::Compare;
use support::{Home, Run, Who, With, each, eventually, programs, skip, tail};

/// One way.
struct Row {
    name: &'static str,
    /// See [`programs::missing`].
    needs: &'static [&'static str],
    /// A script before, without guard: what the attack needs to find.
    before: &'static str,
    /// Mounts that root makes before, in a namespace of their own.
    mounts: &'static str,
    /// The attack, in bash, with `$P` the protected `~/.pi/agent`, `$T` a folder in HOME, `$O` one outside, `$B` helpers.
    attack: &'static str,
    /// How the name of the process that is refused begins.
    by: &'static str,
    /// The operation that the record names: one of these. Empty: the kernel alone refuses and guard sees nothing.
    operation: &'static [&'static str],
    /// Damage comes from a process that outlives the command and makes `$T/done` at its end.
    lasts: bool,
    /// The attack has to fail in the eyes of whoever runs it.
    fails: bool,
}

const ROW: Row = Row {
    name: "",
    needs: &[],
    before: "",
    mounts: "",
    attack: "",
    by: "",
    operation: &[],
    lasts: false,
    fails: true,
};

const fn row(
    name: &'static str,
    by: &'static str,
    operation: &'static [&'static str],
    attack: &'static str,
) -> Row {
    Row {
        name,
        by,
        operation,
        attack,
        ..ROW
    }
}

const DELETE: &[&str] = &["delete"];
const WRITE: &[&str] = &["write"];
const CREATE: &[&str] = &["create"];
const RENAME: &[&str] = &["rename", "replace"];
const META: &[&str] = &["metadata"];

fn run(home: &Home, row: &Row, with: With<'_>) -> Result<Run, String> {
    let argv = ["bash", "-c", row.attack];
    let command = if row.mounts.is_empty() {
        home.command(with, &argv)
    } else {
        home.command_with_mounts(row.mounts, with, &argv)
    };
    let run = home.finish(command)?;
    if row.lasts && !eventually(Duration::from_secs(20), || home.tmp().join("done").exists()) {
        return Err(format!(
            "the process that outlives the command did not finish\n{}",
            tail(&run.stderr)
        ));
    }
    Ok(run)
}

fn prepare(home: &Home, row: &Row) -> Result<(), String> {
    if row.before.is_empty() {
        return Ok(());
    }
    let run = home.script(With::Nothing, row.before)?;
    if run.status == 0 {
        Ok(())
    } else {
        Err(format!("the preparation fails: {}", tail(&run.stderr)))
    }
}

/// Without guard the damage is done: else the row proves nothing.
fn control(home: &Home, row: &Row) -> Result<(), String> {
    prepare(home, row)?;
    let before = home.protected();
    let run = run(home, row, With::Nothing)?;
    let damage = before.differences(&home.protected(), Compare::Exact);
    if damage.is_empty() {
        return Err(format!(
            "CONTROL: without guard nothing is damaged (exit {})\n{}",
            run.status,
            tail(&run.stderr)
        ));
    }
    Ok(())
}

fn guarded(home: &Home, row: &Row) -> Result<(), String> {
    prepare(home, row)?;
    let before = home.protected();
    let run = run(home, row, With::Guard(&[]))?;
    let mut problems: Vec<String> = before
        .differences(&home.protected(), Compare::Exact)
        .into_iter()
        .map(|d| format!("DAMAGE: {d}"))
        .collect();
    if (125..=127).contains(&run.status) {
        problems.push(format!("the attack was not run: exit {}", run.status));
    }
    if row.fails && run.status == 0 {
        problems.push("the attack says that it worked".to_owned());
    }
    if !row.operation.is_empty() {
        // Once the command has ended, its caller owns the terminal again: what goes on behind it is only recorded.
        if !row.lasts {
            problems.extend(said(&run, row));
        }
        problems.extend(recorded(home, row));
    }
    if problems.is_empty() {
        Ok(())
    } else {
        Err(format!(
            "{}\nstderr:\n{}",
            problems.join("\n"),
            tail(&run.stderr)
        ))
    }
}

/// stderr names the process, what it may not do, and the rule.
fn said(run: &Run, row: &Row) -> Option<String> {
    let refused = format!("guard: refused: {}", row.by);
    let words = run
        .stderr
        .lines()
        .any(|l| l.starts_with(&refused) && l.contains("(pid ") && l.contains(" may not "));
    let rule = run
        .stderr
        .lines()
        .any(|l| l.starts_with("guard: ") && l.contains("rule ~/."));
    (!words || !rule)
        .then(|| format!("stderr has no `{refused}… (pid N…) may not …` followed by its rule"))
}

/// The record has the attempt, with the operation and a place at, below or above something protected.
fn recorded(home: &Home, row: &Row) -> Option<String> {
    let attempts = home.attempts();
    let fits = attempts.iter().any(|a| {
        let text = |key: &str| a[key].as_str().unwrap_or_default();
        let found = std::path::Path::new(text("found"));
        let place = support::home::PROTECTED.iter().any(|name| {
            let root = home.path.join(name);
            found.starts_with(&root) || root.starts_with(found)
        });
        // Seen through another mount, the place has another name.
        let place = place || !row.mounts.is_empty() && found.starts_with(home.tmp());
        // A name given before the run is the one under which it is tried.
        let place = place || row.before.contains("/alias") && found == home.tmp().join("alias");
        let executable = text("executable").rsplit('/').next().unwrap_or_default();
        row.operation.contains(&text("operation"))
            && place
            && !text("syscall").is_empty()
            && a["pid"].as_i64().is_some_and(|pid| pid > 0)
            && executable.starts_with(row.by)
            && a["rule"]["path"]
                .as_str()
                .is_some_and(|p| p.starts_with("~/."))
    });
    (!fits).then(|| {
        let seen: Vec<String> = attempts
            .iter()
            .take(5)
            .map(|a| {
                format!(
                    "{} {} {} by {}",
                    a["syscall"], a["operation"], a["found"], a["executable"]
                )
            })
            .collect();
        format!(
            "the record has no {} by {} there; it has {} attempts: {seen:?}",
            row.operation[0],
            row.by,
            attempts.len()
        )
    })
}

fn case(row: &Row, who: Who) -> Result<(), String> {
    if programs::not_for(who, row.needs) {
        if !support::am_root() {
            support::say(&format!("NOT RUN {}: only root can", row.name));
        }
        return Ok(());
    }
    if let Some(need) = programs::missing(who, row.needs) {
        return skip(row.name, &need);
    }
    let home = Home::new(who);
    control(&home, row)?;
    drop(home);
    guarded(&Home::new(who), row)
}

fn table(name: &str, rows: &[Row]) {
    each(name, rows, |r| r.name.to_owned(), case);
}

const TRIES: &str = "4000";

/// A second thread swaps the path between a place that is allowed and the protected one.
#[test]
fn races() {
    // The same names in both places.
    const BEFORE: &str =
        "mkdir $T/ok $T/race && cp $P/sessions/--work--/* $T/ok/ && touch -d 2001-01-01 $T/ok/*";
    const NAME: &str = "2026-08-31_2.jsonl";
    let attack = |op: &str| -> &'static str {
        format!("$B/hurt race {op} $T/race $T/ok $P/sessions/--work-- {NAME} {TRIES}; exit 1")
            .leak()
    };
    let memory = |op: &str| -> &'static str {
        format!("$B/hurt race-memory {op} $T/ok/{NAME} $P/sessions/--work--/{NAME} {TRIES}; exit 1")
            .leak()
    };
    let race = |name: &'static str, operation: &'static [&'static str], attack: &'static str| Row {
        needs: &["hurt"],
        before: BEFORE,
        ..row(name, "hurt", operation, attack)
    };
    table(
        "races",
        &[
            race("open", WRITE, attack("open")),
            race("truncate", WRITE, attack("truncate")),
            race("unlink", DELETE, attack("unlink")),
            race("chmod", META, attack("chmod")),
            race("rename", RENAME, attack("rename")),
            race("create", CREATE, attack("create")),
            race("open, the path rewritten in memory", WRITE, memory("open")),
            race(
                "truncate, the path rewritten in memory",
                WRITE,
                memory("truncate"),
            ),
            race("chmod, the path rewritten in memory", META, memory("chmod")),
        ],
    );
}
