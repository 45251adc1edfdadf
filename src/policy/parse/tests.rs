//! Tests of [`super`].
#![forbid(unsafe_code)]

use super::*;

fn error(text: &str) -> String {
    parse(text, "policy.toml").expect_err(text).to_string()
}

#[test]
fn the_whole_language() {
    let text = r#"
        version = 1
        source = "a book"
        include = ["codex"]
        default = "no-delete"
        fail-on-attempt = true
        record = { keep-runs = 20, list-attempts = 100, also = ["journald", "otlp"] }
        [paths]
        "~/b" = "add-only"
        "~/a" = { level = "read-only", why = "keys", source = "seen" }
        "**/*.keystore" = "read-only"
        "${workspace}" = "writable"
    "#;
    let policy = parse(text, "my.toml").unwrap();
    assert_eq!(
        (&*policy.name, policy.default, policy.on_attempt),
        ("my.toml", Level::NoDelete, OnAttempt::Fail)
    );
    assert_eq!(
        policy.record,
        Some(Recording {
            runs: 20,
            days: 180,
            listed: 100,
        })
    );
    assert_eq!(policy.also, [Destination::Journald, Destination::Otlp]);
    let own: Vec<_> = policy
        .rules
        .iter()
        .filter(|r| r.policy == "my.toml")
        .map(|r| (&*r.text, r.level))
        .collect();
    let expected = [
        ("~/b", Level::AddOnly),
        ("~/a", Level::ReadOnly),
        ("**/*.keystore", Level::ReadOnly),
        ("${workspace}", Level::Writable),
    ];
    assert_eq!(own, expected, "in the order of the text");
    assert_eq!(policy.rules[1].why.as_deref(), Some("keys"));
    let source = |at: usize| policy.rules[at].source.as_deref();
    assert_eq!((source(0), source(1)), (Some("a book"), Some("seen")));
    assert!(
        source(4).is_some_and(|source| source.starts_with("codex ")),
        "an included policy has its own"
    );
    assert_eq!(
        policy.rules[1].origin,
        Origin {
            file: "my.toml".into(),
            line: 10,
            column: 9
        }
    );
    assert_eq!(policy.rules[4].origin.file, "policy codex");
    assert_eq!(policy.rules[4].policy, "codex");
}

#[test]
fn every_error_has_its_place_and_the_nearest_word() {
    let path = |line: &str| format!("version = 1\n[paths]\n{line}\n");
    for (text, expected) in [
        (
            "default = \"writable\"".to_owned(),
            "1:1: \"version = 1\" is missing",
        ),
        (
            "version = 2".into(),
            "1:11: version 2 is not known; this guard reads version 1",
        ),
        (
            "version = \"1\"".into(),
            "1:11: \"version\" must be the number 1, not string",
        ),
        (
            "version = 0x1".into(),
            "1:11: version 0x1 is not known; this guard reads version 1",
        ),
        (
            "version = 1\ndefalt = \"writable\"".into(),
            "2:1: unknown key \"defalt\"; did you mean \"default\"?",
        ),
        (
            path("\"/a\" = \"readonly\""),
            "3:8: unknown level \"readonly\"; did you mean \"read-only\"?",
        ),
        (
            path("\"/ä\" = \"readonly\""),
            "3:8: unknown level \"readonly\"; did you mean \"read-only\"?",
        ),
        (
            path("\"/a\" = 3"),
            "3:8: \"/a\" must be a level or a table of level and why, not integer",
        ),
        (
            path("\"/a\" = { why = \"x\" }"),
            "3:8: \"level\" is missing for the path \"/a\"",
        ),
        (
            path("\"/a\" = { level = \"writable\", wy = 1 }"),
            "3:30: unknown key \"wy\"; did you mean \"why\"?",
        ),
        (
            path("\"/a\" = { level = \"writable\", why = 1 }"),
            "3:36: \"why\" must be a string, not integer",
        ),
        (
            path("\"/a\" = { level = \"writable\", source = 1 }"),
            "3:39: \"source\" must be a string, not integer",
        ),
        (
            "version = 1\nsource = 1".into(),
            "2:10: \"source\" must be a string, not integer",
        ),
        (
            path("\"/ä/$HOME\" = \"writable\""),
            "3:5: write a variable as ${NAME}, and a dollar sign as \\$",
        ),
        (
            path("\"\\u002Fa/$HOME\" = \"writable\""),
            "3:1: write a variable as ${NAME}, and a dollar sign as \\$",
        ),
        (
            path("default = \"writable\""),
            "3:1: \"default\" is not a path; as a key of the policy it belongs above [paths]",
        ),
        (
            "version = 1\ninclude = [\"pi\", \"codx\"]".into(),
            "2:18: unknown policy \"codx\"; did you mean \"codex\"?",
        ),
        (
            "version = 1\ninclude = \"pi\"".into(),
            "2:11: \"include\" must be a list of names of shipped policies, not string",
        ),
        (
            "version = 1\ninclude = [1]".into(),
            "2:12: \"include\" must be a list of names of shipped policies, not integer",
        ),
        (
            "version = 1\nfail-on-attempt = 1".into(),
            "2:19: \"fail-on-attempt\" must be true or false, not integer",
        ),
        (
            "version = 1\n[record]\nalso = [\"otlp\", \"jornald\"]".into(),
            "3:17: guard cannot send records to \"jornald\"; did you mean \"journald\"?",
        ),
        (
            "version = 1\nrecord.also = \"otlp\"".into(),
            "2:15: \"also\" must be a list of syslog, journald and otlp, not string",
        ),
        (
            "version = 1\n[record]\nkeep-days = -1".into(),
            "3:13: \"keep-days\" must be a number from 0 to 4294967295, not integer",
        ),
        (
            "version = 1\n[record]\nkeep-day = 1".into(),
            "3:1: unknown key \"keep-day\"; did you mean \"keep-days\"?",
        ),
        (
            "version = 1\npaths = 1".into(),
            "2:9: \"paths\" must be a table, not integer",
        ),
    ] {
        assert_eq!(error(&text), format!("policy.toml:{expected}"), "{text}");
    }
}

