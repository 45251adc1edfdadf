//! Makes a [`Plan`]: expands every rule, follows its links, and settles which rules hold.
#![forbid(unsafe_code)]

use std::cmp::Reverse;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::expand::{Expansion, Trust, expand, show};
use super::glob::Matcher;
use super::index::Index;
use super::layers::Layers;
use super::walk::{Position, Walked, Walker};
use super::{
    Effect, Host, Identity, Kept, Place, Plan, PlanError, PlannedRule, RuleId, Target, Via,
};
use crate::policy::{
    Firmness, Level, OnAttempt, Part, Pattern, Policy, Rule, Template, Text, shipped,
};

/// A place that a rule asks for.
#[derive(Debug)]
pub(super) struct Candidate {
    /// The place as it would be.
    pub(super) place: Place,
    /// On whose word.
    pub(super) trust: Trust,
}

/// A glob that a rule asks for; the candidate is the directory before its first wildcard.
pub(super) struct GlobCandidate {
    pub(super) base: Candidate,
    pub(super) matcher: Matcher,
}

/// What a list of rules asks for.
#[derive(Default)]
pub(super) struct Asked {
    pub(super) places: Vec<Candidate>,
    pub(super) globs: Vec<GlobCandidate>,
    /// Of the places, those in the home directory of the user database where `$HOME` names another.
    other_home: Vec<(PathBuf, Level)>,
}

/// A plan in the making.
pub(super) struct Draft<'h> {
    pub(super) host: &'h Host,
    pub(super) walker: Walker,
    /// The folders of all overlays.
    pub(super) layers: Layers,
    /// The home directory as the environment has it.
    pub(super) named_home: PathBuf,
    /// The same, canonical.
    pub(super) home: PathBuf,
    /// The identities of the home directory and of every directory above it; of that in the user database as well.
    pub(super) home_chain: HashSet<Identity>,
    /// The home directory in the user database, if that is another one.
    other_home: Option<PathBuf>,
    /// Links on the way to the home directory: they are the machine's own.
    home_links: HashSet<PathBuf>,
    pub(super) rules: Vec<PlannedRule>,
    /// Whether rules are kept whose variables are not set.
    keeps_idle: bool,
    pub(super) places: Vec<Place>,
    pub(super) index: Index,
    /// Places that hold on the word of the surroundings alone.
    pub(super) on_word: HashSet<PathBuf>,
    /// Links on the way to stricter places.
    pub(super) links: Vec<Kept>,
    /// The rule of the running binary.
    pub(super) binary: Option<RuleId>,
    pub(super) notices: Vec<String>,
}

impl Plan {
    /// Meets a policy, and the workspace's own, with this machine. The workspace's can only make levels stricter.
    ///
    /// # Errors
    /// There is no home directory, or something on the way to a protected place cannot be looked at.
    pub fn resolve(
        policy: &Policy,
        workspace: Option<&Policy>,
        host: &Host,
    ) -> Result<Self, PlanError> {
        Self::draft(policy, workspace, Draft::new(policy.default, host)?)
    }

    /// The same without the rules whose variables are not set, half of a policy: who runs a command asks nothing of them.
    ///
    /// # Errors
    /// As [`Plan::resolve`].
    pub fn resolve_what_holds(
        policy: &Policy,
        workspace: Option<&Policy>,
        host: &Host,
    ) -> Result<Self, PlanError> {
        let draft = Draft {
            keeps_idle: false,
            ..Draft::new(policy.default, host)?
        };
        Self::draft(policy, workspace, draft)
    }

    fn draft(
        policy: &Policy,
        workspace: Option<&Policy>,
        mut draft: Draft<'_>,
    ) -> Result<Self, PlanError> {
        let mut base = draft.read(&policy.rules)?;
        draft.close_home(&mut base);
        let own = draft.read(workspace.map_or(&[][..], |policy| &policy.rules))?;
        let (firm, weak) = draft.built_in()?;
        draft.close(firm)?;
        draft.settle(base)?;
        draft.tighten(
            own,
            workspace.map_or(Level::Writable, |policy| policy.default),
        )?;
        draft.give_way(weak);
        let fail = |policy: &Policy| policy.on_attempt == OnAttempt::Fail;
        let on_attempt = if fail(policy) || workspace.is_some_and(fail) {
            OnAttempt::Fail
        } else {
            OnAttempt::Report
        };
        draft.finish(policy.name.clone().into_owned(), on_attempt)
    }
}

