//! A running `programs/steps.c`: calls are given to it one by one and answered with their errno.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use super::home::{Home, With};
use super::programs;

/// No call takes longer.
const LIMIT: Duration = Duration::from_secs(60);

pub struct Stepper {
    child: Child,
    stdin: Option<ChildStdin>,
    answers: Receiver<String>,
    errors: PathBuf,
}

impl Stepper {
    /// Starts it in this home; `name` tells its stderr apart from that of others.
    pub fn start(home: &Home, with: With<'_>, name: &str) -> Self {
        let program = programs::helper("steps").unwrap();
        let mut command = home.command(with, &[program.to_str().unwrap()]);
        let errors = programs::shared().join(format!("{name}-{}.err", home.who.uid()));
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(&errors).unwrap())
            .process_group(0)
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (send, answers) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        Self {
            stdin: child.stdin.take(),
            child,
            answers,
            errors,
        }
    }

    /// The answer to one line, as it is.
    pub fn ask(&mut self, line: &str) -> Result<String, String> {
        self.send(line)?;
        self.answer(line)
    }

    /// The errno of one call.
    pub fn step(&mut self, line: &str) -> Result<i32, String> {
        number(&self.ask(line)?)
    }

    /// The errnos of many calls.
    pub fn steps<'a>(&mut self, lines: &[&'a str]) -> Result<Vec<i32>, String> {
        // The answers are taken off the pipe by a thread meanwhile, so neither side waits for the other.
        let send = |me: &mut Self, lines: &[&'a str]| me.send(&lines.join("\n"));
        if !lines.is_empty() {
            send(self, lines)?;
        }
        lines
            .iter()
            .map(|line| self.answer(line).and_then(|text| number(&text)))
            .collect()
    }

    /// Ends it: its exit status, and what it and guard said.
    pub fn end(mut self) -> Result<(i32, String), String> {
        drop(self.stdin.take());
        let status = super::wait(&mut self.child, LIMIT)
            .map_err(|e| format!("{e}\n{}", super::tail(&self.said())))?;
        Ok((status, self.said()))
    }

    /// The process that was started: guard itself when there is one.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    fn said(&self) -> String {
        super::read_text(&self.errors)
    }

    fn send(&mut self, lines: &str) -> Result<(), String> {
        let stdin = self.stdin.as_mut().unwrap();
        writeln!(stdin, "{lines}").map_err(|e| format!("{e}\n{}", super::tail(&self.said())))
    }

    fn answer(&mut self, line: &str) -> Result<String, String> {
        self.answers.recv_timeout(LIMIT).map_err(|e| {
            format!(
                "no answer to `{line}`: {e}\n{}",
                super::tail(&super::read_text(&self.errors))
            )
        })
    }
}

impl Drop for Stepper {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let pid = nix::unistd::Pid::from_raw(i32::try_from(self.child.id()).unwrap());
            let _ = nix::sys::signal::killpg(pid, nix::sys::signal::Signal::SIGKILL);
            let _ = self.child.wait();
        }
    }
}

fn number(text: &str) -> Result<i32, String> {
    text.parse().map_err(|_| format!("{text:?} is no errno"))
}
