//! From TOML to a [`Policy`]: every key, type, level and path is checked, and each error has its place.
#![forbid(unsafe_code)]

mod included;
mod record;

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::shipped::Table;
use super::{
    Destination, Firmness, Hint, Level, OnAttempt, Origin, Pattern, PatternProblem, Policy,
    PolicyError, Problem, Recording, Rule, Text, shipped,
};

pub use included::shipped_policy;
use included::{Seen, Strictest, include};

/// The keys of a policy.
const KEYS: [&str; 8] = [
    "version",
    "source",
    "include",
    "without",
    "default",
    "fail-on-attempt",
    "record",
    "paths",
];
/// The keys of a path's table.
const PATH_KEYS: [&str; 3] = ["level", "why", "source"];

/// Parses the text of a policy file, including the shipped policies that it names.
///
/// `file` is how the person named it, for messages.
///
/// # Errors
/// The first thing that is wrong, with its place.
pub fn parse(text: &str, file: &str) -> Result<Policy, PolicyError> {
    Parser {
        text,
        lines: line_starts(text),
        file,
    }
    .policy(&mut Seen::new())
}

/// One text that is being parsed.
struct Parser<'a> {
    text: &'a str,
    /// The byte where each line starts.
    lines: Vec<usize>,
    file: &'a str,
}

/// What a rule says of its path.
struct Said {
    level: Level,
    why: Option<Text>,
    source: Option<Text>,
}

/// The values of the top level, before the rules.
#[derive(Default)]
struct Head {
    default: Option<Level>,
    on_attempt: Option<OnAttempt>,
    include: Vec<(String, Range<usize>)>,
    without: Vec<(String, Range<usize>)>,
    record: Option<Recording>,
    also: Vec<Destination>,
    source: Option<Text>,
    rules: Vec<Rule>,
    versions: usize,
}

