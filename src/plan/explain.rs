//! What `guard explain` and `guard check` say, as values.
#![forbid(unsafe_code)]

mod answer;
mod contest;

use std::cmp::Ordering;
use std::path::{Path, PathBuf};

pub use answer::{Answer, Column, Doer, Keeper, Standing};
pub use contest::{Beaten, Specificity};

use super::index::{GlobRule, Hit, Source};
use super::walk::{Position, Seen, Walked, Walker};
use super::{Below, Plan, PlanError, PlannedRule, RuleId, Target, expand};
use crate::policy::Level;

/// What is at a path now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Now {
    /// Nothing.
    Nothing,
    /// It cannot be looked at.
    Hidden,
    /// A directory.
    Directory,
    /// A file, or whatever else has no entries.
    File,
}

/// What holds for a path, and why.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The path as asked.
    pub asked: PathBuf,
    /// Where it leads, without symbolic links.
    pub path: PathBuf,
    /// What is there.
    pub now: Now,
    /// The level that holds, and who stands behind it.
    pub standing: Standing,
    /// The rule; none where the policy's `default` holds.
    pub rule: Option<RuleId>,
    /// What would hold without that rule; none where the default holds.
    pub beaten: Option<Beaten>,
    /// What the rule is to its surroundings, where it is a glob.
    pub glob: Option<Contrast>,
    /// The rule because of which the path keeps its name although its level would let it go.
    pub kept_for: Option<RuleId>,
    /// More to say.
    pub notes: Vec<Note>,
}

/// A glob beside what would hold without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contrast {
    /// Stricter than what surrounds it.
    Stricter,
    /// Looser.
    Looser,
    /// The same level.
    Same,
}

/// What a rule names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One path.
    Path,
    /// All that match.
    Glob,
}

