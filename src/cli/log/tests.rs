//! What is printed, to the letter.

use std::path::Path;

use super::*;
use crate::record::{Journal, ObjectKind, Text, samples};

/// A run in which node, started by a shell that npm started, tried to remove what its siblings left.
pub fn recorded() -> (tempfile::TempDir, View) {
    let top = tempfile::tempdir().unwrap();
    let keep = samples::keep(0, 0);
    let mut journal = Journal::new(top.path().to_owned(), samples::header(), keep);
    for n in 0..12 {
        let path = format!("/home/u/.pi/agent/sessions/{n}");
        let mut attempt = samples::attempt(4312, Operation::Delete, &path);
        attempt.asked = vec![format!("{n}").into()];
        attempt.parents.insert(0, samples::process(9, "sh -c node"));
        journal.attempt(&attempt).unwrap();
    }
    let mut attempt = samples::attempt(4313, Operation::Delete, "/home/u/.pi/agent");
    attempt.process = samples::process(4313, "rm -rf /home/u/.pi/agent");
    attempt.parents.insert(0, samples::process(9, "sh -c node"));
    attempt.operation = Operation::Write;
    attempt.object = Some(ObjectKind::Folder);
    journal.attempt(&attempt).unwrap();
    journal.finish(Some(0), Some(123)).unwrap();
    drop(journal);
    let view = plain(top.path());
    (top, view)
}

/// As `guard log` shows the records in `dir` to u, in UTC.
pub fn plain(dir: &Path) -> View {
    View {
        dir: dir.to_owned(),
        homes: Homes::new(Path::new("/home/u")),
        zone: TimeZone::UTC,
        look: Look::plain(),
        filter: Filter::default(),
    }
}

