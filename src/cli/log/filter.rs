//! Filters: by path, program, operation and time.

use std::path::{Path, PathBuf};

use clap::Args;
use globset::{GlobBuilder, GlobMatcher};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

use super::operations;
use crate::cli::Failure;
use crate::cli::report::wording;
use crate::record::{Attempt, Event, Group, Operation, Process, Text};

/// What to let through; all of it has to hold.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Filters")]
pub struct FilterArgs {
    /// Only what concerns this path or lies below it, or what this glob matches
    #[arg(long, value_name = "PATH|GLOB")]
    pub path: Option<PathBuf>,
    /// Only what this program tried, or what it started
    #[arg(long, value_name = "NAME")]
    pub program: Option<String>,
    /// Only this operation: create, write, delete, rename, replace, link, metadata, forbidden
    #[arg(long, value_name = "OPERATION")]
    pub operation: Option<String>,
    /// Only what was tried at or after this time: 2026-03-01, 2026-03-01T10:00, or a span ago such as 2h
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Only what was tried before this time
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
}

/// The same, understood.
#[derive(Debug, Default)]
pub struct Filter {
    place: Option<Place>,
    program: Option<String>,
    operation: Option<Operation>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
}

#[derive(Debug)]
enum Place {
    Below(PathBuf),
    Matching(Box<GlobMatcher>),
}

impl Filter {
    pub fn new(arguments: &FilterArgs, zone: &TimeZone) -> Result<Self, Failure> {
        let time =
            |text: &Option<String>| text.as_deref().map(|text| moment(text, zone)).transpose();
        Ok(Self {
            place: arguments.path.as_deref().map(place).transpose()?,
            program: arguments.program.clone(),
            operation: arguments.operation.as_deref().map(operation).transpose()?,
            since: time(&arguments.since)?,
            until: time(&arguments.until)?,
        })
    }

    /// Whether everything passes.
    pub fn is_open(&self) -> bool {
        self.place.is_none()
            && self.program.is_none()
            && self.operation.is_none()
            && self.since.is_none()
            && self.until.is_none()
    }

    /// Whether an attempt passes.
    pub fn lets(&self, attempt: &Attempt) -> bool {
        let places = attempt.found.iter().chain(&attempt.asked);
        self.operation
            .is_none_or(|wanted| attempt.operation == wanted)
            && self.passes_time(attempt.time, attempt.time)
            && self.passes_program(&attempt.process, &attempt.parents)
            && self.passes_place(places)
    }

    /// Whether some attempt of a group may pass, as far as the group tells.
    pub fn lets_group(&self, group: &Group) -> bool {
        let places = group.first.iter().chain(&group.last).chain(&group.within);
        self.operation
            .is_none_or(|wanted| group.operation == wanted)
            && self.passes_time(group.begun, group.latest)
            && self.passes_program(&group.process, &group.parents)
            && self.passes_place(places)
    }

    /// An event without the attempts that do not pass; none where nothing is left.
    pub fn event(&self, mut event: Event) -> Option<Event> {
        if self.is_open() {
            return Some(event);
        }
        event.attempts.retain(|one| self.lets(&one.attempt));
        (!event.attempts.is_empty() || self.lets_group(&event.group)).then_some(event)
    }

    fn passes_time(&self, first: Timestamp, last: Timestamp) -> bool {
        self.since.is_none_or(|since| last >= since) && self.until.is_none_or(|until| first < until)
    }

    fn passes_program(&self, process: &Process, parents: &[Process]) -> bool {
        self.program.as_ref().is_none_or(|wanted| {
            let mut chain = std::iter::once(process).chain(parents);
            chain.any(|process| wording::name(process) == *wanted)
        })
    }

    fn passes_place<'a>(&self, mut places: impl Iterator<Item = &'a Text>) -> bool {
        match &self.place {
            None => true,
            Some(Place::Below(top)) => places.any(|path| path.as_path().starts_with(top)),
            Some(Place::Matching(glob)) => places.any(|path| glob.is_match(path.as_path())),
        }
    }
}

