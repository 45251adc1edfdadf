//! Whole agents under guard: what each does to its own folders goes on, and no older session is lost.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use std::fs;
use std::os::unix::fs::lchown;

use support::home::check;
use support::{Home, With, each};

/// An agent as AGENTS and its policy have it. `$S` is an older session, `$D` the folder that it lies in, `$R` the agent's
/// folder.
struct Agent {
    policy: &'static str,
    /// `$R`, below the home directory.
    root: &'static str,
    /// The variable that moves it.
    moved: &'static str,
    /// `$S`, below `$R`.
    session: &'static str,
    /// Whether an older session can be emptied: it can be emptied.
    emptied: bool,
    /// What is there before, below `$R`.
    files: &'static [&'static str],
    /// What the agent does, a step a line of its shell.
    does: &'static [&'static str],
}

#[rustfmt::skip] // one step a line
const AGENTS: &[Agent] = &[
    Agent {
        policy: "agent-pi", root: ".pi/agent", moved: "PI_CODING_AGENT_DIR", session: "sessions/--old--/2026-01-01_a.jsonl", emptied: false,
        files: &["auth.json", "settings.json", "models-store.json", "npm/node_modules/x/old.js", "auth.json.lock/left"],
        does: &[
            "mkdir $R/sessions/--new-- && (set -C; echo header > $R/sessions/--new--/b.jsonl) && echo more >> $R/sessions/--new--/b.jsonl",
            "mkdir $R/settings.json.lock && echo saved > $R/settings.json && rmdir $R/settings.json.lock",
            "rm $R/auth.json.lock/left && rmdir $R/auth.json.lock && echo saved > $R/auth.json",
            "rm -r $R/npm/node_modules/x && mkdir $R/npm/node_modules/x",
            "echo heal >> $S",
        ],
    },
    Agent {
        policy: "agent-omp", root: ".omp", moved: "PI_CONFIG_DIR", session: "agent/sessions/-old/2026-01-01_a.jsonl", emptied: false,
        files: &["agent/config.yml", "agent/agent.db", "agent/agent.db-wal", "agent/sessions/-old/.x.jsonl.lock", "profiles/p/agent/agent.db-shm"],
        does: &[
            "mkdir -p $R/agent/sessions/-new && echo first > $R/agent/sessions/-new/.b.tmp && mv $R/agent/sessions/-new/.b.tmp $R/agent/sessions/-new/b.jsonl && echo more >> $R/agent/sessions/-new/b.jsonl",
            "rm $R/agent/sessions/-old/.x.jsonl.lock && (set -C; : > $D/.a.jsonl.lock) && echo more >> $S && rm $D/.a.jsonl.lock",
            "echo page >> $R/agent/agent.db && rm $R/agent/agent.db-wal $R/profiles/p/agent/agent.db-shm && : > $R/agent/agent.db-wal && rm $R/agent/agent.db-wal",
            "echo saved > $R/agent/.config.tmp && mv $R/agent/.config.tmp $R/agent/config.yml",
        ],
    },
    Agent {
        policy: "agent-opencode", root: ".local/share/opencode", moved: "", session: "opencode.db", emptied: true,
        files: &["auth.json", "opencode.db-wal", "opencode.db-shm", "log/old.log", "storage/session/s.json", "snapshot/p/HEAD", "snapshot/p/index.lock"],
        does: &[
            "echo page >> $S && rm $R/opencode.db-wal $R/opencode.db-shm",
            "echo saved > $R/auth.json && echo saved > $R/storage/session/s.json",
            "rm $R/log/old.log && rm $R/snapshot/p/index.lock && echo ref > $R/snapshot/p/HEAD.lock && mv $R/snapshot/p/HEAD.lock $R/snapshot/p/HEAD",
            "mkdir -p ~/.local/state/opencode/locks/h.lock && rmdir ~/.local/state/opencode/locks/h.lock",
        ],
    },
    Agent {
        policy: "agent-codex", root: ".codex", moved: "CODEX_HOME", session: "sessions/2026/01/01/rollout-a.jsonl", emptied: true,
        files: &["auth.json", "config.toml", "state_5.sqlite", "state_5.sqlite-wal", "thread-writer-locks/a.lock", "shell_snapshots/old.sh"],
        does: &[
            "mkdir -p $R/sessions/2026/02/02 && echo first > $R/sessions/2026/02/02/rollout-b.jsonl && echo more >> $S",
            "echo saved > $R/config.tmp && mv $R/config.tmp $R/config.toml && echo saved > $R/auth.json",
            "rm $R/thread-writer-locks/a.lock $R/shell_snapshots/old.sh $R/state_5.sqlite-wal && echo page >> $R/state_5.sqlite",
            "python3 -c 'import os; f = os.open(os.environ[\"S\"], os.O_RDWR | os.O_APPEND); os.write(f, b\"more\")'",
        ],
    },
    Agent {
        policy: "agent-claude-code", root: ".claude", moved: "CLAUDE_CONFIG_DIR", session: "projects/-old/a.jsonl", emptied: false,
        files: &["settings.json", ".credentials.json", "history.jsonl", "projects/-old/memory/MEMORY.md", "sessions/7.json", "shell-snapshots/old.sh", "todos/a.json"],
        does: &[
            "mkdir $R/projects/-new && echo first > $R/projects/-new/b.jsonl && echo more >> $R/projects/-new/b.jsonl && echo more >> $S",
            "echo edited > $R/projects/-old/memory/MEMORY.md && echo asked >> $R/history.jsonl && echo saved > $R/todos/a.json",
            "rm $R/sessions/7.json $R/shell-snapshots/old.sh && echo saved > $R/settings.json",
            "mkdir ~/.claude.json.lock && (set -C; echo saved > ~/.claude.json.tmp.1) && mv ~/.claude.json.tmp.1 ~/.claude.json && rmdir ~/.claude.json.lock",
        ],
    },
    Agent {
        policy: "agent-gemini", root: ".gemini", moved: "", session: "tmp/proj/chats/session-a.jsonl", emptied: false,
        files: &["settings.json", "oauth_creds.json", "projects.json", "tmp/proj/logs.json", "tmp/bin/rg"],
        does: &[
            "echo first > $D/session-b.jsonl && echo more >> $D/session-b.jsonl && echo more >> $S",
            "mkdir $R/projects.json.lock && echo saved > $R/projects.json.1.tmp && mv $R/projects.json.1.tmp $R/projects.json && rmdir $R/projects.json.lock",
            "echo log > $R/tmp/proj/logs.json && rm $R/tmp/bin/rg && echo saved > $R/oauth_creds.json",
        ],
    },
];

