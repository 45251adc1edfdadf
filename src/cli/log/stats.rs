//! Counts over runs: by program, operation, rule and day.

use std::collections::BTreeMap;
use std::io::Write;

use super::View;
use super::look::Part;
use crate::cli::Failure;
use crate::cli::report::wording;
use crate::cli::words::{counted, visible};
use crate::record::{Answer, RunFile};

/// What is counted, each by its name.
#[derive(Default, serde::Serialize)]
struct Counts {
    runs: u64,
    attempts: u64,
    by_program: BTreeMap<String, u64>,
    by_operation: BTreeMap<String, u64>,
    by_rule: BTreeMap<String, u64>,
    by_day: BTreeMap<String, u64>,
}

/// Prints the counts of these runs.
pub fn stats(
    view: &View,
    runs: &[RunFile],
    json: bool,
    out: &mut dyn Write,
) -> Result<i32, Failure> {
    let mut counts = Counts::default();
    for file in runs {
        let mut seen = false;
        for event in view.story(file)?.events {
            let Some(event) = view.filter.event(event) else {
                continue;
            };
            let group = &event.group;
            if group.answer != Answer::Refused {
                continue;
            }
            seen = true;
            let many = if view.filter.is_open() {
                group.attempts
            } else {
                event.attempts.len().max(1) as u64
            };
            counts.attempts += many;
            let rule = group.rule.as_ref();
            for (table, name) in [
                (&mut counts.by_program, wording::name(&group.process)),
                (
                    &mut counts.by_operation,
                    wording::operation(group.operation).to_owned(),
                ),
                (
                    &mut counts.by_rule,
                    rule.map_or_else(|| "no rule".into(), |rule| visible(&rule.path)),
                ),
                (&mut counts.by_day, view.local(group.begun, "%Y-%m-%d")),
            ] {
                *table.entry(name).or_default() += many;
            }
        }
        counts.runs += u64::from(seen);
    }
    if json {
        serde_json::to_writer(&mut *out, &counts).map_err(crate::record::RecordError::Encode)?;
        writeln!(out)?;
        return Ok(0);
    }
    writeln!(
        out,
        "{} in {}",
        counted(counts.attempts, "attempt"),
        counted(counts.runs, "run")
    )?;
    for (heading, table) in [
        ("program", counts.by_program),
        ("operation", counts.by_operation),
        ("rule", counts.by_rule),
        ("day", counts.by_day),
    ] {
        writeln!(
            out,
            "\n{}",
            view.look.part(Part::Aside, format!("by {heading}"))
        )?;
        let mut rows: Vec<_> = table.into_iter().collect();
        if heading != "day" {
            rows.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        }
        for (name, count) in rows {
            writeln!(out, "{count:>8}  {}", view.look.fit(name, 10))?;
        }
    }
    Ok(0)
}
