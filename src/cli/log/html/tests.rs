//! What the page holds without a browser; how it behaves in one is told by tests/html.rs.

use super::*;
use crate::record::{Journal, Operation, Text, list, samples};

const HOSTILE: &[&str] = &[
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "]]>--><b>",
    "{{data}}",
    "\u{2028}&amp;\"'",
    "a\nb\u{1b}[2J",
];

/// The page about a run in which all these names were tried.
fn hostile() -> String {
    let top = tempfile::tempdir().unwrap();
    let mut header = samples::header();
    header.argv = HOSTILE.iter().map(|&name| Text::from(name)).collect();
    header.policy = HOSTILE[0].into();
    header.notes = vec![HOSTILE[1].into()];
    let mut journal = Journal::new(top.path().to_owned(), header, samples::keep(0, 0));
    for name in HOSTILE {
        let mut attempt = samples::attempt(9, Operation::Delete, &format!("/home/u/{name}"));
        attempt.asked = vec![(*name).into()];
        attempt.because = Some((*name).into());
        attempt.process.executable = (*name).into();
        attempt.process.arguments = vec![(*name).into()];
        journal.attempt(&attempt).unwrap();
    }
    journal.finish(Some(0), Some(0)).unwrap();
    drop(journal);
    let mut out = Vec::new();
    let view = crate::cli::log::tests::plain(top.path());
    let run = list(top.path()).unwrap().remove(0);
    assert_eq!(write(view, &run, Path::new("-"), &mut out).unwrap(), 0);
    String::from_utf8(out).unwrap()
}

#[test]
fn nothing_that_a_program_named_is_markup() {
    let page = hostile();
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("</script").count(), 2);
    assert!(!page.contains("<img") && !page.contains("<b>]") && !page.contains("--><b>"));
    assert!(!page.contains(['\u{1b}', '\u{2028}']));
    assert!(page.contains("&lt;img src=x onerror=alert(1)&gt;"));
    assert_eq!(page.matches(SCRIPT).count(), 1);
    let (_, data) = page.split_once("id=\"data\">").unwrap();
    let (data, _) = data.split_once("</script>").unwrap();
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    let paths: Vec<_> = data["attempts"].as_array().unwrap().iter().collect();
    assert_eq!(paths[0]["path"], format!("~/{}", HOSTILE[0]));
    assert_eq!(paths[5]["path"], "~/a\\nb\\e[2J");
}

#[test]
fn without_scripts_the_page_is_the_text_of_guard_log() {
    let page = hostile();
    let (_, text) = page.split_once("as text\">").unwrap();
    let (text, _) = text.split_once("</pre>").unwrap();
    for words in [
        "6 attempts refused.",
        "unlinkat EACCES  ~/{{data}}",
        "(pid 9)",
        "tried to remove 6 entries",
    ] {
        assert!(text.contains(words), "{words} is not in {text}");
    }
}

#[test]
fn a_damaged_record_has_its_page_and_says_so() {
    let (_top, view) = crate::cli::log::tests::recorded();
    let run = list(&view.dir).unwrap().remove(0);
    let text = std::fs::read_to_string(&run.path).unwrap();
    let text = text.replacen("{\"type\":\"attempt\"", "x", 1);
    std::fs::write(&run.path, &text[..text.len() - 9]).unwrap();
    let mut out = Vec::new();
    assert_eq!(write(view, &run, Path::new("-"), &mut out).unwrap(), 1);
    let page = String::from_utf8(out).unwrap();
    for words in [
        "\"Line 2 of the record is damaged; what is shown",
        "\"notes\":[\"guard was killed while it wrote",
        "The record has no end: the run goes on",
    ] {
        assert!(page.contains(words), "{words} is not in {page}");
    }
}

#[test]
fn style_and_script_end_where_they_should_and_name_nothing_outside() {
    for part in [STYLE, SCRIPT] {
        assert!(!part.contains("</") && !part.contains("<!--") && !part.contains("url("));
    }
    for word in [
        "innerHTML",
        "outerHTML",
        "insertAdjacent",
        "document.write",
        "eval(",
        "fetch(",
        "import(",
    ] {
        assert!(!SCRIPT.contains(word), "{word}");
    }
    let page = hostile();
    let addresses =
        page.matches("://").count() - page.matches("http://www.w3.org/2000/svg").count();
    assert_eq!(addresses, 0);
}

#[test]
fn one_flood_leaves_room_and_says_so() {
    let top = tempfile::tempdir().unwrap();
    let mut keep = samples::keep(0, 0);
    keep.listed = 100_000;
    let mut journal = Journal::new(top.path().to_owned(), samples::header(), keep);
    for n in 0..6000 {
        let path = format!("/home/u/.pi/agent/{n}");
        journal
            .attempt(&samples::attempt(9, Operation::Delete, &path))
            .unwrap();
    }
    journal
        .attempt(&samples::attempt(
            9,
            Operation::Write,
            "/home/u/.pi/agent/x",
        ))
        .unwrap();
    journal.finish(Some(0), Some(0)).unwrap();
    drop(journal);
    let view = crate::cli::log::tests::plain(top.path());
    let run = list(top.path()).unwrap().remove(0);
    let mut out = Vec::new();
    write(view, &run, Path::new("-"), &mut out).unwrap();
    let page = String::from_utf8(out).unwrap();
    assert!(
        page.contains("1001 attempts that the record lists are too many for a page"),
        "{}",
        page.len()
    );
    assert!(page.contains("… and 1001 more"));
    assert!(page.contains("~/.pi/agent/x") && page.contains("\"rest\":1001"));
}
