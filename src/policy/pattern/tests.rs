//! Tests of [`super`].
#![forbid(unsafe_code)]

use super::*;

fn text(text: &str) -> Part {
    Part::Text(Text::Owned(text.to_owned()))
}

fn env(name: &str, default: Option<Vec<Part>>) -> Part {
    Part::Env {
        name: Text::Owned(name.to_owned()),
        default: default.map(Template),
    }
}

fn path(parts: Vec<Part>) -> Result<Pattern, Fault> {
    Ok(Pattern::Path(Template(parts)))
}

fn glob(base: Vec<Part>, tail: &str) -> Result<Pattern, Fault> {
    Ok(Pattern::Glob {
        base: Template(base),
        tail: Text::Owned(tail.to_owned()),
    })
}

fn problem(text: &str) -> (usize, String) {
    let fault = Pattern::parse(text).expect_err(text);
    (fault.offset, fault.problem.to_string())
}

#[test]
fn every_form_of_variable() {
    assert_eq!(Pattern::parse("/a/b"), path(vec![text("/a/b")]));
    assert_eq!(Pattern::parse("~"), path(vec![Part::Home]));
    assert_eq!(
        Pattern::parse("~/.pi"),
        path(vec![Part::Home, text("/.pi")])
    );
    assert_eq!(Pattern::parse("/a~"), path(vec![text("/a~")]));
    assert_eq!(
        Pattern::parse("${CODEX_HOME}"),
        path(vec![env("CODEX_HOME", None)])
    );
    assert_eq!(
        Pattern::parse("${CODEX_HOME:-~/.codex}/x"),
        path(vec![
            env("CODEX_HOME", Some(vec![Part::Home, text("/.codex")])),
            text("/x")
        ])
    );
    assert_eq!(
        Pattern::parse("${A:-${B:-~}/c}"),
        path(vec![env(
            "A",
            Some(vec![env("B", Some(vec![Part::Home])), text("/c")])
        )])
    );
    assert_eq!(
        Pattern::parse("~/${NAME:-.x}"),
        path(vec![
            Part::Home,
            text("/"),
            env("NAME", Some(vec![text(".x")]))
        ])
    );
    assert_eq!(
        Pattern::parse("${workspace}/a"),
        path(vec![Part::Workspace, text("/a")])
    );
    assert_eq!(Pattern::parse("${tmp}"), path(vec![Part::Tmp]));
    assert_eq!(
        Pattern::parse("${vcs}/hooks"),
        path(vec![Part::Vcs, text("/hooks")])
    );
    assert_eq!(
        Pattern::parse("${http_dir}"),
        path(vec![env("http_dir", None)])
    );
    assert_eq!(
        Pattern::parse("/a/\\$b\\[id\\]"),
        path(vec![text("/a/$b[id]")])
    );
}

#[test]
fn wildcards_and_their_base() {
    assert_eq!(
        Pattern::parse("**/*.keystore"),
        glob(vec![text("/")], "**/*.keystore")
    );
    assert_eq!(
        Pattern::parse("~/a/b*/c"),
        glob(vec![Part::Home, text("/a/")], "b*/c")
    );
    assert_eq!(
        Pattern::parse("${X}/{a/b,c}"),
        glob(vec![env("X", None), text("/")], "{a/b,c}")
    );
    assert_eq!(Pattern::parse("/*//x/"), glob(vec![text("/")], "*/x"));
    assert_eq!(Pattern::parse("/a\\*b/?"), glob(vec![text("/a*b/")], "?"));
}

#[test]
fn problems_and_where_they_are() {
    assert_eq!(problem(""), (0, "a path must not be empty".into()));
    assert_eq!(
        problem("a/b").1,
        "the path \"a/b\" is relative; start it with \"/\", \"~\", \"${NAME}\" or \"**\""
    );
    assert_eq!(
        problem("*.key").1,
        problem("a").1.replace("\"a\"", "\"*.key\"")
    );
    assert_eq!(problem("~root/x").0, 1);
    assert_eq!(
        problem("/ä/$HOME"),
        (
            3,
            "write a variable as ${NAME}, and a dollar sign as \\$".into()
        )
    );
    assert_eq!(problem("/a/${HOME"), (3, "\"${\" without its \"}\"".into()));
    assert_eq!(problem("${A:-~/b").0, 0);
    assert_eq!(
        problem("${A:-}").1,
        "the default of ${A} is empty; leave \":-\" out"
    );
    assert_eq!(problem("${A:=b}").1, "\"A\" is no name of a variable");
    assert_eq!(problem("${1A}").1, "\"1A\" is no name of a variable");
    assert_eq!(problem("${}").1, "\"\" is no name of a variable");
    assert_eq!(
        problem("${workspce}").1,
        "unknown variable \"workspce\"; did you mean \"workspace\"?"
    );
    assert_eq!(
        problem("${temp}/x").1,
        "unknown variable \"temp\"; did you mean \"tmp\"?"
    );
    assert_eq!(
        problem("${vc}").1,
        "unknown variable \"vc\"; did you mean \"vcs\"?"
    );
    assert_eq!(problem("/x/${vcs}").0, 3);
    assert_eq!(
        problem("${vcs:-/x}").1,
        "${vcs} always has a value and takes no default"
    );
    assert_eq!(
        problem("${tmp:-/x}").1,
        "${tmp} always has a value and takes no default"
    );
    assert_eq!(
        problem("/x/${tmp}"),
        (
            3,
            "${tmp} is a whole path and can only stand at the start".into()
        )
    );
    assert_eq!(
        problem("~/*/${A}").1,
        "a variable cannot stand after a wildcard or in the same path component"
    );
    assert_eq!(problem("${A}*").1, problem("~/*/${A}").1);
    assert_eq!(problem("${A:-/x*}").1, "a default cannot hold a wildcard");
    assert_eq!(
        problem("/a/*/../b").1,
        "\".\" and \"..\" cannot stand after a wildcard"
    );
    assert!(
        problem("/a/[b").1.starts_with("bad glob: "),
        "{}",
        problem("/a/[b").1
    );
    assert_eq!(problem("/a\0").0, 2);
}

#[test]
fn stars_and_separators() {
    let star = compile("*.key").unwrap().compile_matcher();
    assert!(star.is_match("a.key") && star.is_match(".key") && !star.is_match("d/a.key"));
    let deep = compile("**/*.key").unwrap().compile_matcher();
    assert!(deep.is_match("a.key") && deep.is_match("d/e/a.key") && !deep.is_match("a.keys"));
}