fn shown(print: impl FnOnce(&mut dyn Write) -> Result<i32, Failure>) -> String {
    let mut out = Vec::new();
    print(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn all_runs_in_a_table() {
    let (_top, view) = recorded();
    let runs = list(&view.dir).unwrap();
    assert_eq!(
        shown(|out| table::print(&view, &runs, out)),
        format!(
            "RUN       TIME                 ATTEMPTS       STATUS  COMMAND\n\
             {:8}  1970-01-01 00:00:00        13  0, here 123  npm test\n\
             \u{20}         under ~/.pi/agent\n",
            runs[0].run
        )
    );
    assert!(shown(|out| table::print(&view, &[], out)).starts_with("Nothing was refused so far"));
}

#[test]
fn one_run_as_a_tree_of_processes() {
    let (_top, view) = recorded();
    let runs = list(&view.dir).unwrap();
    let text = shown(|out| one::print(&view, &runs[0], out));
    let (_, body) = text.split_once("kernel 6.18.0, guard 0.1.0\n").unwrap();
    let attempts: String = (0..8)
        .map(|n| {
            format!(
                "   │     {:>6}  00:00:00.000  unlinkat EACCES  ~/.pi/agent/sessions/{n} (as {n})\n",
                n + 1
            )
        })
        .collect();
    let expected = format!(
        "\nnpm test (pid 7)\n\
         └─ sh -c node (pid 9)\n   \
            ├─ node --test create.test.js (pid 4312)\n   \
            │     tried to remove 12 entries (12 files) under ~/.pi/agent: a recursive delete\n   \
            │       rule ~/.pi/agent = \"read-only\" (policy pi:4)\n\
         {}   \
            │               … and 4 more, the last at 00:00:00.000 on ~/.pi/agent/sessions/11\n   \
            └─ rm -rf ~/.pi/agent (pid 4313)\n         \
                  tried to write to 1 entry under ~/.pi/agent\n           \
                    rule ~/.pi/agent = \"read-only\" (policy pi:4)\n               \
                   13  00:00:00.000  unlinkat EACCES  ~/.pi/agent\n\n\
         13 attempts refused. The command ended with 0, guard with 123.\n",
        attempts.replace("   │     ", "   │       ")
    );
    assert_eq!(body, expected, "{body}");
}

#[test]
fn filters_leave_what_they_name() {
    let (_top, mut view) = recorded();
    let runs = list(&view.dir).unwrap();
    let arguments = FilterArgs {
        path: Some("/home/u/.pi/agent/sessions/3".into()),
        ..FilterArgs::default()
    };
    view.filter = Filter::new(&arguments, &TimeZone::UTC).unwrap();
    let text = shown(|out| one::print(&view, &runs[0], out));
    assert_eq!(text.matches("unlinkat").count(), 1, "{text}");
    assert!(
        text.contains("     4  00:00:00.000  unlinkat EACCES  ~/.pi/agent/sessions/3 (as 3)\n")
    );
    let lines = shown(|out| json::one(&view, &runs[0], out));
    assert_eq!(lines.lines().count(), 1, "{lines}");
    let arguments = FilterArgs {
        program: Some("cargo".into()),
        ..FilterArgs::default()
    };
    view.filter = Filter::new(&arguments, &TimeZone::UTC).unwrap();
    assert_eq!(
        shown(|out| table::print(&view, &runs, out)).lines().count(),
        1
    );
    assert_eq!(shown(|out| json::all(&view, &runs, out)), "");
}

#[test]
fn a_record_that_is_cut_or_damaged_says_so() {
    let (_top, view) = recorded();
    let run = list(&view.dir).unwrap().remove(0);
    let bytes = std::fs::read(&run.path).unwrap();
    std::fs::write(&run.path, &bytes[..bytes.len() - 9]).unwrap();
    let text = shown(|out| one::print(&view, &run, out));
    assert!(
        text.contains("\nnote: guard was killed while it wrote the next line"),
        "{text}"
    );
    assert!(
        text.ends_with("The record has no end: the run goes on, or it was cut short.\n"),
        "{text}"
    );
    let mut bytes = bytes;
    let third = bytes
        .split_inclusive(|&byte| byte == b'\n')
        .take(2)
        .map(<[u8]>::len)
        .sum::<usize>();
    bytes[third] = b'x';
    std::fs::write(&run.path, &bytes).unwrap();
    let mut out = Vec::new();
    assert_eq!(one::print(&view, &run, &mut out).unwrap(), 1);
    let text = String::from_utf8(out).unwrap();
    assert!(
        text.contains("\nLine 3 of the record is damaged;"),
        "{text}"
    );
    let mut out = Vec::new();
    assert_eq!(
        check::check(&view, std::slice::from_ref(&run), &mut out).unwrap(),
        1
    );
    let text = String::from_utf8(out).unwrap();
    assert!(
        text.ends_with("what stands at line 3 is no line of a record\n"),
        "{text}"
    );
}

#[test]
fn json_is_the_file_or_an_object_a_run() {
    let (_top, view) = recorded();
    let runs = list(&view.dir).unwrap();
    let bytes = std::fs::read(&runs[0].path).unwrap();
    assert_eq!(
        shown(|out| json::one(&view, &runs[0], out)).as_bytes(),
        bytes
    );
    let all: serde_json::Value =
        serde_json::from_str(&shown(|out| json::all(&view, &runs, out))).unwrap();
    assert_eq!(
        (&all["attempts"], &all["footer"]["exit_status"]),
        (&13.into(), &123.into())
    );
}

#[test]
fn a_run_is_found_by_the_beginning_of_its_id() {
    let (_top, view) = recorded();
    let runs = list(&view.dir).unwrap();
    assert_eq!(view.one_of(&runs, &runs[0].run[..2]).unwrap(), &runs[0]);
    assert_eq!(view.one_of(&runs, "last").unwrap(), &runs[0]);
    assert!(
        view.one_of(&runs, "xyz")
            .unwrap_err()
            .to_string()
            .starts_with("no run xyz in ")
    );
}

#[test]
fn counts_by_program_operation_and_rule() {
    let (_top, view) = recorded();
    let runs = list(&view.dir).unwrap();
    let text = shown(|out| stats::stats(&view, &runs, false, out));
    assert_eq!(
        text,
        "13 attempts in 1 run\n\nby program\n      12  node\n       1  rm\n\nby operation\n      \
         12  delete\n       1  write\n\nby rule\n      13  ~/.pi/agent\n\nby day\n      13  1970-01-01\n"
    );
}

#[test]
fn names_that_a_terminal_would_obey_are_shown_harmlessly() {
    let top = tempfile::tempdir().unwrap();
    let keep = samples::keep(0, 0);
    let mut journal = Journal::new(top.path().to_owned(), samples::header(), keep);
    let mut attempt = samples::attempt(1, Operation::Delete, "/x");
    let name = Text::from(&b"/home/u/a\n\"b\"\x1b[2J\x07\xe9\xff"[..]);
    attempt.found = Some(name.clone());
    attempt.asked = vec![name.clone()];
    attempt.process.arguments = vec!["rm".into(), name];
    for _ in 0..12 {
        journal.attempt(&attempt).unwrap();
    }
    journal.finish(Some(0), Some(0)).unwrap();
    let view = View {
        dir: top.path().to_owned(),
        homes: Homes::default(),
        zone: TimeZone::UTC,
        look: Look::plain(),
        filter: Filter::default(),
    };
    let run = list(top.path()).unwrap().remove(0);
    let text = shown(|out| one::print(&view, &run, out));
    assert!(
        text.contains(r#"/home/u/a\n"b"\e[2J\x07\xe9\xff"#),
        "{text}"
    );
    assert!(!text.contains(['\u{1b}', '\u{7}', '\u{fffd}']));
    for line in std::fs::read_to_string(&run.path).unwrap().lines() {
        serde_json::from_str::<serde_json::Value>(line).unwrap();
    }
}
