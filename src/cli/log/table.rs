//! All runs, a line each, the newest first. Only the ends of their records are read.

use std::io::Write;

use super::View;
use super::look::Part;
use crate::cli::Failure;
use crate::cli::words::{chain, visible};
use crate::record::{Footer, Outline, RunFile, Story, outline};

/// Prints the table.
pub fn print(view: &View, runs: &[RunFile], out: &mut dyn Write) -> Result<i32, Failure> {
    if runs.is_empty() {
        let dir = view.homes.place(&view.dir.to_string_lossy());
        writeln!(
            out,
            "Nothing was refused so far: there is no record in {dir}."
        )?;
        return Ok(0);
    }
    let heading = format!(
        "{:8}  {:19}  {:>8}  {:>11}  COMMAND",
        "RUN", "TIME", "ATTEMPTS", "STATUS"
    );
    writeln!(out, "{}", view.look.part(Part::Aside, heading))?;
    for file in runs {
        if view.concerns(file)? {
            writeln!(out, "{}", view.row(file))?;
        }
    }
    Ok(0)
}

impl View {
    /// Whether the filters let something of this run through.
    pub(super) fn concerns(&self, file: &RunFile) -> Result<bool, Failure> {
        if self.filter.is_open() {
            return Ok(true);
        }
        let mut events = Story::read(&file.path)?.events.into_iter();
        Ok(events.any(|event| self.filter.event(event).is_some()))
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
        let mut row = format!(
            "{}  {time:19}  {attempts:>8}  {status:>11}  {}",
            self.look.part(Part::Name, format!("{:8}", file.run)),
            self.look.fit(command, 54),
        );
        if !under.is_empty() {
            let under = self.look.fit(format!("under {under}"), 10);
            row.push_str(&format!(
                "\n          {}",
                self.look.part(Part::Aside, under)
            ));
        }
        row
    }
}

/// The rules that refused something.
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
    rules.join(", ")
}

/// `0`, or `0, here 123` when guard exited with another status than the command.
fn status(footer: &Footer) -> String {
    match (footer.command_status, footer.exit_status) {
        (Some(command), Some(exit)) if command != exit => format!("{command}, here {exit}"),
        (Some(command), _) => command.to_string(),
        (None, _) => "none".into(),
    }
}
