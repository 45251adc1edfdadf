//! Guard inside guard. The kernel gives a process one supervisor, so the inner guard builds its wall and sends its plan
//! to the outer one, which answers for both; what it refuses comes back to be said where the inner guard's caller looks.

use std::hash::{BuildHasher, Hasher};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use super::environment::ACTIVE;
use crate::plan::Plan;
use crate::record::Attempt;
use crate::supervise::mark::Mark;
use crate::supervise::owned::Owned;
use crate::supervise::territory::Territory;
use crate::supervise::{Supervisor, Voice, is_descendant};
use crate::sys::process;

/// Longest plan that is taken, bytes.
const MOST: u64 = 8 << 20;
/// Nobody waits longer than this for the other guard.
const PATIENCE: Duration = Duration::from_secs(5);
const READY: u8 = b'+';
const BYE: u8 = b'-';
const HEARD: u8 = b'!';
/// The plan asks for more than this guard watches.
const BLIND: u8 = b'a';
/// A refused call waits no longer than this for an inner guard to have said so.
const MOMENT: Duration = Duration::from_millis(100);

/// Where inner guards ask.
pub struct Door {
    listener: UnixListener,
    /// The abstract name of the socket.
    pub name: String,
}

impl Door {
    /// Opens one.
    ///
    /// # Errors
    /// As socket(2) and bind(2).
    pub fn open() -> io::Result<Self> {
        let random = std::collections::hash_map::RandomState::new()
            .build_hasher()
            .finish();
        let name = format!("guard-{}-{random:016x}", std::process::id());
        let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
        Ok(Self { listener, name })
    }

    /// Lets inner guards in, on a thread of its own.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn serve(self, supervisor: Arc<Supervisor>) -> io::Result<()> {
        let accept = move || {
            for stream in self.listener.incoming() {
                let Ok(stream) = stream else { return };
                let supervisor = Arc::clone(&supervisor);
                let job = move || {
                    if let Err(error) = attend(&supervisor, stream) {
                        tracing::warn!(%error, "an inner guard");
                    }
                };
                if let Err(error) = std::thread::Builder::new().name("inner".into()).spawn(job) {
                    tracing::warn!(%error, "an inner guard");
                }
            }
        };
        std::thread::Builder::new()
            .name("door".into())
            .spawn(accept)
            .map(drop)
    }
}

fn attend(supervisor: &Arc<Supervisor>, mut stream: UnixStream) -> io::Result<()> {
    let keeper = process::peer(stream.as_fd())?;
    if !is_descendant(keeper) {
        return Err(io::Error::other("it does not run below this one"));
    }
    stream.set_read_timeout(Some(PATIENCE))?;
    let plan = Plan::from_bytes(&read_block(&mut stream)?).map_err(io::Error::other)?;
    let granted: Vec<Mark> = read_block(&mut stream)?
        .chunks_exact(24)
        .filter_map(Mark::from_bytes)
        .collect();
    if plan.lets_files_grow() && !supervisor.territory().plan().lets_files_grow() {
        // Its filter does not ask about what such places need.
        return stream.write_all(&[BLIND]);
    }
    let plan = Arc::new(plan);
    let territory = Territory::new(plan, granted, Owned::from_now()?);
    territory.collect_links();
    let back = Mutex::new(stream.try_clone()?);
    stream.set_write_timeout(Some(MOMENT))?;
    let (heard, hearing) = mpsc::channel();
    let hearing = Mutex::new(hearing);
    let sink = move |attempt: Attempt, voice: Voice| {
        let mut back = back.lock().unwrap_or_else(PoisonError::into_inner);
        let told = serde_json::to_vec(&(voice == Voice::Here, attempt)).map_err(io::Error::other);
        if let Err(error) = told.and_then(|bytes| write_block(&mut back, &bytes)) {
            tracing::debug!(%error, "an inner guard does not listen");
            return;
        }
        let hearing = hearing.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = hearing.recv_timeout(MOMENT);
    };
    let inner = supervisor
        .add_inner(keeper, territory, Box::new(sink))
        .ok_or_else(|| io::Error::other("too many guards run inside already"))?;
    stream.write_all(&[READY])?;
    stream.set_read_timeout(None)?;
    let mut word = [0];
    loop {
        match stream.read(&mut word) {
            Ok(1) if word[0] == HEARD => drop(heard.send(())),
            Ok(1) if word[0] == BYE => {
                inner.finish();
                return Ok(());
            }
            _ => {
                inner.lose();
                return Ok(());
            }
        }
    }
}

