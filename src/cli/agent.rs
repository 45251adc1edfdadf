//! `guard agent` and `guard hook`: agents, their wraps and their hooks.

use std::env;
use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::panic;

use clap::{Args, Subcommand};
use serde_json::json;
use similar::TextDiff;

use super::words::visible;
use super::{Failure, say, surroundings};
use crate::agents::{
    self, Answer, DIALECTS, Found, MOST, Outcome, Proposal, Surroundings, Wrapped, dialect, known,
};

/// What `guard agent` is asked.
#[derive(Debug, Subcommand)]
pub enum AgentCommand {
    /// Show which coding agents are here, where their state is, how they can be wrapped and whether they are
    List {
        /// One JSON object a line, for every agent that guard knows
        #[arg(long)]
        json: bool,
    },
    /// Have an agent run its commands under guard: shows the change of its configuration and asks first
    Wrap(WrapArgs),
    /// Take back what `guard agent wrap` did
    Unwrap(WrapArgs),
    /// Start an agent against a model of guard's own and see whether the command that it runs is under guard
    Verify(super::verify::VerifyArgs),
    /// What that model has the agent run
    #[command(hide = true)]
    Probe(super::verify::ProbeArgs),
}

/// What wrapping is asked.
#[derive(Args, Debug)]
pub struct WrapArgs {
    /// The agent, as `guard agent list` names it
    name: String,
    /// Show the change and leave it at that
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

/// What `guard hook` is asked.
#[derive(Args, Debug)]
pub struct HookArgs {
    /// The agent whose call is on standard input
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(DIALECTS.iter().map(|it| it.name)))]
    name: String,
}

/// Does what `guard agent` is asked.
pub fn main(command: &AgentCommand, out: &mut dyn Write) -> Result<i32, Failure> {
    let read = |name: &str| env::var_os(name);
    let here = Surroundings {
        home: surroundings::home()
            .ok_or_else(|| Failure::Words("there is no home directory: set HOME".to_owned()))?,
        env: &read,
        guard: env::current_exe().map_err(|error| {
            Failure::Words(format!("guard's own program cannot be found: {error}"))
        })?,
    };
    match command {
        AgentCommand::List { json } => list(&here, *json, out),
        AgentCommand::Wrap(arguments) => change(arguments, &here, agents::wrap, out),
        AgentCommand::Unwrap(arguments) => change(arguments, &here, agents::unwrap, out),
        AgentCommand::Verify(arguments) => super::verify::main(arguments, &here, out),
        AgentCommand::Probe(arguments) => super::verify::probe(arguments, out),
    }
}

/// The agent of a name.
pub fn named(name: &str) -> Result<&'static agents::Agent, Failure> {
    known(name).ok_or_else(|| {
        let names: Vec<&str> = agents::KNOWN.iter().map(|agent| agent.name).collect();
        Failure::Words(format!(
            "guard knows no agent {}; it knows {}",
            visible(name),
            names.join(", ")
        ))
    })
}

type Ask = fn(&'static agents::Agent, &Surroundings<'_>) -> Result<Outcome, agents::WrapError>;

fn change(
    arguments: &WrapArgs,
    here: &Surroundings<'_>,
    ask: Ask,
    out: &mut dyn Write,
) -> Result<i32, Failure> {
    let agent = named(&arguments.name)?;
    match ask(agent, here)? {
        Outcome::Nothing(text) => writeln!(out, "{}", visible(&text))?,
        Outcome::Wrapped(text) => {
            // Its shell may be of a guard that is somewhere else by now.
            if !arguments.dry_run {
                agents::install(here)?;
            }
            writeln!(out, "{}", visible(&text))?;
        }
        Outcome::Hand(text) => {
            agents::install(here)?;
            writeln!(out, "{}: {}", agent.name, visible(&text))?;
            if agents::can_verify(agent) {
                let name = agent.name;
                writeln!(out, "then run in the same way: guard agent verify {name}")?;
            }
            return Ok(1);
        }
        Outcome::Change(proposal) => {
            write!(out, "{}", diff(&proposal))?;
            for place in &proposal.left {
                writeln!(
                    out,
                    "{} is not what guard put there; it stays",
                    visible(place)
                )?;
            }
            out.flush()?;
            if arguments.dry_run {
                return Ok(0);
            }
            if !arguments.yes && !agreed()? {
                writeln!(out, "nothing was changed")?;
                return Ok(1);
            }
            let path = proposal.current.real.clone();
            let is_wrap = proposal.is_wrap();
            proposal.carry_out(here)?;
            writeln!(out, "changed {}", visible(&path.to_string_lossy()))?;
            if is_wrap && agents::can_verify(agent) {
                writeln!(out, "now run: guard agent verify {}", agent.name)?;
            }
        }
    }
    Ok(0)
}

