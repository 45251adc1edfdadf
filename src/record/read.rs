//! Reading records back: which runs there are, one run's outline without reading all of it, and its lines.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::{Footer, Header, Line, RecordError};

/// A run's file, as its name tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFile {
    /// The file.
    pub path: PathBuf,
    /// The start of the run: `20260902T090000.123Z`.
    pub stamp: String,
    /// The run's id.
    pub run: String,
}

impl RunFile {
    /// The file's name without its ending.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}-{}", self.stamp, self.run)
    }
}

/// What a run's id may mean.
#[derive(Debug, PartialEq, Eq)]
pub enum Selection<'a> {
    /// This run.
    One(&'a RunFile),
    /// No run.
    None,
    /// The beginning of several ids, newest first.
    Several(Vec<&'a RunFile>),
}

/// The first and the last lines of a run.
#[derive(Debug)]
pub struct Outline {
    /// None when the first line is damaged, or of a version that this program does not know.
    pub header: Option<Header>,
    /// None while the run goes on, and when it was cut short.
    pub footer: Option<Footer>,
    /// Attempts; as long as there is no footer, as far as the last lines tell.
    pub attempts: u64,
}

/// A line as it was found.
#[derive(Debug)]
pub enum Entry {
    /// A whole line.
    Line(Line),
    /// A line, numbered from 1, that is no event.
    Damaged(usize),
    /// The last line, numbered from 1, which has no end: it is being written, or was cut by a crash.
    Torn(usize),
}

/// All runs in `dir`, newest first; none where there is no such folder.
///
/// # Errors
/// When the folder is there and cannot be read.
pub fn list(dir: &Path) -> Result<Vec<RunFile>, RecordError> {
    let failed = |source| RecordError::Read {
        path: dir.to_owned(),
        source,
    };
    let found = match fs::read_dir(dir) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut runs = Vec::new();
    for entry in found {
        runs.extend(named(&entry.map_err(failed)?.path()));
    }
    runs.sort_by(|a, b| (&b.stamp, &b.run).cmp(&(&a.stamp, &a.run)));
    Ok(runs)
}

/// The run that a file's name stands for; none for other files.
fn named(path: &Path) -> Option<RunFile> {
    let (stamp, run) = path
        .file_name()?
        .to_str()?
        .strip_suffix(".jsonl")?
        .rsplit_once('-')?;
    let id = (4..=8).contains(&run.len()) && run.bytes().all(|byte| byte.is_ascii_hexdigit());
    id.then(|| RunFile {
        path: path.to_owned(),
        stamp: stamp.to_owned(),
        run: run.to_owned(),
    })
}

/// The run whose id is `wanted`, else the one whose id begins so, else the one that tells its command so ([`Header::id`]).
#[must_use]
pub fn select<'a>(runs: &'a [RunFile], wanted: &str) -> Selection<'a> {
    if let Some(exact) = runs.iter().find(|file| file.run == wanted) {
        return Selection::One(exact);
    }
    let found: Vec<_> = runs
        .iter()
        .filter(|file| !wanted.is_empty() && file.run.starts_with(wanted))
        .collect();
    match found.as_slice() {
        [] => runs
            .iter()
            .find(|file| wanted.starts_with(&file.run) && is_of(file, wanted))
            .map_or(Selection::None, Selection::One),
        [one] => Selection::One(one),
        _ => Selection::Several(found),
    }
}

/// Whether a run is the one that tells its command `id`.
fn is_of(file: &RunFile, id: &str) -> bool {
    let header = outline(&file.path).ok().and_then(|outline| outline.header);
    header.is_some_and(|header| header.id() == id)
}

/// More than any header or attempt that this program writes.
const TAIL: u64 = 128 * 1024;

/// A run's outline, from its first line and its last ones: a record may be long.
///
/// # Errors
/// When the file cannot be read.
pub fn outline(path: &Path) -> Result<Outline, RecordError> {
    let failed = |source| RecordError::Read {
        path: path.to_owned(),
        source,
    };
    let mut file = BufReader::new(File::open(path).map_err(failed)?);
    let mut first = Vec::new();
    (&mut file)
        .take(TAIL)
        .read_until(b'\n', &mut first)
        .map_err(failed)?;
    let header = match parse(&first) {
        Some(Line::Header(header)) if header.version == super::VERSION => Some(*header),
        _ => None,
    };
    let mut tail = Vec::new();
    let end = file.seek(SeekFrom::End(0)).map_err(failed)?;
    file.seek(SeekFrom::Start(end.saturating_sub(TAIL)))
        .map_err(failed)?;
    file.take(TAIL).read_to_end(&mut tail).map_err(failed)?;
    let mut outline = Outline {
        header,
        footer: None,
        attempts: 0,
    };
    let mut groups = HashMap::new();
    let mut listed = 0;
    for line in tail.rsplit(|&byte| byte == b'\n') {
        match parse(line) {
            Some(Line::Footer(footer)) => {
                outline.attempts = footer.attempts;
                outline.footer = Some(footer);
                return Ok(outline);
            }
            Some(Line::Attempt(numbered)) => listed = listed.max(numbered.seq),
            Some(Line::Group(group)) => {
                groups.entry(group.id).or_insert(group.attempts);
            }
            _ => {}
        }
    }
    outline.attempts = listed.max(groups.values().sum());
    Ok(outline)
}

