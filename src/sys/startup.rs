//! What the process was given before the Rust runtime changed it: it ignores SIGPIPE and opens the null device in place
//! of closed standard streams, and the command must see neither.

use std::sync::atomic::{AtomicU8, Ordering};

const PIPE_IGNORED: u8 = 8;
static GIVEN: AtomicU8 = AtomicU8::new(0);

extern "C" fn look() {
    let mut given = 0;
    for stream in 0..=2 {
        // SAFETY: no pointers; asks for the descriptor's flags.
        if unsafe { libc::fcntl(stream, libc::F_GETFD) } == -1 {
            given |= 1 << stream;
        }
    }
    // SAFETY: sigaction is plain data; all zeroes is a value of it.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: only reads the disposition into a live structure.
    unsafe { libc::sigaction(libc::SIGPIPE, std::ptr::null(), &raw mut action) };
    if action.sa_sigaction == libc::SIG_IGN {
        given |= PIPE_IGNORED;
    }
    GIVEN.store(given, Ordering::Relaxed);
}

// SAFETY: functions in this section run once, before main, on the only thread; `look` uses nothing of the runtime.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

/// Whether the caller ignored SIGPIPE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PipeSignal {
    /// It was ignored, and the command inherits that.
    Ignored,
    /// It ends the process, as usual.
    Default,
}

/// How the caller had SIGPIPE.
#[must_use]
pub fn pipe_signal() -> PipeSignal {
    if GIVEN.load(Ordering::Relaxed) & PIPE_IGNORED == 0 {
        PipeSignal::Default
    } else {
        PipeSignal::Ignored
    }
}

/// The standard streams that were closed at start.
pub fn closed_streams() -> impl Iterator<Item = i32> {
    let given = GIVEN.load(Ordering::Relaxed);
    (0..=2).filter(move |stream| given & (1 << stream) != 0)
}
