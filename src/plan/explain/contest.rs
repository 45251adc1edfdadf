//! Which rules wanted a path, and which of them would hold without the one that won.
#![forbid(unsafe_code)]

use std::cmp::{Ordering, Reverse};
use std::path::Path;

use crate::plan::index::Reach;
use crate::plan::{Plan, RuleId};
use crate::policy::{Firmness, Level};

/// What would hold without the rule that holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beaten {
    /// Another rule, and how specific it is beside the one that holds.
    Rule(RuleId, Specificity),
    /// The policy's default.
    Default(Level),
}

/// How specific a beaten rule is beside the one that beat it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Specificity {
    /// Less: the usual case.
    Less,
    /// As specific: the stricter one holds.
    Equal,
    /// More, but nothing can be looser than the one that holds.
    More,
}

/// A rule that concerns a path.
#[derive(Clone, Copy, Debug)]
struct Contender {
    rule: RuleId,
    level: Level,
    /// Components of the path that it names or matches: more of them are more specific.
    depth: usize,
    reach: Reach,
}

impl Plan {
    /// What would hold for `path` without `winner`.
    pub(super) fn beaten(&self, path: &Path, winner: RuleId) -> Beaten {
        let all = self.contenders(path);
        let depth = all
            .iter()
            .filter(|one| one.rule == winner)
            .map(|one| one.depth)
            .max();
        let others = || all.iter().filter(|one| one.rule != winner);
        let full = others().filter(|one| one.reach == Reach::Full);
        let specific = full.min_by_key(|one| (Reverse(one.depth), one.level, one.rule));
        let ceiling = others()
            .filter(|one| one.reach == Reach::OnlyStricter)
            .min_by_key(|one| one.level);
        let level = specific.map_or(self.default, |one| one.level);
        let next = match ceiling {
            Some(ceiling) if ceiling.level < level => Some(ceiling),
            _ => specific,
        };
        next.map_or(Beaten::Default(self.default), |next| {
            let specificity = match next.depth.cmp(&depth.unwrap_or(usize::MAX)) {
                Ordering::Less => Specificity::Less,
                Ordering::Equal => Specificity::Equal,
                Ordering::Greater => Specificity::More,
            };
            Beaten::Rule(next.rule, specificity)
        })
    }

    /// Every rule that names or matches `path` or a directory above it. A rule that lost its place to one for the same
    /// path is among them: the index has forgotten it, its targets have not.
    fn contenders(&self, path: &Path) -> Vec<Contender> {
        let depth = |path: &Path| path.components().count();
        let mut found = Vec::new();
        for (number, rule) in self.rules.iter().enumerate() {
            let targets = rule
                .targets
                .iter()
                .filter(|target| path.starts_with(&target.path));
            found.extend(targets.map(|target| Contender {
                rule: RuleId(number),
                level: rule.level,
                depth: depth(&target.path),
                reach: match rule.firmness {
                    Firmness::Firm => Reach::OnlyStricter,
                    Firmness::Ordinary | Firmness::Weak => Reach::Full,
                },
            }));
        }
        for glob in self.index.globs() {
            if let Some(matched) = path.ancestors().find(|above| glob.matches(above)) {
                found.push(Contender {
                    rule: glob.rule,
                    level: glob.level,
                    depth: depth(matched),
                    reach: glob.reach,
                });
            }
        }
        found
    }
}
