//! What was tried: the schema of the record, one JSONL file a run, and reading it back.
//!
//! A file holds one JSON object a line: first a [`Header`], then attempts and notes in the order in which they happened,
//! last a [`Footer`], which is missing while the run goes on and when the supervisor was killed.
#![forbid(unsafe_code)]

mod chain;
mod groups;
mod index;
mod journal;
mod prune;
mod read;
mod repair;
#[cfg(test)]
pub(crate) mod samples;
mod store;
mod story;
mod summary;
mod text;
mod verify;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use groups::{Group, GroupKind};
pub use journal::{Journal, Told, Weight};
pub use read::{Entry, Outline, RunFile, Selection, entries, list, outline, select};
pub use repair::repair;
pub use store::token;
pub use story::{Event, Node, Story, tree};
pub use summary::{Root, Scope, Summary};
pub use text::{Text, Written};
pub use verify::verify;

pub use crate::policy::Recording;
use crate::policy::{Level, Origin};

/// A process as it was when it tried something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its number, as guard's pid namespace has it.
    pub pid: i32,
    /// When it was started, clock ticks since boot (proc_pid_stat(5)): numbers are used again. 0 when that cannot be read.
    pub started: u64,
    /// Its executable; its short name where that cannot be read.
    pub executable: Text,
    /// Its arguments; empty when they cannot be read.
    pub arguments: Vec<Text>,
    /// How many bytes of the arguments are not here ([`Process::shortened`]).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub arguments_cut: u64,
}

/// One refused attempt.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Attempt {
    /// When, UTC.
    #[serde(with = "moment")]
    pub time: jiff::Timestamp,
    /// Who asked.
    #[serde(flatten)]
    pub process: Process,
    /// Its parents, nearest first, up to the command that guard started.
    pub parents: Vec<Process>,
    /// The system call's name: `unlinkat`.
    pub syscall: String,
    /// What it would have done.
    pub operation: Operation,
    /// The paths (one or two) or `fd N` as the program gave them.
    pub asked: Vec<Text>,
    /// The object in question after all links, absolute; none when it could not be found.
    pub found: Option<Text>,
    /// What lies there; none where nothing does, or nobody knows.
    pub object: Option<ObjectKind>,
    /// The rule that decided; none for calls that are refused under every policy.
    pub rule: Option<RuleNote>,
    /// Why, in a few words, where the rule alone does not say it: "it is a parent of ~/.pi/agent, whose name must stay".
    pub because: Option<String>,
    /// What became of the call.
    pub answer: Answer,
    /// What the program got: `EACCES`.
    pub errno: String,
}

/// What an attempt was aimed at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ObjectKind {
    /// A regular file.
    File,
    /// A directory.
    Folder,
    /// A symbolic link.
    Link,
    /// A device, a socket, a FIFO.
    Other,
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

/// The rule behind a refusal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

/// The version of the schema that this program writes, and the only one that it explains: docs/record.schema.json.
pub const VERSION: u32 = 2;

/// One line of a record. Behind what is told here each has its number in the file, from 1, and a hash (`docs/record.md`).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Line {
    /// The first line.
    Header(Box<Header>),
    /// A refused call.
    Attempt(Box<Numbered>),
    /// What several attempts of one process tree come to so far; a later line of the same number takes its place.
    Group(Box<Group>),
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
    /// 4 to 8 hexadecimal digits: as much of [`Header::id`] as tells it from other runs.
    pub run: String,
    /// 32 hexadecimal digits that no other record has ([`token`]): by them its writer knows its file again.
    pub token: String,
    /// When the run began, UTC.
    #[serde(with = "moment")]
    pub time: jiff::Timestamp,
    /// The command, shortened as the arguments of a [`Process`] are.
    pub argv: Vec<Text>,
    /// The working directory.
    pub cwd: Text,
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

