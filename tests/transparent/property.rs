//! Random sequences of calls by several processes give the same results with and without guard, call by call, and leave the
//! same tree. A sequence that does not is made as small as it gets, and belongs into `kept` once it is mended.

use std::cell::{Cell, RefCell};

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{
    Config, FileFailurePersistence, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner,
};

use super::generate::{Names, attack, sequence};
use super::ops::{How, Sequence, Stage, twice};
use super::places::{PLACES, Place, own};
use super::support::snapshot::{Compare, Snapshot};
use super::support::{Home, Who, each, is_long, say};

/// How many sequences a place, and how many calls a sequence at most.
const CASES: u32 = 8;
const LONG_CASES: u32 = 400;
const CALLS: usize = 60;

/// Always the same sequences, unless it is to take long.
fn runner(row: usize, who: Who) -> TestRunner {
    let mut seed = [0_u8; 32];
    seed[0] = u8::try_from(row).unwrap();
    seed[1] = u8::from(who == Who::Nobody);
    if is_long() {
        let now = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap();
        seed[2..18].copy_from_slice(&now.as_nanos().to_le_bytes());
    }
    let config = Config {
        cases: if is_long() { LONG_CASES } else { CASES },
        max_shrink_iters: 400,
        max_shrink_time: if is_long() { 120_000 } else { 30_000 },
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/proptest-regressions/transparent.txt"
        )))),
        ..Config::default()
    };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed))
}

#[test]
fn property_random_calls() {
    let rows: Vec<(usize, &Place)> = PLACES.iter().enumerate().collect();
    each(
        "random calls",
        &rows,
        |(_, place)| place.name.to_owned(),
        |(row, place), who| {
            let home = Home::new(who);
            let stage = Stage::new(&home, place);
            let names = if place.itself {
                Names::OwnBelow
            } else {
                Names::Own
            };
            let worked = RefCell::new((0_usize, 0_usize));
            let failed = Cell::new(false);
            let result = runner(*row, who).run(&sequence(names, CALLS), |sequence| {
                let plain = twice(&stage, &sequence).map_err(|why| {
                    // Making it smaller takes a while.
                    if !failed.replace(true) {
                        say(&format!("random calls: {}: {why}", place.name));
                    }
                    TestCaseError::fail(why)
                })?;
                let answers = plain.answers(stage.skipped(sequence.how));
                let mut worked = worked.borrow_mut();
                worked.0 += answers.len();
                worked.1 += answers.values().filter(|it| !it.starts_with('E')).count();
                Ok(())
            });
            match result {
                Ok(()) => enough(place, who, *worked.borrow()),
                Err(TestError::Fail(why, sequence)) => Err(format!(
                    "{why}\nthe smallest sequence that shows it:\n{}\n{}",
                    sequence.how.word(),
                    sequence.lines.join("\n")
                )),
                Err(TestError::Abort(why)) => Err(why.to_string()),
            }
        },
    );
}

/// A test of calls that all fail would show little.
fn enough(place: &Place, who: Who, (calls, good): (usize, usize)) -> Result<(), String> {
    if is_long() {
        say(&format!(
            "random calls: {} ({}): {good} of {calls} calls work",
            place.name,
            who.name()
        ));
    }
    if good * 20 < calls {
        return Err(format!("CONTROL: only {good} of {calls} calls work"));
    }
    Ok(())
}

/// The protected roots alone: new entries beside them, and the times of `~/.pi`, are nobody's business.
const ROOTS: &[&str] = &[".pi/agent", ".codex", ".claude", ".claude.json", ".omp"];

/// The parent keeps its name, its inode and the owner's way in.
fn parent(home: &Home) -> Option<(u64, u32)> {
    let found = Snapshot::of(&home.path, &[".pi"]);
    let entry = found.0.get(std::path::Path::new(".pi"))?;
    Some((entry.ino, entry.mode & 0o700))
}

/// A home where four processes have gone at the protected tree: what changed there.
fn attacked(home: &Home, sequence: &Sequence, guard: bool) -> Result<Vec<String>, String> {
    let place = Place {
        itself: true,
        ..own("home", None, "")
    };
    let stage = Stage {
        furnished: false,
        ..Stage::new(home, &place)
    };
    home.reset();
    let (before, above) = (Snapshot::of(&home.path, ROOTS), parent(home));
    stage.start_again(sequence, guard)?;
    let mut changes = before.differences(&Snapshot::of(&home.path, ROOTS), Compare::Exact);
    if parent(home) != above {
        changes.push("~/.pi is another folder, or closed to its owner".to_owned());
    }
    changes.truncate(10);
    Ok(changes)
}

/// Many processes at once cannot harm what is protected.
#[test]
fn property_attack() {
    const EACH: usize = 2500;
    let rows: Vec<usize> = (1..=if is_long() { 40 } else { 2 }).collect();
    each(
        "random attack",
        &rows,
        |row| format!("sequence {row}"),
        |row, who| {
            let home = Home::new(who);
            let sequence = attack(EACH)
                .new_tree(&mut runner(100 + *row, who))
                .unwrap()
                .current();
            // Who comes first is chance: now and then the first of them shuts the others out.
            let mut damaged = false;
            for _ in 0..3 {
                damaged = damaged || attacked(&home, &sequence, false)?.len() >= 5;
            }
            if !damaged {
                return Err("CONTROL: nothing is damaged without guard".to_owned());
            }
            let changes = attacked(&home, &sequence, true)?;
            if !changes.is_empty() {
                return Err(format!("DAMAGE: {}", changes.join("\nDAMAGE: ")));
            }
            if home.attempts().is_empty() {
                return Err("nothing is recorded".to_owned());
            }
            Ok(())
        },
    );
}

/// Sequences that once gave something else under guard, in every place.
#[test]
fn kept_sequences() {
    let kept: Vec<(&str, Sequence)> = super::kept::SEQUENCES
        .iter()
        .map(|(name, text)| (*name, parsed(text)))
        .collect();
    let rows: Vec<_> = kept
        .iter()
        .flat_map(|one| PLACES.iter().map(move |place| (one, place)))
        .collect();
    each(
        "kept sequences",
        &rows,
        |((name, _), place)| format!("{name}, {}", place.name),
        |((_, sequence), place), who| {
            let home = Home::new(who);
            twice(&Stage::new(&home, place), sequence).map(drop)
        },
    );
}

fn parsed(text: &str) -> Sequence {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let how = match lines.next().unwrap() {
        "processes" => How::Processes,
        "threads" => How::Threads,
        "parallel" => How::Parallel,
        other => panic!("{other}"),
    };
    Sequence {
        how,
        lines: lines.map(str::to_owned).collect(),
    }
}
