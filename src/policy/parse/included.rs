//! The policies that come with guard. Their text was taken apart when guard was built, so that a start has hundreds of
//! rules for little more than their memory: nothing of their text is copied, and their wildcards are left to be compiled
//! by who asks for them (a test compiles all).
#![forbid(unsafe_code)]

use std::collections::BTreeSet;

use super::on_attempt;
use crate::policy::pattern::Fault;
use crate::policy::shipped::{self, Line, Table};
use crate::policy::{Firmness, Level, OnAttempt, Origin, Pattern, Policy, PolicyError, Rule, Text};

/// The names of the shipped policies that are part of a policy already: each counts once, so that a circle of includes
/// ends.
pub(super) type Seen = BTreeSet<&'static str>;

/// A shipped policy; none when there is none of this name.
pub fn shipped_policy(name: &str) -> Option<Result<Policy, PolicyError>> {
    let table = shipped::table(name)?;
    let mut rules = Vec::with_capacity(512);
    let keys = include(table, &mut Seen::new(), &mut rules);
    Some(keys.map(|keys| Policy {
        name: Text::Borrowed(table.name),
        default: keys.default,
        on_attempt: keys.on_attempt,
        record: None,
        also: Vec::new(),
        rules,
    }))
}

/// What a policy says besides its rules.
pub(super) struct Keys {
    pub(super) default: Level,
    pub(super) on_attempt: OnAttempt,
}

/// The keys of several policies that are included in one: the strictest of each.
#[derive(Default)]
pub(super) struct Strictest {
    pub(super) default: Option<Level>,
    pub(super) on_attempt: Option<OnAttempt>,
}

impl Strictest {
    /// One more.
    pub(super) fn add(&mut self, keys: &Keys) {
        self.default = self.default.into_iter().chain([keys.default]).min();
        if keys.on_attempt == OnAttempt::Fail {
            self.on_attempt = Some(OnAttempt::Fail);
        }
    }
}

/// Adds a policy's rules, and then those that it includes.
pub(super) fn include(
    table: &'static Table,
    seen: &mut Seen,
    rules: &mut Vec<Rule>,
) -> Result<Keys, PolicyError> {
    seen.insert(table.name);
    for line in table.rules {
        rules.push(rule(table, line).map_err(|fault| PolicyError::Text {
            file: table.file.to_owned(),
            line: line.line,
            column: line.column + fault.offset,
            problem: fault.problem.into(),
        })?);
    }
    seen.extend(table.without);
    let mut strictest = Strictest::default();
    for name in table.include {
        // The build knows every name, and the tests read every policy.
        if let Some(table) = shipped::table(name).filter(|table| !seen.contains(table.name)) {
            strictest.add(&include(table, seen, rules)?);
        }
    }
    let default = table.default.or(strictest.default);
    let own = table.fail_on_attempt.map(on_attempt);
    Ok(Keys {
        default: default.unwrap_or(Level::Writable),
        on_attempt: own.or(strictest.on_attempt).unwrap_or(OnAttempt::Report),
    })
}

fn rule(table: &'static Table, line: &'static Line) -> Result<Rule, Fault> {
    Ok(Rule {
        text: Text::Borrowed(line.path),
        pattern: Pattern::shipped(line.path)?,
        level: line.level,
        why: line.why.map(Text::Borrowed),
        source: line.source.or(table.source).map(Text::Borrowed),
        policy: Text::Borrowed(table.name),
        origin: Origin {
            file: Text::Borrowed(table.file),
            line: line.line,
            column: line.column,
        },
        firmness: Firmness::Ordinary,
    })
}
