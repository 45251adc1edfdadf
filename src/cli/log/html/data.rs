//! What a page knows of its run: names and sentences as `guard log` shows them, numbers for the page's script.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::super::one::{self, Told};
use super::super::{View, operations};
use crate::cli::report::wording;
use crate::cli::words::visible;
use crate::record::{self, Header, Node, Numbered, Operation, RunFile, tree};

/// All of it. Text is harmless to read, and nothing is safe as HTML.
#[derive(Debug, Serialize)]
pub struct Data {
    /// The page's name.
    pub title: String,
    /// The command that guard started.
    pub command: String,
    /// How the run ended.
    pub end: String,
    run: String,
    facts: Vec<(&'static str, String)>,
    /// What is wrong with the record, and what this page leaves out.
    warnings: Vec<String>,
    /// What guard said.
    notes: Vec<String>,
    /// Seconds that the reader's clock is before UTC.
    offset: i32,
    /// How operations are called.
    operations: BTreeMap<Operation, &'static str>,
    /// Parents before their children.
    processes: Vec<Process>,
    events: Vec<Event>,
    attempts: Vec<Attempt>,
}

#[derive(Debug, Serialize)]
struct Process {
    /// Its place among the processes.
    parent: Option<usize>,
    pid: i32,
    name: String,
    command: String,
}

#[derive(Debug, Serialize)]
struct Event {
    /// The place among the processes of the one at the head of the group.
    process: usize,
    operation: Operation,
    sentence: String,
    law: String,
    /// Attempts that are only counted.
    rest: u64,
    /// Where they lie.
    within: Option<String>,
    /// The object of the last.
    last: Option<String>,
    /// Milliseconds since 1970, and the last as a clock shows it.
    begun: f64,
    latest: f64,
    clock: String,
}

#[derive(Debug, Serialize)]
struct Attempt {
    /// The place among the events.
    event: usize,
    seq: u64,
    /// Milliseconds since 1970, and as a clock shows it.
    time: f64,
    clock: String,
    syscall: String,
    outcome: String,
    /// The object.
    path: Option<String>,
    /// The paths that the program gave, where they say something else.
    asked: Option<String>,
    because: Option<String>,
    /// Who made it, the names of that process and its parents, and the places of those that the page knows; nothing of it
    /// where it is the process of the event.
    by: Option<String>,
    chain: Vec<String>,
    through: Vec<usize>,
}

impl Data {
    /// Of this run, of whose attempts so many are left out.
    pub fn new(view: &View, file: &RunFile, told: &Told, left_out: u64) -> Self {
        let story = &told.story;
        let header = story.header.as_ref();
        let command = header.map_or_else(
            || "a run without a header".into(),
            |header| view.homes.command(&header.argv),
        );
        let mut data = Self {
            title: format!("guard: run {}: {command}", visible(&file.run)),
            command,
            end: told.end(),
            run: visible(&file.run),
            facts: header.map_or_else(Vec::new, |header| facts(view, header, told)),
            warnings: warnings(view, file, told, left_out),
            notes: header
                .map(|header| header.notes.iter())
                .into_iter()
                .flatten()
                .chain(story.notes.iter().map(|note| &note.text))
                .map(|note| visible(note))
                .collect(),
            offset: view.offset(header.map_or(jiff::Timestamp::UNIX_EPOCH, |header| header.time)),
            operations: named(told),
            processes: Vec::new(),
            events: Vec::new(),
            attempts: Vec::new(),
        };
        let events: Vec<&record::Event> = told.events.iter().collect();
        let mut places = Places::new();
        for root in tree(&events) {
            data.add(view, &root, None, &mut places);
        }
        for event in events {
            let place = places.get(&identity(&event.group.process)).copied();
            data.tell(view, event, place.unwrap_or(0), &places);
        }
        data.attempts.sort_by_key(|attempt| attempt.seq);
        data
    }

    /// A process and what it started.
    fn add(&mut self, view: &View, node: &Node<'_>, parent: Option<usize>, places: &mut Places) {
        let place = self.processes.len();
        places.insert(identity(node.process), place);
        self.processes.push(Process {
            parent,
            pid: node.process.pid,
            name: wording::name(node.process),
            command: view.command(node.process),
        });
        for child in &node.children {
            self.add(view, child, Some(place), places);
        }
    }

