//! The supervisor's process: starts the target, answers its calls, and stays until the last descendant is gone.

use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};

use nix::sys::signal::SigSet;

use super::environment::Environment;
use super::events::{Event, no_thread, notice, sink, start_observer};
use super::front::{Streams, give_up_streams};
use super::inner::{Door, Outer};
use super::message::{Layer, Message};
use super::sandbox::Sandbox;
use super::target::{Answering, Becoming};
use super::watch::Watch;
use super::{Doing, Effort, LaunchError, Observer, advice};
use crate::plan::Plan;
use crate::record::Weight;
use crate::supervise::filter::Besides;
use crate::supervise::mark::Mark;
use crate::supervise::owned::Owned;
use crate::supervise::privileged::Privileged;
use crate::supervise::territory::Territory;
use crate::supervise::workspace::{Resolve, Search};
use crate::supervise::{Backing, Lookouts, Supervisor};
use crate::sys::descriptor::{self, Received};
use crate::sys::limit::{self, Limit};
use crate::sys::seccomp::Listener;
use crate::sys::{process, signal};

/// What a supervisor's process needs.
pub struct Run {
    /// Program and arguments.
    pub command: Vec<CString>,
    /// What it finds in its environment.
    pub environment: Environment,
    /// What is protected.
    pub plan: Plan,
    /// Wall and filter.
    pub sandbox: Sandbox,
    /// What to do where not all can be enforced.
    pub effort: Effort,
    /// Signals that guard's caller had blocked.
    pub mask: SigSet,
    /// Who is told.
    pub observer: Box<dyn Observer>,
    /// See [`super::Request::workspace`].
    pub workspace: Option<Resolve>,
}

/// Is the supervisor. Returns the status to exit with.
pub fn supervise(run: Run, front: BorrowedFd<'_>) -> i32 {
    match try_supervise(run, front) {
        Ok(()) => 0,
        Err(Ending::Told) => 125,
        Err(Ending::Failed(error)) => {
            Message::Failed(error.to_string()).send(front);
            125
        }
    }
}

enum Ending {
    /// The front knows why.
    Told,
    /// It does not yet.
    Failed(LaunchError),
}

impl From<LaunchError> for Ending {
    fn from(error: LaunchError) -> Self {
        Self::Failed(error)
    }
}

fn try_supervise(run: Run, front: BorrowedFd<'_>) -> Result<(), Ending> {
    process::become_subreaper().doing("become the parent of orphans")?;
    let front_process = descriptor::open_process(process::parent(), 0).doing("watch the front")?;
    let (ours, theirs) = process::socket_pair().doing("make a socket pair")?;
    let Run {
        command,
        mut environment,
        plan,
        sandbox,
        effort,
        mask,
        observer,
        workspace,
    } = run;
    let granted: Vec<Mark> = sandbox.granted.iter().map(Mark::new).collect();
    let (no_wall, besides) = (sandbox.no_wall, sandbox.besides);
    let mut outer = Outer::find();
    let mut door = None;
    let answering = if let Some(outer) = &mut outer {
        outer.enlist(&plan, &granted).map_err(|error| {
            LaunchError::NotEnforced(format!(
                "the guard around this one does not take its policy: {error}"
            ))
        })?;
        Answering::Outer
    } else {
        door = Door::open()
            .map_err(|error| tracing::warn!(%error, "no guard can run inside"))
            .ok();
        environment.mark(door.as_ref().map(|door| door.name.as_str()));
        Answering::Own(sandbox.filter)
    };
    let becoming = Becoming {
        command,
        environment,
        wall: sandbox.wall,
        answering,
        privileges: sandbox.privileges,
        effort,
        mask,
    };
    let held = ours.as_fd();
    let job = move || {
        descriptor::close_copy(held);
        becoming.become_command(theirs.as_fd())
    };
    let target = process::fork(job).doing("start the command")?;
    process::leave_group().doing("leave the process group")?;
    let descriptors = limit::raise(Limit::Descriptors).doing("raise the limit of descriptors")?;
    let receivers = Supervisor::receivers_for(descriptors)
        .ok_or_else(|| LaunchError::NotEnforced(advice::few_descriptors(descriptors)))?;
    // The caller's limit is looked at for each call; the record has its own length.
    limit::raise(Limit::FileSize).doing("raise the limit of a file's size")?;
    give_up_streams(Streams::InputAndOutput)?;
    let signals = signal::receive_all().doing("receive signals")?;
    let (events, told) = mpsc::channel();
    start_observer(observer, told)?;
    if let Some(outer) = &outer {
        drop(events.send(Event::InsideAnother));
        outer
            .listen(sink(&events))
            .map_err(|error| no_thread(&error))?;
    }
    let HandOver { listener, no_wall } = hand_over(front, ours.as_fd(), no_wall)?;
    let mut started = None;
    say_what_is_missing(&events, no_wall.as_deref(), listener.as_ref().err());
    if let Ok(Some(listener)) = listener {
        if !can_look_into(target) {
            blind(&events, effort)?;
        }
        let (backing, granted) = if no_wall.is_none() {
            (Backing::Wall, granted)
        } else {
            (Backing::Nothing, Vec::new())
        };
        let supervisor = Supervisor::new(
            Listener::new(listener),
            territory(plan, granted)?,
            backing,
            target,
            sink(&events),
            lookouts(workspace, besides, &events),
            receivers,
        )
        .map_err(|error| LaunchError::NotEnforced(error.to_string()))?;
        supervisor.start().map_err(|error| no_thread(&error))?;
        started = Some(supervisor);
    }
    drop(events.send(Event::Started(target)));
    Message::Go.send(ours.as_fd());
    await_execution(front, ours.as_fd())?;
    if let Some(supervisor) = started {
        start_the_rest(supervisor, door);
    }
    Message::Started(target).send(front);
    let mut watch = Watch {
        front,
        front_process,
        target: Some(target),
        status: None,
        events,
        signals,
    };
    watch.until_the_last_is_gone()?;
    if let Some(outer) = &mut outer {
        outer.finish();
    }
    Ok(())
}

