//! One attack: what it needs, who stops it, what is seen of it, and how all of that is tried.

use std::time::Duration;

pub use Stopper::{Both, Limit, Supervisor, Wall};

use super::support::home::PROTECTED;
use super::support::snapshot::Compare;
use super::support::{self, Home, Run, Who, With, each, eventually, programs, skip, tail};

/// Who keeps the damage from being done: tried, by taking the other one away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopper {
    /// The wall; the supervisor alone would let it happen.
    Wall,
    /// The supervisor; the wall alone would let it happen.
    Supervisor,
    /// Each of them, also without the other.
    Both,
    /// Nobody: the damage is done under guard as well, and README.md says so in these words.
    Limit(&'static str),
}

/// What stderr and the record say of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A refusal under a rule, as one of these operations.
    As(&'static [&'static str]),
    /// A refusal that every policy makes: no rule is named.
    Forbidden,
    /// Nothing: the kernel alone refuses, or the filter answers by itself.
    Not,
    /// That depends on the user or the machine, and only the damage is looked at.
    Perhaps,
}

/// Which layers are in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layers {
    None,
    All,
    WallAlone,
    SupervisorAlone,
}

/// One way.
pub struct Row {
    pub name: &'static str,
    /// Ways to lose a file: numbers of `ways.rs`.
    pub numbers: &'static [u8],
    pub stopper: Stopper,
    /// How the name of the process that is refused begins.
    pub by: &'static str,
    pub seen: Seen,
    /// The attack, in bash, with `$P` the protected `~/.pi/agent`, `$T` a folder in HOME, `$O` one outside, `$B` helpers.
    pub attack: &'static str,
    /// See [`programs::missing`].
    pub needs: &'static [&'static str],
    /// A script before, without guard: what the attack needs to find.
    pub before: &'static str,
    /// Mounts that root makes before, in a namespace of their own.
    pub mounts: &'static str,
    /// Bash around guard: what guard and the attack inherit.
    pub around: &'static str,
    /// Bash without guard once the attack is over.
    pub after: &'static str,
    /// Damage comes from a process that outlives the command and makes `$T/done` at its end.
    pub lasts: bool,
    /// Guard may end the command, and says so.
    pub ends: bool,
    /// The attack has to fail in the eyes of whoever runs it.
    pub fails: bool,
    /// Whether the layers are tried one by one; otherwise why they cannot be.
    pub alone: Option<&'static str>,
}

pub const fn row(
    name: &'static str,
    numbers: &'static [u8],
    stopper: Stopper,
    by: &'static str,
    seen: Seen,
    attack: &'static str,
) -> Row {
    Row {
        name,
        numbers,
        stopper,
        by,
        seen,
        attack,
        needs: &[],
        before: "",
        mounts: "",
        around: "",
        after: "",
        lasts: false,
        ends: false,
        fails: true,
        alone: None,
    }
}

pub const DELETE: Seen = Seen::As(&["delete"]);
pub const WRITE: Seen = Seen::As(&["write"]);
pub const CREATE: Seen = Seen::As(&["create"]);
pub const RENAME: Seen = Seen::As(&["rename", "replace"]);
pub const LINK: Seen = Seen::As(&["link"]);
pub const META: Seen = Seen::As(&["metadata"]);

