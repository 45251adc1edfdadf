//! `guard explain`: which rule holds for a path, and what that means.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use super::policies::{self, Loaded};
use super::words::visible;
use super::{Failure, surroundings};
use crate::plan::{Enforcer, Explanation, Plan, RuleId};
use crate::policy::Level;
use crate::policy::shipped::BUILT_IN;

/// What `guard explain` is asked.
#[derive(Args, Debug)]
pub struct ExplainArgs {
    /// The policy to ask, instead of the one that a run would use
    #[arg(long, value_name = "NAME|FILE")]
    policy: Option<String>,
    /// Paths; they need not exist
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
}

/// Explains each path.
pub fn main(arguments: &ExplainArgs, out: &mut dyn Write) -> Result<i32, Failure> {
    let Loaded { plan, .. } = policies::load(arguments.policy.as_deref())?;
    let here = policies::working_directory()?;
    let home = surroundings::home();
    for (index, path) in arguments.paths.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        let explanation = plan.explain(&absolute(path, &here, home.as_deref()))?;
        write!(out, "{}", text(&plan, &explanation))?;
    }
    Ok(0)
}

/// `~` at the start is home even where the shell did not see it, as in quotes.
fn absolute(path: &Path, here: &Path, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) if rest.as_os_str().is_empty() => home.to_owned(),
        (Ok(rest), Some(home)) => home.join(rest),
        _ => here.join(path),
    }
}

fn text(plan: &Plan, explanation: &Explanation) -> String {
    let shown = |path: &Path| visible(&plan.show(path));
    let mut heading = shown(&explanation.asked);
    if explanation.path != explanation.asked {
        heading = format!("{heading} is {}", shown(&explanation.path));
    }
    if explanation.identity.is_none() {
        heading.push_str(" (nothing there now)");
    }
    let mut lines = vec![heading];
    match explanation.rule {
        Some(id) => lines.push(format!("  rule      {}", rule(plan, id))),
        None => lines.push(format!(
            "  rule      none: default = \"{}\" in the policy {}",
            explanation.level,
            visible(&plan.policy)
        )),
    }
    if let Some(id) = explanation.beaten {
        lines.push(format!("  over      {}", rule(plan, id)));
    }
    lines.push(format!("  allows    {}", allows(explanation.enforced)));
    lines.push(format!("  enforced  {}", enforced(explanation.enforcer)));
    if let Some(id) = explanation.kept_for {
        lines.push(format!(
            "  but       it keeps its name, since {} lies below or behind it",
            visible(&plan.rule(id).shown)
        ));
    }
    lines.extend(
        explanation
            .notes
            .iter()
            .map(|note| format!("  note      {}", visible(note))),
    );
    lines.join("\n") + "\n"
}

/// `~/.pi/agent = "read-only" from policy pi:5 (pi's sessions)`.
fn rule(plan: &Plan, id: RuleId) -> String {
    let rule = plan.rule(id);
    let place = if rule.policy == BUILT_IN {
        ", built in".to_owned()
    } else {
        format!(" from {}", visible(&rule.origin.to_string()))
    };
    let why = rule
        .why
        .as_ref()
        .map(|why| format!(" ({})", visible(why)))
        .unwrap_or_default();
    format!("{} = \"{}\"{place}{why}", visible(&rule.shown), rule.level)
}

/// What may happen at a level.
fn allows(level: Level) -> &'static str {
    match level {
        Level::ReadOnly => "reading; nothing is made, changed or removed",
        Level::AddOnly => "reading and making new entries; what exists is not changed or removed",
        Level::NoDelete => "reading, making and changing; what exists is not removed or moved away",
        Level::Writable => "everything",
    }
}

fn enforced(enforcer: Enforcer) -> &'static str {
    match enforcer {
        Enforcer::WallAndSupervisor => {
            "by the kernel (Landlock), even when guard's supervisor is dead; the supervisor refuses first, and records it"
        }
        Enforcer::SupervisorAlone => {
            "by guard's supervisor, which records it; the kernel cannot tell this path from its neighbours"
        }
        Enforcer::Nobody => "nothing is refused here",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::policies::tests::Machine;

    #[test]
    fn a_path_is_found_from_here_and_from_home() {
        let absolute = |path: &str| {
            absolute(
                Path::new(path),
                Path::new("/here"),
                Some(Path::new("/home/u")),
            )
        };
        assert_eq!(absolute("x/y"), Path::new("/here/x/y"));
        assert_eq!(absolute("/x"), Path::new("/x"));
        assert_eq!(absolute("~"), Path::new("/home/u"));
        assert_eq!(absolute("~/x"), Path::new("/home/u/x"));
        assert_eq!(absolute("~x"), Path::new("/here/~x"));
    }

    #[test]
    fn a_protected_path_names_its_rule_and_its_enforcer() {
        let machine = Machine::new(&[".pi/agent/sessions"]);
        let plan = machine.plan("version = 1\n[paths]\n\"~/.pi/agent\" = { level = \"add-only\", why = \"sessions\" }\n");
        let explanation = plan
            .explain(&machine.home().join(".pi/agent/sessions"))
            .unwrap();
        assert_eq!(
            text(&plan, &explanation),
            "~/.pi/agent/sessions\n  \
             rule      ~/.pi/agent = \"add-only\" from p.toml:3 (sessions)\n  \
             allows    reading; nothing is made, changed or removed\n  \
             enforced  by the kernel (Landlock), even when guard's supervisor is dead; the supervisor refuses first, and records it\n  \
             note      add-only is enforced as read-only for now\n"
        );
    }

    #[test]
    fn guards_own_files_need_no_line() {
        let machine = Machine::new(&[]);
        let plan = machine.plan("version = 1\n");
        let said = text(
            &plan,
            &plan
                .explain(&machine.home().join(".config/guard/policy.toml"))
                .unwrap(),
        );
        let rule =
            "  rule      ~/.config/guard = \"read-only\", built in (guard's own configuration)\n";
        assert!(said.contains(rule), "{said}");
    }

    #[test]
    fn a_path_above_it_keeps_its_name_and_others_are_free() {
        let machine = Machine::new(&[".pi/agent", "other"]);
        let plan = machine.plan("version = 1\n[paths]\n\"~/.pi/agent\" = \"read-only\"\n");
        let said = |name: &str| text(&plan, &plan.explain(&machine.home().join(name)).unwrap());
        let above = said(".pi");
        assert!(
            above.contains("  rule      none: default = \"writable\" in the policy p.toml\n"),
            "{above}"
        );
        assert!(
            above.contains(
                "  but       it keeps its name, since ~/.pi/agent lies below or behind it\n"
            ),
            "{above}"
        );
        let free = said("other/deep/new");
        assert!(
            free.starts_with("~/other/deep/new (nothing there now)\n"),
            "{free}"
        );
        assert!(
            free.contains("  enforced  nothing is refused here\n"),
            "{free}"
        );
        assert!(!free.contains("  but "), "{free}");
    }
}
