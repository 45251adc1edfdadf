//! What a call names is swapped while guard looks at it, lets it go on or performs it: nothing that is kept is ever changed.
//!
//! A row is one way to swap in one place, with all the calls that can be aimed that way in turn; everyone's control shows that
//! each of these calls does damage without guard.
//! The long run, with one line a row: `GUARD_LONG=1 cargo test --release --test races -- --nocapture`.
//! `GUARD_TEST_ONLY=words` picks rows, `GUARD_TRIES=number` says how many tries a row has as each user.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

#[path = "races/place.rs"]
mod place;
#[path = "races/racer.rs"]
mod racer;
#[path = "races/rows.rs"]
mod rows;
mod support;

use std::sync::Mutex;
use std::time::{Duration, Instant};

use place::Stage;
use racer::{Racer, Series};
use rows::{Kind, Row};
use support::{Who, With, is_long, programs, skip};

/// Descriptors that the supervisor may come to hold: each of its 64 threads keeps a few of the threads that call.
const MOST_KEPT: usize = 1100;

/// A row's figures.
#[derive(Default)]
struct Figures {
    tries: u64,
    worked: u64,
    refused: u64,
    others: u64,
}

/// How many tries a row has as one user: ten thousand as all of them together, in the long run so many that all rows of
/// its swap come to a million.
fn tries(row: &Row) -> u64 {
    let asked = std::env::var("GUARD_TRIES").ok();
    let asked = asked.and_then(|text| text.parse().ok());
    let together = if is_long() {
        let rows = rows::all();
        let alike = rows.iter().filter(|other| other.swap == row.swap);
        1_000_000 / alike.count() as u64
    } else {
        10_000
    };
    let users = support::everyone().iter();
    let users = users.filter(|who| who.is_root() || !row.needs_root).count();
    asked.unwrap_or(together / users.max(1) as u64)
}

/// Longest time of a row, many times what it takes: whatever hangs takes longer.
fn patience(row: &Row) -> Duration {
    Duration::from_secs(120 + tries(row) / 50)
}

/// Without guard every call of the row does damage: else it proves nothing.
fn control(row: &Row, who: Who, calls: &[&str]) -> Result<(), String> {
    let stage = Stage::new(row, who);
    let mut racer = Racer::start(&stage, With::Nothing, 0, calls)?;
    let series = racer.race(patience(row))?;
    racer.end()?;
    let tame: Vec<&str> = series
        .iter()
        .filter(|series| !series.damaged)
        .map(|series| series.call.as_str())
        .collect();
    if tame.is_empty() {
        return Ok(());
    }
    Err(format!("CONTROL: without guard no damage by {tame:?}"))
}

/// What each call came to, and what is wrong.
fn guarded(row: &Row, stage: &Stage, calls: &[&str]) -> Result<(Vec<Series>, Vec<String>), String> {
    let policy = stage.policy();
    let with = With::Guard(&["--policy", policy.to_str().unwrap()]);
    let share = tries(row) / calls.len() as u64;
    let before = stage.kept();
    let mut racer = Racer::start(stage, with, share, calls)?;
    let descriptors = racer.descriptors()?;
    let series = racer.race(patience(row))?;
    let grown = racer.descriptors()?.saturating_sub(descriptors);
    let said = racer.end()?;
    let mut problems = stage.damage(&before);
    if grown > MOST_KEPT {
        problems.push(format!("the supervisor holds {grown} descriptors more"));
    }
    if row.kind == Kind::Holds {
        if !said.contains("guard: refused: race") {
            problems.push(format!("guard says nothing: {}", support::tail(&said)));
        }
        problems.extend(series.iter().flat_map(Series::problems));
    }
    Ok((series, problems))
}

fn case(row: &Row, who: Who) -> Result<Figures, String> {
    let calls: Vec<&str> = row
        .calls
        .iter()
        .copied()
        .flatten()
        .copied()
        .filter(|call| *call != "chown" || who.is_root())
        .collect();
    control(row, who, &calls)?;
    let started = Instant::now();
    let stage = Stage::new(row, who);
    let (series, problems) = guarded(row, &stage, &calls)?;
    let sum = |count: fn(&Series) -> u64| series.iter().map(count).sum();
    let figures = Figures {
        tries: sum(|it| it.tries),
        worked: sum(|it| it.worked),
        refused: sum(|it| it.refused),
        others: sum(|it| it.others),
    };
    if is_long() {
        support::say(&format!(
            "| {} | {} | {} | {:.0} | {} | {} | {} | {} |",
            row.name(),
            who.name(),
            figures.tries,
            started.elapsed().as_secs_f64(),
            figures.worked,
            figures.refused,
            figures.others,
            errors(&series),
        ));
    }
    if row.kind == Kind::Limit {
        // Said in the README: it may be lost, and nothing else may come of it.
        let lost = problems
            .iter()
            .filter(|it| it.starts_with("DAMAGE"))
            .count();
        support::say(&format!(
            "LIMIT {} ({}): {lost} losses",
            row.name(),
            who.name()
        ));
        let other = problems.into_iter().filter(|it| !it.starts_with("DAMAGE"));
        return other.map(Err).next().unwrap_or(Ok(figures));
    }
    if problems.is_empty() {
        Ok(figures)
    } else {
        Err(problems.join("\n"))
    }
}

/// The other errnos, most frequent first.
fn errors(series: &[Series]) -> String {
    let mut all: Vec<(String, u64)> = Vec::new();
    for (name, count) in series.iter().flat_map(|it| &it.errors) {
        match all.iter_mut().find(|(known, _)| known == name) {
            Some((_, sum)) => *sum += count,
            None => all.push((name.clone(), *count)),
        }
    }
    all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let words: Vec<String> = all.iter().map(|(name, n)| format!("{name} {n}")).collect();
    words.join(", ")
}

#[test]
fn nothing_kept_is_changed_whatever_is_swapped() {
    if programs::missing(Who::Me, &["cc"]).is_some() {
        return skip("races", "cc").unwrap();
    }
    let total = Mutex::new(Figures::default());
    let started = Instant::now();
    // A row keeps two processors busy: more than two at once would only wait for each other.
    support::each_of(2, "races", &rows::all(), Row::name, |row, who| {
        if row.needs_root && !who.is_root() {
            return Ok(());
        }
        let figures = case(row, who)?;
        let mut total = total.lock().unwrap();
        total.tries += figures.tries;
        total.worked += figures.worked;
        total.refused += figures.refused;
        Ok(())
    });
    let total = total.into_inner().unwrap();
    support::say(&format!(
        "races: {} tries in {:.0} s, {} allowed, {} refused",
        total.tries,
        started.elapsed().as_secs_f64(),
        total.worked,
        total.refused,
    ));
}
