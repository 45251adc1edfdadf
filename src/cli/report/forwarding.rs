//! The record's lines as events for syslog, the journal and a collector, in the words of guard's own output.

mod draft;

use std::env;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::cli::report::wording;
use crate::cli::surroundings;
use crate::cli::words::{Homes, counted, visible};
use crate::forward::{
    Destination, Event, Field, ForwardError, Forwarder, Origin, Severity, Standing,
};
use crate::record::{Answer, Attempt, Footer, Group, Header, Line, Note, Numbered, Told};

use draft::{Draft, name};

/// How long the command's exit status waits for what is under way.
const MOMENT: Duration = Duration::from_millis(200);
/// How long the supervisor stays when all is over, to deliver what is left.
const PATIENCE: Duration = Duration::from_secs(3);

/// Reads the name of a destination.
///
/// # Errors
/// What is wrong with it, in words.
pub fn parse(word: &str) -> Result<Destination, String> {
    Destination::parse(word).map_err(|hint| format!("guard cannot send records there{hint}"))
}

/// Sends what the record tells.
#[derive(Clone)]
pub struct Forwarding(Arc<Shared>);

struct Shared {
    forwarder: Forwarder,
    homes: Homes,
    /// The run's id, from the header.
    run: OnceLock<String>,
}

impl Forwarding {
    /// Looks at the configuration, and at the environment for the only time. None where nothing is to be sent.
    ///
    /// # Errors
    /// [`ForwardError`].
    pub fn prepare(
        destinations: &[Destination],
        homes: &Homes,
    ) -> Result<Option<Self>, ForwardError> {
        if destinations.is_empty() {
            return Ok(None);
        }
        let origin = Origin {
            host: surroundings::host(),
            version: env!("CARGO_PKG_VERSION"),
        };
        let forwarder = Forwarder::prepare(destinations, &|name| env::var_os(name), &origin)?;
        Ok(Some(Self(Arc::new(Shared {
            forwarder,
            homes: homes.clone(),
            run: OnceLock::new(),
        }))))
    }

    /// To be told every line of the record.
    pub fn told(&self) -> Told {
        let shared = Arc::clone(&self.0);
        Box::new(move |line| {
            if let Line::Header(header) = line {
                let _ = shared.run.set(header.run.clone());
            }
            if let Some(event) = shared.event(line) {
                shared.forwarder.send(event);
            }
        })
    }

    /// Waits a moment for what is under way; what is not delivered by then, in words.
    pub fn settle(&self) -> Vec<String> {
        in_words(&self.0.forwarder.settle(MOMENT))
    }

    /// Sends the end of the run.
    pub fn end(&self, footer: &Footer, tally: String) {
        let event = self.0.end(footer, tally);
        self.0.forwarder.send(event);
    }

    /// Waits a little longer, for the last time; what is lost, in words.
    pub fn close(&self) -> Vec<String> {
        let mut standings = self.0.forwarder.close(PATIENCE);
        for (_, standing) in &mut standings {
            // The process ends now.
            standing.lost += std::mem::take(&mut standing.waiting);
            let why = &mut standing.why;
            why.get_or_insert_with(|| "no answer in time".into());
        }
        in_words(&standings)
    }
}

/// `otlp: of the record's 14 events 3 lost, 2 not delivered yet (HTTP 503)`.
fn in_words(standings: &[(Destination, Standing)]) -> Vec<String> {
    let said = |(destination, standing): &(Destination, Standing)| {
        let Standing {
            delivered,
            lost,
            waiting,
            why,
        } = standing;
        let all = counted(delivered + lost + waiting, "event");
        let mut parts = Vec::new();
        if *lost > 0 {
            parts.push(format!("{lost} lost"));
        }
        if *waiting > 0 {
            parts.push(format!("{waiting} not delivered yet"));
        }
        let why = why.as_deref().map(|why| format!(" ({})", visible(why)));
        format!(
            "{}: of the record's {all} {}{}",
            destination.name(),
            parts.join(", "),
            why.unwrap_or_default()
        )
    };
    standings.iter().map(said).collect()
}

impl Shared {
    fn event(&self, line: &Line) -> Option<Event> {
        match line {
            Line::Header(header) => Some(self.begin(header)),
            Line::Attempt(attempt) => Some(self.attempt(attempt)),
            Line::Group(group) => Some(self.group(group)),
            Line::Note(note) => Some(self.note(note)),
            Line::Footer(_) | Line::Unknown => None,
        }
    }

