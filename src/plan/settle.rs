//! Settles which of the rules that a policy asks for hold, in an order that no untrusted value can turn to its favour.
#![forbid(unsafe_code)]

use std::path::PathBuf;

use super::expand::Trust;
use super::index::{GlobRule, Reach};
use super::resolve::{Asked, Candidate, Draft, GlobCandidate};
use super::walk::Seen;
use super::{Effect, Place, PlanError, PlannedRule, RuleId, Via};
use crate::policy::{Level, Part};

/// Why a rule does nothing where nothing is to be kept.
const IDLE: &str = "nothing is there, and what a run makes is its own";
/// Why a rule does nothing that says what another one says.
const SAME: &str = "another rule says the same";

impl Draft<'_> {
    /// guard's own files come first, with all their aliases.
    pub(super) fn close(&mut self, firm: Vec<Candidate>) -> Result<(), PlanError> {
        let added = firm
            .into_iter()
            .filter_map(|candidate| self.take(candidate))
            .collect();
        self.spread(added)?;
        let closed = self.places.iter().map(|place| place.path.clone());
        self.index.set_firm(closed.collect());
        Ok(())
    }

    /// The policy's rules: first what the author says and what is strictest, then their aliases, then what depends on the
    /// surroundings, the stricter first.
    pub(super) fn settle(&mut self, asked: Asked) -> Result<(), PlanError> {
        let certain = |c: &Candidate| c.trust == Trust::Author || c.place.level == Level::ReadOnly;
        let (mut first, second): (Vec<_>, Vec<_>) = asked.places.into_iter().partition(certain);
        // Of equals the author's is the one that the others are measured against.
        first.sort_by_key(|candidate| candidate.trust != Trust::Author);
        let mut added = Vec::new();
        for candidate in first {
            if candidate.trust != Trust::Author && self.is_home_or_above(&candidate.place) {
                let rule = &self.rules[candidate.place.rule.0];
                let (shown, level) = (self.show(&candidate.place.path), rule.level);
                self.notices.push(format!(
                    "the environment makes all of {shown} {level} ({})",
                    rule.origin
                ));
            }
            match self.firm_refusal(&candidate) {
                Some(why) => self.ignore(candidate.place.rule, &why),
                None => added.extend(self.take(candidate)),
            }
        }
        self.spread(added)?;
        // The author's first: what a variable asks for again is nothing new.
        let mut globs = asked.globs;
        globs.sort_by_key(|glob| glob.base.trust != Trust::Author);
        for glob in globs {
            self.settle_glob(glob)?;
        }
        self.settle_by_surroundings(second)
    }

    /// What depends on the surroundings, the stricter first.
    fn settle_by_surroundings(&mut self, mut asked: Vec<Candidate>) -> Result<(), PlanError> {
        asked.sort_by_key(|candidate| candidate.place.level);
        // Those that may have nothing to say wait until it is known what surrounds them.
        let (late, mut asked): (Vec<_>, Vec<_>) =
            asked.into_iter().partition(|c| self.is_for_old_files(c));
        asked.extend(late);
        for candidate in asked {
            if self.is_idle(&candidate)? {
                self.rules[candidate.place.rule.0].effect = Effect::Nothing(IDLE.to_owned());
                continue;
            }
            if self.says_nothing_new(&candidate.place) {
                self.rules[candidate.place.rule.0].effect = Effect::Nothing(SAME.to_owned());
                continue;
            }
            match self
                .firm_refusal(&candidate)
                .or_else(|| self.refusal(&candidate, None))
            {
                // Folders of settings are often links, and what is not there is not missed.
                Some(why)
                    if candidate.place.identity.is_none()
                        && (candidate.trust == Trust::Link
                            || self.is_for_old_files(&candidate)) =>
                {
                    self.rules[candidate.place.rule.0].effect = Effect::Ignored(why);
                }
                Some(why) => self.ignore(candidate.place.rule, &why),
                None => {
                    let added = self.take(candidate);
                    self.spread(Vec::from_iter(added))?;
                }
            }
        }
        Ok(())
    }

    /// Adds a place, noting on whose word it holds. What shows a part of home at another path is no rule for exactly that
    /// path, so one that names it wins.
    fn take(&mut self, candidate: Candidate) -> Option<usize> {
        let Candidate { place, trust } = candidate;
        let there = self.index.exact(&place.path);
        let shown = there.filter(|index| {
            self.places[*index].via != Via::Named && self.shows_home(&self.places[*index])
        });
        match trust {
            Trust::Author => !self.on_word.is_empty() && self.on_word.remove(&place.path),
            Trust::Surroundings | Trust::Link => {
                there.is_none() && self.on_word.insert(place.path.clone())
            }
        };
        if let Some(index) = shown {
            self.places[index] = place.clone();
        }
        self.place(place).or(shown)
    }

    /// Whether a rule for something in the workspace is only about what was there before the run.
    fn is_for_old_files(&self, candidate: &Candidate) -> bool {
        let rule = &self.rules[candidate.place.rule.0];
        candidate.place.level == Level::AddOnly && rule.lead == Some(Part::Workspace)
    }

    /// Whether such a rule has nothing to keep, in a workspace that is open anyway. It would change nothing but who does the
    /// work: beside a stricter entry the wall cannot grant a whole folder, so whoever has no such file would pay for it.
    fn is_idle(&mut self, candidate: &Candidate) -> Result<bool, PlanError> {
        let path = &candidate.place.path;
        Ok(self.is_for_old_files(candidate)
            && self.walker.look(path)? == Seen::Missing
            && self.index.lookup(&self.places, path).level == Level::Writable)
    }

    /// Whether another rule asked for the same path at a level as loose, with or without success: a variable that names
    /// the place that holds without it, as login scripts set it.
    fn says_nothing_new(&self, place: &Place) -> bool {
        let same = |rule: &PlannedRule| {
            rule.level >= place.level && rule.targets.iter().any(|target| target.path == place.path)
        };
        let others = self.rules.iter().enumerate();
        place.level > Level::ReadOnly
            && others
                .filter(|(number, _)| *number != place.rule.0)
                .any(|(_, rule)| same(rule))
    }

    /// A glob counts as its directory does.
    fn settle_glob(&mut self, glob: GlobCandidate) -> Result<(), PlanError> {
        let same = |other: &GlobRule| {
            // The cheapest to compare come first.
            other.reach == Reach::Full
                && other.level == glob.base.place.level
                && other.matcher.wildcards() == glob.matcher.wildcards()
                && other.base == glob.base.place.path
        };
        if self.index.globs().iter().any(same) {
            self.rules[glob.base.place.rule.0].effect = Effect::Nothing(SAME.to_owned());
            return Ok(());
        }
        let refusal = match glob.base.trust {
            Trust::Author => None,
            Trust::Surroundings | Trust::Link => {
                self.refusal(&glob.base, Some(glob.matcher.wildcards()))
            }
        };
        match refusal {
            Some(why) => {
                self.ignore(glob.base.place.rule, &why);
                Ok(())
            }
            None => self.add_glob(glob, Reach::Full),
        }
    }

    fn add_glob(&mut self, glob: GlobCandidate, reach: Reach) -> Result<(), PlanError> {
        let Place {
            path: base,
            rule,
            level,
            ..
        } = glob.base.place;
        let within = PathBuf::new();
        self.spread_glob(GlobRule {
            base,
            within,
            matcher: glob.matcher,
            rule,
            level,
            reach,
        })
    }

    /// The workspace's rules, each measured against what the policy alone says.
    pub(super) fn tighten(&mut self, own: Asked, default: Level) -> Result<(), PlanError> {
        let looser = |draft: &Self, place: &Place| {
            place.level > draft.index.lookup(&draft.places, &place.path).level
        };
        let (ignored, kept): (Vec<_>, Vec<_>) =
            own.places.into_iter().partition(|c| looser(self, &c.place));
        self.index.tighten(default);
        let why = "the workspace's guard.toml can only make levels stricter";
        for candidate in ignored {
            self.ignore(candidate.place.rule, why);
        }
        let added = kept
            .into_iter()
            .filter_map(|candidate| self.place(candidate.place))
            .collect();
        self.spread(added)?;
        for glob in own.globs {
            match glob.base.place.level {
                Level::Writable => self.ignore(glob.base.place.rule, why),
                _ => self.add_glob(glob, Reach::OnlyStricter)?,
            }
        }
        Ok(())
    }

    /// Rules that only loosen the surroundings, where no rule names their path.
    pub(super) fn give_way(&mut self, weak: Vec<Candidate>) {
        for Candidate { place, .. } in weak {
            let needed = self.index.lookup(&self.places, &place.path).level < place.level;
            if needed && self.index.exact(&place.path).is_none() {
                self.place(place);
            } else {
                self.rules[place.rule.0].effect =
                    Effect::Nothing("another rule says what holds here".to_owned());
            }
        }
    }

    /// A rule that does not get its way, here at least.
    fn ignore(&mut self, rule: RuleId, why: &str) {
        let planned = &mut self.rules[rule.0];
        planned.effect = Effect::Ignored(why.to_owned());
        let (shown, level, origin) = (&planned.shown, planned.level, &planned.origin);
        let notice = format!("{shown} = \"{level}\" ({origin}) has no effect: {why}");
        if !self.notices.contains(&notice) {
            self.notices.push(notice);
        }
    }
}
