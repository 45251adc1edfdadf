//! From TOML to a [`Policy`]: every key, type, level and path is checked, and each error has its place.
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{
    Firmness, Hint, Level, OnAttempt, Origin, Pattern, PatternProblem, Policy, PolicyError,
    Problem, Rule, shipped,
};

/// The keys of a policy.
const KEYS: [&str; 5] = ["version", "include", "default", "fail-on-attempt", "paths"];
/// The keys of a path's table.
const PATH_KEYS: [&str; 2] = ["level", "why"];

/// Parses the text of a policy file, including the shipped policies that it names.
///
/// `file` is how the person named it, for messages.
///
/// # Errors
/// The first thing that is wrong, with its place.
pub fn parse(text: &str, file: &str) -> Result<Policy, PolicyError> {
    Parser {
        text,
        file,
        policy: file,
    }
    .policy(&mut BTreeSet::new())
}

/// Parses a shipped policy; none when there is none of this name.
pub(super) fn parse_shipped(
    name: &str,
    seen: &mut BTreeSet<String>,
) -> Option<Result<Policy, PolicyError>> {
    let text = shipped::text(name)?;
    seen.insert(name.to_owned());
    Some(
        Parser {
            text,
            file: &format!("policy {name}"),
            policy: name,
        }
        .policy(seen),
    )
}

/// One text that is being parsed.
struct Parser<'a> {
    text: &'a str,
    file: &'a str,
    policy: &'a str,
}

/// The values of the top level, before the rules.
#[derive(Default)]
struct Head {
    default: Option<Level>,
    on_attempt: Option<OnAttempt>,
    include: Vec<(String, Range<usize>)>,
    rules: Vec<Rule>,
    versions: usize,
}

