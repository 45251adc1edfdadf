//! The nearest valid word to one that is not known.
#![forbid(unsafe_code)]

use std::fmt;

/// What to say after "unknown word": the nearest known one, or all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint(String);

impl Hint {
    /// Finds the nearest of `known` to `word`.
    #[must_use]
    pub fn new(word: &str, known: &[&str]) -> Self {
        match nearest(word, known) {
            Some(near) => Self(format!("; did you mean \"{near}\"?")),
            None => Self(format!("; known are {}", known.join(", "))),
        }
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The word of `known` that is few enough typing errors away from `word`, or starts with it; the first of equals.
#[must_use]
pub fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let lower = word.to_lowercase();
    let limit = (lower.chars().count() / 3).max(2);
    let errors = |candidate: &str| match lower.len() > 2 && candidate.starts_with(&lower) {
        true => 1,
        false => distance(&lower, candidate),
    };
    known
        .iter()
        .map(|candidate| (errors(candidate), *candidate))
        .filter(|(errors, candidate)| *errors <= limit && *errors < candidate.chars().count())
        .min_by_key(|(errors, _)| *errors)
        .map(|(_, candidate)| candidate)
}

/// Letters to add, drop or change to get from `a` to `b` (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = i;
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
        for (j, to) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", ""), 3);
        assert_eq!(distance("readonly", "read-only"), 1);
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn near_and_far_words() {
        let levels = ["read-only", "add-only", "no-delete", "writable"];
        assert_eq!(nearest("readonly", &levels), Some("read-only"));
        assert_eq!(nearest("READ-ONLY", &levels), Some("read-only"));
        assert_eq!(nearest("writeable", &levels), Some("writable"));
        assert_eq!(nearest("nodelete", &levels), Some("no-delete"));
        assert_eq!(
            nearest("claude", &["codex", "claude-code"]),
            Some("claude-code")
        );
        assert_eq!(nearest("banana", &levels), None);
        assert_eq!(
            nearest("x", &["pi"]),
            None,
            "a word of two letters is not near to everything"
        );
        assert_eq!(
            Hint::new("banana", &levels).to_string(),
            "; known are read-only, add-only, no-delete, writable"
        );
    }
}
