//! Opens that have to wait: for a reader of a FIFO, or for whoever holds a lease.

use std::os::fd::AsFd;
use std::sync::Arc;
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

impl Supervisor {
    /// Opening a FIFO for writing waits for a reader, and opening a leased file for its holder; here that is a thread that
    /// asks again and again, so that a signal for the target or its end is noticed, and no receiver is blocked. It asks
    /// for the very object that was decided on: its name may mean something else by now.
    pub(super) fn wait_elsewhere(
        self: &Arc<Self>,
        notification: &Notification,
        object: Object,
        how: OpenHow,
    ) {
        let supervisor = Arc::clone(self);
        let notification = *notification;
        let waiter = std::thread::Builder::new()
            .name("waiter".into())
            .spawn(move || supervisor.ask_again(&notification, &object, how));
        if waiter.is_err() {
            let _ = self.listener.answer(notification.id, Err(Errno::ENOMEM));
        }
    }

    fn ask_again(&self, notification: &Notification, object: &Object, how: OpenHow) {
        let id = notification.id;
        let at_once = OpenHow {
            flags: how.flags | libc::O_NONBLOCK as u64,
            ..how
        };
        let mut pause = Duration::from_micros(200);
        loop {
            let Ok(target) = Target::new(notification.tid as i32, Architecture::NATIVE[0]) else {
                return;
            };
            let status = target.status();
            if !self.listener.is_waiting(id) {
                return;
            }
            let opened = self.as_target(&target, Needs::Nothing, || {
                open_held(object, at_once).map_err(Trouble::Fault)
            });
            let sent = match opened {
                Ok(fd) => {
                    let _ = descriptor::set_blocking(fd.as_fd());
                    match self.listener.answer_descriptor(id, fd, how.flags as i32) {
                        Err(error) if error != Errno::ENOENT => {
                            self.listener.answer(id, Err(error))
                        }
                        other => other,
                    }
                }
                Err(Trouble::Fault(Errno::ENXIO | Errno::EAGAIN)) => {
                    if status.as_ref().is_ok_and(|status| status.is_interrupted()) {
                        self.listener.answer_interrupted(id)
                    } else {
                        std::thread::sleep(pause);
                        pause = (pause * 2).min(Duration::from_millis(10));
                        continue;
                    }
                }
                Err(Trouble::Fault(errno)) => self.listener.answer(id, Err(errno)),
                Err(_) => self.listener.answer(id, Err(Errno::EACCES)),
            };
            if let Err(error) = sent {
                tracing::debug!(%error, "the caller is gone");
            }
            return;
        }
    }
}
