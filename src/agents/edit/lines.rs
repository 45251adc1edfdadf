//! The ends of lines: the libraries make them all alike.

use std::collections::VecDeque;

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
    let mut gone = VecDeque::new();
    let mut text = String::new();
    for change in diff.iter_all_changes() {
        let old = change.old_index().and_then(|at| lines.get(at));
        match (change.tag(), old) {
            (ChangeTag::Equal, Some(line)) => {
                gone.clear();
                text.push_str(line);
            }
            (ChangeTag::Delete, Some(line)) => gone.push_back(line.ends_with("\r\n")),
            // In the place of one that was there, with its end.
            _ => {
                let end = match gone.pop_front() {
                    Some(true) => "\r\n",
                    Some(false) => "\n",
                    None => end,
                };
                text.push_str(&change.value().replace('\n', end));
            }
        }
    }
    text
}
