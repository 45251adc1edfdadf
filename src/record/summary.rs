//! Counting a run's attempts as they come: by rule, by operation, in groups.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use super::groups::{Group, GroupKind, Groups, Place};
use super::{Answer, Attempt, Operation, RuleCount, RuleNote};

/// What a run tried.
pub struct Summary {
    roots: Vec<Root>,
    /// The root that a rule belongs to.
    index: HashMap<Scope, usize>,
    rules: Vec<RuleCount>,
    pub(super) groups: Groups,
}

/// What refuses a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The rule with this path or glob, home as `~`.
    Rule(String),
    /// The policy's default.
    Default,
    /// guard, under every policy.
    Every,
}

impl Scope {
    /// What refused an attempt.
    #[must_use]
    pub fn of(attempt: &Attempt) -> Self {
        Self::from(attempt.rule.as_ref(), attempt.operation)
    }

    /// What refuses an operation by this rule, if there is one.
    #[must_use]
    pub fn from(rule: Option<&RuleNote>, operation: Operation) -> Self {
        match (rule, operation) {
            (Some(rule), _) => Self::Rule(rule.path.clone()),
            (None, Operation::Forbidden) => Self::Every,
            (None, _) => Self::Default,
        }
    }

    /// Where this lies as seen from `other`.
    fn relation(&self, other: &Self) -> Relation {
        let (Self::Rule(this), Self::Rule(other)) = (self, other) else {
            return Relation::Apart;
        };
        let lies = |inner: &str, outer: &str| Path::new(inner).starts_with(outer);
        if [this, other]
            .iter()
            .any(|path| path.contains(['*', '?', '[', '{']))
        {
            Relation::Apart
        } else if lies(this, other) {
            Relation::Within
        } else if lies(other, this) {
            Relation::Around
        } else {
            Relation::Apart
        }
    }
}

/// How the places of two rules lie to each other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Relation {
    /// The first in the second.
    Within,
    /// The second in the first.
    Around,
    /// Neither in the other.
    Apart,
}

/// What was tried under one rule and those for places within its place.
#[derive(Debug)]
pub struct Root {
    /// The rule, the outermost of these.
    pub scope: Scope,
    /// Attempts by what they would have done.
    pub by_operation: BTreeMap<Operation, u64>,
    rule: Option<RuleNote>,
}

impl Summary {
    /// Nothing so far; of each group the first `listed` attempts will have lines of their own.
    #[must_use]
    pub fn new(listed: u32) -> Self {
        Self {
            roots: Vec::new(),
            index: HashMap::new(),
            rules: Vec::new(),
            groups: Groups::new(listed),
        }
    }

    /// Adds one attempt. Those that were not refused count in their group only.
    pub fn count(&mut self, attempt: &Attempt) -> Place {
        let root = self.root(attempt);
        let place = self
            .groups
            .add(attempt, root, self.roots[root].rule.as_ref());
        if attempt.answer != Answer::Refused {
            return place;
        }
        let by_operation = &mut self.roots[root].by_operation;
        *by_operation.entry(attempt.operation).or_default() += 1;
        let rule = attempt.rule.as_ref().map(|rule| &rule.path);
        match self
            .rules
            .iter_mut()
            .find(|count| count.rule.as_ref() == rule)
        {
            Some(count) => count.attempts += 1,
            None => self.rules.push(RuleCount {
                rule: rule.cloned(),
                attempts: 1,
            }),
        }
        place
    }

    /// The root that an attempt belongs to. What `rm -rf` meets on its way falls under several rules, one within the other,
    /// and is one thing to whoever reads of it.
    fn root(&mut self, attempt: &Attempt) -> usize {
        let scope = Scope::of(attempt);
        if let Some(&known) = self.index.get(&scope) {
            return known;
        }
        let mut roots = self.roots.iter().map(|root| root.scope.relation(&scope));
        let index = match roots.position(|relation| relation != Relation::Apart) {
            Some(index) => index,
            None => {
                self.roots.push(Root {
                    scope: scope.clone(),
                    by_operation: BTreeMap::new(),
                    rule: attempt.rule.clone(),
                });
                self.roots.len() - 1
            }
        };
        if self.roots[index].scope.relation(&scope) == Relation::Within {
            self.roots[index].scope = scope.clone();
            self.roots[index].rule.clone_from(&attempt.rule);
            self.groups.widen(index, attempt.rule.as_ref());
        }
        self.index.insert(scope, index);
        index
    }

