//! Signals: masks, dispositions, and receiving them as data.

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use super::{Errno, check};

/// Blocks every signal; gives the mask that was in force.
///
/// # Errors
/// As sigprocmask(2).
pub fn block_all() -> Result<SigSet, Errno> {
    SigSet::all().thread_swap_mask(nix::sys::signal::SigmaskHow::SIG_SETMASK)
}

/// Puts a mask in force.
///
/// # Errors
/// As sigprocmask(2).
pub fn set_mask(mask: &SigSet) -> Result<(), Errno> {
    mask.thread_set_mask()
}

/// Receives all signals (blocked ones arrive only here) as data, without waiting.
///
/// # Errors
/// As signalfd(2).
pub fn receive_all() -> Result<SignalFd, Errno> {
    SignalFd::with_flags(
        &SigSet::all(),
        SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK,
    )
}

/// Gives a signal back the meaning that the system has for it.
///
/// # Errors
/// As sigaction(2).
pub fn restore_default(signal: Signal) -> Result<(), Errno> {
    let action = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    // SAFETY: no handler function is installed.
    unsafe { sigaction(signal, &action) }.map(drop)
}

/// Sends a signal by number, real-time ones included, to one process.
///
/// # Errors
/// As kill(2).
pub fn send(pid: i32, signal: i32) -> Result<(), Errno> {
    if pid <= 0 {
        return Err(Errno::ESRCH);
    }
    // SAFETY: no pointers.
    check(libc::c_long::from(unsafe { libc::kill(pid, signal) })).map(drop)
}

/// Stops this process as the signal would have, and returns when it goes on.
///
/// # Errors
/// As sigprocmask(2) and kill(2).
pub fn stop_self(signal: i32) -> Result<(), Errno> {
    let signal = Signal::try_from(signal).unwrap_or(Signal::SIGSTOP);
    let mut only = SigSet::empty();
    only.add(signal);
    nix::sys::signal::kill(nix::unistd::getpid(), signal)?;
    only.thread_unblock()?;
    only.thread_block()
}
