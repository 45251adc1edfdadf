//! What a run tried, for continuous integration: files that its server reads, words that GitHub shows at a step.

mod github;
mod junit;
mod sarif;

use std::io;
use std::path::{Path, PathBuf};

use crate::cli::report::wording;
use crate::cli::words::Homes;
use crate::record::{Answer, Group, Summary};

pub use github::Github;

/// A report to be written when the command has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// What it looks like.
    pub format: Format,
    /// Where it goes.
    pub path: PathBuf,
}

/// What a report looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JUnit's XML: a failed test case for each group of attempts.
    Junit,
    /// SARIF 2.1.0 (OASIS): a result for each group of attempts.
    Sarif,
}

/// What a run came to.
pub struct Outcome<'a> {
    /// What was tried.
    pub summary: &'a Summary,
    /// What is shown as `~`.
    pub homes: &'a Homes,
    /// The command, for people.
    pub command: &'a str,
    /// The directory in which it was started.
    pub cwd: &'a Path,
    /// The command's own exit status.
    pub status: i32,
    /// The run's id, where there is a record.
    pub run: Option<&'a str>,
}

impl Outcome<'_> {
    fn groups(&self) -> impl Iterator<Item = &Group> {
        let refused = |group: &&Group| group.answer == Answer::Refused;
        self.summary.groups().filter(refused)
    }

    /// `node tried to remove 12 entries (12 files) under ~/.pi/agent: a recursive delete`.
    fn sentence(&self, group: &Group) -> String {
        format!(
            "{} {}",
            wording::name(&group.process),
            wording::group(group, self.homes)
        )
    }

    /// Who, why and where, for whoever wants to know more.
    fn details(&self, group: &Group) -> String {
        let mut text = format!("{}\n", wording::law_of(group));
        for process in std::iter::once(&group.process).chain(&group.parents) {
            text.push_str(&format!("by {}\n", wording::process(process, self.homes)));
        }
        for (what, path) in [("first", &group.first), ("last", &group.last)] {
            if let Some(path) = path {
                text.push_str(&format!("{what}: {}\n", self.homes.place(&path.shown())));
            }
        }
        if let Some(run) = self.run {
            text.push_str(&format!("details: guard log {run}\n"));
        }
        text
    }
}

/// Reads `junit=FILE` or `sarif=FILE`.
///
/// # Errors
/// What is wrong with it, in words.
pub fn parse(text: &str) -> Result<Report, String> {
    let (format, path) = text
        .split_once('=')
        .ok_or("write junit=FILE or sarif=FILE")?;
    let format = match format {
        "junit" => Format::Junit,
        "sarif" => Format::Sarif,
        other => return Err(format!("{other} is neither junit nor sarif")),
    };
    if path.is_empty() {
        return Err("the file is missing".into());
    }
    Ok(Report {
        format,
        path: path.into(),
    })
}

impl Report {
    /// Makes sure that the file can be written, before the command starts; it holds nothing then.
    ///
    /// # Errors
    /// As open(2).
    pub fn prepare(&mut self) -> io::Result<()> {
        self.path = std::path::absolute(&self.path)?;
        std::fs::write(&self.path, "")
    }

    /// Writes it.
    ///
    /// # Errors
    /// As write(2).
    pub fn write(&self, outcome: &Outcome<'_>) -> io::Result<()> {
        let text = match self.format {
            Format::Junit => junit::report(outcome).map_err(io::Error::other)?,
            Format::Sarif => sarif::report(outcome),
        };
        std::fs::write(&self.path, text)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::record::{Attempt, Operation, samples};

    pub(crate) fn attempts() -> Vec<Attempt> {
        let mut all: Vec<Attempt> = (0..3)
            .map(|n| {
                let path = format!("/home/u/.pi/agent/{n}%<&>\"é\u{1b}");
                samples::attempt(4312, Operation::Delete, &path)
            })
            .collect();
        all.push(samples::attempt(
            1,
            Operation::Write,
            "/home/u/proj/kept file",
        ));
        all
    }

    /// What `print` makes of these attempts.
    pub(crate) fn printed<T>(attempts: &[Attempt], print: impl FnOnce(&Outcome<'_>) -> T) -> T {
        let mut summary = Summary::new(8);
        for attempt in attempts {
            summary.count(attempt);
        }
        print(&Outcome {
            summary: &summary,
            homes: &Homes::new(Path::new("/home/u")),
            command: "npm test",
            cwd: Path::new("/home/u/proj"),
            status: 0,
            run: Some("7f3a"),
        })
    }

    #[test]
    fn a_report_is_a_format_and_a_file() {
        let report = parse("junit=out/a=b.xml").unwrap();
        assert_eq!(
            (report.format, report.path),
            (Format::Junit, "out/a=b.xml".into())
        );
        for text in ["junit", "html=x", "sarif="] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
