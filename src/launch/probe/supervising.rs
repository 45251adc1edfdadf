//! Trying what the supervisor does: a process calls, and is looked into and answered.

use std::ffi::CStr;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;
use std::time::Instant;

use super::child::{Socket, send};
use super::session::Session;
use super::{Need, Report, Verdict};
use crate::launch::advice;
use crate::supervise::calls::{Architecture, Call, Dir, Kind};
use crate::supervise::target::{Target, Trouble};
use crate::sys::descriptor::{self, Received};
use crate::sys::file::{self, Stat};
use crate::sys::seccomp::{Listener, Notification};
use crate::sys::{Errno, process};

/// What [`try_supervising`] proves.
pub const ROWS: &[(&str, Need)] = &[
    ("user notification", Need::Required),
    ("reading memory", Need::Required),
    ("looking into /proc", Need::Required),
    ("handing in descriptors", Need::Required),
    ("taking descriptors", Need::Wanted),
    ("wake-up in step", Need::Wanted),
];
/// The row of the call that arrives and is answered.
pub const NOTIFICATION: usize = 0;
const MEMORY: usize = 1;
const PROC: usize = 2;
const HANDING: usize = 3;
const TAKING: usize = 4;
const WAKING: usize = 5;

/// A path that cannot be.
const IMPOSSIBLE: &CStr = c"/proc/guard doctor/no such place";
/// An answer that mkdir(2) does not have.
pub const CHOSEN: Errno = Errno::ENOANO;
const GREETING: &[u8] = b"through a descriptor that was handed in";

/// The whole of it: a call arrives, its caller is looked into, and gets an answer; another gets a descriptor.
pub fn try_supervising(report: &Report<'_>, _folder: &Path) {
    if let Err(why) = supervise(report) {
        report.row(NOTIFICATION, Err(why));
    }
}

fn supervise(report: &Report<'_>) -> Result<(), String> {
    let system = |errno: Errno| format!("cannot prepare the try: {errno}");
    let (sample, kept) = process::socket_pair().map_err(system)?;
    let like = file::stat(sample.as_fd()).map_err(system)?;
    let number = sample.as_raw_fd();
    let session = Session::open(|socket| {
        descriptor::close_copy(kept.as_fd());
        be_supervised(socket);
    })?;
    // Only the other process has it now.
    drop(sample);
    report.row(WAKING, waking(&session.listener));
    let (notification, call) = session.call()?;
    look_into(report, &notification, call, number, &like);
    session
        .listener
        .answer(notification.id, Err(CHOSEN))
        .map_err(|errno| {
            format!("the call cannot be answered: {errno}; use Linux 5.19 or later")
        })?;
    let told = session.child.bytes().ok().flatten().unwrap_or_default();
    if told != (CHOSEN as i32).to_le_bytes() {
        return Err(format!(
            "the caller saw another answer ({told:?}) than the supervisor gave: another supervisor may be in charge; start \
             guard outside of it"
        ));
    }
    let detail = "a call waited, and its caller got the answer chosen for it";
    report.row(NOTIFICATION, Ok(detail.into()));
    report.row(HANDING, handing(&session));
    Ok(())
}

/// What the process under the filter does.
fn be_supervised(socket: Socket<'_>) {
    let path = Path::new(std::str::from_utf8(IMPOSSIBLE.to_bytes()).unwrap_or_default());
    let errno = |error: &std::io::Error| error.raw_os_error().unwrap_or(0).to_le_bytes();
    let answer = fs::create_dir(path);
    send(socket, &answer.as_ref().err().map_or([0; 4], errno));
    match OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
    {
        Ok(mut file) => drop(file.write_all(GREETING)),
        Err(error) => send(socket, &errno(&error)),
    }
}

fn waking(listener: &Listener) -> Verdict {
    match listener.wake_in_step() {
        Ok(()) => Ok("calls are answered on the caller's processor".into()),
        Err(errno) => Err(format!(
            "the kernel answers {errno}: each call takes some 30 µs instead of 5; use Linux 6.6 or later"
        )),
    }
}

