//! A plan as bytes: a guard that starts inside another one tells it what to protect as well.
#![forbid(unsafe_code)]

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::glob::Matcher;
use super::index::{GlobRule, Index, Reach};
use super::{Effect, Identity, Kept, Place, Plan, PlannedRule, RuleId, Via};
use crate::policy::{Firmness, Level, OnAttempt, Origin, Text, compile};

/// Why bytes are no plan.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// They are not what this version writes.
    #[error("the inner guard's plan cannot be read")]
    Form(#[from] serde_json::Error),
    /// A glob is none.
    #[error("the inner guard's plan has a glob that is none")]
    Glob(#[from] globset::Error),
    /// A number leads nowhere.
    #[error("the inner guard's plan names a rule that it does not have")]
    Rule,
}

#[derive(Serialize, Deserialize)]
struct Wire {
    policy: String,
    default: Level,
    rules: Vec<WireRule>,
    places: Vec<WirePlace>,
    kept: Vec<(OsString, u64, u64, usize)>,
    globs: Vec<WireGlob>,
    firm: Vec<OsString>,
    home: OsString,
    named_home: OsString,
}

#[derive(Serialize, Deserialize)]
struct WireRule {
    shown: String,
    level: Level,
    why: Option<Text>,
    policy: Text,
    origin: Origin,
}

#[derive(Serialize, Deserialize)]
struct WirePlace {
    path: OsString,
    identity: Option<(u64, u64)>,
    rule: usize,
    level: Level,
}

#[derive(Serialize, Deserialize)]
struct WireGlob {
    base: OsString,
    within: OsString,
    pattern: String,
    rule: usize,
    level: Level,
    only_stricter: bool,
}

impl Plan {
    /// What another guard needs to enforce this plan.
    ///
    /// # Errors
    /// Never for a plan that was resolved.
    pub fn to_bytes(&self) -> Result<Vec<u8>, WireError> {
        let path = |path: &PathBuf| path.clone().into_os_string();
        let wire = Wire {
            policy: self.policy.clone(),
            default: self.default,
            rules: self.rules.iter().map(WireRule::new).collect(),
            places: self.places.iter().map(WirePlace::new).collect(),
            kept: self
                .kept
                .iter()
                .map(|kept| {
                    (
                        path(&kept.path),
                        kept.identity.dev,
                        kept.identity.ino,
                        kept.rule.0,
                    )
                })
                .collect(),
            globs: self.index.globs().iter().map(WireGlob::new).collect(),
            firm: self.index.firm().iter().map(path).collect(),
            home: path(&self.home),
            named_home: path(&self.named_home),
        };
        Ok(serde_json::to_vec(&wire)?)
    }

    /// The plan of another guard.
    ///
    /// # Errors
    /// [`WireError`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, WireError> {
        let wire: Wire = serde_json::from_slice(bytes)?;
        let rules = wire.rules.len();
        let known = |rule: usize| {
            if rule < rules {
                Ok(RuleId(rule))
            } else {
                Err(WireError::Rule)
            }
        };
        let mut index = Index::new(wire.default);
        let mut places = Vec::new();
        for place in wire.places {
            let place = Place {
                path: place.path.into(),
                identity: place.identity.map(|(dev, ino)| Identity { dev, ino }),
                rule: known(place.rule)?,
                level: place.level,
                via: Via::Named,
            };
            index.insert(&mut places, place);
        }
        for glob in wire.globs {
            compile(&glob.pattern)?;
            index.add_glob(GlobRule {
                base: glob.base.into(),
                within: glob.within.into(),
                matcher: Matcher::new(Text::Owned(glob.pattern), glob.level),
                rule: known(glob.rule)?,
                level: glob.level,
                reach: if glob.only_stricter {
                    Reach::OnlyStricter
                } else {
                    Reach::Full
                },
            });
        }
        index.set_firm(wire.firm.into_iter().map(PathBuf::from).collect());
        let mut kept = Vec::new();
        for (path, dev, ino, rule) in wire.kept {
            kept.push(Kept {
                path: path.into(),
                identity: Identity { dev, ino },
                rule: known(rule)?,
            });
        }
        let around = index.around(&places);
        let mut plan = Self {
            policy: wire.policy,
            rules: wire.rules.into_iter().map(WireRule::rule).collect(),
            default: wire.default,
            on_attempt: OnAttempt::Report,
            places,
            kept,
            home: wire.home.into(),
            notices: Vec::new(),
            named_home: wire.named_home.into(),
            index,
            gaps: HashSet::new(),
            by_identity: HashMap::new(),
            missing: HashSet::new(),
            strict_globs: Vec::new(),
            around,
        };
        plan.derive();
        Ok(plan)
    }
}

impl WireRule {
    fn new(rule: &PlannedRule) -> Self {
        Self {
            shown: rule.shown.clone(),
            level: rule.level,
            why: rule.why.clone(),
            policy: rule.policy.clone(),
            origin: rule.origin.clone(),
        }
    }

    fn rule(self) -> PlannedRule {
        PlannedRule {
            shown: self.shown,
            level: self.level,
            why: self.why,
            // Only who reads the policy asks for it.
            source: None,
            policy: self.policy,
            origin: self.origin,
            effect: Effect::Holds,
            targets: Vec::new(),
            firmness: Firmness::Ordinary,
            lead: None,
        }
    }
}

impl WirePlace {
    fn new(place: &Place) -> Self {
        Self {
            path: place.path.clone().into_os_string(),
            identity: place.identity.map(|identity| (identity.dev, identity.ino)),
            rule: place.rule.0,
            level: place.level,
        }
    }
}

impl WireGlob {
    fn new(glob: &GlobRule) -> Self {
        Self {
            base: glob.base.clone().into_os_string(),
            within: glob.within.clone().into_os_string(),
            pattern: glob.matcher.wildcards().to_owned(),
            rule: glob.rule.0,
            level: glob.level,
            only_stricter: glob.reach == Reach::OnlyStricter,
        }
    }
}
