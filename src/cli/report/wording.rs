//! The sentences about a refused call. People read them, and models: what happened, by which rule, what to look at.

use crate::cli::words::{Homes, counted, visible, word};
use crate::plan::Column;
use crate::policy::shipped::BUILT_IN;
use crate::record::{Answer, Attempt, Group, GroupKind, Operation, Process, RuleNote, Scope};

/// The two lines about a refused call.
pub fn refusal(attempt: &Attempt, homes: &Homes) -> String {
    let who = process(&attempt.process, homes);
    let what = action(attempt);
    let because = attempt
        .because
        .as_deref()
        .map(|because| format!(": {}", visible(because)))
        .unwrap_or_default();
    let object = object(attempt, homes);
    let (object, law) = match (Scope::of(attempt), &attempt.rule) {
        (Scope::Every, _) => {
            let object = object
                .map(|object| format!(" ({object})"))
                .unwrap_or_default();
            (object, format!("refused under every policy{because}"))
        }
        (_, rule) => {
            let object = format!(" {}", object.unwrap_or_else(|| "what it named".into()));
            let law = rule.as_ref().map_or_else(
                || "no rule names it, so the policy's default holds".into(),
                law,
            );
            let change = advice(attempt)
                .map(|advice| format!("; {advice}"))
                .unwrap_or_default();
            let ask = question(attempt, homes)
                .map(|path| format!("; see `guard explain {path}`"))
                .unwrap_or_default();
            (object, format!("{law}{because}{change}{ask}"))
        }
    };
    format!("guard: refused: {who} may not {what}{object}\nguard:          {law}\n")
}

/// `rule ~/.pi/agent = "read-only" (policy pi)`.
fn law(rule: &RuleNote) -> String {
    format!(
        "rule {} = \"{}\" ({})",
        visible(&rule.path),
        rule.level,
        source(rule)
    )
}

/// What a person would change: the level from which on the call is allowed. None where no level allows it: on guard's own
/// files, and where something else than the level stands in the way.
fn advice(attempt: &Attempt) -> Option<String> {
    let rule = attempt.rule.as_ref();
    if attempt.because.is_some() || rule.is_some_and(|rule| rule.policy == BUILT_IN) {
        return None;
    }
    let (column, lesser) = needs(attempt.operation)?;
    let least = column.least();
    if rule.is_some_and(|rule| rule.level >= least) {
        return None;
    }
    Some(match lesser {
        // Which of the two is not known of the default: its level is not in the record.
        Some((other, when)) if rule.is_some_and(|rule| rule.level < other.least()) => {
            format!("{when} takes \"{}\", else \"{least}\"", other.least())
        }
        _ => format!("this takes \"{least}\""),
    })
}

