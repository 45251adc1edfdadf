//! `guard log`: the runs that tried something, and what one of them tried.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::report::wording;
use super::words::{Homes, counted, visible};
use super::{Failure, surroundings};
use crate::record::{
    Attempt, Entry, Footer, Header, Line, Outline, RunFile, Selection, VERSION, entries, list,
    outline, select,
};

/// What `guard log` is asked.
#[derive(Args, Debug)]
pub struct LogArgs {
    /// The id of a run, or the beginning of one
    run: Option<String>,
    /// Print JSON: the record as it is for one run, one object a run for all
    #[arg(long)]
    json: bool,
}

/// Prints all runs, or one.
pub fn main(arguments: &LogArgs, out: &mut dyn Write) -> Result<i32, Failure> {
    let view = View {
        dir: surroundings::runs()
            .ok_or_else(|| Failure::Words("no home directory: set HOME".into()))?,
        homes: surroundings::home()
            .map(|home| Homes::new(&home))
            .unwrap_or_default(),
        zone: TimeZone::system(),
    };
    let runs = list(&view.dir)?;
    match (&arguments.run, arguments.json) {
        (None, false) => view.all(&runs, out),
        (None, true) => all_json(&runs, out),
        (Some(wanted), json) => {
            let file = view.one_of(&runs, wanted)?;
            if json {
                raw(file, out)
            } else {
                view.one(file, out)
            }
        }
    }?;
    Ok(0)
}

struct View {
    dir: PathBuf,
    homes: Homes,
    zone: TimeZone,
}

