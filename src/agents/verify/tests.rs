//! The model in each dialect, asked over HTTP, and what is made of a probe's reports.

use serde_json::{Value, json};

use super::asked::{Dialect, Tool, shell};
use super::model::{Heard, Model, NAME};
use super::stage::{version, why, worst};
use super::*;

const COMMAND: &str = "'/opt/it'\\''s/guard' agent probe x \"y\"";

/// A request for an answer in a dialect: where it goes, what is in it at first, and with the tool's answer.
struct Talk {
    path: &'static str,
    streamed: &'static str,
    first: fn() -> Value,
    second: fn() -> Value,
    /// Where a whole answer has the arguments of the call, and where the text.
    call: &'static str,
    text: &'static str,
}

fn schema() -> Value {
    json!({"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]})
}

const TALKS: &[Talk] = &[
    Talk {
        path: "/v1/chat/completions",
        streamed: "/v1/chat/completions",
        first: || {
            json!({"model": "m", "messages": [{"role": "user", "content": "go"}],
            "tools": [{"type": "function", "function": {"name": "read"}}, {"type": "function", "function": {"name": "bash", "parameters": schema()}}]})
        },
        second: || json!({"messages": [{"role": "tool", "tool_call_id": "call_1", "content": [{"type": "text", "text": "it ran"}]}]}),
        call: "/choices/0/message/tool_calls/0/function/arguments",
        text: "/choices/0/message/content",
    },
    Talk {
        path: "/v1/responses",
        streamed: "/v1/responses",
        first: || json!({"model": "m", "input": [], "tools": [{"type": "web_search"}, {"type": "function", "name": "shell", "parameters": schema()}]}),
        second: || json!({"input": [{"type": "function_call_output", "call_id": "call_1", "output": "it ran"}]}),
        call: "/output/0/arguments",
        text: "/output/0/content/0/text",
    },
    Talk {
        path: "/v1/messages?beta=true",
        streamed: "/v1/messages?beta=true",
        first: || json!({"model": "m", "messages": [{"role": "user", "content": "go"}], "tools": [{"name": "Bash", "input_schema": schema()}]}),
        second: || json!({"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "it ran"}]}]}]}),
        call: "/content/0/input",
        text: "/content/0/text",
    },
    Talk {
        path: "/v1beta/models/gemini-2.5-flash:generateContent",
        streamed: "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
        first: || {
            json!({"contents": [{"role": "user", "parts": [{"text": "go"}]}],
            "tools": [{"functionDeclarations": [{"name": "run_shell_command", "parametersJsonSchema": schema()}]}]})
        },
        second: || json!({"contents": [{"role": "user", "parts": [{"functionResponse": {"name": "run_shell_command", "response": {"output": "it ran"}}}]}]}),
        call: "/candidates/0/content/parts/0/functionCall/args",
        text: "/candidates/0/content/parts/0/text",
    },
];

fn post(model: &Model, path: &str, body: &Value) -> String {
    let mut answer = ureq::post(format!("{}{path}", model.url()))
        .send_json(body)
        .unwrap();
    answer.body_mut().read_to_string().unwrap()
}

fn command_in(arguments: &Value) -> Value {
    match arguments {
        Value::String(text) => serde_json::from_str::<Value>(text).unwrap()["command"].clone(),
        object => object["command"].clone(),
    }
}

#[test]
fn every_dialect_calls_the_tool_once_and_hears_its_answer() {
    for talk in TALKS {
        let model = Model::serve(COMMAND.to_owned()).unwrap();
        let said: Value = serde_json::from_str(&post(&model, talk.path, &(talk.first)())).unwrap();
        assert_eq!(
            command_in(said.pointer(talk.call).unwrap()),
            COMMAND,
            "{said}"
        );
        assert!(model.heard().result.is_none());
        let said: Value = serde_json::from_str(&post(&model, talk.path, &(talk.second)())).unwrap();
        assert!(
            said.pointer(talk.text).is_some_and(Value::is_string),
            "{said}"
        );
        let heard = model.heard();
        assert_eq!(
            (heard.asked, heard.called, heard.result.as_deref()),
            (2, 1, Some("it ran")),
            "{}",
            talk.path
        );
    }
}

/// The events of a stream, each checked to be named by its type if it has one.
fn events(text: &str) -> Vec<Value> {
    let blocks = text.split("\n\n").filter(|block| !block.is_empty());
    let event = |block: &str| {
        let data = block
            .lines()
            .find_map(|line| line.strip_prefix("data: "))
            .unwrap();
        if data == "[DONE]" {
            return None;
        }
        let value: Value = serde_json::from_str(data).unwrap();
        let name = block.lines().find_map(|line| line.strip_prefix("event: "));
        assert_eq!(name, value["type"].as_str());
        Some(value)
    };
    blocks.filter_map(event).collect()
}

#[test]
fn every_dialect_streams_the_same() {
    for talk in TALKS {
        let model = Model::serve(COMMAND.to_owned()).unwrap();
        let ask = |mut body: Value| {
            body["stream"] = json!(true);
            events(&post(&model, talk.streamed, &body))
        };
        let call = ask((talk.first)());
        let found = call.iter().find_map(|event| match talk.path {
            path if path.contains("chat") => {
                event.pointer("/choices/0/delta/tool_calls/0/function/arguments")
            }
            path if path.contains("responses") => event.pointer("/response/output/0/arguments"),
            path if path.contains("messages") => event.pointer("/delta/partial_json"),
            _ => event.pointer(talk.call),
        });
        assert_eq!(command_in(found.unwrap()), COMMAND, "{call:?}");
        let end = ask((talk.second)());
        assert!(
            format!("{end:?}").contains("The command has run."),
            "{end:?}"
        );
        assert_eq!(model.heard().called, 1);
        let kinds: Vec<&str> = call
            .iter()
            .filter_map(|event| event["type"].as_str())
            .collect();
        match talk.path {
            path if path.contains("responses") => {
                assert_eq!(
                    (kinds[0], kinds[kinds.len() - 1]),
                    ("response.created", "response.completed")
                );
            }
            path if path.contains("messages") => {
                assert_eq!(
                    (kinds[0], kinds[kinds.len() - 1]),
                    ("message_start", "message_stop")
                );
            }
            _ => assert!(kinds.is_empty()),
        }
    }
}

#[test]
fn what_is_not_asked_for_an_answer_counts_for_nothing() {
    let model = Model::serve(COMMAND.to_owned()).unwrap();
    let get = |path: &str| ureq::get(format!("{}{path}", model.url())).call();
    let models = get("/v1/models")
        .unwrap()
        .body_mut()
        .read_to_string()
        .unwrap();
    assert!(models.contains(NAME), "{models}");
    assert!(matches!(
        get("/registry/x"),
        Err(ureq::Error::StatusCode(404))
    ));
    assert_eq!(
        post(&model, "/v1/messages/count_tokens", &json!({})),
        r#"{"input_tokens":10}"#
    );
    assert_eq!(
        post(&model, "/models/m:countTokens", &json!({})),
        r#"{"totalTokens":10}"#
    );
    let sent = ureq::post(format!("{}/v1/messages", model.url())).send("{");
    assert!(matches!(sent, Err(ureq::Error::StatusCode(400))));
    assert_eq!(model.heard().asked, 0);
    // No tool that runs commands.
    post(
        &model,
        "/v1/chat/completions",
        &json!({"tools": [{"type": "function", "function": {"name": "read"}}]}),
    );
    assert_eq!((model.heard().asked, model.heard().called), (1, 0));
    let url = model.url();
    drop(model);
    assert!(ureq::get(url).call().is_err(), "it is still there");
}

#[test]
fn arguments_are_as_the_agent_declares_them() {
    let tool = |schema: Value| {
        shell(&json!({"tools": [{"name": "bash", "input_schema": schema}]})).unwrap()
    };
    for (schema, wanted) in [
        (Value::Null, json!({"command": "x"})),
        (
            json!({"properties": {"cmd": {"type": "string"}}}),
            json!({"cmd": "x"}),
        ),
        (
            json!({"properties": {"command": {"type": "array"}}}),
            json!({"command": ["bash", "-lc", "x"]}),
        ),
        (
            json!({"properties": {"commands": {"type": "array"}}}),
            json!({"commands": ["x"]}),
        ),
        (
            json!({"properties": {"commands": {"items": {"type": "object"}}}}),
            json!({"commands": [{"command": "x"}]}),
        ),
        (
            json!({"properties": {"description": {"type": "string"}, "risk": {"enum": ["low", "high"]}, "wait": {"type": "NUMBER"}},
                "required": ["command", "risk", "wait"]}),
            json!({"command": "x", "risk": "low", "wait": 60, "description": "a test of guard"}),
        ),
    ] {
        assert_eq!(tool(schema).arguments("x"), wanted);
    }
    let namespaced = json!({"tools": [{"type": "namespace", "name": "n", "tools": [{"type": "custom", "name": "shell"}]}]});
    let wanted = Tool {
        name: "shell".into(),
        takes_text: true,
        schema: Value::Null,
    };
    assert_eq!(shell(&namespaced), Some(wanted));
    assert_eq!(Dialect::of("/v1/completions"), None);
}

fn report(guarded: bool, session: Session) -> Report {
    Report {
        token: "t".into(),
        guarded,
        run: None,
        claimed: guarded,
        session,
    }
}

#[test]
fn one_command_without_guard_is_enough() {
    let (good, lost) = (report(true, Session::Kept), report(true, Session::Removed));
    let bad = report(false, Session::Gone);
    assert_eq!(worst(Vec::new()), None);
    for (all, wanted) in [
        (vec![&good, &good], &good),
        (vec![&good, &lost], &lost),
        (vec![&lost, &good], &lost),
        (vec![&good, &bad, &lost], &bad),
        (vec![&bad, &good], &bad),
    ] {
        assert_eq!(
            worst(all.into_iter().cloned().collect()).as_ref(),
            Some(wanted)
        );
    }
}

#[test]
fn reports_of_others_do_not_count() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let line = |report: &Report| serde_json::to_string(report).unwrap();
    let good = report(true, Session::Kept);
    let text = format!(
        "{}\nnonsense\n{}\n{{\"token\":\"t\"}}\n",
        line(&good),
        line(&good).replace("\"t\"", "\"u\"")
    );
    std::fs::write(file.path(), text).unwrap();
    assert_eq!(probe::read(file.path(), "t"), [good]);
    assert!(probe::read(file.path(), "v").is_empty());
    assert!(probe::read(Path::new("/nothing/here"), "t").is_empty());
}

#[test]
fn versions_are_found_in_what_agents_print() {
    for (output, wanted) in [
        ("1.6.0\n", Some("1.6.0")),
        ("codex-cli 0.171.0", Some("0.171.0")),
        ("2.1.332 (Claude Code)", Some("2.1.332")),
        ("warning: 3 things\nomp/18.2.3", Some("18.2.3")),
        ("GitHub Copilot CLI v1.0.102.\nCommit: abc", Some("1.0.102")),
        ("unknown option --version", None),
        ("", None),
    ] {
        assert_eq!(version(output).as_deref(), wanted, "{output}");
    }
}

#[test]
fn why_nothing_is_known() {
    let heard = |asked, called, result: Option<&str>| Heard {
        asked,
        called,
        result: result.map(str::to_owned),
    };
    for (heard, wanted) in [
        (heard(0, 0, None), "never asked the model"),
        (heard(1, 0, None), "no tool"),
        (heard(1, 1, None), "never did"),
        (
            heard(2, 1, Some("denied\n")),
            "it answered: denied within 7 s",
        ),
        (heard(2, 1, Some("tok guarded 1")), "left no report"),
    ] {
        let said = why(&heard, "tok", None, Duration::from_secs(7));
        assert!(
            said.contains(wanted) && said.ends_with("within 7 s"),
            "{said}"
        );
    }
}