impl Parser<'_> {
    /// The whole policy.
    fn policy(&self, seen: &mut Seen) -> Result<Policy, PolicyError> {
        let table = DeTable::parse(self.text).map_err(|error| {
            let message = error.message().replace('\n', ", ");
            self.error(error.span().unwrap_or(0..0).start, Problem::Toml(message))
        })?;
        let mut head = Head::default();
        for (key, value) in in_order(table.get_ref()) {
            self.key(&mut head, key, value)?;
        }
        let default = head.source.take();
        for rule in head.rules.iter_mut().filter(|rule| rule.source.is_none()) {
            rule.source.clone_from(&default);
        }
        if head.versions == 0 {
            return Err(self.error(0, Problem::MissingVersion));
        }
        self.with_includes(head, seen)
    }

    /// Adds what is included. A key of the including policy wins; else the strictest of the included ones.
    fn with_includes(&self, head: Head, seen: &mut Seen) -> Result<Policy, PolicyError> {
        let mut strictest = Strictest::default();
        let mut rules = head.rules;
        for name in &head.without {
            seen.insert(self.table(name)?.name);
        }
        for name in &head.include {
            let table = self.table(name)?;
            if !seen.contains(table.name) {
                strictest.add(&include(table, seen, &mut rules)?);
            }
        }
        Ok(Policy {
            name: Text::Owned(self.file.to_owned()),
            default: head
                .default
                .or(strictest.default)
                .unwrap_or(Level::Writable),
            on_attempt: head
                .on_attempt
                .or(strictest.on_attempt)
                .unwrap_or(OnAttempt::Report),
            record: head.record,
            also: head.also,
            rules,
        })
    }

    /// The shipped policy of this name.
    fn table(&self, (name, span): &(String, Range<usize>)) -> Result<&'static Table, PolicyError> {
        shipped::table(name).ok_or_else(|| {
            let word = name.clone();
            let hint = Hint::new(name, &shipped::names());
            self.error(span.start, Problem::UnknownPolicy { word, hint })
        })
    }

    /// One key of the top level.
    fn key(&self, head: &mut Head, key: &Key<'_>, value: &Value<'_>) -> Result<(), PolicyError> {
        match key.get_ref().as_ref() {
            "version" => {
                head.versions += 1;
                self.version(value)
            }
            "source" => {
                head.source = Some(self.string("source", value)?);
                Ok(())
            }
            "include" => {
                head.include = self.names("include", value)?;
                Ok(())
            }
            "without" => {
                head.without = self.names("without", value)?;
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
                head.on_attempt = Some(on_attempt(on));
                Ok(())
            }
            "record" => self.record(head, value),
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
    fn names(
        &self,
        key: &str,
        value: &Value<'_>,
    ) -> Result<Vec<(String, Range<usize>)>, PolicyError> {
        let wanted = "a list of names of shipped policies";
        let list = value
            .get_ref()
            .as_array()
            .ok_or_else(|| self.wrong(key, wanted, value))?;
        list.iter()
            .map(|name| {
                let text = name
                    .get_ref()
                    .as_str()
                    .ok_or_else(|| self.wrong(key, wanted, name))?;
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
        let said = match value.get_ref() {
            DeValue::Table(table) => self.rule_table(text, table, value)?,
            DeValue::String(_) => Said {
                level: self.level(text, value)?,
                why: None,
                source: None,
            },
            _ => return Err(self.wrong(text, "a level or a table of level and why", value)),
        };
        let (line, column) = self.place(key.span().start);
        let file = || Text::Owned(self.file.to_owned());
        Ok(Rule {
            text: Text::Owned(text.to_owned()),
            pattern,
            level: said.level,
            why: said.why,
            source: said.source,
            policy: file(),
            origin: Origin {
                file: file(),
                line,
                column,
            },
            firmness: Firmness::Ordinary,
        })
    }

    /// `{ level = "...", why = "...", source = "..." }`.
    fn rule_table(
        &self,
        path: &str,
        table: &DeTable<'_>,
        whole: &Value<'_>,
    ) -> Result<Said, PolicyError> {
        let (mut level, mut why, mut source) = (None, None, None);
        for (key, value) in in_order(table) {
            match key.get_ref().as_ref() {
                "level" => level = Some(self.level("level", value)?),
                "why" => why = Some(self.string("why", value)?),
                "source" => source = Some(self.string("source", value)?),
                other => return Err(self.unknown_key(other, &PATH_KEYS, key)),
            }
        }
        let missing = || self.error(whole.span().start, Problem::MissingLevel(path.to_owned()));
        let level = level.ok_or_else(missing)?;
        Ok(Said { level, why, source })
    }

    /// A string that stands for itself.
    fn string(&self, key: &str, value: &Value<'_>) -> Result<Text, PolicyError> {
        let text = value.get_ref().as_str();
        let text = text.ok_or_else(|| self.wrong(key, "a string", value))?;
        Ok(Text::Owned(text.to_owned()))
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

    /// As [`place`].
    fn place(&self, byte: usize) -> (usize, usize) {
        let line = self.lines.partition_point(|start| *start <= byte).max(1);
        let start = self.lines.get(line - 1).copied().unwrap_or(0);
        let before = self.text.get(start..byte.min(self.text.len()));
        (line, before.unwrap_or_default().chars().count() + 1)
    }

    fn error(&self, byte: usize, problem: Problem) -> PolicyError {
        let (line, column) = self.place(byte);
        PolicyError::Text {
            file: self.file.to_owned(),
            line,
            column,
            problem,
        }
    }
}

/// What `fail-on-attempt` says.
fn on_attempt(fail: bool) -> OnAttempt {
    match fail {
        true => OnAttempt::Fail,
        false => OnAttempt::Report,
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

/// The byte where each line starts.
fn line_starts(text: &str) -> Vec<usize> {
    let breaks = text.match_indices('\n').map(|(at, _)| at + 1);
    std::iter::once(0).chain(breaks).collect()
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
mod tests;
