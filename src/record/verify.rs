//! Checking a record: whether each line is the one that was written, at its place, and none is missing.

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use super::chain::Sealed;
use super::{Line, RecordError, RunFile, index};

/// What is wrong with a record. Lines are told by the number that they were written with, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// What stands here is no line of a record; the number is its place in the file.
    Damaged(u64),
    /// The line has been changed.
    Edited(u64),
    /// The line stands at another place than it was written at.
    Moved(u64),
    /// These lines are not there, the first and the last of them.
    Missing(u64, u64),
    /// The index knows another last line than this.
    Replaced(u64),
    /// The index knows nothing of the lines from this one on.
    Unknown(u64),
    /// The index cannot be asked, for this reason.
    Index(String),
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged(place) => write!(f, "what stands at line {place} is no line of a record"),
            Self::Edited(line) => write!(f, "line {line} was changed"),
            Self::Moved(line) => write!(f, "line {line} stands at another place"),
            Self::Missing(from, to) if from == to => write!(f, "line {from} is missing"),
            Self::Missing(from, to) => write!(f, "lines {from} to {to} are missing"),
            Self::Replaced(line) => write!(f, "line {line} is not the one that the index knows"),
            Self::Unknown(line) => {
                write!(f, "the index knows nothing of line {line} and later ones")
            }
            Self::Index(why) => write!(f, "the index cannot vouch for it: {why}"),
        }
    }
}

/// What a check came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Lines in the file.
    pub lines: u64,
    /// What is wrong; nothing when the record is as it was written.
    pub findings: Vec<Finding>,
}

/// Checks one record of `dir` against its chain and the index.
///
/// # Errors
/// When the file cannot be read.
pub fn verify(dir: &Path, run: &RunFile) -> Result<Verified, RecordError> {
    let bytes = fs::read(&run.path).map_err(|source| RecordError::Read {
        path: run.path.clone(),
        source,
    })?;
    let known = index::get(dir, &run.name());
    // A line that is being written is not there yet.
    let end = bytes
        .iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(0, |at| at + 1);
    let (whole, torn) = bytes.split_at(end);
    let mut lines: Vec<&[u8]> = whole.split(|&byte| byte == b'\n').collect();
    lines.pop();
    let mut chain = Chain::default();
    for (index, line) in lines.iter().enumerate() {
        let following = lines.get(index + 1).and_then(|line| Sealed::parse(line));
        chain.check(index as u64 + 1, line, following);
    }
    if !torn.is_empty() {
        chain
            .findings
            .push(Finding::Damaged(lines.len() as u64 + 1));
    }
    let mut findings = chain.settled();
    findings.extend(compare(&lines, known));
    Ok(Verified {
        lines: lines.len() as u64,
        findings,
    })
}

/// A check under way.
#[derive(Default)]
struct Chain {
    /// The number that the next line should have.
    next: u64,
    /// What its hash may build on; none where that is not known.
    before: Option<Vec<String>>,
    findings: Vec<Finding>,
}

impl Chain {
    fn check(&mut self, place: u64, line: &[u8], following: Option<Sealed<'_>>) {
        if place == 1 {
            (self.next, self.before) = (1, Some(vec![String::new()]));
        }
        let readable =
            std::str::from_utf8(line).is_ok_and(|text| serde_json::from_str::<Line>(text).is_ok());
        let Some(sealed) = Sealed::parse(line).filter(|_| readable) else {
            self.findings.push(Finding::Damaged(place));
            self.next += 1;
            self.before = None;
            return;
        };
        let follows = self.before.as_ref().map(|before| {
            before
                .iter()
                .any(|before| sealed.expected(before) == sealed.hash)
        });
        let builds_on = following.is_some_and(|next| {
            next.line == self.next + 1 && next.expected(sealed.hash) == next.hash
        });
        match (follows, sealed.line == self.next) {
            (Some(true), true) | (None, true) => {}
            // It stands where it should, as the next line tells: its number was changed.
            (_, false) if builds_on => self.findings.push(Finding::Edited(self.next)),
            (_, true) => self.findings.push(Finding::Edited(self.next)),
            (_, false) if sealed.line > self.next => {
                self.findings
                    .push(Finding::Missing(self.next, sealed.line - 1));
                self.next = sealed.line;
            }
            (_, false) => {
                self.findings.push(Finding::Moved(sealed.line));
                self.before = None;
                return;
            }
        }
        let mut before = vec![sealed.hash.to_owned()];
        if follows != Some(true) {
            // Where only the hash was changed, what comes next builds on the right one.
            let right = self.before.iter().flatten().next();
            before.extend(right.map(|it| sealed.expected(it)));
        }
        self.before = Some(before);
        self.next += 1;
    }

