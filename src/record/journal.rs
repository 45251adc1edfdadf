//! Writing one run's record: begun at the first event, never rewritten, complete as soon as the disk allows.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::store::{Need, Store};
use super::{
    ARGUMENT_BYTES, Attempt, Footer, Header, Line, Note, Numbered, RecordError, Recording, Summary,
};

/// How long what is written may wait for the disk, and what could not be written until it is tried again.
const PAUSE: Duration = Duration::from_secs(1);
/// How often the end of a record is tried.
const LAST_TRIES: u32 = 5;
/// The pause between these.
const LAST_PAUSE: Duration = Duration::from_millis(200);

/// Whether a note alone is worth a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Kept for the header in case that something is refused later.
    Remark,
    /// Something that the policy asks is not enforced: the record says so even when nothing is refused.
    NotEnforced,
}

/// Is told each line.
pub type Told = Box<dyn Fn(&Line) + Send>;

/// One run's record.
pub struct Journal {
    dir: PathBuf,
    header: Header,
    keep: Recording,
    state: State,
    summary: Summary,
    seq: u64,
    unrecorded: u64,
    told: Option<Told>,
}

enum State {
    /// Nothing has happened; there is no file.
    Clean,
    Begun(Box<Store>),
    /// Another guard keeps it.
    Elsewhere,
}

impl Journal {
    /// A record to be begun in `dir`, an absolute path, when something happens. `header.run` and `header.token` are given
    /// then, and older records go that `keep` does not name.
    #[must_use]
    pub fn new(dir: PathBuf, header: Header, keep: Recording) -> Self {
        Self {
            dir,
            header,
            state: State::Clean,
            summary: Summary::new(keep.listed),
            keep,
            seq: 0,
            unrecorded: 0,
            told: None,
        }
    }

    /// Tells `told` every line but the last, whether it can be written or not; some of a group more than once. Where another
    /// guard keeps the record there are none.
    pub fn tell(&mut self, told: Told) {
        self.told = Some(told);
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

    /// The run's id; none while there is nothing on disk.
    #[must_use]
    pub fn run(&self) -> Option<&str> {
        match &self.state {
            State::Begun(store) if store.is_there() => Some(&self.header.run),
            _ => None,
        }
    }

    /// Whether everything so far is in the file.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.unrecorded == 0
            && match &self.state {
                State::Begun(store) => !store.is_behind(),
                State::Clean | State::Elsewhere => true,
            }
    }

    /// What was tried so far, also where another guard keeps the record.
    #[must_use]
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Adds a refused call.
    ///
    /// # Errors
    /// When it cannot be written now. It waits then, and is tried again with everything that follows, and by
    /// [`Journal::catch_up`]; only where too much waits is its line lost, and counted.
    pub fn attempt(&mut self, attempt: &Attempt) -> Result<(), RecordError> {
        self.seq += 1;
        let place = self.summary.count(attempt);
        if place.listed {
            let mut attempt = attempt.clone();
            attempt.process = attempt.process.shortened(ARGUMENT_BYTES);
            let parents = attempt.parents.into_iter();
            attempt.parents = parents.map(|it| it.shortened(ARGUMENT_BYTES / 4)).collect();
            self.push(&Line::Attempt(Box::new(Numbered {
                seq: self.seq,
                group: place.group,
                attempt,
            })))?;
        }
        self.write(Over::No)
    }

    /// Adds something that guard said.
    ///
    /// # Errors
    /// As [`Journal::attempt`].
    pub fn note(&mut self, text: &str, weight: Weight) -> Result<(), RecordError> {
        if let State::Clean = self.state {
            match weight {
                Weight::Remark => {
                    self.header.notes.push(text.to_owned());
                    return Ok(());
                }
                Weight::NotEnforced => {
                    self.header.not_enforced.push(text.to_owned());
                    self.store()?;
                    return self.write(Over::No);
                }
            }
        }
        self.push(&Line::Note(Note {
            time: jiff::Timestamp::now(),
            text: text.to_owned(),
        }))?;
        self.write(Over::No)
    }

