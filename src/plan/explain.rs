//! What `guard explain` and `guard check` say, as values.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};

use super::index::{Hit, Source};
use super::walk::{Position, Walker};
use super::{Below, Identity, Plan, PlanError, PlannedRule, RuleId, Target, expand};
use crate::policy::Level;

/// Who refuses what a level forbids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enforcer {
    /// The kernel's wall, which holds even without the supervisor, and the supervisor, which says why.
    WallAndSupervisor,
    /// The supervisor: the kernel cannot tell this path from those beside it.
    SupervisorAlone,
    /// Nobody: the path is writable.
    Nobody,
}

/// The rule that holds for a path, and why.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The path as asked.
    pub asked: PathBuf,
    /// Where it leads, without symbolic links.
    pub path: PathBuf,
    /// What is there.
    pub identity: Option<Identity>,
    /// The level as written.
    pub level: Level,
    /// The level that this version enforces.
    pub enforced: Level,
    /// The rule; none where the policy's `default` holds.
    pub rule: Option<RuleId>,
    /// The next rule that would hold without that one.
    pub beaten: Option<RuleId>,
    /// Who enforces it.
    pub enforcer: Enforcer,
    /// The rule because of which the path cannot be renamed or removed although it is writable.
    pub kept_for: Option<RuleId>,
    /// More to say, in words.
    pub notes: Vec<String>,
}

/// One line of `guard check`.
#[derive(Debug)]
pub struct Row<'p> {
    /// The rule.
    pub rule: &'p PlannedRule,
    /// The paths that it stands for, each with the stricter rule for the same path, if there is one.
    pub targets: Vec<(&'p Target, Option<RuleId>)>,
}

impl Plan {
    /// Says which rule holds for an absolute path.
    ///
    /// # Errors
    /// Something on the way cannot be looked at.
    pub fn explain(&self, asked: &Path) -> Result<Explanation, PlanError> {
        let walked = Walker::default().walk(&expand::normalise(asked))?;
        let path = walked.path.unwrap_or_else(|| asked.to_path_buf());
        let hit = self.index.find(&self.places, &path);
        let rule = self.index.rule(&self.places, hit.source);
        let beaten = self
            .index
            .hits(&self.places, &path)
            .filter_map(|hit| self.index.rule(&self.places, hit.source));
        let beaten = beaten.into_iter().find(|other| Some(*other) != rule);
        let kept_for = self
            .kept
            .iter()
            .find(|kept| kept.path == path)
            .map(|kept| kept.rule);
        let mut notes = Vec::new();
        for link in walked
            .links
            .iter()
            .filter(|link| link.position == Position::Last)
        {
            let level = self.lookup(&link.path).level;
            notes.push(format!(
                "{} is a symbolic link; the link itself is {level}",
                self.show(&link.path)
            ));
        }
        notes.extend(self.notes(&path, walked.identity, hit));
        Ok(Explanation {
            asked: asked.to_path_buf(),
            identity: walked.identity,
            level: hit.level,
            enforced: hit.level.enforced(),
            rule,
            beaten,
            enforcer: enforcer(hit),
            kept_for,
            notes,
            path,
        })
    }

    /// What else there is to say of a path.
    fn notes(&self, path: &Path, identity: Option<Identity>, hit: Hit) -> Vec<String> {
        let mut notes = Vec::new();
        let writable = hit.level.enforced() == Level::Writable;
        if let Some(text) = enforced_as(hit.level) {
            notes.push(text);
        }
        if identity.is_none() && !writable {
            notes.push("nothing is there yet, and nothing may be put there".to_owned());
        }
        if self.names_below(path) == Below::Stricter {
            notes.push(format!(
                "something below or behind {} is protected: its name stays, and entries directly in it are made by the supervisor",
                self.show(path)
            ));
        } else if writable
            && path
                .parent()
                .is_some_and(|parent| self.names_below(parent) == Below::Stricter)
        {
            notes.push("it lies beside something protected: the supervisor makes and removes it for the command".to_owned());
        }
        if writable && self.strict_globs_below(path) == Below::Stricter {
            notes.push(
                "a glob may protect what lies below: the supervisor looks at each name".to_owned(),
            );
        }
        notes
    }

    /// Every rule with what it means here, in the order of the policy.
    #[must_use]
    pub fn table(&self) -> Vec<Row<'_>> {
        let stricter = |rule: &PlannedRule, target: &Target| {
            let place = &self.places[self.index.exact(&target.path)?];
            (place.level < rule.level).then_some(place.rule)
        };
        self.rules
            .iter()
            .map(|rule| Row {
                rule,
                targets: rule
                    .targets
                    .iter()
                    .map(|target| (target, stricter(rule, target)))
                    .collect(),
            })
            .collect()
    }
}

/// What this version does with a level that it does not know to enforce yet.
fn enforced_as(level: Level) -> Option<String> {
    let enforced = level.enforced();
    (enforced != level).then(|| format!("{level} is enforced as {enforced} for now"))
}

/// Who refuses.
fn enforcer(hit: Hit) -> Enforcer {
    match (hit.level.enforced(), hit.source) {
        (Level::Writable, _) => Enforcer::Nobody,
        (_, Source::Glob(_)) => Enforcer::SupervisorAlone,
        (_, Source::Place(_) | Source::Default) => Enforcer::WallAndSupervisor,
    }
}
