//! `guard hook`: an agent asks before it runs a tool, and hears the same call with its command under guard.
//!
//! Each agent has a [`Dialect`]: how it asks, how it wants the changed call, how it takes a no. Whatever cannot be
//! understood is a no, never silence, which agents take for a yes.

mod quote;
mod raw;

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

#[cfg(fuzzing)]
pub use quote::inside;
pub use quote::{quote, under_guard};
use raw::Object;

/// Bytes that a call may have.
pub const MOST: usize = 16 << 20;

/// The hooks that can change a command. Others can only forbid it.
pub const DIALECTS: &[Dialect] = &[
    Dialect {
        name: "claude-code",
        tools: &["Bash"],
        shape: Shape::Claude(Decision::None),
        blocks_with: 2,
    },
    Dialect {
        name: "codex",
        tools: &["Bash", "shell", "local_shell", "exec_command"],
        shape: Shape::Claude(Decision::Allow),
        blocks_with: 2,
    },
    Dialect {
        name: "droid",
        tools: &["Execute"],
        shape: Shape::Claude(Decision::None),
        blocks_with: 2,
    },
    Dialect {
        name: "gemini",
        tools: &["run_shell_command"],
        shape: Shape::Gemini,
        blocks_with: 2,
    },
    Dialect {
        name: "copilot",
        tools: &["bash"],
        shape: Shape::Copilot,
        blocks_with: 0,
    },
    Dialect {
        name: "cline",
        tools: &["run_commands"],
        shape: Shape::Cline,
        blocks_with: 0,
    },
    Dialect {
        name: "crush",
        tools: &["bash"],
        shape: Shape::Crush,
        blocks_with: 2,
    },
    Dialect {
        name: "cursor",
        tools: &["Shell"],
        shape: Shape::Cursor,
        blocks_with: 2,
    },
];

/// How an agent speaks to its hooks.
#[derive(Debug)]
pub struct Dialect {
    /// The agent.
    pub name: &'static str,
    /// Its tools that run a shell command.
    pub tools: &'static [&'static str],
    shape: Shape,
    /// The exit status of a no.
    blocks_with: i32,
}

/// The form of a call and of its answer.
#[derive(Clone, Copy, Debug)]
enum Shape {
    Claude(Decision),
    Gemini,
    Copilot,
    Cline,
    Crush,
    Cursor,
}

/// Whether a changed call comes with a permission. Where the agent takes the change without one, it gets none, and asks its
/// person as it does otherwise.
#[derive(Clone, Copy, Debug)]
enum Decision {
    None,
    Allow,
}

/// What the agent reads and how the process ends.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    /// For standard output: empty, or one line of JSON.
    pub stdout: String,
    /// For standard error.
    pub stderr: String,
    /// The exit status.
    pub status: i32,
}

/// Why a call is forbidden.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error("the call has more than {MOST} bytes")]
    TooMuch,
    #[error("the call is no JSON that guard understands: {0}")]
    Json(#[from] serde_json::Error),
    #[error("the call has no {0}")]
    Missing(&'static str),
    #[error("the command holds a NUL character, which no shell can be given")]
    Nul,
}

/// The dialect of an agent.
#[must_use]
pub fn dialect(name: &str) -> Option<&'static Dialect> {
    DIALECTS.iter().find(|dialect| dialect.name == name)
}

impl Dialect {
    /// Answers the call in `input` for the guard at the absolute path `guard`.
    #[must_use]
    pub fn answer(&self, input: &[u8], guard: &str) -> Answer {
        match self.changed(input, guard) {
            Ok(stdout) => Answer {
                stdout,
                stderr: String::new(),
                status: 0,
            },
            Err(refusal) => self.refuse(&refusal.to_string()),
        }
    }

    /// Forbids the call.
    #[must_use]
    pub fn refuse(&self, why: &str) -> Answer {
        let why = format!("guard: {why}; the command was not run");
        let said = match self.shape {
            Shape::Claude(_) => json!({"hookSpecificOutput": {
                "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": why}}),
            Shape::Gemini | Shape::Crush => json!({"decision": "deny", "reason": why}),
            Shape::Copilot => {
                json!({"permissionDecision": "deny", "permissionDecisionReason": why})
            }
            Shape::Cline => json!({"cancel": true, "errorMessage": why}),
            Shape::Cursor => {
                json!({"permission": "deny", "user_message": why, "agent_message": why})
            }
        };
        Answer {
            stdout: format!("{said}\n"),
            stderr: format!("{why}\n"),
            status: self.blocks_with,
        }
    }

