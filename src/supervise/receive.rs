//! The loop: threads that each receive a call, consider it, and answer.

use std::collections::HashSet;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use super::acting::{Own, prepare_thread};
use super::attempt::{Action, Binding, Observer, exchange};
use super::calls::{Architecture, Call, Kind};
use super::decide::{Decision, Reason, Refusal, Which, decide, decide_link, decide_rename};
use super::perform::{Outcome, perform};
use super::quick;
use super::report::describe;
use super::resolve::Spot;
use super::target::{Status, Target, Trouble};
use super::territory::{Facts, Territory};
use crate::record::{Answer, Attempt, Operation};
use crate::sys::file::{self, OpenHow};
use crate::sys::seccomp::{Listener, Notification};
use crate::sys::{Errno, descriptor};

/// What stands behind the supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backing {
    /// The wall: letting the kernel go on grants nothing.
    Wall,
    /// Nothing (`--best-effort`): what cannot be judged is refused.
    Nothing,
}

/// Who is told of what the record keeps.
pub type Sink = Box<dyn Fn(Attempt) + Send + Sync>;

const MOST_RECEIVERS: usize = 64;
const NOBODY: u64 = 1 << 1; // CAP_DAC_OVERRIDE: what a process must have for a forbidden call to be worth a word

/// The supervisor of one run.
pub struct Supervisor {
    listener: Listener,
    territory: Territory,
    own: Own,
    backing: Backing,
    refused: Sink,
    /// Held for reading while a call is looked at and performed, for writing by moves and by what spells a path again.
    tree: RwLock<()>,
    /// Processes of which it has been said that they cannot be looked into.
    unreadable: Mutex<HashSet<i32>>,
    receivers: AtomicUsize,
    busy: AtomicUsize,
}

