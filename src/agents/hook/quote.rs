//! Puts a command into one word of a POSIX shell, and takes it out again.

/// What stands between guard and the command that it runs for a hook.
const BETWEEN: &str = " -- /bin/bash -c ";

/// One word of a shell: whatever is in it, only a quote has to leave the quotes.
#[must_use]
pub fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// What [`quote`] was given; none for anything that it does not write.
fn unquote(word: &str) -> Option<String> {
    let inside = word.strip_prefix('\'')?.strip_suffix('\'')?;
    let text = inside.replace(r"'\''", "'");
    (quote(&text) == word).then_some(text)
}

/// `command` as a command line that runs it under guard. Not with `exec`: some agents add commands of their own behind it.
#[must_use]
pub fn under_guard(guard: &str, command: &str) -> String {
    format!("{}{BETWEEN}{}", quote(guard), quote(command))
}

/// The command in a line that [`under_guard`] wrote for the same guard. The whole line is read: what only begins like one is
/// another command.
#[must_use]
pub fn inside(guard: &str, line: &str) -> Option<String> {
    unquote(line.strip_prefix(&quote(guard))?.strip_prefix(BETWEEN)?)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_a_whole_line_of_ours_counts() {
        let guard = "/opt/it's/guard";
        for command in ["true", "it's", "''", "'", "a\nb", "", r"'\''", "\\", "é"] {
            assert_eq!(
                inside(guard, &under_guard(guard, command)).as_deref(),
                Some(command)
            );
        }
        let line = under_guard(guard, "true");
        for other in [
            format!("{line}; rm -rf x"),
            format!("{line} "),
            format!(" {line}"),
            format!("{line}''"),
            format!("{line}'x'"),
            line.replace("'true'", "true"),
            line.replace("'true'", "'true' 'x'"),
            line.replace("'true'", "'"),
            line.replace("-c", "-lc"),
            under_guard("/usr/bin/guard", "true"),
        ] {
            assert_eq!(inside(guard, &other), None, "{other}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn a_shell_reads_what_was_quoted(text in "([^\\x00]|['\\\\\n\r$`\" !-])*") {
            for shell in ["/bin/bash", "/bin/sh"] {
                let printed = Command::new(shell).args(["-c", &format!("printf %s {}", quote(&text))]).output().unwrap();
                prop_assert_eq!(&printed.stdout, text.as_bytes());
            }
            prop_assert_eq!(inside("/g", &under_guard("/g", &text)), Some(text));
        }
    }
}
