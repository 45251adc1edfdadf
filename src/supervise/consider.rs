//! Considering one call: observe, decide under every plan that holds for its caller, and refuse, perform or let go on.

use std::sync::Arc;

use super::acting::CAP_SYS_PTRACE;
use super::aftermath::{made, note};
use super::attempt::Action;
use super::calls::{Architecture, Call, Kind};
use super::decide::{Decision, Reason, Refusal, Which};
use super::judge::{Verdict, judge, strictest};
use super::limits::length_allowed;
use super::observe::Observer;
use super::perform::{Exactly, Outcome, perform, take};
use super::quick;
use super::receive::{Backing, Reply, Supervisor, Who};
use super::report::Found;
use super::resolve::Object;
use super::scopes::Scope;
use super::target::{Target, Trouble, UserNamespace};
use super::territory::Territory;
use super::tree::{Held, Share};
use crate::policy::Level;
use crate::record::Operation;
use crate::sys::seccomp::Notification;
use crate::sys::{Errno, clock, file};

/// How often a call is looked at again because somebody outside made or removed what it is about.
const MOST_LOOKS: usize = 64;

/// How often it is looked at before nothing may be moved meanwhile.
const FREE_LOOKS: usize = 4;

/// What of the target a job needs beside its credentials.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    /// Nothing.
    Nothing,
    /// To see into its memory and descriptors, whoever it has become; nothing is opened that way but places.
    Looking,
    /// Its umask.
    Umask,
}

/// A call under consideration.
pub(super) struct Case<'a> {
    /// Which notification it is.
    pub(super) id: u64,
    pub(super) call: &'static Call,
    pub(super) observer: Observer<'a>,
    /// The inner guards that have a say.
    pub(super) scopes: Vec<Arc<Scope>>,
    /// Every plan that has a say, our own first.
    territories: Vec<Arc<Territory>>,
}

impl Case<'_> {
    /// What every plan says.
    ///
    /// # Errors
    /// When the surroundings cannot be looked at.
    fn verdicts(&self, action: &Action) -> Result<Vec<Verdict<'_>>, Trouble> {
        let all = self.territories.iter();
        all.map(|territory| judge(territory, action).map_err(Trouble::Own))
            .collect()
    }
}

impl Supervisor {
    /// What a call is to be answered.
    pub(super) fn consider(&self, notification: &Notification) -> Reply {
        for looks in 0..MOST_LOOKS {
            match self.look(notification, looks) {
                Reply::Performed(Outcome::Again) => {}
                reply => return reply,
            }
        }
        Reply::Result(Err(Errno::EAGAIN))
    }

    fn look(&self, notification: &Notification, looks: usize) -> Reply {
        let absent = Reply::Result(Err(Errno::ENOSYS));
        let Some(architecture) = Architecture::from_audit(notification.architecture) else {
            return absent;
        };
        let Some(call) = Call::find(architecture, notification.number) else {
            return absent;
        };
        if let Kind::Execute(dir, path) = call.kind {
            if let Some(privileged) = &self.privileged {
                privileged.look(notification, dir, path);
            }
            return Reply::Continue;
        }
        let target = match Target::new(notification.tid as i32, architecture) {
            Ok(target) => target,
            Err(trouble) => return trouble.exhausted().map_or(absent, failed),
        };
        let scopes = self.scopes.of(target.tid);
        if call.kind == Kind::Restrict && self.note_wall(&target, &scopes).is_err() {
            return Reply::Result(Err(Errno::EPERM));
        }
        self.look_for_workspace(&target);
        let inner = scopes.iter().map(|scope| Arc::clone(&scope.territory));
        let territories = std::iter::once(self.territory()).chain(inner).collect();
        let mut case = Case {
            id: notification.id,
            call,
            observer: Observer {
                target: &target,
                arguments: notification.arguments,
                asked: Vec::new(),
            },
            scopes,
            territories,
        };
        let granted = |territory: &Arc<Territory>| {
            quick::is_granted(territory, &target, call, &notification.arguments)
        };
        if self.backing == Backing::Wall && case.territories.iter().all(granted) {
            return Reply::Continue;
        }
        let share = share(call);
        let early: Option<Held<'_>> = (looks >= FREE_LOOKS).then(|| self.tree.hold(share));
        let looking = self.tree.look();
        let observed = self.as_target(&target, Needs::Looking, || case.observer.observe(call));
        let Some(_tree) = early.or_else(|| self.tree.settle(&looking, share)) else {
            return Reply::Performed(Outcome::Again);
        };
        if !self.listener.is_waiting(notification.id) {
            return Reply::Nothing;
        }
        match observed {
            Ok(action) => self.settle(&case, &action),
            Err(trouble) => self.troubled(&case, trouble),
        }
    }

    /// Takes note of a process that puts a wall on itself, unless it is that of an inner guard, whose plan is known.
    fn note_wall(&self, target: &Target, scopes: &[Arc<Scope>]) -> Result<(), Trouble> {
        let parent = target.status()?.parent;
        if scopes.iter().any(|scope| scope.takes_wall(parent)) {
            return Ok(());
        }
        self.walls.note(target)
    }

    /// Runs `job` with the target's credentials.
    pub(super) fn as_target<T>(
        &self,
        target: &Target,
        needs: Needs,
        job: impl FnOnce() -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        if needs != Needs::Umask && self.who == Who::AlwaysUs {
            return job();
        }
        let status = target.status()?;
        let kept = if needs == Needs::Looking {
            CAP_SYS_PTRACE
        } else {
            0
        };
        let _acting = self.own.act_as(target, status, kept)?;
        if needs == Needs::Umask {
            file::set_umask(status.umask);
        }
        job()
    }

