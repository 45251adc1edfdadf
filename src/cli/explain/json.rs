//! An explanation as one JSON object, for scripts and agents.

use std::io;

use serde::Serialize;

use super::text;
use crate::plan::{
    Answer, Beaten, Column, Doer, Explanation, Keeper, Kind, Now, Plan, RuleId, Specificity,
};
use crate::policy::{Level, Origin, Text};

/// The version of the object; it changes when a key changes its meaning or goes.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Object {
    version: u32,
    /// As asked, absolute; lossy UTF-8, as all paths here.
    asked: String,
    /// Where it leads, without symbolic links.
    path: String,
    now: &'static str,
    level: Level,
    rule: Decider,
    over: Option<Over>,
    columns: Columns,
    /// The columns that are about the path itself.
    concerns: &'static [&'static str],
    keeps_name_for: Option<Decider>,
    notes: Vec<String>,
}

/// What gives a level: a rule, or the default.
#[derive(Serialize)]
struct Decider {
    kind: &'static str,
    /// The path or glob, home as `~`; none for the default.
    path: Option<String>,
    level: Level,
    policy: String,
    origin: Option<Origin>,
    why: Option<String>,
    source: Option<String>,
}

#[derive(Serialize)]
struct Over {
    #[serde(flatten)]
    decider: Decider,
    /// How specific it is beside what decided.
    specificity: &'static str,
}

#[derive(Serialize)]
struct Columns {
    make_new_entries: Said,
    change_what_exists: Said,
    change_metadata: Said,
    remove_what_exists: Said,
    change_or_remove_own: Said,
}

#[derive(Serialize)]
struct Said {
    allowed: &'static str,
    by: Option<&'static str>,
}

/// The object on one line.
///
/// # Errors
/// Never for what a plan says.
pub fn object(plan: &Plan, explanation: &Explanation) -> io::Result<String> {
    let standing = explanation.standing;
    let answer = |column| said(standing.answer(column));
    let (now, concerns) = now(explanation.now);
    let object = Object {
        version: VERSION,
        asked: explanation.asked.to_string_lossy().into_owned(),
        path: explanation.path.to_string_lossy().into_owned(),
        now,
        level: standing.level,
        rule: explanation
            .rule
            .map_or_else(|| default(plan, standing.level), |id| decider(plan, id)),
        over: explanation.beaten.map(|beaten| over(plan, beaten)),
        columns: Columns {
            make_new_entries: answer(Column::Make),
            change_what_exists: answer(Column::Change),
            change_metadata: said(standing.metadata()),
            remove_what_exists: answer(Column::Remove),
            change_or_remove_own: answer(Column::Own),
        },
        concerns,
        keeps_name_for: explanation.kept_for.map(|id| decider(plan, id)),
        notes: text::notes(plan, explanation),
    };
    Ok(serde_json::to_string(&object)?)
}

fn decider(plan: &Plan, id: RuleId) -> Decider {
    let rule = plan.rule(id);
    Decider {
        kind: match plan.kind(id) {
            Kind::Path => "path",
            Kind::Glob => "glob",
        },
        path: Some(rule.shown.clone()),
        level: rule.level,
        policy: rule.policy.clone().into_owned(),
        origin: Some(rule.origin.clone()),
        why: rule.why.clone().map(Text::into_owned),
        source: rule.source.clone().map(Text::into_owned),
    }
}

fn default(plan: &Plan, level: Level) -> Decider {
    Decider {
        kind: "default",
        path: None,
        level,
        policy: plan.policy.clone(),
        origin: None,
        why: None,
        source: None,
    }
}

fn over(plan: &Plan, beaten: Beaten) -> Over {
    let (decider, specificity) = match beaten {
        Beaten::Default(level) => (default(plan, level), Specificity::Less),
        Beaten::Rule(id, specificity) => (decider(plan, id), specificity),
    };
    Over {
        decider,
        specificity: match specificity {
            Specificity::Less => "less",
            Specificity::Equal => "equal",
            Specificity::More => "more",
        },
    }
}

fn said(answer: Answer) -> Said {
    let (allowed, by) = match answer {
        Answer::Yes(Doer::Kernel) => ("yes", Some("kernel")),
        Answer::Yes(Doer::Supervisor) => ("yes", Some("supervisor")),
        Answer::No(Keeper::KernelAndSupervisor) => ("no", Some("kernel-and-supervisor")),
        Answer::No(Keeper::SupervisorAlone) => ("no", Some("supervisor")),
        Answer::Moot => ("none", None),
    };
    Said { allowed, by }
}

/// What is there, and the columns that are about it: it existed before the next run, or that run would make it.
fn now(now: Now) -> (&'static str, &'static [&'static str]) {
    const EXISTING: &[&str] = &[
        "change_what_exists",
        "change_metadata",
        "remove_what_exists",
    ];
    match now {
        Now::File => ("file", EXISTING),
        Now::Directory => ("directory", EXISTING),
        Now::Nothing => ("nothing", &["make_new_entries", "change_or_remove_own"]),
        Now::Hidden => ("hidden", &[]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::policies::tests::Machine;

    #[test]
    fn an_object_has_this_shape() {
        let machine = Machine::new(&["a"]);
        let plan = machine.plan(
            "version = 1\n[paths]\n\"~/a\" = { level = \"add-only\", why = \"x\" }\n\"**/*.key\" = { level = \"read-only\", source = \"a book\" }\n",
        );
        let of = |name: &str| -> serde_json::Value {
            let explanation = plan.explain(&machine.home().join(name)).unwrap();
            serde_json::from_str(&object(&plan, &explanation).unwrap()).unwrap()
        };
        let path = machine.home().canonicalize().unwrap().join("a/x.key");
        let origin = |line| serde_json::json!({ "file": "p.toml", "line": line, "column": 1 });
        assert_eq!(
            of("a/x.key"),
            serde_json::json!({
                "version": 1,
                "asked": machine.home().join("a/x.key"),
                "path": path,
                "now": "nothing",
                "level": "read-only",
                "rule": {
                    "kind": "glob", "path": "**/*.key", "level": "read-only", "policy": "p.toml",
                    "origin": origin(4), "why": null, "source": "a book",
                },
                "over": {
                    "kind": "path", "path": "~/a", "level": "add-only", "policy": "p.toml",
                    "origin": origin(3), "why": "x", "source": null, "specificity": "less",
                },
                "columns": {
                    "make_new_entries": { "allowed": "no", "by": "kernel-and-supervisor" },
                    "change_what_exists": { "allowed": "no", "by": "kernel-and-supervisor" },
                    "change_metadata": { "allowed": "no", "by": "supervisor" },
                    "remove_what_exists": { "allowed": "no", "by": "kernel-and-supervisor" },
                    "change_or_remove_own": { "allowed": "none", "by": null },
                },
                "concerns": ["make_new_entries", "change_or_remove_own"],
                "keeps_name_for": null,
                "notes": [],
            })
        );
        let home = of("");
        assert_eq!(home["rule"]["kind"], "default");
        assert_eq!(home["rule"]["origin"], serde_json::Value::Null);
        assert_eq!(home["over"], serde_json::Value::Null);
        assert_eq!(home["keeps_name_for"]["path"], "~/a");
        assert_eq!(home["now"], "directory");
    }
}
