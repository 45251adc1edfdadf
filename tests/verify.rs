//! `guard agent verify`, with agents made up for it: honest ones, ones that ignore their wrap, and liars.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use support::home::check;
use support::{Home, Run, Who, With, both, each, programs, skip};

/// An agent that finds its model and its shell where pi does. `MODE` says how it behaves.
const AGENT: &str = r#"#!/usr/bin/env python3
import json, os, subprocess, sys, time, urllib.request
MODE = "@MODE@"
if "--version" in sys.argv:
    print("pi 9.8.7")
    sys.exit()
folder = os.environ["HOME"] + "/.pi/agent/"
def read(name):
    with open(folder + name) as file:
        return json.load(file)
url = read("models.json")["providers"]["guard"]["baseUrl"]
shell = read("settings.json").get("shellPath", "/bin/bash") if os.path.exists(folder + "settings.json") else "/bin/bash"
tool = {"name": "read" if MODE == "no tool" else "bash",
        "parameters": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}}
def ask(messages):
    body = {"model": "m", "messages": messages, "tools": [{"type": "function", "function": tool}]}
    request = urllib.request.Request(url + "/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["choices"][0]["message"]
def run(*words, **more):
    try:
        return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more).stdout
    except OSError as error:
        return str(error)
if MODE == "never asks":
    print("environment", sorted(os.environ.items()), os.getcwd(), os.listdir())
    sys.exit(3)
messages = [{"role": "user", "content": "go"}]
answer = ask(messages)
if MODE == "never calls" or not answer.get("tool_calls"):
    sys.exit()
if MODE == "hangs":
    daemon = subprocess.Popen(["setsid", "sleep", "300"])
    with open("@MARK@", "w") as file:
        file.write("%d %d" % (os.getpid(), daemon.pid))
    time.sleep(300)
call = answer["tool_calls"][0]
command = json.loads(call["function"]["arguments"])["command"]
if MODE == "ignores its wrap":
    said = run("/bin/bash", "-c", command)
elif MODE == "forges":
    said = command.split(" agent probe ")[1].split()[0] + " guarded 12345678\n"
elif MODE == "claims":
    said = run("/bin/bash", "-c", command, env=dict(os.environ, GUARD_ACTIVE="guard-1-0123456789abcdef", GUARD_RUN="12345678"))
elif MODE == "a stale environment":
    kept = os.environ["TMPDIR"] + "/env"
    said = run(shell, "-c", "export -p > " + kept) + run(shell, "-c", ". " + kept + "; " + command)
elif MODE == "once without":
    said = run(shell, "-c", command) + run("/bin/bash", "-c", command)
else:
    said = run(shell, "-c", command)
ask(messages + [answer, {"role": "tool", "tool_call_id": call["id"], "content": said}])
"#;

/// Puts the agent on PATH.
fn agent(home: &Home, mode: &str) -> Result<(), String> {
    let bin = home.outside().join("bin");
    fs::create_dir_all(&bin).map_err(|e| e.to_string())?;
    let mark = home.outside().join("mark").display().to_string();
    let text = AGENT.replace("@MODE@", mode).replace("@MARK@", &mark);
    fs::write(bin.join("pi"), text).map_err(|e| e.to_string())?;
    fs::set_permissions(bin.join("pi"), PermissionsExt::from_mode(0o755)).map_err(|e| e.to_string())
}

/// A script with `$G` for guard, and the agent on PATH.
fn run(home: &Home, with: With<'_>, script: &str) -> Result<Run, String> {
    let guard = programs::guard().display();
    home.script(
        with,
        &format!("G={guard} PATH=$O/bin:$PATH; cd ~; {script}"),
    )
}

/// One agent.
struct Case {
    mode: &'static str,
    /// Done first.
    before: &'static str,
    /// What stands before and behind `guard agent verify pi`.
    verify: (&'static str, &'static str),
    status: i32,
    /// What the first line begins with, and what all of it holds.
    begins: &'static str,
    holds: &'static str,
}

const WRAPPED: &str = "$G agent wrap pi --yes";
const UNTRIED: &str = "pi 9.8.7: could not be tried: ";
const WITHOUT: &str = "pi 9.8.7: its command ran WITHOUT guard";
const UNDER: &str = "pi 9.8.7: its command ran under guard (run ";

const fn case(
    mode: &'static str,
    before: &'static str,
    status: i32,
    begins: &'static str,
    holds: &'static str,
) -> Case {
    Case {
        mode,
        before,
        verify: ("", ""),
        status,
        begins,
        holds,
    }
}

