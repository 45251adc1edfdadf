//! An explanation in words.

use std::path::{Path, PathBuf};

use crate::cli::words::visible;
use crate::plan::{
    Answer, Beaten, Column, Contrast, Doer, Explanation, Keeper, Note, Now, Plan, RuleId,
    Specificity,
};
use crate::policy::Level;
use crate::policy::shipped::BUILT_IN;

/// How many paths or globs a note names.
const MOST_NAMED: usize = 2;
/// Metadata, where it is not in the same hands as other changes.
const METADATA: &str = "  mode, owner, times, attributes";

/// All that there is to say of one path.
pub fn text(plan: &Plan, explanation: &Explanation) -> String {
    let shown = |path: &Path| visible(&plan.show(path));
    let mut heading = shown(&explanation.asked);
    if explanation.path != explanation.asked {
        heading = format!("{heading} is {}", shown(&explanation.path));
    }
    let level = explanation.standing.level;
    let mut lines = vec![heading, labelled("level", level.name())];
    match explanation.rule {
        Some(id) => {
            lines.push(labelled("rule", &rule(plan, id)));
            let source = plan.rule(id).source.as_deref();
            lines.extend(source.map(|source| labelled("source", &visible(source))));
        }
        None => lines.push(labelled("rule", &format!("none: {}", default(plan, level)))),
    }
    if let Some(beaten) = explanation.beaten {
        lines.push(labelled("over", &over(plan, beaten)));
    }
    if let Some(glob) = explanation.glob {
        lines.push(labelled("glob", &stance(explanation, glob)));
    }
    lines.push(labelled("now", now(explanation)));
    lines.extend(table(explanation));
    if let Some(id) = explanation.kept_for {
        let other = visible(&plan.rule(id).shown);
        let text = format!("it keeps its name, since {other} lies below or behind it");
        lines.push(labelled("but", &text));
    }
    lines.extend(
        notes(plan, explanation)
            .iter()
            .map(|note| labelled("note", note)),
    );
    lines.join("\n") + "\n"
}

fn labelled(label: &str, text: &str) -> String {
    format!("  {label:8}  {text}")
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

fn default(plan: &Plan, level: Level) -> String {
    format!(
        "default = \"{level}\" in the policy {}",
        visible(&plan.policy)
    )
}

/// What lost, and why where it was not the less specific one.
fn over(plan: &Plan, beaten: Beaten) -> String {
    match beaten {
        Beaten::Default(level) => default(plan, level),
        Beaten::Rule(id, specificity) => {
            let why = match specificity {
                Specificity::Less => "",
                Specificity::Equal => "; as specific, and the stricter holds",
                Specificity::More => "; more specific, but it cannot be looser",
            };
            format!("{}{why}", rule(plan, id))
        }
    }
}

/// Who enforces a glob.
fn stance(explanation: &Explanation, glob: Contrast) -> String {
    let beside = match glob {
        Contrast::Stricter => "stricter than around it",
        Contrast::Looser => "looser than around it",
        Contrast::Same => "as around it",
    };
    let standing = explanation.standing;
    let who = match (standing.level, standing.keeper) {
        (Level::Writable, _) if standing.doer == Doer::Kernel => "nothing is refused",
        (Level::Writable, _) => "the supervisor does what it allows",
        (_, Keeper::SupervisorAlone) => {
            "enforced by the supervisor alone; the kernel knows no globs"
        }
        (Level::ReadOnly, Keeper::KernelAndSupervisor) => "the kernel refuses what it forbids",
        (_, Keeper::KernelAndSupervisor) => {
            "the kernel refuses what it forbids, the supervisor does the rest"
        }
    };
    format!("{beside}: {who}")
}

/// What is there, and which lines of the table are about it.
fn now(explanation: &Explanation) -> &'static str {
    let makeable = |note: &Note| !matches!(note, Note::Unmakeable(..));
    match (explanation.now, explanation.standing.level) {
        (Now::File, _) => "a file: lines 2 and 3 hold for it, or line 4 if the run made it",
        (Now::Directory, _) => "a directory: all lines hold for its entries, 2 to 4 for itself",
        (Now::Hidden, _) => "not known: a directory above it may not be entered",
        (Now::Nothing, Level::ReadOnly) => "nothing is there, and nothing may be put there",
        (Now::Nothing, _) if !explanation.notes.iter().all(makeable) => {
            "nothing is there, and a run cannot make it"
        }
        (Now::Nothing, _) => {
            "nothing is there: a run may make it by line 1, and line 4 holds for it then"
        }
    }
}

