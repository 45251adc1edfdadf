//! `guard agent` and `guard hook`: what they write, that what they write runs commands under guard, and that it stays.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use support::home::check;
use support::pty::Terminal;
use support::{Home, Run, Who, With, both, each, programs};

/// A script with `$G` for guard and `$S` for the folder of its shells.
fn run(home: &Home, with: With<'_>, script: &str) -> Result<Run, String> {
    let guard = programs::guard().display();
    home.script(
        with,
        &format!("G={guard} S=~/.config/guard/shell; cd ~; {script}"),
    )
}

/// Commands that remove an agent's sessions and say whether they are under guard, each by another of guard's shells.
const WAYS: &[(&str, &str)] = &[
    ("shell", "$S/bash -c"),
    ("prefix", "$S/prefix"),
    ("BASH_ENV", "BASH_ENV=$S/bash-env.sh /bin/bash -c"),
    ("PATH", "PATH=$S:$PATH bash -c"),
];

#[test]
fn what_agents_are_pointed_at_runs_commands_under_guard() {
    each(
        "agent",
        WAYS,
        |way| way.0.to_owned(),
        |(_, way), who| {
            let home = Home::new(who);
            let session = home.agent().join("sessions/--work--/2026-08-31_1.jsonl");
            let hurt = r#"'rm -rf ~/.pi/agent/sessions; echo "$GUARD_ACTIVE" | cut -c1-6'"#;
            let wrapped = run(
                &home,
                With::Nothing,
                &format!("$G agent wrap pi --yes >/dev/null && {way} {hurt}"),
            )?;
            check(
                "wrapped",
                wrapped.stdout == "guard-\n" && session.exists(),
                &wrapped,
            )?;
            check(
                "said",
                wrapped.stderr.contains("guard: refused: rm"),
                &wrapped,
            )?;
            let inside = run(
                &home,
                With::Guard(&[]),
                &format!("{way} 'echo \"$GUARD_ACTIVE\" | cut -c1-6; exit 7'"),
            )?;
            check(
                "nested",
                inside.stdout == "guard-\n" && inside.status == 7,
                &inside,
            )?;
            let told = run(
                &home,
                With::Nothing,
                &format!("GUARD_ACTIVE=1 {way} {hurt}"),
            )?;
            check(
                "a variable is no guard",
                told.stdout == "guard-\n" && session.exists(),
                &told,
            )?;
            let control = run(&home, With::Nothing, &format!("/bin/bash -c {hurt}"))?;
            check(
                "CONTROL",
                control.stdout == "\n" && !session.exists(),
                &control,
            )
        },
    );
}

#[test]
fn arguments_input_and_status_go_through() {
    both("agent", "arguments", |who| {
        let home = Home::new(who);
        let script = r#"$G agent wrap pi --yes >/dev/null
            $S/bash -c 'printf "<%s>" "$0" "$@"; exit 3' a "b  c" '' "d'e"; echo " $?"
            echo 'echo from stdin $1' | $S/bash -s x
            echo 'printf "<%s>" "$@"; exit 4' > ~/script; BASH_ENV=$S/bash-env.sh bash ~/script 1 '2 3'; echo " $?"
            echo 'echo from stdin' | BASH_ENV=$S/bash-env.sh bash
            BASH_ENV=$S/bash-env.sh bash -c 'printf "<%s>" "$0" "$@"' a 'b c'; echo
            $S/prefix "echo 'one argument' | cat"; kill -9 $$"#;
        let run = run(&home, With::Nothing, script)?;
        let wanted =
            "<a><b  c><><d'e> 3\nfrom stdin x\n<1><2 3> 4\nfrom stdin\n<a><b c>\none argument\n";
        check("through", run.stdout == wanted && run.status == 137, &run)
    });
}

