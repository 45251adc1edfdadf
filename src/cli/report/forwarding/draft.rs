//! An event that is being made: the fields of what the record holds, its texts written as there.

use crate::cli::report::wording;
use crate::cli::words::Homes;
use crate::forward::{Event, Field, Value};
use crate::record::{Answer, Operation, Process, RuleNote, Text, Written};

/// The word for it in the record.
pub fn name(it: impl serde::Serialize) -> String {
    match serde_json::to_value(it) {
        Ok(serde_json::Value::String(name)) => name,
        _ => String::new(),
    }
}

/// An event that is being made.
pub struct Draft {
    event: Event,
    escaped: Vec<String>,
}

impl Draft {
    /// To become this event.
    pub fn new(event: Event) -> Self {
        Self {
            event,
            escaped: Vec::new(),
        }
    }

    /// The event.
    pub fn done(mut self) -> Event {
        if !self.escaped.is_empty() {
            self.event.add(Field::Escaped, Value::List(self.escaped));
        }
        self.event
    }

    /// Adds a text of guard's own.
    pub fn word(&mut self, field: Field, word: &str) {
        self.event.add(field, Value::Text(word.to_owned()));
    }

    /// Adds several, if there are any.
    pub fn words(&mut self, field: Field, words: &[String]) {
        if !words.is_empty() {
            self.event.add(field, Value::List(words.to_vec()));
        }
    }

    /// Adds a number.
    pub fn number(&mut self, field: Field, number: impl TryInto<i64>) {
        let number = number.try_into().unwrap_or(i64::MAX);
        self.event.add(field, Value::Number(number));
    }

    /// Adds a text of the system.
    pub fn text(&mut self, field: Field, text: &Text) {
        let text = self.written(field, text);
        self.event.add(field, Value::Text(text));
    }

    /// The same, if there is one.
    pub fn optional(&mut self, field: Field, text: Option<&Text>) {
        if let Some(text) = text {
            self.text(field, text);
        }
    }

    /// Adds several texts of the system. One that is no UTF-8 makes the field an escaped one, and so all texts in it.
    pub fn list(&mut self, field: Field, texts: &[Text]) {
        let escaped = texts
            .iter()
            .any(|text| matches!(text.written(), Written::Escaped(_)));
        let texts: Vec<String> = texts
            .iter()
            .map(|text| match text.written() {
                Written::Plain(plain) if escaped => plain.replace('\\', r"\\"),
                Written::Plain(plain) => plain.to_owned(),
                Written::Escaped(text) => text,
            })
            .collect();
        if escaped {
            self.escaped.push(field.otlp().to_owned());
        }
        if !texts.is_empty() {
            self.event.add(field, Value::List(texts));
        }
    }

    fn written(&mut self, field: Field, text: &Text) -> String {
        match text.written() {
            Written::Plain(plain) => plain.to_owned(),
            Written::Escaped(text) => {
                self.escaped.push(field.otlp().to_owned());
                text
            }
        }
    }

    /// Adds what was tried, and what became of it.
    pub fn what(&mut self, operation: Operation, answer: Answer) {
        self.word(Field::Operation, &name(operation));
        self.word(Field::Answer, &name(answer));
    }

    /// Adds a rule with its place.
    pub fn rule(&mut self, rule: Option<&RuleNote>) {
        let Some(rule) = rule else { return };
        self.word(Field::Rule, &rule.path);
        self.word(Field::Level, rule.level.name());
        self.word(Field::Policy, &rule.policy);
        self.word(Field::RuleOrigin, &rule.origin.to_string());
    }

    /// Adds a process and its parents.
    pub fn process(&mut self, process: &Process, parents: &[Process], homes: &Homes) {
        self.number(Field::Pid, process.pid);
        self.text(Field::Executable, &process.executable);
        self.list(Field::Arguments, &process.arguments);
        if let Some(parent) = parents.first() {
            self.number(Field::ParentPid, parent.pid);
        }
        let parents = parents.iter().map(|it| wording::process(it, homes));
        self.words(Field::Parents, &parents.collect::<Vec<_>>());
    }
}
