//! The table about records: how many stay, what they hold, where else their events go.
#![forbid(unsafe_code)]

use super::{Head, Parser, Value, in_order};
use crate::policy::{Destination, PolicyError, Problem, Recording};

/// The keys of the table about records.
const RECORD_KEYS: [&str; 4] = ["keep-runs", "keep-days", "list-attempts", "also"];
impl Parser<'_> {
    /// `[record]`.
    pub(super) fn record(&self, head: &mut Head, value: &Value<'_>) -> Result<(), PolicyError> {
        let table = value
            .get_ref()
            .as_table()
            .ok_or_else(|| self.wrong("record", "a table", value))?;
        let mut recording = Recording::default();
        for (key, value) in in_order(table) {
            let name = key.get_ref().as_ref();
            let setting = match name {
                "keep-runs" => &mut recording.runs,
                "keep-days" => &mut recording.days,
                "list-attempts" => &mut recording.listed,
                "also" => {
                    head.also = self.destinations(value)?;
                    continue;
                }
                other => return Err(self.unknown_key(other, &RECORD_KEYS, key)),
            };
            let number = value.get_ref().as_integer();
            *setting = number
                .filter(|number| number.radix() == 10)
                .and_then(|number| number.as_str().parse().ok())
                .ok_or_else(|| self.wrong(name, "a number from 0 to 4294967295", value))?;
        }
        head.record = Some(recording);
        Ok(())
    }

    /// `also = ["journald"]`.
    fn destinations(&self, value: &Value<'_>) -> Result<Vec<Destination>, PolicyError> {
        let wanted = "a list of syslog, journald and otlp";
        let wrong = |value| self.wrong("also", wanted, value);
        let list = value.get_ref().as_array().ok_or_else(|| wrong(value))?;
        list.iter()
            .map(|item| {
                let word = item.get_ref().as_str().ok_or_else(|| wrong(item))?;
                Destination::parse(word).map_err(|hint| {
                    let word = word.to_owned();
                    let problem = Problem::UnknownDestination { word, hint };
                    self.error(item.span().start, problem)
                })
            })
            .collect()
    }
}
