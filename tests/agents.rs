//! What coding agents keep, and the shipped policies: a made-up home for each agent with all that it would miss.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

#[path = "agents/table.rs"]
mod table;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::lchown;
use std::path::{Path, PathBuf};

use support::home::{Run, check};
use support::{Home, Who, With, both, each, programs, skip, tail};
use table::{AGENTS, Agent, Root};

/// Where the variables of an agent lead.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Variables {
    /// Nowhere: none is set.
    Unset,
    /// To `~/moved/NAME`.
    Set,
}

/// A path of the table in a home: `~` is the home.
fn in_home(home: &Home, path: &str) -> PathBuf {
    match path.strip_prefix('~') {
        Some(rest) => home.path.join(rest.trim_start_matches('/')),
        None => PathBuf::from(path),
    }
}

/// A path below another one; the other one itself for no name.
fn below(root: &Path, name: &str) -> PathBuf {
    match name {
        "" => root.to_owned(),
        name => root.join(name),
    }
}

/// Where a root is: its own place, and where variables move it to.
fn places(home: &Home, root: &Root, variables: Variables) -> Vec<PathBuf> {
    let mut places = vec![in_home(home, root.at)];
    if variables == Variables::Set {
        let moved = root.moved.iter();
        places.extend(moved.map(|name| home.path.join("moved").join(name)));
    }
    places
}

/// The variables with their values.
fn environment(home: &Home, agent: &Agent) -> Vec<(&'static str, PathBuf)> {
    let moved = agent.roots.iter().flat_map(|root| root.moved);
    let names = moved.filter_map(|name| name.split('/').next());
    names
        .map(|name| (name, home.path.join("moved").join(name)))
        .collect()
}

/// Every irreplaceable file of an agent.
fn kept(home: &Home, agent: &Agent, variables: Variables) -> BTreeSet<PathBuf> {
    let roots = agent.roots.iter();
    roots
        .flat_map(|root| {
            let places = places(home, root, variables);
            let keep = root.keep.iter();
            keep.flat_map(move |name| {
                let places: Vec<_> = places.iter().map(|place| below(place, name)).collect();
                places
            })
        })
        .collect()
}

