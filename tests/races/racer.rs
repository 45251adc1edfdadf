//! A running `programs/race.c`, with a peer from outside where the swap needs one.

use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use super::place::Stage;
use super::support::talker::Talker;
use super::support::{self, With, programs};

/// What one call came to.
pub struct Series {
    pub call: String,
    pub tries: u64,
    pub worked: u64,
    pub refused: u64,
    pub others: u64,
    /// How often what a call had taken or made on the free side could not be put back.
    pub stuck: u64,
    /// The program itself has seen the kept side change.
    pub damaged: bool,
    pub errors: Vec<(String, u64)>,
}

impl Series {
    fn parse(line: &str) -> Result<Self, String> {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| {
            let word = words
                .get(at)
                .ok_or_else(|| format!("{line:?}: too short"))?;
            word.parse::<u64>().map_err(|e| format!("{line:?}: {e}"))
        };
        let pair = |word: &&str| {
            let (name, count) = word.split_once('=')?;
            Some((name.to_owned(), count.parse().ok()?))
        };
        Ok(Self {
            call: words[0].to_owned(),
            tries: number(1)?,
            worked: number(2)?,
            refused: number(3)?,
            others: number(4)?,
            stuck: number(5)?,
            damaged: number(6)? != 0,
            errors: words[7..].iter().filter_map(pair).collect(),
        })
    }

    /// What is wrong with it under guard.
    pub fn problems(&self) -> Vec<String> {
        let moves_a_value = [
            "how",
            "how-odd",
            "times",
            "attribute",
            "flags",
            "family",
            "slash",
        ];
        let harmless = self.worked
            + if moves_a_value.contains(&self.call.as_str()) {
                self.others
            } else {
                0
            };
        let mut problems = Vec::new();
        let mut note = |bad: bool, what: &str| {
            if bad {
                problems.push(format!("{what}: {}", self.line()));
            }
        };
        note(self.damaged, "DAMAGE seen by the program");
        note(harmless == 0, "the free side was never hit");
        note(self.refused == 0, "the kept side was never hit");
        note(
            self.stuck > 0,
            "what worked on the free side could not be put back",
        );
        problems
    }

    fn line(&self) -> String {
        format!(
            "{}: {} tries, {} worked, {} refused, {} others {:?}, {} stuck",
            self.call, self.tries, self.worked, self.refused, self.others, self.errors, self.stuck
        )
    }
}

pub struct Racer {
    talker: Talker,
    peer: Option<Child>,
    peer_command: Option<Command>,
    parent: i32,
}

impl Racer {
    /// Starts it and waits until its folders are made.
    pub fn start(
        stage: &Stage,
        with: With<'_>,
        tries: u64,
        calls: &[&str],
    ) -> Result<Self, String> {
        let program = programs::helper("race").unwrap();
        let text = |path: PathBuf| path.to_str().unwrap().to_owned();
        let (program, work) = (text(program), text(stage.work()));
        let (kept, aux, tries) = (
            text(stage.kept_folder()),
            text(stage.aux()),
            tries.to_string(),
        );
        let mut argv = vec![program.as_str(), &work, &kept, &aux, stage.swap, &tries];
        argv.extend(calls);
        let command = stage.home.command(with, &argv);
        let talker = Talker::start(command, stage.home.outside().join("err"));
        let peer_command = stage.swap.starts_with("peer").then(|| {
            let argv = [program.as_str(), "peer", stage.swap, &work, &kept];
            stage.home.command(With::Nothing, &argv)
        });
        let mut racer = Self {
            talker,
            peer: None,
            peer_command,
            parent: 0,
        };
        let ready = racer.talker.line(Duration::from_secs(60))?;
        let parent = ready.strip_prefix("ready ").and_then(|it| it.parse().ok());
        racer.parent = parent.ok_or_else(|| format!("{ready:?} is no `ready`"))?;
        Ok(racer)
    }

    /// How many descriptors the supervisor, its parent, holds.
    pub fn descriptors(&self) -> Result<usize, String> {
        let folder = format!("/proc/{}/fd", self.parent);
        std::fs::read_dir(&folder)
            .map(Iterator::count)
            .map_err(|e| format!("{folder}: {e}"))
    }

    /// Lets it race to the end, or for as long as `limit`.
    pub fn race(&mut self, limit: Duration) -> Result<Vec<Series>, String> {
        if let Some(command) = &mut self.peer_command {
            self.peer = Some(command.spawn().map_err(|e| e.to_string())?);
        }
        self.talker.send("")?;
        let end = Instant::now() + limit;
        let mut series = Vec::new();
        loop {
            let line = self
                .talker
                .line(end.saturating_duration_since(Instant::now()));
            let last = series.last().map_or("none", |it: &Series| &it.call);
            let line = line.map_err(|e| format!("after {last}: {e}"))?;
            if line == "end" {
                break;
            }
            series.push(Series::parse(&line)?);
        }
        self.stop_peer();
        Ok(series)
    }

    /// Lets it end: what was said on stderr.
    pub fn end(mut self) -> Result<String, String> {
        self.talker.send("")?;
        let (status, said) = self.talker.end(Duration::from_secs(60))?;
        if status == 0 {
            Ok(said)
        } else {
            Err(format!("exit {status}\n{}", support::tail(&said)))
        }
    }

    fn stop_peer(&mut self) {
        if let Some(mut peer) = self.peer.take() {
            let _ = peer.kill();
            let _ = peer.wait();
        }
    }
}

impl Drop for Racer {
    fn drop(&mut self) {
        self.stop_peer();
    }
}