    fn draft(
        &self,
        name: &'static str,
        time: jiff::Timestamp,
        severity: Severity,
        message: String,
    ) -> Draft {
        let mut draft = Draft::new(Event::new(name, time, severity, message));
        if let Some(run) = self.run.get() {
            draft.word(Field::Run, run);
        }
        draft
    }

    fn begin(&self, header: &Header) -> Event {
        let severity = match header.not_enforced.is_empty() {
            true => Severity::Info,
            false => Severity::Warning,
        };
        let mut message = format!(
            "run {}: {} (policy {})",
            header.run,
            self.homes.command(&header.argv),
            visible(&header.policy)
        );
        for missing in &header.not_enforced {
            message.push_str(&format!("; not enforced: {}", one_line(missing)));
        }
        let mut draft = self.draft("begin", header.time, severity, message);
        draft.list(Field::Arguments, &header.argv);
        draft.text(Field::Directory, &header.cwd);
        draft.word(Field::UserId, &header.uid.to_string());
        if let Some(user) = &header.user {
            draft.word(Field::UserName, user);
        }
        draft.word(Field::Policy, &header.policy);
        draft.word(Field::Effort, &header.effort);
        draft.words(Field::NotEnforced, &header.not_enforced);
        draft.words(Field::Notes, &header.notes);
        draft.done()
    }

    fn attempt(&self, numbered: &Numbered) -> Event {
        let Numbered {
            seq,
            group,
            attempt,
        } = numbered;
        let (severity, message) = match attempt.answer {
            Answer::Refused => (
                Severity::Warning,
                one_line(&wording::refusal(attempt, &self.homes)),
            ),
            Answer::LeftToWall => (Severity::Notice, self.left(attempt)),
        };
        let mut draft = self.draft("attempt", attempt.time, severity, message);
        draft.number(Field::Seq, *seq);
        draft.number(Field::Group, *group);
        draft.what(attempt.operation, attempt.answer);
        draft.word(Field::Syscall, &attempt.syscall);
        draft.word(Field::Errno, &attempt.errno);
        draft.optional(Field::Path, attempt.found.as_ref());
        draft.list(Field::Asked, &attempt.asked);
        if let Some(object) = attempt.object {
            draft.word(Field::Object, &name(object));
        }
        draft.rule(attempt.rule.as_ref());
        if let Some(because) = &attempt.because {
            draft.word(Field::Because, because);
        }
        draft.process(&attempt.process, &attempt.parents, &self.homes);
        draft.done()
    }

    /// A call that the wall alone answers.
    fn left(&self, attempt: &Attempt) -> String {
        format!(
            "left to the wall: {}, which cannot be looked into, called {}",
            wording::process(&attempt.process, &self.homes),
            visible(&attempt.syscall)
        )
    }

    fn group(&self, group: &Group) -> Event {
        let severity = match group.answer {
            Answer::Refused => Severity::Warning,
            Answer::LeftToWall => Severity::Notice,
        };
        let message = format!(
            "{} {}; {}",
            wording::process(&group.process, &self.homes),
            wording::group(group, &self.homes),
            wording::law_of(group)
        );
        let mut draft = self.draft("group", group.latest, severity, message);
        draft.number(Field::Group, group.id);
        draft.word(Field::Kind, &name(group.kind));
        draft.what(group.operation, group.answer);
        draft.number(Field::Attempts, group.attempts);
        draft.number(Field::Files, group.files);
        draft.number(Field::Folders, group.folders);
        draft.number(Field::Processes, group.processes);
        draft.optional(Field::First, group.first.as_ref());
        draft.optional(Field::Last, group.last.as_ref());
        draft.optional(Field::Within, group.within.as_ref());
        draft.rule(group.rule.as_ref());
        draft.process(&group.process, &group.parents, &self.homes);
        draft.done()
    }

    fn note(&self, note: &Note) -> Event {
        let message = one_line(&note.text);
        self.draft("note", note.time, Severity::Notice, message)
            .done()
    }

    fn end(&self, footer: &Footer, tally: String) -> Event {
        let run = self.run.get().map_or("", String::as_str);
        let how = match footer.command_status {
            Some(status) => format!("ended with {status}"),
            None => "ended".into(),
        };
        let message = format!("run {run} {how}: {tally}");
        let mut draft = self.draft("end", footer.time, Severity::Info, message);
        draft.number(Field::Attempts, footer.attempts);
        for (field, status) in [
            (Field::CommandStatus, footer.command_status),
            (Field::ExitStatus, footer.exit_status),
        ] {
            if let Some(status) = status {
                draft.number(field, status);
            }
        }
        let counts = footer.by_operation.iter();
        let counts: Vec<String> = counts
            .map(|(operation, count)| format!("{}={count}", name(operation)))
            .collect();
        draft.words(Field::ByOperation, &counts);
        draft.done()
    }
}

