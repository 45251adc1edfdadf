//! How each agent is started without a person and pointed at the fake model, a row each. `{url}` stands for that model's address.

use serde_json::{Value, json};

use super::super::edit::{Change, Edit};

/// How an agent is started.
pub struct Start {
    /// Its name, as in the table of agents.
    name: &'static str,
    /// A run that only prepares; none if it is empty.
    pub before: &'static [&'static str],
    /// The run itself.
    pub arguments: &'static [&'static str],
    /// What it finds in its environment.
    pub env: &'static [(&'static str, &'static str)],
    /// What lies in its home.
    pub files: &'static [(&'static str, &'static str)],
    /// What has to be in the configuration in which its wrap is.
    pub settings: fn(&str) -> Vec<Edit>,
    /// A session in its home, of which it knows nothing.
    pub session: &'static str,
}

const PLAIN: Start = Start {
    name: "",
    before: &[],
    arguments: &[],
    env: &[],
    files: &[],
    settings: |_| Vec::new(),
    session: "",
};

fn set(path: &[&str], value: Value) -> Edit {
    Edit {
        path: path.iter().map(|&key| key.to_owned()).collect(),
        change: Change::Set(value),
    }
}

const ROWS: &[Start] = &[
    Start {
        name: "claude-code",
        arguments: &[
            "-p",
            "go",
            "--model",
            "guard-verify",
            "--allowedTools",
            "Bash",
        ],
        env: &[
            ("ANTHROPIC_BASE_URL", "{url}"),
            ("ANTHROPIC_API_KEY", "none"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
        ],
        // What a person has there counts before the environment.
        settings: |url| {
            vec![
                set(&["env", "ANTHROPIC_BASE_URL"], json!(url)),
                set(&["env", "ANTHROPIC_API_KEY"], json!("none")),
            ]
        },
        session: ".claude/projects/-guard-verify/session.jsonl",
        ..PLAIN
    },
    Start {
        name: "cline",
        before: &[
            "auth",
            "-p",
            "openai-compatible",
            "-k",
            "none",
            "-m",
            "guard-verify",
            "-b",
            "{url}/v1",
        ],
        arguments: &[
            "-t",
            "60",
            "-P",
            "openai-compatible",
            "-m",
            "guard-verify",
            "go now",
        ],
        env: &[("CLINE_TELEMETRY_DISABLED", "1")],
        session: ".cline/data/sessions/guard-verify/guard-verify.messages.json",
        ..PLAIN
    },
    Start {
        name: "codex",
        arguments: &[
            "exec",
            "--skip-git-repo-check",
            "--dangerously-bypass-approvals-and-sandbox",
            "-c",
            "model=\"guard-verify\"",
            "-c",
            "model_provider=\"guard-verify\"",
            "-c",
            "check_for_update_on_startup=false",
            "-c",
            "analytics.enabled=false",
            "-c",
            "model_providers.guard-verify={name=\"guard\",base_url=\"{url}/v1\",wire_api=\"responses\",env_key=\"GUARD_VERIFY_KEY\",request_max_retries=0,stream_max_retries=0}",
            "go",
        ],
        env: &[("GUARD_VERIFY_KEY", "none")],
        session: ".codex/sessions/2026/01/01/rollout-2026-01-01T00-00-00-guard-verify.jsonl",
        ..PLAIN
    },
    Start {
        name: "copilot",
        arguments: &["--allow-all-tools", "--allow-all-paths", "-p", "go"],
        env: &[
            ("COPILOT_OFFLINE", "true"),
            ("COPILOT_PROVIDER_BASE_URL", "{url}/v1"),
            ("COPILOT_PROVIDER_API_KEY", "none"),
            ("COPILOT_MODEL", "guard-verify"),
            ("COPILOT_AUTO_UPDATE", "false"),
        ],
        session: ".copilot/session-state/guard-verify/events.jsonl",
        ..PLAIN
    },
    Start {
        name: "droid",
        arguments: &[
            "exec",
            "--auto",
            "high",
            "-m",
            "custom:guard-verify-0",
            "go",
        ],
        env: &[("FACTORY_API_KEY", "fk-none")],
        settings: |url| {
            let model = json!({"model": "guard-verify", "displayName": "guard-verify", "baseUrl": format!("{url}/v1"),
                "apiKey": "none", "provider": "generic-chat-completion-api", "maxOutputTokens": 8192});
            vec![set(&["customModels"], json!([model]))]
        },
        session: ".factory/sessions/guard-verify/session.jsonl",
        ..PLAIN
    },
    Start {
        name: "gemini",
        arguments: &[
            "-m",
            "gemini-2.5-flash",
            "--yolo",
            "--skip-trust",
            "-p",
            "go",
        ],
        env: &[
            ("GEMINI_API_KEY", "none"),
            ("GOOGLE_GEMINI_BASE_URL", "{url}"),
            ("GEMINI_TELEMETRY_ENABLED", "false"),
            ("GEMINI_CLI_NO_RELAUNCH", "true"),
        ],
        settings: |_| {
            vec![set(
                &["security", "auth", "selectedType"],
                json!("gemini-api-key"),
            )]
        },
        session: ".gemini/tmp/guard-verify/chats/session-2026-01-01T00-00-guard.jsonl",
        ..PLAIN
    },
    Start {
        name: "hermes",
        arguments: &["chat", "--yolo", "-Q", "-q", "go"],
        env: &[("OPENAI_API_KEY", "none")],
        files: &[(
            ".hermes/config.yaml",
            "model:\n  default: guard-verify\n  provider: custom\n  base_url: {url}/v1\n  api_key: none\n",
        )],
        session: ".hermes/sessions/guard-verify.json",
        ..PLAIN
    },
    Start {
        name: "omp",
        arguments: &["--model", "guard/guard-verify", "-p", "go"],
        env: &[("PI_OFFLINE", "1")],
        files: &[(
            ".omp/agent/models.yml",
            "providers:\n  guard:\n    baseUrl: {url}/v1\n    api: openai-completions\n    apiKey: none\n    models:\n      - id: guard-verify\n        name: guard-verify\n",
        )],
        session: ".omp/agent/sessions/-guard-verify/2026-01-01_guard.jsonl",
        ..PLAIN
    },
    Start {
        name: "opencode",
        arguments: &["run", "--model", "guard/guard-verify", "go"],
        env: &[
            (
                "OPENCODE_CONFIG_CONTENT",
                r#"{"autoupdate":false,"share":"disabled","model":"guard/guard-verify","provider":{"guard":{"npm":"@ai-sdk/openai-compatible","name":"guard","options":{"baseURL":"{url}/v1","apiKey":"none"},"models":{"guard-verify":{"name":"guard-verify"}}}}}"#,
            ),
            ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
            ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
            ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
            // It looks for its plugins in a registry; an answer that there are none comes at once.
            ("npm_config_registry", "{url}/registry/"),
            ("npm_config_fetch_retries", "0"),
        ],
        session: ".local/share/opencode/storage/session/guard-verify.json",
        ..PLAIN
    },
    Start {
        name: "pi",
        arguments: &[
            "--provider",
            "guard",
            "--model",
            "guard-verify",
            "--mode",
            "text",
            "-p",
            "go",
        ],
        env: &[("PI_OFFLINE", "1"), ("PI_TELEMETRY", "0")],
        files: &[(
            ".pi/agent/models.json",
            r#"{"providers":{"guard":{"baseUrl":"{url}/v1","api":"openai-completions","apiKey":"none","models":[{"id":"guard-verify"}]}}}"#,
        )],
        session: ".pi/agent/sessions/--guard-verify--/2026-01-01_guard.jsonl",
        ..PLAIN
    },
    Start {
        name: "qwen",
        arguments: &["--yolo", "-p", "go"],
        env: &[
            ("OPENAI_API_KEY", "none"),
            ("OPENAI_BASE_URL", "{url}/v1"),
            ("OPENAI_MODEL", "guard-verify"),
        ],
        files: &[(
            ".qwen/settings.json",
            r#"{"security":{"auth":{"selectedType":"openai"}}}"#,
        )],
        session: ".qwen/projects/-guard-verify/chats/session.jsonl",
        ..PLAIN
    },
];

const ACCOUNT: &str = "it cannot be started without an account";

/// Those that have no row, and why.
const NOT: &[(&str, &str)] = &[
    ("aider", "it gives its model no tool that runs commands"),
    ("amp", ACCOUNT),
    ("cursor", ACCOUNT),
    ("qoder", ACCOUNT),
];

/// How to start an agent, or why that is not known.
pub fn how(name: &str) -> Result<&'static Start, &'static str> {
    if let Some(row) = ROWS.iter().find(|row| row.name == name) {
        return Ok(row);
    }
    let why = NOT.iter().find(|(not, _)| *not == name);
    Err(why.map_or(
        "how to start it without a person is not known to guard",
        |(_, why)| why,
    ))
}

#[cfg(test)]
mod tests {
    use super::super::super::{KNOWN, known};
    use super::*;

    #[test]
    fn rows_are_of_agents_that_guard_knows_and_their_sessions_are_where_their_state_is() {
        for row in ROWS {
            let agent = known(row.name).unwrap_or_else(|| panic!("{}", row.name));
            let state = agent.state.last().unwrap().strip_prefix("~/").unwrap();
            assert!(
                row.session.starts_with(&format!("{state}/")),
                "{}",
                row.name
            );
            assert!(!row.arguments.is_empty() && how(row.name).is_ok());
            let settings = (row.settings)("{url}");
            let told = format!(
                "{:?}{:?}{:?}{:?}{settings:?}",
                row.before, row.arguments, row.env, row.files
            );
            assert!(
                told.contains("{url}"),
                "{} is not told where the model is",
                row.name
            );
        }
        for (name, _) in NOT {
            assert!(known(name).is_some() && how(name).is_err(), "{name}");
        }
        assert!(KNOWN.iter().any(|agent| how(agent.name).is_err()));
    }
}
