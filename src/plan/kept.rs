//! The directories and links that keep their names, since something protected lies below or behind them.
#![forbid(unsafe_code)]

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::resolve::Draft;
use super::walk::Seen;
use super::{Kept, PlanError, RuleId};
use crate::policy::Level;

/// Names that stay, and all gaps.
type Names = (Vec<Kept>, HashSet<PathBuf>);

impl Draft<'_> {
    /// Climbs from each stricter place and each link. Inside a protected area nothing needs to be kept: it cannot be
    /// changed anyway.
    pub(super) fn keep_names(&mut self) -> Result<Names, PlanError> {
        let mut kept: Vec<Kept> = Vec::new();
        let mut gaps = HashSet::new();
        let mut strict: Vec<(PathBuf, RuleId)> = self
            .places
            .iter()
            .filter(|place| place.level.enforced() != Level::Writable)
            .map(|place| (place.path.clone(), place.rule))
            .collect();
        // Of several rules, the policy's own is the one to name: those that are built in have the last numbers.
        strict.sort_by_key(|(_, rule)| *rule);
        for (path, rule) in strict {
            self.climb(&path, rule, &mut kept, &mut gaps)?;
        }
        // A glob protects what lies below its directory, for as long as that keeps its name.
        let globs = self
            .index
            .globs
            .iter()
            .filter(|glob| glob.level.enforced() != Level::Writable);
        let bases: Vec<(PathBuf, RuleId)> =
            globs.map(|glob| (glob.base.clone(), glob.rule)).collect();
        for (base, rule) in bases {
            let seen = self.walker.look(&base)?;
            if let Seen::Directory(identity) = seen
                && self.is_writable(&base)
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

    /// Notes every writable directory above a path, up to the first that is noted already.
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
            if !self.is_writable(above) {
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

    fn is_writable(&self, path: &Path) -> bool {
        self.index.lookup(&self.places, path).level.enforced() == Level::Writable
    }
}
