//! Which rules may make a level looser than what surrounds them.
//!
//! The environment, the working directory and symbolic links are what a guarded command may have prepared for the next
//! run, so a rule that depends on them opens only what no other rule protects on its own.
#![forbid(unsafe_code)]

use std::path::Path;

use super::index::Source;
use super::resolve::{Candidate, Draft};
use super::{Place, PlannedRule, Via};
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
        // What a variable or a link puts into a workspace keeps its own level there, and does not close the rest: people
        // set such variables for one project.
        let lent = |other: &Place| {
            rule.lead == Some(Part::Workspace) && self.on_word.contains(&other.path)
        };
        let inside = |other: &&Place| {
            let theirs = &self.rules[other.rule.0];
            other.level < place.level
                && other.path != place.path
                && other.path.starts_with(&place.path)
                && !same_variable(rule, theirs)
                && !lent(other)
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
                let theirs = &self.rules[around.rule.0];
                let open = self.shows_home(around)
                    || same_variable(rule, theirs)
                    || written_within(rule, place, theirs, around);
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

    /// Whether a place is the home directory or above it, or shows a part of home elsewhere and is only there for that.
    pub(super) fn shows_home(&self, place: &Place) -> bool {
        let homes = |other: &Place| other.rule == place.rule && self.is_home_or_above(other);
        self.is_home_or_above(place) || (place.via != Via::Named && self.places.iter().any(homes))
    }

    /// Whether this is the home directory or an ancestor of it, by path or by identity: through another mount, too.
    pub(super) fn is_home_or_above(&self, place: &Place) -> bool {
        self.home.starts_with(&place.path)
            || place
                .identity
                .is_some_and(|identity| self.home_chain.contains(&identity))
    }
}

/// Whether both rules start with the same variable: then they were written with regard to each other. The folders of
/// version control belong to the workspace.
fn same_variable(a: &PlannedRule, b: &PlannedRule) -> bool {
    match (&a.lead, &b.lead) {
        (Some(Part::Env { name, .. }), Some(Part::Env { name: other, .. })) => name == other,
        (Some(Part::Workspace | Part::Vcs), Some(Part::Workspace | Part::Vcs))
        | (Some(Part::Tmp), Some(Part::Tmp)) => true,
        _ => false,
    }
}

/// Whether the author wrote one place inside another, and both are reached through the same links.
fn written_within(rule: &PlannedRule, place: &Place, theirs: &PlannedRule, around: &Place) -> bool {
    let authors = |rule: &PlannedRule| matches!(rule.lead, Some(Part::Home | Part::Text(_)));
    let rest = |whole: &Path, start: &Path| whole.strip_prefix(start).map(Path::to_path_buf);
    match (
        rest(Path::new(&rule.shown), Path::new(&theirs.shown)),
        rest(&place.path, &around.path),
    ) {
        // The text of a glob goes on after its directory.
        (Ok(written), Ok(found)) => authors(rule) && authors(theirs) && written.starts_with(found),
        _ => false,
    }
}
