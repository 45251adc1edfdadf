//! The agents that guard knows, a row each. Where a fact is from, and what a row does not cover: `docs/agents-wrap.md`.

use serde_json::{Value, json};

use super::edit::{Change, Edit, Format};
use super::hook::quote;
use super::shell::{self, BASH_ENV, PREFIX, SHELL};
use super::{PlaceError, Surroundings};

/// One agent.
#[derive(Debug)]
pub struct Agent {
    /// Its name here.
    pub name: &'static str,
    /// What it is called on PATH.
    pub programs: &'static [&'static str],
    /// Where its state is: the first whose variables are set.
    pub state: &'static [&'static str],
    /// How its commands come to run under guard.
    pub way: Way,
}

/// A way to have an agent's commands run under guard.
#[derive(Debug)]
pub enum Way {
    /// A line in its configuration.
    Edit {
        /// What is used of the agent.
        by: &'static str,
        /// The configuration: see [`Surroundings::first`].
        file: &'static [&'static str],
        /// Its language.
        format: Format,
        /// What has to be in it.
        edits: fn(&Tools) -> Vec<Edit>,
    },
    /// A file of its own.
    File {
        /// What is used of the agent.
        by: &'static str,
        /// Where.
        file: &'static [&'static str],
        /// Its mode.
        mode: u32,
        /// What is in it.
        text: fn(&Tools) -> String,
    },
    /// Something that a person does. `{shell}` and `{folder}` stand for guard's shell and the folder that it lies in.
    Hand(&'static str),
}

/// What the rows put into configurations.
#[derive(Debug)]
pub struct Tools {
    guard: String,
    shell: String,
    prefix: String,
    bash_env: String,
}

impl Tools {
    /// As they are here.
    pub fn new(here: &Surroundings<'_>) -> Result<Self, PlaceError> {
        Ok(Self {
            guard: Surroundings::text(&here.guard)?.to_owned(),
            shell: shell::path(here, SHELL)?,
            prefix: shell::path(here, PREFIX)?,
            bash_env: shell::path(here, BASH_ENV)?,
        })
    }

    /// A command for hooks. Agents take most failures of a hook for a yes, so one that does not answer is a no.
    fn hook(&self, agent: &str, otherwise: &str) -> String {
        format!("{} hook {agent} || {otherwise}", quote(&self.guard))
    }

    /// The text of [`Way::Hand`].
    pub fn fill(&self, text: &str) -> String {
        let folder = self.shell.trim_end_matches("/bash");
        text.replace("{shell}", &self.shell)
            .replace("{folder}", folder)
    }
}

fn edit(path: &[&str], change: Change) -> Edit {
    Edit {
        path: path.iter().map(|&key| key.to_owned()).collect(),
        change,
    }
}

fn set(path: &[&str], value: &str) -> Vec<Edit> {
    vec![edit(path, Change::Set(Value::from(value)))]
}

/// A hook as Claude Code has it, which others took over.
fn hook_for(event: &str, matcher: &str, hook: Value) -> Vec<Edit> {
    vec![edit(
        &["hooks", event],
        Change::Element(json!({"matcher": matcher, "hooks": [hook]})),
    )]
}

const COPILOT_NO: &str =
    r#"echo '{"permissionDecision":"deny","permissionDecisionReason":"guard did not answer"}'"#;
const CLINE_NO: &str = r#"echo '{"cancel":true,"errorMessage":"guard did not answer"}'"#;

