//! The directories and links that keep their names, since another level holds below or behind them.
//!
//! A stricter place would lose its name with theirs. A writable one would take along what the wall grants there.
#![forbid(unsafe_code)]

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::resolve::Draft;
use super::walk::Seen;
use super::{Kept, Place, PlanError, RuleId};
use crate::policy::Level;

/// Names that stay, and all gaps.
type Names = (Vec<Kept>, HashSet<PathBuf>);

impl Draft<'_> {
    /// Climbs from each place whose level is not that of its surroundings, and from each link. What cannot be moved anyway
    /// needs no keeping.
    pub(super) fn keep_names(&mut self, around: &[Level]) -> Result<Names, PlanError> {
        let mut kept: Vec<Kept> = Vec::new();
        let mut gaps = HashSet::new();
        for (path, rule) in self.differing(around) {
            self.climb(&path, rule, &mut kept, &mut gaps)?;
        }
        // A glob protects what lies below its directory, for as long as that keeps its name.
        let globs = self.index.strict_globs(&self.places);
        let bases: Vec<(PathBuf, RuleId)> =
            globs.map(|glob| (glob.base.clone(), glob.rule)).collect();
        for (base, rule) in bases {
            let seen = self.walker.look(&base)?;
            if let Seen::Directory(identity) = seen
                && self.is_movable(&base)
                && !gaps.contains(&base)
                && !kept.iter().any(|kept| kept.path == base)
            {
                kept.push(Kept {
                    path: base.clone(),
                    identity,
                    rule,
                });
            }
            self.climb(&base, rule, &mut kept, &mut gaps)?;
        }
        let mut known: HashSet<PathBuf> = kept.iter().map(|kept| kept.path.clone()).collect();
        for link in std::mem::take(&mut self.links) {
            if known.insert(link.path.clone()) {
                let (path, rule) = (link.path.clone(), link.rule);
                kept.push(link);
                self.climb(&path, rule, &mut kept, &mut gaps)?;
            }
        }
        Ok((kept, gaps))
    }

    /// Notes every directory above a path that could be moved, up to the first that is noted already.
    fn climb(
        &mut self,
        path: &Path,
        rule: RuleId,
        kept: &mut Vec<Kept>,
        gaps: &mut HashSet<PathBuf>,
    ) -> Result<(), PlanError> {
        for above in path.ancestors().skip(1) {
            if gaps.contains(above) {
                break;
            }
            if !self.is_movable(above) {
                continue;
            }
            gaps.insert(above.to_path_buf());
            if let Seen::Directory(identity) = self.walker.look(above)? {
                kept.push(Kept {
                    path: above.to_path_buf(),
                    identity,
                    rule,
                });
            }
        }
        Ok(())
    }

    /// The places with another level than the directory that they lie in: the stricter ones first, and of these the
    /// policy's own, since the first is the one to name (those that are built in have the last numbers).
    fn differing(&self, around: &[Level]) -> Vec<(PathBuf, RuleId)> {
        let all = || self.places.iter().zip(around);
        let stricter = all().filter(|(place, around)| place.level < **around);
        let granted = all().filter(|(place, around)| {
            place.level == Level::Writable && **around < place.level && place.identity.is_some()
        });
        let mut strict: Vec<&Place> = stricter.map(|(place, _)| place).collect();
        let mut open: Vec<&Place> = granted.map(|(place, _)| place).collect();
        strict.sort_by_key(|place| place.rule);
        open.sort_by_key(|place| place.rule);
        let all = strict.into_iter().chain(open);
        all.map(|place| (place.path.clone(), place.rule)).collect()
    }

    fn is_movable(&self, path: &Path) -> bool {
        self.index.lookup(&self.places, path).level >= Level::NoDelete
    }
}
