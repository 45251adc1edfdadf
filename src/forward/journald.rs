//! To the journal of systemd, by its native protocol (<https://systemd.io/JOURNAL_NATIVE_PROTOCOL/>). The crates that speak it wait for a
//! journal that does not read.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::Event;
use super::event::Value;
use super::queue::{Outcome, Sink};
use super::syslog::{failed, send};

/// Where the journal listens.
pub const SOCKET: &str = "/run/systemd/journal/socket";
/// Bytes of one datagram; the kernel takes about 200 KiB where nobody has changed that.
const MOST: usize = 128 << 10;

/// The journal on this machine.
pub struct Journald {
    socket: PathBuf,
}

impl Journald {
    /// The one that listens at `socket`.
    pub fn new(socket: impl AsRef<Path>) -> Self {
        Self {
            socket: socket.as_ref().to_owned(),
        }
    }
}

impl Sink for Journald {
    fn batch(&self) -> (usize, Duration) {
        (1, Duration::ZERO)
    }

    fn deliver(&mut self, events: &[Arc<Event>]) -> Outcome {
        for event in events {
            if let Err(error) = send(&self.socket, &entry(event)) {
                return failed(&error, events.len());
            }
        }
        Outcome::Delivered
    }
}

/// An event as the journal takes it. A list is a field that is there several times. What is longer than a datagram may be is left
/// out, field by field.
fn entry(event: &Event) -> Vec<u8> {
    let mut entry = Vec::with_capacity(1024);
    field(&mut entry, "MESSAGE", &event.message);
    field(&mut entry, "PRIORITY", &event.severity.syslog().to_string());
    field(&mut entry, "SYSLOG_IDENTIFIER", "guard");
    field(&mut entry, "GUARD_EVENT", event.name);
    field(&mut entry, "GUARD_TIME", &format!("{:.9}", event.time));
    for (name, value) in event.fields() {
        let name = name.journald();
        match value {
            Value::Text(text) => field(&mut entry, name, text),
            Value::Number(number) => field(&mut entry, name, &number.to_string()),
            Value::List(texts) => texts.iter().for_each(|text| field(&mut entry, name, text)),
        }
    }
    entry
}

/// `NAME=value`, or where the value has several lines the name, its length in eight bytes, the lowest first, and the value.
fn field(entry: &mut Vec<u8>, name: &str, value: &str) {
    if entry.len() + name.len() + value.len() + 16 > MOST {
        return;
    }
    entry.extend(name.bytes());
    if value.contains('\n') {
        entry.push(b'\n');
        entry.extend((value.len() as u64).to_le_bytes());
    } else {
        entry.push(b'=');
    }
    entry.extend(value.bytes());
    entry.push(b'\n');
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram;

    use super::*;
    use crate::forward::event::Field;
    use crate::forward::event::tests::event;

    #[test]
    fn a_value_of_several_lines_has_its_length() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("socket");
        let reader = UnixDatagram::bind(&path).unwrap();
        let mut journald = Journald::new(&path);
        assert_eq!(journald.deliver(&[Arc::new(event())]), Outcome::Delivered);
        let mut bytes = vec![0; MOST];
        let length = reader.recv(&mut bytes).unwrap();
        let path = "/home/u/.pi/a\n\"b\" \\ \u{1b}]é";
        let mut expected = b"MESSAGE=refused: node (pid 4312) may not delete ~/.pi/agent\nPRIORITY=4\n\
            SYSLOG_IDENTIFIER=guard\nGUARD_EVENT=attempt\nGUARD_TIME=2026-11-30T11:04:33.023456789Z\n\
            GUARD_RUN=7f3a\nGUARD_PID=4312\nGUARD_PATH\n"
            .to_vec();
        expected.extend((path.len() as u64).to_le_bytes());
        expected.extend(path.bytes());
        expected.extend(b"\nGUARD_ARGUMENT=node\nGUARD_ARGUMENT=--test\nGUARD_ARGUMENT=\n");
        assert_eq!(
            String::from_utf8_lossy(&bytes[..length]),
            String::from_utf8_lossy(&expected)
        );
    }

    #[test]
    fn the_longest_entry_goes_into_one_datagram() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("socket");
        let _reader = UnixDatagram::bind(&path).unwrap();
        let mut long = event();
        for field in Field::ALL {
            long.add(*field, Value::List(vec!["x".repeat(4000); 9]));
        }
        assert!(entry(&long).len() > MOST / 2);
        assert_eq!(
            Journald::new(&path).deliver(&[Arc::new(long)]),
            Outcome::Delivered
        );
    }
}
