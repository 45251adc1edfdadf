//! A record whose guard was killed while it wrote: its torn last line is taken away, in a new file that takes its place.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::chain::{Head, Sealed};
use super::index::{self, Known};
use super::{Line, Note, RunFile, list};

/// Records that a new run looks at.
const LATEST: usize = 16;

/// What became of a record's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// It ends as it should.
    Whole,
    /// It is being written.
    InUse,
    /// So many bytes of a line were cut off.
    Torn(usize),
}

/// Repairs the newest records in `dir`. What cannot be repaired stays as it is; whoever reads it is told.
pub fn latest(dir: &Path) {
    for file in list(dir).unwrap_or_default().iter().take(LATEST) {
        if let Err(error) = repair(dir, file) {
            tracing::debug!(%error, path = %file.path.display(), "repair");
        }
    }
}

/// Repairs one record.
///
/// # Errors
/// When the file or its folder cannot be read or written.
pub fn repair(dir: &Path, run: &RunFile) -> io::Result<Repair> {
    let mut file = File::open(&run.path)?;
    if !is_torn(&mut file)? {
        return Ok(Repair::Whole);
    }
    index::locked(dir, || {
        // Another guard may have repaired it meanwhile: look again.
        let mut file = OpenOptions::new().read(true).append(true).open(&run.path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(Repair::InUse),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        if !is_torn(&mut file)? {
            return Ok(Repair::Whole);
        }
        file.rewind()?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        mend(dir, run, bytes)
    })
}

fn is_torn(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

/// The caller holds the folder's lock and the file's.
fn mend(dir: &Path, run: &RunFile, mut bytes: Vec<u8>) -> io::Result<Repair> {
    let start = bytes
        .iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(0, |at| at + 1);
    let known = index::get(dir, &run.name()).unwrap_or_default();
    let mut head = head(&bytes[..start]);
    let last = Sealed::parse(&bytes[start..]);
    let repair = if let Some(last) = last.filter(|last| last.expected(&head.hash) == last.hash) {
        // Only the line break is missing.
        head = Head {
            lines: last.line,
            hash: last.hash.to_owned(),
        };
        bytes.push(b'\n');
        Repair::Whole
    } else {
        let torn = bytes.len() - start;
        bytes.truncate(start);
        Repair::Torn(torn)
    };
    // What the index knows follows only if it agrees with what is left: a line that is missing stays missing.
    let agrees = known
        .as_ref()
        .is_some_and(|known| known.head == head || known.head.lines + 1 == head.lines);
    if let Repair::Torn(torn) = repair {
        let note = Line::Note(Note {
            time: jiff::Timestamp::now(),
            text: format!(
                "guard was killed while it wrote the next line, of which {torn} bytes were here"
            ),
        });
        bytes.extend(head.seal(&note).map_err(io::Error::other)?);
    }
    let temporary = run.path.with_extension("new");
    let _ = fs::remove_file(&temporary);
    let mut new = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&temporary)?;
    new.set_permissions(Permissions::from_mode(0o600))?;
    new.write_all(&bytes)?;
    new.sync_all()?;
    fs::rename(&temporary, &run.path)?;
    if let Some(known) = known.filter(|_| agrees) {
        index::set_locked(dir, &Known { head, ..known }, &mut None)?;
    }
    Ok(repair)
}

/// The head after these whole lines.
fn head(lines: &[u8]) -> Head {
    let whole = lines.strip_suffix(b"\n").unwrap_or(lines);
    let last = whole
        .rsplit(|&byte| byte == b'\n')
        .next()
        .and_then(Sealed::parse);
    last.map_or_else(Head::default, |last| Head {
        lines: last.line,
        hash: last.hash.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Entry, Journal, Operation, entries, samples, verify};

    /// A record of two attempts, written by a guard that was then killed.
    fn recorded() -> (tempfile::TempDir, RunFile) {
        let top = tempfile::tempdir().unwrap();
        let mut journal = Journal::new(top.path().into(), samples::header(), samples::keep(0, 0));
        for name in ["a", "b"] {
            journal
                .attempt(&samples::attempt(1, Operation::Delete, name))
                .unwrap();
        }
        drop(journal);
        let run = list(top.path()).unwrap().remove(0);
        (top, run)
    }

    fn seqs(run: &RunFile) -> Vec<u64> {
        let lines = entries(&run.path).unwrap().map(|entry| entry.unwrap());
        lines
            .filter_map(|entry| match entry {
                Entry::Line(Line::Attempt(numbered)) => Some(numbered.seq),
                Entry::Line(_) => None,
                other => panic!("{other:?}"),
            })
            .collect()
    }

    /// The guard was killed after any number of bytes of the last line. Nothing that was written is lost, what is left
    /// can be read and verified, and is repaired once.
    #[test]
    fn cut_at_every_byte_of_the_last_line() {
        let (top, run) = recorded();
        let whole = fs::read(&run.path).unwrap();
        let index = fs::read(index::path(top.path())).unwrap();
        let last = whole[..whole.len() - 1]
            .iter()
            .rposition(|&byte| byte == b'\n')
            .unwrap()
            + 1;
        for end in last..=whole.len() {
            fs::write(&run.path, &whole[..end]).unwrap();
            // Killed between the line and the index, as the line was not whole.
            fs::write(index::path(top.path()), &index).unwrap();
            let mut known = index::get(top.path(), &run.name()).unwrap().unwrap();
            known.head = head(&whole[..last]);
            index::set(top.path(), &known, &mut None).unwrap();
            let repaired = repair(top.path(), &run).unwrap();
            let kept = if end + 1 >= whole.len() {
                vec![1, 2]
            } else {
                vec![1]
            };
            assert_eq!(seqs(&run), kept, "{end}");
            let torn = end > last && end + 1 < whole.len();
            let expected = if torn {
                Repair::Torn(end - last)
            } else {
                Repair::Whole
            };
            assert_eq!(repaired, expected);
            assert_eq!(repair(top.path(), &run).unwrap(), Repair::Whole);
            let verified = verify(top.path(), &run).unwrap();
            assert!(
                verified.findings.is_empty(),
                "{end}: {:?}",
                verified.findings
            );
        }
    }

    #[test]
    fn a_record_that_is_being_written_is_left_alone() {
        let top = tempfile::tempdir().unwrap();
        let mut journal = Journal::new(top.path().into(), samples::header(), samples::keep(0, 0));
        journal
            .attempt(&samples::attempt(1, Operation::Delete, "a"))
            .unwrap();
        let run = list(top.path()).unwrap().remove(0);
        let mut file = OpenOptions::new().append(true).open(&run.path).unwrap();
        file.write_all(b"{").unwrap();
        assert_eq!(repair(top.path(), &run).unwrap(), Repair::InUse);
        drop(journal);
        assert_eq!(repair(top.path(), &run).unwrap(), Repair::Torn(1));
    }

    #[test]
    fn a_line_that_is_missing_stays_missing() {
        let (top, run) = recorded();
        let whole = fs::read(&run.path).unwrap();
        // Somebody cut more than a crash does: the index knows a line that is not there.
        let lines: Vec<_> = whole.split_inclusive(|&byte| byte == b'\n').collect();
        fs::write(&run.path, [lines[0], b"{\"ty"].concat()).unwrap();
        assert_eq!(repair(top.path(), &run).unwrap(), Repair::Torn(4));
        assert!(!verify(top.path(), &run).unwrap().findings.is_empty());
    }

    #[test]
    fn the_next_run_repairs() {
        let (top, run) = recorded();
        let whole = fs::read(&run.path).unwrap();
        fs::write(&run.path, &whole[..whole.len() - 5]).unwrap();
        let mut next = Journal::new(top.path().into(), samples::header(), samples::keep(0, 0));
        next.attempt(&samples::attempt(1, Operation::Delete, "c"))
            .unwrap();
        next.finish(None, None).unwrap();
        assert!(fs::read(&run.path).unwrap().ends_with(b"\n"));
    }
}
