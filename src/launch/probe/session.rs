//! A process under guard's filter, and the listener at which its calls arrive.

use std::os::fd::AsFd;

use super::INNER_LIMIT;
use super::child::{Child, Socket, send};
use crate::launch::{advice, sandbox};
use crate::supervise::calls::{Architecture, Call};
use crate::supervise::filter::{self, Besides};
use crate::sys::descriptor::{self, Received};
use crate::sys::seccomp::{self, Listener, Notification};
use crate::sys::{Errno, process};
use crate::wall::NewPrivileges;

/// A process under guard's filter, and the listener at which its calls arrive.
pub struct Session {
    /// The process.
    pub child: Child,
    /// Its listener.
    pub listener: Listener,
}

impl Session {
    /// Starts a process that puts the filter into force on itself and then does `job`.
    ///
    /// # Errors
    /// Why it cannot, and what to do.
    pub fn open(job: impl FnOnce(Socket<'_>)) -> Result<Self, String> {
        let child = Child::start(INNER_LIMIT, |socket| match enter(socket) {
            Ok(()) => job(socket),
            Err(why) => send(socket, why.as_bytes()),
        })
        .map_err(|errno| format!("cannot start a process to try it: {errno}"))?;
        match child.next() {
            Ok(Received::Descriptor(listener)) => Ok(Self {
                listener: Listener::new(listener),
                child,
            }),
            Ok(Received::Bytes(why)) => Err(String::from_utf8_lossy(&why).into_owned()),
            other => Err(format!(
                "the process that installs the filter does not get ready ({other:?}): a system call filter that ends \
                 processes may be in force; start guard outside of it"
            )),
        }
    }

    /// The call that is to come.
    ///
    /// # Errors
    /// When none arrives.
    pub fn call(&self) -> Result<(Notification, &'static Call), String> {
        let lost = |errno: Errno| {
            format!("the call did not arrive at the supervisor ({errno}): use Linux 5.19 or later")
        };
        let fds = [self.listener.as_fd(), self.child.socket()];
        let [called, _] = process::wait_until(fds, self.child.deadline).map_err(lost)?;
        if !called {
            return Err(lost(Errno::ENOMSG));
        }
        let notification = self.listener.receive().map_err(lost)?;
        Architecture::from_audit(notification.architecture)
            .and_then(|architecture| Call::find(architecture, notification.number))
            .map(|call| (notification, call))
            .ok_or_else(|| lost(Errno::ENOSYS))
    }
}

/// Puts the filter in force and hands over the listener.
fn enter(socket: Socket<'_>) -> Result<(), String> {
    process::become_readable().map_err(|errno| format!("cannot be looked into: {errno}"))?;
    if sandbox::privileges() == NewPrivileges::GivenUp {
        process::give_up_new_privileges()
            .map_err(|errno| format!("cannot give up gaining privileges: {errno}"))?;
    }
    let listener = seccomp::check_sizes()
        .and_then(|()| {
            seccomp::install(&filter::assemble(Architecture::NATIVE, Besides::default()))
        })
        .map_err(advice::no_listener)?;
    descriptor::send(socket, listener.as_fd())
        .map_err(|errno| format!("cannot hand over the listener: {errno}"))
}
