//! Answers to command lines that guard does not understand.

use std::ffi::OsString;
use std::io::{self, Write};

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::words::{visible, word};
use super::{Cli, EXIT_GUARD, say};

/// The end of `guard --help`.
pub const AFTER_HELP: &str = "\
Exit status of a run: the command's own; 128+n when signal n ended it; 123 with --fail-on-attempt when the command \
succeeded although something was refused; 125 when guard could not start it safely, 126 when it cannot be executed, \
127 when it was not found.

Environment: GUARD_POLICY names a policy; GUARD_LOG=debug shows guard's own diagnostics, in GUARD_LOG_FILE if set; \
the OTEL_EXPORTER_OTLP variables say where --record otlp sends to.";

/// Prints what is wrong with `arguments` (or the help that they ask for). Returns the exit status.
pub fn complain(error: &clap::Error, arguments: &[OsString]) -> i32 {
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    ) {
        let _ = error.print();
        return 0;
    }
    if let Some(hint) = hint(error, arguments) {
        say(&hint);
    } else {
        let text = error.render().to_string();
        say(&format!(
            "guard: {}",
            text.strip_prefix("error: ").unwrap_or(&text)
        ));
    }
    status(arguments)
}

/// Says how to write a run that has no command.
pub fn no_command() -> i32 {
    let help = Cli::command().render_help();
    let _ = io::stderr().write_all(format!("guard: no command given\n\n{help}").as_bytes());
    EXIT_GUARD
}

/// Everything that could have been a run is guard's own failure to start it.
fn status(arguments: &[OsString]) -> i32 {
    let first = arguments.get(1).and_then(|argument| argument.to_str());
    let command = Cli::command();
    let subcommand = command
        .get_subcommands()
        .map(clap::Command::get_name)
        .find(|name| Some(*name) == first);
    match subcommand {
        None | Some("run") => EXIT_GUARD,
        Some(_) => 2,
    }
}

/// `guard npm test`: what was meant.
fn hint(error: &clap::Error, arguments: &[OsString]) -> Option<String> {
    let kind = match error.kind() {
        ErrorKind::InvalidSubcommand => ContextKind::InvalidSubcommand,
        ErrorKind::UnknownArgument => ContextKind::InvalidArg,
        _ => return None,
    };
    let ContextValue::String(wrong) = error.get(kind)? else {
        return None;
    };
    if wrong.starts_with('-') || status(arguments) != EXIT_GUARD {
        return None;
    }
    let at = arguments
        .iter()
        .skip(1)
        .position(|argument| argument.to_str() == Some(wrong))?
        + 1;
    let shown = |arguments: &[OsString]| {
        arguments
            .iter()
            .filter(|argument| *argument != "--")
            .fold(String::new(), |line, argument| {
                format!("{line} {}", word(&argument.to_string_lossy()))
            })
    };
    Some(format!(
        "guard: {} is no subcommand of guard; a command to run comes after `--`. Write:\n\n    guard{} --{}\n\n",
        visible(wrong),
        shown(&arguments[1..at]),
        shown(&arguments[at..]),
    ))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn failed(line: &[&str]) -> (i32, Option<String>) {
        let arguments: Vec<OsString> = line.iter().map(Into::into).collect();
        let error = Cli::try_parse_from(&arguments).expect_err("this must not parse");
        (status(&arguments), hint(&error, &arguments))
    }

    #[test]
    fn a_forgotten_pair_of_dashes_is_pointed_out() {
        for (line, wanted) in [
            (&["guard", "npm", "test"][..], "\n    guard -- npm test\n"),
            (
                &["guard", "--policy", "ci", "cargo", "test"],
                "\n    guard --policy ci -- cargo test\n",
            ),
            (
                &["guard", "run", "make", "all"],
                "\n    guard run -- make all\n",
            ),
            (
                &["guard", "rm", "-rf", "a b"],
                "\n    guard -- rm -rf 'a b'\n",
            ),
        ] {
            let (status, hint) = failed(line);
            assert_eq!(status, 125, "{line:?}");
            let hint = hint.unwrap_or_else(|| panic!("{line:?}: no hint"));
            assert!(hint.contains(wanted), "{line:?}: {hint}");
        }
    }

    #[test]
    fn other_mistakes_have_the_status_of_their_mode() {
        assert_eq!(
            failed(&["guard", "--polcy", "ci", "--", "true"]),
            (125, None)
        );
        assert_eq!(
            failed(&["guard", "run", "--jsn", "--", "true"]),
            (125, None)
        );
        assert_eq!(failed(&["guard", "log", "--jsn"]), (2, None));
    }
}
