//! Records for machines.

use std::fs::File;
use std::io::{self, Write};

use super::View;
use crate::cli::Failure;
use crate::record::{Entry, Line, RecordError, RunFile, entries, outline};

/// One object a run, the newest first.
pub fn all(view: &View, runs: &[RunFile], out: &mut dyn Write) -> Result<i32, Failure> {
    for file in runs {
        if !view.concerns(file)? {
            continue;
        }
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
    Ok(0)
}

/// The record as it is, or what of it the filters let through.
pub fn one(view: &View, file: &RunFile, out: &mut dyn Write) -> Result<i32, Failure> {
    let filter = &view.filter;
    if filter.is_open() {
        return raw(file, out);
    }
    for entry in entries(&file.path)? {
        let Entry::Line(line) = entry? else { continue };
        let passes = match &line {
            Line::Attempt(one) => filter.lets(&one.attempt),
            Line::Group(group) => filter.lets_group(group),
            Line::Header(_) | Line::Note(_) | Line::Footer(_) | Line::Unknown => false,
        };
        if passes {
            serde_json::to_writer(&mut *out, &line).map_err(RecordError::Encode)?;
            writeln!(out)?;
        }
    }
    Ok(0)
}

fn raw(file: &RunFile, out: &mut dyn Write) -> Result<i32, Failure> {
    let path = &file.path;
    let failed = |source| RecordError::Read {
        path: path.clone(),
        source,
    };
    let mut from = io::BufReader::new(File::open(path).map_err(failed)?);
    loop {
        let bytes = io::BufRead::fill_buf(&mut from).map_err(failed)?;
        if bytes.is_empty() {
            return Ok(0);
        }
        out.write_all(bytes)?;
        let count = bytes.len();
        io::BufRead::consume(&mut from, count);
    }
}
