//! The modules keep to the table of the style guide: what each may import, and where unsafe code is.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};

/// A module and what it may not name: `crate::` modules by their name, other crates with `::` after it.
const FORBIDDEN: &[(&str, &[&str])] = &[
    ("main", &["nix::", "landlock::", "libc::", "crate::"]),
    ("lib", &["nix::", "landlock::", "libc::", "crate::"]),
    (
        "fuzzing",
        &[
            "nix::",
            "landlock::",
            "crate::wall",
            "crate::launch",
            "crate::cli",
        ],
    ),
    ("cli", &["nix::", "landlock::", "libc::", "crate::sys"]),
    (
        "policy",
        &[
            "nix::",
            "landlock::",
            "libc::",
            "crate::sys",
            "crate::plan",
            "crate::wall",
            "crate::launch",
            "crate::supervise",
            "crate::record",
            "crate::cli",
            "std::time::",
            "jiff::",
            "std::process",
        ],
    ),
    (
        "plan",
        &[
            "landlock::",
            "crate::sys",
            "crate::wall",
            "crate::launch",
            "crate::supervise",
            "crate::record",
            "crate::cli",
            "std::process",
        ],
    ),
    (
        "wall",
        &[
            "crate::supervise",
            "crate::record",
            "crate::cli",
            "crate::launch",
        ],
    ),
    ("launch", &["crate::policy", "crate::cli"]),
    (
        "supervise",
        &[
            "landlock::",
            "crate::cli",
            "crate::wall",
            "println!",
            "eprintln!",
            "print!(",
            "toml::",
        ],
    ),
    (
        "record",
        &[
            "landlock::",
            "crate::sys",
            "crate::supervise",
            "crate::wall",
            "crate::launch",
            "crate::cli",
            "crate::forward",
        ],
    ),
    // What the record tells is put into events by `cli`.
    (
        "forward",
        &[
            "nix::",
            "landlock::",
            "libc::",
            "crate::sys",
            "crate::plan",
            "crate::wall",
            "crate::launch",
            "crate::supervise",
            "crate::record",
            "crate::cli",
            // The environment is handed in, before the command starts.
            "std::env",
            "env::var",
        ],
    ),
    ("agents", &["crate::supervise", "crate::wall"]),
    ("random", &["crate::"]),
    ("sys", &["crate::"]),
];

/// What the table above allows nevertheless, with the reason.
const EXCEPTIONS: &[(&str, &str)] = &[
    // Its own parts.
    ("sys", "crate::sys"),
];

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Every source file with the module that it belongs to.
fn files() -> Vec<(String, PathBuf, String)> {
    fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path);
            }
        }
    }
    let mut paths = Vec::new();
    walk(&source(), &mut paths);
    paths
        .into_iter()
        .map(|path| {
            let first = path
                .strip_prefix(source())
                .unwrap()
                .components()
                .next()
                .unwrap();
            let module = first
                .as_os_str()
                .to_string_lossy()
                .trim_end_matches(".rs")
                .to_owned();
            let text = fs::read_to_string(&path).unwrap();
            (module, path, text)
        })
        .collect()
}

/// A line without its comment, and nothing of what a `#[cfg(test)]` module at the end of a file holds.
fn code(text: &str) -> impl Iterator<Item = (usize, String)> + '_ {
    text.lines()
        .enumerate()
        .take_while(|(_, line)| line.trim() != "#[cfg(test)]")
        .map(|(n, line)| {
            (
                n + 1,
                line.split("//").next().unwrap_or_default().to_owned(),
            )
        })
}

/// `use crate::{a, b::c}` in one line each, so that words are found where braces hide them.
fn spelled_out(line: &str) -> String {
    match line.trim().strip_prefix("use crate::{") {
        Some(rest) => rest
            .split(',')
            .map(|part| format!("crate::{} ", part.trim()))
            .collect(),
        None => line.to_owned(),
    }
}

fn names(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let joined = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        !joined(before)
            && before != Some(':')
            && (!word.ends_with(|c: char| c.is_alphanumeric()) || !joined(after))
    })
}

#[test]
fn modules_import_what_the_table_allows() {
    let mut problems = Vec::new();
    for (module, path, text) in files() {
        let Some((_, forbidden)) = FORBIDDEN.iter().find(|(name, _)| *name == module) else {
            problems.push(format!(
                "{}: a module that the table does not know",
                path.display()
            ));
            continue;
        };
        for (number, line) in code(&text) {
            let line = spelled_out(&line);
            for word in forbidden.iter().filter(|word| names(&line, word)) {
                if !EXCEPTIONS
                    .iter()
                    .any(|(m, allowed)| *m == module && names(&line, allowed))
                {
                    problems.push(format!(
                        "{}:{number}: {module} may not name {word}",
                        path.display()
                    ));
                }
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn unsafe_code_is_in_sys_alone() {
    let mut problems = Vec::new();
    for (module, path, text) in files() {
        let top = path.file_name().is_some_and(|n| n == "mod.rs")
            && path.parent().and_then(Path::parent) == Some(source().as_path());
        if top && module != "sys" && !text.contains("#![forbid(unsafe_code)]") {
            problems.push(format!("{}: no #![forbid(unsafe_code)]", path.display()));
        }
        if module != "sys" {
            for (number, line) in code(&text).filter(|(_, line)| names(line, "unsafe")) {
                if !line.contains("forbid(unsafe_code)") {
                    problems.push(format!("{}:{number}: unsafe outside sys", path.display()));
                }
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Each file begins with what it owns, and stays near 300 lines.
#[test]
fn files_say_what_they_own_and_stay_small() {
    let mut problems = Vec::new();
    for (_, path, text) in files() {
        if !text.starts_with("//! ") {
            problems.push(format!(
                "{}: the first line does not say what it owns",
                path.display()
            ));
        }
        let lines = text
            .lines()
            .take_while(|l| l.trim() != "#[cfg(test)]")
            .count();
        if lines > 450 {
            problems.push(format!("{}: {lines} lines", path.display()));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn the_check_itself_finds_what_it_looks_for() {
    assert!(names("use nix::fcntl;", "nix::"));
    assert!(!names("use unix::fcntl;", "nix::"));
    assert!(!names("use std::os::unix::fs;", "nix::"));
    assert!(names(
        &spelled_out("use crate::{plan, sys::open};"),
        "crate::sys"
    ));
    assert!(!names("use crate::system;", "crate::sys"));
    assert!(!names("unsafe_code", "unsafe"));
    assert!(names("let x = unsafe { y };", "unsafe"));
}
