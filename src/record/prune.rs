//! Old records go: by number and by age, never one that is being written.

use std::fs::{self, File};
use std::path::Path;

use jiff::{SignedDuration, Timestamp};

use super::{RunFile, index, list};
use crate::policy::Recording;

/// Removes what is not to be kept. A run whose guard still holds its file stays. What cannot be removed stays too; that is
/// no reason to trouble the run that has just begun.
pub fn prune(dir: &Path, keep: Recording, now: Timestamp) {
    let Ok(runs) = list(dir) else { return };
    let old: Vec<_> = old(&runs, keep, now).collect();
    if old.is_empty() {
        return;
    }
    let done = index::locked(dir, || {
        let mut gone = Vec::new();
        for file in old {
            let is_free = File::open(&file.path).is_ok_and(|file| file.try_lock().is_ok());
            if is_free && fs::remove_file(&file.path).is_ok() {
                gone.push(file.name());
            }
        }
        index::forget(dir, &gone)
    });
    if let Err(error) = done {
        tracing::debug!(%error, "old records");
    }
}

/// Of runs, newest first, those that are not to be kept.
fn old(runs: &[RunFile], keep: Recording, now: Timestamp) -> impl Iterator<Item = &RunFile> {
    let oldest = now
        .checked_sub(SignedDuration::from_hours(24 * i64::from(keep.days)))
        .unwrap_or(Timestamp::MIN)
        .strftime("%Y%m%dT%H%M%S%.3fZ")
        .to_string();
    runs.iter().enumerate().filter_map(move |(index, file)| {
        let too_many = keep.runs > 0 && index >= keep.runs as usize;
        let too_old = keep.days > 0 && file.stamp < oldest;
        (too_many || too_old).then_some(file)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Journal, Operation, samples};

    /// A folder with a record of each of these days of 2026-03.
    fn recorded(days: &[i8]) -> (tempfile::TempDir, Vec<Journal>) {
        let top = tempfile::tempdir().unwrap();
        let journals = days.iter().map(|&day| {
            let mut header = samples::header();
            header.time = format!("2026-03-{day:02}T00:00:00Z").parse().unwrap();
            let keep = samples::keep(0, 0);
            let mut journal = Journal::new(top.path().into(), header, keep);
            journal
                .attempt(&samples::attempt(1, Operation::Delete, "/x"))
                .unwrap();
            journal
        });
        let journals = journals.collect();
        (top, journals)
    }

    fn kept(dir: &Path) -> Vec<String> {
        let runs = list(dir).unwrap();
        runs.iter().map(|run| run.stamp[6..8].to_owned()).collect()
    }

    fn now() -> Timestamp {
        "2026-03-10T00:00:00Z".parse().unwrap()
    }

    #[test]
    fn the_oldest_go_by_number_and_by_age() {
        for (keep, left) in [
            (samples::keep(0, 0), &["09", "05", "01"][..]),
            (samples::keep(2, 0), &["09", "05"]),
            (samples::keep(0, 5), &["09", "05"]),
            (samples::keep(2, 4), &["09"]),
        ] {
            let (top, journals) = recorded(&[1, 5, 9]);
            drop(journals);
            prune(top.path(), keep, now());
            assert_eq!(kept(top.path()), left, "{keep:?}");
            for day in ["01", "05", "09"] {
                let run = list(top.path())
                    .unwrap()
                    .into_iter()
                    .find(|run| &run.stamp[6..8] == day);
                let known = run.and_then(|run| index::get(top.path(), &run.name()).unwrap());
                assert_eq!(known.is_some(), left.contains(&day));
            }
        }
    }

    #[test]
    fn a_run_that_goes_on_stays() {
        let (top, mut journals) = recorded(&[1, 2, 9]);
        drop(journals.remove(1));
        prune(top.path(), samples::keep(1, 1), now());
        assert_eq!(kept(top.path()), ["09", "01"]);
    }
}
