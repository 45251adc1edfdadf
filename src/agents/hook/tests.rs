//! Calls in every dialect.
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const GUARD: &str = "/opt/guard";

/// A call of a shell tool in a dialect.
fn call(dialect: &Dialect, command: &str) -> Value {
    let tool = dialect.tools[0];
    let arguments = json!({"zeta": 1, "command": command, "alpha": {"deep": [true, null]}});
    match dialect.shape {
        Shape::Copilot => json!({"toolName": tool, "toolArgs": arguments}),
        Shape::Cline => {
            json!({"preToolUse": {}, "tool_call": {"name": tool, "input": {"commands": [command, {"command": command, "x": 1}], "y": 2}}})
        }
        _ => json!({"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": arguments}),
    }
}

/// The arguments in an answer.
fn arguments(dialect: &Dialect, answer: &Answer) -> Value {
    let said: Value = serde_json::from_str(&answer.stdout)
        .unwrap_or_else(|error| panic!("{}: {error}: {answer:?}", dialect.name));
    let at = match dialect.shape {
        Shape::Claude(_) => "/hookSpecificOutput/updatedInput",
        Shape::Gemini => "/hookSpecificOutput/tool_input",
        Shape::Copilot => "/modifiedArgs",
        Shape::Cline => "/overrideInput",
        Shape::Crush | Shape::Cursor => "/updated_input",
    };
    said.pointer(at)
        .cloned()
        .unwrap_or_else(|| panic!("{}: {said}", dialect.name))
}

fn answered(dialect: &Dialect, input: &str) -> Answer {
    dialect.answer(input.as_bytes(), GUARD)
}

fn is_no(dialect: &Dialect, answer: &Answer) -> bool {
    let said: Value = serde_json::from_str(&answer.stdout).unwrap();
    let at = |place: &str| said.pointer(place).cloned().unwrap_or_default();
    let no = match dialect.shape {
        Shape::Claude(_) => at("/hookSpecificOutput/permissionDecision") == "deny",
        Shape::Gemini | Shape::Crush => at("/decision") == "deny",
        Shape::Copilot => at("/permissionDecision") == "deny",
        Shape::Cline => at("/cancel") == true,
        Shape::Cursor => at("/permission") == "deny",
    };
    no && answer.status == dialect.blocks_with && answer.stderr.starts_with("guard: ")
}

#[test]
fn a_command_goes_under_guard_and_everything_else_stays() {
    let command = "echo 'a b' > x\nrm -rf \"$HOME\"";
    let line = under_guard(GUARD, command);
    assert_eq!(
        line,
        "'/opt/guard' -- /bin/bash -c 'echo '\\''a b'\\'' > x\nrm -rf \"$HOME\"'"
    );
    for dialect in DIALECTS {
        let answer = answered(dialect, &call(dialect, command).to_string());
        let wanted = match dialect.shape {
            Shape::Cline => json!({"commands": [line, {"command": line, "x": 1}], "y": 2}),
            _ => json!({"zeta": 1, "command": line, "alpha": {"deep": [true, null]}}),
        };
        assert_eq!(arguments(dialect, &answer), wanted, "{}", dialect.name);
        assert_eq!((answer.status, answer.stderr.as_str()), (0, ""));
        assert_eq!(answer.stdout.matches('\n').count(), 1, "one line");
    }
}

#[test]
fn a_permission_is_given_only_where_the_agent_wants_one() {
    for (name, there) in [
        ("claude-code", false),
        ("gemini", false),
        ("crush", false),
        ("codex", true),
        ("droid", false),
        ("copilot", false),
        ("cursor", true),
    ] {
        let dialect = dialect(name).unwrap();
        let said = answered(dialect, &call(dialect, "x").to_string()).stdout;
        assert_eq!(said.contains("allow"), there, "{name}: {said}");
    }
}

