//! What a run says while it goes on and at its end, and what it puts on record. Runs inside the supervisor.

pub mod ci;
pub mod forwarding;
mod speaker;
mod tally;
pub mod wording;

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Duration;

use crate::cli::EXIT_REFUSED;
use crate::cli::words::{Homes, chain, visible};
use crate::launch::{Effort, Observer, Voice};
use crate::policy::OnAttempt;
use crate::record::{Answer, Attempt, Journal, RecordError, Scope, Weight};

use ci::{Github, Outcome};
use forwarding::Forwarding;
use speaker::Speaker;

/// Pairs of process and rule that are announced one by one.
const ANNOUNCED: usize = 10;

/// What a report needs to know beforehand.
pub struct Setup {
    /// Where everything is written down.
    pub journal: Journal,
    /// What to show as `~`.
    pub homes: Homes,
    /// What a refusal does to the exit status.
    pub on_attempt: OnAttempt,
    /// Whether all that the policy asks is enforced.
    pub effort: Effort,
    /// Where else the record's events go.
    pub forwarding: Option<Forwarding>,
    /// What continuous integration is told.
    pub ci: Continuous,
}

/// What continuous integration is told when the command has ended.
#[derive(Default)]
pub struct Continuous {
    /// Files to write.
    pub reports: Vec<ci::Prepared>,
    /// The step of a workflow, if guard runs in one.
    pub github: Option<Github>,
    /// The command, for people.
    pub command: String,
    /// The directory in which it was started.
    pub cwd: PathBuf,
}

/// Tells people and the record what a run tries.
pub struct Report {
    setup: Setup,
    speaker: Speaker,
    announced: HashSet<(i32, Scope)>,
    announcing: Announcing,
    complaint: Complaint,
    /// The command's status and guard's, once the command has ended.
    ended: Option<(i32, i32)>,
}

#[derive(PartialEq, Eq)]
enum Announcing {
    Each,
    NoMore,
}

/// Whether it was said that the record cannot be written.
#[derive(PartialEq, Eq)]
enum Complaint {
    Made,
    None,
}

impl Report {
    /// A report that speaks on stderr.
    pub fn new(setup: Setup) -> Self {
        Self::with_speaker(setup, Speaker::stderr())
    }

    fn with_speaker(setup: Setup, speaker: Speaker) -> Self {
        Self {
            setup,
            speaker,
            announced: HashSet::new(),
            announcing: Announcing::Each,
            complaint: Complaint::None,
            ended: None,
        }
    }

    /// Says the first time that the record cannot be written. What could not be written is kept, and tried again.
    fn recorded(&mut self, result: Result<(), RecordError>) {
        let Err(error) = result else { return };
        tracing::warn!(error = chain(&error), "record");
        if self.complaint == Complaint::None {
            self.complaint = Complaint::Made;
            let why = visible(&chain(&error));
            self.speaker.say(format!(
                "guard: {why}; refusing goes on, and what is to be recorded is kept in memory and tried again\n"
            ));
        }
    }

    fn announce(&mut self, attempt: &Attempt) {
        if self.announcing == Announcing::NoMore
            || !self
                .announced
                .insert((attempt.process.pid, Scope::of(attempt)))
        {
            return;
        }
        if self.announced.len() > ANNOUNCED {
            self.announcing = Announcing::NoMore;
            self.announced = HashSet::new();
            self.speaker
                .say("guard: further refusals are only recorded\n".into());
        } else {
            self.speaker
                .say(wording::refusal(attempt, &self.setup.homes));
        }
    }

    /// The last line.
    fn summing_up(&self) -> String {
        let tally = tally::tally(self.setup.journal.summary());
        let lost = match self.setup.effort {
            Effort::Strict => "; nothing was lost",
            Effort::BestEffort => "; not everything that the policy asks was enforced",
        };
        let journal = &self.setup.journal;
        let details = match (journal.run(), journal.is_whole()) {
            (Some(run), true) => format!("Details: guard log {run}"),
            (Some(run), false) => format!("Details, not complete: guard log {run}"),
            (None, _) if journal.is_elsewhere() => {
                "Details are in the record of the guard around this one".into()
            }
            (None, _) => "There is no record of them".into(),
        };
        format!("guard: {tally}{lost}. {details}\n")
    }