/// By PATH a script finds guard's bash in place of the real one, and the scripts that it starts would, too.
#[test]
fn scripts_that_start_scripts_are_wrapped_once() {
    both("agent", "nested scripts", |who| {
        let home = Home::new(who);
        let script = "$G agent wrap pi --yes >/dev/null || exit 9
            cd ~; printf '%s\\n' '#!/usr/bin/env bash' 'echo \"$PATH\"' '[ $1 = 0 ] || ./again $(($1 - 1))' > again; chmod 755 again
            shell=$HOME/.config/guard/shell
            PATH=:$shell:/usr/bin:/bin:$shell:/no/where:; export PATH
            ./again 20";
        let run = run(&home, With::Nothing, script)?;
        let paths: Vec<&str> = run.stdout.lines().collect();
        let all = paths.len() == 21
            && paths
                .iter()
                .all(|path| *path == ":/usr/bin:/bin:/no/where:");
        check(
            "the way by PATH is taken once",
            all && run.status == 0,
            &run,
        )
    });
}

#[test]
fn without_a_guard_nothing_runs() {
    both("agent", "no guard", |who| {
        let home = Home::new(who);
        let script = r#"cp $G ~/guard; ~/guard agent wrap pi --yes >/dev/null
            all() { for run in "$S/bash -c" "$S/prefix" "env BASH_ENV=$S/bash-env.sh bash -c"; do $run 'touch ~/ran'; echo $?; done; }
            rm ~/guard; all; touch ~/guard; chmod +x ~/guard; all; chmod -x ~/guard; all
            mkdir -p ~/bin; ~/guard agent list; $G agent list | grep -c BROKEN"#;
        let run = run(&home, With::Nothing, script)?;
        let good = run.stdout == "127\n".repeat(9) + "1\n" && !home.path.join("ran").exists();
        check(
            "nothing",
            good && run.stderr.matches("the command was not run").count() == 9,
            &run,
        )?;
        let mended = self::run(
            &home,
            With::Nothing,
            "$G agent wrap pi && $S/bash -c 'echo ran'; $G agent list | head -1",
        )?;
        check(
            "mended",
            mended.status == 0 && mended.stdout.contains("\nran\npi           wrapped\n"),
            &mended,
        )
    });
}

const LOOSE: &str = "version = 1\ndefault = \"writable\"\n[paths]\n\"~/.config\" = \"writable\"\n\"~/.config/guard\" = \"writable\"\n";

#[test]
fn no_policy_lets_a_command_change_guards_shells_or_notes() {
    let policies = ["default", "ci", "agents", "strict", "loose.toml"];
    each(
        "agent",
        &policies,
        |policy| format!("kept under {policy}"),
        |policy, who| {
            let home = Home::new(who);
            fs::write(home.path.join("loose.toml"), LOOSE).map_err(|e| e.to_string())?;
            let made = run(&home, With::Nothing, "$G agent wrap pi --yes")?;
            check("made", made.status == 0, &made)?;
            let hurt = r#"echo x > $S/bash; ln -sf /bin/bash $S/bash; rm -rf ~/.config/guard; mv ~/.config ~/gone
            chmod 0 $S/prefix; touch $S/new; rm -rf ~/.local/state/guard/agents; $G agent unwrap pi --yes"#;
            let every = "cd ~; find .config/guard .local/state/guard/agents .pi/agent/settings.json -printf '%p %m %s %T@\\n' | sort";
            let before = run(&home, With::Nothing, every)?;
            let path = home.path.join(policy);
            let policy = if path.exists() {
                path.to_str().unwrap()
            } else {
                policy
            };
            let guarded = run(&home, With::Guard(&["--policy", policy]), hurt)?;
            let after = run(&home, With::Nothing, every)?;
            // A loose policy leaves the agent's own settings to the command, and `unwrap` has to read its note first.
            check(
                "kept",
                before.stdout == after.stdout
                    || policy.ends_with("loose.toml") && shells(&before) == shells(&after),
                &guarded,
            )?;
            check(
                "something was there",
                before.stdout.lines().count() >= 7,
                &before,
            )?;
            run(&home, With::Nothing, hurt)?;
            let control = run(&home, With::Nothing, every)?;
            check("CONTROL", shells(&control) != shells(&before), &control)
        },
    );
}

