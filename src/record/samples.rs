//! Values that the tests of several modules start from.

use super::*;

pub(crate) fn process(pid: i32, command: &str) -> Process {
    let arguments: Vec<Text> = command.split(' ').map(Text::from).collect();
    Process {
        pid,
        started: 100,
        executable: Text::from(format!("/usr/bin/{}", arguments[0])),
        arguments,
        arguments_cut: 0,
    }
}

pub(crate) fn attempt(pid: i32, operation: Operation, found: &str) -> Attempt {
    Attempt {
        time: jiff::Timestamp::UNIX_EPOCH,
        process: process(pid, "node --test create.test.js"),
        parents: vec![process(7, "npm test")],
        syscall: "unlinkat".into(),
        operation,
        asked: vec![found.into()],
        found: Some(found.into()),
        object: Some(ObjectKind::File),
        rule: Some(rule("~/.pi/agent")),
        because: None,
        answer: Answer::Refused,
        errno: "EACCES".into(),
    }
}

/// An attempt of the last process of `chain`, whose parents are those before it.
pub(crate) fn of(chain: &[i32], operation: Operation, found: &str) -> Attempt {
    let mut chain: Vec<Process> = chain.iter().rev().map(|&pid| process(pid, "x")).collect();
    let process = chain.remove(0);
    Attempt {
        process,
        parents: chain,
        ..attempt(1, operation, found)
    }
}

/// So many runs of so many days.
pub(crate) fn keep(runs: u32, days: u32) -> Recording {
    Recording {
        runs,
        days,
        ..Recording::default()
    }
}

pub(crate) fn rule(path: &str) -> RuleNote {
    RuleNote {
        path: path.into(),
        level: Level::ReadOnly,
        policy: "pi".into(),
        origin: Origin {
            file: "policy pi".into(),
            line: 4,
            column: 1,
        },
    }
}

pub(crate) fn header() -> Header {
    Header {
        version: VERSION,
        run: String::new(),
        token: crate::record::token(),
        time: jiff::Timestamp::UNIX_EPOCH,
        argv: vec!["npm".into(), "test".into()],
        cwd: "/home/u/proj".into(),
        uid: 1000,
        user: Some("u".into()),
        policy: "default".into(),
        kernel: "6.18.0".into(),
        guard: "0.1.0".into(),
        effort: "strict".into(),
        notes: Vec::new(),
        not_enforced: Vec::new(),
    }
}
