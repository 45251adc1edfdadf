//! One run: the processes that tried something, each below its parent, and what each of them tried.

use std::io::{self, Write};

use super::View;
use super::look::Part;
use crate::cli::Failure;
use crate::cli::report::wording;
use crate::cli::words::{counted, visible};
use crate::record::{
    Answer, Attempt, Event, Footer, Group, Header, Node, Process, RunFile, Story, VERSION, tree,
};

/// The time of an attempt.
pub const CLOCK: &str = "%H:%M:%S%.3f";

/// A run's record, and what of it is shown.
pub struct Told {
    /// All of it but its events.
    pub story: Story,
    /// The events that the filters let through.
    pub events: Vec<Event>,
}

/// Prints the run; 1 where its record is damaged.
pub fn print(view: &View, file: &RunFile, out: &mut dyn Write) -> Result<i32, Failure> {
    let told = read(view, file)?;
    write(view, file, &told, out)?;
    Ok(told.status())
}

/// Reads a record for people.
pub fn read(view: &View, file: &RunFile) -> Result<Told, Failure> {
    let mut story = view.story(file)?;
    if let Some(version) = story.other_version {
        return Err(Failure::Words(format!(
            "run {} has a record of version {version}, and this guard knows version {VERSION}; --json prints it",
            file.run
        )));
    }
    let events = std::mem::take(&mut story.events)
        .into_iter()
        .filter_map(|event| view.filter.event(event))
        .collect();
    Ok(Told { story, events })
}

impl Told {
    /// The exit status of whoever shows it.
    pub fn status(&self) -> i32 {
        i32::from(!self.story.damaged.is_empty())
    }

    /// How the run ended.
    pub fn end(&self) -> String {
        match &self.story.footer {
            Some(footer) => closing(footer),
            None => "The record has no end: the run goes on, or it was cut short.".into(),
        }
    }

    /// What is wrong with the record.
    pub fn damage(&self, run: &str) -> Vec<String> {
        let torn = self.story.torn.iter();
        let torn = torn.map(|line| format!("Line {line} was not written to its end."));
        let damaged = self.story.damaged.iter().map(|line| {
            format!(
                "Line {line} of the record is damaged; what is shown comes from the other lines. See `guard log --verify {run}`."
            )
        });
        torn.chain(damaged).collect()
    }
}