fn say_what_is_missing(
    events: &Sender<Event>,
    no_wall: Option<&str>,
    no_listener: Option<&String>,
) {
    let missing = |text| notice(events, text, Weight::NotEnforced);
    match (no_wall, no_listener) {
        (None, None) => {}
        (Some(why), None) => missing(format!("no wall: {why}\n{}", advice::NO_WALL)),
        (None, Some(why)) => missing(format!("no supervisor: {why}\n{}", advice::NO_SUPERVISOR)),
        (Some(wall), Some(why)) => missing(format!(
            "no wall: {wall}\nno supervisor: {why}\n{}",
            advice::NOTHING
        )),
    }
}

/// The supervisor may not look into its target.
fn blind(events: &Sender<Event>, effort: Effort) -> Result<(), LaunchError> {
    let why = advice::unreadable();
    if effort == Effort::Strict {
        let text = format!("the supervisor may not look into the command's process: {why}");
        return Err(LaunchError::NotEnforced(text));
    }
    let text = format!("a blind supervisor: {why}\n{}", advice::BLIND);
    notice(events, text, Weight::NotEnforced);
    Ok(())
}

/// What the supervisor looks for: a workspace where none is known, and programs where they gain no rights.
fn lookouts(resolve: Option<Resolve>, besides: Besides, events: &Sender<Event>) -> Lookouts {
    let tell = || {
        let events = events.clone();
        Box::new(move |text| notice(&events, text, Weight::Remark))
    };
    Lookouts {
        workspace: resolve.map(|resolve| Search::new(resolve, tell())),
        privileged: besides.executions.then(|| Privileged::new(tell())),
    }
}

/// A plan as the supervisor asks it, for a run that starts now.
fn territory(plan: Plan, granted: Vec<Mark>) -> Result<Territory, LaunchError> {
    let plan = Arc::new(plan);
    let owned = Owned::from_now().doing("read the clock")?;
    Ok(Territory::new(plan, granted, owned))
}

/// What can wait until the command runs: whoever needs it before waits for it.
fn start_the_rest(supervisor: Arc<Supervisor>, door: Option<Door>) {
    supervisor.territory().collect_links();
    if let Some(door) = door
        && let Err(error) = door.serve(supervisor)
    {
        tracing::warn!(%error, "no guard can run inside");
    }
}

/// What the target has put into force on itself.
struct HandOver {
    /// The listener (none where the guard around this one answers), or why there is none.
    listener: Result<Option<OwnedFd>, String>,
    /// Why there is no wall, if there is none.
    no_wall: Option<String>,
}

fn hand_over(
    front: BorrowedFd<'_>,
    target: BorrowedFd<'_>,
    mut no_wall: Option<String>,
) -> Result<HandOver, Ending> {
    let listener = loop {
        match descriptor::receive(target).doing("get the listener")? {
            Received::Descriptor(listener) => break Ok(Some(listener)),
            Received::Closed => return Err(failed(front, None)),
            Received::Bytes(bytes) => match Message::decode(&bytes) {
                Some(Message::Ready) => break Ok(None),
                Some(Message::Missing(Layer::Wall, why)) => no_wall = Some(why),
                Some(Message::Missing(Layer::Supervisor, why)) => break Err(why),
                failure => return Err(failed(front, failure)),
            },
        }
    };
    Ok(HandOver { listener, no_wall })
}

/// Whether the supervisor may read a process's memory. Tried on one that is still a copy of this one.
fn can_look_into(target: i32) -> bool {
    static SAMPLE: &[u8] = b"what the supervisor reads in its target";
    let seen = process::read_memory(target, SAMPLE.as_ptr() as u64, SAMPLE.len());
    seen.is_ok_and(|seen| seen == SAMPLE)
}

/// Waits until the command has been executed, which closes the target's socket.
fn await_execution(front: BorrowedFd<'_>, target: BorrowedFd<'_>) -> Result<(), Ending> {
    match Message::receive(target).doing("hear from the command")? {
        None => Ok(()),
        failure => Err(failed(front, failure)),
    }
}

fn failed(front: BorrowedFd<'_>, message: Option<Message>) -> Ending {
    message
        .unwrap_or_else(|| Message::Failed("the command's process died while it got ready".into()))
        .send(front);
    Ending::Told
}
