//! What a policy says, before anything is known about the machine: levels, rules, variables, shipped policies.
//!
//! Text is checked here once and for all ([`parse`]); what the paths mean on this machine is `plan`'s concern.
#![forbid(unsafe_code)]

pub(crate) mod discover;
mod error;
mod parse;
mod pattern;
pub mod shipped;
mod suggest;

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

pub use discover::{Search, discover, of_workspace};
pub use error::{PatternProblem, PolicyError, Problem};
pub use parse::parse;
pub use pattern::{Part, Pattern, Template, compile};
pub use suggest::Hint;

/// A piece of a policy: that of a shipped one is part of the program and not copied, and hundreds of rules share it.
pub type Text = Cow<'static, str>;

/// What may happen to a place. Ordered: the stricter level is the smaller one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Nothing is made, changed or removed.
    ReadOnly,
    /// New entries may be made; what existed stays as it is. What the run made is its own.
    AddOnly,
    /// The same, and what existed may grow at its end.
    AppendOnly,
    /// What existed may be changed too, not removed.
    NoDelete,
    /// Anything goes.
    Writable,
}

impl Level {
    /// All levels, the strictest first.
    pub const ALL: [Self; 5] = [
        Self::ReadOnly,
        Self::AddOnly,
        Self::AppendOnly,
        Self::NoDelete,
        Self::Writable,
    ];

    /// The word for it in a policy.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::AddOnly => "add-only",
            Self::AppendOnly => "append-only",
            Self::NoDelete => "no-delete",
            Self::Writable => "writable",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Where a rule was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The file as the person named it, `policy pi` for a shipped one, or `built in`.
    pub file: Text,
    /// Line, from 1; 0 when there is no text.
    pub line: usize,
    /// Column in characters, from 1; 0 when there is no text.
    pub column: usize,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.file),
            line => write!(f, "{}:{line}", self.file),
        }
    }
}

/// What a refused attempt does to the exit status of a command that succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnAttempt {
    /// Nothing: it is reported.
    Report,
    /// The run fails with 123.
    Fail,
}

/// What records hold, how many stay, and how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recording {
    /// At most so many; 0 for all.
    pub runs: u32,
    /// Those of so many last days; 0 for all.
    pub days: u32,
    /// Attempts of a group that have lines of their own.
    pub listed: u32,
}

impl Default for Recording {
    fn default() -> Self {
        Self {
            runs: 1000,
            days: 180,
            listed: 8,
        }
    }
}

/// Where the events of a record go besides its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// syslog on this machine.
    Syslog,
    /// The journal of systemd on this machine.
    Journald,
    /// A collector of OpenTelemetry.
    Otlp,
}

impl Destination {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Syslog, Self::Journald, Self::Otlp];

    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Syslog => "syslog",
            Self::Journald => "journald",
            Self::Otlp => "otlp",
        }
    }

    /// What a word stands for; else a nearer word, or all.
    ///
    /// # Errors
    /// When it stands for none.
    pub fn parse(word: &str) -> Result<Self, Hint> {
        let found = Self::ALL.into_iter().find(|it| it.name() == word);
        found.ok_or_else(|| Hint::new(word, &Self::ALL.map(Self::name)))
    }
}

/// How much a rule gives way to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Firmness {
    /// The most specific wins, the stricter of equals.
    Ordinary,
    /// Nothing at or below it can be looser.
    Firm,
    /// It counts only where it loosens the surroundings, and never against a rule for the same path.
    Weak,
}

/// One line of `[paths]`.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The path or glob as written.
    pub text: Text,
    /// The same, taken apart.
    pub pattern: Pattern,
    /// What may happen to it.
    pub level: Level,
    /// Why, in the policy's words.
    pub why: Option<Text>,
    /// How the policy knows: a program that was watched, a file of its source, its documentation.
    pub source: Option<Text>,
    /// The name of the policy that holds the rule: `pi`, or a file.
    pub policy: Text,
    /// Where it is written.
    pub origin: Origin,
    /// How much it gives way.
    pub firmness: Firmness,
}

/// A policy as written, all its text checked, with what it includes.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The shipped name, or the file as the person named it.
    pub name: Text,
    /// The level of what no rule names.
    pub default: Level,
    /// What an attempt does to the exit status.
    pub on_attempt: OnAttempt,
    /// What records hold and which stay; none where it does not say.
    pub record: Option<Recording>,
    /// Where else the events of a record go.
    pub also: Vec<Destination>,
    /// Its own rules in the order of the text, then those of each included policy.
    pub rules: Vec<Rule>,
}