/// The columns of the level table, one a line, and metadata where that is in other hands than its column.
fn table(explanation: &Explanation) -> Vec<String> {
    let standing = explanation.standing;
    let mut lines = Vec::new();
    for (number, column) in (1..).zip(Column::ALL) {
        let line = |name: &str, said| format!("{name:35}  {}", answer(said));
        let said = standing.answer(column);
        lines.push(format!("  {number}  {}", line(name(column), said)));
        if column == Column::Change && standing.metadata() != said {
            lines.push(format!("     {}", line(METADATA, standing.metadata())));
        }
    }
    lines
}

/// A column's heading.
fn name(column: Column) -> &'static str {
    match column {
        Column::Make => "make new entries",
        Column::Change => "change what exists",
        Column::Remove => "remove or move away what exists",
        Column::Own => "change or remove what this run made",
    }
}

fn answer(answer: Answer) -> &'static str {
    match answer {
        Answer::Yes(Doer::Kernel) => "yes  done by the kernel at once",
        Answer::Yes(Doer::Supervisor) => "yes  done by the supervisor",
        Answer::No(Keeper::KernelAndSupervisor) => {
            "no   refused by the kernel (Landlock) and the supervisor"
        }
        Answer::No(Keeper::SupervisorAlone) => "no   refused by the supervisor alone",
        Answer::Moot => "-    a run can make nothing here",
    }
}

/// The notes in words.
pub fn notes(plan: &Plan, explanation: &Explanation) -> Vec<String> {
    let mut notes = Vec::new();
    if explanation.standing.level == Level::NoDelete {
        notes.push(
            "an atomic save, and a rename to no-delete or add-only, lose nothing: both are changes"
                .to_owned(),
        );
    }
    if explanation.standing.level == Level::AppendOnly {
        notes.push(
            "what exists may be opened to append, and only that: the supervisor does it, and sees to it that it stays so"
                .to_owned(),
        );
    }
    let words = |note| note_text(plan, explanation, note);
    notes.extend(explanation.notes.iter().map(words));
    notes
}

fn note_text(plan: &Plan, explanation: &Explanation, note: &Note) -> String {
    let shown = |path: &Path| visible(&plan.show(path));
    let glob = |id: &RuleId| {
        let rule = plan.rule(*id);
        format!("{} ({})", visible(&rule.shown), rule.level)
    };
    match note {
        Note::KeptLink(link) => {
            format!("{} is a symbolic link, which keeps its name", shown(link))
        }
        Note::Link(link, level) => {
            format!(
                "{} is a symbolic link; the link itself is {level}",
                shown(link)
            )
        }
        Note::Unmakeable(above, level) => format!(
            "it cannot be made, since {} is missing too and {level}",
            shown(above)
        ),
        Note::OwnName(parent, around, doer) => {
            let who = match (explanation.standing.level, doer) {
                (Level::Writable, Doer::Supervisor) => " (by the supervisor)",
                _ => "",
            };
            format!(
                "removing or moving it goes by this level, not the {around} of {}{who}",
                shown(parent)
            )
        }
        Note::Beside(above) => format!(
            "the kernel grants nothing directly in {}, since other levels hold below",
            shown(above)
        ),
        Note::OtherLevels(places) => {
            let place = |(path, level): &(PathBuf, Level)| format!("{} ({level})", shown(path));
            format!("other levels below: {}", few(places, place))
        }
        Note::Globs(globs) => format!("globs may match names below: {}", few(globs, glob)),
        Note::InReach(globs) => format!(
            "the kernel grants nothing here, since it knows no globs: {}",
            few(globs, glob)
        ),
    }
}

/// The first few, and how many more.
fn few<T>(all: &[T], word: impl Fn(&T) -> String) -> String {
    let named: Vec<String> = all.iter().take(MOST_NAMED).map(word).collect();
    let named = named.join(", ");
    match all.len().saturating_sub(MOST_NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

#[cfg(test)]
mod tests;
