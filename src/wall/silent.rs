//! File systems that may never answer: their server is gone, or the program behind them hangs. What a wall grants the kernel
//! looks at, so such a mount is tried first, by a process that need not come back.

use std::collections::HashSet;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use crate::sys::{file, process};

/// Types, or how they begin, of file systems that ask somebody else.
const ASKING: &[&str] = &[
    "fuse", "nfs", "cifs", "smb", "9p", "ceph", "afs", "autofs", "lustre", "coda", "orangefs",
    "gfs2", "ocfs2", "beegfs", "virtiofs", "vboxsf", "davfs", "gpfs",
];
/// Longest wait for all of them together.
const PATIENCE: Duration = Duration::from_secs(1);

/// The mounts that have to be tried.
#[derive(Debug)]
pub struct Silent {
    asking: Option<HashSet<u64>>,
    left: Duration,
}

impl Default for Silent {
    fn default() -> Self {
        Self {
            asking: None,
            left: PATIENCE,
        }
    }
}

impl Silent {
    /// Whether the mount of this number, which `dir` lies on, gives no answer.
    pub fn is(&mut self, dir: &OwnedFd, mount: u64) -> bool {
        let asking = self.asking.get_or_insert_with(|| {
            let text = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
            asking(&String::from_utf8_lossy(&text))
        });
        if !asking.contains(&mount) {
            return false;
        }
        let started = Instant::now();
        let answered =
            process::done_in_time(self.left, || i32::from(file::stat(dir.as_fd()).is_err()));
        self.left = self.left.saturating_sub(started.elapsed());
        if !answered {
            tracing::warn!(
                mount,
                "a file system does not answer; guard acts there itself"
            );
        }
        !answered
    }
}

/// The numbers of the mounts in a mountinfo file that ask somebody else.
fn asking(mountinfo: &str) -> HashSet<u64> {
    let number = |line: &str| {
        let (before, after) = line.split_once(" - ")?;
        let kind = after.split(' ').next()?;
        let asks = ASKING.iter().any(|asking| kind.starts_with(asking));
        asks.then(|| before.split(' ').next()?.parse().ok())?
    };
    mountinfo.lines().filter_map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_that_ask_somebody_else() {
        let text = "22 1 254:0 / / rw - ext4 /dev/vda rw\n\
            30 22 0:40 / /net rw,nosuid shared:3 - fuse.sshfs host:/ rw\n\
            31 22 0:41 / /n rw - nfs4 host:/ rw\n\
            32 22 0:42 / /a\\040-\\040b rw - tmpfs none rw\n\
            nonsense\n";
        assert_eq!(asking(text), HashSet::from([30, 31]));
    }
}
