//! An event on its way, with the names that its fields have in each place.

use jiff::Timestamp;

/// Bytes of one text that are sent.
const MOST_TEXT: usize = 4096;
/// Bytes of all texts of a list.
const MOST_LIST: usize = 8192;

/// Something that the record tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What it is: `attempt`.
    pub name: &'static str,
    /// When, UTC.
    pub time: Timestamp,
    /// How bad it is.
    pub severity: Severity,
    /// In words, one line, nothing in it that a terminal would obey.
    pub message: String,
    fields: Vec<(Field, Value)>,
}

/// How bad an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Something was refused, or is not enforced.
    Warning,
    /// Something to know.
    Notice,
    /// The course of things.
    Info,
}

impl Severity {
    /// As syslog and the journal count (RFC 5424, 6.2.1).
    pub fn syslog(self) -> u8 {
        match self {
            Self::Warning => 4,
            Self::Notice => 5,
            Self::Info => 6,
        }
    }

    /// As OpenTelemetry counts, with the short name.
    pub fn otlp(self) -> (u8, &'static str) {
        match self {
            Self::Warning => (13, "WARN"),
            Self::Notice => (10, "INFO2"),
            Self::Info => (9, "INFO"),
        }
    }
}

/// What a field holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Any text.
    Text(String),
    /// A number.
    Number(i64),
    /// Several texts in order.
    List(Vec<String>),
}

impl Event {
    /// An event without fields.
    pub fn new(name: &'static str, time: Timestamp, severity: Severity, message: String) -> Self {
        Self {
            name,
            time,
            severity,
            message: cut(message, MOST_LIST),
            fields: Vec::new(),
        }
    }

    /// Adds a field. What is too long is cut, and ends in an ellipsis.
    pub fn add(&mut self, field: Field, value: Value) {
        let value = match value {
            Value::Text(text) => Value::Text(cut(text, MOST_TEXT)),
            Value::List(texts) => Value::List(cut_all(texts)),
            number @ Value::Number(_) => number,
        };
        self.fields.push((field, value));
    }

    /// The fields in the order in which they were added.
    pub fn fields(&self) -> impl Iterator<Item = (Field, &Value)> {
        self.fields.iter().map(|(field, value)| (*field, value))
    }
}

fn cut_all(texts: Vec<String>) -> Vec<String> {
    let mut room = MOST_LIST;
    let mut kept = Vec::new();
    for text in texts {
        if room == 0 {
            kept.push("…".into());
            break;
        }
        let text = cut(text, room.min(MOST_TEXT));
        // An empty one needs a place too.
        room = room.saturating_sub(text.len().max(8));
        kept.push(text);
    }
    kept
}

fn cut(mut text: String, most: usize) -> String {
    if text.len() > most {
        truncate(&mut text, most.saturating_sub(3));
        text.push('…');
    }
    text
}

/// Keeps at most so many bytes, whole characters.
pub fn truncate(text: &mut String, most: usize) {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
}

/// The names of the fields: the attribute of OpenTelemetry (where its semantic conventions have one, that), the field of the
/// journal, and the word in a line of syslog, which has the few that people look for.
macro_rules! fields {
    ($($(#[$doc:meta])* $name:ident: $otlp:literal, $journald:literal, $syslog:expr;)*) => {
        /// A field of an event.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Field { $($(#[$doc])* $name,)* }

        impl Field {
            /// All of them.
            #[cfg(test)]
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The attribute of OpenTelemetry.
            pub fn otlp(self) -> &'static str {
                match self { $(Self::$name => $otlp,)* }
            }

            /// The field of the journal.
            pub fn journald(self) -> &'static str {
                match self { $(Self::$name => $journald,)* }
            }

            /// The word in a line of syslog; none for those that are not in it.
            pub fn syslog(self) -> Option<&'static str> {
                match self { $(Self::$name => $syslog,)* }
            }
        }
    };
}