/// guard's lines as one, without its prefix.
fn one_line(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let line = line.strip_prefix("guard:").unwrap_or(line);
        visible(line.trim())
    });
    lines.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::forward::Value;
    use crate::record::{Operation, Text, samples};

    fn shared() -> Shared {
        let origin = Origin {
            host: "h".into(),
            version: "1",
        };
        Shared {
            forwarder: Forwarder::prepare(&[], &|_| None, &origin).unwrap(),
            homes: Homes::new(Path::new("/home/u")),
            run: OnceLock::from("7f3a".to_owned()),
        }
    }

    fn field(event: &Event, field: Field) -> Option<Value> {
        let mut fields = event.fields();
        fields
            .find(|(it, _)| *it == field)
            .map(|(_, value)| value.clone())
    }

    fn text(text: &str) -> Option<Value> {
        Some(Value::Text(text.into()))
    }

    #[test]
    fn an_attempt_is_said_in_one_line_with_all_that_the_record_has() {
        let attempt = samples::attempt(4312, Operation::Delete, "/home/u/.pi/agent/a");
        let event = shared().attempt(&Numbered {
            seq: 3,
            group: 1,
            attempt,
        });
        assert_eq!(
            event.message,
            "refused: node (pid 4312, `node --test create.test.js`) may not delete ~/.pi/agent/a; \
             rule ~/.pi/agent = \"read-only\" (policy pi); this takes \"writable\"; \
             see `guard explain ~/.pi/agent/a`"
        );
        assert_eq!((event.name, event.severity), ("attempt", Severity::Warning));
        for (name, value) in [
            (Field::Run, text("7f3a")),
            (Field::Seq, Some(Value::Number(3))),
            (Field::Path, text("/home/u/.pi/agent/a")),
            (Field::Operation, text("delete")),
            (Field::Answer, text("refused")),
            (Field::Rule, text("~/.pi/agent")),
            (Field::Pid, Some(Value::Number(4312))),
            (Field::Escaped, None),
        ] {
            assert_eq!(field(&event, name), value, "{name:?}");
        }
    }

    #[test]
    fn odd_names_are_harmless_in_words_and_exact_in_fields() {
        let mut attempt = samples::attempt(1, Operation::Delete, "");
        attempt.found = Some(Text::from(&b"/home/u/a\n\x1b[2J\\\xe9"[..]));
        attempt.asked = vec!["b\\".into(), Text::from(&b"\xff"[..])];
        let event = shared().attempt(&Numbered {
            seq: 1,
            group: 1,
            attempt,
        });
        assert!(
            event.message.contains(r"~/a\n\e[2J\\xe9"),
            "{}",
            event.message
        );
        assert!(!event.message.contains(char::is_control));
        assert_eq!(
            field(&event, Field::Path),
            text("/home/u/a\n\u{1b}[2J\\\\\\xe9")
        );
        let asked = [r"b\\", r"\xff"].map(String::from).to_vec();
        assert_eq!(field(&event, Field::Asked), Some(Value::List(asked)));
        let escaped = ["file.path", "guard.asked"].map(String::from).to_vec();
        assert_eq!(field(&event, Field::Escaped), Some(Value::List(escaped)));
    }

    #[test]
    fn what_did_not_arrive_is_said() {
        let standing = Standing {
            delivered: 9,
            lost: 3,
            waiting: 2,
            why: Some("HTTP 503".into()),
        };
        let later = Standing {
            waiting: 1,
            ..Standing::default()
        };
        assert_eq!(
            in_words(&[(Destination::Otlp, standing), (Destination::Syslog, later)]),
            [
                "otlp: of the record's 14 events 3 lost, 2 not delivered yet (HTTP 503)",
                "syslog: of the record's 1 event 1 not delivered yet"
            ]
        );
    }

    #[test]
    fn the_beginning_tells_what_is_not_enforced() {
        let mut header = samples::header();
        assert_eq!(shared().begin(&header).severity, Severity::Info);
        header.not_enforced = vec!["no wall: x\nnames only".into()];
        let event = shared().begin(&header);
        assert_eq!(event.severity, Severity::Warning);
        assert!(
            event
                .message
                .ends_with("; not enforced: no wall: x; names only"),
            "{}",
            event.message
        );
    }
}
