//! Counting a run's attempts as they come: by rule, by operation, and removals by process.

use std::collections::{BTreeMap, HashMap};

use super::{Answer, Attempt, Operation, RuleCount};

/// From this many removals below one rule on, what a process does is called a recursive delete.
const RECURSIVE: u64 = 3;

/// What a run tried.
#[derive(Debug, Default)]
pub struct Summary {
    roots: Vec<Root>,
    index: HashMap<Scope, usize>,
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
        match (&attempt.rule, attempt.operation) {
            (Some(rule), _) => Self::Rule(rule.path.clone()),
            (None, Operation::Forbidden) => Self::Every,
            (None, _) => Self::Default,
        }
    }
}

/// What was tried under one rule.
#[derive(Debug)]
pub struct Root {
    /// The rule.
    pub scope: Scope,
    /// Attempts by what they would have done.
    pub by_operation: BTreeMap<Operation, u64>,
    removals: HashMap<i32, u64>,
}

impl Summary {
    /// Adds one attempt, if it was refused.
    pub fn count(&mut self, attempt: &Attempt) {
        if attempt.answer != Answer::Refused {
            return;
        }
        let at = *self
            .index
            .entry(Scope::of(attempt))
            .or_insert_with_key(|scope| {
                let scope = scope.clone();
                self.roots.push(Root {
                    scope,
                    by_operation: BTreeMap::new(),
                    removals: HashMap::new(),
                });
                self.roots.len() - 1
            });
        let root = &mut self.roots[at];
        *root.by_operation.entry(attempt.operation).or_default() += 1;
        if attempt.operation == Operation::Delete {
            *root.removals.entry(attempt.pid).or_default() += 1;
        }
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
        let rule = |scope: &Scope| match scope {
            Scope::Rule(path) => Some(path.clone()),
            Scope::Default | Scope::Every => None,
        };
        self.roots
            .iter()
            .map(|root| RuleCount {
                rule: rule(&root.scope),
                attempts: root.attempts(),
            })
            .collect()
    }

    /// What was tried under each rule, in the order of the first attempt.
    #[must_use]
    pub fn roots(&self) -> &[Root] {
        &self.roots
    }
}

impl Root {
    /// How many attempts there were.
    #[must_use]
    pub fn attempts(&self) -> u64 {
        self.by_operation.values().sum()
    }

    /// How many recursive deletes these attempts were; none when some of them were something else.
    #[must_use]
    pub fn recursive_deletes(&self) -> Option<usize> {
        let only = self
            .by_operation
            .keys()
            .all(|&operation| operation == Operation::Delete)
            && self.removals.values().all(|&count| count >= RECURSIVE);
        only.then_some(self.removals.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::samples;

    fn counted(attempts: &[(i32, Operation)]) -> Summary {
        let mut summary = Summary::default();
        for &(pid, operation) in attempts {
            summary.count(&samples::attempt(pid, operation, "/home/u/.pi/agent/x"));
        }
        summary
    }

    #[test]
    fn many_removals_by_one_process_are_one_recursive_delete() {
        let summary = counted(&[(1, Operation::Delete); 5]);
        assert_eq!(
            (summary.attempts(), summary.roots()[0].recursive_deletes()),
            (5, Some(1))
        );
    }

    #[test]
    fn single_removals_and_other_operations_are_not() {
        assert_eq!(
            counted(&[(1, Operation::Delete), (2, Operation::Delete)]).roots()[0]
                .recursive_deletes(),
            None
        );
        let mut mixed = vec![(1, Operation::Delete); 5];
        mixed.push((1, Operation::Write));
        let summary = counted(&mixed);
        assert_eq!(summary.roots()[0].recursive_deletes(), None);
        assert_eq!(
            summary.by_operation(),
            BTreeMap::from([(Operation::Write, 1), (Operation::Delete, 5)])
        );
    }

    #[test]
    fn what_is_left_to_the_wall_is_no_refusal() {
        let mut summary = Summary::default();
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
