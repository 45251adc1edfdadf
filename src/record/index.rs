//! `runs/index`: how long each record is and the hash of its last line, kept in a second place.
//!
//! One line a run, all of the same length, so that a run's line can be written over by one write. Whoever changes the
//! folder as a whole (this file, pruning, repairs, a new run's name) holds the lock on `runs/lock`.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::chain::{DIGITS, Head};

/// The longest name, `20260902T090000.123Z-7f3a19c4`, and three more.
const NAME: usize = 32;
const TOKEN: usize = 32;
const LINES: usize = 12;
/// Digits of each line's own check.
const CHECK: usize = 8;
const LINE: usize = NAME + 1 + TOKEN + 1 + LINES + 1 + DIGITS + 1 + CHECK + 1;

/// What the index knows of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// The record's file name without its ending.
    pub name: String,
    /// The token in its header.
    pub token: String,
    /// Its length and its last line's hash.
    pub head: Head,
}

impl Known {
    fn line(&self) -> Vec<u8> {
        let Head { lines, hash } = &self.head;
        let mut line = format!("{:NAME$} {} {lines:0LINES$} {hash} ", self.name, self.token);
        let check = check(line.as_bytes());
        line.push_str(&check);
        line.push('\n');
        line.into_bytes()
    }

    fn parse(line: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
        let (front, sum) = text.split_at_checked(LINE - 1 - CHECK)?;
        if sum != check(front.as_bytes()) {
            return None;
        }
        let mut words = front.split_ascii_whitespace();
        let mut word = || words.next().map(str::to_owned);
        let (name, token, lines, hash) = (word()?, word()?, word()?, word()?);
        let lines = lines.parse().ok()?;
        Some(Self {
            name,
            token,
            head: Head { lines, hash },
        })
    }
}

fn check(front: &[u8]) -> String {
    blake3::hash(front).to_hex()[..CHECK].to_owned()
}

/// The index in a folder of records.
pub fn path(dir: &Path) -> PathBuf {
    dir.join("index")
}

/// Nobody may open the lock to read it: programs under guard cannot open it to write, and so cannot hold it.
const LOCK_MODE: u32 = 0o200;
/// How often the lock is tried; others hold it for less than a millisecond.
const TRIES: u32 = 100;
/// The pause between these.
const PAUSE: Duration = Duration::from_millis(1);