/// What an attack does to an older session. Who goes on with one of codex's or opencode's opens it for reading and writing, so
/// theirs are at no-delete, where what exists can be emptied, and moved about if nothing of another level lies beside it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Harm {
    Loses,
    Empties,
    Moves,
}

use Harm::{Empties, Loses, Moves};

/// What nobody may do, whether the agent's own tools or a command.
#[rustfmt::skip] // one attack a line
const HARM: &[(&str, Harm)] = &[
    ("rm -f $S", Loses),
    ("rm -rf $D", Loses),
    ("rm -rf $R", Loses),
    ("mv $S $S.away", Moves),
    ("mv $D $D.away", Moves),
    ("mv $R $R.away", Moves),
    // Where the agent's locks may go, nothing else may.
    ("mv $S $R/x.lock; rm -f $R/x.lock", Moves),
    ("mv $D $R/x.lock || mv $D $D.away; rm -rf $R/x.lock", Moves),
    ("ln $S $R/x.lock && : > $R/x.lock", Empties),
    ("ln -s $D $R/x.lock && rm -rf $R/x.lock/", Loses),
    ("echo gone > $T && mv $T $S", Empties),
    ("python3 -c 'import os; os.ftruncate(os.open(os.environ[\"S\"], os.O_WRONLY | os.O_APPEND), 0)'", Empties),
    (": > $S", Empties),
    ("echo gone | dd of=$S conv=notrunc status=none", Empties),
    ("truncate -s 0 $S", Empties),
    ("python3 -c 'import os; os.unlink(os.environ[\"S\"]); open(os.environ[\"S\"], \"w\").write(\"gone\")'", Loses),
];