/// What the policy has to say of a path.
#[derive(Debug)]
enum Wanted {
    /// Nothing that exists is changed or removed.
    Kept,
    /// This level.
    Level(&'static str),
}

/// What has a level of its own.
fn open(home: &Home, agent: &Agent, variables: Variables) -> Vec<(PathBuf, Wanted)> {
    let mut found = Vec::new();
    for root in agent.roots {
        for place in places(home, root, variables) {
            let open = root.open.iter();
            found.extend(open.map(|(name, level)| (below(&place, name), Wanted::Level(level))));
        }
    }
    found
}

/// Makes them, each with a text of its own, and a repository in `~/proj`.
fn furnish(home: &Home, agent: &Agent, variables: Variables) {
    let mut files = kept(home, agent, variables);
    files.insert(home.path.join("proj/.git/HEAD"));
    files.insert(home.path.join("proj/.git/refs/x"));
    files.insert(home.path.join("proj/.git/objects/x"));
    for file in files {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        // Some are there already, and not to be written.
        drop(fs::remove_file(&file));
        fs::write(&file, file.display().to_string()).unwrap();
        for path in file.ancestors().take_while(|path| *path != home.path) {
            lchown(path, Some(home.who.uid()), Some(home.who.gid())).unwrap();
        }
    }
}

/// Those that are gone or have another text.
fn lost(files: &BTreeSet<PathBuf>) -> Vec<&PathBuf> {
    let intact = |file: &&PathBuf| {
        fs::read_to_string(file).is_ok_and(|text| text == file.display().to_string())
    };
    files.iter().filter(|file| !intact(file)).collect()
}

/// What the default policy says of each path: the level, and whether what exists may be removed there.
fn explained(
    home: &Home,
    agent: &Agent,
    variables: Variables,
    paths: &[&Path],
) -> Result<Vec<(String, bool)>, String> {
    let guard = programs::guard().to_str().unwrap();
    let mut argv = vec![guard, "explain", "--json", "--policy", "default"];
    argv.extend(paths.iter().map(|path| path.to_str().unwrap()));
    let mut command = home.command(With::Nothing, &argv);
    command.current_dir(home.path.join("proj"));
    if variables == Variables::Set {
        command.envs(environment(home, agent));
    }
    let run = home.finish(command)?;
    if run.status != 0 || run.stdout.lines().count() != paths.len() {
        return Err(format!("exit {}\n{}", run.status, tail(&run.stderr)));
    }
    let said = run.stdout.lines().map(|line| {
        let said: serde_json::Value = serde_json::from_str(line).unwrap();
        let removed = &said["columns"]["remove_what_exists"]["allowed"];
        (said["level"].as_str().unwrap().to_owned(), removed == "yes")
    });
    Ok(said.collect())
}

#[test]
fn nothing_irreplaceable_is_open_and_what_has_to_be_open_is() {
    let all: Vec<(&Agent, Variables)> = AGENTS
        .iter()
        .flat_map(|agent| [(agent, Variables::Unset), (agent, Variables::Set)])
        .collect();
    let name = |(agent, variables): &(&Agent, Variables)| match variables {
        Variables::Unset => agent.name.to_owned(),
        Variables::Set => format!("{}, moved", agent.name),
    };
    each("agents' places", &all, name, |(agent, variables), who| {
        let home = Home::new(who);
        furnish(&home, agent, *variables);
        let kept = kept(&home, agent, *variables).into_iter();
        let mut asked: Vec<(PathBuf, Wanted)> = kept.map(|path| (path, Wanted::Kept)).collect();
        asked.extend(open(&home, agent, *variables));
        let paths: Vec<&Path> = asked.iter().map(|(path, _)| path.as_path()).collect();
        let said = explained(&home, agent, *variables, &paths)?;
        let wrong: Vec<String> = asked
            .iter()
            .zip(said)
            .filter(|((_, wanted), (level, removable))| match wanted {
                Wanted::Kept => *removable || !["read-only", "add-only"].contains(&level.as_str()),
                Wanted::Level(wanted) => level != wanted,
            })
            .map(|((path, wanted), (level, _))| {
                format!("{} is {level}: {wanted:?}", path.display())
            })
            .collect();
        match wrong.is_empty() {
            true => Ok(()),
            false => Err(wrong.join("\n")),
        }
    });
}

#[test]
fn a_deleted_root_and_an_emptied_session_lose_nothing() {
    each(
        "agents' accidents",
        AGENTS,
        |agent| agent.name.to_owned(),
        |agent, who| {
            let home = Home::new(who);
            let first = &agent.roots[0];
            let session = below(&in_home(&home, first.at), agent.session);
            let roots = agent.roots.iter().filter(|root| root.at.starts_with("~/"));
            // A home directory or a project is not the agent's: only what the agent keeps there is removed.
            let whole = |root: &Root| !["~", "~/proj"].contains(&root.at);
            let roots: Vec<String> = roots
                .flat_map(|root| match whole(root) {
                    true => vec![in_home(&home, root.at)],
                    false => root
                        .keep
                        .iter()
                        .map(|name| in_home(&home, root.at).join(name))
                        .collect(),
                })
                .map(|path| path.display().to_string())
                .collect();
            let roots = roots.join(" ");
            let script = format!(": > {}; rm -rf {roots}", session.display());
            let files = kept(&home, agent, Variables::Unset);
            furnish(&home, agent, Variables::Unset);
            let run = |with| {
                let mut command = home.command(with, &["bash", "-c", &script]);
                command.current_dir(home.path.join("proj"));
                home.finish(command)
            };
            run(With::Nothing)?;
            let gone = lost(&files);
            if gone.is_empty() || session.exists() {
                return Err("CONTROL: nothing is lost without guard".to_owned());
            }
            home.reset();
            furnish(&home, agent, Variables::Unset);
            let run = run(With::Guard(&["--policy", "default"]))?;
            let gone = lost(&files);
            if !gone.is_empty() {
                return Err(format!("lost: {gone:?}\n{}", tail(&run.stderr)));
            }
            let tried = |path: &Path| {
                let path = path.display().to_string();
                let attempts = home.attempts();
                attempts.iter().any(|one| one.to_string().contains(&path))
            };
            match run.status != 0 && tried(&session) {
                true => Ok(()),
                false => Err(format!(
                    "exit {}: no record\n{}",
                    run.status,
                    tail(&run.stderr)
                )),
            }
        },
    );
}

/// A repository with something new, with something ignored, and with what `keep` says.
fn project(home: &Home, keep: &str) -> Result<(), String> {
    let script = format!(
        "mkdir proj && cd proj && git init -q . && printf '.aider*\\n.crush\\nbuild\\n' > .gitignore && git add . && \
         git commit -qm a && mkdir -p build/x c/d && echo 1 > build/x/y && echo 2 > c/d/e && {keep}"
    );
    let run = home.script(With::Nothing, &script)?;
    check("the project", run.status == 0, &run)
}

fn in_project(home: &Home, script: &str) -> Result<Run, String> {
    let policy = With::Guard(&["--policy", "default"]);
    let mut command = home.command(policy, &["bash", "-c", script]);
    command.current_dir(home.path.join("proj"));
    home.finish(command)
}

#[test]
fn a_workspace_without_an_agents_files_is_as_open_as_before() {
    let script = "git stash -uq && git stash pop -q && git clean -fdxq && echo 4 > .aider.chat.history.md && mkdir .crush && \
                  echo 5 > .crush/crush.db && git clean -fdxq && test ! -e .crush && test ! -e .aider.chat.history.md && test ! -e build";
    both("a workspace", "without an agent's files", |who| {
        if let Some(need) = programs::missing(who, &["git"]) {
            return skip("a workspace", &need);
        }
        let home = Home::new(who);
        project(&home, "true")?;
        let run = in_project(&home, script)?;
        check("git", run.status == 0 && home.attempts().is_empty(), &run)
    });
}

#[test]
fn cleaning_a_workspace_leaves_the_history_in_it() {
    let kept = [
        ".aider.chat.history.md",
        ".aider.input.history",
        ".crush/crush.db",
        ".crush/crush.db-wal",
    ];
    let keep = "mkdir .crush && for f in .aider.chat.history.md .aider.input.history .crush/crush.db .crush/crush.db-wal; do echo 3 > $f; done";
    both("a workspace", "with an agent's files", |who| {
        if let Some(need) = programs::missing(who, &["git"]) {
            return skip("a workspace", &need);
        }
        let home = Home::new(who);
        project(&home, keep)?;
        let there = |name: &&str| home.path.join("proj").join(name).exists();
        let script = "git stash -uq && git stash pop -q && git clean -fdx; mkdir new && echo > new/x && rm -r new";
        let run = in_project(&home, script)?;
        check("git", run.status == 0, &run)?;
        check("kept", kept.iter().all(there), &run)?;
        check("cleaned", !there(&"build") && !there(&"c"), &run)?;
        check("told", !home.attempts().is_empty(), &run)?;
        home.script(With::Nothing, "cd proj && git clean -fdxq")?;
        check("CONTROL", !kept.iter().any(there), &run)
    });
}

/// The shipped policies by name, as text.
fn policy(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("policies/{name}.toml"));
    fs::read_to_string(path).unwrap()
}