    fn changed(&self, input: &[u8], guard: &str) -> Result<String, Refusal> {
        if input.len() > MOST {
            return Err(Refusal::TooMuch);
        }
        let call: Object<'_> = serde_json::from_slice(input)?;
        let (tool, arguments) = self.call(&call)?;
        if !self.tools.contains(&&*tool) {
            return Ok(self.untouched());
        }
        let text = arguments.ok_or(Refusal::Missing("arguments"))?;
        let arguments: Object<'_> = serde_json::from_str(&text)?;
        let changed = match self.shape {
            Shape::Cline => {
                let commands = arguments
                    .get("commands")
                    .ok_or(Refusal::Missing("commands"))?;
                let all = each_command(commands, guard)?;
                arguments.with("commands", &all)?
            }
            _ => with_command(arguments, guard)?.1,
        };
        Ok(format!("{}\n", self.say(&changed)?))
    }

    /// The tool of a call and the text of its arguments.
    fn call(&self, call: &Object<'_>) -> Result<(String, Option<String>), Refusal> {
        let raw =
            |object: &Object<'_>, name: &str| object.get(name).map(|value| value.get().to_owned());
        let (tool, arguments) = match self.shape {
            Shape::Copilot => {
                // The arguments come as an object, or as the text of one.
                let text = call.text("toolArgs").or_else(|| raw(call, "toolArgs"));
                (call.text("toolName"), text)
            }
            Shape::Cline => {
                let inner = call
                    .object("tool_call")
                    .ok_or(Refusal::Missing("tool_call"))?;
                (inner.text("name"), raw(&inner, "input"))
            }
            _ => (call.text("tool_name"), raw(call, "tool_input")),
        };
        Ok((tool.ok_or(Refusal::Missing("name of a tool"))?, arguments))
    }

    /// What the agent hears about a tool that runs no command.
    fn untouched(&self) -> String {
        match self.shape {
            Shape::Cline => "{}\n".to_owned(),
            Shape::Cursor => "{\"permission\":\"allow\"}\n".to_owned(),
            _ => String::new(),
        }
    }

    fn say(&self, arguments: &Object<'_>) -> serde_json::Result<String> {
        let arguments = to_raw_value(arguments)?;
        let of = |key: &'static str| One(key, &arguments);
        match self.shape {
            Shape::Claude(decision) => serde_json::to_string(&One(
                "hookSpecificOutput",
                &ForClaude {
                    hook_event_name: "PreToolUse",
                    permission_decision: match decision {
                        Decision::Allow => Some("allow"),
                        Decision::None => None,
                    },
                    updated_input: &arguments,
                },
            )),
            Shape::Gemini => serde_json::to_string(&One(
                "hookSpecificOutput",
                &ForGemini {
                    hook_event_name: "BeforeTool",
                    tool_input: &arguments,
                },
            )),
            Shape::Copilot => serde_json::to_string(&of("modifiedArgs")),
            Shape::Cline => serde_json::to_string(&ForCline {
                cancel: false,
                override_input: &arguments,
            }),
            Shape::Crush => serde_json::to_string(&of("updated_input")),
            Shape::Cursor => serde_json::to_string(&ForCursor {
                permission: "allow",
                updated_input: &arguments,
            }),
        }
    }
}

/// An object of one member.
struct One<'a, T>(&'static str, &'a T);

impl<T: Serialize> Serialize for One<'_, T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([(self.0, self.1)])
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ForClaude<'a> {
    hook_event_name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    permission_decision: Option<&'static str>,
    updated_input: &'a RawValue,
}

#[derive(Serialize)]
struct ForGemini<'a> {
    #[serde(rename = "hookEventName")]
    hook_event_name: &'static str,
    tool_input: &'a RawValue,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ForCline<'a> {
    cancel: bool,
    override_input: &'a RawValue,
}

#[derive(Serialize)]
struct ForCursor<'a> {
    permission: &'static str,
    updated_input: &'a RawValue,
}

/// A command under guard; one that is already stays as it is.
fn wrapped(command: String, guard: &str) -> Result<String, Refusal> {
    if command.contains('\0') {
        return Err(Refusal::Nul);
    }
    match quote::inside(guard, &command) {
        Some(_) => Ok(command),
        None => Ok(under_guard(guard, &command)),
    }
}

/// Arguments whose member `command` runs under guard, and that command.
fn with_command<'a>(arguments: Object<'a>, guard: &str) -> Result<(String, Object<'a>), Refusal> {
    let command = arguments
        .text("command")
        .ok_or(Refusal::Missing("command"))?;
    let command = wrapped(command, guard)?;
    let arguments = arguments.with("command", &command)?;
    Ok((command, arguments))
}

/// cline's commands: one or several, each a string or an object with a `command`.
fn each_command(commands: &RawValue, guard: &str) -> Result<Vec<Box<RawValue>>, Refusal> {
    let all: Vec<&RawValue> = if commands.get().starts_with('[') {
        serde_json::from_str(commands.get())?
    } else {
        vec![commands]
    };
    all.into_iter()
        .map(|one| match serde_json::from_str(one.get())? {
            Value::String(command) => Ok(to_raw_value(&wrapped(command, guard)?)?),
            _ => {
                let object = serde_json::from_str(one.get())?;
                Ok(to_raw_value(&with_command(object, guard)?.1)?)
            }
        })
        .collect()
}

#[cfg(test)]
mod tests;