/// A run's lines in order.
///
/// # Errors
/// When the file cannot be opened; later errors come as items, and end the lines.
pub fn entries(
    path: &Path,
) -> Result<impl Iterator<Item = Result<Entry, RecordError>> + use<>, RecordError> {
    let path = path.to_owned();
    let file = File::open(&path).map_err(|source| RecordError::Read {
        path: path.clone(),
        source,
    })?;
    let mut file = BufReader::new(file);
    let mut number = 0;
    let mut over = false;
    Ok(std::iter::from_fn(move || {
        while !over {
            let mut line = Vec::new();
            match file.read_until(b'\n', &mut line) {
                Ok(0) => return None,
                Ok(_) => {}
                Err(source) => {
                    over = true;
                    return Some(Err(RecordError::Read {
                        path: path.clone(),
                        source,
                    }));
                }
            }
            number += 1;
            let whole = line.last() == Some(&b'\n');
            match parse(line.trim_ascii_end()) {
                Some(line) => return Some(Ok(Entry::Line(line))),
                None if !whole => return Some(Ok(Entry::Torn(number))),
                None if line == b"\n" => {}
                None => return Some(Ok(Entry::Damaged(number))),
            }
        }
        None
    }))
}

/// Bytes that are no UTF-8 become a replacement character, so that one bad name does not hide an attempt.
fn parse(line: &[u8]) -> Option<Line> {
    serde_json::from_str(&String::from_utf8_lossy(line)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Journal, Operation, Recording, RuleCount, samples};

    /// A record of two attempts and a footer in a folder of its own.
    fn written() -> (tempfile::TempDir, PathBuf) {
        let top = tempfile::tempdir().unwrap();
        let mut journal = Journal::new(
            top.path().to_owned(),
            samples::header(),
            Recording::default(),
        );
        for name in ["auth.json", "settings.json"] {
            let attempt =
                samples::attempt(1, Operation::Delete, &format!("/home/u/.pi/agent/{name}"));
            journal.attempt(&attempt).unwrap();
        }
        journal.finish(Some(0), Some(123)).unwrap();
        let path = list(top.path()).unwrap()[0].path.clone();
        (top, path)
    }

    fn kinds(path: &Path) -> String {
        entries(path)
            .unwrap()
            .map(|entry| match entry.unwrap() {
                Entry::Line(Line::Header(_)) => 'H',
                Entry::Line(Line::Attempt(_)) => 'A',
                Entry::Line(Line::Group(_)) => 'G',
                Entry::Line(Line::Footer(_)) => 'F',
                Entry::Torn(_) => 'T',
                Entry::Line(_) => '?',
                Entry::Damaged(_) => 'X',
            })
            .collect()
    }

    #[test]
    fn what_was_written_is_read() {
        let (_top, path) = written();
        assert_eq!(kinds(&path), "HAAGF");
        let outline = outline(&path).unwrap();
        assert_eq!(outline.attempts, 2);
        assert_eq!(outline.header.unwrap().argv, ["npm", "test"]);
        let footer = outline.footer.unwrap();
        assert_eq!(
            (footer.command_status, footer.exit_status),
            (Some(0), Some(123))
        );
        assert_eq!(footer.by_operation[&Operation::Delete], 2);
        let rule = RuleCount {
            rule: Some("~/.pi/agent".into()),
            attempts: 2,
        };
        assert_eq!(footer.by_rule, [rule]);
    }

    #[test]
    fn a_torn_last_line_costs_that_line_only() {
        let (_top, path) = written();
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() - 9]).unwrap();
        assert_eq!(kinds(&path), "HAAGT");
        let outline = outline(&path).unwrap();
        assert_eq!((outline.attempts, outline.footer), (2, None));
    }

    #[test]
    fn bytes_that_are_no_text_do_not_hide_an_attempt() {
        let (_top, path) = written();
        let mut bytes = fs::read(&path).unwrap();
        let at = bytes
            .windows(9)
            .position(|window| window == b"auth.json")
            .unwrap();
        bytes[at] = 0xff;
        fs::write(&path, bytes).unwrap();
        assert_eq!(kinds(&path), "HAAGF");
    }

    #[test]
    fn a_run_is_found_by_what_its_command_knows() {
        let (top, path) = written();
        let runs = list(top.path()).unwrap();
        let id = outline(&path).unwrap().header.unwrap().id().to_owned();
        assert_eq!((id.len(), runs[0].run.len()), (8, 4));
        assert_eq!(select(&runs, &id), Selection::One(&runs[0]));
        let other = format!("{}zzzz", runs[0].run);
        assert_eq!(
            select(&runs, &other),
            Selection::None,
            "a run without a record"
        );
    }

    #[test]
    fn a_header_of_another_version_is_not_explained() {
        let (_top, path) = written();
        let text =
            fs::read_to_string(&path)
                .unwrap()
                .replacen(r#""version":2"#, r#""version":3"#, 1);
        fs::write(&path, text).unwrap();
        assert_eq!(outline(&path).unwrap().header, None);
    }

    #[test]
    fn runs_come_newest_first_and_other_files_not_at_all() {
        let top = tempfile::tempdir().unwrap();
        for name in [
            "20260101T000000.000Z-aaaa.jsonl",
            "20260201T000000.000Z-aaab.jsonl",
            "notes.txt",
            "x-y.jsonl",
        ] {
            fs::write(top.path().join(name), "").unwrap();
        }
        let runs = list(top.path()).unwrap();
        assert_eq!(
            runs.iter().map(|run| run.run.as_str()).collect::<Vec<_>>(),
            ["aaab", "aaaa"]
        );
        assert_eq!(select(&runs, "aaaa"), Selection::One(&runs[1]));
        assert_eq!(
            select(&runs, "aaa"),
            Selection::Several(vec![&runs[0], &runs[1]])
        );
        assert_eq!(select(&runs, "b"), Selection::None);
        assert!(list(&top.path().join("absent")).unwrap().is_empty());
    }
}
