//! The policies that come with guard, and the rules that hold under every policy.
#![forbid(unsafe_code)]

use super::{Firmness, Level, Origin, Part, Pattern, Rule, Template};

/// Name and text of each shipped policy.
const SHIPPED: [(&str, &str); 13] = [
    ("default", include_str!("../../policies/default.toml")),
    ("ci", include_str!("../../policies/ci.toml")),
    ("test", include_str!("../../policies/test.toml")),
    ("strict", include_str!("../../policies/strict.toml")),
    ("agents", include_str!("../../policies/agents.toml")),
    (
        "agents-closed",
        include_str!("../../policies/agents-closed.toml"),
    ),
    ("caches", include_str!("../../policies/caches.toml")),
    (
        "credentials",
        include_str!("../../policies/credentials.toml"),
    ),
    ("pi", include_str!("../../policies/pi.toml")),
    (
        "claude-code",
        include_str!("../../policies/claude-code.toml"),
    ),
    ("codex", include_str!("../../policies/codex.toml")),
    ("opencode", include_str!("../../policies/opencode.toml")),
    ("omp", include_str!("../../policies/omp.toml")),
];

/// What [`Rule::policy`] and [`Origin::file`] say for rules that no file holds.
pub const BUILT_IN: &str = "built in";

/// The names of the shipped policies, the default first.
#[must_use]
pub fn names() -> [&'static str; SHIPPED.len()] {
    SHIPPED.map(|(name, _)| name)
}

/// The text of a shipped policy.
#[must_use]
pub fn text(name: &str) -> Option<&'static str> {
    SHIPPED
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, text)| *text)
}

/// The rules that hold under every policy: guard's own files are firm; devices and `/proc` stay usable under a strict
/// default, unless the policy names them.
#[must_use]
pub fn built_in() -> Vec<Rule> {
    let env = |name: &str| Part::Env {
        name: name.to_owned(),
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
                vec![first, Part::Text(rest.to_owned())],
                Level::ReadOnly,
                Firmness::Firm,
                why,
            )
        })
        .collect();
    for path in ["/dev", "/proc"] {
        let parts = vec![Part::Text(path.to_owned())];
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

/// A rule that no file holds.
fn built_in_rule(
    text: &str,
    parts: Vec<Part>,
    level: Level,
    firmness: Firmness,
    why: &str,
) -> Rule {
    Rule {
        text: text.to_owned(),
        pattern: Pattern::Path(Template(parts)),
        level,
        why: Some(why.to_owned()),
        policy: BUILT_IN.to_owned(),
        origin: Origin {
            file: BUILT_IN.to_owned(),
            line: 0,
            column: 0,
        },
        firmness,
    }
}