impl Parser<'_> {
    /// The whole policy. `seen` holds the names of the shipped policies that are part of it already: each counts once,
    /// so that a circle of includes ends.
    fn policy(&self, seen: &mut BTreeSet<String>) -> Result<Policy, PolicyError> {
        let table = DeTable::parse(self.text).map_err(|error| {
            let message = error.message().replace('\n', ", ");
            self.error(error.span().unwrap_or(0..0).start, Problem::Toml(message))
        })?;
        let mut head = Head::default();
        for (key, value) in in_order(table.get_ref()) {
            self.key(&mut head, key, value)?;
        }
        if head.versions == 0 {
            return Err(self.error(0, Problem::MissingVersion));
        }
        self.with_includes(head, seen)
    }

    /// Adds what is included. A key of the including policy wins; else the strictest of the included ones.
    fn with_includes(
        &self,
        head: Head,
        seen: &mut BTreeSet<String>,
    ) -> Result<Policy, PolicyError> {
        let mut default = None;
        let mut on_attempt = OnAttempt::Report;
        let mut rules = head.rules;
        for (name, span) in head.include {
            if seen.contains(&name) {
                continue;
            }
            let Some(included) = parse_shipped(&name, seen) else {
                let hint = Hint::new(&name, &shipped::names());
                return Err(self.error(span.start, Problem::UnknownPolicy { word: name, hint }));
            };
            let included = included?;
            default = default.into_iter().chain([included.default]).min();
            if included.on_attempt == OnAttempt::Fail {
                on_attempt = OnAttempt::Fail;
            }
            rules.extend(included.rules);
        }
        Ok(Policy {
            name: self.policy.to_owned(),
            default: head.default.or(default).unwrap_or(Level::Writable),
            on_attempt: head.on_attempt.unwrap_or(on_attempt),
            rules,
        })
    }

    /// One key of the top level.
    fn key(&self, head: &mut Head, key: &Key<'_>, value: &Value<'_>) -> Result<(), PolicyError> {
        match key.get_ref().as_ref() {
            "version" => {
                head.versions += 1;
                self.version(value)
            }
            "include" => {
                head.include = self.include(value)?;
                Ok(())
            }
            "default" => {
                head.default = Some(self.level("default", value)?);
                Ok(())
            }
            "fail-on-attempt" => {
                let on = value
                    .get_ref()
                    .as_bool()
                    .ok_or_else(|| self.wrong("fail-on-attempt", "true or false", value))?;
                head.on_attempt = Some(if on {
                    OnAttempt::Fail
                } else {
                    OnAttempt::Report
                });
                Ok(())
            }
            "paths" => {
                let table = value
                    .get_ref()
                    .as_table()
                    .ok_or_else(|| self.wrong("paths", "a table", value))?;
                for (key, value) in in_order(table) {
                    head.rules.push(self.rule(key, value)?);
                }
                Ok(())
            }
            other => Err(self.unknown_key(other, &KEYS, key)),
        }
    }

    /// `version = 1`.
    fn version(&self, value: &Value<'_>) -> Result<(), PolicyError> {
        let number = value
            .get_ref()
            .as_integer()
            .ok_or_else(|| self.wrong("version", "the number 1", value))?;
        if number.as_str() == "1" && number.radix() == 10 {
            return Ok(());
        }
        Err(self.error(value.span().start, Problem::Version(number.to_string())))
    }

    /// `include = ["pi"]`: the names with their places.
    fn include(&self, value: &Value<'_>) -> Result<Vec<(String, Range<usize>)>, PolicyError> {
        let wanted = "a list of names of shipped policies";
        let list = value
            .get_ref()
            .as_array()
            .ok_or_else(|| self.wrong("include", wanted, value))?;
        list.iter()
            .map(|name| {
                let text = name
                    .get_ref()
                    .as_str()
                    .ok_or_else(|| self.wrong("include", wanted, name))?;
                Ok((text.to_owned(), name.span()))
            })
            .collect()
    }

    /// A level as a string.
    fn level(&self, key: &str, value: &Value<'_>) -> Result<Level, PolicyError> {
        let word = value
            .get_ref()
            .as_str()
            .ok_or_else(|| self.wrong(key, "a level", value))?;
        Level::ALL
            .into_iter()
            .find(|level| level.name() == word)
            .ok_or_else(|| {
                let hint = Hint::new(word, &Level::ALL.map(Level::name));
                self.error(
                    value.span().start,
                    Problem::UnknownLevel {
                        word: word.to_owned(),
                        hint,
                    },
                )
            })
    }

    /// One line of `[paths]`.
    fn rule(&self, key: &Key<'_>, value: &Value<'_>) -> Result<Rule, PolicyError> {
        let text = key.get_ref().as_ref();
        let pattern = Pattern::parse(text).map_err(|fault| {
            let problem = match fault.problem {
                PatternProblem::Relative(word) if KEYS.contains(&word.as_str()) => {
                    PatternProblem::KeyAmongPaths(word)
                }
                other => other,
            };
            self.error(self.inside(&key.span(), text, fault.offset), problem.into())
        })?;
        let (level, why) = match value.get_ref() {
            DeValue::Table(table) => self.rule_table(text, table, value)?,
            DeValue::String(_) => (self.level(text, value)?, None),
            _ => return Err(self.wrong(text, "a level or a table of level and why", value)),
        };
        let (line, column) = place(self.text, key.span().start);
        Ok(Rule {
            text: text.to_owned(),
            pattern,
            level,
            why,
            policy: self.policy.to_owned(),
            origin: Origin {
                file: self.file.to_owned(),
                line,
                column,
            },
            firmness: Firmness::Ordinary,
        })
    }

    /// `{ level = "...", why = "..." }`.
    fn rule_table(
        &self,
        path: &str,
        table: &DeTable<'_>,
        whole: &Value<'_>,
    ) -> Result<(Level, Option<String>), PolicyError> {
        let mut level = None;
        let mut why = None;
        for (key, value) in in_order(table) {
            match key.get_ref().as_ref() {
                "level" => level = Some(self.level("level", value)?),
                "why" => {
                    let text = value
                        .get_ref()
                        .as_str()
                        .ok_or_else(|| self.wrong("why", "a string", value))?;
                    why = Some(text.to_owned());
                }
                other => return Err(self.unknown_key(other, &PATH_KEYS, key)),
            }
        }
        let missing = || self.error(whole.span().start, Problem::MissingLevel(path.to_owned()));
        Ok((level.ok_or_else(missing)?, why))
    }

    /// The byte of the text where a character of a key stands; the key's start where its text holds escapes.
    fn inside(&self, span: &Range<usize>, key: &str, characters: usize) -> usize {
        let bytes: usize = key.chars().take(characters).map(char::len_utf8).sum();
        let raw = self.text.get(span.clone()).unwrap_or_default();
        match raw.find(key) {
            Some(lead) => span.start + lead + bytes,
            None => span.start,
        }
    }

    fn unknown_key(&self, word: &str, known: &[&str], key: &Key<'_>) -> PolicyError {
        let problem = Problem::UnknownKey {
            word: word.to_owned(),
            hint: Hint::new(word, known),
        };
        self.error(key.span().start, problem)
    }

    fn wrong(&self, key: &str, wanted: &'static str, value: &Value<'_>) -> PolicyError {
        let found = value.get_ref().type_str();
        self.error(
            value.span().start,
            Problem::WrongType {
                key: key.to_owned(),
                wanted,
                found,
            },
        )
    }

    fn error(&self, byte: usize, problem: Problem) -> PolicyError {
        let (line, column) = place(self.text, byte);
        PolicyError::Text {
            file: self.file.to_owned(),
            line,
            column,
            problem,
        }
    }
}

