//! Opens that have to wait: for a reader of a FIFO, or for whoever holds a lease.
//!
//! One thread asks for all of them again and again, so that a signal for a target or its end is noticed, and no receiver
//! is blocked. It asks for the very object that was decided on: its name may mean something else by now.

use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::calls::Architecture;
use super::consider::Needs;
use super::perform::open_held;
use super::receive::Supervisor;
use super::resolve::Object;
use super::target::{Target, Trouble};
use crate::sys::file::OpenHow;
use crate::sys::seccomp::Notification;
use crate::sys::{Errno, descriptor};

const SHORTEST: Duration = Duration::from_micros(200);
const LONGEST: Duration = Duration::from_millis(10);

/// An open that waits.
struct Waiting {
    notification: Notification,
    object: Object,
    how: OpenHow,
}

/// All of them.
#[derive(Default)]
pub(super) struct Waits(Mutex<Queue>);

#[derive(Default)]
struct Queue {
    new: Vec<Waiting>,
    asked: Asked,
}

/// Whether there is a thread that asks.
#[derive(Default, PartialEq, Eq)]
enum Asked {
    #[default]
    Nobody,
    Somebody,
}

/// What came of asking once.
enum Turn {
    Answered,
    Again(Waiting),
}

impl Supervisor {
    /// Answers later.
    pub(super) fn wait_elsewhere(
        self: &Arc<Self>,
        notification: &Notification,
        object: Object,
        how: OpenHow,
    ) {
        let mut queue = self.waits.0.lock().unwrap_or_else(PoisonError::into_inner);
        queue.new.push(Waiting {
            notification: *notification,
            object,
            how,
        });
        if queue.asked == Asked::Somebody {
            return;
        }
        let supervisor = Arc::clone(self);
        let thread = std::thread::Builder::new()
            .name("waiter".into())
            .spawn(move || supervisor.ask_for_all());
        match thread {
            Ok(_) => queue.asked = Asked::Somebody,
            Err(_) => {
                queue.new.pop();
                let _ = self.listener.answer(notification.id, Err(Errno::ENOMEM));
            }
        }
    }

    fn ask_for_all(&self) {
        let mut waiting: Vec<Waiting> = Vec::new();
        let mut pause = SHORTEST;
        loop {
            let mut queue = self.waits.0.lock().unwrap_or_else(PoisonError::into_inner);
            if !queue.new.is_empty() {
                pause = SHORTEST;
            }
            waiting.append(&mut queue.new);
            if waiting.is_empty() {
                queue.asked = Asked::Nobody;
                return;
            }
            drop(queue);
            let before = waiting.len();
            let turns = waiting.into_iter().map(|one| self.ask(one));
            waiting = turns
                .filter_map(|turn| match turn {
                    Turn::Answered => None,
                    Turn::Again(one) => Some(one),
                })
                .collect();
            pause = if waiting.len() < before {
                SHORTEST
            } else {
                (pause * 2).min(LONGEST)
            };
            if !waiting.is_empty() {
                std::thread::sleep(pause);
            }
        }
    }

    fn ask(&self, one: Waiting) -> Turn {
        let id = one.notification.id;
        let at_once = OpenHow {
            flags: one.how.flags | libc::O_NONBLOCK as u64,
            ..one.how
        };
        let native = Architecture::NATIVE[0];
        let Ok(target) = Target::new(one.notification.tid as i32, native) else {
            return Turn::Answered;
        };
        let interrupted = target.status().is_ok_and(|status| status.is_interrupted());
        if !self.listener.is_waiting(id) {
            return Turn::Answered;
        }
        let opened = self.as_target(&target, Needs::Nothing, || {
            open_held(&one.object, at_once).map_err(Trouble::Fault)
        });
        let sent = match opened {
            Ok(fd) => {
                let _ = descriptor::set_blocking(fd.as_fd());
                match self
                    .listener
                    .answer_descriptor(id, fd, one.how.flags as i32)
                {
                    Err(error) if error != Errno::ENOENT => self.listener.answer(id, Err(error)),
                    other => other,
                }
            }
            Err(Trouble::Fault(Errno::ENXIO | Errno::EAGAIN)) if interrupted => {
                self.listener.answer_interrupted(id)
            }
            Err(Trouble::Fault(Errno::ENXIO | Errno::EAGAIN)) => return Turn::Again(one),
            Err(Trouble::Fault(errno)) => self.listener.answer(id, Err(errno)),
            Err(_) => self.listener.answer(id, Err(Errno::EACCES)),
        };
        if let Err(error) = sent {
            tracing::debug!(%error, "the caller is gone");
        }
        Turn::Answered
    }
}
