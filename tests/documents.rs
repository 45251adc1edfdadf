//! What the documents name exists.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::path::Path;

/// The texts between backticks that name a test: `file`, `file: name` or `file/part: name`.
fn named(text: &str) -> Vec<(String, Option<String>)> {
    let rows = text.lines().filter(|line| line.starts_with('|'));
    let last = rows.filter_map(|row| row.trim_end_matches(['|', ' ']).rsplit('|').next());
    let words = last.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    words
        .filter(|word| {
            !word.starts_with("cargo ") && !word.contains('-') && *word != "peer" && *word != "_32"
        })
        .map(|word| match word.split_once(": ") {
            Some((file, name)) => (file.to_owned(), Some(name.to_owned())),
            None => (word.to_owned(), None),
        })
        .collect()
}

#[test]
fn the_tests_that_the_threat_model_names_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(root.join("docs/threat-model.md")).unwrap();
    let tests = named(&text);
    assert!(tests.len() > 30, "{tests:?}");
    for (file, name) in tests {
        let path = root.join("tests").join(format!("{file}.rs"));
        let source = std::fs::read_to_string(&path).unwrap_or_else(|_| panic!("{file} is no test"));
        let Some(name) = name else { continue };
        let there = source.contains(&format!("fn {name}("))
            || source.contains(&format!(" {name}: "))
            || source.contains(&format!("\"{name}\""));
        assert!(there, "{file} has no {name}");
    }
}