fn run(home: &Home, row: &Row, layers: Layers) -> Result<Run, String> {
    let without = programs::helper("without").unwrap();
    let guard = programs::guard().to_str().unwrap();
    let alone = |missing| {
        vec![
            without.to_str().unwrap(),
            missing,
            "--",
            guard,
            "--best-effort",
            "--",
        ]
    };
    let mut argv = match layers {
        Layers::None => vec![],
        Layers::All => vec![guard, "--"],
        Layers::WallAlone => alone("seccomp=38"),
        Layers::SupervisorAlone => alone("landlock_create_ruleset=38"),
    };
    argv.extend(["bash", "-c", row.attack]);
    let around = format!("{}\nexec \"$@\"", row.around);
    if !row.around.is_empty() {
        argv.splice(0..0, ["bash", "-c", &around, "around"]);
    }
    let command = if row.mounts.is_empty() {
        home.command(With::Nothing, &argv)
    } else {
        home.command_with_mounts(row.mounts, With::Nothing, &argv)
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

/// Does it in a fresh home: what was damaged, and how it ended.
pub fn attempt(home: &Home, row: &Row, layers: Layers) -> Result<(Vec<String>, Run), String> {
    if !row.before.is_empty() {
        let run = home.script(With::Nothing, row.before)?;
        if run.status != 0 {
            return Err(format!("the preparation fails: {}", tail(&run.stderr)));
        }
    }
    let before = home.protected();
    let run = run(home, row, layers);
    if !row.after.is_empty() {
        home.script(With::Nothing, row.after)?;
    }
    let run = run?;
    let damage = before.differences(&home.protected(), Compare::Exact);
    Ok((damage, run))
}

/// Without guard the damage is done: else the row proves nothing.
fn control(home: &Home, row: &Row) -> Result<(), String> {
    let (damage, run) = attempt(home, row, Layers::None)?;
    if !damage.is_empty() {
        return Ok(());
    }
    Err(format!(
        "CONTROL: without guard nothing is damaged (exit {})\n{}",
        run.status,
        tail(&run.stderr)
    ))
}

fn guarded(home: &Home, row: &Row) -> Result<(), String> {
    let (damage, run) = attempt(home, row, Layers::All)?;
    let mut problems = Vec::new();
    if (125..=127).contains(&run.status) && !row.ends {
        problems.push(format!("the attack was not run: exit {}", run.status));
    }
    if matches!(row.stopper, Stopper::Limit(_)) {
        if damage.is_empty() {
            problems.push("no damage: no longer a limit?".to_owned());
        }
    } else {
        problems.extend(damage.into_iter().map(|d| format!("DAMAGE: {d}")));
        if row.fails && run.status == 0 {
            problems.push("the attack says that it worked".to_owned());
        }
    }
    match row.seen {
        Seen::As(operations) => {
            // Once the command has ended, its caller owns the terminal again: what goes on behind it is only recorded.
            if !row.lasts {
                problems.extend(said(&run, row));
            }
            problems.extend(recorded(home, row, operations));
        }
        Seen::Forbidden => problems.extend(forbidden(home)),
        Seen::Not => problems.extend(
            home.attempts()
                .first()
                .map(|a| format!("the record has {a}")),
        ),
        Seen::Perhaps => {}
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{}\nstderr:\n{}",
        problems.join("\n"),
        tail(&run.stderr)
    ))
}

/// stderr names the process, what it may not do, and the rule.
fn said(run: &Run, row: &Row) -> Option<String> {
    let refused = format!("guard: refused: {}", row.by);
    let any = |fits: &dyn Fn(&str) -> bool| run.stderr.lines().any(fits);
    let words = any(&|l| l.starts_with(&refused) && l.contains("(pid ") && l.contains(" may not "));
    let rule = any(&|l| l.starts_with("guard: ") && l.contains("rule ~/."));
    (!words || !rule)
        .then(|| format!("stderr has no `{refused}… (pid N…) may not …` followed by its rule"))
}

/// The record has the attempt, with the operation and a place at, below or above something protected.
fn recorded(home: &Home, row: &Row, operations: &[&str]) -> Option<String> {
    let attempts = home.attempts();
    let fits = attempts.iter().any(|a| {
        let text = |key: &str| a[key].as_str().unwrap_or_default();
        let found = std::path::Path::new(text("found"));
        let place = PROTECTED.iter().any(|name| {
            let root = home.path.join(name);
            found.starts_with(&root) || root.starts_with(found)
        });
        // Seen through another mount, the place has another name.
        let place = place || !row.mounts.is_empty() && found.starts_with(home.tmp());
        // A name given before the run is the one under which it is tried.
        let place = place || row.before.contains("/alias") && found == home.tmp().join("alias");
        let executable = text("executable").rsplit('/').next().unwrap_or_default();
        operations.contains(&text("operation"))
            && place
            && !text("syscall").is_empty()
            && a["pid"].as_i64().is_some_and(|pid| pid > 0)
            && executable.starts_with(row.by)
            && a["rule"]["path"]
                .as_str()
                .is_some_and(|p| p.starts_with("~/."))
    });
    (!fits).then(|| {
        format!(
            "the record has no {} by {} there; it has {}",
            operations[0],
            row.by,
            listed(&attempts)
        )
    })
}

/// The record has a call that guard refuses under every policy.
pub fn forbidden(home: &Home) -> Option<String> {
    let attempts = home.attempts();
    let fits = attempts
        .iter()
        .any(|a| a["rule"].is_null() && a["answer"] == "refused");
    (!fits).then(|| {
        format!(
            "the record has no refusal without a rule; it has {}",
            listed(&attempts)
        )
    })
}

fn listed(attempts: &[serde_json::Value]) -> String {
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
    format!("{} attempts: {seen:?}", attempts.len())
}

/// What each layer does without the other is what the row says.
fn alone(home: &Home, row: &Row) -> Result<(), String> {
    let holds = |layers, missing: &str| {
        home.reset();
        let (damage, run) = attempt(home, row, layers)?;
        let lacks = |what: &str| run.stderr.contains(what);
        if !lacks(&format!("guard: no {missing}: ")) || lacks("NOTHING") {
            return Err(format!("{layers:?} was not tried\n{}", tail(&run.stderr)));
        }
        Ok((damage.is_empty(), damage))
    };
    let (wall, by_wall) = holds(Layers::WallAlone, "supervisor")?;
    let (supervisor, by_supervisor) = holds(Layers::SupervisorAlone, "wall")?;
    let expected = match row.stopper {
        Stopper::Wall => (true, false),
        Stopper::Supervisor => (false, true),
        Stopper::Both => (true, true),
        Stopper::Limit(_) => unreachable!("no layer stops it"),
    };
    if (wall, supervisor) == expected {
        return Ok(());
    }
    Err(format!(
        "ALONE: said to be stopped by {:?}; the wall alone stops it: {wall} {by_wall:?}, the supervisor alone: {supervisor} {by_supervisor:?}",
        row.stopper
    ))
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
    home.reset();
    let guarded = guarded(&home, row);
    let alone = match row.stopper {
        Limit(_) => Ok(()),
        _ if row.alone.is_some() => Ok(()),
        _ => alone(&home, row),
    };
    match (guarded, alone) {
        (Err(one), Err(other)) => Err(format!("{one}\n{other}")),
        (one, other) => one.and(other),
    }
}

pub fn table(name: &str, rows: &[Row]) {
    each(name, rows, |r| r.name.to_owned(), case);
}