fn place(path: &Path) -> Result<Place, Failure> {
    let text = path.to_string_lossy();
    if !text.contains(['*', '?', '[', '{']) {
        let absolute = std::path::absolute(path)?;
        return Ok(Place::Below(absolute));
    }
    let text = if path.is_absolute() || text.starts_with("**") {
        text.into_owned()
    } else {
        format!("**/{text}")
    };
    let glob = GlobBuilder::new(&text).literal_separator(true).build();
    let glob = glob.map_err(|error| Failure::Words(format!("--path: {error}")))?;
    Ok(Place::Matching(Box::new(glob.compile_matcher())))
}

fn operation(word: &str) -> Result<Operation, Failure> {
    operations()
        .find(|(name, _)| *name == word)
        .map(|(_, operation)| operation)
        .ok_or_else(|| {
            let names: Vec<_> = operations().map(|(name, _)| name).collect();
            Failure::Words(format!(
                "--operation: {word} is none of {}",
                names.join(", ")
            ))
        })
}

/// A moment: a timestamp, a date or date and time in the reader's zone, or a span before now.
fn moment(text: &str, zone: &TimeZone) -> Result<Timestamp, Failure> {
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Ok(moment);
    }
    if let Ok(civil) = text.parse::<jiff::civil::DateTime>()
        && let Ok(zoned) = zone.to_ambiguous_zoned_datetime(civil).compatible()
    {
        return Ok(zoned.timestamp());
    }
    let ago = text.trim_end_matches("ago").trim();
    if let Ok(span) = ago.parse::<Span>()
        && let Ok(zoned) = Timestamp::now()
            .to_zoned_datetime(zone.clone())
            .checked_sub(span.abs())
    {
        return Ok(zoned.timestamp());
    }
    Err(Failure::Words(format!(
        "{text} is no time: write 2026-03-01, 2026-03-01T10:00, 2026-03-01T10:00:00Z or a span such as 2h or 3 days"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::samples;

    fn filter(set: impl FnOnce(&mut FilterArgs)) -> Result<Filter, Failure> {
        let mut arguments = FilterArgs::default();
        set(&mut arguments);
        Filter::new(&arguments, &TimeZone::UTC)
    }

    fn lets(set: impl FnOnce(&mut FilterArgs)) -> bool {
        let mut attempt = samples::attempt(1, Operation::Delete, "/home/u/.pi/agent/auth.json");
        attempt.time = "2026-03-01T10:00:00Z".parse().unwrap();
        filter(set).unwrap().lets(&attempt)
    }

    #[test]
    fn each_filter_lets_through_what_it_names() {
        assert!(lets(|_| {}));
        for path in [
            "/home/u",
            "/home/u/.pi/agent/auth.json",
            "*.json",
            "/home/**",
            "**/.pi/**",
        ] {
            assert!(lets(|it| it.path = Some(path.into())), "{path}");
        }
        for path in ["/home/u/.p", "/home/v", "*.toml", "/home/*"] {
            assert!(!lets(|it| it.path = Some(path.into())), "{path}");
        }
        assert!(lets(|it| it.program = Some("node".into())));
        assert!(lets(|it| it.program = Some("npm".into())), "a parent");
        assert!(!lets(|it| it.program = Some("no".into())));
        assert!(lets(|it| it.operation = Some("delete".into())));
        assert!(!lets(|it| it.operation = Some("write".into())));
        for (since, until, passes) in [
            ("2026-03-01", "2026-03-02", true),
            ("2026-03-01T10:00", "2026-03-01T10:00:01Z", true),
            ("2026-03-01T10:01", "2026-03-02", false),
            ("2026-02-01", "2026-03-01T10:00", false),
        ] {
            assert_eq!(
                lets(|it| (it.since, it.until) = (Some(since.into()), Some(until.into()))),
                passes,
                "{since} {until}"
            );
        }
        assert!(!lets(|it| it.since = Some("2h".into())));
        assert!(lets(|it| it.since = Some("200 years ago".into())));
    }

    #[test]
    fn what_is_not_understood_is_said() {
        let error = |set: fn(&mut FilterArgs)| filter(set).unwrap_err().to_string();
        assert!(
            error(|it| it.operation = Some("remove".into())).contains("remove is none of create,")
        );
        assert!(
            error(|it| it.since = Some("yesterday".into())).starts_with("yesterday is no time")
        );
        assert!(error(|it| it.path = Some("[a".into())).starts_with("--path: "));
    }
}
