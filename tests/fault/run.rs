//! A guarded command that stops for a look at the processes of guard, and says what it did.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::talker::Talker;
use crate::support::{Home, With, eventually, is_long, programs, read_text, tail};

/// Nothing that a row waits for takes longer; what does, hangs.
pub fn limit() -> Duration {
    Duration::from_secs(if is_long() { 1200 } else { 90 })
}

/// One number in CI, another one in a long run.
pub fn number(short: u32, long_one: u32) -> String {
    if is_long() { long_one } else { short }.to_string()
}

/// `programs/fault.c` with these arguments, the first of them what it shall do and the second where, below HOME.
pub fn argv(home: &Home, arguments: &[&str]) -> Vec<String> {
    let program = programs::helper("fault").unwrap();
    let place = home.path.join(arguments[1]);
    let mut argv = vec![
        program.to_str().unwrap().to_owned(),
        arguments[0].to_owned(),
        place.to_str().unwrap().trim_end_matches('/').to_owned(),
    ];
    argv.extend(arguments[2..].iter().map(|word| (*word).to_owned()));
    argv
}

pub fn fault(home: &Home, with: With<'_>, arguments: &[&str]) -> Command {
    let argv = argv(home, arguments);
    let words: Vec<&str> = argv.iter().map(String::as_str).collect();
    home.command(with, &words)
}

/// A command that runs.
pub struct Running(Talker);

/// What a process holds.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    pub descriptors: usize,
    pub kib: usize,
}

impl Running {
    /// Starts it; `name` tells its stderr apart from that of others.
    pub fn start(home: &Home, command: Command, name: &str) -> Self {
        let place = home.path.display().to_string().replace('/', "-");
        let errors = programs::shared().join(format!("fault-{place}-{name}.err"));
        Self(Talker::start(command, errors))
    }

    /// The next line of its output.
    pub fn line(&self) -> Result<String, String> {
        self.line_within(limit())
    }

    pub fn line_within(&self, limit: Duration) -> Result<String, String> {
        self.0.line(limit)
    }

    /// Reads signs of life up to this line.
    pub fn until(&self, want: &str) -> Result<(), String> {
        let mut line = self.line()?;
        while line == "going on" {
            line = self.line()?;
        }
        if line == want {
            return Ok(());
        }
        Err(format!("{line:?}, not {want:?}\n{}", tail(&self.said())))
    }

    /// Lets it go on.
    pub fn go_on(&mut self) {
        // Whoever is gone does not read.
        let _ = self.0.send("");
    }

    /// The process that was started: guard's front.
    pub fn front(&self) -> i32 {
        self.0.pid()
    }

    /// guard's supervisor, once it is there.
    pub fn supervisor(&self) -> Result<i32, String> {
        let mut found = None;
        eventually(Duration::from_secs(5), || {
            found = children(self.front())
                .into_iter()
                .find(|pid| name_of(*pid) == "guard");
            found.is_some()
        });
        found.ok_or_else(|| format!("no supervisor\n{}", tail(&self.said())))
    }

    pub fn said(&self) -> String {
        self.0.said()
    }

    /// Waits for its end: exit status, and what was said.
    pub fn end(&mut self) -> Result<(i32, String), String> {
        self.0.end(limit())
    }

    /// The last line and a good end.
    pub fn good_end(&mut self, want: &str) -> Result<String, String> {
        let line = self.line()?;
        let (status, said) = self.end()?;
        if line.starts_with(want) && status == 0 {
            return Ok(line);
        }
        Err(format!(
            "exit {status}, {line:?}, not {want:?}\n{}",
            tail(&said)
        ))
    }
}

pub fn send(pid: i32, signal: Signal) {
    let _ = kill(Pid::from_raw(pid), signal);
}

/// Descriptors and resident memory of a process.
pub fn figures(pid: i32) -> Figures {
    let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count);
    let status = read_text(Path::new(&format!("/proc/{pid}/status")));
    let kib = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    Figures {
        descriptors,
        kib: kib.unwrap_or(0),
    }
}

/// The first letter of a process's state, `-` when it is gone.
pub fn state(pid: i32) -> char {
    let stat = read_text(Path::new(&format!("/proc/{pid}/stat")));
    let rest = stat.rsplit_once(") ").map(|(_, rest)| rest.to_owned());
    rest.and_then(|rest| rest.chars().next()).unwrap_or('-')
}

pub fn is_gone(pid: i32) -> bool {
    matches!(state(pid), '-' | 'Z' | 'X')
}

fn name_of(pid: i32) -> String {
    read_text(Path::new(&format!("/proc/{pid}/comm")))
        .trim()
        .to_owned()
}

fn children(parent: i32) -> Vec<i32> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| {
            let stat = read_text(Path::new(&format!("/proc/{pid}/stat")));
            let rest = stat.rsplit_once(") ").map(|(_, rest)| rest.to_owned());
            let above = rest.and_then(|rest| rest.split(' ').nth(1)?.parse::<i32>().ok());
            above == Some(parent)
        })
        .collect()
}

/// Waits until `once` has begun its work in HOME.
pub fn working(home: &Home) -> Result<(), String> {
    let began = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with('w');
    let working = eventually(limit(), || {
        std::fs::read_dir(&home.path).unwrap().flatten().any(began)
    });
    if working {
        Ok(())
    } else {
        Err("it does not begin".to_owned())
    }
}

/// One case for everyone.
pub fn both(name: &str, case: impl Fn(crate::support::Who) -> Result<(), String> + Sync) {
    crate::support::each("fault", &[name], |n| (*n).to_owned(), |_, who| case(who));
}
