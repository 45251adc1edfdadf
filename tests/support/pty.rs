//! A terminal of its own for a command, typed into and read like a person does.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub struct Terminal {
    master: File,
    child: Child,
    seen: Arc<Mutex<Vec<u8>>>,
    /// How much of `seen` was looked at.
    read: usize,
}

impl Terminal {
    /// Starts `command` as the leader of a session on a new terminal of 24 lines and 80 columns.
    pub fn start(mut command: Command) -> Self {
        let size = nix::pty::Winsize {
            ws_row: 24,
            ws_col: 80,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let pair = nix::pty::openpty(&size, None).unwrap();
        let give = |fd: &OwnedFd| fd.try_clone().unwrap();
        command
            .stdin(give(&pair.slave))
            .stdout(give(&pair.slave))
            .stderr(give(&pair.slave));
        let start = || {
            nix::unistd::setsid()?;
            // SAFETY: descriptor 0 is the terminal by now, and the request takes a number.
            match unsafe { libc::ioctl(0, libc::TIOCSCTTY, 0) } {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        };
        // SAFETY: only two system calls are made between fork and exec, and nothing is allocated.
        unsafe { command.pre_exec(start) };
        let child = command.spawn().unwrap();
        drop(pair.slave);
        drop(command);
        let master = File::from(pair.master);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (mut reader, sink) = (master.try_clone().unwrap(), Arc::clone(&seen));
        std::thread::spawn(move || {
            let mut buffer = [0_u8; 4096];
            while let Ok(n @ 1..) = reader.read(&mut buffer) {
                sink.lock().unwrap().extend_from_slice(&buffer[..n]);
            }
        });
        Self {
            master,
            child,
            seen,
            read: 0,
        }
    }

    pub fn send(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until `text` appears after what was seen before.
    pub fn expect(&mut self, text: &str) -> Result<(), String> {
        let mut end = None;
        super::eventually(Duration::from_secs(8), || {
            let seen = self.seen.lock().unwrap();
            let rest = String::from_utf8_lossy(&seen[self.read..]).into_owned();
            end = rest.find(text).map(|at| at + text.len());
            end.is_some()
        });
        match end {
            Some(n) => {
                self.read += n;
                Ok(())
            }
            None => Err(format!(
                "the terminal never showed {text:?}; it showed:\n{}",
                self.everything()
            )),
        }
    }

    pub fn everything(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().unwrap()).replace('\r', "")
    }

    /// Changes the window's size, as a terminal program does.
    pub fn resize(&self, rows: u16, columns: u16) {
        let size = nix::pty::Winsize {
            ws_row: rows,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        // SAFETY: the descriptor is open, and the request reads one Winsize, which `size` is.
        let done =
            unsafe { libc::ioctl(self.master.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) };
        assert_eq!(done, 0);
    }

    /// Waits for the end.
    pub fn end(mut self) -> Result<i32, String> {
        super::wait(&mut self.child, Duration::from_secs(8))
            .map_err(|e| format!("{e}; it showed:\n{}", self.everything()))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            // The hang-up goes to the session when the terminal closes; the leader goes now.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