#[test]
fn nothing_is_wrapped_twice_and_what_only_looks_wrapped_is() {
    for dialect in DIALECTS {
        let line = under_guard(GUARD, "true");
        let again = arguments(
            dialect,
            &answered(dialect, &call(dialect, &line).to_string()),
        );
        assert!(again.to_string().contains("guard"), "{again}");
        assert_eq!(
            again,
            match dialect.shape {
                Shape::Cline => json!({"commands": [line, {"command": line, "x": 1}], "y": 2}),
                _ => json!({"zeta": 1, "command": line, "alpha": {"deep": [true, null]}}),
            }
        );
        for other in [
            format!("{line}; rm -rf x"),
            "guard -- true; rm -rf x".into(),
            "/opt/guard -- true".into(),
        ] {
            let text = arguments(
                dialect,
                &answered(dialect, &call(dialect, &other).to_string()),
            )
            .to_string();
            let wrapped = serde_json::to_string(&under_guard(GUARD, &other)).unwrap();
            assert!(text.contains(&wrapped), "{}: {text}", dialect.name);
        }
    }
}

#[test]
fn other_tools_pass() {
    for dialect in DIALECTS {
        let text = call(dialect, "x")
            .to_string()
            .replace(&format!("\"{}\"", dialect.tools[0]), "\"read_a_file\"");
        let answer = answered(dialect, &text);
        assert_eq!(answer.status, 0, "{}", dialect.name);
        assert!(
            ["", "{}\n", "{\"permission\":\"allow\"}\n"].contains(&&*answer.stdout),
            "{answer:?}"
        );
    }
}

#[test]
fn what_is_not_understood_is_a_no() {
    for dialect in DIALECTS {
        let good = call(dialect, "touch x").to_string();
        let spoiled = [
            String::new(),
            "nonsense".into(),
            "[]".into(),
            "{}".into(),
            good[..good.len() - 1].to_owned(),
            format!("{good}{good}"),
            good.replace("\"touch x\"", "7"),
            good.replace("\"touch x\"", "\"a\\u0000b\""),
            good.replace("\"touch x\"", "\"\\ud800\""),
            good.replace("\"command\":", "\"other\":")
                .replace("\"commands\":", "\"others\":"),
            good.replace("\"command\":", "\"command\":\"x\",\"command\":")
                .replace("\"commands\":", "\"commands\":[],\"commands\":"),
        ];
        for text in spoiled {
            let answer = answered(dialect, &text);
            assert!(
                is_no(dialect, &answer),
                "{}: {text}: {answer:?}",
                dialect.name
            );
        }
        let mut bytes = good.clone().into_bytes();
        bytes[3] = 0xff;
        assert!(is_no(dialect, &dialect.answer(&bytes, GUARD)));
        let long = good + &" ".repeat(MOST);
        assert!(is_no(dialect, &answered(dialect, &long)));
    }
}

#[test]
fn the_arguments_of_copilot_may_be_text() {
    let dialect = dialect("copilot").unwrap();
    let call =
        json!({"toolName": "bash", "toolArgs": "{\"command\": \"ls\", \"n\": 1}"}).to_string();
    let wanted = json!({"command": under_guard(GUARD, "ls"), "n": 1});
    assert_eq!(arguments(dialect, &answered(dialect, &call)), wanted);
}

#[test]
fn numbers_and_order_stay_to_the_letter() {
    let dialect = dialect("claude-code").unwrap();
    let call = r#"{"tool_name":"Bash","tool_input":{"z":1e400,"command":"ls","a":12345678901234567890123, "d":1.50}}"#;
    let said = answered(dialect, call).stdout;
    assert!(
        said.contains(r#"{"z":1e400,"command":"#)
            && said.contains(r#","a":12345678901234567890123,"d":1.50}"#),
        "{said}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_command_comes_back_out(command in "([^\\x00]|['\\\\\n\"$])*") {
        for dialect in DIALECTS {
            let found = arguments(dialect, &answered(dialect, &call(dialect, &command).to_string()));
            let line = found.pointer("/command").or_else(|| found.pointer("/commands/0")).unwrap();
            prop_assert_eq!(quote::inside(GUARD, line.as_str().unwrap()), Some(command.clone()));
        }
    }
}
