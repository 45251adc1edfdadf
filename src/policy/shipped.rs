//! The policies that come with guard, and the rules that hold under every policy.
#![forbid(unsafe_code)]

use super::{Firmness, Level, Origin, Part, Pattern, Rule, Template, Text};

/// The name of each shipped policy: `policies/NAME.toml`.
const NAMES: [&str; 32] = [
    "default",
    "ci",
    "test",
    "strict",
    "agents",
    "agents-closed",
    "caches",
    "credentials",
    "pi",
    "claude-code",
    "codex",
    "opencode",
    "omp",
    "gemini",
    "qwen",
    "copilot",
    "cline",
    "hermes",
    "droid",
    "aider",
    "crush",
    "goose",
    "cursor",
    "amp",
    "qoder",
    "rivumi",
    "agent-pi",
    "agent-omp",
    "agent-opencode",
    "agent-codex",
    "agent-claude-code",
    "agent-gemini",
];

/// What [`Rule::policy`] and [`Origin::file`] say for rules that no file holds.
pub const BUILT_IN: &str = "built in";

/// The names of the shipped policies, the default first.
#[must_use]
pub fn names() -> [&'static str; NAMES.len()] {
    NAMES
}

/// A shipped policy, taken apart when guard was built (`build.rs`).
pub(super) struct Table {
    /// Its name.
    pub(super) name: &'static str,
    /// What [`Origin::file`] says of its rules.
    pub(super) file: &'static str,
    /// Its `source`, for the rules that have none of their own.
    pub(super) source: Option<&'static str>,
    /// Its `default`.
    pub(super) default: Option<Level>,
    /// Its `fail-on-attempt`.
    pub(super) fail_on_attempt: Option<bool>,
    /// Its `include`.
    pub(super) include: &'static [&'static str],
    /// Its `without`.
    pub(super) without: &'static [&'static str],
    /// Its `[paths]`, in the order of the text.
    pub(super) rules: &'static [Line],
}

/// One line of `[paths]`.
pub(super) struct Line {
    /// The path or glob as written.
    pub(super) path: &'static str,
    /// What may happen to it.
    pub(super) level: Level,
    /// Why.
    pub(super) why: Option<&'static str>,
    /// How the policy knows.
    pub(super) source: Option<&'static str>,
    /// Line, from 1.
    pub(super) line: usize,
    /// Column in characters, from 1.
    pub(super) column: usize,
}

include!(concat!(env!("OUT_DIR"), "/shipped.rs"));

/// A shipped policy, taken apart.
pub(super) fn table(name: &str) -> Option<&'static Table> {
    TABLES.iter().find(|table| table.name == name)
}

/// The rules that hold under every policy: guard's own files are firm; devices and `/proc` stay usable under a strict
/// default, unless the policy names them.
#[must_use]
pub fn built_in() -> Vec<Rule> {
    let env = |name: &'static str| Part::Env {
        name: Text::Borrowed(name),
        default: None,
    };
    let own = [
        (
            "~/.config/guard",
            Part::Home,
            "/.config/guard",
            "guard's own configuration",
        ),
        (
            "${XDG_CONFIG_HOME}/guard",
            env("XDG_CONFIG_HOME"),
            "/guard",
            "guard's own configuration",
        ),
        (
            "~/.local/state/guard",
            Part::Home,
            "/.local/state/guard",
            "guard's own record",
        ),
        (
            "${XDG_STATE_HOME}/guard",
            env("XDG_STATE_HOME"),
            "/guard",
            "guard's own record",
        ),
    ];
    let mut rules: Vec<Rule> = own
        .into_iter()
        .map(|(text, first, rest, why)| {
            built_in_rule(
                text,
                vec![first, Part::Text(Text::Borrowed(rest))],
                Level::ReadOnly,
                Firmness::Firm,
                why,
            )
        })
        .collect();
    for path in ["/dev", "/proc"] {
        let parts = vec![Part::Text(Text::Borrowed(path))];
        rules.push(built_in_rule(
            path,
            parts,
            Level::Writable,
            Firmness::Weak,
            "devices and processes, not files",
        ));
    }
    rules
}

/// Where a rule is written that no file holds.
pub(crate) fn origin() -> Origin {
    Origin {
        file: Text::Borrowed(BUILT_IN),
        line: 0,
        column: 0,
    }
}

/// A rule that no file holds.
fn built_in_rule(
    text: &'static str,
    parts: Vec<Part>,
    level: Level,
    firmness: Firmness,
    why: &'static str,
) -> Rule {
    Rule {
        text: Text::Borrowed(text),
        pattern: Pattern::Path(Template(parts)),
        level,
        why: Some(Text::Borrowed(why)),
        source: None,
        policy: Text::Borrowed(BUILT_IN),
        origin: origin(),
        firmness,
    }
}
