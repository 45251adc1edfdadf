//! Which rules may make a level looser than what surrounds them.
//!
//! The environment, the working directory and symbolic links are what a guarded command may have prepared for the next
//! run, so a rule that depends on them opens only what no other rule protects on its own.
#![forbid(unsafe_code)]

use std::path::Path;

use super::expand::Trust;
use super::index::Source;
use super::resolve::{Candidate, Draft};
use super::{Place, PlannedRule, Via};
use crate::policy::{Firmness, Level, Part};

impl Draft<'_> {
    /// Why a candidate that depends on its surroundings does not get its level; none where it does. `tail` is what a glob
    /// has after its directory, which is the candidate then.
    pub(super) fn refusal(&self, candidate: &Candidate, tail: Option<&str>) -> Option<String> {
        let place = &candidate.place;
        let hit = self.index.find(&self.places, &place.path);
        let rule = &self.rules[place.rule.0];
        let shown = self.show(&place.path);
        let looser = place.level > hit.level;
        // A variable that names so much is a mistake worth a word even where all but home is open anyway. The working
        // directory may well be the root directory.
        let odd = matches!(rule.lead, Some(Part::Env { .. } | Part::Tmp))
            && place.level == Level::Writable
            && hit.source == Source::Default;
        if (looser || odd) && self.is_home_or_above(place) {
            return Some(format!("{shown} is or holds the home directory"));
        }
        if !looser {
            return None;
        }
        let around = match hit.source {
            Source::Default => None,
            Source::Place(index) => {
                let around = &self.places[index];
                let theirs = &self.rules[around.rule.0];
                let open = self.shows_home(around)
                    || same_variable(rule, theirs)
                    || within((rule, tail), place, (theirs, None), around);
                if open && candidate.trust == Trust::Link && self.shows_home(around) {
                    return Some(format!(
                        "a symbolic link leads to {shown}, in the home directory"
                    ));
                }
                let words = || match around.path == place.path {
                    true => format!("{shown} is protected itself"),
                    false => format!("{shown} is in the protected {}", self.show(&around.path)),
                };
                (!open).then(words)
            }
            Source::Glob(index) => {
                let glob = self.index.globs()[index].rule;
                Some(format!(
                    "{shown} is protected by {}",
                    self.rules[glob.0].shown
                ))
            }
        };
        around.or_else(|| {
            let root = self.holds(place, tail)?;
            let root = self.show(&root.path);
            Some(format!("{shown} holds the protected {root}"))
        })
    }

    /// Something stricter below a place that is no concern of its rule.
    fn holds(&self, place: &Place, tail: Option<&str>) -> Option<&Place> {
        if tail.is_some_and(|tail| !tail.contains('/') && !tail.contains("**")) {
            // A glob for entries of its directory reaches no further: what is named there is as specific.
            return None;
        }
        let rule = &self.rules[place.rule.0];
        // What a variable or a link puts into a workspace keeps its own level there, and does not close the rest: people
        // set such variables for one project.
        let lent = |other: &Place| {
            rule.lead == Some(Part::Workspace) && self.on_word.contains(&other.path)
        };
        let inside = |other: &Place| {
            let theirs = &self.rules[other.rule.0];
            other.level < place.level
                && other.path != place.path
                && !same_variable(rule, theirs)
                && !within((theirs, None), other, (rule, tail), place)
                && !lent(other)
                && self.binary != Some(other.rule)
        };
        // The order of the rules tells which of several is named.
        let below = self.index.places_below(&place.path);
        let first = below.filter(|at| inside(&self.places[*at])).min();
        first.map(|at| &self.places[at])
    }

    /// Why a candidate cannot be taken whoever wrote it: guard's own files stay closed.
    pub(super) fn firm_refusal(&self, candidate: &Candidate) -> Option<String> {
        let place = &candidate.place;
        let firm = self.index.firm_above(&place.path)?;
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

/// Whether the author wrote one place inside another, and both are reached through the same links. A rule comes with the
/// part of its text that is a glob's.
fn within(
    (rule, tail): (&PlannedRule, Option<&str>),
    place: &Place,
    (theirs, their_tail): (&PlannedRule, Option<&str>),
    around: &Place,
) -> bool {
    let authors = |rule: &PlannedRule| matches!(rule.lead, Some(Part::Home | Part::Text(_)));
    let written = written(rule, tail).strip_prefix(written(theirs, their_tail));
    let found = place.path.strip_prefix(&around.path);
    authors(rule) && authors(theirs) && written.is_ok() && written.ok() == found.ok()
}

/// The path of a rule as it is written, without a glob's wildcards.
fn written<'r>(rule: &'r PlannedRule, tail: Option<&str>) -> &'r Path {
    let text = tail.and_then(|tail| rule.shown.strip_suffix(tail));
    Path::new(text.unwrap_or(&rule.shown))
}
