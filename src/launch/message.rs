//! What the three processes tell each other, as one datagram each.

use std::os::fd::BorrowedFd;

use super::LaunchError;
use crate::sys::descriptor::{Received, receive, send_bytes};
use crate::sys::{Errno, signal};

/// From the supervisor to the front, and from the target to the supervisor while it gets ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// The command runs as this process.
    Started(i32),
    /// The command was stopped by this signal.
    Stopped(i32),
    /// The command has ended; the front exits with this status.
    Ended(i32),
    /// The same, and all that it started has ended too: the supervisor is about to.
    Over(i32),
    /// The program is not there.
    NotFound,
    /// The program cannot be executed.
    NotExecutable(i32),
    /// Something else went wrong, in words.
    Failed(String),
    /// By best effort: a layer is not in force, for this reason, and the target goes on without.
    Missing(Layer, String),
    /// From the target: it is ready, and has nothing to hand over.
    Ready,
    /// To the target: everything is ready, execute the command.
    Go,
    /// To the supervisor: send the command this signal.
    Signal(i32),
}

/// What restricts a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// The wall.
    Wall,
    /// The supervisor, which the filter calls.
    Supervisor,
}

impl Message {
    fn encode(&self) -> Vec<u8> {
        let number = |tag: u8, value: i32| [&[tag][..], &value.to_le_bytes()].concat();
        let words = |tag: u8, text: &str| {
            let text = text.as_bytes();
            [&[tag][..], &text[..text.len().min(4000)]].concat()
        };
        match self {
            Self::Started(pid) => number(b't', *pid),
            Self::Stopped(signal) => number(b's', *signal),
            Self::Ended(status) => number(b'x', *status),
            Self::Over(status) => number(b'o', *status),
            Self::NotFound => vec![b'n'],
            Self::NotExecutable(errno) => number(b'e', *errno),
            Self::Failed(text) => words(b'f', text),
            Self::Missing(Layer::Wall, text) => words(b'w', text),
            Self::Missing(Layer::Supervisor, text) => words(b'l', text),
            Self::Ready => vec![b'r'],
            Self::Go => vec![b'g'],
            Self::Signal(signal) => number(b'k', *signal),
        }
    }

    /// Reads one.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (tag, rest) = bytes.split_first()?;
        let number = || rest.try_into().ok().map(i32::from_le_bytes);
        let words = || String::from_utf8_lossy(rest).into_owned();
        Some(match tag {
            b't' => Self::Started(number()?),
            b's' => Self::Stopped(number()?),
            b'x' => Self::Ended(number()?),
            b'o' => Self::Over(number()?),
            b'n' => Self::NotFound,
            b'e' => Self::NotExecutable(number()?),
            b'f' => Self::Failed(words()),
            b'w' => Self::Missing(Layer::Wall, words()),
            b'l' => Self::Missing(Layer::Supervisor, words()),
            b'r' => Self::Ready,
            b'g' => Self::Go,
            b'k' => Self::Signal(number()?),
            _ => return None,
        })
    }

    /// Sends it. A receiver that is gone needs nothing any more.
    pub fn send(&self, socket: BorrowedFd<'_>) {
        if let Err(error) = send_bytes(socket, &self.encode()) {
            tracing::debug!(%error, message = ?self, "nobody hears");
        }
    }

    /// The next one; none when the other side is gone.
    ///
    /// # Errors
    /// As recvmsg(2); `EBADMSG` for what is no message.
    pub fn receive(socket: BorrowedFd<'_>) -> Result<Option<Self>, Errno> {
        match receive(socket)? {
            Received::Closed => Ok(None),
            Received::Bytes(bytes) => Self::decode(&bytes).map(Some).ok_or(Errno::EBADMSG),
            Received::Descriptor(_) => Err(Errno::EBADMSG),
        }
    }

    /// The error that a message of failure stands for.
    #[must_use]
    pub fn error(self, program: &str) -> LaunchError {
        match self {
            Self::NotFound => LaunchError::NotFound {
                program: program.to_owned(),
            },
            Self::NotExecutable(errno) => LaunchError::NotExecutable {
                program: program.to_owned(),
                errno: Errno::from_raw(errno),
            },
            Self::Failed(text) => LaunchError::NotEnforced(text),
            _ => LaunchError::SupervisorLost,
        }
    }
}

/// Sends a signal to a process that may be gone.
pub fn signal_if_there(pid: i32, number: i32) {
    if let Err(error) = signal::send(pid, number) {
        tracing::debug!(%error, pid, number, "the signal found nobody");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_as_they_were_sent() {
        for message in [
            Message::Started(7),
            Message::Stopped(20),
            Message::Ended(-1),
            Message::Over(130),
            Message::NotFound,
            Message::NotExecutable(13),
            Message::Failed("words".into()),
            Message::Missing(Layer::Wall, "why".into()),
            Message::Missing(Layer::Supervisor, String::new()),
            Message::Ready,
            Message::Go,
            Message::Signal(64),
        ] {
            assert_eq!(Message::decode(&message.encode()), Some(message));
        }
        assert_eq!(Message::decode(b""), None);
        assert_eq!(Message::decode(b"t12"), None);
        assert_eq!(Message::decode(b"?"), None);
    }
}
