//! The sentences of a run's report. People read them, and models: what happened, by which rule, what to look at.

use crate::cli::words::{Homes, counted, visible, word};
use crate::policy::{Level, Origin};
use crate::record::{Attempt, Operation, Root, RuleNote, Summary};

/// Rules that the last line names one by one.
const ROOTS: usize = 4;

/// The two lines about a refused call.
pub fn refusal(attempt: &Attempt, homes: &Homes) -> String {
    let who = process(attempt, homes);
    let what = action(attempt);
    let because = attempt.because.as_deref().map(visible);
    let Some(rule) = &attempt.rule else {
        let object = object(attempt, homes)
            .map(|object| format!(" ({object})"))
            .unwrap_or_default();
        let because = because
            .map(|because| format!(": {because}"))
            .unwrap_or_default();
        return format!(
            "guard: refused: {who} may not {what}{object}\nguard:          refused under every policy{because}\n"
        );
    };
    let object = object(attempt, homes).unwrap_or_else(|| "what it named".into());
    let because = because
        .map(|because| format!(": {because}"))
        .unwrap_or_default();
    let level = level(rule.level);
    format!(
        "guard: refused: {who} may not {what} {object}\nguard:          rule {} = \"{level}\" ({}policy {}){because}; see `guard explain {}`\n",
        visible(&rule.path),
        if rule.level.enforced() == rule.level {
            String::new()
        } else {
            format!(
                "enforced as \"{}\" for now; ",
                self::level(rule.level.enforced())
            )
        },
        visible(&rule.policy),
        question(attempt, rule, homes),
    )
}

/// `node (pid 4312, `node --test create.test.js`)`.
pub fn process(attempt: &Attempt, homes: &Homes) -> String {
    let name = [&attempt.executable]
        .into_iter()
        .chain(attempt.arguments.first())
        .filter_map(|path| path.rsplit('/').next())
        .find(|name| !name.is_empty())
        .map_or_else(|| "a process".into(), visible);
    if attempt.arguments.is_empty() {
        format!("{name} (pid {})", attempt.pid)
    } else {
        format!(
            "{name} (pid {}, `{}`)",
            attempt.pid,
            homes.command(&attempt.arguments)
        )
    }
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
        .map(|path| homes.place(path))
}

/// The path for `guard explain`: the object, unless its name needs more than quotes.
fn question(attempt: &Attempt, rule: &RuleNote, homes: &Homes) -> String {
    let usable =
        |path: &&String| visible(path) == **path && homes.place(path).chars().count() < 200;
    let path = attempt
        .found
        .as_ref()
        .filter(usable)
        .map(|path| homes.place(path));
    word(&path.unwrap_or_else(|| rule.path.clone()))
}

/// A level as policies write it.
pub fn level(level: Level) -> &'static str {
    match level {
        Level::ReadOnly => "read-only",
        Level::AddOnly => "add-only",
        Level::NoDelete => "no-delete",
        Level::Writable => "writable",
    }
}

