//! Saying things on stderr from the supervisor, which must not wait for whoever reads them.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

/// Texts that wait for a slow reader; more are dropped.
const WAITING: usize = 64;
/// How long words about a refusal hold up the program that was refused, so that they come before its own; a reader that
/// is slower than this is not waited for again.
const MOMENT: Duration = Duration::from_millis(80);
/// How long the end of a run waits for a slow reader.
const PATIENCE: Duration = Duration::from_secs(2);

type Open = Box<dyn Fn() -> Box<dyn Write + Send> + Send>;

/// Writes texts in order on a thread of its own, begun at the first one. Errors are nobody's concern: a reader that is
/// gone must not end the run.
pub struct Speaker {
    open: Open,
    state: State,
}

enum State {
    Silent,
    Speaking(Voice),
    Ended,
}

struct Voice {
    /// The process that began the thread: a fork does not take it along.
    process: u32,
    texts: SyncSender<(String, Sender<()>)>,
    reader: Reader,
    gone: Receiver<()>,
    stop: Arc<AtomicBool>,
}

/// What is known of whoever reads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reader {
    Quick,
    Slow,
}

impl Speaker {
    /// Speaks on stderr, past the lock of [`io::stderr`]: a thread that waits for a reader must not hold it.
    pub fn stderr() -> Self {
        Self::new(Box::new(|| {
            match io::stderr().as_fd().try_clone_to_owned() {
                Ok(own) => Box::new(File::from(own)),
                Err(_) => Box::new(io::stderr()),
            }
        }))
    }

    /// Speaks to what `open` gives.
    pub fn new(open: Open) -> Self {
        Self {
            open,
            state: State::Silent,
        }
    }

    /// Says `text`, which ends with a line break. Waits a moment for a reader that keeps up, never for one that does not.
    pub fn say(&mut self, text: String) {
        if matches!(&self.state, State::Speaking(voice) if voice.process != std::process::id()) {
            self.state = State::Silent;
        }
        if let State::Silent = self.state {
            // Without a thread there is nobody to say it; the record still has it.
            let Ok(voice) = Voice::begin((self.open)()) else {
                return;
            };
            self.state = State::Speaking(voice);
        }
        if let State::Speaking(voice) = &mut self.state {
            let (written, said) = channel();
            if voice.texts.try_send((text, written)).is_ok()
                && voice.reader == Reader::Quick
                && said.recv_timeout(MOMENT) == Err(RecvTimeoutError::Timeout)
            {
                voice.reader = Reader::Slow;
            }
        }
    }

    /// Waits a little for what is left to be said, then is silent for good.
    pub fn end(&mut self) {
        if let State::Speaking(voice) = std::mem::replace(&mut self.state, State::Ended) {
            if voice.process != std::process::id() {
                return;
            }
            drop(voice.texts);
            let _ = voice.gone.recv_timeout(PATIENCE);
            voice.stop.store(true, Ordering::Relaxed);
        }
    }
}

impl Voice {
    fn begin(mut to: Box<dyn Write + Send>) -> io::Result<Self> {
        let (texts, waiting) = sync_channel::<(String, Sender<()>)>(WAITING);
        let (going, gone) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        std::thread::Builder::new()
            .name("guard-says".into())
            .spawn(move || {
                for (text, written) in waiting {
                    if stopped.load(Ordering::Relaxed) {
                        break;
                    }
                    write(&mut *to, text.as_bytes());
                    let _ = written.send(());
                }
                drop(to);
                drop(going);
            })?;
        Ok(Self {
            process: std::process::id(),
            texts,
            reader: Reader::Quick,
            gone,
            stop,
        })
    }
}

/// Writes all of `bytes` in one call where that is possible. Programs like node make the pipe that they share with guard
/// non-blocking: "would block" is answered with patience.
fn write(to: &mut dyn Write, mut bytes: &[u8]) {
    let begun = Instant::now();
    while !bytes.is_empty() {
        match to.write(bytes) {
            Ok(0) => return,
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error)
                if error.kind() == io::ErrorKind::WouldBlock && begun.elapsed() < PATIENCE =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(_) => return,
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Mutex;

    use super::*;

    /// What was said, shared with the test.
    #[derive(Clone, Default)]
    pub(crate) struct Heard(Arc<Mutex<Vec<u8>>>);

    impl Heard {
        pub(crate) fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
        pub(crate) fn speaker(&self) -> Speaker {
            let heard = self.clone();
            Speaker::new(Box::new(move || Box::new(heard.clone())))
        }
    }

    impl Write for Heard {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn all_is_said_in_order_before_the_end_and_nothing_after_it() {
        let heard = Heard::default();
        let mut speaker = heard.speaker();
        speaker.say("one\n".into());
        speaker.say("two\n".into());
        speaker.end();
        assert_eq!(heard.text(), "one\ntwo\n");
        speaker.say("three\n".into());
        speaker.end();
        assert_eq!(heard.text(), "one\ntwo\n");
    }

    /// Fails as a full non-blocking pipe, an interrupted call and a closed pipe do, in turn.
    struct Bad(Vec<io::ErrorKind>, Heard);

    impl Write for Bad {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            match self.0.pop() {
                Some(kind) => Err(kind.into()),
                None => self.1.write(&bytes[..bytes.len().min(2)]),
            }
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_pipe_is_tried_again_and_a_closed_one_is_left() {
        let heard = Heard::default();
        let kinds = vec![io::ErrorKind::WouldBlock, io::ErrorKind::Interrupted];
        write(&mut Bad(kinds, heard.clone()), b"words\n");
        assert_eq!(heard.text(), "words\n");
        write(
            &mut Bad(vec![io::ErrorKind::BrokenPipe], heard.clone()),
            b"more\n",
        );
        assert_eq!(heard.text(), "words\n");
    }

    /// Blocks for ever.
    struct Stuck;

    impl Write for Stuck {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            loop {
                std::thread::park();
            }
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_never_reads_holds_nothing_up() {
        let mut speaker = Speaker::new(Box::new(|| Box::new(Stuck)));
        let begun = Instant::now();
        for _ in 0..10 * WAITING {
            speaker.say("words\n".into());
        }
        assert!(
            begun.elapsed() < Duration::from_secs(1),
            "{:?}",
            begun.elapsed()
        );
        speaker.end();
        assert!(
            begun.elapsed() < PATIENCE + Duration::from_secs(3),
            "{:?}",
            begun.elapsed()
        );
    }
}
