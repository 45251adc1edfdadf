//! A thread's line in the process table.

/// What `/proc/TID/status` says, as far as guard asks (proc_pid_status(5)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The process that the thread belongs to.
    pub tgid: i32,
    /// Its parent.
    pub parent: i32,
    /// The user for file access.
    pub user: u32,
    /// The group for file access.
    pub group: u32,
    /// Supplementary groups.
    pub groups: Vec<u32>,
    /// Whether its real, effective, saved and file-access ids are the same.
    pub is_one: bool,
    /// Capabilities in force.
    pub effective: u64,
    /// Capabilities that it can put into force.
    pub permitted: u64,
    /// Whether it, and all that it starts, can become nobody else by executing programs.
    pub no_new_privileges: bool,
    /// Bits that new files don't get.
    pub umask: u32,
    /// Signals that wait for the thread or its process, are not blocked, and have a handler.
    pub caught_pending: u64,
}

impl Status {
    /// Whether a signal waits that the thread would handle now.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.caught_pending != 0
    }

    /// Takes the text of the file apart; none when it is not such a text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut status = Self {
            is_one: true,
            ..Self::default()
        };
        let (mut pending, mut blocked, mut caught) = (0_u64, 0_u64, 0_u64);
        for line in text.lines() {
            let Some((key, value)) = line.split_once(':') else {
                continue;
            };
            let value = value.trim();
            let last = || {
                value
                    .split_whitespace()
                    .nth(3)
                    .and_then(|id| id.parse().ok())
            };
            if matches!(key, "Uid" | "Gid") {
                let mut ids = value.split_whitespace();
                let first = ids.next();
                status.is_one &= ids.all(|id| Some(id) == first);
            }
            let bits = || u64::from_str_radix(value, 16).ok();
            match key {
                "Umask" => status.umask = u32::from_str_radix(value, 8).ok()?,
                "Tgid" => status.tgid = value.parse().ok()?,
                "PPid" => status.parent = value.parse().ok()?,
                "Uid" => status.user = last()?,
                "Gid" => status.group = last()?,
                "Groups" => {
                    status.groups = value
                        .split_whitespace()
                        .filter_map(|id| id.parse().ok())
                        .collect()
                }
                "SigPnd" | "ShdPnd" => pending |= bits()?,
                "SigBlk" => blocked = bits()?,
                "SigCgt" => caught = bits()?,
                "NoNewPrivs" => status.no_new_privileges = value == "1",
                "CapPrm" => status.permitted = bits()?,
                "CapEff" => status.effective = bits()?,
                _ => {}
            }
        }
        status.caught_pending = pending & !blocked & caught;
        (status.tgid != 0).then_some(status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_of_this_very_thread() {
        let text = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let status = Status::parse(&text).unwrap();
        assert_eq!(status.tgid, std::process::id() as i32);
        assert_eq!(status.user, nix::unistd::geteuid().as_raw());
    }

    #[test]
    fn ids_that_differ_are_told() {
        let of = |uid: &str| {
            Status::parse(&format!("Tgid:\t1\nUid:\t{uid}\nGid:\t0\t0\t0\t0\n")).unwrap()
        };
        assert!(of("7\t7\t7\t7").is_one);
        assert!(!of("7\t0\t7\t7").is_one);
    }
}
