//! `guard check`: a policy parsed and met with this machine, as a table.

use std::io::Write;

use clap::Args;

use super::Failure;
use super::policies::{self, Loaded};
use super::words::visible;
use crate::plan::{Effect, Plan, Row, RuleId, Target, Via};
use crate::policy::OnAttempt;
use crate::policy::shipped::BUILT_IN;

/// What `guard check` is asked.
#[derive(Args, Debug)]
pub struct CheckArgs {
    /// A policy by its name or its file; without it, the one that a run would use
    #[arg(value_name = "POLICY")]
    policy: Option<String>,
}

/// Prints the resolved policy. A policy that is wrong is an error that says where.
pub fn main(arguments: &CheckArgs, out: &mut dyn Write) -> Result<i32, Failure> {
    let Loaded {
        plan, on_attempt, ..
    } = policies::load(arguments.policy.as_deref(), policies::Purpose::Explain)?;
    write!(out, "{}", report(&plan, on_attempt))?;
    Ok(0)
}

/// The whole answer.
fn report(plan: &Plan, on_attempt: OnAttempt) -> String {
    let mut text = format!(
        "The policy {} is right. On this machine it means:\n\n",
        visible(&plan.policy)
    );
    let rows = plan.table();
    text.push_str(&table(plan, &rows));
    text.push_str(&idle(&rows));
    text.push_str(&aliases(plan));
    text.push_str(&kept(plan));
    if on_attempt == OnAttempt::Fail {
        text.push_str("\nA command that succeeds although something was refused ends with 123.\n");
    }
    for notice in &plan.notices {
        text.push_str(&format!("\nnote: {}\n", visible(notice)));
    }
    text
}

/// A line a rule that does something here, in the order of the policy.
fn table(plan: &Plan, rows: &[Row<'_>]) -> String {
    let mut cells = vec![["LEVEL", "PATH", "FROM", "NOTE"].map(str::to_owned)];
    for row in rows
        .iter()
        .filter(|row| !matches!(row.rule.effect, Effect::Nothing(_)))
    {
        let rule = row.rule;
        cells.push([
            rule.level.name().to_owned(),
            visible(&rule.shown),
            visible(&rule.origin.to_string()),
            note(plan, row),
        ]);
    }
    cells.push([plan.default.name(), "everything else", "", ""].map(str::to_owned));
    let width = |column: usize| {
        cells
            .iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let (level, path, from) = (width(0), width(1), width(2));
    let line = |[a, b, c, d]: &[String; 4]| {
        format!("{a:level$}  {b:path$}  {c:from$}  {d}")
            .trim_end()
            .to_owned()
            + "\n"
    };
    cells.iter().map(line).collect()
}

/// What a rule comes to here where its path does not say it, and why it is there.
fn note(plan: &Plan, row: &Row<'_>) -> String {
    let mut parts = Vec::new();
    if let Effect::Ignored(why) = &row.rule.effect {
        parts.push(format!("IGNORED: {}", visible(why)));
    }
    let named = row
        .targets
        .iter()
        .filter(|(target, _)| target.via == Via::Named);
    parts.extend(
        named.filter_map(|(target, stricter)| spot(plan, &row.rule.shown, target, *stricter)),
    );
    parts.extend(row.rule.why.as_deref().map(visible));
    parts.join("; ")
}

/// What is worth saying of a path that a rule stands for.
fn spot(plan: &Plan, shown: &str, target: &Target, stricter: Option<RuleId>) -> Option<String> {
    let mut parts = Vec::new();
    let here = plan.show(&target.path);
    if here != shown {
        parts.push(format!("here {}", visible(&here)));
    }
    if target.identity.is_none() {
        parts.push("not there yet".to_owned());
    }
    if let Some(id) = stricter {
        let rule = plan.rule(id);
        parts.push(format!(
            "{} from {} is stricter",
            rule.level,
            visible(&rule.origin.to_string())
        ));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Lines of the policy that name nothing here.
fn idle(rows: &[Row<'_>]) -> String {
    let mut text = String::new();
    for rule in rows
        .iter()
        .map(|row| row.rule)
        .filter(|rule| rule.policy != BUILT_IN)
    {
        let Effect::Nothing(why) = &rule.effect else {
            continue;
        };
        if text.is_empty() {
            text.push_str("\nThese lines name nothing here:\n");
        }
        let origin = rule.origin.to_string();
        text.push_str(&format!(
            "  {} ({}): {}\n",
            visible(&rule.shown),
            visible(&origin),
            visible(why)
        ));
    }
    text
}

/// The same places under other names.
fn aliases(plan: &Plan) -> String {
    let mut text = String::new();
    for place in plan.places.iter().filter(|place| place.via != Via::Named) {
        if text.is_empty() {
            text.push_str("\nThe same places through other mounts:\n");
        }
        let how = if place.via == Via::Backing {
            "a layer of an overlay"
        } else {
            "the same folder"
        };
        let rule = visible(&plan.rule(place.rule).shown);
        text.push_str(&format!(
            "  {} ({how}): {} as {rule}\n",
            visible(&plan.show(&place.path)),
            place.level
        ));
    }
    text
}

/// Directories and links above and before what has another level.
fn kept(plan: &Plan) -> String {
    let mut paths: Vec<_> = plan.kept.iter().map(|kept| kept.path.as_path()).collect();
    if paths.is_empty() {
        return String::new();
    }
    paths.sort_unstable();
    let paths: Vec<_> = paths
        .into_iter()
        .map(|path| visible(&plan.show(path)))
        .collect();
    format!(
        "\nThese keep their names, since what has another level lies below or behind them:\n  {}\n",
        paths.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::policies::tests::Machine;

    #[test]
    fn a_policy_becomes_a_table_with_what_is_special_here() {
        let machine = Machine::new(&[".pi/agent"]);
        let plan = machine.plan(
            "version = 1\n[paths]\n\
             \"~/.pi/agent\" = { level = \"read-only\", why = \"sessions\" }\n\
             \"~/later\" = \"no-delete\"\n\
             \"${GUARD_TEST_UNSET}\" = \"read-only\"\n\
             \"**/*.keystore\" = \"read-only\"\n",
        );
        let text = report(&plan, OnAttempt::Fail);
        let has = |line: &str| {
            text.lines()
                .any(|have| have.split_whitespace().eq(line.split_whitespace()))
        };
        for line in [
            "LEVEL PATH FROM NOTE",
            "read-only ~/.pi/agent p.toml:3 sessions",
            "no-delete ~/later p.toml:4 not there yet",
            "read-only **/*.keystore p.toml:6",
            "writable everything else",
            "${GUARD_TEST_UNSET} (p.toml:5): $GUARD_TEST_UNSET is not set",
            "A command that succeeds although something was refused ends with 123.",
        ] {
            assert!(has(line), "{line:?} is not in\n{text}");
        }
        assert!(
            text.contains("what has another level lies below or behind them:\n  "),
            "{text}"
        );
    }

    #[test]
    fn nothing_is_said_of_levels_that_hold_as_they_are_written_nor_of_an_end_as_usual() {
        let machine = Machine::new(&["kept"]);
        let plan = machine.plan("version = 1\n[paths]\n\"~/kept\" = \"add-only\"\n");
        let text = report(&plan, OnAttempt::Report);
        assert!(!text.contains("enforce"), "{text}");
        assert!(!text.contains("123"), "{text}");
    }
}
