//! Trying what guard does with processes: descriptors of them, and calls that 32-bit ones make.

use std::os::fd::AsFd;
use std::path::Path;

use super::child::Child;
use super::{INNER_LIMIT, Report, Verdict};
use crate::sys::{descriptor, process};

/// Ends a process by its descriptor.
pub fn try_process_descriptors(report: &Report<'_>, _folder: &Path) {
    report.row(0, process_descriptors());
}

fn process_descriptors() -> Verdict {
    let child = Child::start(INNER_LIMIT, |socket| drop(descriptor::receive(socket)))
        .map_err(|errno| format!("cannot start a process to try it: {errno}"))?;
    let ended = descriptor::open_process(child.pid, 0).and_then(|held| {
        process::kill(held.as_fd())?;
        process::wait_until([held.as_fd()], child.deadline)
    });
    ended
        .map(|_| "a process is watched and ended by a descriptor".into())
        .map_err(|errno| {
            format!(
                "the kernel answers {errno}: use Linux 5.3 or later; in a container, let its system call filter allow \
                 pidfd_open and pidfd_send_signal"
            )
        })
}

/// Calls as 32-bit programs make them are not there, or arrive like others.
#[cfg(target_arch = "x86_64")]
pub fn try_32_bit_calls(report: &Report<'_>, _folder: &Path) {
    let verdict = calls_of_32_bits();
    report.row(0, verdict);
}

#[cfg(target_arch = "x86_64")]
fn calls_of_32_bits() -> Verdict {
    use super::child::Ending;
    use super::session::Session;
    use super::supervising::{CHOSEN, NOTIFICATION, ROWS};
    use crate::supervise::calls::{Architecture, Kind};
    let session = Session::open(|_| {
        let _ = process::leave_no_core();
        let _ = process::make_dir_by_32_bit_call();
    })
    .map_err(|_| format!("not tried: it needs \"{}\"", ROWS[NOTIFICATION].0))?;
    match session.call() {
        Ok((notification, call)) => {
            let _ = session.listener.answer(notification.id, Err(CHOSEN));
            let caught = notification.architecture == Architecture::I386.audit()
                && matches!(call.kind, Kind::Mkdir(..));
            if caught {
                Ok("the kernel has them, and they arrive like all others".into())
            } else {
                Err(format!(
                    "another call arrived than the one made: {}",
                    call.name
                ))
            }
        }
        Err(why) => match session.child.end() {
            Ending::Killed(libc::SIGSEGV) => {
                Ok("this kernel has none, so nothing can come that way".into())
            }
            Ending::Killed(signal) => Ok(format!(
                "a process that makes one is ended (signal {signal})"
            )),
            Ending::Itself | Ending::TooLate => Err(format!(
                "{why}; a 32-bit program could do what it likes: start the kernel with ia32_emulation=off"
            )),
        },
    }
}