impl<'h> Draft<'h> {
    /// An empty plan for a home directory.
    pub(super) fn new(default: Level, host: &'h Host) -> Result<Self, PlanError> {
        let named = host.home()?;
        let mut walker = Walker::default();
        let walked = walker.walk(&named.path)?;
        let home = walked.path.unwrap_or_else(|| named.path.clone());
        let other_home = host.other_home();
        let other = match &other_home {
            Some(other) => walker.walk(other)?.path,
            None => None,
        };
        let mut home_chain = HashSet::new();
        for directory in [Some(&home), other.as_ref()]
            .into_iter()
            .flatten()
            .flat_map(|home| home.ancestors())
        {
            home_chain.extend(walker.look(directory)?.identity());
        }
        let layers = Layers::find(&host.mounts, &mut walker)?;
        let mut notices = Vec::from_iter(named.notice);
        if host.mounts.lacks_root() {
            notices.push(
                "the mount of the root directory is not listed in /proc/self/mountinfo (a chroot?): \
                 further mounts that show a protected directory are not looked for"
                    .to_owned(),
            );
        }
        Ok(Self {
            host,
            walker,
            layers,
            named_home: super::expand::normalise(&named.path),
            home,
            home_chain,
            other_home,
            home_links: walked.links.into_iter().map(|link| link.path).collect(),
            rules: Vec::new(),
            keeps_idle: true,
            places: Vec::new(),
            index: Index::new(default),
            on_word: HashSet::new(),
            links: Vec::new(),
            binary: None,
            notices,
        })
    }

    /// A path for people.
    pub(super) fn show(&self, path: &Path) -> String {
        show(path, &[&self.home, &self.named_home])
    }

    /// Expands rules and follows their links.
    fn read(&mut self, rules: &[Rule]) -> Result<Asked, PlanError> {
        let mut asked = Asked::default();
        self.rules.reserve(rules.len());
        asked.places.reserve(rules.len());
        for rule in rules {
            let (template, tail) = match &rule.pattern {
                Pattern::Path(template) => (template, None),
                Pattern::Glob { base, tail } => (base, Some(tail)),
            };
            match expand(template, &self.named_home, self.host) {
                Expansion::Nothing(_) if !self.keeps_idle => {}
                Expansion::Nothing(why) => {
                    self.plan(
                        rule,
                        rule.text.clone().into_owned(),
                        lead(template),
                        Effect::Nothing(why),
                    );
                }
                Expansion::Paths(paths, trust) => {
                    let mut shown = paths
                        .first()
                        .map(|path| self.show(path))
                        .unwrap_or_default();
                    if let Some(tail) = tail {
                        let whole = format!("{}/{tail}", shown.trim_end_matches('/'));
                        shown = whole
                            .strip_prefix('/')
                            .filter(|rest| rest.starts_with("**"))
                            .unwrap_or(&whole)
                            .to_owned();
                    }
                    let id = self.plan(rule, shown, lead(template), Effect::Holds);
                    self.ask(&mut asked, id, tail, &paths, trust)?;
                    self.ask_other_home(&mut asked, id, template, tail)?;
                }
            }
        }
        Ok(asked)
    }

    /// Asks for what a rule protects in the home directory of the user database as well: the environment's word must not
    /// open it, and nothing there is made looser than that.
    fn ask_other_home(
        &mut self,
        asked: &mut Asked,
        id: RuleId,
        template: &Template,
        tail: Option<&Text>,
    ) -> Result<(), PlanError> {
        let Some(other) = &self.other_home else {
            return Ok(());
        };
        if self.rules[id.0].level == Level::Writable || !mentions_home(template) {
            return Ok(());
        }
        match expand(template, other, self.host) {
            Expansion::Paths(paths, trust) => {
                let before = asked.places.len();
                self.ask(asked, id, tail, &paths, trust)?;
                let new = asked.places[before..].iter();
                let new: Vec<_> = new.map(|c| (c.place.path.clone(), c.place.level)).collect();
                asked.other_home.extend(new);
                Ok(())
            }
            Expansion::Nothing(_) => Ok(()),
        }
    }

    /// Where `$HOME` names something that is protected in the home directory of the user database, no line for `~` makes
    /// anything there looser.
    fn close_home(&mut self, asked: &mut Asked) {
        let home = self.home.clone();
        let around = asked.other_home.iter();
        let around = around.filter(|(path, _)| home.starts_with(path));
        // The most specific counts, the stricter of equals.
        let closest = around.max_by_key(|(path, level)| (path.as_os_str().len(), Reverse(*level)));
        let Some(&(_, level)) = closest.filter(|(_, level)| *level < Level::NoDelete) else {
            return;
        };
        let inside = |c: &Candidate| c.place.path.starts_with(&home) && c.place.level > level;
        asked.places.retain(|candidate| !inside(candidate));
        asked.globs.retain(|glob| !inside(&glob.base));
        self.notices.push(format!(
            "HOME is {}, which is {level}: no line for \"~\" makes anything there looser",
            home.display()
        ));
    }

    /// Notes a rule and gives it its number.
    fn plan(&mut self, rule: &Rule, shown: String, lead: Option<&Part>, effect: Effect) -> RuleId {
        self.rules.push(PlannedRule {
            shown,
            level: rule.level,
            why: rule.why.clone(),
            source: rule.source.clone(),
            policy: rule.policy.clone(),
            origin: rule.origin.clone(),
            effect,
            targets: Vec::new(),
            firmness: rule.firmness,
            lead: lead.cloned(),
        });
        RuleId(self.rules.len() - 1)
    }