#[test]
fn duplicate_keys_and_bad_toml_have_a_place() {
    let duplicate = error("version = 1\n[paths]\n\"/a\" = \"writable\"\n\"/a\" = \"read-only\"\n");
    assert_eq!(duplicate, "policy.toml:4:1: duplicate key");
    assert!(error("version = 1\nversion = 1").starts_with("policy.toml:2:1: "));
    let unquoted = error("version = 1\n[paths]\n~/a = \"writable\"");
    assert!(
        unquoted.starts_with("policy.toml:3:1: ") && !unquoted.contains('\n'),
        "{unquoted}"
    );
    assert!(error("").starts_with("policy.toml:1:1: "));
}

#[test]
fn what_is_left_out_is_not_brought_in() {
    let rules = |text: &str| parse(text, "x").unwrap().rules;
    let has = |rules: &[Rule], name: &str| rules.iter().any(|rule| rule.policy == name);
    let all = rules("version = 1\ninclude = [\"agents\"]");
    let some = rules("version = 1\nwithout = [\"pi\", \"codex\"]\ninclude = [\"agents\"]");
    assert!(has(&all, "pi") && has(&all, "codex") && has(&all, "omp"));
    assert!(!has(&some, "pi") && !has(&some, "codex") && has(&some, "omp"));
    assert_eq!(
        error("version = 1\nwithout = [\"pie\"]"),
        "policy.toml:2:12: unknown policy \"pie\"; did you mean \"pi\"?"
    );
}

#[test]
fn included_policies_count_once_and_own_keys_win() {
    let twice = parse(
        "version = 1\ninclude = [\"pi\", \"default\", \"pi\", \"ci\"]",
        "x",
    )
    .unwrap();
    let lines = twice
        .rules
        .iter()
        .filter(|r| r.text == "~/.pi/agent")
        .count();
    assert_eq!(lines, 1);
    assert_eq!(twice.on_attempt, OnAttempt::Fail, "ci says so");
    let own = parse(
        "version = 1\ninclude = [\"ci\"]\nfail-on-attempt = false\ndefault = \"read-only\"",
        "x",
    )
    .unwrap();
    assert_eq!(
        (own.on_attempt, own.default),
        (OnAttempt::Report, Level::ReadOnly)
    );
}

#[test]
fn every_shipped_policy_parses() {
    for name in shipped::names() {
        let policy = shipped_policy(name).unwrap().unwrap();
        assert_eq!(policy.name, name);
        assert!(!policy.rules.is_empty());
        let explained = |r: &Rule| r.level == Level::Writable || r.why.is_some();
        assert!(policy.rules.iter().all(explained), "{name}");
        let fails = policy.on_attempt == OnAttempt::Fail;
        assert_eq!(fails, name == "ci");
    }
}

#[test]
fn what_was_taken_apart_at_build_time_is_what_the_text_says() {
    for name in shipped::names() {
        let file = format!("{}/policies/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(file).unwrap();
        let parser = Parser {
            text: &text,
            lines: line_starts(&text),
            file: &format!("policy {name}"),
        };
        let mut read = parser.policy(&mut Seen::from([name])).unwrap();
        // A text does not know that it is a shipped one's.
        read.name = name.into();
        for rule in &mut read.rules {
            if rule.policy == parser.file {
                rule.policy = name.into();
            }
        }
        let built = shipped_policy(name).unwrap();
        assert_eq!(format!("{:?}", built.unwrap()), format!("{read:?}"));
    }
}
