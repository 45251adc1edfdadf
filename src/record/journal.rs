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
    /// A record to be begun in `dir`, an absolute path, when something happens. `header.run` is given
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
mod tests;