    /// A line that is missing at its place and stands at another was moved.
    fn settled(self) -> Vec<Finding> {
        let moved: Vec<u64> = self
            .findings
            .iter()
            .filter_map(|finding| match finding {
                Finding::Moved(line) => Some(*line),
                _ => None,
            })
            .collect();
        let mut settled = Vec::new();
        for finding in self.findings {
            let Finding::Missing(from, to) = finding else {
                settled.push(finding);
                continue;
            };
            let mut begun = None;
            for line in from..=to + 1 {
                let gone = line <= to && !moved.contains(&line);
                match (gone, begun) {
                    (true, None) => begun = Some(line),
                    (false, Some(first)) => {
                        settled.push(Finding::Missing(first, line - 1));
                        begun = None;
                    }
                    _ => {}
                }
            }
        }
        settled
    }
}

/// What the index says of these lines.
fn compare(lines: &[&[u8]], known: io::Result<Option<index::Known>>) -> Option<Finding> {
    let head = match known {
        Ok(Some(known)) => known.head,
        // The guard may have been killed between the first line and the index.
        Ok(None) if lines.len() <= 1 => return None,
        Ok(None) => return Some(Finding::Index("it does not know this run".into())),
        Err(error) => return Some(Finding::Index(error.to_string())),
    };
    let last = lines
        .iter()
        .filter_map(|line| Sealed::parse(line))
        .map(|it| it.line)
        .max();
    let last = last.unwrap_or(0);
    if last < head.lines {
        return Some(Finding::Missing(last + 1, head.lines));
    }
    // The guard may be between a line and the index, or have been killed there.
    if last > head.lines + 1 {
        return Some(Finding::Unknown(head.lines + 2));
    }
    let hash = lines
        .iter()
        .filter_map(|line| Sealed::parse(line))
        .find(|sealed| sealed.line == head.lines)
        .map(|sealed| sealed.hash.to_owned());
    (hash.as_ref() != Some(&head.hash)).then_some(Finding::Replaced(head.lines))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::chain::Head;
    use crate::record::{Journal, Operation, Recording, list, samples};

    /// A record of a header, three attempts and a footer.
    fn recorded() -> (tempfile::TempDir, RunFile, Vec<u8>) {
        let top = tempfile::tempdir().unwrap();
        let mut journal = Journal::new(top.path().into(), samples::header(), Recording::default());
        for (operation, name) in [
            (Operation::Delete, "/a"),
            (Operation::Write, "/b"),
            (Operation::Link, "/c"),
        ] {
            journal
                .attempt(&samples::attempt(1, operation, name))
                .unwrap();
        }
        journal.finish(Some(0), Some(0)).unwrap();
        drop(journal);
        let run = list(top.path()).unwrap().remove(0);
        let bytes = fs::read(&run.path).unwrap();
        assert_eq!(bytes.iter().filter(|&&byte| byte == b'\n').count(), 5);
        (top, run, bytes)
    }

    /// What is found when the record is this.
    fn found(top: &tempfile::TempDir, run: &RunFile, bytes: &[u8]) -> Vec<Finding> {
        fs::write(&run.path, bytes).unwrap();
        verify(top.path(), run).unwrap().findings
    }

    fn lines(bytes: &[u8]) -> Vec<&[u8]> {
        bytes.split_inclusive(|&byte| byte == b'\n').collect()
    }

    #[test]
    fn what_was_written_is_as_it_was() {
        let (top, run, bytes) = recorded();
        assert_eq!(found(&top, &run, &bytes), []);
        assert_eq!(verify(top.path(), &run).unwrap().lines, 5);
    }

    #[test]
    fn every_flipped_byte_is_found_and_its_line_named() {
        let (top, run, bytes) = recorded();
        let mut line = 1;
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            let findings = found(&top, &run, &changed);
            let names = |finding: &Finding| match finding {
                Finding::Damaged(place) | Finding::Edited(place) | Finding::Moved(place) => {
                    *place == line
                }
                Finding::Missing(from, to) => (*from..=*to).contains(&line),
                Finding::Replaced(place) => *place == line,
                Finding::Unknown(_) | Finding::Index(_) => false,
            };
            assert!(
                findings.iter().any(names),
                "byte {at} of line {line}: {findings:?}"
            );
            line += u64::from(bytes[at] == b'\n');
        }
    }

    #[test]
    fn a_flipped_byte_within_a_line_concerns_that_line_alone() {
        let (top, run, bytes) = recorded();
        let third: usize = lines(&bytes)[..2].iter().map(|line| line.len()).sum();
        for at in third..third + lines(&bytes)[2].len() - 1 {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            let findings = found(&top, &run, &changed);
            assert!(
                matches!(findings[..], [Finding::Edited(3) | Finding::Damaged(3)]),
                "{at}: {findings:?}"
            );
        }
    }

    #[test]
    fn dropped_lines_are_named() {
        let (top, run, bytes) = recorded();
        let all = lines(&bytes);
        for gone in 0..5 {
            let mut rest = all.clone();
            rest.remove(gone);
            let line = gone as u64 + 1;
            assert_eq!(
                found(&top, &run, &rest.concat()),
                [Finding::Missing(line, line)]
            );
        }
        assert_eq!(
            found(&top, &run, &[all[0], all[4]].concat()),
            [Finding::Missing(2, 4)]
        );
        assert_eq!(
            found(&top, &run, &all[..2].concat()),
            [Finding::Missing(3, 5)]
        );
        assert_eq!(found(&top, &run, b""), [Finding::Missing(1, 5)]);
    }

    #[test]
    fn swapped_lines_are_named() {
        let (top, run, bytes) = recorded();
        let all = lines(&bytes);
        let swapped = [all[0], all[2], all[1], all[3], all[4]].concat();
        assert_eq!(found(&top, &run, &swapped), [Finding::Moved(2)]);
        let far = [all[0], all[4], all[2], all[3], all[1]].concat();
        assert_eq!(
            found(&top, &run, &far),
            [Finding::Moved(3), Finding::Moved(4), Finding::Moved(2)]
        );
        let twice = [all[0], all[1], all[1], all[2], all[3], all[4]].concat();
        assert_eq!(found(&top, &run, &twice)[0], Finding::Moved(2));
    }

    /// Whoever computes the hashes anew is found by the index.
    #[test]
    fn a_chain_that_was_forged_is_not_the_one_that_the_index_knows() {
        let (top, run, bytes) = recorded();
        let mut head = Head::default();
        let forged: Vec<u8> = lines(&bytes)
            .iter()
            .flat_map(|line| {
                let text = std::str::from_utf8(line).unwrap().replace("/b", "/B");
                head.seal(&serde_json::from_str(&text).unwrap()).unwrap()
            })
            .collect();
        assert_eq!(found(&top, &run, &forged), [Finding::Replaced(5)]);
        let mut longer = bytes.clone();
        let mut head = Head {
            lines: 5,
            hash: Sealed::parse(lines(&bytes)[4].trim_ascii_end())
                .unwrap()
                .hash
                .to_owned(),
        };
        for _ in 0..2 {
            longer.extend(head.seal(&Line::Unknown).unwrap());
        }
        assert_eq!(found(&top, &run, &longer), [Finding::Unknown(7)]);
    }

    #[test]
    fn an_index_that_cannot_be_asked_is_told() {
        let (top, run, bytes) = recorded();
        fs::write(index::path(top.path()), "x").unwrap();
        let findings = found(&top, &run, &bytes);
        assert_eq!(
            findings,
            [Finding::Index("line 1 of the index is damaged".into())]
        );
        fs::remove_file(index::path(top.path())).unwrap();
        assert_eq!(
            found(&top, &run, &bytes),
            [Finding::Index("it does not know this run".into())]
        );
    }
}