enum Tree<'a> {
    Shared(#[allow(dead_code, reason = "held, not read")] RwLockReadGuard<'a, ()>),
    Alone(#[allow(dead_code, reason = "held, not read")] RwLockWriteGuard<'a, ()>),
}

enum Reply {
    Continue,
    Result(Result<i64, Errno>),
    Performed(Outcome),
    Nothing,
}

impl Supervisor {
    /// Makes one. `refused` is told of an attempt before its caller is answered.
    ///
    /// # Errors
    /// When its own credentials cannot be read.
    pub fn new(
        listener: Listener,
        territory: Territory,
        backing: Backing,
        refused: Sink,
    ) -> Result<Arc<Self>, Trouble> {
        Ok(Arc::new(Self {
            listener,
            territory,
            own: Own::read()?,
            backing,
            refused,
            tree: RwLock::new(()),
            unreadable: Mutex::default(),
            receivers: AtomicUsize::new(0),
            busy: AtomicUsize::new(0),
        }))
    }

    /// Starts the first receiver. More follow as calls come in while all are busy.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start(self: &Arc<Self>) -> std::io::Result<()> {
        let supervisor = Arc::clone(self);
        self.receivers.fetch_add(1, Ordering::SeqCst);
        std::thread::Builder::new()
            .name("receiver".into())
            .spawn(move || supervisor.receive())
            .map(drop)
    }

    fn receive(self: Arc<Self>) {
        if let Err(error) = prepare_thread() {
            tracing::error!(%error, "a receiver has no umask of its own");
            return;
        }
        loop {
            match self.listener.receive() {
                Ok(notification) => {
                    let busy = self.busy.fetch_add(1, Ordering::SeqCst) + 1;
                    let receivers = self.receivers.load(Ordering::SeqCst);
                    if busy >= receivers && receivers < MOST_RECEIVERS {
                        // Without another thread the rest waits for this one; that is slow, not wrong.
                        let _ = self.start();
                    }
                    self.handle(&notification);
                    self.busy.fetch_sub(1, Ordering::SeqCst);
                }
                Err(Errno::ENOENT) if self.listener.is_over() => return,
                Err(Errno::ENOENT | Errno::EINTR) => {}
                Err(error) => {
                    tracing::error!(%error, "the listener is gone");
                    return;
                }
            }
        }
    }

    fn handle(self: &Arc<Self>, notification: &Notification) {
        let id = notification.id;
        let reply = self.consider(notification);
        let sent = match reply {
            Reply::Nothing => Ok(()),
            Reply::Continue => self.listener.answer_continue(id),
            Reply::Result(result) => self.listener.answer(id, result),
            Reply::Performed(Outcome::Value(value)) => self.listener.answer(id, Ok(value)),
            Reply::Performed(Outcome::Descriptor(fd, flags)) => {
                match self.listener.answer_descriptor(id, fd, flags) {
                    Err(error) if error != Errno::ENOENT => self.listener.answer(id, Err(error)),
                    other => other,
                }
            }
            Reply::Performed(Outcome::NobodyReads(name, dir, how)) => {
                self.wait_for_reader(notification, name, dir, how);
                Ok(())
            }
        };
        if let Err(error) = sent {
            tracing::debug!(%error, tid = notification.tid, "the caller is gone");
        }
    }

    fn consider(&self, notification: &Notification) -> Reply {
        let Some(architecture) = Architecture::from_audit(notification.architecture) else {
            return Reply::Result(Err(Errno::ENOSYS));
        };
        let Some(call) = Call::find(architecture, notification.number) else {
            return Reply::Result(Err(Errno::ENOSYS));
        };
        let Ok(target) = Target::new(notification.tid as i32, architecture) else {
            return Reply::Result(Err(Errno::ENOSYS));
        };
        let mut observer = Observer {
            target: &target,
            arguments: notification.arguments,
            asked: Vec::new(),
        };
        if self.backing == Backing::Wall
            && quick::is_granted(&self.territory, &target, call, &notification.arguments)
        {
            return Reply::Continue;
        }
        let _tree = self.hold_tree(call);
        let observed = self.as_target(&target, Needs::Nothing, || observer.observe(call));
        if !self.listener.is_waiting(notification.id) {
            return Reply::Nothing;
        }
        match observed {
            Ok(action) => self.settle(call, &observer, &action),
            Err(trouble) => self.troubled(call, &observer, trouble),
        }
    }

    fn hold_tree(&self, call: &Call) -> Tree<'_> {
        if matches!(call.kind, Kind::Rename(..) | Kind::Bind | Kind::Socketcall) {
            Tree::Alone(self.tree.write().unwrap_or_else(PoisonError::into_inner))
        } else {
            Tree::Shared(self.tree.read().unwrap_or_else(PoisonError::into_inner))
        }
    }

    /// Runs `job` with the target's credentials.
    fn as_target<T>(
        &self,
        target: &Target,
        needs: Needs,
        job: impl FnOnce() -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        if needs == Needs::Nothing && !self.own.can_change() {
            return job();
        }
        let status = target.status()?;
        let _acting = self.own.act_as(target, &status)?;
        if needs == Needs::Umask {
            file::set_umask(status.umask);
        }
        job()
    }

    fn settle(&self, call: &Call, observer: &Observer<'_>, action: &Action) -> Reply {
        match action {
            Action::Pass => return Reply::Continue,
            Action::Nothing => return Reply::Result(Ok(0)),
            Action::Forbidden => return self.forbidden(call, observer),
            _ => {}
        }
        let (decision, first, second) = match self.decide(action) {
            Ok(decided) => decided,
            Err(_) => {
                let refusal = blind(call, Reason::Unknown);
                return self.refuse(call, observer, &refusal, None, Errno::EACCES);
            }
        };
        match decision {
            Decision::Continue => Reply::Continue,
            Decision::Fail(errno) => Reply::Result(Err(errno)),
            Decision::Refuse(refusal) => {
                let facts = if refusal.spot == Which::Second {
                    second.as_ref()
                } else {
                    first.as_ref()
                };
                let path = facts.and_then(|facts| facts.path.clone());
                self.refuse(call, observer, &refusal, path, Errno::EACCES)
            }
            Decision::Perform => {
                let done = self.as_target(observer.target, Needs::Umask, || {
                    perform(observer.target, action, &self.territory)
                });
                if let Action::Rename(from, to, _) = action
                    && [from, to]
                        .iter()
                        .any(|spot| spot.object().is_some_and(super::resolve::Object::is_dir))
                {
                    self.territory.forget();
                }
                match done {
                    Ok(outcome) => Reply::Performed(outcome),
                    Err(Trouble::Fault(errno)) => Reply::Result(Err(errno)),
                    Err(Trouble::Unreadable) => {
                        let refusal = blind(call, Reason::Unreadable);
                        self.refuse(
                            call,
                            observer,
                            &refusal,
                            first.and_then(|facts| facts.path),
                            Errno::EACCES,
                        )
                    }
                    Err(Trouble::Foreign | Trouble::Own(_)) => {
                        let refusal = blind(call, Reason::Credentials);
                        self.refuse(
                            call,
                            observer,
                            &refusal,
                            first.and_then(|facts| facts.path),
                            Errno::EACCES,
                        )
                    }
                }
            }
        }
    }

    fn decide(&self, action: &Action) -> Result<(Decision, Option<Facts>, Option<Facts>), Errno> {
        let look = |spot: &Spot| self.territory.facts(spot);
        match action {
            Action::Rename(Spot::Entry(from), Spot::Entry(to), flags) => {
                let (source, destination) =
                    (self.territory.entry(from)?, self.territory.entry(to)?);
                let fills = match (&from.object, &destination.path) {
                    (Some(object), Some(path)) if object.is_dir() => {
                        self.territory.would_fill(object, path)
                    }
                    _ => None,
                };
                let back = match (&to.object, &source.path) {
                    (Some(object), Some(path))
                        if object.is_dir() && flags & libc::RENAME_EXCHANGE != 0 =>
                    {
                        self.territory.would_fill(object, path)
                    }
                    _ => None,
                };
                let decision =
                    decide_rename(exchange(*flags), &source, &destination, fills.or(back));
                Ok((decision, Some(source), Some(destination)))
            }
            Action::Link(from, Spot::Entry(to)) => {
                let (source, destination) = (look(from)?, self.territory.entry(to)?);
                Ok((
                    decide_link(&source, &destination),
                    Some(source),
                    Some(destination),
                ))
            }
            Action::Open(spot, _) | Action::Truncate(spot, _) | Action::Change(spot, _) => {
                self.one(action, spot)
            }
            Action::Unlink(spot @ Spot::Entry(_), _)
            | Action::Symlink(_, spot @ Spot::Entry(_))
            | Action::Mkdir(spot @ Spot::Entry(_), _)
            | Action::Mknod(spot @ Spot::Entry(_), _, _)
            | Action::Bind(Binding {
                spot: spot @ Spot::Entry(_),
                ..
            }) => self.one(action, spot),
            Action::OpenNameless(dir, _) => {
                let dir = Spot::Held(dir.duplicate()?);
                self.one(action, &dir)
            }
            // A path that ends in `.`, `..` or `/` cannot be made, removed or moved: the kernel says how.
            Action::Rename(..)
            | Action::Link(..)
            | Action::Unlink(..)
            | Action::Symlink(..)
            | Action::Mkdir(..)
            | Action::Mknod(..)
            | Action::Bind(..)
            | Action::Pass
            | Action::Nothing
            | Action::Forbidden => Ok((Decision::Continue, None, None)),
        }
    }

    fn one(
        &self,
        action: &Action,
        spot: &Spot,
    ) -> Result<(Decision, Option<Facts>, Option<Facts>), Errno> {
        let facts = self.territory.facts(spot)?;
        let decision = action
            .intent()
            .map_or(Decision::Fail(Errno::ENOSYS), |intent| {
                decide(intent, &facts)
            });
        Ok((decision, Some(facts), None))
    }

    fn troubled(&self, call: &Call, observer: &Observer<'_>, trouble: Trouble) -> Reply {
        let walled = call.kind.is_checked_by_landlock() && self.backing == Backing::Wall;
        let leave = walled && !self.territory.plan().has_strict_globs();
        match trouble {
            Trouble::Fault(_) if leave => Reply::Continue,
            Trouble::Fault(errno) => Reply::Result(Err(errno)),
            Trouble::Unreadable if leave => {
                self.note_unreadable(call, observer);
                Reply::Continue
            }
            Trouble::Foreign if leave => Reply::Continue,
            Trouble::Unreadable => self.refuse(
                call,
                observer,
                &blind(call, Reason::Unreadable),
                None,
                Errno::EACCES,
            ),
            Trouble::Foreign => self.refuse(
                call,
                observer,
                &blind(call, Reason::Unknown),
                None,
                Errno::EACCES,
            ),
            Trouble::Own(Errno::EPERM) => self.refuse(
                call,
                observer,
                &blind(call, Reason::Credentials),
                None,
                Errno::EACCES,
            ),
            Trouble::Own(error) => {
                tracing::warn!(%error, call = call.name, "could not look at a call");
                self.refuse(
                    call,
                    observer,
                    &blind(call, Reason::Unknown),
                    None,
                    Errno::EACCES,
                )
            }
        }
    }

    fn note_unreadable(&self, call: &Call, observer: &Observer<'_>) {
        let pid = observer
            .target
            .status()
            .map_or(observer.target.tid, |status| status.tgid);
        let mut known = self
            .unreadable
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if known.insert(pid) {
            drop(known);
            self.tell(
                call,
                observer,
                &blind(call, Reason::Unreadable),
                None,
                Answer::LeftToWall,
                Errno::EACCES,
            );
        }
    }

    fn forbidden(&self, call: &Call, observer: &Observer<'_>) -> Reply {
        let refusal = Refusal {
            operation: Operation::Forbidden,
            spot: Which::First,
            rule: None,
            reason: Reason::Forbidden,
        };
        // Without privilege most of these fail anyway; programs try them to find out what they may do.
        let status = observer.target.status().unwrap_or_default();
        if call.kind == Kind::Forbidden && status.effective & NOBODY == 0 {
            return Reply::Result(Err(Errno::EPERM));
        }
        self.refuse(call, observer, &refusal, None, Errno::EPERM)
    }

    fn refuse(
        &self,
        call: &Call,
        observer: &Observer<'_>,
        refusal: &Refusal,
        found: Option<PathBuf>,
        errno: Errno,
    ) -> Reply {
        self.tell(call, observer, refusal, found, Answer::Refused, errno);
        Reply::Result(Err(errno))
    }

    fn tell(
        &self,
        call: &Call,
        observer: &Observer<'_>,
        refusal: &Refusal,
        found: Option<PathBuf>,
        answer: Answer,
        errno: Errno,
    ) {
        let plan = self.territory.plan();
        let attempt = describe(
            plan,
            observer,
            call,
            refusal,
            found.as_deref(),
            answer,
            errno,
        );
        (self.refused)(attempt);
    }

    /// Opening a FIFO for writing waits for a reader; here that is a thread that asks again and again, so that a signal
    /// for the target or its end is noticed, and no receiver is blocked.
    fn wait_for_reader(
        self: &Arc<Self>,
        notification: &Notification,
        name: std::ffi::CString,
        dir: std::os::fd::OwnedFd,
        how: OpenHow,
    ) {
        let supervisor = Arc::clone(self);
        let notification = *notification;
        let waiter = std::thread::Builder::new()
            .name("fifo".into())
            .spawn(move || {
                supervisor.ask_for_reader(&notification, &name, dir.as_fd(), how);
            });
        if waiter.is_err() {
            let _ = self.listener.answer(notification.id, Err(Errno::ENOMEM));
        }
    }

    fn ask_for_reader(
        &self,
        notification: &Notification,
        name: &std::ffi::CStr,
        dir: std::os::fd::BorrowedFd<'_>,
        how: OpenHow,
    ) {
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
                file::open(dir, name, at_once).map_err(Trouble::Fault)
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
                Err(Trouble::Fault(Errno::ENXIO)) => {
                    if status.as_ref().is_ok_and(Status::is_interrupted) {
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

/// What of the target a job needs beside its credentials.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    Nothing,
    Umask,
}

/// A refusal of what could not be looked at.
fn blind(call: &Call, reason: Reason) -> Refusal {
    let operation = match call.kind {
        Kind::Open(..) | Kind::Openat2 | Kind::Creat | Kind::Truncate | Kind::TruncatePair => {
            Operation::Write
        }
        Kind::Unlink(..) | Kind::Rmdir | Kind::Unlinkat => Operation::Delete,
        Kind::Rename(..) => Operation::Rename,
        Kind::Link(..) => Operation::Link,
        Kind::Symlink(..) | Kind::Mkdir(..) | Kind::Mknod(..) | Kind::Bind | Kind::Socketcall => {
            Operation::Create
        }
        Kind::Forbidden | Kind::Absent => Operation::Forbidden,
        _ => Operation::Metadata,
    };
    Refusal {
        operation,
        spot: Which::First,
        rule: None,
        reason,
    }
}
