//! One record on disk: made at the first line, one write call a line, what cannot be written kept and tried again.

use std::collections::VecDeque;
use std::collections::hash_map::RandomState;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::chain::Head;
use super::index::{self, Known};
use super::{Header, Line, RecordError, Recording, list, prune, repair};

/// Bytes that wait in memory at most when nothing can be written.
const MOST_QUEUED: usize = 1 << 20;
/// The same for what ends a record.
const MOST_WITH_FOOTER: usize = MOST_QUEUED + (1 << 16);

/// Whether a line may be left out when there is no more room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// It may.
    Ordinary,
    /// It ends the record.
    Last,
}

/// A record that is being written.
pub struct Store {
    dir: PathBuf,
    name: String,
    token: String,
    keep: Recording,
    /// The file, locked for as long as this run goes on.
    file: Option<File>,
    /// The chain up to the newest line, written or not.
    sealed: Head,
    /// The chain up to the last line in the file.
    written: Head,
    queue: Queue,
    slot: Option<u64>,
    indexed: u64,
    synced: u64,
}

/// Lines that wait to be written.
#[derive(Default)]
struct Queue {
    lines: VecDeque<(Vec<u8>, Head)>,
    bytes: usize,
    /// How much of the first line is written.
    begun: usize,
}

impl Queue {
    fn push(&mut self, bytes: Vec<u8>, head: Head) {
        self.bytes += bytes.len();
        self.lines.push_back((bytes, head));
    }

    /// Writes the next line, by one call: a crash cuts the last line at most, and lines of two writers never mix. Gives the
    /// head after it; none when there is no more.
    fn write(&mut self, to: &mut dyn Write) -> io::Result<Option<Head>> {
        while let Some((bytes, _)) = self.lines.front() {
            match to.write(&bytes[self.begun..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => self.begun += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            if self.begun == bytes.len() {
                self.bytes -= bytes.len();
                self.begun = 0;
                return Ok(self.lines.pop_front().map(|(_, head)| head));
            }
        }
        Ok(None)
    }
}

impl Store {
    /// A record in `dir`, an absolute path, that begins with `header`, which gets its short id. Nothing is written yet but
    /// the file made, if that is possible.
    ///
    /// # Errors
    /// [`RecordError::Encode`].
    pub fn begin(dir: &Path, header: &mut Header, keep: Recording) -> Result<Self, RecordError> {
        let id = header.id().to_owned();
        let stamp = header.time.strftime("%Y%m%dT%H%M%S%.3fZ").to_string();
        let fresh = make_private(dir).and_then(|()| {
            index::locked(dir, || {
                let taken = list(dir).map_err(io::Error::other)?;
                let run = (4..=id.len())
                    .map(|length| id[..length].to_owned())
                    .find(|id| taken.iter().all(|other| other.run != *id))
                    .ok_or(io::ErrorKind::AlreadyExists)?;
                let file = create(&dir.join(format!("{stamp}-{run}.jsonl")))?;
                Ok((run, file))
            })
        });
        let (run, file) = match fresh {
            Ok((run, file)) => (run, Some(file)),
            // It is tried again with every line, and every error then said.
            Err(_) => (id, None),
        };
        header.run.clone_from(&run);
        let mut store = Self {
            dir: dir.to_owned(),
            name: format!("{stamp}-{run}"),
            token: header.token.clone(),
            keep,
            file,
            sealed: Head::default(),
            written: Head::default(),
            queue: Queue::default(),
            slot: None,
            indexed: 0,
            synced: 0,
        };
        store.push(&Line::Header(Box::new(header.clone())), Need::Last)?;
        Ok(store)
    }

    /// Adds a line to those that wait to be written.
    ///
    /// # Errors
    /// [`RecordError::Encode`]; [`RecordError::Full`] when too many wait: then the line is lost.
    pub fn push(&mut self, line: &Line, need: Need) -> Result<(), RecordError> {
        let mut head = self.sealed.clone();
        let bytes = head.seal(line)?;
        let most = match need {
            Need::Ordinary => MOST_QUEUED,
            Need::Last => MOST_WITH_FOOTER,
        };
        if self.queue.bytes + bytes.len() > most {
            return Err(RecordError::Full);
        }
        self.sealed = head.clone();
        self.queue.push(bytes, head);
        Ok(())
    }

    /// Writes what waits, and the index.
    ///
    /// # Errors
    /// When that is not possible now; everything is kept, to be tried again.
    pub fn flush(&mut self) -> Result<(), RecordError> {
        let path = self.path();
        let append = |source| RecordError::Append {
            path: path.clone(),
            source,
        };
        if self.file.is_none() {
            self.file = Some(self.create()?);
        }
        if let Some(file) = &self.file
            && file.metadata().map_err(append)?.nlink() == 0
        {
            let restored = self.restore(file).map_err(append)?;
            self.file = Some(restored);
            (self.slot, self.indexed) = (None, 0);
        }
        let first = self.written.lines == 0;
        // A record without its index is better than none: what is wrong with the index is said at the end.
        let mut indexed = self.index();
        while let Some(file) = &mut self.file
            && let Some(head) = self.queue.write(file).map_err(append)?
        {
            self.written = head;
            if indexed.is_ok() {
                indexed = self.index();
            }
        }
        if first {
            repair::latest(&self.dir);
            prune::prune(&self.dir, self.keep, jiff::Timestamp::now());
        }
        indexed
    }

    /// Tells the index of the last line.
    fn index(&mut self) -> Result<(), RecordError> {
        if self.indexed == self.written.lines {
            return Ok(());
        }
        let known = Known {
            name: self.name.clone(),
            token: self.token.clone(),
            head: self.written.clone(),
        };
        index::set(&self.dir, &known, &mut self.slot).map_err(|source| RecordError::Append {
            path: index::path(&self.dir),
            source,
        })?;
        self.indexed = self.written.lines;
        Ok(())
    }

    /// Brings what is written to the disk, the folder too.
    ///
    /// # Errors
    /// As fsync(2).
    pub fn sync(&mut self) -> Result<(), RecordError> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        let synced = file
            .sync_all()
            .and_then(|()| File::open(&self.dir)?.sync_all());
        synced.map_err(|source| RecordError::Append {
            path: self.path(),
            source,
        })?;
        self.synced = self.written.lines;
        Ok(())
    }

    /// Whether something waits to be written.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        !self.queue.lines.is_empty() || self.indexed != self.written.lines
    }