/// The outer guard, as the inner one sees it.
pub struct Outer(UnixStream);

impl Outer {
    /// Finds the guard that this process runs in, if it runs in one that can be reached.
    #[must_use]
    pub fn find() -> Option<Self> {
        let name = std::env::var(ACTIVE).ok()?;
        // Some agents give each command the variables of an earlier one, whose guard is gone.
        Self::at(&name).or_else(|| doors().iter().find_map(|name| Self::at(name)))
    }

    /// Finds the one that the environment names.
    #[must_use]
    pub fn announced() -> Option<Self> {
        Self::at(&std::env::var(ACTIVE).ok()?)
    }

    fn at(name: &str) -> Option<Self> {
        if !process::is_filtered() {
            return None;
        }
        let stream = UnixStream::connect_addr(&SocketAddr::from_abstract_name(name).ok()?).ok()?;
        // Whoever listens there has to be above this process, or it is not the supervisor of its calls.
        let listener = process::peer(stream.as_fd()).ok()?;
        process::is_ancestor(listener).then_some(Self(stream))
    }

    /// Tells it what to protect, for all processes below this one. It holds when this returns.
    ///
    /// # Errors
    /// When the outer guard does not take it.
    pub fn enlist(&mut self, plan: &Plan, granted: &[Mark]) -> io::Result<()> {
        self.0.set_read_timeout(Some(PATIENCE))?;
        write_block(&mut self.0, &plan.to_bytes().map_err(io::Error::other)?)?;
        let marks: Vec<u8> = granted.iter().copied().flat_map(Mark::to_bytes).collect();
        write_block(&mut self.0, &marks)?;
        let mut word = [0];
        self.0.read_exact(&mut word)?;
        self.0.set_read_timeout(None)?;
        match word[0] {
            READY => Ok(()),
            BLIND => Err(io::Error::other(
                "it watches no place at append-only; name one in its policy too",
            )),
            _ => Err(io::Error::other("it answers something else")),
        }
    }

    /// Passes on what the outer guard refuses below this process, on a thread of its own.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn listen(&self, told: impl Fn(Attempt, Voice) + Send + 'static) -> io::Result<()> {
        let mut stream = self.0.try_clone()?;
        let job = move || {
            while let Ok(block) = read_block(&mut stream) {
                match serde_json::from_slice(&block) {
                    Ok((true, attempt)) => told(attempt, Voice::Here),
                    Ok((false, attempt)) => told(attempt, Voice::Inner),
                    Err(error) => tracing::warn!(%error, "the outer guard says something else"),
                }
                if stream.write_all(&[HEARD]).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new()
            .name("outer".into())
            .spawn(job)
            .map(drop)
    }

    /// Nothing is left below this process.
    pub fn finish(&mut self) {
        if let Err(error) = self.0.write_all(&[BYE]) {
            tracing::debug!(%error, "the outer guard is gone");
        }
    }
}

/// The names of all doors whose guard may be above this process (proc_net(5): the last field, with an `@` for abstract names).
fn doors() -> Vec<String> {
    let sockets = std::fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let names = sockets.lines().filter_map(|line| line.rsplit_once(" @"));
    let is_above = |name: &&str| {
        let number = name
            .strip_prefix("guard-")
            .and_then(|rest| rest.split('-').next());
        let number = number.and_then(|number| number.parse().ok());
        number.is_some_and(process::is_ancestor)
    };
    let mut found: Vec<String> = names
        .map(|(_, name)| name)
        .filter(is_above)
        .map(str::to_owned)
        .collect();
    found.dedup();
    found
}

fn write_block(stream: &mut UnixStream, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(&(bytes.len() as u64).to_le_bytes())?;
    stream.write_all(bytes)
}

fn read_block(stream: &mut UnixStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 8];
    stream.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    if length > MOST {
        return Err(io::Error::other("it sends too much"));
    }
    let mut bytes = vec![0; length as usize];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}