    /// How many there were.
    #[must_use]
    pub fn attempts(&self) -> u64 {
        self.roots.iter().map(Root::attempts).sum()
    }

    /// By what they would have done, under all rules.
    #[must_use]
    pub fn by_operation(&self) -> BTreeMap<Operation, u64> {
        let mut all = BTreeMap::new();
        for (&operation, &count) in self.roots.iter().flat_map(|root| &root.by_operation) {
            *all.entry(operation).or_default() += count;
        }
        all
    }

    /// By rule.
    #[must_use]
    pub fn by_rule(&self) -> Vec<RuleCount> {
        self.rules.clone()
    }

    /// What was tried under each root, in the order of the first attempt.
    #[must_use]
    pub fn roots(&self) -> Vec<&Root> {
        let tried = self.roots.iter().filter(|root| root.attempts() > 0);
        tried.collect()
    }

    /// What was tried, in groups, in the order of the first attempt of each.
    pub fn groups(&self) -> impl Iterator<Item = &Group> {
        self.groups.iter()
    }

    /// How many recursive deletes the attempts under one root were; none when some of them were something else.
    #[must_use]
    pub fn recursive_deletes(&self, root: &Root) -> Option<u64> {
        let mut count = 0;
        for group in self.groups.iter() {
            let scope = Scope::from(group.rule.as_ref(), group.operation);
            let here = group.answer == Answer::Refused && scope == root.scope;
            match group.kind {
                _ if !here => {}
                GroupKind::RecursiveDelete => count += 1,
                _ => return None,
            }
        }
        Some(count)
    }
}

impl Root {
    /// How many attempts there were.
    #[must_use]
    pub fn attempts(&self) -> u64 {
        self.by_operation.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::samples;

    fn counted(attempts: &[(i32, Operation)]) -> Summary {
        let mut summary = Summary::new(8);
        for &(pid, operation) in attempts {
            summary.count(&samples::attempt(pid, operation, "/home/u/.pi/agent/x"));
        }
        summary
    }

    fn recursive(summary: &Summary) -> Option<u64> {
        summary.recursive_deletes(summary.roots()[0])
    }

    #[test]
    fn many_removals_by_one_process_are_one_recursive_delete() {
        let summary = counted(&[(1, Operation::Delete); 5]);
        assert_eq!((summary.attempts(), recursive(&summary)), (5, Some(1)));
    }

    #[test]
    fn few_removals_and_other_operations_are_not() {
        assert_eq!(recursive(&counted(&[(1, Operation::Delete); 2])), None);
        let mut mixed = vec![(1, Operation::Delete); 5];
        mixed.push((1, Operation::Write));
        let summary = counted(&mixed);
        assert_eq!(recursive(&summary), None);
        assert_eq!(
            summary.by_operation(),
            BTreeMap::from([(Operation::Write, 1), (Operation::Delete, 5)])
        );
    }

    #[test]
    fn rules_within_each_other_are_one_root() {
        let mut summary = Summary::new(8);
        for rule in [
            "~/.pi/agent/sessions",
            "~/.pi/agent",
            "~/.pi/agent/npm",
            "~/.pi/agents",
        ] {
            let mut attempt = samples::attempt(1, Operation::Delete, "/x");
            attempt.rule = Some(samples::rule(rule));
            for _ in 0..2 {
                summary.count(&attempt);
            }
        }
        let roots: Vec<_> = summary
            .roots()
            .iter()
            .map(|root| (root.scope.clone(), root.attempts()))
            .collect();
        let rule = |path: &str| Scope::Rule(path.into());
        assert_eq!(roots, [(rule("~/.pi/agent"), 6), (rule("~/.pi/agents"), 2)]);
        assert_eq!(recursive(&summary), Some(1));
        assert_eq!(
            summary.groups().next().unwrap().rule,
            Some(samples::rule("~/.pi/agent"))
        );
        assert_eq!(summary.by_rule().len(), 4);
    }

    #[test]
    fn what_is_left_to_the_wall_is_no_refusal() {
        let mut summary = Summary::new(8);
        let attempt = samples::attempt(1, Operation::Write, "/x");
        summary.count(&Attempt {
            answer: Answer::LeftToWall,
            ..attempt.clone()
        });
        assert_eq!((summary.attempts(), summary.roots().len()), (0, 0));
        summary.count(&attempt);
        assert_eq!(summary.attempts(), 1);
    }
}
