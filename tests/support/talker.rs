//! A program that is talked with line by line while it runs.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::{read_text, tail, wait};

/// In a process group of its own, which is killed when this goes.
pub struct Talker {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    errors: PathBuf,
}

impl Talker {
    /// Starts it, its stderr going to the file `errors`.
    pub fn start(mut command: Command, errors: PathBuf) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(&errors).unwrap())
            .process_group(0)
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (send, lines) = channel();
        // Its output is taken off the pipe all the time, so that neither side waits for the other.
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
            lines,
            errors,
        }
    }

    /// The process that was started: guard itself when there is one.
    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    /// Gives it lines.
    pub fn send(&mut self, lines: &str) -> Result<(), String> {
        let stdin = self.stdin.as_mut().unwrap();
        writeln!(stdin, "{lines}").map_err(|e| format!("{e}\n{}", tail(&self.said())))
    }

    /// The next line of its output.
    pub fn line(&self, limit: Duration) -> Result<String, String> {
        let line = self.lines.recv_timeout(limit);
        line.map_err(|e| {
            let said = tail(&self.said());
            format!("no line within {} s: {e}\n{said}", limit.as_secs())
        })
    }

    /// Everything on its stderr so far.
    pub fn said(&self) -> String {
        read_text(&self.errors)
    }

    /// Waits for its end: exit status, and what was said.
    pub fn end(&mut self, limit: Duration) -> Result<(i32, String), String> {
        drop(self.stdin.take());
        let status = wait(&mut self.child, limit);
        let status = status.map_err(|e| format!("{e}\n{}", tail(&self.said())))?;
        Ok((status, self.said()))
    }
}

impl Drop for Talker {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let _ = killpg(Pid::from_raw(self.pid()), Signal::SIGKILL);
            let _ = self.child.wait();
        }
    }
}
