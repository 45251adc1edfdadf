//! What an agent asks its model, in the four dialects that agents speak: the tools that it has, and what those answered.

use serde_json::{Map, Value, json};

/// A dialect, by the path of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// OpenAI's chat completions.
    Chat,
    /// OpenAI's responses.
    Responses,
    /// Anthropic's messages.
    Messages,
    /// Gemini's `generateContent`.
    Gemini,
}

/// A tool that the agent declares.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Whether it takes text instead of an object (`custom` of the responses).
    pub takes_text: bool,
    /// The JSON Schema of its arguments.
    pub schema: Value,
}

/// What agents call the tool that runs a command, the likelier one first.
const SHELLS: &[&str] = &[
    "bash",
    "Bash",
    "exec_command",
    "shell_command",
    "shell",
    "local_shell",
    "run_shell_command",
    "run_commands",
    "run_in_terminal",
    "execute_command",
    "run_terminal_cmd",
    "terminal",
    "Execute",
    "execute",
    "developer__shell",
];

impl Dialect {
    /// The dialect of a request to `path`, which has no query.
    pub fn of(path: &str) -> Option<Self> {
        let last = path.rsplit('/').next().unwrap_or_default();
        match last.rsplit(':').next().unwrap_or_default() {
            "completions" if path.ends_with("/chat/completions") => Some(Self::Chat),
            "responses" => Some(Self::Responses),
            "messages" => Some(Self::Messages),
            "generateContent" | "streamGenerateContent" => Some(Self::Gemini),
            _ => None,
        }
    }

    /// What tools answered so far, the oldest first.
    pub fn results(self, body: &Value) -> Vec<String> {
        let (turns, is_result): (&str, fn(&Value) -> Vec<String>) = match self {
            Self::Chat => ("messages", |turn| match turn["role"].as_str() {
                Some("tool") => vec![text(&turn["content"])],
                _ => Vec::new(),
            }),
            Self::Responses => ("input", |item| match item["type"].as_str() {
                Some(kind) if kind.ends_with("call_output") => vec![text(&item["output"])],
                _ => Vec::new(),
            }),
            Self::Messages => ("messages", |turn| {
                let parts = all(&turn["content"]);
                let results = parts.filter(|part| part["type"] == "tool_result");
                results.map(|part| text(&part["content"])).collect()
            }),
            Self::Gemini => ("contents", |turn| {
                let answers = all(&turn["parts"]).map(|part| &part["functionResponse"]);
                let answers = answers.filter(|answer| !answer.is_null());
                answers.map(|answer| text(&answer["response"])).collect()
            }),
        };
        all(&body[turns]).flat_map(is_result).collect()
    }
}

fn all(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The text in whatever an agent wraps it in.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text).collect(),
        Value::Object(part) => ["text", "output", "content"]
            .iter()
            .find_map(|key| part.get(*key))
            .map_or_else(|| value.to_string(), text),
        other => other.to_string(),
    }
}

/// The tool that runs commands, if the agent declares one.
pub fn shell(body: &Value) -> Option<Tool> {
    let mut tools = Vec::new();
    declared(&body["tools"], &mut tools);
    let named = |name: &&str| {
        tools
            .iter()
            .find(|tool: &&Tool| tool.name == *name)
            .cloned()
    };
    SHELLS.iter().find_map(named)
}

fn declared(value: &Value, found: &mut Vec<Tool>) {
    if let Value::Array(several) = value {
        several.iter().for_each(|one| declared(one, found));
    } else if value["functionDeclarations"].is_array() {
        declared(&value["functionDeclarations"], found);
    } else if value["type"] == "namespace" {
        declared(&value["tools"], found);
    } else {
        let of = if value["function"].is_object() {
            &value["function"]
        } else {
            value
        };
        let schema = ["parameters", "input_schema", "parametersJsonSchema"]
            .iter()
            .find_map(|key| of.get(*key));
        let name = of["name"].as_str().or(of["type"].as_str());
        found.extend(name.map(|name| Tool {
            name: name.to_owned(),
            takes_text: of["type"] == "custom",
            schema: schema.cloned().unwrap_or_default(),
        }));
    }
}

impl Tool {
    /// The arguments that have it run `command`, by its own schema.
    pub fn arguments(&self, command: &str) -> Value {
        let known = &self.schema["properties"];
        let mut arguments = Map::new();
        let (key, value) = if known["commands"].is_object() {
            let one = match known["commands"]["items"]["type"].as_str() {
                Some("object") => json!({ "command": command }),
                _ => json!(command),
            };
            ("commands", json!([one]))
        } else if known["cmd"].is_object() {
            ("cmd", json!(command))
        } else if is(&known["command"], "array") {
            ("command", json!(["bash", "-lc", command]))
        } else {
            ("command", json!(command))
        };
        arguments.insert(key.to_owned(), value);
        let required = all(&self.schema["required"]).filter_map(Value::as_str);
        let described = is(&known["description"], "string").then_some("description");
        for key in required.chain(described) {
            if !arguments.contains_key(key) {
                arguments.insert(key.to_owned(), harmless(&known[key]));
            }
        }
        Value::Object(arguments)
    }
}

/// Whether a schema is of a type. Gemini's are in capitals.
fn is(schema: &Value, kind: &str) -> bool {
    schema["type"]
        .as_str()
        .is_some_and(|it| it.eq_ignore_ascii_case(kind))
}

/// A value for an argument that has to be there.
fn harmless(schema: &Value) -> Value {
    if let Some(first) = all(&schema["enum"]).next() {
        return first.clone();
    }
    let values = [
        ("boolean", json!(false)),
        ("integer", json!(60)),
        ("number", json!(60)),
        ("array", json!([])),
        ("object", json!({})),
    ];
    let found = values.into_iter().find(|(kind, _)| is(schema, kind));
    found.map_or(json!("a test of guard"), |(_, value)| value)
}
