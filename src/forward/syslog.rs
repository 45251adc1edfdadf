//! To syslog, in the form in which syslog(3) writes to the local socket. RFC 5424 is for the network: what reads `/dev/log` on most
//! machines (rsyslog as it is shipped, the journal) takes its version for the program's name.

use std::fmt::Write as _;
use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;

use super::Event;
use super::event::{Value, truncate};
use super::queue::{Outcome, Sink};

/// Where syslog listens (syslog(3)).
pub const SOCKET: &str = "/dev/log";
/// The facility `user`.
const USER: u8 = 1;
/// Bytes of a message: what rsyslog takes (its `maxMessageSize`).
const MOST: usize = 8192;
/// How long one delivery may take.
pub(super) const MOMENT: Duration = Duration::from_secs(1);

/// Syslog on this machine.
pub struct Syslog {
    socket: PathBuf,
    zone: TimeZone,
}

impl Syslog {
    /// The one that listens at `socket`.
    pub fn new(socket: impl AsRef<Path>) -> Self {
        Self {
            socket: socket.as_ref().to_owned(),
            zone: TimeZone::system(),
        }
    }

    fn line(&self, event: &Event) -> String {
        let stamp = self.zone.to_datetime(event.time);
        let mut line = format!(
            "<{}>{} guard[{}]: {} event=\"{}\"",
            USER * 8 + event.severity.syslog(),
            stamp.strftime("%b %e %H:%M:%S"),
            std::process::id(),
            event.message,
            event.name
        );
        for (field, value) in event.fields() {
            let Some(word) = field.syslog() else { continue };
            // Writing to a string does not fail.
            let _ = match value {
                Value::Number(number) => write!(line, " {word}=\"{number}\""),
                Value::Text(text) => write!(line, " {word}=\"{}\"", quoted(text)),
                Value::List(texts) => write!(line, " {word}=\"{}\"", quoted(&texts.join(" "))),
            };
        }
        truncate(&mut line, MOST);
        line
    }
}

/// As RFC 5424 quotes a value, without characters that a terminal would obey.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '"' | '\\' | ']' => quoted.extend(['\\', character]),
            _ if character.is_control() || is_format(character) => {
                quoted.extend(character.escape_unicode());
            }
            _ => quoted.push(character),
        }
    }
    quoted
}

/// Characters that change how others are shown, or end a line.
fn is_format(character: char) -> bool {
    matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

impl Sink for Syslog {
    fn batch(&self) -> (usize, Duration) {
        (1, Duration::ZERO)
    }

    fn deliver(&mut self, events: &[Arc<Event>]) -> Outcome {
        for event in events {
            if let Err(error) = send(&self.socket, self.line(event).as_bytes()) {
                return failed(&error, events.len());
            }
        }
        Outcome::Delivered
    }
}

/// Sends one datagram. Whoever listens may have begun anew since the last, so nothing is kept open.
pub(super) fn send(socket: &Path, bytes: &[u8]) -> io::Result<()> {
    let own = UnixDatagram::unbound()?;
    own.set_write_timeout(Some(MOMENT))?;
    own.send_to(bytes, socket).map(drop)
}

/// What to do about a datagram that could not be sent.
pub(super) fn failed(error: &io::Error, count: usize) -> Outcome {
    match error.kind() {
        io::ErrorKind::WouldBlock => Outcome::Later("nobody reads from its socket".into(), None),
        io::ErrorKind::NotFound => Outcome::Later("nothing is at its socket's place".into(), None),
        _ if error
            .raw_os_error()
            .is_some_and(|number| number == TOO_LONG) =>
        {
            Outcome::Rejected(count, error.to_string())
        }
        _ => Outcome::Later(error.to_string(), None),
    }
}

/// EMSGSIZE.
const TOO_LONG: i32 = 90;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forward::event::tests::event;

    #[test]
    fn a_line_is_one_that_syslog_would_write() {
        let mut syslog = Syslog::new("/none");
        syslog.zone = TimeZone::UTC;
        assert_eq!(
            syslog.line(&event()),
            format!(
                "<12>Nov 30 11:04:33 guard[{}]: refused: node (pid 4312) may not delete ~/.pi/agent event=\"attempt\" \
                 run=\"7f3a\" pid=\"4312\" path=\"/home/u/.pi/a\\u{{a}}\\\"b\\\" \\\\ \\u{{1b}}\\]é\"",
                std::process::id()
            )
        );
    }

    #[test]
    fn it_arrives_and_whoever_never_reads_costs_a_moment() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("log");
        let mut syslog = Syslog::new(&path);
        let events = [Arc::new(event())];
        let Outcome::Later(why, None) = syslog.deliver(&events) else {
            panic!()
        };
        assert_eq!(why, "nothing is at its socket's place");
        let reader = UnixDatagram::bind(&path).unwrap();
        assert_eq!(syslog.deliver(&events), Outcome::Delivered);
        let mut bytes = [0; MOST];
        let length = reader.recv(&mut bytes).unwrap();
        assert_eq!(&bytes[..length], syslog.line(&events[0]).as_bytes());
        let full = (0..100_000).find_map(|_| match syslog.deliver(&events) {
            Outcome::Delivered => None,
            other => Some(other),
        });
        let expected = Outcome::Later("nobody reads from its socket".into(), None);
        assert_eq!(full, Some(expected));
        drop(reader);
        assert!(matches!(syslog.deliver(&events), Outcome::Later(..)));
    }
}