    fn settle(&self, case: &Case<'_>, action: &Action) -> Reply {
        match action {
            Action::Pass => return Reply::Continue,
            Action::Nothing => return Reply::Result(Ok(0)),
            Action::Forbidden => return self.forbidden(case),
            _ => {}
        }
        let mut verdicts = match case.verdicts(action) {
            Ok(verdicts) => verdicts,
            Err(trouble) => return self.unclear(case, trouble),
        };
        if verdicts.iter().any(Verdict::depends_on_made) {
            // What it is about may have been made a moment ago.
            self.makers.wait();
            match case.verdicts(action) {
                Ok(again) => verdicts = again,
                Err(trouble) => return self.unclear(case, trouble),
            }
        }
        let Some(verdict) = strictest(&verdicts) else {
            return self.refuse_blind(case, Reason::Unknown, None);
        };
        match &verdict.decision {
            Decision::Continue => Reply::Continue,
            Decision::Fail(errno) => Reply::Result(Err(*errno)),
            Decision::Perform
                if case.call.kind.is_checked_by_landlock()
                    && self.walls.may_hold(case.observer.target, self.command) =>
            {
                // Its own wall might refuse this, and ours does.
                match self.backing {
                    Backing::Wall => Reply::Continue,
                    Backing::Nothing => Reply::Result(Err(Errno::EACCES)),
                }
            }
            Decision::Perform => self.perform(case, action, &verdicts),
            Decision::Refuse(refusal) if fails_anyway(case.observer.target, refusal) => {
                Reply::Result(Err(Errno::EPERM))
            }
            Decision::Refuse(refusal) => {
                let facts = if refusal.spot == Which::Second {
                    &verdict.second
                } else {
                    &verdict.first
                };
                let found = facts.as_ref().and_then(Found::of);
                self.refuse(case, verdict.territory, refusal, found, Errno::EACCES)
            }
        }
    }

    fn perform(&self, case: &Case<'_>, action: &Action, verdicts: &[Verdict<'_>]) -> Reply {
        let found = verdicts
            .iter()
            .find_map(|verdict| Found::of(verdict.first.as_ref()?));
        // There some files are the run's own, and others are not.
        let exactly = if [Level::AddOnly, Level::AppendOnly]
            .iter()
            .any(|level| verdicts.iter().any(|verdict| verdict.is_at(*level)))
        {
            Exactly::TheObject
        } else {
            Exactly::TheName
        };
        if let Some(search) = &self.search
            && verdicts
                .iter()
                .any(|verdict| verdict.moves_what_existed(action))
        {
            search.end(); // before anything has moved: what is found meanwhile is not taken
        }
        let making = action.creates().then(|| self.makers.start());
        let tick = clock::last_tick().unwrap_or(i64::MAX);
        let target = case.observer.target;
        let steady = |dir: &Object| {
            case.territories
                .iter()
                .all(|territory| territory.is_steady(dir))
        };
        let needs = if action.makes() {
            Needs::Umask
        } else {
            Needs::Nothing
        };
        let done = take(target, action).and_then(|taken| {
            self.as_target(target, needs, || {
                if let Some((spot, length)) = action.length()
                    && let Some(file) = spot.object()
                {
                    length_allowed(target, file, length)?;
                }
                perform(action, taken.as_ref(), exactly, &steady)
            })
        });
        if let Action::Rename(from, to, _) = action
            && [from, to]
                .iter()
                .any(|spot| spot.object().is_some_and(Object::is_dir))
        {
            case.territories
                .iter()
                .for_each(|territory| territory.forget());
        }
        if let Ok(outcome) = &done {
            let made = made(action, outcome, tick);
            verdicts
                .iter()
                .for_each(|verdict| note(verdict, action, made.as_ref()));
        }
        drop(making);
        match done {
            Ok(outcome) => Reply::Performed(outcome),
            Err(Trouble::Fault(errno)) => Reply::Result(Err(errno)),
            Err(Trouble::Replaced) => Reply::Performed(Outcome::Again),
            Err(Trouble::Unreadable) => self.refuse_blind(case, Reason::Unreadable, found),
            Err(trouble @ (Trouble::Foreign | Trouble::Own(_))) => match trouble.exhausted() {
                Some(errno) => failed(errno),
                None => self.refuse_blind(case, Reason::Credentials, found),
            },
        }
    }
}

pub(super) fn failed(errno: Errno) -> Reply {
    Reply::Result(Err(errno))
}

/// What a call needs of others.
fn share(call: &Call) -> Share {
    match call.kind {
        Kind::Rename(..) | Kind::Bind | Kind::Socketcall => Share::Alone,
        _ => Share::Together,
    }
}

/// Whether the kernel would not let the target make a block device either (fs/namei.c: vfs_mknod); programs try.
fn fails_anyway(target: &Target, refusal: &Refusal) -> bool {
    const CAP_MKNOD: u64 = 1 << 27;
    let capable = |target: &Target| {
        target
            .status()
            .is_ok_and(|status| status.effective & CAP_MKNOD != 0)
    };
    refusal.reason == Reason::BlockDevice
        && refusal.operation == Operation::Create
        && (target.user_namespace() == UserNamespace::Another || !capable(target))
}
