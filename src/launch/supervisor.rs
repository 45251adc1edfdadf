//! The supervisor's process: starts the target, answers its calls, and stays until the last descendant is gone.

use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::time::Duration;

use nix::sys::signal::SigSet;
use nix::sys::signalfd::SignalFd;

use super::front::{Streams, give_up_streams};
use super::message::{Layer, Message, signal_if_there};
use super::sandbox::Sandbox;
use super::target::Becoming;
use super::{Doing, Effort, LaunchError, Observer, advice};
use crate::plan::Plan;
use crate::record::Attempt;
use crate::supervise::links::Links;
use crate::supervise::territory::Territory;
use crate::supervise::{Backing, Sink, Supervisor};
use crate::sys::descriptor::{self, Received};
use crate::sys::process::{self, Change};
use crate::sys::seccomp::Listener;
use crate::sys::{Errno, signal};

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

/// What the observer's thread is told.
enum Event {
    Started(i32),
    Notice(String, SyncSender<()>),
    Refused(Box<Attempt>, SyncSender<()>),
    Ended(i32, Sender<i32>),
    Finished(Sender<()>),
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
    let (granted, no_wall) = (sandbox.granted, sandbox.no_wall);
    let becoming = Becoming {
        command,
        wall: sandbox.wall,
        filter: sandbox.filter,
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
    match hand_over(front, ours.as_fd(), no_wall)? {
        HandOver {
            listener: Ok(listener),
            no_wall,
        } => {
            let plan = Arc::new(plan);
            let links = Links::collect(Arc::clone(&plan)).map_err(|error| no_thread(&error))?;
            let (backing, granted) = match no_wall {
                None => (Backing::Wall, granted),
                Some(why) => {
                    notice(&events, format!("no wall: {why}\n{}", advice::NO_WALL));
                    (Backing::Nothing, Vec::new())
                }
            };
            if !can_look_into(target) {
                let why = advice::unreadable();
                if effort == Effort::Strict {
                    let text =
                        format!("the supervisor may not look into the command's process: {why}");
                    return Err(LaunchError::NotEnforced(text).into());
                }
                notice(
                    &events,
                    format!("a blind supervisor: {why}\n{}", advice::BLIND),
                );
            }
            let territory = Territory::new(plan, &granted, links);
            let supervisor =
                Supervisor::new(Listener::new(listener), territory, backing, sink(&events))
                    .map_err(|error| LaunchError::NotEnforced(error.to_string()))?;
            supervisor.start().map_err(|error| no_thread(&error))?;
        }
        HandOver {
            listener: Err(why),
            no_wall: None,
        } => notice(
            &events,
            format!("no supervisor: {why}\n{}", advice::NO_SUPERVISOR),
        ),
        HandOver {
            listener: Err(why),
            no_wall: Some(no_wall),
        } => notice(
            &events,
            format!(
                "no wall: {no_wall}\nno supervisor: {why}\n{}",
                advice::NOTHING
            ),
        ),
    }
    drop(events.send(Event::Started(target)));
    Message::Go.send(ours.as_fd());
    await_execution(front, ours.as_fd())?;
    Message::Started(target).send(front);
    let mut watch = Watch {
        front,
        front_process,
        target: Some(target),
        events,
        signals,
    };
    watch.until_the_last_is_gone().map_err(Ending::Failed)
}

/// What the target has put into force on itself.
struct HandOver {
    /// The listener, or why there is none.
    listener: Result<OwnedFd, String>,
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
            Received::Descriptor(listener) => break Ok(listener),
            Received::Closed => return Err(failed(front, None)),
            Received::Bytes(bytes) => match Message::decode(&bytes) {
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

/// How long the target waits for the observer to have been told.
const MOMENT: Duration = Duration::from_millis(100);

/// Tells the observer of an attempt and waits until it has been told, so that guard's words come before the program's
/// own and a record is written before the program can go on; but no longer than a moment, since the other end of
/// standard error may be stuck.
fn sink(events: &Sender<Event>) -> Sink {
    let events = events.clone();
    Box::new(move |attempt| {
        let (answer, told) = mpsc::sync_channel(1);
        drop(events.send(Event::Refused(Box::new(attempt), answer)));
        let _ = told.recv_timeout(MOMENT);
    })
}

/// Tells the observer something before the command starts, so that the record has it by then; waits as for a refusal.
fn notice(events: &Sender<Event>, text: String) {
    let (answer, told) = mpsc::sync_channel(1);
    drop(events.send(Event::Notice(text, answer)));
    let _ = told.recv_timeout(MOMENT);
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

fn start_observer(
    mut observer: Box<dyn Observer>,
    told: Receiver<Event>,
) -> Result<(), LaunchError> {
    let job = move || {
        for event in told {
            match event {
                Event::Started(pid) => observer.started(pid),
                Event::Notice(text, answer) => {
                    observer.notice(&text);
                    let _ = answer.try_send(());
                }
                Event::Refused(attempt, answer) => {
                    observer.refused(&attempt);
                    let _ = answer.try_send(());
                }
                Event::Ended(status, answer) => drop(answer.send(observer.command_ended(status))),
                Event::Finished(answer) => {
                    observer.finished();
                    let _ = answer.send(());
                }
            }
        }
    };
    let thread = std::thread::Builder::new()
        .name("observer".into())
        .spawn(job);
    thread.map(drop).map_err(|error| no_thread(&error))
}

fn no_thread(error: &std::io::Error) -> LaunchError {
    LaunchError::NotEnforced(format!("cannot start a thread: {error}"))
}

struct Watch<'a> {
    front: BorrowedFd<'a>,
    front_process: OwnedFd,
    /// The command's own process, until it has ended.
    target: Option<i32>,
    events: Sender<Event>,
    signals: SignalFd,
}

impl Watch<'_> {
    fn until_the_last_is_gone(&mut self) -> Result<(), LaunchError> {
        while self.reap()? {
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
                    Change::Exited(status) => self.ended(status)?,
                    Change::Killed(signal) => self.ended(128 + signal)?,
                    Change::Stopped(signal) => Message::Stopped(signal).send(self.front),
                    Change::Continued => {}
                },
                Ok(Some(_)) => {}
            }
        }
    }

    fn ended(&mut self, status: i32) -> Result<(), LaunchError> {
        self.target = None;
        let (answer, told) = mpsc::channel();
        drop(self.events.send(Event::Ended(status, answer)));
        let status = told.recv().unwrap_or(status);
        give_up_streams(Streams::Errors)?;
        Message::Ended(status).send(self.front);
        Ok(())
    }
}
