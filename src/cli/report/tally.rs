//! The sentence at the end of a run: how much was refused, what it would have been, and where.

use crate::cli::report::wording::operation;
use crate::cli::words::{counted, visible};
use crate::record::{Root, Scope, Summary};

/// Rules that the sentence names one by one.
const ROOTS: usize = 4;

/// `214 attempts refused in 1 recursive delete under ~/.pi/agent`.
pub fn tally(summary: &Summary) -> String {
    let attempts = counted(summary.attempts(), "attempt");
    match summary.roots().as_slice() {
        [] => format!("{attempts} refused"),
        [root] => format!("{attempts} refused {}", shape(summary, root)),
        roots => {
            let mut parts: Vec<_> = roots
                .iter()
                .take(ROOTS)
                .map(|root| format!("{} {}", root.attempts(), shape(summary, root)))
                .collect();
            if let Some(rest) = roots.get(ROOTS..).filter(|rest| !rest.is_empty()) {
                let count: u64 = rest.iter().map(|root| root.attempts()).sum();
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
fn shape(summary: &Summary, root: &Root) -> String {
    let how = match summary.recursive_deletes(root) {
        Some(count) => format!("in {}", counted(count, "recursive delete")),
        None => format!("({})", operations(root)),
    };
    match &root.scope {
        Scope::Rule(rule) if rule.contains(['*', '?', '[', '{']) => {
            format!("{how} matching {}", visible(rule))
        }
        Scope::Rule(rule) => format!("{how} under {}", visible(rule)),
        Scope::Default => format!("{how} under the policy's default"),
        Scope::Every => format!("{how} that no policy allows"),
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
    use super::*;
    use crate::record::Operation;
    use crate::record::samples::{attempt, rule};

    fn counted_up(attempts: &[(i32, Operation, Option<&str>)]) -> String {
        let mut summary = Summary::new(8);
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
            "8 attempts refused: 6 in 1 recursive delete under ~/.pi/agent, 1 (write) matching **/*.keystore, \
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
