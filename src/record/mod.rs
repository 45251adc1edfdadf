//! What was tried: the schema of the record, one JSONL file a run, and reading it back.
#![forbid(unsafe_code)]

use serde::{Deserialize, Serialize};

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
