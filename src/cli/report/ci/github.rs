//! GitHub: annotations at the step, and a table in its summary.

use std::env;
use std::io;
use std::path::Path;

use super::{Outcome, OwnFile};
use crate::cli::report::wording;
use crate::cli::words::visible;
use crate::record::Group;

/// Annotations of a step that GitHub shows; it drops what comes after ten of a kind.
const MOST_ANNOTATIONS: usize = 10;

/// A step of a workflow.
#[derive(Debug)]
pub struct Github {
    /// The file for its summary, held from the start; why not, where it cannot be.
    summary: Option<io::Result<OwnFile>>,
}

impl Github {
    /// The step that guard runs in, if it is one.
    pub fn detect(may_change: &dyn Fn(&Path) -> bool) -> Option<Self> {
        let on = env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true");
        let path = env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty());
        on.then(|| Self {
            summary: path.map(|path| OwnFile::open(Path::new(&path), may_change)),
        })
    }

    /// Workflow commands (`::error …`), one line a group; they work on standard error as well.
    pub fn annotations(outcome: &Outcome<'_>) -> String {
        let groups: Vec<&Group> = outcome.groups().collect();
        let mut text = String::new();
        for group in groups.iter().take(MOST_ANNOTATIONS) {
            let message = format!("{}\n{}", outcome.sentence(group), outcome.details(group));
            text.push_str(&format!(
                "::error title=guard::{}\n",
                escaped(message.trim_end())
            ));
        }
        text
    }

    /// Adds the table to the step's summary, where it has one and something was tried.
    ///
    /// # Errors
    /// As open(2), write(2).
    pub fn summarise(&self, outcome: &Outcome<'_>) -> io::Result<()> {
        if outcome.groups().next().is_none() {
            return Ok(());
        }
        match &self.summary {
            None => Ok(()),
            Some(Ok(file)) => file.add(&table(outcome)),
            Some(Err(error)) => Err(io::Error::other(error.to_string())),
        }
    }
}

/// The table in Markdown.
fn table(outcome: &Outcome<'_>) -> String {
    let mut text = format!(
        "### guard refused what {} tried\n\n| program | what | rule | first | attempts |\n|---|---|---|---|---|\n",
        code(outcome.command)
    );
    for group in outcome.groups() {
        let first = group
            .first
            .as_ref()
            .map(|path| code(&outcome.homes.place(&path.shown())));
        let rule = group.rule.as_ref().map(|rule| code(&visible(&rule.path)));
        text.push_str(&format!(
            "| {} | {} | {} | {} | {} |\n",
            code(&wording::process(&group.process, outcome.homes)),
            wording::operation(group.operation),
            rule.unwrap_or_else(|| "every policy".into()),
            first.unwrap_or_default(),
            group.attempts,
        ));
    }
    text.push('\n');
    text
}

/// As code in a cell of a table: no markup of its own has a meaning.
fn code(text: &str) -> String {
    let html = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('|', "&#124;");
    format!("<code>{html}</code>")
}

/// The data of a workflow command.
fn escaped(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::report::ci::tests::{attempts, printed};

    #[test]
    fn each_group_is_an_annotation_of_one_line() {
        let text = printed(&attempts(), Github::annotations);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(
            lines[0].starts_with("::error title=guard::node tried to remove 3 entries (3 files) under ~/.pi/agent: a recursive delete%0Arule"),
            "{text}"
        );
        assert!(lines[0].contains("0%25<&>"), "{text}");
        assert_eq!(printed(&[], Github::annotations), "");
    }

    #[test]
    fn the_summary_is_added_to_and_names_mean_nothing_in_it() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("summary.md");
        std::fs::write(&path, "before\n").unwrap();
        let github = Github {
            summary: Some(OwnFile::open(&path, &|_| true)),
        };
        printed(&[], |outcome| github.summarise(outcome)).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "before\n");
        printed(&attempts(), |outcome| github.summarise(outcome)).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(
            text.starts_with("before\n### guard refused what <code>npm test</code> tried\n"),
            "{text}"
        );
        assert!(text.contains("| delete | <code>~/.pi/agent</code> | <code>~/.pi/agent/0%&lt;&amp;&gt;\"é\\e</code> | 3 |"), "{text}");
    }
}