const CASES: &[Case] = &[
    case(
        "honest",
        WRAPPED,
        0,
        UNDER,
        "), and could not remove a session\n",
    ),
    case("honest", "true", 1, WITHOUT, "guard agent wrap pi"),
    case(
        "ignores its wrap",
        WRAPPED,
        1,
        WITHOUT,
        "it ignores its wrap: run it as a whole",
    ),
    // As hermes does it: each command gets the variables of the first, whose guard is gone.
    case(
        "a stale environment",
        WRAPPED,
        0,
        "pi 9.8.7: its command ran under guard, and",
        "could not remove a session",
    ),
    case("once without", WRAPPED, 1, WITHOUT, ""),
    case(
        "claims",
        WRAPPED,
        1,
        WITHOUT,
        "GUARD_ACTIVE is set, but no guard answers",
    ),
    case(
        "forges",
        WRAPPED,
        2,
        UNTRIED,
        "the probe itself left no report",
    ),
    case(
        "never asks",
        WRAPPED,
        2,
        UNTRIED,
        "it never asked the model (exit status: 3)\n    environment",
    ),
    case("no tool", WRAPPED, 2, UNTRIED, "no tool that runs commands"),
    case(
        "never calls",
        WRAPPED,
        2,
        UNTRIED,
        "was told to call its shell tool and never did",
    ),
    Case {
        verify: ("", "--timeout 4"),
        ..case("hangs", WRAPPED, 2, UNTRIED, "never did within 4 s")
    },
    // The wrap leads to nothing.
    case(
        "honest",
        "$G agent wrap pi --yes && rm ~/.config/guard/shell/bash",
        2,
        UNTRIED,
        "did not run the probe, it answered: [Errno 2]",
    ),
    // A guard that refuses to start.
    Case {
        verify: ("GUARD_POLICY=nonesuch", ""),
        ..case(
            "honest",
            WRAPPED,
            2,
            UNTRIED,
            "did not run the probe, it answered: guard: ",
        )
    },
    // A configuration that the environment moves.
    Case {
        verify: ("PI_CODING_AGENT_DIR=$O/moved", ""),
        ..case(
            "honest",
            "export PI_CODING_AGENT_DIR=$O/moved; $G agent wrap pi --yes",
            0,
            UNDER,
            "could not remove a session",
        )
    },
    // Policies of the person's own, by the variable and by the file.
    Case {
        verify: ("GUARD_POLICY=./loose.toml", ""),
        ..case("honest", LOOSE, 1, UNDER, "but could REMOVE a session")
    },
    Case {
        verify: ("unset GUARD_POLICY;", ""),
        ..case("honest", LOOSE, 1, UNDER, "but could REMOVE a session")
    },
];

const LOOSE: &str = "$G agent wrap pi --yes; printf 'version = 1\\ndefault = \"writable\"\\n' | tee ~/loose.toml > ~/.config/guard/policy.toml";

fn python(who: Who) -> Result<bool, String> {
    if programs::find(who, "python3").is_some() {
        return Ok(true);
    }
    skip("verify", "python3").map(|()| false)
}

#[test]
fn what_an_agent_does_is_what_is_said_of_it() {
    each(
        "verify",
        CASES,
        |case| format!("{} after `{}`, {}", case.mode, case.before, case.verify.0),
        |case, who| {
            if !python(who)? {
                return Ok(());
            }
            let home = Home::new(who);
            agent(&home, case.mode)?;
            let before = run(&home, With::Nothing, case.before)?;
            check("before", before.status == 0, &before)?;
            let protected = home.protected();
            let (first, behind) = case.verify;
            let said = run(
                &home,
                With::Nothing,
                &format!(
                    "export OPENAI_API_KEY=sk-the-persons-own; {first} $G agent verify pi {behind}"
                ),
            )?;
            check("status", said.status == case.status, &said)?;
            check("begins", said.stdout.starts_with(case.begins), &said)?;
            check("holds", said.stdout.contains(case.holds), &said)?;
            let warned = said.stderr.contains("pi is not wrapped");
            check("warned", warned == (case.before == "true"), &said)?;
            let kept = !said.stdout.contains("sk-the-persons-own");
            check("no keys", kept && home.protected() == protected, &said)?;
            let left = fs::read_dir(home.tmp()).map_err(|e| e.to_string())?.count();
            check("no folder stays", left == 0, &said)?;
            ended(&home, if case.mode == "hangs" { 2 } else { 0 }, &said)
        },
    );
}

