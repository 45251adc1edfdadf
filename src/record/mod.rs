//! What was tried: the schema of the record, one JSONL file a run, and reading it back.
//!
//! A file holds one JSON object a line: first a [`Header`], then attempts and notes in the order in which they happened,
//! last a [`Footer`], which is missing while the run goes on and when the supervisor was killed.
#![forbid(unsafe_code)]

mod journal;
mod read;
mod summary;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use journal::{Journal, Weight};
pub use read::{Entry, Outline, RunFile, Selection, entries, list, outline, select};
pub use summary::{Root, Scope, Summary};

use crate::policy::{Level, Origin};

/// One refused attempt.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Attempt {
    /// When, UTC.
    pub time: jiff::Timestamp,
    /// The process that asked, as guard's pid namespace numbers it.
    pub pid: i32,
    /// Its executable; empty when it cannot be read.
    pub executable: String,
    /// Its arguments; empty when they cannot be read.
    pub arguments: Vec<String>,
    /// Its parents, nearest first, up to guard's own.
    pub parents: Vec<Parent>,
    /// The system call's name: `unlinkat`.
    pub syscall: String,
    /// What it would have done.
    pub operation: Operation,
    /// The paths (one or two) or `fd N` as the program gave them; lossy UTF-8.
    pub asked: Vec<String>,
    /// The object in question after all links, absolute; none when it could not be found.
    pub found: Option<String>,
    /// The rule that decided; none for calls that are refused under every policy.
    pub rule: Option<RuleNote>,
    /// Why, in a few words, where the rule alone does not say it: "it is a parent of ~/.pi/agent, whose name must stay".
    pub because: Option<String>,
    /// What became of the call.
    pub answer: Answer,
    /// What the program got: `EACCES`.
    pub errno: String,
}

/// What became of a call that the record keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// It did not happen.
    Refused,
    /// The process cannot be looked into, so the wall alone answers this call and its later ones; noted once a process.
    LeftToWall,
}

/// A parent of the process that asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Parent {
    /// Its pid.
    pub pid: i32,
    /// Its short name, as in /proc/PID/comm.
    pub name: String,
}

/// The rule behind a refusal.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RuleNote {
    /// The path or glob of the rule, home as `~`.
    pub path: String,
    /// The level that the policy names.
    pub level: Level,
    /// The policy that holds it.
    pub policy: String,
    /// Where it is written.
    pub origin: Origin,
}

/// What a call does to a file, in the words of the policy table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Make a new entry.
    Create,
    /// Open for writing, truncate.
    Write,
    /// Remove an entry.
    Delete,
    /// Give an entry another name or place.
    Rename,
    /// Put another entry in its place.
    Replace,
    /// Give it a second name.
    Link,
    /// Mode, owner, times, attributes, flags.
    Metadata,
    /// Something guard refuses whatever the policy says: mounting tricks, raw devices, kernel modules.
    Forbidden,
}

/// The version of the schema that this program writes, and the only one that it explains.
pub const VERSION: u32 = 1;

/// One line of a record.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Line {
    /// The first line.
    Header(Box<Header>),
    /// A refused call.
    Attempt(Box<Numbered>),
    /// Something guard said after the record was begun.
    Note(Note),
    /// The last line.
    Footer(Footer),
    /// A line that a later version of guard wrote.
    #[serde(other)]
    Unknown,
}

/// What a run was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// [`VERSION`].
    pub version: u32,
    /// 4 to 8 hexadecimal digits.
    pub run: String,
    /// When the run began, UTC.
    pub time: jiff::Timestamp,
    /// The command; long ones shortened.
    pub argv: Vec<String>,
    /// The working directory.
    pub cwd: String,
    /// The real user.
    pub uid: u32,
    /// The name of that user, where it has one.
    pub user: Option<String>,
    /// The policy's name, or its file.
    pub policy: String,
    /// The kernel's release, as uname(2) gives it.
    pub kernel: String,
    /// The version of guard.
    pub guard: String,
    /// `strict` or `best-effort`.
    pub effort: String,
    /// What was said when the run began.
    pub notes: Vec<String>,
    /// What the policy asks and this machine could not enforce; empty unless `effort` is `best-effort`.
    pub not_enforced: Vec<String>,
}

/// An attempt with its place in the run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Numbered {
    /// From 1, without gaps but for attempts that could not be written.
    pub seq: u64,
    /// What was tried.
    #[serde(flatten)]
    pub attempt: Attempt,
}

/// Something that guard said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// When, UTC.
    pub time: jiff::Timestamp,
    /// In words.
    pub text: String,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Footer {
    /// When the last process of the run was gone, UTC.
    pub time: jiff::Timestamp,
    /// The command's own status, 128+n for signal n; none when it never ran to its end.
    pub command_status: Option<i32>,
    /// What guard exited with.
    pub exit_status: Option<i32>,
    /// How many calls were refused, those after the command's end too.
    pub attempts: u64,
    /// The same by what they would have done.
    pub by_operation: BTreeMap<Operation, u64>,
    /// The same by rule, in the order of the first attempt under each.
    pub by_rule: Vec<RuleCount>,
    /// How many of them are not in this file because it could not be written.
    pub unrecorded: u64,
}