/// The run as text.
pub fn write(view: &View, file: &RunFile, told: &Told, out: &mut dyn Write) -> io::Result<()> {
    if let Some(header) = &told.story.header {
        view.header(header, out)?;
    }
    for note in &told.story.notes {
        writeln!(out, "note: {}", visible(&note.text))?;
    }
    let shown: Vec<&Event> = told.events.iter().collect();
    for root in tree(&shown) {
        writeln!(out)?;
        view.node(&root, "", "", out)?;
    }
    if told.events.is_empty() && !view.filter.is_open() {
        writeln!(out, "\nThe filters let nothing of this run through.")?;
    }
    writeln!(out, "\n{}", told.end())?;
    for line in told.damage(&file.run) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

impl View {
    fn header(&self, header: &Header, out: &mut dyn Write) -> io::Result<()> {
        let time = self.local(header.time, "%Y-%m-%d %H:%M:%S %Z");
        writeln!(
            out,
            "run {}, {time}: {}",
            self.look.part(Part::Name, visible(&header.run)),
            self.homes.command(&header.argv)
        )?;
        writeln!(
            out,
            "in {}, user {}, policy {}, kernel {}, guard {}{}",
            self.homes.place(&header.cwd.shown()),
            header
                .user
                .as_deref()
                .map_or_else(|| header.uid.to_string(), visible),
            visible(&header.policy),
            visible(&header.kernel),
            visible(&header.guard),
            if header.effort == "strict" {
                String::new()
            } else {
                format!(", {}", visible(&header.effort))
            },
        )?;
        for missing in &header.not_enforced {
            writeln!(out, "not enforced: {}", visible(missing))?;
        }
        for note in &header.notes {
            writeln!(out, "note: {}", visible(note))?;
        }
        Ok(())
    }

    /// A process's command line; its name where that is not known.
    pub(super) fn command(&self, process: &Process) -> String {
        if process.arguments.is_empty() {
            wording::name(process)
        } else {
            self.homes.command(&process.arguments)
        }
    }

    /// A process, what it tried, and what it started. `here` leads its own line, `below` the lines under it.
    fn node(
        &self,
        node: &Node<'_>,
        here: &str,
        below: &str,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let process = node.process;
        let command = self.command(process);
        let command = self.look.fit(command, here.chars().count() + 14);
        writeln!(
            out,
            "{here}{} (pid {})",
            self.look.part(Part::Name, command),
            process.pid
        )?;
        let bar = if node.children.is_empty() {
            "   "
        } else {
            "│  "
        };
        for event in &node.events {
            self.event(event, &format!("{below}{bar}"), out)?;
        }
        for (index, child) in node.children.iter().enumerate() {
            let (branch, under) = if index + 1 == node.children.len() {
                ("└─ ", "   ")
            } else {
                ("├─ ", "│  ")
            };
            self.node(
                child,
                &format!("{below}{branch}"),
                &format!("{below}{under}"),
                out,
            )?;
        }
        Ok(())
    }

    fn event(&self, event: &Event, lead: &str, out: &mut dyn Write) -> io::Result<()> {
        let group = &event.group;
        writeln!(
            out,
            "{lead}{}",
            self.look
                .part(Part::Refused, wording::group(group, &self.homes))
        )?;
        let law = wording::law_of(group);
        writeln!(out, "{lead}  {law}")?;
        for one in &event.attempts {
            let who = other(&one.attempt, group)
                .map(|who| format!(" by {who}"))
                .unwrap_or_default();
            let line = format!("{:>6}  {}{who}", one.seq, self.attempt(&one.attempt));
            let line = self.look.fit(line, lead.chars().count() + 2);
            writeln!(out, "{lead}  {line}")?;
        }
        let listed = event.attempts.len() as u64;
        if self.filter.is_open() && group.attempts > listed {
            let last = group
                .last
                .as_ref()
                .map(|last| {
                    format!(
                        ", the last at {} on {}",
                        self.local(group.latest, CLOCK),
                        self.homes.place(&last.shown())
                    )
                })
                .unwrap_or_default();
            let rest = format!("        … and {} more{last}", group.attempts - listed);
            writeln!(out, "{lead}  {}", self.look.part(Part::Aside, rest))?;
        }
        Ok(())
    }

    /// The paths as the program gave them.
    pub(super) fn asked(&self, attempt: &Attempt) -> String {
        let paths = attempt.asked.iter();
        let shown: Vec<_> = paths.map(|path| self.homes.place(&path.shown())).collect();
        shown.join(" -> ")
    }

    fn attempt(&self, attempt: &Attempt) -> String {
        let asked = self.asked(attempt);
        let found = attempt.found.as_ref();
        let place = match found.map(|path| self.homes.place(&path.shown())) {
            Some(found) if asked.is_empty() || found == asked => found,
            Some(found) => format!("{found} (as {asked})"),
            None => asked,
        };
        let because = attempt
            .because
            .as_ref()
            .map(|why| format!(": {}", visible(why)))
            .unwrap_or_default();
        format!(
            "{}  {} {}  {place}{because}",
            self.local(attempt.time, CLOCK),
            visible(&attempt.syscall),
            outcome(attempt),
        )
    }
}

/// `rm (4313)`, where somebody else made the attempt than the process at the head of its group.
pub fn other(attempt: &Attempt, group: &Group) -> Option<String> {
    let process = &attempt.process;
    (process.pid != group.process.pid)
        .then(|| format!("{} ({})", wording::name(process), process.pid))
}

/// What the program got.
pub fn outcome(attempt: &Attempt) -> String {
    match attempt.answer {
        Answer::Refused => visible(&attempt.errno),
        Answer::LeftToWall => "left to the wall".into(),
    }
}

fn closing(footer: &Footer) -> String {
    let mut text = format!("{} refused.", counted(footer.attempts, "attempt"));
    if footer.unrecorded > 0 {
        text.push_str(&format!(
            " {} could not be written here.",
            counted(footer.unrecorded, "line")
        ));
    }
    match (footer.command_status, footer.exit_status) {
        (Some(command), Some(exit)) if command != exit => {
            text.push_str(&format!(
                " The command ended with {command}, guard with {exit}."
            ));
        }
        (Some(command), _) => text.push_str(&format!(" The command ended with {command}.")),
        (None, _) => text.push_str(" The command's end was not seen."),
    }
    text
}