fn shells(run: &Run) -> Vec<&str> {
    run.stdout
        .lines()
        .filter(|line| line.starts_with(".local"))
        .collect()
}

#[test]
fn nothing_is_changed_unasked() {
    both("agent", "asks", |who| {
        let home = Home::new(who);
        let settings = home.agent().join("settings.json");
        let old = fs::read(&settings).map_err(|e| e.to_string())?;
        let dry = run(&home, With::Nothing, "$G agent wrap pi --dry-run")?;
        check(
            "dry run",
            dry.status == 0 && dry.stdout.contains("+  \"shellPath\": "),
            &dry,
        )?;
        let mute = run(&home, With::Nothing, "$G agent wrap pi </dev/null")?;
        check(
            "no terminal",
            mute.status == 1 && mute.stderr.contains("add --yes"),
            &mute,
        )?;
        let guard = programs::guard().to_str().unwrap();
        let ask = |what: &str, answer: &str| -> Result<i32, String> {
            let mut terminal =
                Terminal::start(home.command(With::Nothing, &[guard, "agent", what, "pi"]));
            terminal.expect("[y/N]")?;
            terminal.send(answer);
            terminal.end()
        };
        for (answer, status) in [("n\n", 1), ("\n", 1)] {
            assert_eq!(ask("wrap", answer)?, status, "{answer:?}");
        }
        assert!(
            fs::read(&settings).unwrap() == old && !home.path.join(".config/guard/shell").exists()
        );
        assert_eq!(ask("wrap", "y\n")?, 0);
        assert_ne!(fs::read(&settings).unwrap(), old);
        assert_eq!(ask("unwrap", "yes\n")?, 0);
        assert_eq!(fs::read(&settings).unwrap(), old);
        let unknown = run(&home, With::Nothing, "$G agent wrap vi --yes")?;
        check(
            "unknown",
            unknown.status == 1 && unknown.stderr.contains("no agent vi"),
            &unknown,
        )
    });
}

#[test]
fn what_cannot_be_changed_is_said_and_left() {
    both("agent", "left", |who| {
        let home = Home::new(who);
        let script = r#"f=~/.pi/agent/settings.json; echo '{ "a": 1, "b" }' > $f; $G agent wrap pi --yes; echo $?; cat $f
            echo '{}' > $f; chmod 444 $f; $G agent wrap pi --yes; echo $?; cat $f; chmod 644 $f
            mkdir -p ~/.cline/hooks; echo '#!/bin/true' > ~/.cline/hooks/PreToolUse; $G agent wrap cline --yes; echo $?
            printf '\xff' > $f; $G agent wrap pi --yes; echo $?; $G agent list --json | grep '"pi"'"#;
        let run = run(&home, With::Nothing, script)?;
        let out = "1\n{ \"a\": 1, \"b\" }\n1\n{}\n1\n1\n";
        check(
            "left",
            run.stdout.starts_with(out) && run.stdout.contains("\"wrapped\":\"broken\""),
            &run,
        )?;
        for said in [
            "settings.json: line 1, column 15: ",
            "is read-only (mode 444)",
            "is not guard's; nothing was changed",
            "is not UTF-8",
        ] {
            check(said, run.stderr.contains(said), &run)?;
        }
        Ok(())
    });
}

