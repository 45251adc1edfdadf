//! Every way to lose a file: done without guard as the control, refused with guard, said on stderr and in the record, and
//! the protected tree unchanged to the byte, mode and time.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

#[path = "refuse/damage.rs"]
mod damage;
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
const REPLACE: &[&str] = &["replace", "rename"];
const LINK: &[&str] = &["link"];
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

/// What must go on working in and around the protected tree, with the same result as without guard.
#[test]
#[rustfmt::skip] // one row a line
fn still_allowed() {
    let rows: &[(&str, &[&str], &str)] = &[
        ("mkdir -p of what exists", &[], "mkdir -p ~/.pi/agent"),
        ("mkdir of what exists", &[], "mkdir ~/.pi/agent 2>&1"),
        ("rm -f of what is not there", &[], "rm -f ~/.pi/agent/nonexistent"),
        ("rm of what is not there", &[], "rm ~/.pi/agent/nonexistent 2>&1"),
        ("rmdir below what is not there", &[], "rmdir ~/.codex/a 2>&1"),
        ("reading", &[], "cat $P/auth.json $P/latest && ls -laR $P | grep -c json"),
        ("cp out", &[], "cp -r $P $T/copy && chmod -R u+w $T/copy && rm -r $T/copy && cp $P/auth.json ~/mine && cat ~/mine"),
        ("find and grep", &[], "find $P -type f | sort && grep -r token $P"),
        ("stat and test", &[], "stat -c '%a %s %n' $P/* && test -r $P/auth.json && test -w $P/auth.json; echo $?"),
        ("tar out", &["tar"], "tar cf $T/a.tar -C ~ .pi && tar tf $T/a.tar"),
        ("flock of a file for reading", &["flock"], "flock -s $P/auth.json echo locked"),
        (
            "O_CREAT of what exists, for reading",
            &["python3"],
            "python3 -c 'import os; print(os.read(os.open(os.environ[\"P\"]+\"/auth.json\", os.O_RDONLY|os.O_CREAT), 99))'",
        ),
        (
            "python's exist_ok",
            &["python3"],
            "python3 -c 'import os; os.makedirs(os.environ[\"P\"]+\"/sessions\", exist_ok=True); print(1)'",
        ),
        ("node's recursive mkdir", &["node"], "node -e 'console.log(fs.mkdirSync(process.env.P+\"/sessions\",{recursive:true}))'"),
        (
            "rmSync with force of what is not there",
            &["node"],
            "node -e 'fs.rmSync(process.env.P+\"/none\",{recursive:true,force:true}); console.log(1)'",
        ),
    ];
    each("still allowed", rows, |r| r.0.to_owned(), |(name, needs, script), who| {
        if let Some(need) = programs::missing(who, needs) {
            return skip(name, &need);
        }
        let home = Home::new(who);
        let before = home.protected();
        let plain = home.script(With::Nothing, script)?;
        home.reset();
        let guarded = home.script(With::Guard(&[]), script)?;
        if (plain.status, &plain.stdout) != (guarded.status, &guarded.stdout) {
            return Err(format!(
                "exit {} and\n{}\nwithout guard, exit {} and\n{}\nwith it\n{}",
                plain.status, plain.stdout, guarded.status, guarded.stdout, tail(&guarded.stderr)
            ));
        }
        if guarded.stderr != plain.stderr {
            return Err(format!("guard says something: {}", tail(&guarded.stderr)));
        }
        let _ = before;
        Ok(())
    });
}

/// A git repository and a database inside a protected root can be read.
#[test]
#[rustfmt::skip] // one row a line
fn tools_that_read() {
    let rows: &[(&str, &[&str], &str, &str)] = &[
        (
            "git status and log",
            &["git"],
            "cd $P && git init -q . && git add -A && git commit -qm x",
            "cd $P && git status --short && git log --format=%s && git diff --stat",
        ),
        (
            "sqlite, read-only",
            &["sqlite3"],
            "sqlite3 $P/a.db 'create table t(a); insert into t values(42)'",
            "sqlite3 -readonly $P/a.db 'select a from t'",
        ),
    ];
    each("tools that read", rows, |r| r.0.to_owned(), |(name, needs, before, script), who| {
        if let Some(need) = programs::missing(who, needs) {
            return skip(name, &need);
        }
        let home = Home::new(who);
        let made = home.script(With::Nothing, before)?;
        if made.status != 0 {
            return Err(format!("the preparation fails: {}", tail(&made.stderr)));
        }
        let before = home.protected();
        let guarded = home.script(With::Guard(&[]), script)?;
        let changes = before.differences(&home.protected(), Compare::Exact);
        let plain = home.script(With::Nothing, script)?;
        if !changes.is_empty() {
            return Err(changes.join("\n"));
        }
        if (plain.status, &plain.stdout) != (guarded.status, &guarded.stdout) {
            return Err(format!(
                "exit {} {:?} without guard, exit {} {:?} with it\n{}",
                plain.status, plain.stdout, guarded.status, guarded.stdout, tail(&guarded.stderr)
            ));
        }
        Ok(())
    });
}