/// The column that a refused operation falls under, and one that asks less, with the case in which it is enough.
fn needs(operation: Operation) -> Option<(Column, Option<(Column, &'static str)>)> {
    match operation {
        Operation::Create => Some((Column::Make, None)),
        // A second name would be a way to change it.
        Operation::Write | Operation::Metadata | Operation::Link => Some((Column::Change, None)),
        Operation::Delete => Some((Column::Remove, None)),
        Operation::Rename => Some((Column::Remove, Some((Column::Change, "a move within it")))),
        Operation::Replace => Some((Column::Remove, Some((Column::Change, "an atomic save")))),
        Operation::Forbidden => None,
    }
}

/// `policy pi`, or `built in`.
fn source(rule: &RuleNote) -> String {
    if rule.policy == BUILT_IN {
        rule.policy.clone()
    } else {
        format!("policy {}", visible(&rule.policy))
    }
}

/// `policy pi:5`, `policy ~/p.toml, ~/base.toml:3`, or `built in`: a rule with its place.
pub fn rule_and_place(rule: &RuleNote) -> String {
    let origin = visible(&rule.origin.to_string());
    if origin.starts_with(&rule.policy) || origin.starts_with("policy ") {
        format!(
            "rule {} = \"{}\" ({origin})",
            visible(&rule.path),
            rule.level
        )
    } else {
        format!(
            "rule {} = \"{}\" ({}; {origin})",
            visible(&rule.path),
            rule.level,
            source(rule)
        )
    }
}

/// `node (pid 4312, `node --test create.test.js`)`.
pub fn process(process: &Process, homes: &Homes) -> String {
    let name = name(process);
    if process.arguments.is_empty() {
        format!("{name} (pid {})", process.pid)
    } else {
        format!(
            "{name} (pid {}, `{}`)",
            process.pid,
            homes.command(&process.arguments)
        )
    }
}

/// `node`: the last part of the executable's path, else of the first argument.
pub fn name(process: &Process) -> String {
    [&process.executable]
        .into_iter()
        .chain(process.arguments.first())
        .map(|path| {
            path.shown()
                .rsplit('/')
                .next()
                .map(visible)
                .unwrap_or_default()
        })
        .find(|name| !name.is_empty())
        .unwrap_or_else(|| "a process".into())
}

/// What the call would have done, as it follows "may not".
fn action(attempt: &Attempt) -> String {
    let call = attempt.syscall.as_str();
    match attempt.operation {
        Operation::Create => "create".into(),
        Operation::Write if call.contains("truncate") => "truncate".into(),
        Operation::Write => "write to".into(),
        Operation::Delete => "delete".into(),
        Operation::Rename => "rename or move".into(),
        Operation::Replace => "replace".into(),
        Operation::Link => "make a second name for".into(),
        Operation::Metadata => format!("change {} of", aspect(call)),
        Operation::Forbidden => format!("call {}", visible(call)),
    }
}

/// What of a file's metadata a system call changes.
fn aspect(call: &str) -> &'static str {
    const TABLE: [(&str, &str); 4] = [
        ("chmod", "the mode"),
        ("chown", "the owner"),
        ("utime", "the times"),
        ("xattr", "the extended attributes"),
    ];
    TABLE
        .iter()
        .find(|(part, _)| call.contains(part))
        .map_or("the metadata", |(_, aspect)| aspect)
}

/// The object in question, home as `~`.
fn object(attempt: &Attempt, homes: &Homes) -> Option<String> {
    attempt
        .found
        .as_ref()
        .or(attempt.asked.first())
        .map(|path| homes.place(&path.shown()))
}

/// The path for `guard explain`: the object, or the rule's when that name needs more than quotes.
fn question(attempt: &Attempt, homes: &Homes) -> Option<String> {
    let usable = |path: &&str| visible(path) == **path && path.chars().count() < 200;
    let found = attempt
        .found
        .as_ref()
        .and_then(|path| std::str::from_utf8(path.as_bytes()).ok())
        .filter(usable)
        .map(|path| homes.place(path));
    found
        .or_else(|| Some(attempt.rule.as_ref()?.path.clone()))
        .map(|path| word(&path))
}

/// `tried to remove 214 entries (202 files, 12 folders) under ~/.pi/agent: a recursive delete`.
pub fn group(group: &Group, homes: &Homes) -> String {
    let many = group.attempts;
    let counts: Vec<String> = [(group.files, "file"), (group.folders, "folder")]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, thing)| counted(count, thing))
        .collect();
    let counts = if counts.is_empty() || many == 1 {
        String::new()
    } else {
        format!(" ({})", counts.join(", "))
    };
    let entries = if many == 1 {
        "1 entry".into()
    } else {
        format!("{many} entries")
    };
    let what = match group.operation {
        Operation::Create => format!("make {entries}"),
        Operation::Write => format!("write to {entries}"),
        Operation::Delete => format!("remove {entries}"),
        Operation::Rename => format!("rename or move {entries}"),
        Operation::Replace => format!("replace {entries}"),
        Operation::Link => format!("make a second name for {entries}"),
        Operation::Metadata => format!("change the metadata of {entries}"),
        Operation::Forbidden => {
            format!("make {}", counted(many, "call that no policy allows"))
        }
    };
    let place = match (&group.rule, &group.within) {
        (Some(rule), _) => format!(" under {}", visible(&rule.path)),
        (None, Some(within)) => format!(" in {}", homes.place(&within.shown())),
        (None, None) => String::new(),
    };
    let kind = match group.kind {
        GroupKind::Single | GroupKind::Repeated => "",
        GroupKind::RecursiveDelete => ": a recursive delete",
        GroupKind::RepeatedWrite => ": repeated writes",
        GroupKind::MetadataSweep => ": a metadata sweep",
    };
    let verb = match group.answer {
        Answer::Refused => "tried to",
        Answer::LeftToWall => "could not be looked into when it was to",
    };
    let processes = if group.processes > 1 {
        format!(", by {} processes", group.processes)
    } else {
        String::new()
    };
    format!("{verb} {what}{counts}{place}{kind}{processes}")
}

