//! How names, command lines, errors and counts look in guard's messages.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

pub use crate::launch::with_causes as chain;
use crate::record::Text;

/// Characters of a path that a message shows.
const PATH_CHARACTERS: usize = 240;
/// Characters of a command line that a message shows.
const COMMAND_CHARACTERS: usize = 120;

/// The home directory under all its names, to be shown as `~`.
#[derive(Clone, Debug, Default)]
pub struct Homes(Vec<PathBuf>);

impl Homes {
    /// `named` as the environment has it, and what it really is.
    pub fn new(named: &Path) -> Self {
        let mut homes = vec![named.to_owned()];
        homes.extend(named.canonicalize());
        homes.retain(|home| home.is_absolute() && home.parent().is_some());
        homes.dedup();
        Self(homes)
    }

    /// A path for people: home as `~`, made visible, cut in the middle when it is very long.
    pub fn place(&self, path: &str) -> String {
        middle(&self.whole(path), PATH_CHARACTERS)
    }

    /// The same, never cut.
    pub fn whole(&self, path: &str) -> String {
        visible(&self.tilde(path))
    }

    /// A command line for people, as a shell would take it as far as that is possible.
    pub fn command(&self, arguments: &[Text]) -> String {
        let mut line = String::new();
        for argument in arguments {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(&word(&self.tilde(&argument.shown())));
            if line.len() > 8 * COMMAND_CHARACTERS {
                break;
            }
        }
        if line.chars().count() > COMMAND_CHARACTERS {
            line = line.chars().take(COMMAND_CHARACTERS - 1).collect();
            line.push('…');
        }
        line
    }

    fn tilde(&self, path: &str) -> String {
        for home in &self.0 {
            if let Ok(rest) = Path::new(path).strip_prefix(home) {
                return match rest.to_str() {
                    Some("") | None => "~".into(),
                    Some(rest) => format!("~/{rest}"),
                };
            }
        }
        path.to_owned()
    }
}

/// `text` with everything escaped that a terminal would obey or not show: controls, line breaks, reversed direction.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            '\u{1b}' => shown.push_str("\\e"),
            '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}' => {
                let _ = write!(shown, "\\u{{{:x}}}", character as u32);
            }
            _ if character.is_control() => {
                let _ = write!(shown, "\\x{:02x}", character as u32);
            }
            _ => shown.push(character),
        }
    }
    shown
}

/// One shell word: as it is, in quotes, or escaped where quotes are not enough to show it.
pub fn word(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./~+=:,@%^".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    let shown = visible(text);
    if shown == text && !text.contains('\'') {
        format!("'{text}'")
    } else if shown == text {
        format!("'{}'", text.replace('\'', r"'\''"))
    } else {
        format!("$'{}'", shown.replace('\'', r"\'"))
    }
}

fn middle(text: &str, limit: usize) -> String {
    let length = text.chars().count();
    if length <= limit {
        return text.to_owned();
    }
    let head: String = text.chars().take(limit / 2).collect();
    let tail: String = text.chars().skip(length - (limit / 2 - 1)).collect();
    format!("{head}…{tail}")
}

/// `1 attempt`, `2 attempts`.
pub fn counted(count: u64, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn homes() -> Homes {
        Homes(vec!["/home/u".into(), "/mnt/homes/u".into()])
    }

    #[test]
    fn home_is_a_tilde_under_each_of_its_names() {
        assert_eq!(homes().place("/home/u/.pi/agent"), "~/.pi/agent");
        assert_eq!(homes().place("/mnt/homes/u"), "~");
        assert_eq!(homes().place("/home/user/x"), "/home/user/x");
        assert_eq!(Homes::new(Path::new("/")).place("/etc"), "/etc");
    }

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        assert_eq!(
            visible("a\u{1b}[2J\nb\u{7}\u{9b}é"),
            "a\\e[2J\\nb\\x07\\x9bé"
        );
        assert_eq!(
            visible("txt.\u{202e}exe\u{2028}"),
            "txt.\\u{202e}exe\\u{2028}"
        );
    }

    #[test]
    fn command_lines_are_quoted_and_cut() {
        let line = |arguments: &[&str]| {
            homes().command(
                &arguments
                    .iter()
                    .map(|&argument| Text::from(argument))
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(
            line(&["node", "--test", "create.test.js"]),
            "node --test create.test.js"
        );
        assert_eq!(
            line(&["sh", "-c", "rm -rf \"$H\"", ""]),
            "sh -c 'rm -rf \"$H\"' ''"
        );
        assert_eq!(
            line(&["rm", "/home/u/it's", "a\nguard: fine"]),
            "rm '~/it'\\''s' $'a\\nguard: fine'"
        );
        let long = line(&["rm", &"x".repeat(500)]);
        assert_eq!(
            (long.chars().count(), long.ends_with('…')),
            (COMMAND_CHARACTERS, true)
        );
    }

    #[test]
    fn long_paths_keep_both_ends() {
        let shown = homes().place(&format!("/home/u/{}/end", "d/".repeat(2000)));
        assert!(
            shown.chars().count() <= PATH_CHARACTERS,
            "{}",
            shown.chars().count()
        );
        assert!(
            shown.starts_with("~/d/d/") && shown.ends_with("/end"),
            "{shown}"
        );
    }
}
