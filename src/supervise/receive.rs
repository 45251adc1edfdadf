//! The loop: threads that each receive a call, consider it, and answer.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::acting::{Own, prepare_thread};
use super::aftermath::Makers;
use super::calls::Architecture;
use super::perform::Outcome;
use super::privileged::Privileged;
use super::scopes::Scopes;
use super::target::{Target, Trouble};
use super::territory::Territory;
use super::tree::Tree;
use super::wait::Waits;
use super::walls::Walls;
use super::workspace::Search;
use crate::record::Attempt;
use crate::sys::Errno;
use crate::sys::seccomp::{Listener, Notification};

/// What stands behind the supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backing {
    /// The wall: letting the kernel go on grants nothing.
    Wall,
    /// Nothing (`--best-effort`): what cannot be judged is refused.
    Nothing,
}

/// Who is told of what the record keeps.
pub type Sink = Box<dyn Fn(Attempt, Voice) + Send + Sync>;

/// Whose words about an attempt people read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Voice {
    /// This guard's.
    Here,
    /// Those of a guard that runs inside this one: its standard error is where the command's caller looks.
    Inner,
}

const MOST_RECEIVERS: u64 = 64;
/// Descriptors that a receiver may hold at once: the folders of procfs that it remembers, and what a call is about.
const DESCRIPTORS: u64 = 32;

/// The supervisor of one run.
pub struct Supervisor {
    pub(super) listener: Listener,
    pub(super) territory: RwLock<Arc<Territory>>,
    pub(super) search: Option<Search>,
    pub(super) privileged: Option<Privileged>,
    pub(super) scopes: Scopes,
    pub(super) own: Own,
    pub(super) who: Who,
    pub(super) backing: Backing,
    pub(super) refused: Sink,
    /// Held while a call is decided and performed.
    pub(super) tree: Tree,
    /// Those who are making something.
    pub(super) makers: Makers,
    /// Processes of which it has been said that they cannot be looked into.
    pub(super) unreadable: Mutex<HashSet<i32>>,
    /// Processes that have put a wall of their own on themselves.
    pub(super) walls: Walls,
    /// The command's own process.
    pub(super) command: i32,
    /// Opens that have to wait.
    pub(super) waits: Waits,
    receivers: AtomicUsize,
    most_receivers: usize,
    busy: AtomicUsize,
}

/// What is looked for besides what is decided; each tells of it in words.
pub struct Lookouts {
    /// A workspace.
    pub workspace: Option<Search>,
    /// Programs that would gain rights.
    pub privileged: Option<Privileged>,
}

/// As whom the processes of a run can act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    /// As the supervisor's own user for ever: it may not become another one, and they gain nothing by executing.
    AlwaysUs,
    /// As others.
    Others,
}

/// What a call is answered.
pub(super) enum Reply {
    /// The kernel goes on.
    Continue,
    /// This.
    Result(Result<i64, Errno>),
    /// What came of doing it.
    Performed(Outcome),
    /// Its caller does not wait any more.
    Nothing,
}

impl Supervisor {
    /// Makes one for what process `command` and its descendants do. `refused` is told of an attempt before its caller is
    /// answered; `most_receivers` as [`Supervisor::receivers_for`] has it.
    ///
    /// # Errors
    /// When its own credentials cannot be read.
    pub fn new(
        listener: Listener,
        territory: Territory,
        backing: Backing,
        command: i32,
        refused: Sink,
        lookouts: Lookouts,
        most_receivers: usize,
    ) -> Result<Arc<Self>, Trouble> {
        let own = Own::read()?;
        let target = Target::new(command, Architecture::NATIVE[0])?;
        let who = if !own.can_change() && target.status()?.no_new_privileges {
            Who::AlwaysUs
        } else {
            Who::Others
        };
        Ok(Arc::new(Self {
            listener,
            territory: RwLock::new(Arc::new(territory)),
            search: lookouts.workspace,
            privileged: lookouts.privileged,
            scopes: Scopes::default(),
            own,
            who,
            backing,
            refused,
            tree: Tree::default(),
            makers: Makers::default(),
            unreadable: Mutex::default(),
            walls: Walls::default(),
            command,
            waits: Waits::default(),
            receivers: AtomicUsize::new(0),
            most_receivers,
            busy: AtomicUsize::new(0),
        }))
    }

    /// How many calls can be looked at at once with so many descriptors; none when not even one.
    #[must_use]
    pub fn receivers_for(descriptors: u64) -> Option<usize> {
        let receivers = (descriptors / DESCRIPTORS).saturating_sub(1);
        (receivers > 0).then_some(receivers.min(MOST_RECEIVERS) as usize)
    }

    /// What is protected.
    #[must_use]
    pub fn territory(&self) -> Arc<Territory> {
        let territory = self
            .territory
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&territory)
    }

    /// Starts the first receiver. More follow as calls come in while all are busy.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start(self: &Arc<Self>) -> std::io::Result<()> {
        let supervisor = Arc::clone(self);
        self.receivers.fetch_add(1, Ordering::SeqCst);
        let thread = std::thread::Builder::new()
            .name("receiver".into())
            .spawn(move || supervisor.receive());
        if thread.is_err() {
            self.receivers.fetch_sub(1, Ordering::SeqCst); // another time there may be one
        }
        thread.map(drop)
    }

    fn receive(self: Arc<Self>) {
        let _receiving = Receiving(&self);
        if let Err(error) = prepare_thread() {
            tracing::error!(%error, "a receiver has no umask of its own");
            return;
        }
        loop {
            match self.listener.receive() {
                Ok(notification) => {
                    let busy = self.busy.fetch_add(1, Ordering::SeqCst) + 1;
                    let receivers = self.receivers.load(Ordering::SeqCst);
                    if busy >= receivers && receivers < self.most_receivers {
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
            Reply::Performed(Outcome::Again) => self.listener.answer(id, Err(Errno::EAGAIN)),
            Reply::Performed(Outcome::Waits(object, how)) => {
                self.wait_elsewhere(notification, object, how);
                Ok(())
            }
        };
        if let Err(error) = sent {
            tracing::debug!(%error, tid = notification.tid, "the caller is gone");
        }
    }
}

/// A receiver, for as long as it is one.
struct Receiving<'a>(&'a Supervisor);

impl Drop for Receiving<'_> {
    fn drop(&mut self) {
        let left = self.0.receivers.fetch_sub(1, Ordering::SeqCst) - 1;
        if std::thread::panicking() || left == 0 && !self.0.listener.is_over() {
            // Callers would wait for ever. Without a supervisor they get an answer, and the wall holds.
            std::process::abort();
        }
    }
}
