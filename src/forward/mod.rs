//! Where a record's events go besides its file: syslog, the journal of systemd, a collector of OpenTelemetry. Nobody waits for
//! them: each has a thread and a queue of its own, and what does not fit or does not arrive is counted.
#![forbid(unsafe_code)]

mod event;
mod journald;
mod otlp;
mod queue;
mod syslog;

use std::ffi::OsString;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use crate::policy::Destination;
pub use event::{Event, Field, Severity, Value};
pub use queue::Standing;

use queue::{Queue, Sink};

/// Why events cannot go where they are to go; known before the command starts. No text holds the value of a variable:
/// addresses and headers may hold secrets.
#[derive(Debug, thiserror::Error)]
pub enum ForwardError {
    /// A variable that is not what it should be.
    #[error("{name} {wrong}")]
    Variable {
        /// Its name.
        name: String,
        /// What is wrong with it.
        wrong: &'static str,
    },
}

/// What every event of a run has in common.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The machine's name.
    pub host: String,
    /// The version of guard.
    pub version: &'static str,
}

/// An environment.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// Sends events to one or more places.
pub struct Forwarder {
    queues: Vec<(Destination, Queue)>,
}

impl Forwarder {
    /// Looks at the configuration of each destination. Nothing is opened, sent, or started before the first event; the
    /// environment is not read again.
    ///
    /// # Errors
    /// [`ForwardError`].
    pub fn prepare(
        destinations: &[Destination],
        environment: Environment<'_>,
        origin: &Origin,
    ) -> Result<Self, ForwardError> {
        let mut queues: Vec<(Destination, Queue)> = Vec::new();
        for &destination in destinations {
            if queues.iter().any(|(known, _)| *known == destination) {
                continue;
            }
            let sink: Box<dyn Sink> = match destination {
                Destination::Syslog => Box::new(syslog::Syslog::new(syslog::SOCKET)),
                Destination::Journald => Box::new(journald::Journald::new(journald::SOCKET)),
                Destination::Otlp => Box::new(otlp::Otlp::new(
                    otlp::Config::from_environment(environment)?,
                    origin,
                )),
            };
            queues.push((destination, Queue::new(sink)));
        }
        Ok(Self { queues })
    }

    /// Gives an event to each destination's queue; never waits for one.
    pub fn send(&self, event: Event) {
        let event = Arc::new(event);
        for (_, queue) in &self.queues {
            queue.offer(Arc::clone(&event));
        }
    }

    /// Waits until everything is delivered, but for `patience` at most and not for whom nothing reaches. Gives what is not.
    pub fn settle(&self, patience: Duration) -> Vec<(Destination, Standing)> {
        self.each(patience, Queue::settle)
    }

    /// The same at the end of the run, with every patience for whom nothing reaches yet; no event is taken any more.
    pub fn close(&self, patience: Duration) -> Vec<(Destination, Standing)> {
        self.each(patience, Queue::close)
    }

    fn each(
        &self,
        patience: Duration,
        end: impl Fn(&Queue, Instant) -> Standing,
    ) -> Vec<(Destination, Standing)> {
        let deadline = Instant::now() + patience;
        let queues = self.queues.iter();
        queues
            .map(|(destination, queue)| (*destination, end(queue, deadline)))
            .filter(|(_, standing)| !standing.is_well())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_destination_counts_once_and_nothing_starts() {
        let origin = Origin {
            host: "h".into(),
            version: "1",
        };
        let all = [
            Destination::Syslog,
            Destination::Otlp,
            Destination::Syslog,
            Destination::Journald,
        ];
        let forwarder = Forwarder::prepare(&all, &|_| None, &origin).unwrap();
        assert_eq!(forwarder.queues.len(), 3);
        assert!(forwarder.queues.iter().all(|(_, queue)| !queue.has_begun()));
        assert!(forwarder.close(Duration::ZERO).is_empty());
    }
}
