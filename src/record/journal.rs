//! Writing one run's record: begun at the first event, one write call a line, never rewritten.

use std::collections::hash_map::RandomState;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::{Attempt, Footer, Header, Line, Note, Numbered, RecordError, Summary, bounded, list};

/// Whether a note alone is worth a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Kept for the header in case that something is refused later.
    Remark,
    /// Something that the policy asks is not enforced: the record says so even when nothing is refused.
    NotEnforced,
}

/// One run's record.
pub struct Journal {
    dir: PathBuf,
    header: Header,
    state: State,
    seq: u64,
    unrecorded: u64,
}

enum State {
    /// Nothing has happened; there is no file.
    Clean,
    Open(Output),
    /// The file could not be begun; nothing is tried again.
    Given,
    /// Another guard keeps it.
    Elsewhere,
}

struct Output {
    path: PathBuf,
    to: Box<dyn Write + Send>,
    /// The last write stopped inside a line.
    torn: bool,
}

impl Journal {
    /// A record to be begun in `dir`, an absolute path, when something happens. `header.run` is given then.
    #[must_use]
    pub fn new(dir: PathBuf, header: Header) -> Self {
        Self {
            dir,
            header,
            state: State::Clean,
            seq: 0,
            unrecorded: 0,
        }
    }

    /// Keeps no record from now on: another guard, around this one, does.
    pub fn leave_to_another(&mut self) {
        self.state = State::Elsewhere;
    }

    /// Whether another guard keeps the record.
    #[must_use]
    pub fn is_elsewhere(&self) -> bool {
        matches!(self.state, State::Elsewhere)
    }

    /// The run's id; none while there is no file.
    #[must_use]
    pub fn run(&self) -> Option<&str> {
        matches!(self.state, State::Open(_)).then_some(self.header.run.as_str())
    }

    /// Adds a refused call.
    ///
    /// # Errors
    /// When the file cannot be begun or the line cannot be written; the attempt is then counted as unrecorded.
    pub fn attempt(&mut self, attempt: &Attempt) -> Result<(), RecordError> {
        self.seq += 1;
        let attempt = Attempt {
            arguments: bounded(&attempt.arguments),
            ..attempt.clone()
        };
        let written = self.append(&Line::Attempt(Box::new(Numbered {
            seq: self.seq,
            attempt,
        })));
        if written.is_err() {
            self.unrecorded += 1;
        }
        written
    }

    /// Adds something that guard said.
    ///
    /// # Errors
    /// When the file cannot be begun or the line cannot be written.
    pub fn note(&mut self, text: &str, weight: Weight) -> Result<(), RecordError> {
        if let State::Clean = self.state {
            match weight {
                Weight::Remark => {
                    self.header.notes.push(text.to_owned());
                    return Ok(());
                }
                Weight::NotEnforced => {
                    self.header.not_enforced.push(text.to_owned());
                    return self.open().map(drop);
                }
            }
        }
        self.append(&Line::Note(Note {
            time: jiff::Timestamp::now(),
            text: text.to_owned(),
        }))
    }

    /// Adds the last line, where there is a record at all.
    ///
    /// # Errors
    /// When the line cannot be written.
    pub fn finish(
        &mut self,
        summary: &Summary,
        command: Option<i32>,
        exit: Option<i32>,
    ) -> Result<(), RecordError> {
        if !matches!(self.state, State::Open(_)) {
            return Ok(());
        }
        self.append(&Line::Footer(Footer {
            time: jiff::Timestamp::now(),
            command_status: command,
            exit_status: exit,
            attempts: summary.attempts(),
            by_operation: summary.by_operation(),
            by_rule: summary.by_rule(),
            unrecorded: self.unrecorded,
        }))
    }

    fn append(&mut self, line: &Line) -> Result<(), RecordError> {
        if self.is_elsewhere() {
            return Ok(());
        }
        let bytes = encode(line)?;
        let output = self.open()?;
        output.append(bytes).map_err(|source| RecordError::Append {
            path: output.path.clone(),
            source,
        })
    }