/// `~/policy.toml:12:3`, or what stands for it.
pub fn origin(origin: &Origin) -> String {
    let file = visible(&origin.file);
    if origin.line == 0 {
        file
    } else {
        format!("{file}:{}:{}", origin.line, origin.column)
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

/// `214 attempts refused in 1 recursive delete under ~/.pi/agent`.
pub fn tally(summary: &Summary) -> String {
    let attempts = counted(summary.attempts(), "attempt");
    match summary.roots() {
        [] => format!("{attempts} refused"),
        [root] => format!("{attempts} refused {}", shape(root)),
        roots => {
            let mut parts: Vec<_> = roots
                .iter()
                .take(ROOTS)
                .map(|root| format!("{} {}", root.attempts(), shape(root)))
                .collect();
            if let Some(rest) = roots.get(ROOTS..).filter(|rest| !rest.is_empty()) {
                let count: u64 = rest.iter().map(Root::attempts).sum();
                parts.push(format!(
                    "{count} under {}",
                    counted(rest.len() as u64, "other rule")
                ));
            }
            format!("{attempts} refused: {}", parts.join(", "))
        }
    }
}

/// `in 1 recursive delete under ~/.pi/agent`, `(2 delete, 1 write) under ~/.codex`.
fn shape(root: &Root) -> String {
    let how = match root.recursive_deletes() {
        Some(count) => format!("in {}", counted(count as u64, "recursive delete")),
        None => format!("({})", operations(root)),
    };
    match &root.rule {
        Some(rule) if rule.contains(['*', '?', '[', '{']) => {
            format!("{how} matching {}", visible(rule))
        }
        Some(rule) => format!("{how} under {}", visible(rule)),
        None => format!("{how} that no policy allows"),
    }
}

/// The most frequent first.
fn operations(root: &Root) -> String {
    let mut counts: Vec<_> = root.by_operation.iter().collect();
    counts.sort_by_key(|&(_, &count)| std::cmp::Reverse(count));
    match counts.as_slice() {
        [(only, _)] => operation(**only).into(),
        several => several
            .iter()
            .map(|&(&kind, count)| format!("{count} {}", operation(kind)))
            .collect::<Vec<_>>()
            .join(", "),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
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
             guard:          rule ~/.pi/agent = \"read-only\" (policy pi); see `guard explain ~/.pi/agent/sessions`\n"
        );
    }

    #[test]
    fn the_reason_and_a_level_that_is_stricter_than_written_are_said() {
        let mut attempt = attempt(9, Operation::Rename, "/home/u/.pi");
        attempt.because = Some("it is a parent of ~/.pi/agent, whose name must stay".into());
        attempt.rule = Some(RuleNote {
            level: Level::AddOnly,
            ..rule("~/.pi/agent")
        });
        assert_eq!(
            said(&attempt),
            "guard: refused: node (pid 9, `node --test create.test.js`) may not rename or move ~/.pi\n\
             guard:          rule ~/.pi/agent = \"add-only\" (enforced as \"read-only\" for now; policy pi): \
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
        attempt.executable = String::new();
        attempt.arguments = vec!["/bin/mount".into(), "--bind".into()];
        attempt.because = Some("a mount could hide what is protected".into());
        assert_eq!(
            said(&attempt),
            "guard: refused: mount (pid 9, `/bin/mount --bind`) may not call mount\n\
             guard:          refused under every policy: a mount could hide what is protected\n"
        );
    }

    #[test]
    fn names_cannot_forge_a_line_of_their_own() {
        let mut attempt = attempt(
            9,
            Operation::Write,
            "/home/u/.pi/agent/a\nguard: all is well\u{1b}[1A",
        );
        attempt.arguments = Vec::new();
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

    fn counted_up(attempts: &[(i32, Operation, Option<&str>)]) -> String {
        let mut summary = Summary::default();
        for &(pid, operation, path) in attempts {
            let mut attempt = attempt(pid, operation, "/x");
            attempt.rule = path.map(rule);
            summary.count(&attempt);
        }
        tally(&summary)
    }

    #[test]
    fn the_tally_fits_what_was_tried() {
        use Operation::{Create, Delete, Forbidden, Write};
        let pi = Some("~/.pi/agent");
        assert_eq!(
            counted_up(&[(1, Delete, pi)]),
            "1 attempt refused (delete) under ~/.pi/agent"
        );
        assert_eq!(
            counted_up(&[(1, Delete, pi); 214]),
            "214 attempts refused in 1 recursive delete under ~/.pi/agent"
        );
        assert_eq!(
            counted_up(&[(1, Write, pi), (1, Delete, pi), (2, Delete, pi)]),
            "3 attempts refused (2 delete, 1 write) under ~/.pi/agent"
        );
        let mut several = vec![(1, Delete, pi); 3];
        several.extend([(2, Delete, pi); 3]);
        several.extend([(3, Write, Some("**/*.keystore")), (3, Forbidden, None)]);
        assert_eq!(
            counted_up(&several),
            "8 attempts refused: 6 in 2 recursive deletes under ~/.pi/agent, 1 (write) matching **/*.keystore, \
             1 (forbidden call) that no policy allows"
        );
        let many = ["~/1", "~/2", "~/3", "~/4", "~/5", "~/6"].map(|path| (1, Create, Some(path)));
        assert_eq!(
            counted_up(&many),
            "6 attempts refused: 1 (create) under ~/1, 1 (create) under ~/2, 1 (create) under ~/3, \
             1 (create) under ~/4, 2 under 2 other rules"
        );
    }
}
