//! What the fuzzing targets in `fuzz/` call: one function for each kind of input that comes from outside. Not part of a
//! normal build.
#![forbid(unsafe_code)]

use std::cell::OnceCell;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::agents;
use crate::policy;
use crate::record;
use crate::supervise::{Last, Maze};

/// A folder of this process's own.
fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("guard-fuzz-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    assert!(
        fs::create_dir_all(&path).is_ok(),
        "cannot make {}",
        path.display()
    );
    path
}

/// Parses a policy. Whatever the text: a policy or an error in words, each rule with a line that the text has.
pub fn policy(text: &str) {
    match policy::parse(text, "fuzz.toml") {
        Ok(policy) => {
            let lines = text.lines().count().max(1);
            let own = policy
                .rules
                .iter()
                .filter(|rule| rule.policy == "fuzz.toml");
            own.for_each(|rule| assert!((1..=lines).contains(&rule.origin.line)));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Reads a record of any bytes: every line that is not empty is a line or is named as damaged, and the outline needs no
/// more than the first and the last.
pub fn record(bytes: &[u8]) {
    thread_local! {
        static FILE: PathBuf = folder("record").join("20260101T000000.000Z-aaaa.jsonl");
    }
    FILE.with(|path| {
        assert!(fs::write(path, bytes).is_ok());
        let lines = bytes
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty());
        let entries = record::entries(path).map(|entries| entries.filter(Result::is_ok).count());
        assert_eq!(entries.ok(), Some(lines.count()));
        assert!(record::outline(path).is_ok());
    });
}

/// Walks a path made of these bytes, beside the kernel: see [`Maze`].
pub fn walk(bytes: &[u8]) {
    thread_local! {
        static MAZE: OnceCell<Maze> = const { OnceCell::new() };
    }
    let Some(([how, restrict], path)) = bytes.split_first_chunk() else {
        return;
    };
    let last = [Last::Follow, Last::Keep, Last::Name][usize::from(*how) % 3];
    let restrict = if *how < 128 {
        0
    } else {
        u64::from(restrict % 32)
    };
    MAZE.with(|maze| {
        let maze = maze.get_or_init(|| match Maze::new(Path::new(&folder("maze"))) {
            Ok(maze) => maze,
            Err(error) => panic!("no maze: {error}"),
        });
        let path = maze.path(&path[..path.len().min(12)]);
        if let Err(problem) = maze.agree(&path, last, restrict) {
            panic!("{problem}");
        }
    });
}

/// Answers an agent's hook. Whatever the bytes, the answer is nothing or one line of JSON; the same bytes as a command come
/// back out of it whole.
pub fn hook(bytes: &[u8]) {
    const GUARD: &str = "/opt/guard";
    let Some((first, bytes)) = bytes.split_first() else {
        return;
    };
    let dialect = &agents::DIALECTS[usize::from(*first) % agents::DIALECTS.len()];
    let answer = dialect.answer(bytes, GUARD);
    let is_json = |text: &str| serde_json::from_str::<Value>(text).is_ok_and(|it| it.is_object());
    assert!(answer.stdout.is_empty() || is_json(&answer.stdout));
    let Ok(command) = std::str::from_utf8(bytes) else {
        return;
    };
    // One call in the form of every agent.
    let (tool, arguments) = (dialect.tools[0], json!({"command": command}));
    let call = json!({
        "tool_name": tool, "tool_input": arguments,
        "toolName": tool, "toolArgs": arguments,
        "tool_call": {"name": tool, "input": {"commands": [command]}},
    });
    let answer = dialect.answer(call.to_string().as_bytes(), GUARD);
    let said: Value = serde_json::from_str(&answer.stdout).unwrap_or_default();
    if command.contains('\0') {
        assert!(!answer.stderr.is_empty());
        return;
    }
    let mut found = Vec::new();
    texts(&said, &mut found);
    let inner = found.iter().find_map(|text| agents::inside(GUARD, text));
    let as_it_was = agents::inside(GUARD, command).unwrap_or_else(|| command.to_owned());
    assert_eq!(inner, Some(as_it_was));
}

/// Every text in a value.
fn texts<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(all) => all.iter().for_each(|one| texts(one, found)),
        Value::Object(map) => map.values().for_each(|one| texts(one, found)),
        _ => {}
    }
}
