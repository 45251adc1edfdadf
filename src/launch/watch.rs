//! Watching over the command until the last of its descendants is gone.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{self, Sender};

use nix::sys::signalfd::SignalFd;

use super::events::Event;
use super::front::{Streams, give_up_streams};
use super::message::{Message, signal_if_there};
use super::{Doing, LaunchError};
use crate::sys::process::{self, Change};
use crate::sys::{Errno, descriptor};

/// What the supervisor's first thread looks after.
pub struct Watch<'a> {
    /// Whom to tell of the command's state.
    pub front: BorrowedFd<'a>,
    /// Its process.
    pub front_process: OwnedFd,
    /// The command's own process, until it has ended.
    pub target: Option<i32>,
    /// Its status, from its end until that has been told.
    pub status: Option<i32>,
    /// The observer.
    pub events: Sender<Event>,
    /// Where the ends of children are told.
    pub signals: SignalFd,
}

impl Watch<'_> {
    /// Returns when there are no descendants any more.
    ///
    /// # Errors
    /// When waiting fails.
    pub fn until_the_last_is_gone(&mut self) -> Result<(), LaunchError> {
        loop {
            let are_left = self.reap()?;
            if let Some(status) = self.status.take() {
                self.ended(status, are_left)?;
            }
            if !are_left {
                break;
            }
            let Some(target) = self.target else {
                process::wait_for([self.signals.as_fd()]).doing("wait")?;
                self.drain();
                continue;
            };
            let [_, gone, asked] =
                process::wait_for([self.signals.as_fd(), self.front_process.as_fd(), self.front])
                    .doing("wait")?;
            self.drain();
            if gone {
                // Whoever killed guard meant the command.
                signal_if_there(target, libc::SIGKILL);
                self.front_process =
                    descriptor::open_process(target, 0).doing("watch the command")?;
            } else if asked && let Ok(Some(Message::Signal(number))) = Message::receive(self.front)
            {
                signal_if_there(target, number);
            }
        }
        let (answer, done) = mpsc::channel();
        drop(self.events.send(Event::Finished(answer)));
        let _ = done.recv();
        Ok(())
    }

    fn drain(&self) {
        while let Ok(Some(_)) = self.signals.read_signal() {}
    }

    /// Takes note of all children whose state has changed; whether there still are any.
    fn reap(&mut self) -> Result<bool, LaunchError> {
        loop {
            match process::next_change() {
                Ok(None) => return Ok(true),
                Err(Errno::ECHILD) => return Ok(false),
                Err(errno) => return Err(errno).doing("wait for the command"),
                Ok(Some((pid, change))) if Some(pid) == self.target => match change {
                    Change::Exited(status) => self.take_note(status),
                    Change::Killed(signal) => self.take_note(128 + signal),
                    Change::Stopped(signal) => Message::Stopped(signal).send(self.front),
                    Change::Continued => {}
                },
                Ok(Some(_)) => {}
            }
        }
    }

    fn take_note(&mut self, status: i32) {
        self.target = None;
        self.status = Some(status);
    }

    fn ended(&mut self, status: i32, are_left: bool) -> Result<(), LaunchError> {
        let (answer, told) = mpsc::channel();
        drop(self.events.send(Event::Ended(status, answer)));
        let status = told.recv().unwrap_or(status);
        give_up_streams(Streams::Errors)?;
        let message = if are_left {
            Message::Ended(status)
        } else {
            Message::Over(status)
        };
        message.send(self.front);
        Ok(())
    }
}
