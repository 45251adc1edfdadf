//! The command line: what can be asked, every word shown to people, exit statuses.
#![forbid(unsafe_code)]

mod agent;
mod check;
mod demo;
mod diagnostics;
mod doctor;
mod explain;
mod log;
mod policies;
mod report;
mod run;
mod surroundings;
mod usage;
mod verify;
mod words;

use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use words::{chain, visible};

/// The command succeeded, but something that it tried was refused, and `--fail-on-attempt` holds.
pub const EXIT_REFUSED: i32 = 123;
/// guard itself could not start the command safely.
pub const EXIT_GUARD: i32 = 125;

/// Run a command so that nothing it starts can delete, overwrite or hide what a policy protects.
#[derive(Debug, Parser)]
#[command(
    name = "guard",
    version,
    args_conflicts_with_subcommands = true,
    override_usage = "guard [OPTIONS] -- COMMAND...\n       guard SUBCOMMAND",
    after_help = usage::AFTER_HELP
)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: RunArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a command under guard; the same as `guard -- COMMAND...`
    #[command(override_usage = "guard run [OPTIONS] -- COMMAND...")]
    Run(RunArgs),
    /// Parse a policy and show what it means on this machine
    Check(check::CheckArgs),
    /// Show which rule holds for a path, where it is written, what it lets happen and who enforces it
    Explain(explain::ExplainArgs),
    /// Show what was tried: all runs, newest first, or the attempts of one
    Log(log::LogArgs),
    /// Show what this machine can enforce, each item proved by trying it
    Doctor(doctor::DoctorArgs),
    /// Coding agents: which are here, and having them run their commands under guard
    #[command(subcommand)]
    Agent(agent::AgentCommand),
    /// Answer an agent's hook: reads its call on standard input, answers with the command under guard
    Hook(agent::HookArgs),
    /// Show the accident that guard was made for, in two throw-away homes: unguarded and guarded
    Demo,
    /// The teardown of the accident; for `guard demo` alone
    #[command(hide = true, name = demo::TEARDOWN)]
    Teardown {
        /// A session file below a throw-away home
        session: PathBuf,
    },
}

#[derive(Args, Debug)]
struct RunArgs {
    /// A policy by its name or its file, instead of the one that guard finds
    #[arg(long, value_name = "NAME|FILE")]
    policy: Option<String>,
    /// Exit with 123 when the command succeeds although something it tried was refused
    #[arg(long)]
    fail_on_attempt: bool,
    /// Start the command even where not all that the policy asks can be enforced; says and records what is missing
    #[arg(long)]
    best_effort: bool,
    /// Write a report when the command has ended: junit=FILE or sarif=FILE; may be given several times
    #[arg(long, value_name = "FORMAT=FILE", value_parser = report::ci::parse)]
    report: Vec<report::ci::Report>,
    /// Send what the record tells to syslog, journald or otlp (a collector of OpenTelemetry) as well; may be given several times
    #[arg(long, value_name = "DESTINATION", value_parser = report::forwarding::parse)]
    record: Vec<crate::policy::Destination>,
    /// The command and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Why a subcommand did not do what was asked.
#[derive(Debug, thiserror::Error)]
enum Failure {
    /// Its output could not be written.
    #[error("cannot write the output")]
    Output(#[from] io::Error),
    /// The record.
    #[error(transparent)]
    Record(#[from] crate::record::RecordError),
    /// The policy.
    #[error(transparent)]
    Policy(#[from] crate::policy::PolicyError),
    /// The policy on this machine.
    #[error(transparent)]
    Plan(#[from] crate::plan::PlanError),
    /// An agent's wrap.
    #[error(transparent)]
    Wrap(#[from] crate::agents::WrapError),
    /// Anything else, in words.
    #[error("{0}")]
    Words(String),
}

/// Does what the arguments of this process ask.
pub fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => return exit(usage::complain(&error, &arguments)),
    };
    if let Err(error) = diagnostics::start() {
        say(&format!("guard: GUARD_LOG: {}\n", visible(&error)));
    }
    match cli.command {
        None => exit(run::main(&cli.run)),
        Some(Command::Run(run)) => exit(run::main(&run)),
        Some(Command::Teardown { session }) => exit(demo::teardown_main(&session)),
        Some(Command::Check(check)) => print(|out| check::main(&check, out)),
        Some(Command::Explain(explain)) => print(|out| explain::main(&explain, out)),
        Some(Command::Log(log)) => print(|out| log::main(&log, out)),
        Some(Command::Doctor(doctor)) => print(|out| doctor::main(&doctor, out)),
        Some(Command::Agent(command)) => print(|out| agent::main(&command, out)),
        Some(Command::Hook(hook)) => exit(agent::hook(&hook)),
        Some(Command::Demo) => print(demo::main),
    }
}

/// Runs a subcommand that prints. A reader who has seen enough (`guard log | head`) is no error.
fn print(subcommand: impl FnOnce(&mut dyn Write) -> Result<i32, Failure>) -> ExitCode {
    let mut out = BufWriter::new(io::stdout().lock());
    let done = subcommand(&mut out).and_then(|status| {
        out.flush()?;
        Ok(status)
    });
    // What is left in the buffer after an error was either said or is not wanted any more.
    let _ = out.into_parts();
    settle(done)
}

/// The exit status of a subcommand; says its error.
fn settle(done: Result<i32, Failure>) -> ExitCode {
    match done {
        Ok(status) => exit(status),
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(error) => {
            say(&report::notice(&chain(&error)));
            ExitCode::FAILURE
        }
    }
}

/// Says something on stderr, if there is one.
fn say(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

fn exit(status: i32) -> ExitCode {
    ExitCode::from(u8::try_from(status).unwrap_or(u8::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &[&str]) -> Cli {
        Cli::try_parse_from(line).unwrap_or_else(|error| panic!("{line:?}: {error}"))
    }

    #[test]
    fn the_definition_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn what_follows_the_dashes_is_the_command_whatever_it_looks_like() {
        let cli = parse(&["guard", "--policy", "ci", "--", "log", "--json", "--", "x"]);
        assert!(cli.command.is_none());
        assert_eq!(cli.run.policy, Some("ci".into()));
        assert_eq!(cli.run.command, ["log", "--json", "--", "x"]);
        let Some(Command::Run(run)) =
            parse(&["guard", "run", "--best-effort", "--", "make"]).command
        else {
            panic!("not a run")
        };
        assert!(run.best_effort && !run.fail_on_attempt);
        assert_eq!(run.command, ["make"]);
    }

    #[test]
    fn a_reader_who_has_enough_is_no_error_and_a_full_disk_is() {
        let failed = |kind: io::ErrorKind| settle(Err(Failure::Output(kind.into())));
        assert_eq!(failed(io::ErrorKind::BrokenPipe), ExitCode::SUCCESS);
        assert_eq!(failed(io::ErrorKind::StorageFull), ExitCode::FAILURE);
        assert_eq!(settle(Ok(2)), ExitCode::from(2));
    }

    #[test]
    fn statuses_that_no_process_can_have_are_not_cut_to_success() {
        assert_eq!(exit(256), ExitCode::from(255));
        assert_eq!(exit(-1), ExitCode::from(255));
        assert_eq!(exit(123), ExitCode::from(123));
    }
}
