//! What is written when, what waits, and what is counted.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::*;
use crate::record::{Entry, Operation, entries, list, samples, verify};

fn journal(dir: &Path) -> Journal {
    Journal::new(dir.to_owned(), samples::header(), samples::keep(0, 0))
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn delete() -> Attempt {
    samples::attempt(1, Operation::Delete, "/home/u/.pi/agent/auth.json")
}

fn lines(dir: &Path) -> Vec<Line> {
    let run = list(dir).unwrap().remove(0);
    let verified = verify(dir, &run).unwrap();
    assert_eq!(verified.findings, []);
    entries(&run.path)
        .unwrap()
        .map(|entry| match entry.unwrap() {
            Entry::Line(line) => line,
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn a_clean_run_leaves_nothing_and_an_attempt_a_private_file() {
    let top = tempfile::tempdir().unwrap();
    let dir = top.path().join("state/guard/runs");
    let mut journal = journal(&dir);
    journal
        .note("the workspace is the home directory", Weight::Remark)
        .unwrap();
    journal.finish(Some(0), Some(0)).unwrap();
    assert!(fs::read_dir(top.path()).unwrap().next().is_none());
    assert_eq!((journal.run(), journal.due()), (None, None));

    journal.attempt(&delete()).unwrap();
    let id = journal.run().unwrap().to_owned();
    assert!(
        (4..=8).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_hexdigit()),
        "{id}"
    );
    let path = dir.join(format!("19700101T000000.000Z-{id}.jsonl"));
    assert_eq!((mode(&dir), mode(&path)), (0o700, 0o600));
    let Line::Header(header) = &lines(&dir)[0] else {
        panic!()
    };
    assert_eq!(header.notes, ["the workspace is the home directory"]);
    assert_eq!((header.run.as_str(), header.token.len()), (id.as_str(), 32));
}

#[test]
fn what_is_not_enforced_is_worth_a_record() {
    let top = tempfile::tempdir().unwrap();
    let mut journal = journal(top.path());
    journal.note("no Landlock", Weight::NotEnforced).unwrap();
    let Line::Header(header) = &lines(top.path())[0] else {
        panic!()
    };
    assert_eq!(header.not_enforced, ["no Landlock"]);
}

#[test]
fn a_folder_that_others_could_read_is_closed() {
    let top = tempfile::tempdir().unwrap();
    let dir = top.path().join("runs");
    fs::create_dir(&dir).unwrap();
    fs::set_permissions(&dir, Permissions::from_mode(0o755)).unwrap();
    journal(&dir).attempt(&delete()).unwrap();
    assert_eq!(mode(&dir), 0o700);
}

#[test]
fn many_attempts_become_a_group() {
    let top = tempfile::tempdir().unwrap();
    let mut journal = journal(top.path());
    for _ in 0..100_000 {
        journal.attempt(&delete()).unwrap();
    }
    assert!(journal.due().is_some());
    journal.finish(Some(0), Some(0)).unwrap();
    let lines = lines(top.path());
    assert!(lines.len() < 40, "{}", lines.len());
    let [.., Line::Group(group), Line::Footer(footer)] = &lines[..] else {
        panic!("{lines:?}")
    };
    assert_eq!((group.attempts, group.listed), (100_000, 8));
    assert_eq!((footer.attempts, footer.unrecorded), (100_000, 0));
}

#[test]
fn whoever_is_told_hears_every_line_but_the_last() {
    let top = tempfile::tempdir().unwrap();
    let (to, from) = std::sync::mpsc::channel();
    let mut journal = journal(top.path());
    journal.tell(Box::new(move |line| {
        to.send(serde_json::to_value(line).unwrap()).unwrap();
    }));
    journal.note("first", Weight::Remark).unwrap();
    assert!(journal.footer(None, None).is_none());
    for _ in 0..100 {
        journal.attempt(&delete()).unwrap();
    }
    journal.note("second", Weight::Remark).unwrap();
    journal.finish(Some(0), Some(0)).unwrap();
    let mut written: Vec<_> = lines(top.path())
        .iter()
        .map(|line| serde_json::to_value(line).unwrap())
        .collect();
    let last = written.pop().unwrap();
    assert_eq!(last["type"], "footer");
    assert_eq!(from.try_iter().collect::<Vec<_>>(), written);

    let mut elsewhere = self::journal(top.path());
    let (to, from) = std::sync::mpsc::channel();
    elsewhere.tell(Box::new(move |_| to.send(()).unwrap()));
    elsewhere.leave_to_another();
    elsewhere.attempt(&delete()).unwrap();
    elsewhere.note("third", Weight::NotEnforced).unwrap();
    elsewhere.finish(None, None).unwrap();
    assert!(from.try_recv().is_err());
}

/// Nothing that waited is lost when the place comes to be, and the order is kept.
#[test]
fn a_place_that_is_no_folder_is_tried_again() {
    let top = tempfile::tempdir().unwrap();
    let blocked = top.path().join("state");
    fs::write(&blocked, "").unwrap();
    let dir = blocked.join("runs");
    let mut journal = journal(&dir);
    for _ in 0..2 {
        assert!(matches!(
            journal.attempt(&delete()),
            Err(RecordError::Folder { .. })
        ));
    }
    assert_eq!((journal.run(), journal.is_whole()), (None, false));
    assert!(journal.due().is_some());
    fs::remove_file(&blocked).unwrap();
    journal.catch_up().unwrap();
    assert!(journal.is_whole() && journal.run().is_some());
    journal.finish(None, None).unwrap();
    assert!(matches!(
        lines(&dir)[..],
        [
            Line::Header(_),
            Line::Attempt(_),
            Line::Attempt(_),
            Line::Group(_),
            Line::Footer(_)
        ]
    ));
    assert_eq!(journal.due(), None);
}

#[test]
fn what_waits_is_bounded_and_the_loss_is_counted() {
    let top = tempfile::tempdir().unwrap();
    let blocked = top.path().join("state");
    fs::write(&blocked, "").unwrap();
    let dir = blocked.join("runs");
    let mut journal = journal(&dir);
    for n in 0..2_000 {
        // Each a group of its own.
        let mut attempt = delete();
        attempt.rule = Some(samples::rule(&format!("~/{n}")));
        journal.attempt(&attempt).unwrap_err();
    }
    assert!(journal.unrecorded > 0 && journal.unrecorded < 2_000);
    fs::remove_file(&blocked).unwrap();
    journal.finish(None, None).unwrap();
    let lines = lines(&dir);
    let Some(Line::Footer(footer)) = lines.last() else {
        panic!()
    };
    assert_eq!(footer.attempts, 2_000);
    assert_eq!(footer.unrecorded + lines.len() as u64 - 2, 2_000);
}

#[test]
fn a_record_that_is_removed_comes_back_whole() {
    let top = tempfile::tempdir().unwrap();
    let dir = top.path().join("guard/runs");
    let mut journal = journal(&dir);
    journal.attempt(&delete()).unwrap();
    fs::remove_dir_all(top.path().join("guard")).unwrap();
    journal.attempt(&delete()).unwrap();
    fs::remove_file(list(&dir).unwrap().remove(0).path).unwrap();
    journal.finish(None, None).unwrap();
    assert_eq!(lines(&dir).len(), 5);
    assert_eq!(
        fs::read_dir(&dir).unwrap().count(),
        3,
        "record, index, lock"
    );
}

/// Whoever holds the folder's lock keeps the index back, not the record.
#[test]
fn a_lock_that_somebody_holds_stops_no_line() {
    let top = tempfile::tempdir().unwrap();
    let held = fs::File::create(top.path().join("lock")).unwrap();
    held.lock().unwrap();
    let mut journal = journal(top.path());
    journal.attempt(&delete()).unwrap_err();
    let path = list(top.path()).unwrap().remove(0).path;
    assert_eq!(entries(&path).unwrap().count(), 2);
    drop(held);
    journal.finish(None, None).unwrap();
    assert_eq!(lines(top.path()).len(), 3);
}

#[test]
fn another_file_in_the_place_of_a_removed_record_stays() {
    let top = tempfile::tempdir().unwrap();
    let mut journal = journal(top.path());
    journal.attempt(&delete()).unwrap();
    let path = list(top.path()).unwrap().remove(0).path;
    fs::remove_file(&path).unwrap();
    fs::write(&path, "mine").unwrap();
    journal.attempt(&delete()).unwrap_err();
    assert_eq!(fs::read(&path).unwrap(), b"mine");
    assert!(!journal.is_whole());
}

#[test]
fn runs_at_once_have_records_of_their_own() {
    let top = tempfile::tempdir().unwrap();
    let writers: Vec<_> = (0..16)
        .map(|_| {
            let mut journal = journal(top.path());
            std::thread::spawn(move || {
                for _ in 0..20 {
                    journal.attempt(&delete()).unwrap();
                }
                journal.finish(Some(0), Some(0)).unwrap();
            })
        })
        .collect();
    for writer in writers {
        writer.join().unwrap();
    }
    let runs = list(top.path()).unwrap();
    assert_eq!(runs.len(), 16);
    for run in &runs {
        assert_eq!(verify(top.path(), run).unwrap().findings, []);
    }
}