/// Does something while no other guard changes the folder as a whole.
///
/// # Errors
/// When the lock file cannot be made or locked, and those of `what`. [`io::ErrorKind::WouldBlock`] when another guard does
/// not let go of it, as one that was stopped.
pub fn locked<T>(dir: &Path, what: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let path = dir.join("lock");
    let lock = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(LOCK_MODE)
        .open(&path)?;
    if lock.metadata()?.mode() & 0o777 != LOCK_MODE {
        lock.set_permissions(Permissions::from_mode(LOCK_MODE))?;
    }
    for _ in 0..TRIES {
        match lock.try_lock() {
            Ok(()) => return what(), // it ends with the file
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Err(io::ErrorKind::WouldBlock.into())
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
}

/// Sets what is known of a run. `slot` remembers where its line is.
///
/// # Errors
/// As open(2), flock(2), pwrite(2).
pub fn set(dir: &Path, known: &Known, slot: &mut Option<u64>) -> io::Result<()> {
    locked(dir, || set_locked(dir, known, slot))
}

/// As [`set`], for who holds the lock.
///
/// # Errors
/// As open(2), pwrite(2).
pub fn set_locked(dir: &Path, known: &Known, slot: &mut Option<u64>) -> io::Result<()> {
    let file = open(&path(dir))?;
    let at = match slot.filter(|&at| is_of(&file, at, &known.name)) {
        Some(at) => at,
        None => find(&file, &known.name)?,
    };
    file.write_all_at(&known.line(), at)?;
    *slot = Some(at);
    Ok(())
}

fn is_of(file: &File, at: u64, name: &str) -> bool {
    let mut line = [0; LINE];
    file.read_exact_at(&mut line, at).is_ok()
        && line.split(|&byte| byte == b' ').next() == Some(name.as_bytes())
}

/// Where the run's line is, or where it is to be written: at the end, or over what a crash left there.
fn find(mut file: &File, name: &str) -> io::Result<u64> {
    let mut all = Vec::new();
    file.read_to_end(&mut all)?;
    let mut lines = all.chunks_exact(LINE);
    let of_run =
        lines.position(|line| line.split(|&byte| byte == b' ').next() == Some(name.as_bytes()));
    Ok((of_run.unwrap_or(all.len() / LINE) * LINE) as u64)
}

/// What the index knows of the run with this file name; none where it knows nothing.
///
/// # Errors
/// When the index is there and cannot be read; [`io::ErrorKind::InvalidData`] with the number of its line when that line
/// is damaged.
pub fn get(dir: &Path, name: &str) -> io::Result<Option<Known>> {
    let all = match fs::read(path(dir)) {
        Ok(all) => all,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut damaged = None;
    for (index, line) in all.chunks(LINE).enumerate() {
        match Known::parse(line) {
            Some(known) if known.name == name => return Ok(Some(known)),
            Some(_) => {}
            None => damaged = damaged.or(Some(index + 1)),
        }
    }
    match damaged {
        None => Ok(None),
        Some(line) => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("line {line} of the index is damaged"),
        )),
    }
}

/// Forgets these runs: the rest goes to a new file that takes the old one's place. The caller holds the lock.
///
/// # Errors
/// As open(2), write(2), rename(2).
pub fn forget(dir: &Path, names: &[String]) -> io::Result<()> {
    let all = fs::read(path(dir))?;
    let mut kept = Vec::with_capacity(all.len());
    for line in all.chunks_exact(LINE) {
        let gone = Known::parse(line).is_some_and(|known| names.contains(&known.name));
        if !gone {
            kept.extend_from_slice(line);
        }
    }
    let temporary = dir.join("index.new");
    fs::write(&temporary, kept)?;
    fs::set_permissions(
        &temporary,
        std::os::unix::fs::PermissionsExt::from_mode(0o600),
    )?;
    fs::rename(&temporary, path(dir))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(n: u64) -> Known {
        Known {
            name: format!("20260902T090000.123Z-{n:04x}"),
            token: format!("{n:032x}"),
            head: Head {
                lines: n,
                hash: format!("{n:064x}"),
            },
        }
    }

    fn head(dir: &Path, n: u64) -> Option<u64> {
        get(dir, &known(n).name).unwrap().map(|it| it.head.lines)
    }

    #[test]
    fn each_run_has_a_line_that_is_written_over() {
        let top = tempfile::tempdir().unwrap();
        let dir = top.path();
        assert_eq!(get(dir, "x").unwrap(), None);
        let mut slots = [None; 3];
        for (n, slot) in (0..).zip(&mut slots) {
            set(dir, &known(n), slot).unwrap();
        }
        let mut longer = known(1);
        longer.head.lines = 77;
        set(dir, &longer, &mut slots[1]).unwrap();
        assert_eq!(
            (head(dir, 0), head(dir, 1), head(dir, 2)),
            (Some(0), Some(77), Some(2))
        );
        // Another run is forgotten meanwhile, so lines move.
        forget(dir, &[known(0).name]).unwrap();
        longer.head.lines = 78;
        set(dir, &longer, &mut slots[1]).unwrap();
        set(dir, &longer, &mut None).unwrap();
        assert_eq!(
            (head(dir, 0), head(dir, 1), head(dir, 2)),
            (None, Some(78), Some(2))
        );
        assert_eq!(fs::read(path(dir)).unwrap().len(), 2 * LINE);
    }

    #[test]
    fn a_flipped_bit_anywhere_is_told_and_spoils_one_line_only() {
        let top = tempfile::tempdir().unwrap();
        let dir = top.path();
        for n in 0..2 {
            set(dir, &known(n), &mut None).unwrap();
        }
        let whole = fs::read(path(dir)).unwrap();
        for at in 0..LINE {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            fs::write(path(dir), bytes).unwrap();
            let error = get(dir, &known(0).name).unwrap_err();
            assert_eq!(error.to_string(), "line 1 of the index is damaged", "{at}");
            assert_eq!(head(dir, 1), Some(1));
        }
    }

    #[test]
    fn a_lock_that_is_never_given_back_is_not_waited_for() {
        let top = tempfile::tempdir().unwrap();
        let held = open(&top.path().join("lock")).unwrap();
        held.lock().unwrap();
        let error = set(top.path(), &known(0), &mut None).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        drop(held);
        set(top.path(), &known(0), &mut None).unwrap();
    }

    #[test]
    fn half_a_line_at_the_end_is_written_over() {
        let top = tempfile::tempdir().unwrap();
        let dir = top.path();
        set(dir, &known(0), &mut None).unwrap();
        let mut bytes = fs::read(path(dir)).unwrap();
        bytes.truncate(LINE);
        bytes.extend_from_slice(b"20260902T09");
        fs::write(path(dir), bytes).unwrap();
        set(dir, &known(1), &mut None).unwrap();
        assert_eq!((head(dir, 0), head(dir, 1)), (Some(0), Some(1)));
    }
}
