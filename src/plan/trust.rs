//! Which rules may make a level looser than what surrounds them.
//!
//! The environment, the working directory and symbolic links are what a guarded command may have prepared for the next
//! run, so a rule that depends on them opens only what no other rule protects on its own.
#![forbid(unsafe_code)]

use super::index::Source;
use super::resolve::{Candidate, Draft};
use super::{Place, PlannedRule};
use crate::policy::{Firmness, Part};

impl Draft<'_> {
    /// Why a candidate that depends on its surroundings does not get its level; none where it does.
    pub(super) fn refusal(&self, candidate: &Candidate) -> Option<String> {
        let place = &candidate.place;
        let hit = self.index.find(&self.places, &place.path);
        if place.level <= hit.level {
            return None;
        }
        let shown = self.show(&place.path);
        if self.is_home_or_above(place) {
            return Some(format!("{shown} is or holds the home directory"));
        }
        let rule = &self.rules[place.rule.0];
        let inside = |other: &&Place| {
            let theirs = &self.rules[other.rule.0];
            other.level < place.level
                && other.path != place.path
                && other.path.starts_with(&place.path)
                && !same_variable(rule, theirs)
                && self.binary != Some(other.rule)
        };
        if let Some(root) = self.places.iter().find(inside) {
            return Some(format!(
                "{shown} holds the protected {}",
                self.show(&root.path)
            ));
        }
        match hit.source {
            Source::Default => None,
            Source::Place(index) => {
                let around = &self.places[index];
                let open = self.is_home_or_above(around)
                    || same_variable(rule, &self.rules[around.rule.0]);
                (!open).then(|| format!("{shown} is in the protected {}", self.show(&around.path)))
            }
            Source::Glob(index) => {
                let glob = self.index.globs()[index].rule;
                Some(format!(
                    "{shown} is protected by {}",
                    self.rules[glob.0].shown
                ))
            }
        }
    }

    /// Why a candidate cannot be taken whoever wrote it: guard's own files stay closed.
    pub(super) fn firm_refusal(&self, candidate: &Candidate) -> Option<String> {
        let place = &candidate.place;
        let firm = self
            .index
            .firm
            .iter()
            .find(|firm| place.path.starts_with(firm))?;
        let own = self.rules[place.rule.0].firmness == Firmness::Firm;
        let looser = place.level > self.index.find(&self.places, firm).level;
        (looser && !own).then(|| format!("{} is guard's own and stays read-only", self.show(firm)))
    }

    /// Whether this is the home directory or an ancestor of it, by path or by identity: through another mount, too.
    pub(super) fn is_home_or_above(&self, place: &Place) -> bool {
        self.home.starts_with(&place.path)
            || place
                .identity
                .is_some_and(|identity| self.home_chain.contains(&identity))
    }
}

/// Whether both rules start with the same variable: then they were written with regard to each other.
fn same_variable(a: &PlannedRule, b: &PlannedRule) -> bool {
    match (&a.lead, &b.lead) {
        (Some(Part::Env { name, .. }), Some(Part::Env { name: other, .. })) => name == other,
        (Some(Part::Workspace), Some(Part::Workspace)) | (Some(Part::Tmp), Some(Part::Tmp)) => true,
        _ => false,
    }
}
