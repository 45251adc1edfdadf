//! The supervisor's process: starts the target, answers its calls, and stays until the last descendant is gone.

use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc;

use nix::sys::signal::SigSet;

use super::events::{Event, no_thread, sink, start_observer};
use super::front::{Streams, give_up_streams};
use super::inner::{Door, Outer};
use super::message::Message;
use super::sandbox::Sandbox;
use super::target::{Answering, Becoming};
use super::watch::Watch;
use super::{Doing, Effort, LaunchError, Observer};
use crate::plan::Plan;
use crate::supervise::links::Links;
use crate::supervise::territory::{Mark, Territory};
use crate::supervise::{Backing, Sink, Supervisor};
use crate::sys::descriptor::{self, Received};
use crate::sys::seccomp::Listener;
use crate::sys::{process, signal};

/// What a supervisor's process needs.
pub struct Run {
    /// Program and arguments.
    pub command: Vec<CString>,
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
        plan,
        sandbox,
        effort,
        mask,
        observer,
    } = run;
    let granted: Vec<Mark> = sandbox.granted.iter().map(Mark::new).collect();
    let (backing, missing) = (sandbox.backing(), sandbox.missing);
    let mut outer = Outer::find();
    let mut door = None;
    let answering = if let Some(outer) = &mut outer {
        let enlisted = outer.enlist(&plan, &granted);
        enlisted.map_err(|error| {
            LaunchError::NotEnforced(format!(
                "the guard around this one does not take its policy: {error}"
            ))
        })?;
        Answering::Outer
    } else {
        door = Door::open()
            .map_err(|error| tracing::warn!(%error, "no guard can run inside"))
            .ok();
        Answering::Own(sandbox.filter, door.as_ref().map(|door| door.name.clone()))
    };
    let becoming = Becoming {
        command,
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
    descriptor::raise_limit().doing("raise the limit of descriptors")?;
    give_up_streams(Streams::InputAndOutput)?;
    let signals = signal::receive_all().doing("receive signals")?;
    let (events, told) = mpsc::channel();
    start_observer(observer, told)?;
    for text in missing {
        drop(events.send(Event::Notice(text)));
    }
    if let Some(outer) = &outer {
        drop(events.send(Event::InsideAnother));
        let told = sink(&events);
        outer.listen(told).map_err(|error| no_thread(&error))?;
    }
    drop(events.send(Event::Started(target)));
    match descriptor::receive(ours.as_fd()).doing("get the listener")? {
        Received::Descriptor(listener) => {
            start_supervisor(
                plan,
                granted,
                backing,
                Listener::new(listener),
                sink(&events),
                door,
            )?;
            Message::Go.send(ours.as_fd());
            await_execution(front, ours.as_fd())?;
        }
        Received::Bytes(bytes) => return Err(failed(front, Message::decode(&bytes))),
        // It has executed the command: its calls are answered by the guard around this one, or, by best effort, by none.
        Received::Closed if outer.is_some() => {}
        Received::Closed if effort == Effort::BestEffort => {
            let text = "no supervisor: the wall alone protects, nothing is recorded";
            drop(events.send(Event::Notice(text.into())));
        }
        Received::Closed => return Err(failed(front, None)),
    }
    Message::Started(target).send(front);
    let mut watch = Watch {
        front,
        front_process,
        target: Some(target),
        events,
        signals,
    };
    watch.until_the_last_is_gone()?;
    if let Some(outer) = &mut outer {
        outer.finish();
    }
    Ok(())
}

fn start_supervisor(
    plan: Plan,
    granted: Vec<Mark>,
    backing: Backing,
    listener: Listener,
    refused: Sink,
    door: Option<Door>,
) -> Result<(), LaunchError> {
    let plan = Arc::new(plan);
    let links = Links::collect(Arc::clone(&plan)).map_err(|error| no_thread(&error))?;
    let territory = Territory::new(plan, granted, links);
    let supervisor = Supervisor::new(listener, territory, backing, refused)
        .map_err(|error| LaunchError::NotEnforced(error.to_string()))?;
    supervisor.start().map_err(|error| no_thread(&error))?;
    if let Some(door) = door {
        door.serve(supervisor).map_err(|error| no_thread(&error))?;
    }
    Ok(())
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
