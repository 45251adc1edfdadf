//! Reporting: from a refusal to the attempt that the record keeps.

use std::path::Path;

use super::calls::Call;
use super::decide::{Reason, Refusal};
use super::observe::Observer;
use super::target::Target;
use crate::plan::{Plan, RuleId};
use crate::record::{Answer, Attempt, Parent, RuleNote};
use crate::sys::Errno;
use crate::sys::process::origin;

const MOST_PARENTS: usize = 16;

/// Describes a refusal.
pub fn describe(
    plan: &Plan,
    observer: &Observer<'_>,
    call: &Call,
    refusal: &Refusal,
    found: Option<&Path>,
    answer: Answer,
    errno: Errno,
) -> Attempt {
    let process = process(observer.target);
    Attempt {
        time: jiff::Timestamp::now(),
        pid: process.pid,
        executable: process.executable,
        arguments: process.arguments,
        parents: process.parents,
        syscall: call.name.to_owned(),
        operation: refusal.operation,
        asked: observer.asked.clone(),
        found: found.map(|path| path.to_string_lossy().into_owned()),
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
        policy: rule.policy.clone(),
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

struct Process {
    pid: i32,
    executable: String,
    arguments: Vec<String>,
    parents: Vec<Parent>,
}

fn process(target: &Target) -> Process {
    let status = target.status().cloned().unwrap_or_default();
    let pid = if status.tgid == 0 {
        target.tid
    } else {
        status.tgid
    };
    let executable = std::fs::read_link(format!("/proc/{pid}/exe"))
        .map_or_else(|_| name(pid), |path| path.to_string_lossy().into_owned());
    let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let arguments = words(&arguments);
    Process {
        pid,
        executable,
        arguments,
        parents: parents(status.parent),
    }
}

/// The arguments of a process as /proc has them, each ended by a zero byte. A process that gives itself a title (node,
/// postgres) fills the room of its arguments with zeros: those are no empty arguments.
fn words(cmdline: &[u8]) -> Vec<String> {
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
    kept.split(|byte| *byte == 0)
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect()
}

fn name(pid: i32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/comm"))
        .unwrap_or_default()
        .trim_end()
        .to_owned()
}

fn parents(first: i32) -> Vec<Parent> {
    let own = std::process::id() as i32;
    let mut parents = Vec::new();
    let mut pid = first;
    while pid > 1 && pid != own && parents.len() < MOST_PARENTS {
        parents.push(Parent {
            pid,
            name: name(pid),
        });
        pid = origin(pid).map_or(0, |(parent, _)| parent);
    }
    parents
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