    /// An event of the process in this place, and its attempts.
    fn tell(&mut self, view: &View, event: &record::Event, process: usize, places: &Places) {
        let number = self.events.len();
        self.events.push(view.event_of(event, process));
        for one in &event.attempts {
            let attempt = view.attempt_of(one, event, number, places);
            self.attempts.push(attempt);
        }
    }
}

/// Where each process is among those of the page.
type Places = HashMap<(i32, u64), usize>;

/// A process, told apart from later ones of the same number.
fn identity(process: &record::Process) -> (i32, u64) {
    (process.pid, process.started)
}

/// What the head of the page tells besides the command.
fn facts(view: &View, header: &Header, told: &Told) -> Vec<(&'static str, String)> {
    const CLOCK: &str = "%Y-%m-%d %H:%M:%S %Z";
    let mut facts = vec![("began", view.local(header.time, CLOCK))];
    if let Some(footer) = &told.story.footer {
        let took = footer.time.duration_since(header.time).as_secs_f64();
        let time = view.local(footer.time, CLOCK);
        facts.push(("ended", format!("{time}, after {took:.1} s")));
    }
    let user = header.user.as_deref();
    let user = user.map_or_else(|| header.uid.to_string(), visible);
    let effort = if header.effort == "strict" {
        String::new()
    } else {
        format!(", {}", visible(&header.effort))
    };
    facts.extend([
        ("in", view.homes.place(&header.cwd.shown())),
        ("user", user),
        ("policy", view.homes.place(&header.policy)),
        ("kernel", visible(&header.kernel)),
        ("guard", format!("{}{effort}", visible(&header.guard))),
    ]);
    facts
}

fn warnings(view: &View, file: &RunFile, told: &Told, left_out: u64) -> Vec<String> {
    let mut warnings = told.damage(&file.run);
    if let Some(header) = &told.story.header {
        let missing = header.not_enforced.iter();
        warnings.extend(missing.map(|what| format!("Not enforced: {}", visible(what))));
    }
    if !view.filter.is_open() {
        warnings.push("Only what the filters of the command line let through is here; what is only counted is not.".into());
    }
    if left_out > 0 {
        warnings.push(format!(
            "{left_out} attempts that the record lists are too many for a page; `guard log {} --json` prints all.",
            file.run
        ));
    }
    warnings
}

/// The names of the operations that occur.
fn named(told: &Told) -> BTreeMap<Operation, &'static str> {
    let occurs = |operation| {
        let mut events = told.events.iter();
        events.any(|event| event.group.operation == operation)
    };
    operations()
        .map(|(_, operation)| operation)
        .filter(|operation| occurs(*operation))
        .map(|operation| (operation, wording::operation(operation)))
        .collect()
}

impl View {
    fn offset(&self, time: jiff::Timestamp) -> i32 {
        self.zone.to_offset(time).seconds()
    }

    fn event_of(&self, event: &record::Event, process: usize) -> Event {
        let group = &event.group;
        let listed = event.attempts.len() as u64;
        let whole =
            |path: &Option<record::Text>| path.as_ref().map(|path| self.homes.whole(&path.shown()));
        Event {
            process,
            operation: group.operation,
            sentence: wording::group(group, &self.homes),
            law: wording::law_of(group),
            rest: if self.filter.is_open() {
                group.attempts.saturating_sub(listed)
            } else {
                0
            },
            within: whole(&group.within),
            last: whole(&group.last),
            begun: milliseconds(group.begun),
            latest: milliseconds(group.latest),
            clock: self.local(group.latest, one::CLOCK),
        }
    }

    fn attempt_of(
        &self,
        one: &Numbered,
        event: &record::Event,
        number: usize,
        places: &Places,
    ) -> Attempt {
        let attempt = &one.attempt;
        let found = attempt.found.as_ref();
        let shown = found.map(|path| self.homes.place(&path.shown()));
        let asked = self.asked(attempt);
        let by = one::other(attempt, &event.group);
        // From the process itself up to the command; empty where the event tells it.
        let chain = || {
            let chain = std::iter::once(&attempt.process).chain(&attempt.parents);
            chain.filter(|_| by.is_some())
        };
        Attempt {
            event: number,
            seq: one.seq,
            time: milliseconds(attempt.time),
            clock: self.local(attempt.time, one::CLOCK),
            syscall: visible(&attempt.syscall),
            outcome: one::outcome(attempt),
            asked: (!asked.is_empty() && shown.as_ref() != Some(&asked)).then_some(asked),
            path: found.map(|path| self.homes.whole(&path.shown())),
            because: attempt.because.as_deref().map(visible),
            chain: chain().map(wording::name).collect(),
            through: chain()
                .filter_map(|process| places.get(&identity(process)).copied())
                .collect(),
            by,
        }
    }
}

/// As a script counts time.
#[allow(
    clippy::cast_precision_loss,
    reason = "a microsecond is kept for some thousand years"
)]
fn milliseconds(time: jiff::Timestamp) -> f64 {
    time.as_microsecond() as f64 / 1000.0
}
