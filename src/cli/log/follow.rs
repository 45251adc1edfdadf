//! What is tried, as it is tried.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::time::Duration;

use super::View;
use super::look::Part;
use super::one::outcome;
use crate::cli::Failure;
use crate::cli::report::wording;
use crate::record::{Line, RecordError, RunFile, list};

/// How long nothing is looked at. Records are appended to; asking for their length costs little.
const PAUSE: Duration = Duration::from_millis(200);

/// Records that are followed, with what of them has been read.
#[derive(Default)]
struct Reading(HashMap<PathBuf, u64>);

/// Follows one run to its end, from its beginning, or all runs from now on.
pub fn follow(
    view: &View,
    one: Option<&RunFile>,
    json: bool,
    out: &mut dyn Write,
) -> Result<i32, Failure> {
    let mut reading = Reading::default();
    if one.is_none() {
        for file in list(&view.dir)? {
            let length = std::fs::metadata(&file.path).map_or(0, |facts| facts.len());
            reading.0.insert(file.path, length);
        }
    }
    loop {
        let mut ended = false;
        let files = match one {
            Some(file) => vec![file.clone()],
            None => {
                let mut all = list(&view.dir)?;
                all.reverse();
                all
            }
        };
        for file in &files {
            for bytes in reading.news(file)? {
                let Ok(line) = serde_json::from_str::<Line>(&String::from_utf8_lossy(&bytes))
                else {
                    continue;
                };
                ended |= matches!(line, Line::Footer(_));
                if !passes(view, &line) {
                    continue;
                }
                if json {
                    out.write_all(&bytes)?;
                    writeln!(out)?;
                } else if let Some(text) = view.line(file, &line) {
                    writeln!(out, "{text}")?;
                }
            }
        }
        out.flush()?;
        if ended && one.is_some() {
            return Ok(0);
        }
        std::thread::sleep(PAUSE);
    }
}

impl Reading {
    /// The whole lines that a record has got since it was last looked at.
    fn news(&mut self, file: &RunFile) -> Result<Vec<Vec<u8>>, Failure> {
        let failed = |source| RecordError::Read {
            path: file.path.clone(),
            source,
        };
        let Ok(mut from) = File::open(&file.path) else {
            return Ok(Vec::new()); // pruned meanwhile
        };
        let at = self.0.entry(file.path.clone()).or_default();
        if from.metadata().map_err(failed)?.len() <= *at {
            return Ok(Vec::new());
        }
        from.seek(SeekFrom::Start(*at)).map_err(failed)?;
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).map_err(failed)?;
        let end = bytes
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(0, |at| at + 1);
        *at += end as u64;
        let lines = bytes[..end].split(|&byte| byte == b'\n');
        Ok(lines
            .filter(|line| !line.is_empty())
            .map(<[u8]>::to_vec)
            .collect())
    }
}

fn passes(view: &View, line: &Line) -> bool {
    match line {
        Line::Attempt(one) => view.filter.lets(&one.attempt),
        Line::Group(group) => view.filter.lets_group(group),
        Line::Header(_) | Line::Note(_) | Line::Footer(_) | Line::Unknown => view.filter.is_open(),
    }
}

impl View {
    /// A line of a record as a line for people; none for what they need not see.
    fn line(&self, file: &RunFile, line: &Line) -> Option<String> {
        let run = self.look.part(Part::Name, &file.run);
        let lead = |time| format!("{} {run}", self.local(time, "%H:%M:%S%.3f"));
        Some(match line {
            Line::Header(header) => format!(
                "{} begins: {}",
                lead(header.time),
                self.homes.command(&header.argv)
            ),
            Line::Attempt(one) => {
                let attempt = &one.attempt;
                let place = attempt.found.as_ref().or(attempt.asked.first());
                let place = place
                    .map(|path| self.homes.place(&path.shown()))
                    .unwrap_or_default();
                let what = format!(
                    "{} {place} ({})",
                    wording::operation(attempt.operation),
                    outcome(attempt)
                );
                format!(
                    "{} {} {}",
                    lead(attempt.time),
                    wording::process(&attempt.process, &self.homes),
                    self.look.part(Part::Refused, what)
                )
            }
            Line::Group(group) => format!(
                "{} {} {}",
                lead(group.latest),
                wording::process(&group.process, &self.homes),
                self.look
                    .part(Part::Refused, wording::group(group, &self.homes))
            ),
            Line::Note(note) => format!(
                "{} note: {}",
                lead(note.time),
                crate::cli::words::visible(&note.text)
            ),
            Line::Footer(footer) => format!(
                "{} ends: {}",
                lead(footer.time),
                crate::cli::words::counted(footer.attempts, "attempt")
            ),
            Line::Unknown => return None,
        })
    }
}
