//! Changes put in and taken out.
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn edit(path: &[&str], change: Change) -> Edit {
    Edit {
        path: path.iter().map(|&key| key.to_owned()).collect(),
        change,
    }
}

fn shell() -> Vec<Edit> {
    vec![edit(&["shellPath"], Change::Set(json!("/g/bash")))]
}

fn hooks() -> Vec<Edit> {
    vec![
        edit(&["version"], Change::Default(json!(1))),
        edit(&["hooks", "pre"], Change::Element(json!({"command": "g"}))),
    ]
}

fn bash_env() -> Vec<Edit> {
    vec![edit(
        &["shell_environment_policy", "set", "BASH_ENV"],
        Change::Set(json!("/g/env")),
    )]
}

#[test]
fn json_keeps_comments_order_and_what_it_does_not_know() {
    let before = "// mine\n{\n  \"b\": 1e3, // last\n\n  \"a\": [1, 2,], /* x */\n}\n";
    let after = apply(Format::Json, before, &shell()).unwrap();
    assert_eq!(
        after,
        "// mine\n{\n  \"b\": 1e3, // last\n\n  \"a\": [1, 2,], /* x */\n  \"shellPath\": \"/g/bash\",\n}\n"
    );
    assert!(
        holds(Format::Json, &after, &shell()).unwrap()
            && !holds(Format::Json, before, &shell()).unwrap()
    );
    assert_eq!(apply(Format::Json, &after, &shell()).unwrap(), after);
    let after = apply(Format::Json, before, &hooks()).unwrap();
    assert_eq!(
        read(Format::Json, &after).unwrap()["hooks"],
        json!({"pre": [{"command": "g"}]})
    );
    for empty in ["", "\n", "// nothing\n", "{}", "\u{feff}{}"] {
        let after = apply(Format::Json, empty, &shell()).unwrap();
        assert_eq!(
            read(Format::Json, &after).unwrap(),
            json!({"shellPath": "/g/bash"}),
            "{empty:?}"
        );
        assert_eq!(after.starts_with(BOM), empty.starts_with(BOM));
    }
}

#[test]
fn toml_keeps_comments_order_and_what_it_does_not_know() {
    for (before, after) in [
        (
            "",
            "[shell_environment_policy]\nset = { BASH_ENV = \"/g/env\" }\n",
        ),
        (
            "# c\r\nmodel = \"m\" # d\r\n\r\n[a.b]\r\nt = 1979-05-27T07:32:00Z\r\n",
            "# c\r\nmodel = \"m\" # d\r\n\r\n[a.b]\r\nt = 1979-05-27T07:32:00Z\r\n\r\n[shell_environment_policy]\r\nset = { BASH_ENV = \"/g/env\" }\r\n",
        ),
        (
            "[shell_environment_policy]\nset = { A = \"1\" } # mine\ninherit = \"all\"\n",
            "[shell_environment_policy]\nset = { A = \"1\" , BASH_ENV = \"/g/env\" } # mine\ninherit = \"all\"\n",
        ),
        (
            "[shell_environment_policy.set]\nBASH_ENV = '/old' # mine\n",
            "[shell_environment_policy.set]\nBASH_ENV = \"/g/env\" # mine\n",
        ),
    ] {
        assert_eq!(apply(Format::Toml, before, &bash_env()).unwrap(), after);
        assert_eq!(
            undo(Format::Toml, after, &bash_env(), before, after)
                .unwrap()
                .text,
            before
        );
    }
}

#[test]
fn what_is_broken_is_said_with_its_place() {
    let said =
        |format, text: &str, edits: &[Edit]| apply(format, text, edits).unwrap_err().to_string();
    assert!(said(Format::Json, "{\n  \"a\": }\n", &shell()).starts_with("line 2, column 8: "));
    assert!(said(Format::Json, "{'a': 1}", &shell()).starts_with("line 1, column 2: "));
    assert!(said(Format::Toml, "a = 1\nb = = 2\n", &bash_env()).starts_with("line 2, column 5: "));
    assert_eq!(
        said(Format::Json, "[1]", &shell()),
        "the file is not an object"
    );
    assert_eq!(
        said(Format::Json, "{\"hooks\": 1}", &hooks()),
        "hooks is not an object"
    );
    assert_eq!(
        said(Format::Json, "{\"hooks\": {\"pre\": 1}}", &hooks()),
        "hooks.pre is not an array"
    );
    assert!(said(Format::Json, "{\"a\": 1, \"a\": 2}", &shell()).starts_with("a is there twice"));
    assert_eq!(
        said(Format::Toml, "shell_environment_policy = 1", &bash_env()),
        "shell_environment_policy is not a table"
    );
}