/// How many attempts one rule refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleCount {
    /// Its path or glob, home as `~`; none for the policy's default and for what is refused under every policy.
    pub rule: Option<String>,
    /// How many.
    pub attempts: u64,
}

/// Why a record cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The folder of all runs.
    #[error("cannot make the folder {} for the record", dir.display())]
    Folder {
        /// The folder.
        dir: PathBuf,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// A run's file.
    #[error("cannot create the record in {}", dir.display())]
    Create {
        /// The folder.
        dir: PathBuf,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// Adding a line.
    #[error("cannot add to the record {}", path.display())]
    Append {
        /// The file.
        path: PathBuf,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// A line that does not become JSON.
    #[error("cannot put an event into words for the record")]
    Encode(#[from] serde_json::Error),
    /// An earlier failure made this record impossible.
    #[error("the record could not be begun earlier in this run")]
    Given,
    /// Reading back.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// What the kernel said.
        source: std::io::Error,
    },
}

/// Bytes of a command line that a record keeps.
const ARGUMENT_BYTES: usize = 4096;

/// `arguments` cut to about [`ARGUMENT_BYTES`], so that a call with very many of them, refused very often, does not fill the disk.
#[must_use]
pub fn bounded(arguments: &[String]) -> Vec<String> {
    let mut room = ARGUMENT_BYTES;
    let mut kept = Vec::new();
    for (index, argument) in arguments.iter().enumerate() {
        if argument.len() > room {
            let mut end = room;
            while !argument.is_char_boundary(end) {
                end -= 1;
            }
            kept.push(format!("{}…", &argument[..end]));
            let left = arguments.len() - index - 1;
            if left > 0 {
                kept.push(format!("… and {left} more"));
            }
            break;
        }
        room -= argument.len();
        kept.push(argument.clone());
    }
    kept
}

#[cfg(test)]
pub(crate) mod samples {
    //! Values that the tests of several modules start from.
    use super::*;

    pub(crate) fn attempt(pid: i32, operation: Operation, found: &str) -> Attempt {
        Attempt {
            time: jiff::Timestamp::UNIX_EPOCH,
            pid,
            executable: "/usr/bin/node".into(),
            arguments: ["node", "--test", "create.test.js"]
                .map(String::from)
                .to_vec(),
            parents: vec![Parent {
                pid: 7,
                name: "npm".into(),
            }],
            syscall: "unlinkat".into(),
            operation,
            asked: vec![found.into()],
            found: Some(found.into()),
            rule: Some(rule("~/.pi/agent")),
            because: None,
            answer: Answer::Refused,
            errno: "EACCES".into(),
        }
    }

    pub(crate) fn rule(path: &str) -> RuleNote {
        RuleNote {
            path: path.into(),
            level: Level::ReadOnly,
            policy: "pi".into(),
            origin: Origin {
                file: "policy pi".into(),
                line: 4,
                column: 1,
            },
        }
    }

    pub(crate) fn header() -> Header {
        Header {
            version: VERSION,
            run: String::new(),
            time: jiff::Timestamp::UNIX_EPOCH,
            argv: vec!["npm".into(), "test".into()],
            cwd: "/home/u/proj".into(),
            uid: 1000,
            user: Some("u".into()),
            policy: "default".into(),
            kernel: "6.18.0".into(),
            guard: "0.1.0".into(),
            effort: "strict".into(),
            notes: Vec::new(),
            not_enforced: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_numbered_attempt_is_one_flat_object_and_comes_back() {
        let attempt = samples::attempt(4312, Operation::Delete, "/home/u/.pi/agent/auth.json");
        let line = Line::Attempt(Box::new(Numbered { seq: 3, attempt }));
        let text = serde_json::to_string(&line).unwrap();
        assert!(
            text.starts_with(
                r#"{"type":"attempt","seq":3,"time":"1970-01-01T00:00:00Z","pid":4312,"#
            ),
            "{text}"
        );
        let Line::Attempt(back) = serde_json::from_str(&text).unwrap() else {
            panic!("not an attempt: {text}")
        };
        assert_eq!(
            (back.seq, back.attempt.pid, back.attempt.operation),
            (3, 4312, Operation::Delete)
        );
    }

    #[test]
    fn a_line_of_a_later_version_is_unknown_and_no_error() {
        let line: Line = serde_json::from_str(r#"{"type":"group","count":9}"#).unwrap();
        assert!(matches!(line, Line::Unknown));
    }

    #[test]
    fn long_command_lines_are_cut_on_a_character() {
        let many = vec!["é".repeat(1500), "é".repeat(1500), "x".into()];
        let kept = bounded(&many);
        assert_eq!(kept.len(), 3);
        assert_eq!(kept[1], format!("{}…", "é".repeat(548)));
        assert_eq!(kept[2], "… and 1 more");
        assert_eq!(bounded(&["a".into(), "b".into()]), ["a", "b"]);
    }
}