impl Header {
    /// The id of the run before there is a record, which is what its command knows: the first 8 digits of the token.
    #[must_use]
    pub fn id(&self) -> &str {
        self.token.get(..ID_DIGITS).unwrap_or(&self.token)
    }
}

/// The digits of [`Header::id`].
const ID_DIGITS: usize = 8;

/// An attempt with its place in the run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Numbered {
    /// From 1. Attempts that are only counted in a group, or could not be written, have a number and no line.
    pub seq: u64,
    /// The group that it belongs to ([`Group::id`]).
    pub group: u32,
    /// What was tried.
    #[serde(flatten)]
    pub attempt: Attempt,
}

/// Something that guard said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// When, UTC.
    #[serde(with = "moment")]
    pub time: jiff::Timestamp,
    /// In words.
    pub text: String,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Footer {
    /// When the last process of the run was gone, UTC.
    #[serde(with = "moment")]
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
    /// How many lines are not in this file because it could not be written for so long that they could not be kept. The
    /// counts are whole nevertheless.
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
    /// What could not be written for so long that there is no more room for it.
    #[error("no room is left for what could not be written to the record")]
    Full,
    /// Reading back.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// What the kernel said.
        source: std::io::Error,
    },
}

/// Bytes of a process's arguments that a record keeps.
pub const ARGUMENT_BYTES: usize = 4096;

impl Process {
    /// With at most `most` bytes of arguments, the first ones: a call with very many of them, refused very often, does not
    /// fill the disk.
    #[must_use]
    pub fn shortened(mut self, most: usize) -> Self {
        self.arguments_cut += shorten(&mut self.arguments, most);
        self
    }
}

/// Keeps `most` bytes of `arguments`, and gives how many are gone.
pub fn shorten(arguments: &mut Vec<Text>, most: usize) -> u64 {
    let mut room = most;
    let mut gone = 0;
    arguments.retain_mut(|argument| {
        let length = argument.as_bytes().len();
        if length > room {
            *argument = argument.cut(room);
            room = 0;
            gone += (length - argument.as_bytes().len()) as u64;
            return !argument.is_empty();
        }
        room -= length;
        true
    });
    gone
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Times with nine digits of a second, so that they sort as text.
mod moment {
    use jiff::Timestamp;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{time:.9}"))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        Timestamp::deserialize(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_numbered_attempt_is_one_flat_object_and_comes_back() {
        let attempt = samples::attempt(4312, Operation::Delete, "/home/u/.pi/agent/auth.json");
        let line = Line::Attempt(Box::new(Numbered {
            seq: 3,
            group: 1,
            attempt,
        }));
        let text = serde_json::to_string(&line).unwrap();
        assert!(
            text.starts_with(
                r#"{"type":"attempt","seq":3,"group":1,"time":"1970-01-01T00:00:00.000000000Z","pid":4312,"#
            ),
            "{text}"
        );
        let Line::Attempt(back) = serde_json::from_str(&text).unwrap() else {
            panic!("not an attempt: {text}")
        };
        let attempt = &back.attempt;
        assert_eq!(
            (back.seq, attempt.process.pid, attempt.operation),
            (3, 4312, Operation::Delete)
        );
    }

    #[test]
    fn a_line_of_a_later_version_is_unknown_and_no_error() {
        let line: Line = serde_json::from_str(r#"{"type":"portrait","count":9}"#).unwrap();
        assert!(matches!(line, Line::Unknown));
    }

    #[test]
    fn long_command_lines_are_cut_on_a_character_and_the_loss_is_told() {
        let mut many: Vec<Text> = ["é".repeat(1500), "é".repeat(1500), "x".into()]
            .map(Text::from)
            .to_vec();
        assert_eq!(shorten(&mut many, 4097), 1904 + 1);
        assert_eq!(many.len(), 2);
        assert_eq!(many[1], "é".repeat(548).as_str());
        let mut few: Vec<Text> = vec!["".into(), "b".into()];
        assert_eq!((shorten(&mut few, 1), few.len()), (0, 2));
    }
}