impl View {
    fn one_of<'a>(&self, runs: &'a [RunFile], wanted: &str) -> Result<&'a RunFile, Failure> {
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

    fn all(&self, runs: &[RunFile], out: &mut dyn Write) -> Result<(), Failure> {
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

    fn row(&self, file: &RunFile) -> String {
        let (time, attempts, status, command) = match outline(&file.path) {
            Ok(Outline {
                header: Some(header),
                footer,
                attempts,
            }) => (
                self.local(header.time, "%Y-%m-%d %H:%M:%S"),
                attempts.to_string(),
                footer.as_ref().map_or_else(|| "no end".into(), status),
                self.homes.command(&header.argv),
            ),
            Ok(_) => (
                visible(&file.stamp),
                "?".into(),
                "?".into(),
                "(no header that this version knows)".into(),
            ),
            Err(error) => (
                visible(&file.stamp),
                "?".into(),
                "?".into(),
                format!("({})", super::chain(&error)),
            ),
        };
        format!(
            "{:8}  {time:19}  {attempts:>8}  {status:>11}  {command}",
            file.run
        )
    }

    fn one(&self, file: &RunFile, out: &mut dyn Write) -> Result<(), Failure> {
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
        match &attempt.rule {
            Some(rule) => text.push_str(&format!(
                "  rule {} = \"{}\" (policy {}; {})\n",
                visible(&rule.path),
                wording::level(rule.level),
                visible(&rule.policy),
                wording::origin(&rule.origin),
            )),
            None => text.push_str("  refused under every policy\n"),
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
            visible(&attempt.errno),
        )
    }

    fn local(&self, time: Timestamp, format: &str) -> String {
        time.to_zoned_datetime(self.zone.clone())
            .strftime(format)
            .to_string()
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

/// The record as it is.
fn raw(file: &RunFile, out: &mut dyn Write) -> Result<(), Failure> {
    let path = &file.path;
    let failed = |source| crate::record::RecordError::Read {
        path: path.clone(),
        source,
    };
    let mut from = io::BufReader::new(File::open(path).map_err(failed)?);
    loop {
        let bytes = io::BufRead::fill_buf(&mut from).map_err(failed)?;
        if bytes.is_empty() {
            return Ok(());
        }
        out.write_all(bytes)?;
        let count = bytes.len();
        io::BufRead::consume(&mut from, count);
    }
}

fn all_json(runs: &[RunFile], out: &mut dyn Write) -> Result<(), Failure> {
    for file in runs {
        let outline = outline(&file.path)?;
        let object = serde_json::json!({
            "run": file.run,
            "file": file.path.to_string_lossy(),
            "attempts": outline.attempts,
            "header": outline.header,
            "footer": outline.footer,
        });
        writeln!(out, "{object}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::record::{Journal, Operation, Summary, samples};

    fn recorded() -> (tempfile::TempDir, View) {
        let top = tempfile::tempdir().unwrap();
        let mut journal = Journal::new(top.path().to_owned(), samples::header());
        let mut summary = Summary::default();
        for (path, asked) in [
            ("/home/u/.pi/agent/auth.json", "auth.json"),
            ("/home/u/.pi/agent/b", "/home/u/.pi/agent/b"),
        ] {
            let mut attempt = samples::attempt(4312, Operation::Delete, path);
            attempt.asked = vec![asked.into()];
            journal.attempt(&attempt).unwrap();
            summary.count(&attempt);
        }
        journal.finish(&summary, Some(0), Some(123)).unwrap();
        let homes = Homes::new(Path::new("/home/u"));
        let view = View {
            dir: top.path().to_owned(),
            homes,
            zone: TimeZone::UTC,
        };
        (top, view)
    }

    fn shown(print: impl FnOnce(&mut dyn Write) -> Result<(), Failure>) -> String {
        let mut out = Vec::new();
        print(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn all_runs_in_a_table() {
        let (_top, view) = recorded();
        let runs = list(&view.dir).unwrap();
        assert_eq!(
            shown(|out| view.all(&runs, out)),
            format!(
                "RUN       TIME                 ATTEMPTS       STATUS  COMMAND\n\
                 {:8}  1970-01-01 00:00:00         2  0, here 123  npm test\n",
                runs[0].run
            )
        );
        assert!(shown(|out| view.all(&[], out)).starts_with("Nothing was refused so far"));
    }

    #[test]
    fn one_run_groups_what_one_process_tried() {
        let (_top, view) = recorded();
        let runs = list(&view.dir).unwrap();
        let text = shown(|out| view.one(&runs[0], out));
        let (_, body) = text.split_once("kernel 6.18.0, guard 0.1.0\n").unwrap();
        assert_eq!(
            body,
            "\nnode (pid 4312, `node --test create.test.js`)\n  started by npm (7)\n  \
             rule ~/.pi/agent = \"read-only\" (policy pi; policy pi:4:1)\n     \
             1  00:00:00.000  delete    unlinkat EACCES  ~/.pi/agent/auth.json (as auth.json)\n     \
             2  00:00:00.000  delete    unlinkat EACCES  ~/.pi/agent/b\n\n\
             2 attempts refused. The command ended with 0, guard with 123.\n"
        );
    }

    #[test]
    fn a_record_without_an_end_says_so_and_json_is_the_file() {
        let (_top, view) = recorded();
        let runs = list(&view.dir).unwrap();
        let bytes = std::fs::read(&runs[0].path).unwrap();
        std::fs::write(&runs[0].path, &bytes[..bytes.len() - 5]).unwrap();
        let text = shown(|out| view.one(&runs[0], out));
        assert!(text.contains("(line 4 is damaged"), "{text}");
        assert!(
            text.ends_with("The record has no end: the run goes on, or it was cut short.\n"),
            "{text}"
        );
        assert_eq!(
            shown(|out| raw(&runs[0], out)).as_bytes(),
            &bytes[..bytes.len() - 5]
        );
        let all: serde_json::Value =
            serde_json::from_str(&shown(|out| all_json(&runs, out))).unwrap();
        assert_eq!(
            (&all["attempts"], &all["footer"]),
            (&2.into(), &serde_json::Value::Null)
        );
    }

    #[test]
    fn a_run_is_found_by_the_beginning_of_its_id() {
        let (_top, view) = recorded();
        let runs = list(&view.dir).unwrap();
        assert_eq!(view.one_of(&runs, &runs[0].run[..2]).unwrap(), &runs[0]);
        assert!(
            view.one_of(&runs, "xyz")
                .unwrap_err()
                .to_string()
                .starts_with("no run xyz in ")
        );
    }
}