    /// Whether something is written that may not have reached the disk.
    #[must_use]
    pub fn is_unsynced(&self) -> bool {
        self.synced != self.written.lines
    }

    /// Whether there is a file with something in it.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.written.lines > 0
    }

    fn path(&self) -> PathBuf {
        self.dir.join(format!("{}.jsonl", self.name))
    }

    fn create(&self) -> Result<File, RecordError> {
        make_private(&self.dir).map_err(|source| RecordError::Folder {
            dir: self.dir.clone(),
            source,
        })?;
        create(&self.path()).map_err(|source| RecordError::Create {
            dir: self.dir.clone(),
            source,
        })
    }

    /// The file was removed while we held it: what it holds goes to a new one, at the same place.
    fn restore(&self, old: &File) -> io::Result<File> {
        make_private(&self.dir)?;
        let (path, temporary) = (self.path(), self.dir.join(format!("{}.new", self.name)));
        let _ = fs::remove_file(&temporary);
        let mut new = create(&temporary)?;
        let mut old = old.try_clone()?;
        old.rewind()?;
        io::copy(&mut old, &mut new)?;
        if fs::symlink_metadata(&path).is_ok() && token_of(&path).as_deref() != Some(&self.token) {
            fs::remove_file(&temporary)?;
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        fs::rename(&temporary, &path)?;
        Ok(new)
    }
}

/// The token in a record's header.
fn token_of(path: &Path) -> Option<String> {
    let mut first = String::new();
    let file = BufReader::new(File::open(path).ok()?);
    file.take(1 << 20).read_line(&mut first).ok()?;
    match serde_json::from_str(&first).ok()? {
        Line::Header(header) => Some(header.token),
        _ => None,
    }
}

fn create(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .append(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    // Nobody else knows the file; where locks do not work (some network file systems) the name is all that keeps others off.
    let _ = file.try_lock();
    Ok(file)
}

/// Argument lists hold passwords now and then: the folder is for its owner alone, also when it was there before.
fn make_private(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    if fs::metadata(dir)?.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(dir, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// A token for a [`Header`].
#[must_use]
pub fn token() -> String {
    format!("{:016x}{:016x}", random(), random())
}

/// 64 bits that differ from run to run: the standard library seeds its hashers from the kernel.
fn random() -> u64 {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes what it is given up to `room` bytes a call, and keeps the calls apart.
    struct Calls {
        calls: Vec<Vec<u8>>,
        room: Vec<io::Result<usize>>,
    }

    impl Write for Calls {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let room = self.room.pop().unwrap_or(Ok(usize::MAX))?;
            let taken = bytes.len().min(room);
            self.calls.push(bytes[..taken].to_vec());
            Ok(taken)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn each_line_is_one_write_and_a_cut_one_goes_on_where_it_was_cut() {
        let mut queue = Queue::default();
        for lines in 1..=3 {
            let head = Head {
                lines,
                hash: String::new(),
            };
            queue.push(format!("line {lines}\n").into_bytes(), head);
        }
        let full = || Err(io::ErrorKind::StorageFull.into());
        let mut to = Calls {
            calls: Vec::new(),
            room: vec![
                full(),
                Ok(4),
                Err(io::ErrorKind::Interrupted.into()),
                Ok(99),
            ],
        };
        let mut written = || queue.write(&mut to).map(|head| head.map(|head| head.lines));
        assert_eq!(written().unwrap(), Some(1));
        assert_eq!(written().unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(written().unwrap(), Some(2));
        assert_eq!(written().unwrap(), Some(3));
        assert_eq!(written().unwrap(), None);
        assert_eq!(queue.bytes, 0);
        assert_eq!(to.calls, [&b"line 1\n"[..], b"line", b" 2\n", b"line 3\n"]);
    }
}
