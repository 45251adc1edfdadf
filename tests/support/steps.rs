//! A running `programs/steps.c`: calls are given to it one by one and answered with their errno.

use std::time::Duration;

use super::home::{Home, With};
use super::programs;
use super::talker::Talker;

/// No call takes longer.
const LIMIT: Duration = Duration::from_secs(60);

pub struct Stepper(Talker);

impl Stepper {
    /// Starts it in this home; `name` tells its stderr apart from that of others.
    pub fn start(home: &Home, with: With<'_>, name: &str) -> Self {
        let program = programs::helper("steps").unwrap();
        let command = home.command(with, &[program.to_str().unwrap()]);
        let errors = programs::shared().join(format!("{name}-{}.err", home.who.uid()));
        Self(Talker::start(command, errors))
    }

    /// The answer to one line, as it is.
    pub fn ask(&mut self, line: &str) -> Result<String, String> {
        self.0.send(line)?;
        self.answer(line)
    }

    /// The errno of one call.
    pub fn step(&mut self, line: &str) -> Result<i32, String> {
        number(&self.ask(line)?)
    }

    /// The errnos of many calls.
    pub fn steps(&mut self, lines: &[&str]) -> Result<Vec<i32>, String> {
        if !lines.is_empty() {
            self.0.send(&lines.join("\n"))?;
        }
        lines
            .iter()
            .map(|line| self.answer(line).and_then(|text| number(&text)))
            .collect()
    }

    /// Ends it: its exit status, and what it and guard said.
    pub fn end(mut self) -> Result<(i32, String), String> {
        self.0.end(LIMIT)
    }

    /// The process that was started: guard itself when there is one.
    pub fn pid(&self) -> i32 {
        self.0.pid()
    }

    fn answer(&self, line: &str) -> Result<String, String> {
        let answer = self.0.line(LIMIT);
        answer.map_err(|e| format!("no answer to `{line}`: {e}"))
    }
}

fn number(text: &str) -> Result<i32, String> {
    text.parse().map_err(|_| format!("{text:?} is no errno"))
}
