//! The answers that need no decision: a call that could not be looked at, one that is refused under every policy, and how a
//! refusal is told.

use std::sync::PoisonError;

use super::calls::{Call, Kind};
use super::consider::{Case, failed};
use super::decide::{Reason, Refusal, Which};
use super::receive::{Backing, Reply, Supervisor, Voice};
use super::report::{Found, describe};
use super::target::{Trouble, UserNamespace};
use super::territory::Territory;
use crate::record::{Answer, Operation};
use crate::sys::Errno;

/// What a process must be able to do (CAP_DAC_OVERRIDE) for a call that is always refused to be worth a word: without it
/// most of them fail anyway, and programs try them to find out what they may do.
const PRIVILEGED: u64 = 1 << 1;

impl Supervisor {
    /// The surroundings of what a call is about cannot be looked at.
    pub(super) fn unclear(&self, case: &Case<'_>, trouble: Trouble) -> Reply {
        let blind = || self.refuse_blind(case, Reason::Unknown, None);
        trouble.exhausted().map_or_else(blind, failed)
    }

    pub(super) fn troubled(&self, case: &Case<'_>, trouble: Trouble) -> Reply {
        if let Some(errno) = trouble.exhausted() {
            return failed(errno);
        }
        let target = case.observer.target;
        let walled = case.call.kind.is_checked_by_landlock() && self.backing == Backing::Wall;
        match trouble {
            // Not left to the kernel, which may see it differently by now, or by means that we do not have: the wall knows
            // nothing of old hard links and of settings of the kernel.
            Trouble::Fault(errno @ (Errno::EACCES | Errno::EPERM))
                if !walled || target.user_namespace() == UserNamespace::Another =>
            {
                Reply::Result(Err(errno))
            }
            // Some file systems ask for more of a user than we can take on.
            Trouble::Fault(Errno::EACCES | Errno::EPERM) => Reply::Continue,
            Trouble::Unreadable if walled => {
                self.note_unreadable(case);
                Reply::Continue
            }
            Trouble::Fault(errno) => Reply::Result(Err(errno)),
            Trouble::Unreadable => self.refuse_blind(case, Reason::Unreadable, None),
            Trouble::Own(Errno::EPERM) => self.refuse_blind(case, Reason::Credentials, None),
            Trouble::Foreign => self.refuse_blind(case, Reason::Unknown, None),
            Trouble::Replaced | Trouble::Own(_) => {
                tracing::warn!(%trouble, call = case.call.name, "could not look at a call");
                self.refuse_blind(case, Reason::Unknown, None)
            }
        }
    }

    fn note_unreadable(&self, case: &Case<'_>) {
        let target = case.observer.target;
        let pid = target.status().map_or(target.tid, |status| status.tgid);
        let mut known = self
            .unreadable
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if known.insert(pid) {
            drop(known);
            let refusal = blind(case.call, Reason::Unreadable);
            self.tell(
                case,
                &self.territory(),
                &refusal,
                None,
                Answer::LeftToWall,
                Errno::EACCES,
            );
        }
    }

    pub(super) fn forbidden(&self, case: &Case<'_>) -> Reply {
        let effective = case
            .observer
            .target
            .status()
            .map_or(0, |status| status.effective);
        if case.call.kind == Kind::Forbidden && effective & PRIVILEGED == 0 {
            return Reply::Result(Err(Errno::EPERM));
        }
        let refusal = Refusal {
            operation: Operation::Forbidden,
            spot: Which::First,
            rule: None,
            reason: Reason::Forbidden,
        };
        self.refuse(case, &self.territory(), &refusal, None, Errno::EPERM)
    }

    /// Refuses what could not be looked at. Where the caller has been killed meanwhile nobody is refused anything.
    pub(super) fn refuse_blind(
        &self,
        case: &Case<'_>,
        reason: Reason,
        found: Option<Found>,
    ) -> Reply {
        if !self.listener.is_waiting(case.id) {
            return Reply::Nothing;
        }
        let refusal = blind(case.call, reason);
        self.refuse(case, &self.territory(), &refusal, found, Errno::EACCES)
    }

    pub(super) fn refuse(
        &self,
        case: &Case<'_>,
        territory: &Territory,
        refusal: &Refusal,
        found: Option<Found>,
        errno: Errno,
    ) -> Reply {
        self.tell(case, territory, refusal, found, Answer::Refused, errno);
        Reply::Result(Err(errno))
    }

    fn tell(
        &self,
        case: &Case<'_>,
        territory: &Territory,
        refusal: &Refusal,
        found: Option<Found>,
        answer: Answer,
        errno: Errno,
    ) {
        let attempt = describe(
            territory.plan(),
            &case.observer,
            case.call,
            refusal,
            found,
            answer,
            errno,
        );
        match case.scopes.last() {
            None => (self.refused)(attempt, Voice::Here),
            Some(inner) => {
                (self.refused)(attempt.clone(), Voice::Inner);
                for scope in &case.scopes[..case.scopes.len() - 1] {
                    (scope.refused)(attempt.clone(), Voice::Inner);
                }
                (inner.refused)(attempt, Voice::Here);
            }
        }
    }
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
