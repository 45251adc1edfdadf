//! Reporting: from a refusal to the attempt that the record keeps.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::calls::Call;
use super::decide::{Reason, Refusal};
use super::observe::Observer;
use super::target::Target;
use super::territory::Facts;
use crate::plan::{Plan, RuleId};
use crate::record::{ARGUMENT_BYTES, Answer, Attempt, ObjectKind, Process, RuleNote, Text};
use crate::sys::Errno;
use crate::sys::process::origin_and_name;

/// Parents that an attempt tells, the nearest ones.
const MOST_PARENTS: usize = 32;

/// What a call was about.
pub struct Found {
    path: PathBuf,
    kind: Option<u32>,
}

impl Found {
    /// What is known of it; none where its path is not.
    pub fn of(facts: &Facts) -> Option<Self> {
        Some(Self {
            path: facts.path.clone()?,
            kind: facts.kind,
        })
    }

    fn object(&self) -> Option<ObjectKind> {
        Some(match self.kind? {
            libc::S_IFREG => ObjectKind::File,
            libc::S_IFDIR => ObjectKind::Folder,
            libc::S_IFLNK => ObjectKind::Link,
            _ => ObjectKind::Other,
        })
    }
}

/// Describes a refusal.
pub fn describe(
    plan: &Plan,
    observer: &Observer<'_>,
    call: &Call,
    refusal: &Refusal,
    found: Option<Found>,
    answer: Answer,
    errno: Errno,
) -> Attempt {
    let (process, parents) = family(observer.target);
    Attempt {
        time: jiff::Timestamp::now(),
        process,
        parents,
        syscall: call.name.to_owned(),
        operation: refusal.operation,
        asked: observer.asked.clone(),
        object: found.as_ref().and_then(Found::object),
        found: found.map(|found| found.path.as_path().into()),
        rule: refusal.rule.map(|rule| note(plan, rule)),
        because: because(refusal.reason).map(str::to_owned),
        answer,
        errno: errno_name(errno),
    }
}

fn note(plan: &Plan, rule: RuleId) -> RuleNote {
    let rule = plan.rule(rule);
    RuleNote {
        path: rule.shown.clone(),
        level: rule.level,
        policy: rule.policy.clone().into_owned(),
        origin: rule.origin.clone(),
    }
}

fn because(reason: Reason) -> Option<&'static str> {
    Some(match reason {
        Reason::Level => return None,
        Reason::OnTheWay => {
            "it leads to the protected place, so it keeps its name and its owner's access"
        }
        Reason::WouldFill => "it would put something at the protected place, where nothing is yet",
        Reason::OutOfReach => "something in it is protected by its name, and would not be there",
        Reason::KernelHelper => "by this setting the kernel runs programs outside of every sandbox",
        Reason::BlockDevice => "a block device holds whole file systems",
        Reason::Forbidden => "guard refuses this call under every policy",
        Reason::Unreadable => {
            "this process does not let guard look into it, so guard cannot see what it means"
        }
        Reason::Unknown => "guard could not find out where this lies",
        Reason::Credentials => "the process acts as a user that guard cannot act as",
    })
}

fn errno_name(errno: Errno) -> String {
    format!("{errno:?}")
}

/// A process as one program: its number, when it was started, and its short name.
type Identity = (i32, u64, Vec<u8>);

/// How long what is known of a process counts: it may become another program of the same name at any time.
const FRESH: Duration = Duration::from_millis(50);
/// Processes that a thread remembers.
const MOST_KNOWN: usize = 128;

thread_local! {
    /// Processes of late, so that a flood of attempts does not read the same files again and again.
    static KNOWN: RefCell<HashMap<Identity, (Instant, Process)>> = RefCell::new(HashMap::new());
}

/// The process that calls, and its parents up to guard's own.
fn family(target: &Target) -> (Process, Vec<Process>) {
    let pid = target.status().map_or(target.tid, |status| status.tgid);
    let own = std::process::id() as i32;
    let (mut above, started, name) = origin_and_name(pid).unwrap_or_default();
    let process = known((pid, started, name));
    let mut parents = Vec::new();
    while above > 1 && above != own && parents.len() < MOST_PARENTS {
        let (next, started, name) = origin_and_name(above).unwrap_or_default();
        parents.push(known((above, started, name)));
        above = next;
    }
    (process, parents)
}

fn known(identity: Identity) -> Process {
    let now = Instant::now();
    KNOWN.with_borrow_mut(|known| {
        if let Some((since, process)) = known.get(&identity)
            && now.duration_since(*since) < FRESH
        {
            return process.clone();
        }
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        let process = read(identity.0, identity.1);
        known.insert(identity, (now, process.clone()));
        process
    })
}

fn read(pid: i32, started: u64) -> Process {
    let executable = std::fs::read_link(format!("/proc/{pid}/exe"))
        .map_or_else(|_| name(pid), |path| path.as_path().into());
    let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    Process {
        pid,
        started,
        executable,
        arguments: words(&arguments),
        arguments_cut: 0,
    }
    .shortened(ARGUMENT_BYTES)
}

/// The arguments of a process as /proc has them, each ended by a zero byte. A process that gives itself a title (node,
/// postgres) fills the room of its arguments with zeros: those are no empty arguments.
fn words(cmdline: &[u8]) -> Vec<Text> {
    let kept = cmdline.strip_suffix(b"\0").unwrap_or(cmdline);
    let kept = if kept.ends_with(b"\0\0") {
        let end = kept
            .iter()
            .rposition(|byte| *byte != 0)
            .map_or(0, |at| at + 1);
        &kept[..end]
    } else {
        kept
    };
    kept.split(|byte| *byte == 0).map(Text::from).collect()
}

fn name(pid: i32) -> Text {
    let name = std::fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim_ascii_end().into()
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn arguments_and_titles() {
        for (cmdline, arguments) in [
            (&b"touch\0a b\0"[..], &["touch", "a b"][..]),
            (b"touch\0\0", &["touch", ""]),
            (b"npm install x\0\0\0\0\0", &["npm install x"]),
            (b"title without an end", &["title without an end"]),
            (b"", &[""]),
        ] {
            assert_eq!(words(cmdline), arguments, "{cmdline:?}");
        }
    }
}