/// The rule behind a group, and where it is written.
pub fn law_of(group: &Group) -> String {
    match (
        &group.rule,
        Scope::from(group.rule.as_ref(), group.operation),
    ) {
        (Some(rule), _) => rule_and_place(rule),
        (None, Scope::Every) => "refused under every policy".into(),
        (None, _) => "no rule; the policy's default".into(),
    }
}

/// An operation in a count.
pub fn operation(operation: Operation) -> &'static str {
    match operation {
        Operation::Create => "create",
        Operation::Write => "write",
        Operation::Delete => "delete",
        Operation::Rename => "rename",
        Operation::Replace => "replace",
        Operation::Link => "link",
        Operation::Metadata => "metadata",
        Operation::Forbidden => "forbidden call",
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::policy::{Level, Origin};
    use crate::record::samples::{attempt, rule};

    fn said(attempt: &Attempt) -> String {
        refusal(attempt, &Homes::new(Path::new("/home/u")))
    }

    #[test]
    fn a_refusal_names_process_object_rule_and_what_to_ask() {
        let attempt = attempt(4312, Operation::Delete, "/home/u/.pi/agent/sessions");
        assert_eq!(
            said(&attempt),
            "guard: refused: node (pid 4312, `node --test create.test.js`) may not delete ~/.pi/agent/sessions\n\
             guard:          rule ~/.pi/agent = \"read-only\" (policy pi); this takes \"writable\"; \
             see `guard explain ~/.pi/agent/sessions`\n"
        );
    }

    #[test]
    fn a_reason_is_said_and_no_level_that_would_not_help() {
        let mut attempt = attempt(9, Operation::Rename, "/home/u/.pi");
        attempt.because = Some("it is a parent of ~/.pi/agent, whose name must stay".into());
        attempt.rule = Some(RuleNote {
            level: Level::AddOnly,
            ..rule("~/.pi/agent")
        });
        assert_eq!(
            said(&attempt),
            "guard: refused: node (pid 9, `node --test create.test.js`) may not rename or move ~/.pi\n\
             guard:          rule ~/.pi/agent = \"add-only\" (policy pi): \
             it is a parent of ~/.pi/agent, whose name must stay; see `guard explain ~/.pi`\n"
        );
    }

    #[test]
    fn a_call_that_no_policy_allows_has_its_own_words() {
        let mut attempt = attempt(9, Operation::Forbidden, "");
        attempt.rule = None;
        attempt.found = None;
        attempt.asked = Vec::new();
        attempt.syscall = "mount".into();
        attempt.process.executable = "".into();
        attempt.process.arguments = vec!["/bin/mount".into(), "--bind".into()];
        attempt.because = Some("a mount could hide what is protected".into());
        assert_eq!(
            said(&attempt),
            "guard: refused: mount (pid 9, `/bin/mount --bind`) may not call mount\n\
             guard:          refused under every policy: a mount could hide what is protected\n"
        );
    }

    #[test]
    fn rules_that_no_file_holds_and_the_default_are_named() {
        let mut attempt = attempt(9, Operation::Create, "/home/u/x");
        attempt.process.arguments = Vec::new();
        let origin = Origin {
            file: BUILT_IN.into(),
            line: 0,
            column: 0,
        };
        attempt.rule = Some(RuleNote {
            policy: BUILT_IN.into(),
            origin,
            ..rule("~/.config/guard")
        });
        assert!(
            said(&attempt).contains(" rule ~/.config/guard = \"read-only\" (built in); see"),
            "{}",
            said(&attempt)
        );
        attempt.rule = None;
        assert_eq!(
            said(&attempt),
            "guard: refused: node (pid 9) may not create ~/x\n\
             guard:          no rule names it, so the policy's default holds; this takes \"add-only\"; \
             see `guard explain ~/x`\n"
        );
    }

    #[test]
    fn a_place_is_named_once() {
        let shipped = rule("~/.pi/agent");
        assert_eq!(
            rule_and_place(&shipped),
            "rule ~/.pi/agent = \"read-only\" (policy pi:4)"
        );
        let origin = Origin {
            file: "my.toml".into(),
            line: 7,
            column: 1,
        };
        let own = RuleNote {
            policy: "my.toml".into(),
            origin,
            ..shipped
        };
        assert_eq!(
            rule_and_place(&own),
            "rule ~/.pi/agent = \"read-only\" (my.toml:7)"
        );
    }

    #[test]
    fn names_cannot_forge_a_line_of_their_own() {
        let mut attempt = attempt(
            9,
            Operation::Write,
            "/home/u/.pi/agent/a\nguard: all is well\u{1b}[1A",
        );
        attempt.process.arguments = Vec::new();
        let said = said(&attempt);
        assert_eq!(said.lines().count(), 2);
        assert!(!said.contains('\u{1b}'));
        assert!(
            said.contains(
                "node (pid 9) may not write to ~/.pi/agent/a\\nguard: all is well\\e[1A\n"
            ),
            "{said}"
        );
        assert!(
            said.ends_with("see `guard explain ~/.pi/agent`\n"),
            "{said}"
        );
    }

    #[test]
    fn the_level_that_a_call_takes_is_said_for_each_operation_and_level() {
        use Operation::{Create, Delete, Forbidden, Link, Metadata, Rename, Replace, Write};
        let moved = Some("a move within it takes \"no-delete\", else \"writable\"");
        let saved = Some("an atomic save takes \"no-delete\", else \"writable\"");
        let add = Some("this takes \"add-only\"");
        let change = Some("this takes \"no-delete\"");
        let remove = Some("this takes \"writable\"");
        for (operation, read_only, add_only, no_delete, default) in [
            (Create, add, None, None, add),
            (Write, change, change, None, change),
            (Metadata, change, change, None, change),
            (Link, change, change, None, change),
            (Delete, remove, remove, remove, remove),
            (Rename, moved, moved, remove, remove),
            (Replace, saved, saved, remove, remove),
            (Forbidden, None, None, None, None),
        ] {
            let mut attempt = attempt(1, operation, "/home/u/x");
            for (level, wanted) in Level::ALL
                .into_iter()
                .zip([read_only, add_only, add_only, no_delete, None])
            {
                attempt.rule = Some(RuleNote {
                    level,
                    ..rule("~/x")
                });
                assert_eq!(
                    advice(&attempt).as_deref(),
                    wanted,
                    "{operation:?} at {level}"
                );
            }
            attempt.rule = None;
            assert_eq!(advice(&attempt).as_deref(), default, "{operation:?}");
        }
    }

    #[test]
    fn metadata_says_which() {
        for (call, words) in [
            ("fchmodat2", "may not change the mode of ~/x"),
            ("lchown", "may not change the owner of ~/x"),
            ("utimensat", "may not change the times of ~/x"),
            ("fsetxattr", "may not change the extended attributes of ~/x"),
            ("ioctl", "may not change the metadata of ~/x"),
        ] {
            let mut attempt = attempt(1, Operation::Metadata, "/home/u/x");
            attempt.syscall = call.into();
            assert!(said(&attempt).contains(words), "{call}: {}", said(&attempt));
        }
    }
}