/// The names of agents, as `agents` includes them.
fn included() -> BTreeSet<String> {
    let text = policy("agents");
    let list = text.split("include = [").nth(1).unwrap();
    let list = list.split(']').next().unwrap();
    list.split('"')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

/// The variables of a policy, but for guard's own.
fn variables(text: &str) -> BTreeSet<&str> {
    let names = text
        .split("${")
        .skip(1)
        .filter_map(|rest| rest.split('}').next());
    names.filter(|name| *name != "workspace").collect()
}

#[test]
fn the_table_names_every_agent_and_every_variable() {
    let named: BTreeSet<String> = AGENTS.iter().map(|agent| agent.name.to_owned()).collect();
    assert_eq!(named, included());
    let home = Home::new(Who::Me);
    let rows: usize = AGENTS
        .iter()
        .map(|agent| kept(&home, agent, Variables::Unset).len())
        .sum();
    assert!(rows >= 150, "{rows} irreplaceable files");
    for agent in AGENTS {
        let text = policy(agent.name);
        let in_table = environment(&home, agent);
        let in_table: BTreeSet<&str> = in_table.iter().map(|(name, _)| *name).collect();
        let missing: Vec<_> = variables(&text)
            .into_iter()
            .filter(|name| !in_table.contains(name) && *name != "QWEN_CODE_SESSION_ID")
            .collect();
        assert!(missing.is_empty(), "{}: no row for {missing:?}", agent.name);
    }
}

#[test]
fn the_document_says_what_the_policies_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("docs/agents.md")).unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `"));
    let rows: Vec<Vec<&str>> = rows.map(|row| row.split(" | ").collect()).collect();
    let named: BTreeSet<String> = rows
        .iter()
        .map(|row| row[0].trim_end_matches('`').to_owned())
        .collect();
    assert_eq!(named, included());
    for row in rows {
        let name = row[0].trim_end_matches('`');
        let policy = policy(name);
        let quoted = |column: usize| -> BTreeSet<String> {
            row[column]
                .split('`')
                .skip(1)
                .step_by(2)
                .map(str::to_owned)
                .collect()
        };
        let said = quoted(2);
        let wanted: BTreeSet<String> = variables(&policy).into_iter().map(str::to_owned).collect();
        assert_eq!(said, wanted, "{name}");
        for at in quoted(1) {
            assert!(
                policy.contains(&format!("\"{at}\"")),
                "{name} has no rule for {at}"
            );
        }
        let source = policy
            .lines()
            .find_map(|line| line.strip_prefix("source = \""));
        let source = source.unwrap().trim_end_matches('"');
        assert_eq!(row[5].trim_end_matches(" |"), source, "{name}");
    }
}
