//! The table of a policy that is about records.
#![forbid(unsafe_code)]

use super::{Parser, PolicyError, Recording, Value, in_order};

/// The keys of the table about records.
const RECORD_KEYS: [&str; 3] = ["keep-runs", "keep-days", "list-attempts"];
impl Parser<'_> {
    /// `[record]`.
    pub(super) fn record(&self, value: &Value<'_>) -> Result<Recording, PolicyError> {
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
                other => return Err(self.unknown_key(other, &RECORD_KEYS, key)),
            };
            let number = value.get_ref().as_integer();
            *setting = number
                .filter(|number| number.radix() == 10)
                .and_then(|number| number.as_str().parse().ok())
                .ok_or_else(|| self.wrong(name, "a number from 0 to 4294967295", value))?;
        }
        Ok(recording)
    }
}