fn look_into(
    report: &Report<'_>,
    notification: &Notification,
    call: &Call,
    number: i32,
    like: &Stat,
) {
    let Kind::Mkdir(base, path, _) = call.kind else {
        let why = format!("another call arrived than the one made: {}", call.name);
        return report.row(MEMORY, Err(why));
    };
    let target = match Target::new(notification.tid as i32, Architecture::NATIVE[0]) {
        Ok(target) => target,
        Err(trouble) => {
            let why = format!(
                "{trouble}: it needs \"openat2\", and a /proc that is mounted without hidepid in guard's own pid namespace"
            );
            return report.row(PROC, Err(why));
        }
    };
    report.row(
        MEMORY,
        match target.string(notification.arguments[path as usize]) {
            Ok(text) if text.as_c_str() == IMPOSSIBLE => {
                Ok("the path of a call is read from its caller".into())
            }
            Ok(text) => Err(format!(
                "{text:?} was read where {IMPOSSIBLE:?} stands: something answers in the kernel's place; run on Linux itself"
            )),
            Err(trouble) => Err(spell(trouble)),
        },
    );
    let base = match base {
        Dir::Arg(index) => notification.arguments[index as usize] as i32,
        Dir::Cwd => libc::AT_FDCWD,
    };
    report.row(PROC, same_places(&target, base, number, like));
    report.row(TAKING, taking(&target, number));
}

/// The caller's directories and descriptors, which it has from its parent, are what its parent has.
fn same_places(target: &Target, base: i32, number: i32, like: &Stat) -> Verdict {
    let own = |path: &CStr| {
        let flags = libc::O_PATH | libc::O_DIRECTORY;
        file::open_absolute(path, flags)
            .and_then(|fd| file::stat(fd.as_fd()))
            .map_err(|errno| format!("cannot look at {path:?}: {errno}"))
    };
    let (cwd, root) = (own(c".")?, own(c"/")?);
    let places = [
        ("working directory", target.base(base), &cwd),
        ("root", target.root(), &root),
        ("descriptor", target.descriptor(number), like),
    ];
    for (what, found, expected) in places {
        let found = found.map_err(|trouble| format!("its {what}: {}", spell(trouble)))?;
        if (found.stat.dev, found.stat.ino) != (expected.dev, expected.ino) {
            return Err(format!(
                "the {what} of a process is not what /proc shows: mount the procfs of guard's own pid namespace at /proc"
            ));
        }
    }
    Ok("working directory, root and descriptors of a caller can be held".into())
}

fn taking(target: &Target, number: i32) -> Verdict {
    let taken = target
        .descriptor(number)
        .and_then(|held| target.take(number, &held));
    match taken {
        Ok(_) => Ok("a socket or file of a caller can be used for it".into()),
        Err(trouble) => Err(format!(
            "{}; without, UNIX sockets cannot be bound, nor inode flags changed, where only the supervisor can let them \
             (Linux 5.6 or later has pidfd_getfd)",
            spell(trouble)
        )),
    }
}

/// The caller opens a file that cannot be, and gets one end of a socket.
fn handing(session: &Session) -> Verdict {
    let (notification, call) = session.call()?;
    if !matches!(call.kind, Kind::Open(..)) {
        return Err(format!(
            "another call arrived than the one made: {}",
            call.name
        ));
    }
    let missing = |errno: Errno| {
        format!("no descriptor can be put into another process ({errno}): use Linux 5.9 or later")
    };
    let (ours, theirs) = process::socket_pair().map_err(missing)?;
    let handed = session
        .listener
        .answer_descriptor(notification.id, theirs, libc::O_CLOEXEC);
    if let Err(errno) = handed {
        let _ = session.listener.answer(notification.id, Err(errno));
        return Err(missing(errno));
    }
    match heard(&ours, session.child.deadline) {
        Ok(Received::Bytes(bytes)) if bytes == GREETING => {
            Ok("a file that the supervisor opens reaches the caller".into())
        }
        Ok(_) => Err(missing(Errno::EBADF)),
        Err(errno) => Err(missing(errno)),
    }
}

fn heard(socket: &OwnedFd, deadline: Instant) -> Result<Received, Errno> {
    process::wait_until([socket.as_fd()], deadline)?;
    descriptor::receive(socket.as_fd())
}

fn spell(trouble: Trouble) -> String {
    match trouble {
        Trouble::Unreadable => format!("{trouble}: {}", advice::unreadable()),
        Trouble::Own(errno @ (Errno::ENOSYS | Errno::EPERM)) => {
            format!("the kernel answers {errno}: {}", advice::unreadable())
        }
        other => other.to_string(),
    }
}
