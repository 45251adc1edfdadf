//! What a run tried, for continuous integration: files that its server reads, words that GitHub shows at a step.

mod github;
mod junit;
mod sarif;

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
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
    /// As [`OwnFile::open`].
    pub fn prepare(self, may_change: &dyn Fn(&Path) -> bool) -> io::Result<Prepared> {
        let file = OwnFile::open(&self.path, may_change)?;
        file.file.set_len(0)?;
        Ok(Prepared {
            format: self.format,
            file,
        })
    }
}

/// A report whose file is held.
pub struct Prepared {
    format: Format,
    file: OwnFile,
}

impl Prepared {
    /// Where it goes, for people.
    pub fn path(&self) -> &Path {
        &self.file.path
    }

    /// Writes it.
    ///
    /// # Errors
    /// As [`OwnFile::add`].
    pub fn write(&self, outcome: &Outcome<'_>) -> io::Result<()> {
        let text = match self.format {
            Format::Junit => junit::report(outcome).map_err(io::Error::other)?,
            Format::Sarif => sarif::report(outcome),
        };
        self.file.file.set_len(0)?;
        self.file.add(&text)
    }
}

/// A file that guard writes for programs that may not write everywhere. It is held from before the command starts, so that
/// no link laid meanwhile leads guard to what is protected.
#[derive(Debug)]
struct OwnFile {
    path: PathBuf,
    file: File,
}

impl OwnFile {
    /// Opens it, or makes it, where the policy lets things change.
    ///
    /// # Errors
    /// As open(2); when it is a link or has a second name, and where the policy protects it.
    fn open(path: &Path, may_change: &dyn Fn(&Path) -> bool) -> io::Result<Self> {
        let absolute = std::path::absolute(path)?;
        let (Some(parent), Some(name)) = (absolute.parent(), absolute.file_name()) else {
            return Err(io::ErrorKind::IsADirectory.into());
        };
        let path = parent.canonicalize()?.join(name);
        if !may_change(&path) {
            return Err(io::Error::other("the policy protects it"));
        }
        let is_plain = |facts: &Metadata| facts.is_file() && facts.nlink() == 1;
        let odd = || io::Error::other("it is a link, or no ordinary file with one name");
        if fs::symlink_metadata(&path).is_ok_and(|facts| !is_plain(&facts)) {
            return Err(odd());
        }
        let file = OpenOptions::new().append(true).create(true).open(&path)?;
        let own = Self { path, file };
        if own.is_there()? && is_plain(&own.file.metadata()?) {
            Ok(own)
        } else {
            Err(odd())
        }
    }

    /// Whether its path still leads to it.
    fn is_there(&self) -> io::Result<bool> {
        let (ours, there) = (self.file.metadata()?, fs::symlink_metadata(&self.path));
        Ok(there.is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino())))
    }

    /// Adds text at its end.
    ///
    /// # Errors
    /// As write(2); when another file, or none, is at its place by now.
    fn add(&self, text: &str) -> io::Result<()> {
        if !self.is_there()? {
            return Err(io::Error::other("it was removed or replaced meanwhile"));
        }
        (&self.file).write_all(text.as_bytes())
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
    fn what_guard_writes_is_never_led_elsewhere() {
        let top = tempfile::tempdir().unwrap();
        let at = |name: &str| top.path().join(name);
        let anything = |_: &Path| true;
        fs::write(at("kept"), "kept").unwrap();
        fs::write(at("second"), "").unwrap();
        fs::hard_link(at("second"), at("name")).unwrap();
        std::os::unix::fs::symlink("kept", at("link")).unwrap();
        std::os::unix::fs::symlink("nothing", at("dangling")).unwrap();
        for name in ["link", "dangling", "name", "."] {
            assert!(OwnFile::open(&at(name), &anything).is_err(), "{name}");
        }
        assert!(OwnFile::open(&at("new"), &|_| false).is_err());
        assert!(!at("nothing").exists() && !at("new").exists());
        // A link laid while the command runs.
        let own = OwnFile::open(&at("report"), &anything).unwrap();
        own.add("one").unwrap();
        fs::remove_file(at("report")).unwrap();
        std::os::unix::fs::symlink("kept", at("report")).unwrap();
        assert!(own.add("two").is_err());
        assert_eq!(fs::read(at("kept")).unwrap(), b"kept");
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
