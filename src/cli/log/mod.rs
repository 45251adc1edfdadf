//! `guard log`: the runs that tried something, what one of them tried, whether its record is as it was written.

mod check;
mod filter;
mod follow;
mod html;
mod json;
mod look;
mod one;
mod stats;
mod table;

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use jiff::tz::TimeZone;

use super::words::Homes;
use super::{Failure, surroundings};
use crate::record::{Operation, RunFile, Selection, Story, list, repair, select};

use filter::{Filter, FilterArgs};
use look::{Look, When};

/// What `guard log` is asked.
#[derive(Args, Debug)]
pub struct LogArgs {
    /// The id of a run, or the beginning of one; `last` for the newest
    run: Option<String>,
    /// Print JSON: the record as it is for one run, one object a run for all; with filters the lines that they let through
    #[arg(long)]
    json: bool,
    /// Go on printing what is tried, by all runs or this one, until interrupted or until the run ends
    #[arg(long, short, conflicts_with_all = ["verify", "stats"])]
    follow: bool,
    /// Check that records are as they were written; exits with 1 where one is not
    #[arg(long, conflicts_with_all = ["stats", "json"])]
    verify: bool,
    /// Count what was tried by program, operation, rule and day
    #[arg(long)]
    stats: bool,
    /// Write a page about one run, or the newest, to FILE (`-` for standard output): times, processes, folders and attempts, to be
    /// opened in a browser. It needs no network and no other file; only you may read it, as the record, unless FILE was there with
    /// another mode
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "follow", "verify", "stats"])]
    html: Option<PathBuf>,
    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: When,
    #[command(flatten)]
    filter: FilterArgs,
}

/// How, for whom, and from where records are shown.
struct View {
    dir: PathBuf,
    homes: Homes,
    zone: TimeZone,
    look: Look,
    filter: Filter,
}

/// Prints what is asked.
pub fn main(arguments: &LogArgs, out: &mut dyn Write) -> Result<i32, Failure> {
    let zone = TimeZone::system();
    let view = View {
        dir: surroundings::runs()
            .ok_or_else(|| Failure::Words("no home directory: set HOME".into()))?,
        homes: surroundings::homes(),
        filter: Filter::new(&arguments.filter, &zone)?,
        look: Look::new(arguments.color),
        zone,
    };
    let runs = list(&view.dir)?;
    let wanted = arguments.run.as_deref();
    let one = wanted
        .map(|wanted| view.one_of(&runs, wanted))
        .transpose()?;
    if arguments.follow {
        return follow::follow(&view, one, arguments.json, out);
    }
    if arguments.verify {
        let some = one.map_or(&runs[..], std::slice::from_ref);
        return check::check(&view, some, out);
    }
    if arguments.stats {
        let some = one.map_or(&runs[..], std::slice::from_ref);
        return stats::stats(&view, some, arguments.json, out);
    }
    if let Some(target) = &arguments.html {
        let file = one.or(runs.first()).ok_or_else(|| view.nothing())?;
        return html::write(view, file, target, out);
    }
    match (one, arguments.json) {
        (None, false) => table::print(&view, &runs, out),
        (None, true) => json::all(&view, &runs, out),
        (Some(file), true) => json::one(&view, file, out),
        (Some(file), false) => one::print(&view, file, out),
    }
}

impl View {
    /// The run that `wanted` means.
    fn one_of<'a>(&self, runs: &'a [RunFile], wanted: &str) -> Result<&'a RunFile, Failure> {
        if wanted == "last"
            && let Some(newest) = runs.first()
        {
            return Ok(newest);
        }
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

    /// There is no record.
    fn nothing(&self) -> Failure {
        let dir = self.homes.place(&self.dir.to_string_lossy());
        Failure::Words(format!(
            "nothing was refused so far: there is no record in {dir}"
        ))
    }

    /// Reads a run whose guard was killed only after its torn line is taken away, where that is possible.
    fn story(&self, file: &RunFile) -> Result<Story, Failure> {
        if let Err(error) = repair(&self.dir, file) {
            tracing::debug!(%error, "repair");
        }
        Ok(Story::read(&file.path)?)
    }

    fn local(&self, time: jiff::Timestamp, format: &str) -> String {
        time.to_zoned_datetime(self.zone.clone())
            .strftime(format)
            .to_string()
    }
}

/// An operation as a filter names it.
fn operations() -> impl Iterator<Item = (&'static str, Operation)> {
    [
        ("create", Operation::Create),
        ("write", Operation::Write),
        ("delete", Operation::Delete),
        ("rename", Operation::Rename),
        ("replace", Operation::Replace),
        ("link", Operation::Link),
        ("metadata", Operation::Metadata),
        ("forbidden", Operation::Forbidden),
    ]
    .into_iter()
}

#[cfg(test)]
mod tests;