/// A call of each agent's shell tool, and where its answer has the command.
const CALLS: &[(&str, &str, &str)] = &[
    (
        "claude-code",
        r#"{"tool_name":"Bash","tool_input":{"command":"CMD"}}"#,
        "/hookSpecificOutput/updatedInput/command",
    ),
    (
        "codex",
        r#"{"tool_name":"Bash","tool_input":{"command":"CMD"}}"#,
        "/hookSpecificOutput/updatedInput/command",
    ),
    (
        "droid",
        r#"{"tool_name":"Execute","tool_input":{"command":"CMD"}}"#,
        "/hookSpecificOutput/updatedInput/command",
    ),
    (
        "gemini",
        r#"{"tool_name":"run_shell_command","tool_input":{"command":"CMD"}}"#,
        "/hookSpecificOutput/tool_input/command",
    ),
    (
        "copilot",
        r#"{"toolName":"bash","toolArgs":{"command":"CMD"}}"#,
        "/modifiedArgs/command",
    ),
    (
        "cline",
        r#"{"tool_call":{"name":"run_commands","input":{"commands":["CMD"]}}}"#,
        "/overrideInput/commands/0",
    ),
    (
        "crush",
        r#"{"tool_name":"bash","tool_input":{"command":"CMD"}}"#,
        "/updated_input/command",
    ),
    (
        "cursor",
        r#"{"tool_name":"Shell","tool_input":{"command":"CMD"}}"#,
        "/updated_input/command",
    ),
];

fn hook(home: &Home, name: &str, input: &str) -> Result<std::process::Output, String> {
    let guard = programs::guard().to_str().unwrap();
    let mut command = home.command(With::Nothing, &[guard, "hook", name]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|e| e.to_string())?;
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .map_err(|e| e.to_string())?;
    child.wait_with_output().map_err(|e| e.to_string())
}

#[test]
fn hooks_answer_with_a_command_that_runs_under_guard() {
    each(
        "hook",
        CALLS,
        |call| call.0.to_owned(),
        |(name, call, place), who| {
            let home = Home::new(who);
            let command = r#"printf '%s|' \"it's $((1+1))\" | cat; echo $GUARD_ACTIVE | cut -c1-6; rm -rf ~/.pi"#;
            let answer = hook(&home, name, &call.replace("CMD", command))?;
            let said: serde_json::Value =
                serde_json::from_slice(&answer.stdout).map_err(|e| e.to_string())?;
            let line = said
                .pointer(place)
                .and_then(|line| line.as_str())
                .ok_or("no command")?;
            // Agents write more behind it.
            let run = home.script(With::Nothing, &format!("{line} && echo more"))?;
            check(
                "runs",
                run.stdout == "it's 2|guard-\n" && run.status == 1 && home.agent().exists(),
                &run,
            )?;
            let no = hook(&home, name, "{")?;
            let blocks = if ["copilot", "cline"].contains(name) {
                0
            } else {
                2
            };
            let text = String::from_utf8_lossy(&no.stdout).into_owned();
            let denied = ["deny", "\"cancel\":true"]
                .iter()
                .any(|word| text.contains(word));
            if no.status.code() == Some(blocks) && denied && !no.stderr.is_empty() {
                return Ok(());
            }
            Err(format!("{:?}: {text}", no.status))
        },
    );
}

/// `examples/agents` holds what `wrap` writes where nothing was, for a home `/home/you` and a guard `/usr/local/bin/guard`.
#[test]
fn the_examples_are_what_wrap_writes() {
    let home = Home::new(Who::Me);
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/agents");
    let mut count = 0;
    for folder in fs::read_dir(top).unwrap() {
        let folder = folder.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let example = fs::read_dir(&folder)
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .path();
        let run = run(
            &home,
            With::Nothing,
            &format!("rm -rf ~/.pi; $G agent wrap {name} --yes"),
        )
        .unwrap();
        let Some(path) = run
            .stdout
            .lines()
            .find_map(|line| line.strip_prefix("changed "))
        else {
            assert!(name == "aider" && run.status == 1, "{name}: {}", run.stdout);
            continue;
        };
        let text = fs::read_to_string(path).unwrap();
        let text = text.replace(home.path.to_str().unwrap(), "/home/you");
        let text = text.replace(programs::guard().to_str().unwrap(), "/usr/local/bin/guard");
        assert_eq!(text, fs::read_to_string(&example).unwrap(), "{name}");
        assert_eq!(Path::new(path).file_name(), example.file_name(), "{name}");
        count += 1;
    }
    assert_eq!(count, 11);
}
