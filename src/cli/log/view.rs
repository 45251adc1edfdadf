//! Records as people read them.

use std::io::{self, Write};
use std::path::PathBuf;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::cli::Failure;
use crate::cli::report::wording;
use crate::cli::words::{Homes, chain, counted, visible};
use crate::record::{
    Answer, Attempt, Entry, Footer, Header, Line, Outline, RunFile, Scope, Selection, VERSION,
    entries, outline, select,
};

/// How and for whom records are shown.
pub struct View {
    /// Where they are.
    pub dir: PathBuf,
    /// What is shown as `~`.
    pub homes: Homes,
    /// The time zone of the reader.
    pub zone: TimeZone,
}

impl View {
    /// The run that `wanted` means.
    pub fn one_of<'a>(&self, runs: &'a [RunFile], wanted: &str) -> Result<&'a RunFile, Failure> {
        match select(runs, wanted) {
            Selection::One(file) => Ok(file),
            Selection::None => Err(Failure::Words(format!(
                "no run {wanted} in {}; `guard log` lists all",
                self.homes.place(&self.dir.to_string_lossy())
            ))),
            Selection::Several(files) => {
                let ids: Vec<_> = files.iter().map(|file| file.run.as_str()).collect();
                Err(Failure::Words(format!(
                    "{wanted} may be any of {}",
                    ids.join(", ")
                )))
            }
        }
    }

    /// Prints all runs.
    pub fn all(&self, runs: &[RunFile], out: &mut dyn Write) -> Result<(), Failure> {
        if runs.is_empty() {
            let dir = self.homes.place(&self.dir.to_string_lossy());
            writeln!(
                out,
                "Nothing was refused so far: there is no record in {dir}."
            )?;
            return Ok(());
        }
        writeln!(
            out,
            "{:8}  {:19}  {:>8}  {:>11}  COMMAND",
            "RUN", "TIME", "ATTEMPTS", "STATUS"
        )?;
        for file in runs {
            writeln!(out, "{}", self.row(file))?;
        }
        Ok(())
    }

    /// A run's line, and where it tried something.
    fn row(&self, file: &RunFile) -> String {
        let damaged = |why: String| (visible(&file.stamp), "?".into(), "?".into(), why);
        let mut under = String::new();
        let (time, attempts, status, command) = match outline(&file.path) {
            Ok(Outline {
                header: Some(header),
                footer,
                attempts,
            }) => {
                under = footer.as_ref().map(where_tried).unwrap_or_default();
                (
                    self.local(header.time, "%Y-%m-%d %H:%M:%S"),
                    attempts.to_string(),
                    footer.as_ref().map_or_else(|| "no end".into(), status),
                    self.homes.command(&header.argv),
                )
            }
            Ok(_) => damaged("(no header that this version knows)".into()),
            Err(error) => damaged(format!("({})", chain(&error))),
        };
        format!(
            "{:8}  {time:19}  {attempts:>8}  {status:>11}  {command}{under}",
            file.run
        )
    }

    /// Prints one run.
    pub fn one(&self, file: &RunFile, out: &mut dyn Write) -> Result<(), Failure> {
        let mut before = None;
        let mut ended = false;
        for entry in entries(&file.path)? {
            match entry? {
                Entry::Line(Line::Header(header)) if header.version == VERSION => {
                    self.header(&header, out)?
                }
                Entry::Line(Line::Header(header)) => {
                    let version = header.version;
                    return Err(Failure::Words(format!(
                        "run {} has a record of version {version}, and this guard knows version {VERSION}; --json prints it",
                        file.run
                    )));
                }
                Entry::Line(Line::Attempt(numbered)) => {
                    let attempt = &numbered.attempt;
                    let heading = self.heading(attempt);
                    if before.as_ref() != Some(&heading) {
                        write!(out, "\n{heading}")?;
                        before = Some(heading);
                    }
                    writeln!(out, "{}", self.attempt(numbered.seq, attempt))?;
                }
                Entry::Line(Line::Note(note)) => writeln!(out, "\nnote: {}", visible(&note.text))?,
                Entry::Line(Line::Footer(footer)) => {
                    ended = true;
                    writeln!(out, "\n{}", closing(&footer))?;
                }
                Entry::Line(Line::Unknown) => {
                    writeln!(out, "(a line that this version of guard does not know)")?
                }
                Entry::Damaged(number) => writeln!(
                    out,
                    "(line {number} is damaged; the rest is as it was written)"
                )?,
            }
        }
        if !ended {
            writeln!(
                out,
                "\nThe record has no end: the run goes on, or it was cut short."
            )?;
        }
        Ok(())
    }

    fn header(&self, header: &Header, out: &mut dyn Write) -> io::Result<()> {
        let time = self.local(header.time, "%Y-%m-%d %H:%M:%S %Z");
        writeln!(
            out,
            "run {}, {time}: {}",
            visible(&header.run),
            self.homes.command(&header.argv)
        )?;
        writeln!(
            out,
            "in {}, user {}, policy {}, kernel {}, guard {}{}",
            self.homes.place(&header.cwd),
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

    /// What consecutive attempts have in common.
    fn heading(&self, attempt: &Attempt) -> String {
        let mut text = format!("{}\n", wording::process(attempt, &self.homes));
        if !attempt.parents.is_empty() {
            let parents: Vec<_> = attempt
                .parents
                .iter()
                .map(|one| format!("{} ({})", visible(&one.name), one.pid))
                .collect();
            text.push_str(&format!("  started by {}\n", parents.join(", by ")));
        }
        match (&attempt.rule, Scope::of(attempt)) {
            (Some(rule), _) => text.push_str(&format!("  {}\n", wording::rule_and_place(rule))),
            (None, Scope::Every) => text.push_str("  refused under every policy\n"),
            (None, _) => text.push_str("  no rule; the policy's default\n"),
        }
        text
    }

    fn attempt(&self, seq: u64, attempt: &Attempt) -> String {
        let asked = attempt
            .asked
            .iter()
            .map(|path| self.homes.place(path))
            .collect::<Vec<_>>()
            .join(" -> ");
        let place = match attempt.found.as_ref().map(|path| self.homes.place(path)) {
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
            "{seq:>6}  {}  {:8}  {} {}  {place}{because}",
            self.local(attempt.time, "%H:%M:%S%.3f"),
            wording::operation(attempt.operation),
            visible(&attempt.syscall),
            outcome(attempt),
        )
    }

    fn local(&self, time: Timestamp, format: &str) -> String {
        time.to_zoned_datetime(self.zone.clone())
            .strftime(format)
            .to_string()
    }
}

/// The rules that refused something, on a line of its own.
fn where_tried(footer: &Footer) -> String {
    let rules: Vec<_> = footer
        .by_rule
        .iter()
        .map(|count| {
            let rule = count
                .rule
                .as_deref()
                .map_or_else(|| "no rule".into(), visible);
            if footer.by_rule.len() > 1 {
                format!("{rule} ({})", count.attempts)
            } else {
                rule
            }
        })
        .collect();
    match rules.as_slice() {
        [] => String::new(),
        rules => format!("\n          under {}", rules.join(", ")),
    }
}

/// What the program got.
fn outcome(attempt: &Attempt) -> String {
    match attempt.answer {
        Answer::Refused => visible(&attempt.errno),
        Answer::LeftToWall => "left to the wall".into(),
    }
}

/// `0`, or `0, here 123` when guard exited with another status than the command.
fn status(footer: &Footer) -> String {
    match (footer.command_status, footer.exit_status) {
        (Some(command), Some(exit)) if command != exit => format!("{command}, here {exit}"),
        (Some(command), _) => command.to_string(),
        (None, _) => "none".into(),
    }
}

fn closing(footer: &Footer) -> String {
    let mut text = format!("{} refused.", counted(footer.attempts, "attempt"));
    if footer.unrecorded > 0 {
        text.push_str(&format!(
            " {} of them could not be written here.",
            footer.unrecorded
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
