//! The observer's thread: one at a time, in order, and heard before a call is answered.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::time::Duration;

use super::{LaunchError, Observer};
use crate::record::{Attempt, Weight};
use crate::supervise::{Sink, Voice};

/// What the observer's thread is told.
pub enum Event {
    /// See [`Observer::inside_another`].
    InsideAnother,
    /// See [`Observer::started`].
    Started(i32),
    /// See [`Observer::notice`].
    Notice(String, Weight, SyncSender<()>),
    /// See [`Observer::refused`]; answered when that is done.
    Refused(Box<Attempt>, Voice, SyncSender<()>),
    /// See [`Observer::command_ended`]; answered with the status.
    Ended(i32, Sender<i32>),
    /// See [`Observer::finished`].
    Finished(Sender<()>),
}

/// Starts it.
///
/// # Errors
/// When no thread can be started.
pub fn start_observer(
    mut observer: Box<dyn Observer>,
    told: Receiver<Event>,
) -> Result<(), LaunchError> {
    let job = move || {
        loop {
            let event = match observer.due().map(|pause| told.recv_timeout(pause)) {
                None => told.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(event) => event,
            };
            match event {
                Err(RecvTimeoutError::Timeout) => observer.catch_up(),
                Err(RecvTimeoutError::Disconnected) => return,
                Ok(event) => hear(&mut *observer, event),
            }
        }
    };
    let thread = std::thread::Builder::new()
        .name("observer".into())
        .spawn(job);
    thread.map(drop).map_err(|error| no_thread(&error))
}

fn hear(observer: &mut dyn Observer, event: Event) {
    match event {
        Event::InsideAnother => observer.inside_another(),
        Event::Started(pid) => observer.started(pid),
        Event::Notice(text, weight, answer) => {
            observer.notice(&text, weight);
            let _ = answer.try_send(());
        }
        Event::Refused(attempt, voice, answer) => {
            observer.refused(&attempt, voice);
            // Whoever waited may have given up.
            let _ = answer.try_send(());
        }
        Event::Ended(status, answer) => drop(answer.send(observer.command_ended(status))),
        Event::Finished(answer) => {
            observer.finished();
            let _ = answer.send(());
        }
    }
}

/// A thread that could not be started, as an error.
pub fn no_thread(error: &std::io::Error) -> LaunchError {
    LaunchError::NotEnforced(format!("cannot start a thread: {error}"))
}

/// Tells the observer of an attempt and waits until it has been told, so that guard's words come before the program's
/// own and a record is written before the program can go on; but no longer than a moment, since the other end of
/// standard error may be stuck.
#[must_use]
pub fn sink(events: &Sender<Event>) -> Sink {
    let events = events.clone();
    Box::new(move |attempt, voice| {
        let (answer, told) = mpsc::sync_channel(1);
        drop(events.send(Event::Refused(Box::new(attempt), voice, answer)));
        let _ = told.recv_timeout(MOMENT);
    })
}

/// How long the target waits for the observer to have been told.
const MOMENT: Duration = Duration::from_millis(100);

/// Tells the observer something, and waits as for a refusal, so that the record has it before the command goes on.
pub fn notice(events: &Sender<Event>, text: String, weight: Weight) {
    let (answer, told) = mpsc::sync_channel(1);
    drop(events.send(Event::Notice(text, weight, answer)));
    let _ = told.recv_timeout(MOMENT);
}