/// The rows, by name.
pub const KNOWN: &[Agent] = &[
    Agent {
        name: "aider",
        programs: &["aider"],
        state: &["~/.aider"],
        way: Way::Hand(
            "in the project's .aider.conf.yml write `test-cmd: guard -- npm test` and `lint-cmd: guard -- ...`; for /run start it as `SHELL={shell} aider`",
        ),
    },
    Agent {
        name: "amp",
        programs: &["amp"],
        state: &["${XDG_DATA_HOME}/amp", "~/.local/share/amp"],
        way: Way::Hand(
            "amp cannot be told to use another shell: run it as a whole, `guard -- amp`",
        ),
    },
    Agent {
        name: "claude-code",
        programs: &["claude"],
        state: &["${CLAUDE_CONFIG_DIR}", "~/.claude"],
        way: Way::Edit {
            by: "shell prefix",
            file: &[
                "${CLAUDE_CONFIG_DIR}/settings.json",
                "~/.claude/settings.json",
            ],
            format: Format::Json,
            edits: |tools| set(&["env", "CLAUDE_CODE_SHELL_PREFIX"], &tools.prefix),
        },
    },
    Agent {
        name: "cline",
        programs: &["cline"],
        state: &["~/.cline"],
        way: Way::File {
            by: "hook",
            file: &["~/.cline/hooks/PreToolUse"],
            mode: 0o755,
            text: |tools| {
                format!(
                    "#!/bin/sh\n# Written by `guard agent wrap cline`.\n{}\n",
                    tools.hook("cline", CLINE_NO)
                )
            },
        },
    },
    Agent {
        name: "codex",
        programs: &["codex"],
        state: &["${CODEX_HOME}", "~/.codex"],
        way: Way::Edit {
            by: "BASH_ENV",
            file: &["${CODEX_HOME}/config.toml", "~/.codex/config.toml"],
            format: Format::Toml,
            edits: |tools| {
                set(
                    &["shell_environment_policy", "set", "BASH_ENV"],
                    &tools.bash_env,
                )
            },
        },
    },
    Agent {
        name: "copilot",
        programs: &["copilot"],
        state: &["${COPILOT_HOME}", "~/.copilot"],
        way: Way::File {
            by: "hook",
            file: &[
                "${COPILOT_HOME}/hooks/guard.json",
                "~/.copilot/hooks/guard.json",
            ],
            mode: 0o644,
            text: |tools| {
                let hook = json!({"type": "command", "bash": tools.hook("copilot", COPILOT_NO), "timeoutSec": 10});
                format!(
                    "{:#}\n",
                    json!({"version": 1, "hooks": {"preToolUse": [hook]}})
                )
            },
        },
    },
    Agent {
        name: "crush",
        programs: &["crush"],
        state: &[
            "${CRUSH_GLOBAL_DATA}",
            "${XDG_DATA_HOME}/crush",
            "~/.local/share/crush",
        ],
        way: Way::Edit {
            by: "hook",
            file: &[
                "${CRUSH_GLOBAL_CONFIG}/crush.json",
                "${XDG_CONFIG_HOME}/crush/crush.json",
                "~/.config/crush/crush.json",
            ],
            format: Format::Json,
            edits: |tools| {
                let hook = json!({"matcher": "^bash$", "command": tools.hook("crush", "exit 2")});
                vec![edit(&["hooks", "PreToolUse"], Change::Element(hook))]
            },
        },
    },
    Agent {
        name: "cursor",
        programs: &["cursor-agent"],
        state: &["${CURSOR_CONFIG_DIR}", "~/.cursor"],
        way: Way::Edit {
            by: "hook",
            file: &["~/.cursor/hooks.json"],
            format: Format::Json,
            edits: |tools| {
                let hook = json!({"command": tools.hook("cursor", "exit 2"), "matcher": "Shell", "failClosed": true});
                vec![
                    edit(&["version"], Change::Default(json!(1))),
                    edit(&["hooks", "preToolUse"], Change::Element(hook)),
                ]
            },
        },
    },
    Agent {
        name: "droid",
        programs: &["droid"],
        state: &["${FACTORY_HOME_OVERRIDE}/.factory", "~/.factory"],
        way: Way::Edit {
            by: "hook",
            file: &[
                "${FACTORY_HOME_OVERRIDE}/.factory/settings.json",
                "~/.factory/settings.json",
            ],
            format: Format::Json,
            edits: |tools| {
                hook_for(
                    "PreToolUse",
                    "Execute",
                    json!({"type": "command", "command": tools.hook("droid", "exit 2")}),
                )
            },
        },
    },
    Agent {
        name: "gemini",
        programs: &["gemini"],
        state: &["${GEMINI_CLI_HOME}/.gemini", "~/.gemini"],
        way: Way::Edit {
            by: "hook",
            file: &[
                "${GEMINI_CLI_HOME}/.gemini/settings.json",
                "~/.gemini/settings.json",
            ],
            format: Format::Json,
            edits: |tools| {
                let hook = json!({"name": "guard", "type": "command", "command": tools.hook("gemini", "exit 2"), "timeout": 5000});
                hook_for("BeforeTool", "run_shell_command", hook)
            },
        },
    },
    Agent {
        name: "goose",
        programs: &["goose"],
        state: &[
            "${GOOSE_PATH_ROOT}",
            "${XDG_DATA_HOME}/goose",
            "~/.local/share/goose",
        ],
        way: Way::Hand(
            "start it as `GOOSE_SHELL={shell} goose`; an older one that does not know the variable as a whole, `guard -- goose`",
        ),
    },
    Agent {
        name: "hermes",
        programs: &["hermes"],
        state: &["${HERMES_HOME}", "~/.hermes"],
        way: Way::Hand("it takes bash from PATH: start it as `PATH={folder}:$PATH hermes`"),
    },
    Agent {
        name: "omp",
        programs: &["omp"],
        state: &[
            "${PI_CODING_AGENT_DIR}",
            "~/.omp/profiles/${OMP_PROFILE}/agent",
            "~/.omp/profiles/${PI_PROFILE}/agent",
            "~/${PI_CONFIG_DIR}/agent",
            "~/.omp/agent",
        ],
        way: Way::File {
            by: "extension",
            file: &[
                "${PI_CODING_AGENT_DIR}/extensions/guard.ts",
                "~/.omp/profiles/${OMP_PROFILE}/agent/extensions/guard.ts",
                "~/.omp/profiles/${PI_PROFILE}/agent/extensions/guard.ts",
                "~/${PI_CONFIG_DIR}/agent/extensions/guard.ts",
                "~/.omp/agent/extensions/guard.ts",
            ],
            mode: 0o644,
            text: for_omp,
        },
    },
    Agent {
        name: "opencode",
        programs: &["opencode"],
        state: &["${XDG_DATA_HOME}/opencode", "~/.local/share/opencode"],
        way: Way::Edit {
            by: "shell",
            file: &[
                "${OPENCODE_CONFIG}",
                "${OPENCODE_CONFIG_DIR}/opencode.jsonc?",
                "${OPENCODE_CONFIG_DIR}/opencode.json",
                "${XDG_CONFIG_HOME}/opencode/opencode.jsonc?",
                "${XDG_CONFIG_HOME}/opencode/opencode.json",
                "~/.config/opencode/opencode.jsonc?",
                "~/.config/opencode/opencode.json",
            ],
            format: Format::Json,
            edits: |tools| set(&["shell"], &tools.shell),
        },
    },
    Agent {
        name: "pi",
        programs: &["pi"],
        state: &["${PI_CODING_AGENT_DIR}", "~/.pi/agent"],
        way: Way::Edit {
            by: "shell",
            file: &[
                "${PI_CODING_AGENT_DIR}/settings.json",
                "~/.pi/agent/settings.json",
            ],
            format: Format::Json,
            edits: |tools| set(&["shellPath"], &tools.shell),
        },
    },
    Agent {
        name: "qoder",
        programs: &["qodercli", "qoder"],
        state: &["${QODER_CONFIG_DIR}", "~/.qoder"],
        way: Way::Hand(
            "none of its settings was seen to work: run it as a whole, `guard -- qodercli`",
        ),
    },
    Agent {
        name: "qwen",
        programs: &["qwen"],
        state: &["${QWEN_HOME}", "~/.qwen"],
        way: Way::Hand(
            "it takes bash from PATH, and its hooks cannot change a command: start it as `PATH={folder}:$PATH qwen`",
        ),
    },
    Agent {
        name: "rivumi",
        programs: &["rivumi"],
        state: &[],
        way: Way::Hand("nothing is known of its settings: run it as a whole, `guard -- rivumi`"),
    },
];

/// The agent of a name.
#[must_use]
pub fn known(name: &str) -> Option<&'static Agent> {
    KNOWN.iter().find(|agent| agent.name == name)
}

/// omp runs commands in its own process, so an extension puts guard before each. A command that is ours already has to be so
/// as a whole, as for hooks.
fn for_omp(tools: &Tools) -> String {
    let begin = Value::from(format!("{} -- /bin/bash -c ", quote(&tools.guard)));
    format!(
        r#"// Written by `guard agent wrap omp`.
const begin = {begin};
const quote = (text: string) => "'" + text.replaceAll("'", "'\\''") + "'";
const isWrapped = (command: string) => {{
  if (!command.startsWith(begin + "'") || !command.endsWith("'")) return false;
  const word = command.slice(begin.length);
  return word.length > 1 && quote(word.slice(1, -1).replaceAll("'\\''", "'")) === word;
}};
export default function (pi: any) {{
  pi.on("tool_call", (event: any) => {{
    if (event.toolName !== "bash") return;
    const command = event.input.command;
    if (typeof command !== "string" || command.includes("\0")) throw new Error("guard: no command that a shell can run");
    if (!isWrapped(command)) event.input.command = begin + quote(command);
  }});
}}
"#
    )
}