const OLD: &str = "an older session\n";

/// Furnishes a home, with the agent's folder at its own place or at another one.
fn furnish(home: &Home, agent: &Agent, root: &str) {
    home.reset();
    let root = home.path.join(root);
    let session = root.join(agent.session);
    let files = agent.files.iter().map(|name| root.join(name));
    for file in files.chain([
        session,
        home.path.join(".claude.json"),
        home.path.join("proj/x"),
    ]) {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        // Some are there already, and not to be written.
        drop(fs::remove_file(&file));
        fs::write(&file, OLD).unwrap();
        for path in file.ancestors().take_while(|path| *path != home.path) {
            lchown(path, Some(home.who.uid()), Some(home.who.gid())).unwrap();
        }
    }
}

/// A script with the variables of an agent.
fn script(home: &Home, agent: &Agent, root: &str, step: &str) -> String {
    let root = home.path.join(root);
    let session = root.join(agent.session);
    let folder = session.parent().unwrap();
    let moved = match agent.moved {
        "" => String::new(),
        name => format!("export {name}={}\n", root.display()),
    };
    let moved = if root.ends_with(agent.root) {
        ""
    } else {
        &moved
    };
    let (root, folder, session) = (root.display(), folder.display(), session.display());
    format!("export R={root} D={folder} S={session} T=$HOME/proj/t; {moved}{step}\n")
}

/// The options of guard, with the variable that moves the agent's folder where guard itself can see it.
fn run(
    home: &Home,
    agent: &Agent,
    root: &str,
    step: &str,
    guard: bool,
) -> Result<support::Run, String> {
    let text = script(home, agent, root, step);
    let options = ["--policy", agent.policy];
    let with = if guard {
        With::Guard(&options)
    } else {
        With::Nothing
    };
    let mut command = home.command(with, &["sh", "-ec", &text]);
    if !agent.moved.is_empty() && root != agent.root {
        command.env(agent.moved, home.path.join(root));
    }
    command.current_dir(home.path.join("proj"));
    home.finish(command)
}

/// The places of an agent's folder to try.
fn roots(agent: &Agent) -> Vec<&str> {
    match agent.moved {
        "" => vec![agent.root],
        _ => vec![agent.root, "elsewhere/state"],
    }
}

#[test]
fn an_agent_goes_on_as_it_does() {
    each(
        "whole agent",
        AGENTS,
        |agent| agent.policy.to_owned(),
        |agent, who| {
            let home = Home::new(who);
            for root in roots(agent) {
                for step in agent.does {
                    for guard in [false, true] {
                        furnish(&home, agent, root);
                        let run = run(&home, agent, root, step, guard)?;
                        check(
                            &format!("~/{root}, guard {guard}: {step}"),
                            run.status == 0,
                            &run,
                        )?;
                    }
                    if !home.attempts().is_empty() {
                        return Err(format!("{step}: something was refused"));
                    }
                }
            }
            Ok(())
        },
    );
}

#[test]
fn no_older_session_is_lost() {
    each(
        "older sessions",
        AGENTS,
        |agent| agent.policy.to_owned(),
        |agent, who| {
            let home = Home::new(who);
            for root in roots(agent) {
                for (step, harm) in HARM {
                    let session = home.path.join(root).join(agent.session);
                    let kept = || fs::read_to_string(&session).is_ok_and(|text| text == OLD);
                    furnish(&home, agent, root);
                    run(&home, agent, root, step, false)?;
                    if kept() {
                        return Err(format!("CONTROL ~/{root}: {step} does nothing"));
                    }
                    furnish(&home, agent, root);
                    let run = run(&home, agent, root, step, true)?;
                    if agent.emptied && *harm == Moves {
                        continue;
                    }
                    let is_limit = agent.emptied && *harm == Empties;
                    check(&format!("~/{root}: {step}"), kept() != is_limit, &run)?;
                    if !is_limit {
                        check(
                            &format!("~/{root}: {step} is not told"),
                            run.stderr.contains("guard: refused"),
                            &run,
                        )?;
                    }
                }
            }
            Ok(())
        },
    );
}