    fn open(&mut self) -> Result<&mut Output, RecordError> {
        if let State::Clean = self.state {
            self.state = State::Given;
            self.state = State::Open(begin(&self.dir, &mut self.header)?);
        }
        match &mut self.state {
            State::Open(output) => Ok(output),
            State::Clean | State::Given | State::Elsewhere => Err(RecordError::Given),
        }
    }
}

impl Output {
    /// One write call for the whole line: a crash cuts the last line at most, and lines of two writers never mix.
    fn append(&mut self, mut line: Vec<u8>) -> io::Result<()> {
        if self.torn {
            line.insert(0, b'\n');
        }
        let written = loop {
            match self.to.write(&line) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        if written > 0 {
            self.torn = written < line.len();
        }
        if written < line.len() {
            return Err(io::Error::new(
                io::ErrorKind::WriteZero,
                format!("{written} of {} bytes written", line.len()),
            ));
        }
        Ok(())
    }
}

fn encode(line: &Line) -> Result<Vec<u8>, RecordError> {
    let mut bytes = serde_json::to_vec(line)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Makes the folder, the file and its first line.
fn begin(dir: &Path, header: &mut Header) -> Result<Output, RecordError> {
    make_private(dir).map_err(|source| RecordError::Folder {
        dir: dir.to_owned(),
        source,
    })?;
    let (path, file) = create(dir, header).map_err(|source| RecordError::Create {
        dir: dir.to_owned(),
        source,
    })?;
    let mut output = Output {
        path,
        to: Box::new(file),
        torn: false,
    };
    let first = encode(&Line::Header(Box::new(header.clone())))?;
    if let Err(source) = output.append(first) {
        // A file without its header explains nothing; the error that is returned says what happened.
        let _ = fs::remove_file(&output.path);
        return Err(RecordError::Append {
            path: output.path,
            source,
        });
    }
    Ok(output)
}

/// Argument lists hold passwords now and then: the folder is for its owner alone, also when it was there before.
fn make_private(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    if fs::metadata(dir)?.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(dir, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Creates the file under the shortest id that no other run in `dir` has.
fn create(dir: &Path, header: &mut Header) -> io::Result<(PathBuf, File)> {
    let taken = list(dir).unwrap_or_default();
    let stamp = header.time.strftime("%Y%m%dT%H%M%S%.3fZ").to_string();
    let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
    for _ in 0..8 {
        let digits = format!("{:08x}", random());
        let free = (4..=8)
            .map(|length| &digits[..length])
            .find(|id| taken.iter().all(|other| other.run != *id));
        let Some(id) = free else { continue };
        let path = dir.join(format!("{stamp}-{id}.jsonl"));
        match OpenOptions::new()
            .append(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
        {
            Ok(file) => {
                id.clone_into(&mut header.run);
                return Ok((path, file));
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

/// 32 bits that differ from run to run: the standard library seeds its hashers from the kernel.
fn random() -> u32 {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    (hasher.finish() >> 32) as u32
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::record::{Entry, Operation, entries, samples};

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    fn delete() -> Attempt {
        samples::attempt(1, Operation::Delete, "/home/u/.pi/agent/auth.json")
    }

    #[test]
    fn a_clean_run_leaves_nothing_and_an_attempt_a_private_file() {
        let top = tempfile::tempdir().unwrap();
        let dir = top.path().join("state/guard/runs");
        let mut journal = Journal::new(dir.clone(), samples::header());
        journal
            .note("the workspace is the home directory", Weight::Remark)
            .unwrap();
        journal
            .finish(&Summary::default(), Some(0), Some(0))
            .unwrap();
        assert!(fs::read_dir(top.path()).unwrap().next().is_none());
        assert_eq!(journal.run(), None);

        journal.attempt(&delete()).unwrap();
        let id = journal.run().unwrap().to_owned();
        assert!(
            (4..=8).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_hexdigit()),
            "{id}"
        );
        let path = dir.join(format!("19700101T000000.000Z-{id}.jsonl"));
        assert_eq!((mode(&dir), mode(&path)), (0o700, 0o600));
        let Entry::Line(Line::Header(header)) = entries(&path).unwrap().next().unwrap().unwrap()
        else {
            panic!()
        };
        assert_eq!(header.notes, ["the workspace is the home directory"]);
        assert_eq!(header.run, id);
    }

    #[test]
    fn what_is_not_enforced_is_worth_a_record() {
        let top = tempfile::tempdir().unwrap();
        let mut journal = Journal::new(top.path().join("runs"), samples::header());
        journal.note("no Landlock", Weight::NotEnforced).unwrap();
        let runs = list(&top.path().join("runs")).unwrap();
        let text = fs::read_to_string(&runs[0].path).unwrap();
        assert!(text.contains(r#""not_enforced":["no Landlock"]"#), "{text}");
    }

    #[test]
    fn a_folder_that_others_could_read_is_closed() {
        let top = tempfile::tempdir().unwrap();
        let dir = top.path().join("runs");
        fs::create_dir(&dir).unwrap();
        fs::set_permissions(&dir, Permissions::from_mode(0o755)).unwrap();
        Journal::new(dir.clone(), samples::header())
            .attempt(&delete())
            .unwrap();
        assert_eq!(mode(&dir), 0o700);
    }

    #[test]
    fn a_place_that_is_no_folder_is_an_error_once_and_for_all() {
        let top = tempfile::tempdir().unwrap();
        fs::write(top.path().join("file"), "").unwrap();
        let mut journal = Journal::new(top.path().join("file/runs"), samples::header());
        assert!(matches!(
            journal.attempt(&delete()),
            Err(RecordError::Folder { .. })
        ));
        assert!(matches!(
            journal.attempt(&delete()),
            Err(RecordError::Given)
        ));
        assert_eq!((journal.run(), journal.unrecorded), (None, 2));
    }

    /// Takes what it is given up to `room` bytes a call, and keeps the calls apart.
    struct Calls {
        calls: Arc<Mutex<Vec<Vec<u8>>>>,
        room: Arc<Mutex<usize>>,
    }

    impl Write for Calls {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let taken = bytes.len().min(*self.room.lock().unwrap());
            self.calls.lock().unwrap().push(bytes[..taken].to_vec());
            Ok(taken)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn each_event_is_one_write_and_a_cut_line_does_not_spoil_the_next() {
        let calls = Arc::new(Mutex::new(Vec::new()));
        let room = Arc::new(Mutex::new(usize::MAX));
        let to = Calls {
            calls: Arc::clone(&calls),
            room: Arc::clone(&room),
        };
        let mut journal = Journal::new("/nowhere".into(), samples::header());
        journal.state = State::Open(Output {
            path: "/nowhere/x".into(),
            to: Box::new(to),
            torn: false,
        });

        journal.attempt(&delete()).unwrap();
        journal.note("said", Weight::Remark).unwrap();
        *room.lock().unwrap() = 20;
        assert!(matches!(
            journal.attempt(&delete()),
            Err(RecordError::Append { .. })
        ));
        *room.lock().unwrap() = usize::MAX;
        journal
            .finish(&Summary::default(), Some(0), Some(0))
            .unwrap();

        let calls = calls.lock().unwrap();
        assert_eq!(calls.len(), 4);
        for whole in &calls[..2] {
            assert_eq!(whole.iter().filter(|&&b| b == b'\n').count(), 1);
            assert!(whole.ends_with(b"\n"));
        }
        let all = calls.concat();
        let lines: Vec<_> = all.split(|&b| b == b'\n').collect();
        let footer: Line = serde_json::from_slice(lines[3]).unwrap();
        let Line::Footer(footer) = footer else {
            panic!("{footer:?}")
        };
        assert_eq!(footer.unrecorded, 1);
    }
}