    /// Tells continuous integration.
    fn report(&mut self, status: i32) {
        let Setup {
            journal, homes, ci, ..
        } = &self.setup;
        let outcome = Outcome {
            summary: journal.summary(),
            homes,
            command: &ci.command,
            cwd: &ci.cwd,
            status,
            run: journal.run(),
        };
        let mut said = String::new();
        for report in &ci.reports {
            if let Err(error) = report.write(&outcome) {
                let path = report.path().to_string_lossy();
                said.push_str(&notice(&format!("cannot write the report {path}: {error}")));
            }
        }
        // A guard inside another leaves it to that one, which knows of both.
        if let Some(github) = ci.github.as_ref().filter(|_| !journal.is_elsewhere()) {
            said.push_str(&Github::annotations(&outcome));
            if let Err(error) = github.summarise(&outcome) {
                said.push_str(&notice(&format!(
                    "cannot write the step's summary: {error}"
                )));
            }
        }
        if !said.is_empty() {
            self.speaker.say(said);
        }
    }

    /// Sends the end, and puts on record what did not arrive.
    fn end_forwarding(&mut self, status: Option<i32>, exit: Option<i32>) {
        let Setup {
            journal,
            forwarding: Some(forwarding),
            ..
        } = &mut self.setup
        else {
            return;
        };
        let mut written = journal.close_groups();
        if let Some(footer) = journal.footer(status, exit) {
            forwarding.end(&footer, tally::tally(journal.summary()));
        }
        for loss in forwarding.close() {
            written = written.and(journal.note(&loss, Weight::Remark));
        }
        self.recorded(written);
    }

    fn exit_status(&self, status: i32) -> i32 {
        let journal = &self.setup.journal;
        let something = journal.summary().attempts() > 0 || !journal.is_whole();
        if status == 0 && something && self.setup.on_attempt == OnAttempt::Fail {
            EXIT_REFUSED
        } else {
            status
        }
    }
}

impl Observer for Report {
    fn started(&mut self, pid: i32) {
        tracing::debug!(pid, "command started");
    }

    fn inside_another(&mut self) {
        self.setup.journal.leave_to_another();
    }

    fn refused(&mut self, attempt: &Attempt, voice: Voice) {
        let here = voice == Voice::Here && attempt.answer == Answer::Refused;
        if self.ended.is_none() && here {
            self.announce(attempt);
        }
        let written = self.setup.journal.attempt(attempt);
        self.recorded(written);
    }

    fn notice(&mut self, text: &str, weight: Weight) {
        self.speaker.say(notice(text));
        let written = self.setup.journal.note(text, weight);
        self.recorded(written);
    }

    fn command_ended(&mut self, status: i32) -> i32 {
        let written = self.setup.journal.catch_up();
        self.recorded(written);
        let exit = self.exit_status(status);
        self.ended = Some((status, exit));
        if self.setup.journal.summary().attempts() > 0 {
            self.speaker.say(self.summing_up());
        }
        if exit != status {
            self.speaker.say(format!(
                "guard: the command itself succeeded; exit status {exit} says that it tried what was refused\n"
            ));
        }
        self.report(status);
        let forwarding = self.setup.forwarding.as_ref();
        for loss in forwarding.map(Forwarding::settle).unwrap_or_default() {
            self.speaker.say(notice(&loss));
        }
        self.speaker.end();
        exit
    }

    fn finished(&mut self) {
        let (status, exit) = self.ended.unzip();
        self.end_forwarding(status, exit);
        let written = self.setup.journal.finish(status, exit);
        self.recorded(written);
    }

    fn due(&self) -> Option<Duration> {
        self.setup.journal.due()
    }

    fn catch_up(&mut self) {
        let written = self.setup.journal.catch_up();
        self.recorded(written);
    }
}