    /// Adds the last line, where there is a record at all, and brings everything to the disk.
    ///
    /// # Errors
    /// When that is not possible within a second.
    pub fn finish(&mut self, command: Option<i32>, exit: Option<i32>) -> Result<(), RecordError> {
        let groups = self.write(Over::Yes);
        let footer = self.footer(command, exit);
        let (State::Begun(store), Some(footer)) = (&mut self.state, footer) else {
            return Ok(());
        };
        store.push(&Line::Footer(footer), Need::Last)?;
        let mut written = groups.and_then(|()| store.flush());
        for _ in 0..LAST_TRIES {
            if !store.is_behind() {
                return store.sync();
            }
            std::thread::sleep(LAST_PAUSE);
            written = store.flush();
        }
        written
    }

    /// Writes what is known of all groups, before the end.
    ///
    /// # Errors
    /// As [`Journal::attempt`].
    pub fn close_groups(&mut self) -> Result<(), RecordError> {
        self.write(Over::Yes)
    }

    /// How the run ended, as far as that is known now; none where there is no record to say it.
    #[must_use]
    pub fn footer(&self, command: Option<i32>, exit: Option<i32>) -> Option<Footer> {
        matches!(self.state, State::Begun(_)).then(|| Footer {
            time: jiff::Timestamp::now(),
            command_status: command,
            exit_status: exit,
            attempts: self.summary.attempts(),
            by_operation: self.summary.by_operation(),
            by_rule: self.summary.by_rule(),
            unrecorded: self.unrecorded,
        })
    }

    /// When [`Journal::catch_up`] has something to do; none as long as nothing new happens.
    #[must_use]
    pub fn due(&self) -> Option<Duration> {
        let State::Begun(store) = &self.state else {
            return None;
        };
        let waits = store.is_behind() || store.is_unsynced() || self.summary.groups.has_news();
        waits.then_some(PAUSE)
    }

    /// Does what had to wait: lines about groups, what could not be written, the way to the disk.
    ///
    /// # Errors
    /// As [`Journal::attempt`].
    pub fn catch_up(&mut self) -> Result<(), RecordError> {
        self.write(Over::No)?;
        match &mut self.state {
            State::Begun(store) if store.is_unsynced() => store.sync(),
            _ => Ok(()),
        }
    }

    /// Adds a line to those that are to be written.
    fn push(&mut self, line: &Line) -> Result<(), RecordError> {
        if self.is_elsewhere() {
            return Ok(());
        }
        let pushed = self.store()?.push(line, Need::Ordinary);
        self.pass_on(line);
        if pushed.is_err() {
            self.unrecorded += 1;
        }
        pushed
    }

    /// Writes what there is to be written.
    fn write(&mut self, over: Over) -> Result<(), RecordError> {
        let State::Begun(store) = &mut self.state else {
            return Ok(());
        };
        let groups = &mut self.summary.groups;
        for group in groups.due(Instant::now(), over == Over::Yes) {
            let id = group.id;
            let line = Line::Group(Box::new(group));
            if let Some(told) = &self.told {
                told(&line);
            }
            if let Err(error) = store.push(&line, Need::Ordinary) {
                groups.unwritten(id);
                return Err(error);
            }
        }
        store.flush()
    }

    fn pass_on(&self, line: &Line) {
        if let Some(told) = &self.told {
            told(line);
        }
    }

    fn store(&mut self) -> Result<&mut Store, RecordError> {
        if let State::Clean = self.state {
            let store = Store::begin(&self.dir, &mut self.header, self.keep)?;
            self.state = State::Begun(Box::new(store));
            self.pass_on(&Line::Header(Box::new(self.header.clone())));
        }
        match &mut self.state {
            State::Begun(store) => Ok(store),
            State::Clean | State::Elsewhere => Err(RecordError::Full),
        }
    }
}

/// Whether the run is over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Over {
    Yes,
    No,
}

#[cfg(test)]
mod tests {
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
}