/// Something else worth knowing of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// The path as asked ends in a symbolic link, whose own name has a level too.
    Link(PathBuf, Level),
    /// It ends in one that leads to a protected place and keeps its name.
    KeptLink(PathBuf),
    /// A directory above is missing as well and may not be made.
    Unmakeable(PathBuf, Level),
    /// The directory's own name has another level than the directory that it lies in; who would do what that allows.
    OwnName(PathBuf, Level, Doer),
    /// It lies directly in a directory below which other levels hold, or in something new there.
    Beside(PathBuf),
    /// Paths below with another level, in order.
    OtherLevels(Vec<(PathBuf, Level)>),
    /// Globs that may give names below another level.
    Globs(Vec<RuleId>),
    /// Strict globs because of which the kernel grants nothing here although it is writable.
    InReach(Vec<RuleId>),
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
    /// Says what holds for an absolute path.
    ///
    /// # Errors
    /// Something on the way cannot be looked at.
    pub fn explain(&self, asked: &Path) -> Result<Explanation, PlanError> {
        let mut walker = Walker::default();
        let walked = walker.walk(&expand::normalise(asked))?;
        let path = walked.path.clone().unwrap_or_else(|| asked.to_path_buf());
        let now = match walker.look(&path)? {
            Seen::Missing => Now::Nothing,
            Seen::Hidden => Now::Hidden,
            Seen::Directory(_) => Now::Directory,
            Seen::Link(..) | Seen::Other(_) => Now::File,
        };
        let hit = self.index.find(&self.places, &path);
        let rule = self.index.rule(&self.places, hit.source);
        let beaten = rule.map(|rule| self.beaten(&path, rule));
        let inside = match now {
            Now::Directory => path.as_path(),
            Now::Nothing | Now::Hidden | Now::File => path.parent().unwrap_or(&path),
        };
        let standing = Standing {
            level: hit.level,
            doer: self.doer(inside, &mut walker)?,
            keeper: self.keeper(&path, hit),
        };
        let kept_for = self
            .kept
            .iter()
            .find(|kept| kept.path == path && hit.level >= Level::NoDelete)
            .map(|kept| kept.rule);
        Ok(Explanation {
            asked: asked.to_path_buf(),
            now,
            standing,
            rule,
            beaten,
            glob: beaten.and_then(|beaten| self.contrast(hit, beaten)),
            kept_for,
            notes: self.notes(&path, &walked, now, standing, &mut walker)?,
            path,
        })
    }

    /// Who does what is writable in a directory: the kernel where the wall grants that or one above it.
    fn doer(&self, dir: &Path, walker: &mut Walker) -> Result<Doer, PlanError> {
        for above in dir.ancestors() {
            if self.is_granted(above, walker)? {
                return Ok(Doer::Kernel);
            }
        }
        Ok(Doer::Supervisor)
    }

    /// Whether the wall grants this very directory, as it is built: what is there now and all of one writable piece, met on
    /// the way down through directories that are not, and not in the reach of a strict glob.
    fn is_granted(&self, dir: &Path, walker: &mut Walker) -> Result<bool, PlanError> {
        let hit = self.index.find(&self.places, dir);
        let system = dir == Path::new("/dev") || dir == Path::new("/proc");
        if hit.level != Level::Writable
            || self.names_below(dir) == Below::Stricter
            || self.strict_globs_below(dir) == Below::Stricter && !system
        {
            return Ok(false);
        }
        // What a glob makes writable is met only on the way through a writable directory that is not granted as a whole.
        let met = |above: &Path| {
            self.lookup(above).level == Level::Writable
                && self.names_below(above) == Below::Stricter
        };
        if matches!(hit.source, Source::Glob(_)) && !dir.parent().is_none_or(met) {
            return Ok(false);
        }
        let Seen::Directory(identity) = walker.look(dir)? else {
            return Ok(false);
        };
        let reserved = self
            .place_by_identity(identity)
            .is_some_and(|place| place.level != Level::Writable)
            || self.kept.iter().any(|kept| kept.identity == identity);
        Ok(!reserved)
    }

    /// Who refuses what a level forbids. The kernel does not know globs: it stands behind one only where it grants nothing
    /// around what the glob matches either.
    fn keeper(&self, path: &Path, hit: Hit) -> Keeper {
        let around = self
            .index
            .hits(&self.places, path)
            .into_iter()
            .find(|hit| matches!(hit.source, Source::Place(_)))
            .map_or(self.default, |hit| hit.level);
        match hit.source {
            Source::Glob(_) if around == Level::Writable => Keeper::SupervisorAlone,
            Source::Glob(_) | Source::Place(_) | Source::Default => Keeper::KernelAndSupervisor,
        }
    }

    /// What a glob is to its surroundings.
    fn contrast(&self, hit: Hit, beaten: Beaten) -> Option<Contrast> {
        let Source::Glob(_) = hit.source else {
            return None;
        };
        let around = match beaten {
            Beaten::Rule(rule, _) => self.rule(rule).level,
            Beaten::Default(level) => level,
        };
        Some(match hit.level.cmp(&around) {
            Ordering::Less => Contrast::Stricter,
            Ordering::Greater => Contrast::Looser,
            Ordering::Equal => Contrast::Same,
        })
    }

    /// What else there is to say of a path.
    fn notes(
        &self,
        path: &Path,
        walked: &Walked,
        now: Now,
        standing: Standing,
        walker: &mut Walker,
    ) -> Result<Vec<Note>, PlanError> {
        let links = walked.links.iter();
        let mut notes: Vec<Note> = links
            .filter(|link| link.position == Position::Last)
            .map(|link| self.link(&link.path))
            .collect();
        match now {
            Now::Directory => notes.extend(self.own_name(path, standing.level, walker)?),
            Now::Nothing => {
                if let Some(note) = self.unmakeable(path, standing.level, walker)? {
                    notes.push(note);
                    return Ok(notes);
                }
            }
            Now::Hidden | Now::File => {}
        }
        if now == Now::Directory {
            notes.extend(self.other_levels(path, standing.level));
        } else if standing.level == Level::Writable && standing.doer == Doer::Supervisor {
            notes.extend(self.beside(path, walker)?);
        }
        notes.extend(self.globs_around(path, now, standing));
        Ok(notes)
    }

    /// A link has a name of its own.
    fn link(&self, path: &Path) -> Note {
        match self.kept.iter().any(|kept| kept.path == path) {
            true => Note::KeptLink(path.to_path_buf()),
            false => Note::Link(path.to_path_buf(), self.lookup(path).level),
        }
    }

    /// A directory is removed and moved by the level of its name, whatever holds around it.
    fn own_name(
        &self,
        path: &Path,
        level: Level,
        walker: &mut Walker,
    ) -> Result<Option<Note>, PlanError> {
        let Some(parent) = path.parent() else {
            return Ok(None);
        };
        let around = self.lookup(parent).level;
        if around == level {
            return Ok(None);
        }
        let doer = self.doer(parent, walker)?;
        Ok(Some(Note::OwnName(parent.to_path_buf(), around, doer)))
    }

    /// The lowest missing directory above that has to be made first and may not.
    fn unmakeable(
        &self,
        path: &Path,
        level: Level,
        walker: &mut Walker,
    ) -> Result<Option<Note>, PlanError> {
        if level < Column::Make.least() {
            return Ok(None);
        }
        for above in path.ancestors().skip(1) {
            if walker.look(above)? != Seen::Missing {
                break;
            }
            let level = self.lookup(above).level;
            if level < Column::Make.least() {
                return Ok(Some(Note::Unmakeable(above.to_path_buf(), level)));
            }
        }
        Ok(None)
    }

    /// The directory that is there, above a path, and that the wall cannot grant for what lies below it.
    fn beside(&self, path: &Path, walker: &mut Walker) -> Result<Option<Note>, PlanError> {
        for above in path.ancestors().skip(1) {
            if let Seen::Directory(_) = walker.look(above)? {
                let gap = self.names_below(above) == Below::Stricter;
                return Ok(gap.then(|| Note::Beside(above.to_path_buf())));
            }
        }
        Ok(None)
    }

    /// Places below with a level of their own.
    fn other_levels(&self, path: &Path, level: Level) -> Option<Note> {
        let below = self
            .places
            .iter()
            .filter(|place| place.level != level && place.path.starts_with(path));
        let mut places: Vec<_> = below
            .filter(|place| place.path != path)
            .map(|place| (place.path.clone(), place.level))
            .collect();
        places.sort();
        (!places.is_empty()).then_some(Note::OtherLevels(places))
    }

    /// Globs that could match something below, or that keep the kernel from granting what is writable.
    fn globs_around(&self, path: &Path, now: Now, standing: Standing) -> Option<Note> {
        let rules = |wanted: &dyn Fn(&GlobRule) -> bool| {
            let globs = self.index.globs().iter().filter(|glob| wanted(glob));
            let mut rules: Vec<RuleId> = globs.map(|glob| glob.rule).collect();
            rules.sort();
            rules.dedup();
            (!rules.is_empty()).then_some(rules)
        };
        let strict = |glob: &GlobRule| {
            glob.level != Level::Writable
                && self.strict_globs().contains(&glob.base)
                && path.starts_with(&glob.base)
        };
        let below = |glob: &GlobRule| {
            glob.level != standing.level
                && (glob.base.starts_with(path) || path.starts_with(&glob.base))
        };
        match (standing.level, standing.doer) {
            (Level::Writable, Doer::Supervisor) => rules(&strict).map(Note::InReach),
            _ => None,
        }
        .or_else(|| match now {
            Now::Directory => rules(&below).map(Note::Globs),
            Now::Nothing | Now::Hidden | Now::File => None,
        })
    }

    /// What a rule names.
    #[must_use]
    pub fn kind(&self, rule: RuleId) -> Kind {
        match self.index.globs().iter().any(|glob| glob.rule == rule) {
            true => Kind::Glob,
            false => Kind::Path,
        }
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