/// Something to say once, each line with guard's prefix.
pub fn notice(text: &str) -> String {
    text.lines()
        .map(|line| format!("guard: {}\n", visible(line)))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::speaker::tests::Heard;
    use super::*;
    use crate::record::{Entry, Line, Operation, Recording, entries, list, samples};

    fn report(dir: PathBuf, heard: &Heard, on_attempt: OnAttempt, effort: Effort) -> Report {
        let journal = Journal::new(dir, samples::header(), Recording::default());
        let homes = Homes::new(Path::new("/home/u"));
        Report::with_speaker(
            Setup {
                journal,
                homes,
                on_attempt,
                effort,
                forwarding: None,
                ci: Continuous::default(),
            },
            heard.speaker(),
        )
    }

    fn delete(pid: i32, name: &str) -> Attempt {
        samples::attempt(pid, Operation::Delete, &format!("/home/u/.pi/agent/{name}"))
    }

    #[test]
    fn a_run_says_each_pair_once_then_sums_up() {
        let top = tempfile::tempdir().unwrap();
        let heard = Heard::default();
        let mut report = report(top.path().into(), &heard, OnAttempt::Report, Effort::Strict);
        report.started(4312);
        for name in ["a", "b", "c"] {
            report.refused(&delete(4312, name), Voice::Here);
        }
        assert_eq!(report.command_ended(0), 0);
        report.refused(&delete(5000, "later"), Voice::Here);
        report.finished();
        let run = list(top.path()).unwrap()[0].clone();
        assert_eq!(
            heard.text(),
            format!(
                "guard: refused: node (pid 4312, `node --test create.test.js`) may not delete ~/.pi/agent/a\n\
                 guard:          rule ~/.pi/agent = \"read-only\" (policy pi); this takes \"writable\"; \
                 see `guard explain ~/.pi/agent/a`\n\
                 guard: 3 attempts refused in 1 recursive delete under ~/.pi/agent; nothing was lost. \
                 Details: guard log {}\n",
                run.run
            )
        );
        let last = entries(&run.path).unwrap().last().unwrap().unwrap();
        let Entry::Line(Line::Footer(footer)) = last else {
            panic!("{last:?}")
        };
        assert_eq!(
            (footer.attempts, footer.command_status, footer.exit_status),
            (4, Some(0), Some(0))
        );
    }

    #[test]
    fn a_clean_run_says_and_leaves_nothing() {
        let top = tempfile::tempdir().unwrap();
        let heard = Heard::default();
        let mut report = report(
            top.path().join("runs"),
            &heard,
            OnAttempt::Fail,
            Effort::Strict,
        );
        assert_eq!(report.command_ended(7), 7);
        report.finished();
        assert_eq!(heard.text(), "");
        assert!(!top.path().join("runs").exists());
    }

    #[test]
    fn only_success_becomes_123_and_the_reason_is_said() {
        for (status, exit) in [(0, 123), (1, 1), (130, 130)] {
            let top = tempfile::tempdir().unwrap();
            let heard = Heard::default();
            let mut report = report(top.path().into(), &heard, OnAttempt::Fail, Effort::Strict);
            report.refused(&delete(1, "a"), Voice::Here);
            assert_eq!(report.command_ended(status), exit);
            assert_eq!(
                heard
                    .text()
                    .contains("guard: the command itself succeeded; exit status 123"),
                exit == 123
            );
        }
    }

    #[test]
    fn what_is_left_to_the_wall_is_recorded_and_not_spoken_of() {
        let top = tempfile::tempdir().unwrap();
        let heard = Heard::default();
        let mut report = report(top.path().into(), &heard, OnAttempt::Fail, Effort::Strict);
        let attempt = Attempt {
            answer: Answer::LeftToWall,
            ..delete(1, "a")
        };
        report.refused(&attempt, Voice::Here);
        assert_eq!(report.command_ended(0), 0);
        assert_eq!(heard.text(), "");
        assert_eq!(list(top.path()).unwrap().len(), 1);
    }

    #[test]
    fn after_ten_pairs_the_rest_is_only_recorded() {
        let top = tempfile::tempdir().unwrap();
        let heard = Heard::default();
        let mut report = report(top.path().into(), &heard, OnAttempt::Report, Effort::Strict);
        for pid in 1..=14 {
            report.refused(&delete(pid, "a"), Voice::Here);
        }
        report.command_ended(0);
        let text = heard.text();
        assert_eq!(text.matches("guard: refused:").count(), 10);
        assert_eq!(
            text.matches("guard: further refusals are only recorded\n")
                .count(),
            1
        );
        assert!(
            text.contains("guard: 14 attempts refused in 1 recursive delete under ~/.pi/agent;"),
            "{text}"
        );
        let path = list(top.path()).unwrap()[0].path.clone();
        // The siblings are one group, of which eight attempts have a line.
        assert_eq!(entries(&path).unwrap().count(), 1 + 8);
    }

    #[test]
    fn a_record_that_cannot_be_written_is_said_once_and_shown_in_the_status() {
        let top = tempfile::tempdir().unwrap();
        std::fs::write(top.path().join("file"), "").unwrap();
        let heard = Heard::default();
        let mut report = report(
            top.path().join("file/runs"),
            &heard,
            OnAttempt::Fail,
            Effort::BestEffort,
        );
        report.notice(
            "no Landlock: names are protected by the supervisor alone",
            Weight::NotEnforced,
        );
        report.refused(&delete(1, "a"), Voice::Here);
        assert_eq!(report.command_ended(0), 123);
        let text = heard.text();
        assert_eq!(
            text.matches("is kept in memory and tried again\n").count(),
            1
        );
        assert!(
            text.starts_with("guard: no Landlock: names are protected by the supervisor alone\n"),
            "{text}"
        );
        assert!(
            text.contains("was enforced. There is no record of them\n"),
            "{text}"
        );
        assert!(!text.contains("nothing was lost"), "{text}");
    }
}