    /// Follows the paths of one rule.
    fn ask(
        &mut self,
        asked: &mut Asked,
        id: RuleId,
        tail: Option<&Text>,
        paths: &[PathBuf],
        trust: Trust,
    ) -> Result<(), PlanError> {
        for path in paths {
            let walked = self.walker.walk(path)?;
            let Some(tail) = tail else {
                asked.places.extend(self.follow(walked, id, trust));
                continue;
            };
            let matcher = Matcher::new(tail.clone(), self.rules[id.0].level);
            // Links are followed to the directory before the wildcard; the directory itself is no place.
            if let Some(base) = self.follow(walked, id, trust).pop() {
                asked.globs.push(GlobCandidate { base, matcher });
            }
        }
        Ok(())
    }

    /// The places of a path: each link that it ends in, and what is behind. Links on the way to something protected keep
    /// their names.
    fn follow(&mut self, walked: Walked, rule: RuleId, mut trust: Trust) -> Vec<Candidate> {
        let level = self.rules[rule.0].level;
        let place = |path, identity| Place {
            path,
            identity,
            rule,
            level,
            via: Via::Named,
        };
        let mut candidates = Vec::new();
        for link in walked.links {
            if link.position == Position::Last {
                candidates.push(Candidate {
                    place: place(link.path.clone(), Some(link.identity)),
                    trust,
                });
            }
            if !self.home_links.contains(&link.path) {
                trust = Trust::Link;
            }
            if level != Level::Writable {
                self.links.push(Kept {
                    path: link.path,
                    identity: link.identity,
                    rule,
                });
            }
        }
        match walked.path {
            Some(path) => candidates.push(Candidate {
                place: place(path, walked.identity),
                trust,
            }),
            None => {
                let shown = self.rules[rule.0].shown.clone();
                self.notices.push(format!(
                    "the symbolic links of {shown} lead in a circle: nothing is behind them"
                ));
            }
        }
        candidates
    }

    /// guard's own files, and the rules that give way to any other.
    fn built_in(&mut self) -> Result<(Vec<Candidate>, Vec<Candidate>), PlanError> {
        let (firm, weak): (Vec<Rule>, Vec<Rule>) = shipped::built_in()
            .into_iter()
            .partition(|rule| rule.firmness == Firmness::Firm);
        let mut own = self.read(&firm)?.places;
        if let Some(binary) = self
            .host
            .guard_binary
            .as_deref()
            .filter(|path| path.is_absolute())
        {
            let rule = PlannedRule {
                shown: self.show(binary),
                level: Level::ReadOnly,
                why: Some(Text::Borrowed("the running guard")),
                source: None,
                policy: Text::Borrowed(shipped::BUILT_IN),
                origin: shipped::origin(),
                effect: Effect::Holds,
                targets: Vec::new(),
                firmness: Firmness::Firm,
                lead: None,
            };
            self.rules.push(rule);
            let id = RuleId(self.rules.len() - 1);
            self.binary = Some(id);
            let walked = self.walker.walk(binary)?;
            own.extend(self.follow(walked, id, Trust::Author));
        }
        Ok((own, self.read(&weak)?.places))
    }

    /// Adds a place unless an equal path is as strict. Tells its number if it was added.
    pub(super) fn place(&mut self, place: Place) -> Option<usize> {
        let targets = &mut self.rules[place.rule.0].targets;
        if !targets.iter().any(|target| target.path == place.path) {
            targets.push(Target {
                path: place.path.clone(),
                identity: place.identity,
                via: place.via,
            });
        }
        self.index.insert(&mut self.places, place)
    }

    /// The finished plan.
    fn finish(mut self, policy: String, on_attempt: OnAttempt) -> Result<Plan, PlanError> {
        let around = self.index.around(&self.places);
        let (kept, gaps) = self.keep_names(&around)?;
        let mut plan = Plan {
            policy,
            on_attempt,
            default: self.index.default(),
            rules: self.rules,
            places: self.places,
            kept,
            home: self.home,
            notices: self.notices,
            named_home: self.named_home,
            index: self.index,
            gaps,
            by_identity: std::collections::HashMap::new(),
            missing: HashSet::new(),
            strict_globs: Vec::new(),
            around,
        };
        plan.derive();
        Ok(plan)
    }
}

/// What a rule depends on: its first variable of the environment, wherever that stands, else what it starts with.
fn lead(template: &Template) -> Option<&Part> {
    let variable = |part: &&Part| matches!(part, Part::Env { .. });
    template.0.iter().find(variable).or(template.0.first())
}

/// Whether a path starts in the home directory, by itself or by a default.
fn mentions_home(template: &Template) -> bool {
    template.0.iter().any(|part| match part {
        Part::Home => true,
        Part::Env {
            default: Some(default),
            ..
        } => mentions_home(default),
        _ => false,
    })
}