#[test]
fn what_somebody_else_changed_stays() {
    let before = "{\n  \"a\": 1,\n  \"shellPath\": \"/bin/zsh\" // mine\n}\n";
    let after = apply(Format::Json, before, &shell()).unwrap();
    let undone = |text: &str| undo(Format::Json, text, &shell(), before, &after).unwrap();
    let edited = after.replace("\"a\": 1", "\"a\": 2, \"b\": [3]");
    assert_eq!(
        undone(&edited).text,
        before.replace("\"a\": 1", "\"a\": 2, \"b\": [3]")
    );
    let theirs = after.replace("/g/bash", "/bin/fish");
    assert_eq!(
        undone(&theirs),
        Undone {
            text: theirs.clone(),
            left: vec!["shellPath".into()]
        }
    );
    // Behind what was put in, so that its comma is not the one that was written.
    let before = "{\n  \"a\": 1\n}\n";
    let after = apply(Format::Json, before, &hooks()).unwrap();
    let edited = after
        .replace("\n}\n", ",\n  \"z\": 9\n}\n")
        .replace("\"g\"", "\"g\" /* x */");
    let undone = undo(Format::Json, &edited, &hooks(), before, &after).unwrap();
    assert_eq!(
        read(Format::Json, &undone.text).unwrap(),
        json!({"a": 1, "version": 1, "z": 9})
    );
    // A second hook of somebody else's.
    let edited = after.replace("\"pre\": [", "\"pre\": [{\"command\": \"h\"}, ");
    let undone = undo(Format::Json, &edited, &hooks(), before, &after).unwrap();
    assert_eq!(
        read(Format::Json, &undone.text).unwrap()["hooks"],
        json!({"pre": [{"command": "h"}]})
    );
}

/// JSON as people write it: comments, blanks, trailing commas.
fn json_text() -> impl Strategy<Value = String> {
    let gap = prop_oneof![
        Just(""),
        Just(" "),
        Just("\n  "),
        Just(" // c\n"),
        Just("/* d */"),
        Just("\r\n\t")
    ];
    let key = prop_oneof![
        Just("shellPath"),
        Just("hooks"),
        Just("version"),
        Just("ü x"),
        Just("z")
    ];
    let value = prop_oneof![
        Just("1.50"),
        Just("\"t\\u0041\""),
        Just("null"),
        Just("[]"),
        Just("{}"),
        Just("{\"pre\": [{\"x\": 1}]}"),
        Just("[1, // e\n 2]")
    ];
    let member = (gap.clone(), key, gap.clone(), value, gap.clone());
    (
        prop::collection::vec(member, 0..4),
        any::<bool>(),
        gap.clone(),
        gap,
    )
        .prop_map(|(members, comma, first, last)| {
            let mut seen = std::collections::HashSet::new();
            let members: Vec<String> = members
                .into_iter()
                .filter(|it| seen.insert(it.1))
                .map(|(a, key, b, value, c)| format!("{a}\"{key}\"{b}:{value}{c}"))
                .collect();
            let comma = if comma && !members.is_empty() {
                ","
            } else {
                ""
            };
            format!("{first}{{{}{comma}{last}}}", members.join(","))
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_json_gets_what_it_should_have_or_stays(text in json_text()) {
        for edits in [shell(), hooks()] {
            let Ok(after) = apply(Format::Json, &text, &edits) else {
                prop_assert!(read(Format::Json, &text).unwrap().get("hooks").is_some());
                continue;
            };
            prop_assert!(holds(Format::Json, &after, &edits).unwrap());
            for comment in ["// c", "/* d */"] {
                prop_assert!(after.matches(comment).count() >= text.matches(comment).count(), "{}", after);
            }
            prop_assert_eq!(&undo(Format::Json, &after, &edits, &text, &after).unwrap().text, &text);
            // Somebody writes a comment in front.
            let edited = format!("// new\n{after}");
            let wanted = format!("// new\n{text}");
            prop_assert_eq!(undo(Format::Json, &edited, &edits, &text, &after).unwrap().text, wanted);
        }
    }
}
