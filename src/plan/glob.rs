//! The wildcards of a rule, compiled when they are first needed.
//!
//! Few of a policy's globs are ever asked about a path that could match, and compiling one is slow beside everything else
//! that is done before a command starts.
#![forbid(unsafe_code)]

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;

use globset::GlobMatcher;

use crate::policy::{Level, Text, compile};

/// Wildcards with the level of their rule.
#[derive(Clone, Debug)]
pub struct Matcher {
    wildcards: Text,
    level: Level,
    compiled: OnceLock<Option<GlobMatcher>>,
}

impl Matcher {
    /// Of wildcards that have been compiled once without an error.
    #[must_use]
    pub fn new(wildcards: Text, level: Level) -> Self {
        Self {
            wildcards,
            level,
            compiled: OnceLock::new(),
        }
    }

    /// The wildcards as written.
    #[must_use]
    pub fn wildcards(&self) -> &str {
        &self.wildcards
    }

    /// Whether the whole of a path matches.
    #[must_use]
    pub fn is_match(&self, path: impl AsRef<Path>) -> bool {
        let path = path.as_ref();
        if !could_match(&self.wildcards, path.as_os_str()) {
            return false;
        }
        let compiled = self.compiled.get_or_init(|| {
            compile(&self.wildcards)
                .ok()
                .map(|glob| glob.compile_matcher())
        });
        match compiled {
            Some(matcher) => matcher.is_match(path),
            // It compiled when it was read. If it does not now, then it opens nothing and closes all that it could.
            None => self.level != Level::Writable,
        }
    }
}

/// The characters that do not stand for themselves.
const SPECIAL: [char; 6] = ['*', '?', '[', ']', '{', '}'];

/// Whether a path begins and ends with what the wildcards have before the first and after the last special character, or in
/// one of the alternatives at their end. What matches does, so this spares compiling most of them.
fn could_match(wildcards: &str, path: &OsStr) -> bool {
    // A backslash takes the meaning from what comes next.
    if wildcards.contains('\\') {
        return true;
    }
    let path = path.as_bytes();
    let start = wildcards
        .find(SPECIAL)
        .map_or(wildcards, |at| &wildcards[..at]);
    // `**` before or after a slash matches nothing as well, without that slash.
    if !path.starts_with(start.trim_end_matches('/').as_bytes()) {
        return false;
    }
    let ends = |before: &str, path: &[u8]| {
        let end = before.rfind(SPECIAL).map_or(before, |at| &before[at + 1..]);
        path.ends_with(end.trim_start_matches('/').as_bytes())
    };
    let last = wildcards
        .strip_suffix('}')
        .and_then(|rest| rest.rsplit_once('{'));
    match last.filter(|(_, alternatives)| !alternatives.contains(SPECIAL)) {
        Some((before, alternatives)) => alternatives.split(',').any(|end| {
            let rest = path.strip_suffix(end.as_bytes());
            rest.is_some_and(|rest| ends(before, rest))
        }),
        None => ends(wildcards, path),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn could(wildcards: &str, path: &str) -> bool {
        could_match(wildcards, OsStr::new(path))
    }

    #[test]
    fn what_begins_or_ends_otherwise_is_not_looked_at_further() {
        assert!(could("*.key", "a.key") && !could("*.key", "a.keys"));
        assert!(could("Profile *", "Profile 1") && !could("Profile *", "Default"));
        assert!(could("**/sessions", "sessions") && could("**/sessions", "a/sessions"));
        assert!(!could("a/**/b", "a/c") && could("a/**/b", "a/b"));
        assert!(could("x{a,b}", "xa") && !could("x{a,b}", "ya") && !could("x{a,b}", "xc"));
        assert!(could("*.db-{wal,shm}", "a.db-wal") && !could("*.db-{wal,shm}", "a.db"));
        assert!(could("**/{a,b}", "a") && !could("**/*.{a,b}", "x/c"));
        assert!(could("plain", "plain") && !could("plain", "other"));
    }

    #[test]
    fn what_does_not_compile_opens_nothing() {
        let broken = |level| Matcher::new(Text::Borrowed("{a"), level).is_match("x");
        assert!(compile("{a").is_err());
        assert!(!broken(Level::Writable));
        assert!(Matcher::new(Text::Borrowed("{"), Level::ReadOnly).is_match("x"));
        assert!(!Matcher::new(Text::Borrowed("{"), Level::Writable).is_match("x"));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_matches_is_never_passed_over(
            wildcards in r"([ab./,!-]|\*|\*\*/|/\*\*|\?|\[[ab!\]]+\]|\{[ab,]+\}|\\[*a/{}]|\{|\}|,){1,8}",
            path in r"[ab./*,\[\]{}]{1,6}",
        ) {
            if let Ok(glob) = compile(&wildcards) {
                let matches = glob.compile_matcher().is_match(&path);
                prop_assert!(!matches || could(&wildcards, &path));
            }
        }
    }
}
