//! What destroys a home, as people and scripts type it: without guard something is lost, with it nothing that was there
//! before but caches, and the command ends and says that it failed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::homes::{self, CACHES, Kind};
use super::support::snapshot::{Compare, Entry, Snapshot};
use super::support::{Home, Who, With, programs, skip, tail};

pub struct Row {
    pub name: &'static str,
    needs: &'static [&'static str],
    before: &'static str,
    /// Where it is done, seen from home; what is there may be lost.
    cwd: &'static str,
    script: &'static str,
    loss: Loss,
}

/// What the command does without guard.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loss {
    /// Things are gone, or have other bytes.
    Things,
    /// Modes and owners are others.
    Modes,
}

const fn row(name: &'static str, script: &'static str) -> Row {
    Row {
        name,
        needs: &[],
        before: "",
        cwd: "",
        script,
        loss: Loss::Things,
    }
}

#[rustfmt::skip] // one row a line
pub const ROWS: &[Row] = &[
    row("rm -rf \"$HOME\"", "rm -rf \"$HOME\""),
    row("rm -rf ~/*", "rm -rf ~/*"),
    row("rm -rf ~/* ~/.[!.]*", "rm -rf ~/* ~/.[!.]*"),
    row("find ~ -delete", "find ~ -delete"),
    Row { cwd: "proj", ..row("rm -rf ../* in a project", "rm -rf ../*") },
    row("mv ~/Documents /tmp/", "d=$(mktemp -d) && mv ~/Documents $d/; status=$?; rm -rf $d; exit $status"),
    Row { needs: &["git"], before: "git init -q", ..row("git clean -fdx in ~", "git clean -ffdx") },
    Row { needs: &["git"], before: "git init -q", cwd: "proj", ..row("git clean -fdx in ~, from a folder of it", "cd ~ && git clean -ffdx") },
    Row { needs: &["rsync"], ..row("rsync -a --delete empty/ ~/", "d=$(mktemp -d) && rsync -a --delete $d/ ~/; status=$?; rm -rf $d; exit $status") },
    Row { needs: &["python3"], ..row("shutil.rmtree", "python3 -c 'import os, shutil; shutil.rmtree(os.environ[\"HOME\"])'") },
    Row { needs: &["python3"], ..row("shutil.rmtree, errors ignored", "python3 -c 'import os, shutil; shutil.rmtree(os.environ[\"HOME\"], ignore_errors=True); os.stat(os.environ[\"HOME\"]); raise SystemExit(1)'") },
    Row { needs: &["node"], ..row("rmSync of each thing in home", "node -e 'let bad=0; for (const n of fs.readdirSync(process.env.HOME)) try { fs.rmSync(process.env.HOME+\"/\"+n,{recursive:true,force:true}) } catch { bad=1 } process.exit(bad)'") },
    row("truncating keys and sessions", "for f in ~/.ssh/id_ed25519 ~/.pi/agent/auth.json ~/.claude.json ~/.claude/projects/p/a.jsonl ~/.npmrc ~/.aws/credentials; do : > $f || bad=1; done; exit ${bad:-0}"),
    row("tar and mv over keys", "cd ~ && cp .bashrc k && mv -f k .ssh/id_ed25519; mv -f .ssh .ssh.old; mv -f .pi .pi.old; mv .claude.json x"),
    Row { loss: Loss::Modes, ..row("chmod -R 600 ~/.ssh", "chmod -R 600 ~/.ssh") },
    Row { loss: Loss::Modes, ..row("chmod -R 777 on secrets", "chmod -R 777 ~/.ssh/id_ed25519 ~/.gnupg ~/.aws ~/.pi ~/.claude ~/.netrc") },
    Row { loss: Loss::Modes, needs: &["root"], ..row("chown -R", "chown -R 65534:65534 ~") },
];

pub fn case(row: &Row, who: Who) -> Result<(), String> {
    if programs::not_for(who, row.needs) {
        return Ok(());
    }
    if let Some(need) = programs::missing(who, row.needs) {
        return skip(row.name, &need);
    }
    let home = Home::new(who);
    let before = format!("mkdir -p ~/{}\n{}", row.cwd, row.before);
    let mut results = Vec::new();
    for with in [With::Nothing, With::Guard(&["--policy", "default"])] {
        homes::furnish(&home, Kind::Full)?;
        let prepared = homes::script(&home, "", With::Nothing, &before)?;
        if prepared.status != 0 {
            return Err(format!("the preparation fails: {}", tail(&prepared.stderr)));
        }
        let was = kept(&home, row.cwd);
        let run = homes::script(&home, row.cwd, with, row.script)?;
        let lost = lost(&was, &kept(&home, row.cwd), row.loss);
        results.push((run, lost, was));
    }
    let [(_, unguarded, _), (run, lost, was)] = &results[..] else {
        unreachable!("there are two runs");
    };
    if unguarded.is_empty() {
        return Err("CONTROL: nothing is lost without guard".to_owned());
    }
    if !lost.is_empty() {
        return Err(format!("lost: {}\n{}", lost.join("\n"), tail(&run.stderr)));
    }
    let is = only_closed(kept(&home, row.cwd));
    let changes = only_closed(was.clone()).differences(&is, Compare::Exact);
    if !changes.is_empty() {
        return Err(format!("closed, and changed: {}", changes.join("\n")));
    }
    if run.status == 0 || !run.stderr.contains("guard: refused: ") {
        return Err(format!("exit {}, {}", run.status, tail(&run.stderr)));
    }
    if run.took > Duration::from_secs(20) {
        return Err(format!("it took {:.1} s", run.took.as_secs_f64()));
    }
    Ok(())
}

/// Everything in home that no command may lose.
fn kept(home: &Home, workspace: &str) -> Snapshot {
    let mut tree = home.everything();
    tree.0.retain(|path, _| {
        let open = |place: &&&str| path.starts_with(place);
        (workspace.is_empty() || !path.starts_with(workspace))
            && !CACHES.iter().any(|place| open(&place))
    });
    tree
}

/// What was there and is not, or is something else. Modes may change at `no-delete`, as rsync does before it deletes; those
/// of what is closed may not.
fn lost(was: &Snapshot, is: &Snapshot, loss: Loss) -> Vec<String> {
    let modes = |a: &Entry, b: &Entry| (a.mode, a.uid, a.gid) == (b.mode, b.uid, b.gid);
    let same = |path: &Path, old: &Entry, new: &Entry| {
        old.kind == new.kind
            && old.content == new.content
            && (loss == Loss::Things || !closed(path) || modes(old, new))
    };
    let gone =
        |(path, old): &(&PathBuf, &Entry)| !is.0.get(*path).is_some_and(|new| same(path, old, new));
    let lost = was.0.iter().filter(gone);
    lost.map(|(path, _)| path.display().to_string()).collect()
}

/// Keys, credentials and the agents' folders: they stay as they are to the last bit.
fn closed(path: &Path) -> bool {
    const CLOSED: &[&str] = &[
        ".ssh/id_ed25519",
        ".gnupg/private-keys-v1.d",
        ".aws",
        ".kube",
        ".netrc",
        ".npmrc",
        ".pi/agent",
        ".claude",
        ".claude.json",
        ".codex",
        ".cargo/credentials.toml",
        ".mozilla/firefox/x.default-release",
    ];
    path == Path::new(".ssh") || CLOSED.iter().any(|place| path.starts_with(place))
}

fn only_closed(mut tree: Snapshot) -> Snapshot {
    tree.0.retain(|path, _| closed(path));
    tree
}