/// A key with its place.
type Key<'a> = Spanned<toml::de::DeString<'a>>;
/// A value with its place.
type Value<'a> = Spanned<DeValue<'a>>;

/// The entries of a table in the order of the text.
fn in_order<'t, 'a>(table: &'t DeTable<'a>) -> Vec<(&'t Key<'a>, &'t Value<'a>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// Line and column in characters, both from 1, of a byte of the text.
pub(super) fn place(text: &str, byte: usize) -> (usize, usize) {
    let before = text.get(..byte.min(text.len())).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    (
        before.matches('\n').count() + 1,
        before[line_start..].chars().count() + 1,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        parse(text, "policy.toml").expect_err(text).to_string()
    }

    #[test]
    fn the_whole_language() {
        let text = r#"
            version = 1
            include = ["codex"]
            default = "no-delete"
            fail-on-attempt = true
            [paths]
            "~/b" = "add-only"
            "~/a" = { level = "read-only", why = "keys" }
            "**/*.keystore" = "read-only"
            "${workspace}" = "writable"
        "#;
        let policy = parse(text, "my.toml").unwrap();
        assert_eq!(
            (policy.name.as_str(), policy.default, policy.on_attempt),
            ("my.toml", Level::NoDelete, OnAttempt::Fail)
        );
        let own: Vec<_> = policy
            .rules
            .iter()
            .filter(|r| r.policy == "my.toml")
            .map(|r| (r.text.as_str(), r.level))
            .collect();
        let expected = [
            ("~/b", Level::AddOnly),
            ("~/a", Level::ReadOnly),
            ("**/*.keystore", Level::ReadOnly),
            ("${workspace}", Level::Writable),
        ];
        assert_eq!(own, expected, "in the order of the text");
        assert_eq!(policy.rules[1].why.as_deref(), Some("keys"));
        assert_eq!(
            policy.rules[1].origin,
            Origin {
                file: "my.toml".into(),
                line: 8,
                column: 13
            }
        );
        assert_eq!(policy.rules[4].origin.file, "policy codex");
        assert_eq!(policy.rules[4].policy, "codex");
    }

    #[test]
    fn every_error_has_its_place_and_the_nearest_word() {
        let path = |line: &str| format!("version = 1\n[paths]\n{line}\n");
        for (text, expected) in [
            (
                "default = \"writable\"".to_owned(),
                "1:1: \"version = 1\" is missing",
            ),
            (
                "version = 2".into(),
                "1:11: version 2 is not known; this guard reads version 1",
            ),
            (
                "version = \"1\"".into(),
                "1:11: \"version\" must be the number 1, not string",
            ),
            (
                "version = 0x1".into(),
                "1:11: version 0x1 is not known; this guard reads version 1",
            ),
            (
                "version = 1\ndefalt = \"writable\"".into(),
                "2:1: unknown key \"defalt\"; did you mean \"default\"?",
            ),
            (
                path("\"/a\" = \"readonly\""),
                "3:8: unknown level \"readonly\"; did you mean \"read-only\"?",
            ),
            (
                path("\"/ä\" = \"readonly\""),
                "3:8: unknown level \"readonly\"; did you mean \"read-only\"?",
            ),
            (
                path("\"/a\" = 3"),
                "3:8: \"/a\" must be a level or a table of level and why, not integer",
            ),
            (
                path("\"/a\" = { why = \"x\" }"),
                "3:8: \"level\" is missing for the path \"/a\"",
            ),
            (
                path("\"/a\" = { level = \"writable\", wy = 1 }"),
                "3:30: unknown key \"wy\"; did you mean \"why\"?",
            ),
            (
                path("\"/a\" = { level = \"writable\", why = 1 }"),
                "3:36: \"why\" must be a string, not integer",
            ),
            (
                path("\"/ä/$HOME\" = \"writable\""),
                "3:5: write a variable as ${NAME}, and a dollar sign as \\$",
            ),
            (
                path("\"\\u002Fa/$HOME\" = \"writable\""),
                "3:1: write a variable as ${NAME}, and a dollar sign as \\$",
            ),
            (
                path("default = \"writable\""),
                "3:1: \"default\" is not a path; as a key of the policy it belongs above [paths]",
            ),
            (
                "version = 1\ninclude = [\"pi\", \"codx\"]".into(),
                "2:18: unknown policy \"codx\"; did you mean \"codex\"?",
            ),
            (
                "version = 1\ninclude = \"pi\"".into(),
                "2:11: \"include\" must be a list of names of shipped policies, not string",
            ),
            (
                "version = 1\ninclude = [1]".into(),
                "2:12: \"include\" must be a list of names of shipped policies, not integer",
            ),
            (
                "version = 1\nfail-on-attempt = 1".into(),
                "2:19: \"fail-on-attempt\" must be true or false, not integer",
            ),
            (
                "version = 1\npaths = 1".into(),
                "2:9: \"paths\" must be a table, not integer",
            ),
        ] {
            assert_eq!(error(&text), format!("policy.toml:{expected}"), "{text}");
        }
    }

    #[test]
    fn duplicate_keys_and_bad_toml_have_a_place() {
        let duplicate =
            error("version = 1\n[paths]\n\"/a\" = \"writable\"\n\"/a\" = \"read-only\"\n");
        assert_eq!(duplicate, "policy.toml:4:1: duplicate key");
        assert!(error("version = 1\nversion = 1").starts_with("policy.toml:2:1: "));
        let unquoted = error("version = 1\n[paths]\n~/a = \"writable\"");
        assert!(
            unquoted.starts_with("policy.toml:3:1: ") && !unquoted.contains('\n'),
            "{unquoted}"
        );
        assert!(error("").starts_with("policy.toml:1:1: "));
    }

    #[test]
    fn included_policies_count_once_and_own_keys_win() {
        let twice = parse(
            "version = 1\ninclude = [\"pi\", \"default\", \"pi\", \"ci\"]",
            "x",
        )
        .unwrap();
        let lines = twice
            .rules
            .iter()
            .filter(|r| r.text == "~/.pi/agent")
            .count();
        assert_eq!(lines, 1);
        assert_eq!(twice.on_attempt, OnAttempt::Fail, "ci says so");
        let own = parse(
            "version = 1\ninclude = [\"ci\"]\nfail-on-attempt = false\ndefault = \"read-only\"",
            "x",
        )
        .unwrap();
        assert_eq!(
            (own.on_attempt, own.default),
            (OnAttempt::Report, Level::ReadOnly)
        );
    }

    #[test]
    fn every_shipped_policy_parses() {
        for name in shipped::names() {
            let policy = parse_shipped(name, &mut BTreeSet::new()).unwrap().unwrap();
            assert_eq!(policy.name, name);
            assert!(!policy.rules.is_empty());
            assert!(
                policy
                    .rules
                    .iter()
                    .all(|r| r.level == Level::ReadOnly && r.why.is_some()),
                "{name}"
            );
            let fails = policy.on_attempt == OnAttempt::Fail;
            assert_eq!(fails, name == "ci");
        }
    }
}