fields! {
    /// The run's id.
    Run: "guard.run", "GUARD_RUN", Some("run");
    /// What it would have done.
    Operation: "guard.operation", "GUARD_OPERATION", Some("operation");
    /// What became of it.
    Answer: "guard.answer", "GUARD_ANSWER", None;
    /// The number of an attempt.
    Seq: "guard.seq", "GUARD_SEQ", Some("seq");
    /// The number of a group.
    Group: "guard.group", "GUARD_GROUP", Some("group");
    /// The system call.
    Syscall: "guard.syscall", "GUARD_SYSCALL", None;
    /// The error that the program got.
    Errno: "error.type", "GUARD_ERRNO", None;
    /// The object in question.
    Path: "file.path", "GUARD_PATH", Some("path");
    /// The paths as the program gave them.
    Asked: "guard.asked", "GUARD_ASKED", None;
    /// What lies there.
    Object: "guard.object", "GUARD_OBJECT", None;
    /// The path of the rule.
    Rule: "guard.rule.path", "GUARD_RULE", Some("rule");
    /// Its level.
    Level: "guard.rule.level", "GUARD_RULE_LEVEL", None;
    /// Where it is written.
    RuleOrigin: "guard.rule.origin", "GUARD_RULE_ORIGIN", None;
    /// The policy that holds it; that of the run.
    Policy: "guard.policy", "GUARD_POLICY", None;
    /// Why, where the rule alone does not say it.
    Because: "guard.because", "GUARD_BECAUSE", None;
    /// The process.
    Pid: "process.pid", "GUARD_PID", Some("pid");
    /// The process that started it.
    ParentPid: "process.parent_pid", "GUARD_PARENT_PID", None;
    /// Its executable.
    Executable: "process.executable.path", "GUARD_EXECUTABLE", None;
    /// Its arguments; those of the command.
    Arguments: "process.command_args", "GUARD_ARGUMENT", None;
    /// The commands of its parents, nearest first.
    Parents: "guard.parents", "GUARD_PARENT", None;
    /// The working directory of the run.
    Directory: "process.working_directory", "GUARD_DIRECTORY", None;
    /// The user's number.
    UserId: "user.id", "GUARD_UID", None;
    /// The user's name.
    UserName: "user.name", "GUARD_USER", Some("user");
    /// `strict` or `best-effort`.
    Effort: "guard.effort", "GUARD_EFFORT", None;
    /// What the policy asks and is not enforced.
    NotEnforced: "guard.not_enforced", "GUARD_NOT_ENFORCED", None;
    /// What guard said before.
    Notes: "guard.notes", "GUARD_NOTE", None;
    /// What a group's attempts are together.
    Kind: "guard.group.kind", "GUARD_GROUP_KIND", Some("kind");
    /// How many attempts a group or a run has.
    Attempts: "guard.attempts", "GUARD_ATTEMPTS", Some("attempts");
    /// How many of them were aimed at files.
    Files: "guard.group.files", "GUARD_GROUP_FILES", None;
    /// How many of them were aimed at folders.
    Folders: "guard.group.folders", "GUARD_GROUP_FOLDERS", None;
    /// How many processes made them.
    Processes: "guard.group.processes", "GUARD_GROUP_PROCESSES", None;
    /// The object of a group's first attempt.
    First: "guard.group.first", "GUARD_GROUP_FIRST", None;
    /// The object of its last.
    Last: "guard.group.last", "GUARD_GROUP_LAST", None;
    /// The place that all lie in.
    Within: "guard.group.within", "GUARD_GROUP_WITHIN", Some("within");
    /// How the command ended.
    CommandStatus: "process.exit.code", "GUARD_COMMAND_STATUS", Some("status");
    /// How guard ended.
    ExitStatus: "guard.exit_status", "GUARD_EXIT_STATUS", None;
    /// Attempts by operation: `delete=214`.
    ByOperation: "guard.by_operation", "GUARD_BY_OPERATION", None;
    /// The fields that hold bytes which are no UTF-8, and so are written as in the record.
    Escaped: "guard.escaped", "GUARD_ESCAPED", None;
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::HashSet;

    use super::*;

    pub(in crate::forward) fn event() -> Event {
        let time = "2026-11-30T11:04:33.023456789Z".parse().unwrap();
        let mut event = Event::new(
            "attempt",
            time,
            Severity::Warning,
            "refused: node (pid 4312) may not delete ~/.pi/agent".into(),
        );
        event.add(Field::Run, Value::Text("7f3a".into()));
        event.add(Field::Pid, Value::Number(4312));
        event.add(
            Field::Path,
            Value::Text("/home/u/.pi/a\n\"b\" \\ \u{1b}]é".into()),
        );
        let arguments = ["node", "--test", ""].map(String::from);
        event.add(Field::Arguments, Value::List(arguments.to_vec()));
        event
    }

    #[test]
    fn no_name_stands_for_two_fields_and_the_journal_takes_all() {
        let mut seen = HashSet::new();
        for field in Field::ALL {
            assert!(seen.insert(field.otlp()) && seen.insert(field.journald()));
            assert!(field.syslog().is_none_or(|word| seen.insert(word)));
            let name = field.journald();
            assert!(name.len() <= 64 && name.starts_with("GUARD_"), "{name}");
            assert!(name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_'));
        }
    }

    #[test]
    fn the_documentation_has_every_field() {
        let text = include_str!("../../docs/record.md");
        for field in Field::ALL {
            let word = field.syslog().map(|word| format!("`{word}` "));
            let row = format!(
                "\n| `{}` | `{}` | {}| ",
                field.otlp(),
                field.journald(),
                word.unwrap_or_default()
            );
            assert_eq!(text.matches(&row).count(), 1, "{row}");
        }
    }

    #[test]
    fn what_is_too_long_is_cut_on_a_character() {
        let mut event = event();
        event.add(Field::First, Value::Text("é".repeat(5000)));
        event.add(Field::Parents, Value::List(vec!["x".repeat(3000); 100]));
        event.add(Field::Asked, Value::List(vec![String::new(); 100_000]));
        let values: Vec<&Value> = event.fields().map(|(_, value)| value).skip(4).collect();
        let [Value::Text(first), Value::List(parents), Value::List(asked)] = values[..] else {
            panic!("{values:?}")
        };
        assert!(first.len() <= MOST_TEXT && first.ends_with("é…"));
        assert!(parents.iter().map(String::len).sum::<usize>() <= MOST_LIST + 3);
        assert_eq!(parents.last().unwrap(), "…");
        assert!(asked.len() <= MOST_LIST / 8 + 1);
    }
}
