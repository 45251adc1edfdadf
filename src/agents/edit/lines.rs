//! The ends of lines: the libraries make them all alike.

use similar::{ChangeTag, TextDiff};

/// `new`, whose lines that are in `old` too have the ends that they have there; others that of the first.
pub fn with_ends_of(old: &str, new: &str) -> String {
    if !old.contains('\r') {
        return new.to_owned();
    }
    let lines: Vec<&str> = old.split_inclusive('\n').collect();
    let is_dos = lines.first().is_some_and(|line| line.ends_with("\r\n"));
    let end = if is_dos { "\r\n" } else { "\n" };
    let (plain, new) = (old.replace("\r\n", "\n"), new.replace("\r\n", "\n"));
    let diff = TextDiff::from_lines(&plain, &new);
    let kept = diff
        .iter_all_changes()
        .filter(|change| change.tag() != ChangeTag::Delete);
    kept.map(|change| {
        let old = change.old_index().and_then(|at| lines.get(at));
        match (change.tag(), old) {
            (ChangeTag::Equal, Some(line)) => (*line).to_owned(),
            _ => change.value().replace('\n', end),
        }
    })
    .collect()
}
