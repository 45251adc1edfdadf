//! What a run says while it goes on and at its end, and what it puts on record. Runs inside the supervisor.

mod speaker;
mod tally;
pub mod wording;

use std::collections::HashSet;

use crate::cli::EXIT_REFUSED;
use crate::cli::words::{Homes, chain, visible};
use crate::launch::{Effort, Observer, Voice};
use crate::policy::OnAttempt;
use crate::record::{Answer, Attempt, Journal, RecordError, Scope, Summary, Weight};

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
}

/// Tells people and the record what a run tries.
pub struct Report {
    setup: Setup,
    speaker: Speaker,
    summary: Summary,
    announced: HashSet<(i32, Scope)>,
    announcing: Announcing,
    record: Recording,
    /// The command's status and guard's, once the command has ended.
    ended: Option<(i32, i32)>,
}

#[derive(PartialEq, Eq)]
enum Announcing {
    Each,
    NoMore,
}

#[derive(PartialEq, Eq)]
enum Recording {
    Whole,
    /// Something is missing from it.
    Broken,
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
            summary: Summary::default(),
            announced: HashSet::new(),
            announcing: Announcing::Each,
            record: Recording::Whole,
            ended: None,
        }
    }

    /// Notes that the record has a gap; says so the first time.
    fn recorded(&mut self, result: Result<(), RecordError>) {
        let Err(error) = result else { return };
        tracing::warn!(error = chain(&error), "record");
        if self.record == Recording::Whole {
            self.record = Recording::Broken;
            let why = visible(&chain(&error));
            self.speaker.say(format!(
                "guard: {why}; refusing goes on without a whole record\n"
            ));
        }
    }

    fn announce(&mut self, attempt: &Attempt) {
        if self.announcing == Announcing::NoMore
            || !self.announced.insert((attempt.pid, Scope::of(attempt)))
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
        let tally = tally::tally(&self.summary);
        let lost = match self.setup.effort {
            Effort::Strict => "; nothing was lost",
            Effort::BestEffort => "; not everything that the policy asks was enforced",
        };
        let details = match (self.setup.journal.run(), &self.record) {
            (Some(run), Recording::Whole) => format!("Details: guard log {run}"),
            (Some(run), Recording::Broken) => format!("Details, not complete: guard log {run}"),
            (None, _) if self.setup.journal.is_elsewhere() => {
                "Details are in the record of the guard around this one".into()
            }
            (None, _) => "There is no record of them".into(),
        };
        format!("guard: {tally}{lost}. {details}\n")
    }

    fn exit_status(&self, status: i32) -> i32 {
        let something = self.summary.attempts() > 0 || self.record == Recording::Broken;
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
        self.summary.count(attempt);
        let here = voice == Voice::Here && attempt.answer == Answer::Refused;
        if self.ended.is_none() && here {
            self.announce(attempt);
        }
        let written = self.setup.journal.attempt(attempt);
        self.recorded(written);
    }

    fn notice(&mut self, text: &str) {
        let weight = match self.setup.effort {
            Effort::Strict => Weight::Remark,
            Effort::BestEffort => Weight::NotEnforced,
        };
        self.speaker.say(notice(text));
        let written = self.setup.journal.note(text, weight);
        self.recorded(written);
    }

    fn command_ended(&mut self, status: i32) -> i32 {
        let exit = self.exit_status(status);
        self.ended = Some((status, exit));
        if self.summary.attempts() > 0 {
            self.speaker.say(self.summing_up());
        }
        if exit != status {
            self.speaker.say(format!(
                "guard: the command itself succeeded; exit status {exit} says that it tried what was refused\n"
            ));
        }
        self.speaker.end();
        exit
    }

    fn finished(&mut self) {
        let (status, exit) = self.ended.unzip();
        let written = self.setup.journal.finish(&self.summary, status, exit);
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
    use std::path::{Path, PathBuf};

    use super::speaker::tests::Heard;
    use super::*;
    use crate::record::{Entry, Line, Operation, entries, list, samples};

    fn report(dir: PathBuf, heard: &Heard, on_attempt: OnAttempt, effort: Effort) -> Report {
        let journal = Journal::new(dir, samples::header());
        let homes = Homes::new(Path::new("/home/u"));
        Report::with_speaker(
            Setup {
                journal,
                homes,
                on_attempt,
                effort,
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
            text.contains("guard: 14 attempts refused (delete) under ~/.pi/agent;"),
            "{text}"
        );
        let path = list(top.path()).unwrap()[0].path.clone();
        assert_eq!(entries(&path).unwrap().count(), 15);
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
        report.notice("no Landlock: names are protected by the supervisor alone");
        report.refused(&delete(1, "a"), Voice::Here);
        assert_eq!(report.command_ended(0), 123);
        let text = heard.text();
        assert_eq!(
            text.matches("refusing goes on without a whole record\n")
                .count(),
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