/// Asks the person at the terminal. Nobody there is an error: what changes another program's configuration is asked for.
fn agreed() -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::Words(
            "standard input is no terminal to ask on: add --yes to make this change".to_owned(),
        ));
    }
    say("Make this change? [y/N] ");
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn diff(proposal: &Proposal) -> String {
    let before = proposal.current.text.as_deref().unwrap_or_default();
    let after = proposal.after.as_deref().unwrap_or_default();
    let path = visible(&proposal.current.real.to_string_lossy());
    let name = |there: bool| if there { path.as_str() } else { "/dev/null" };
    let text = TextDiff::from_lines(before, after)
        .unified_diff()
        .header(
            name(proposal.current.text.is_some()),
            name(proposal.after.is_some()),
        )
        .to_string();
    text.lines()
        .fold(String::new(), |all, line| all + &visible(line) + "\n")
}

fn list(here: &Surroundings<'_>, as_json: bool, out: &mut dyn Write) -> Result<i32, Failure> {
    let all = agents::look(here)?;
    if as_json {
        for found in &all {
            writeln!(out, "{}", object(found))?;
        }
        return Ok(0);
    }
    let homes = surroundings::homes();
    let shown = |path: &std::path::Path| homes.place(&path.to_string_lossy());
    let (here, absent): (Vec<&Found>, Vec<&Found>) = all.iter().partition(|it| it.is_here());
    for found in here {
        let wrapped = match &found.wrapped {
            Wrapped::Yes => "wrapped".to_owned(),
            Wrapped::No => "not wrapped".to_owned(),
            Wrapped::Broken(why) => format!("BROKEN: {}", visible(why)),
            Wrapped::Unknown => "by hand".to_owned(),
        };
        writeln!(out, "{:12} {wrapped}", found.agent.name)?;
        let program = found
            .program
            .as_deref()
            .map_or("not on PATH".to_owned(), shown);
        writeln!(out, "  program    {program}")?;
        if let Some(state) = &found.state {
            let there = if found.has_state { "" } else { " (not there)" };
            let moved = if found.variables.is_empty() {
                String::new()
            } else {
                format!(", moved by {}", found.variables.join(", "))
            };
            writeln!(out, "  state      {}{there}{moved}", shown(state))?;
        }
        match (&found.by, &found.file, &found.hand) {
            (Some(by), Some(file), _) => writeln!(out, "  wrap       {by}, in {}", shown(file))?,
            (_, _, Some(hand)) => writeln!(out, "  wrap       {}", visible(hand))?,
            _ => {}
        }
    }
    if !absent.is_empty() {
        let names: Vec<&str> = absent.iter().map(|found| found.agent.name).collect();
        writeln!(out, "not found here: {}", names.join(", "))?;
    }
    Ok(0)
}

fn object(found: &Found) -> serde_json::Value {
    let (wrapped, why) = match &found.wrapped {
        Wrapped::Yes => ("yes", None),
        Wrapped::No => ("no", None),
        Wrapped::Broken(why) => ("broken", Some(why)),
        Wrapped::Unknown => ("unknown", None),
    };
    json!({
        "agent": found.agent.name,
        "program": found.program.as_ref().map(|path| path.to_string_lossy()),
        "state": found.state.as_ref().map(|path| path.to_string_lossy()),
        "has_state": found.has_state,
        "variables": found.variables,
        "by": found.by,
        "by_hand": found.hand,
        "file": found.file.as_ref().map(|path| path.to_string_lossy()),
        "wrapped": wrapped,
        "why": why,
    })
}

/// Answers a hook. However that fails, the agent hears a no.
pub fn hook(arguments: &HookArgs) -> i32 {
    let Some(dialect) = dialect(&arguments.name) else {
        return 2;
    };
    let answered = panic::catch_unwind(|| {
        let guard = env::current_exe()
            .ok()
            .and_then(|path| path.into_os_string().into_string().ok());
        let Some(guard) = guard else {
            return dialect.refuse("guard's own program cannot be named");
        };
        let mut input = Vec::new();
        match io::stdin()
            .lock()
            .take(MOST as u64 + 1)
            .read_to_end(&mut input)
        {
            Ok(_) => dialect.answer(&input, &guard),
            Err(error) => dialect.refuse(&format!("the call cannot be read: {error}")),
        }
    });
    let answer: Answer = answered.unwrap_or_else(|_| dialect.refuse("guard failed"));
    let mut out = io::stdout().lock();
    let written = out
        .write_all(answer.stdout.as_bytes())
        .and_then(|()| out.flush());
    say(&answer.stderr);
    if written.is_err() { 2 } else { answer.status }
}