/// A hanging agent has ended, and the daemon that it put into a session of its own.
fn ended(home: &Home, expected: usize, said: &Run) -> Result<(), String> {
    let mark = support::read_text(&home.outside().join("mark"));
    let pids: Vec<&str> = mark.split_whitespace().collect();
    let lives = |pid: &&str| fs::metadata(format!("/proc/{pid}")).is_ok();
    check(
        "ended",
        pids.len() == expected && !pids.iter().any(lives),
        said,
    )
}

#[test]
fn as_json() {
    both("verify", "json", |who| {
        if !python(who)? {
            return Ok(());
        }
        let home = Home::new(who);
        agent(&home, "honest")?;
        let said = run(
            &home,
            With::Nothing,
            &format!("{WRAPPED} >/dev/null; $G agent verify --json pi"),
        )?;
        let object: serde_json::Value =
            serde_json::from_str(&said.stdout).map_err(|e| format!("{e}: {}", said.stdout))?;
        let run_id = object["run"].as_str().unwrap_or_default();
        let good = object["agent"] == "pi"
            && object["version"] == "9.8.7"
            && object["verdict"] == "guarded";
        check(
            "guarded",
            good && object["session"] == "kept" && run_id.len() == 8,
            &said,
        )?;
        agent(&home, "never asks")?;
        let said = run(&home, With::Nothing, "$G agent verify --json pi")?;
        let object: serde_json::Value =
            serde_json::from_str(&said.stdout).map_err(|e| format!("{e}: {}", said.stdout))?;
        let told = object["output"]
            .as_str()
            .is_some_and(|it| it.contains("environment"));
        check(
            "untried",
            said.status == 2 && object["verdict"] == "untried" && object["run"].is_null() && told,
            &said,
        )
    });
}

#[test]
fn what_cannot_be_tried_is_not_called_guarded() {
    both("verify", "untried", |who| {
        let home = Home::new(who);
        agent(&home, "honest")?;
        let inside = run(&home, With::Guard(&[]), "$G agent verify pi")?;
        check(
            "inside",
            inside.status == 2 && inside.stdout.contains("run it outside"),
            &inside,
        )?;
        for (name, status, says) in [
            ("codex", 2, "none of its programs is on PATH: codex"),
            ("amp", 2, "it cannot be started without an account"),
            (
                "rivumi",
                2,
                "how to start it without a person is not known to guard",
            ),
            ("nonesuch", 1, "guard knows no agent nonesuch"),
        ] {
            let said = run(
                &home,
                With::Nothing,
                &format!("PATH=$O/bin; $G agent verify {name} 2>&1"),
            )?;
            check(
                name,
                said.status == status && said.stdout.contains(says),
                &said,
            )?;
        }
        let broken = run(
            &home,
            With::Nothing,
            "echo '{' > ~/.pi/agent/settings.json; $G agent verify pi",
        )?;
        let warned = broken.stderr.contains("the wrap of pi is broken: ");
        check("broken", broken.status == 2 && warned, &broken)
    });
}

#[test]
fn wrap_says_what_proves_it() {
    both("verify", "wrap", |who| {
        let home = Home::new(who);
        let wrap = run(
            &home,
            With::Nothing,
            "$G agent wrap pi --yes | tail -1; $G agent wrap crush --yes; $G agent unwrap pi --yes; $G agent wrap qwen; $G agent wrap amp",
        )?;
        let once = wrap.stdout.matches("now run: guard agent verify").count() == 1;
        let by_hand = wrap
            .stdout
            .matches("then run in the same way: guard agent verify")
            .count()
            == 1;
        check(
            "said",
            once && by_hand && wrap.stdout.starts_with("now run: guard agent verify pi\n"),
            &wrap,
        )
    });
}

#[test]
fn an_interrupted_one_leaves_nothing() {
    both("verify", "interrupted", |who| {
        if !python(who)? {
            return Ok(());
        }
        let home = Home::new(who);
        agent(&home, "hangs")?;
        let said = run(
            &home,
            With::Nothing,
            "$G agent verify pi & V=$!; until [ -s $O/mark ]; do sleep 0.1; done; kill -TERM $V; wait $V",
        )?;
        let told = said.stdout == "pi: could not be tried: it was interrupted\n";
        let left = fs::read_dir(home.tmp()).map_err(|e| e.to_string())?.count();
        check("told", told && said.status == 2 && left == 0, &said)?;
        ended(&home, 2, &said)
    });
}
