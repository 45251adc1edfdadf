//! Throw-away homes with an agent's state in them, and running a command there with and without guard.

use std::cell::Cell;
use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::snapshot::{Snapshot, set_mtime, set_xattr};
use super::{Who, programs};

/// Places that the agents' policies protect and whose state the tests watch. `.pi` is there for its name.
pub const PROTECTED: &[&str] = &[
    ".pi",
    ".codex",
    ".claude",
    ".claude.json",
    ".omp",
    ".local/share/opencode",
    ".config/opencode",
    ".config/guard",
];

/// How to run a command.
#[derive(Clone, Copy)]
pub enum With<'a> {
    /// As it is.
    Nothing,
    /// Under guard with these options.
    Guard(&'a [&'a str]),
}

/// How a command ended.
pub struct Run {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
    pub took: Duration,
}

/// What went wrong, unless it is good.
pub fn check(what: &str, good: bool, run: &Run) -> Result<(), String> {
    if good {
        return Ok(());
    }
    Err(format!(
        "{what}: exit {}\n{}\n{}",
        run.status, run.stdout, run.stderr
    ))
}

/// A folder of its own below the system's temporary one: `home`, `outside` and what the tests put there. Never the real
/// home; removed when dropped, whatever modes the case left behind.
pub struct Home {
    base: PathBuf,
    /// The home directory, without symbolic links.
    pub path: PathBuf,
    pub who: Who,
    runs: Cell<u32>,
}

impl Home {
    pub fn new(who: Who) -> Self {
        Self::new_in(who, &std::env::temp_dir())
    }

    /// One below another folder than the system's temporary one.
    pub fn new_in(who: Who, dir: &Path) -> Self {
        let base = tempfile::Builder::new()
            .prefix("guard-test-")
            .tempdir_in(dir)
            .unwrap()
            .keep()
            .canonicalize()
            .unwrap();
        fs::set_permissions(&base, PermissionsExt::from_mode(0o755)).unwrap();
        chown(&base, Some(who.uid()), Some(who.gid())).unwrap();
        let home = Self {
            path: base.join("home"),
            base,
            who,
            runs: Cell::new(0),
        };
        home.furnish();
        home
    }

    /// A fresh home at the same place, so that two runs see the same paths.
    pub fn reset(&self) {
        remove(&self.base, &self.path);
        remove(&self.base, &self.outside());
        self.furnish();
    }

    /// A fresh home at the same place, the old one put aside until the end: ext4 takes a millisecond to make an entry while
    /// thousands were removed a few seconds ago.
    pub fn renew(&self) {
        let number = self.runs.replace(self.runs.get() + 1);
        for (name, path) in [("home", &self.path), ("outside", &self.outside())] {
            fs::rename(path, self.base.join(format!("{name}-{number}"))).unwrap();
        }
        self.furnish();
    }

    /// A folder beside the home.
    pub fn outside(&self) -> PathBuf {
        self.base.join("outside")
    }

    /// A folder in the home that was there before.
    pub fn tmp(&self) -> PathBuf {
        self.path.join("tmp")
    }

    pub fn agent(&self) -> PathBuf {
        self.path.join(".pi/agent")
    }

    /// What must stay.
    pub fn protected(&self) -> Snapshot {
        Snapshot::of(&self.path, PROTECTED)
    }

    pub fn everything(&self) -> Snapshot {
        Snapshot::of(&self.path, &[""])
    }

    fn furnish(&self) {
        let agent = self.agent();
        let live = agent.join("sessions/--work--");
        for dir in [
            &live,
            &agent.join("sessions/--other--"),
            &agent.join("npm/node_modules/ext"),
            &agent.join("extensions"),
        ] {
            fs::create_dir_all(dir).unwrap();
        }
        fs::create_dir_all(self.tmp()).unwrap();
        fs::create_dir_all(self.outside()).unwrap();
        fs::write(self.path.join(".throwaway-home"), "").unwrap();
        fs::write(self.path.join("plain.txt"), "plain\n").unwrap();
        for n in 1..=3 {
            fs::write(
                live.join(format!("2026-08-31_{n}.jsonl")),
                format!("{{\"type\":\"session\",\"id\":\"live{n}\"}}\n"),
            )
            .unwrap();
        }
        for (name, text, mode) in [
            (
                "sessions/--other--/x.jsonl",
                "{\"type\":\"session\"}\n",
                0o640,
            ),
            ("auth.json", "{\"token\":\"t-123\"}\n", 0o600),
            ("models-store.json", "{}\n", 0o444),
            ("settings.json", "{}\n", 0o664),
            ("npm/package.json", "{\"dependencies\":{}}\n", 0o644),
            ("npm/node_modules/ext/index.js", "1\n", 0o755),
        ] {
            fs::write(agent.join(name), text).unwrap();
            fs::set_permissions(agent.join(name), PermissionsExt::from_mode(mode)).unwrap();
        }
        symlink("sessions/--work--/2026-08-31_1.jsonl", agent.join("latest")).unwrap();
        fs::set_permissions(agent.join("sessions"), PermissionsExt::from_mode(0o700)).unwrap();
        fs::set_permissions(agent.join("extensions"), PermissionsExt::from_mode(0o750)).unwrap();
        set_xattr(&agent.join("settings.json"), "user.note", b"keep me");
        set_xattr(&agent.join("sessions"), "user.note", b"keep me too");
        self.own_and_age(&self.path, &mut 0);
        chown(self.outside(), Some(self.who.uid()), Some(self.who.gid())).unwrap();
    }

    /// Gives everything to the user, and each entry an old time of its own, children first.
    fn own_and_age(&self, path: &Path, count: &mut i64) {
        if path.symlink_metadata().unwrap().is_dir() {
            let mut children: Vec<_> = fs::read_dir(path)
                .unwrap()
                .map(|e| e.unwrap().path())
                .collect();
            children.sort();
            for child in children {
                self.own_and_age(&child, count);
            }
        }
        *count += 1;
        std::os::unix::fs::lchown(path, Some(self.who.uid()), Some(self.who.gid())).unwrap();
        set_mtime(path, 1_000_000_000 + *count * 1000, 123_456_700 + *count);
    }

    /// The environment of a case: nothing of the caller's but the way to programs.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let text = |p: &Path| p.to_str().unwrap().to_owned();
        vec![
            ("HOME", text(&self.path)),
            ("PATH", programs::path_for(self.who)),
            ("LANG", "C.UTF-8".to_owned()),
            ("TERM", "xterm".to_owned()),
            // What most tests are about: roots that are closed, in a home that is free. Others name their policy.
            ("GUARD_POLICY", "agents-closed".to_owned()),
            ("TMPDIR", text(&self.tmp())),
            // Short names for the scripts: the protected root, a folder in HOME, a folder outside, the helpers.
            ("P", text(&self.agent())),
            ("T", text(&self.tmp())),
            ("O", text(&self.outside())),
            ("B", text(programs::shared())),
            ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
            ("GIT_AUTHOR_NAME", "T".to_owned()),
            ("GIT_AUTHOR_EMAIL", "t@example.invalid".to_owned()),
            ("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z".to_owned()),
            ("GIT_COMMITTER_NAME", "T".to_owned()),
            ("GIT_COMMITTER_EMAIL", "t@example.invalid".to_owned()),
            ("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z".to_owned()),
            ("npm_config_offline", "true".to_owned()),
            ("npm_config_update_notifier", "false".to_owned()),
            ("npm_config_audit", "false".to_owned()),
            ("npm_config_fund", "false".to_owned()),
        ]
    }

    /// `argv` as the user of this home, in this home.
    pub fn command(&self, with: With<'_>, argv: &[&str]) -> Command {
        let mut command = self.prepared(Vec::new(), with, argv);
        if self.who == Who::Nobody {
            // std drops the supplementary groups when it sets a uid.
            command.gid(self.who.gid()).uid(self.who.uid());
        }
        command
    }

    /// `argv` as the user of this home, in a mount namespace of its own where root ran `mounts` before.
    pub fn command_with_mounts(&self, mounts: &str, with: With<'_>, argv: &[&str]) -> Command {
        let script = format!("set -e; {mounts}; exec \"$@\"");
        let mut full = vec![
            "unshare",
            "--mount",
            "--propagation",
            "private",
            "bash",
            "-c",
            &script,
            "mounts",
        ];
        let ids = [
            format!("--reuid={}", self.who.uid()),
            format!("--regid={}", self.who.gid()),
        ];
        if self.who == Who::Nobody {
            full.extend(["setpriv", &ids[0], &ids[1], "--clear-groups"]);
        }
        self.prepared(full, with, argv)
    }

    /// `argv`, under guard if so, behind what comes `first`, with this home's environment.
    fn prepared<'a>(&self, first: Vec<&'a str>, with: With<'a>, argv: &[&'a str]) -> Command {
        let mut full = first;
        if let With::Guard(options) = with {
            full.push(programs::guard().to_str().unwrap());
            full.extend(options);
            full.push("--");
        }
        full.extend(argv);
        let mut command = Command::new(full[0]);
        command
            .args(&full[1..])
            .env_clear()
            .envs(self.environment())
            .current_dir(&self.path);
        command
    }

    /// Runs to the end, stdout and stderr into files, nothing on stdin.
    pub fn finish(&self, mut command: Command) -> Result<Run, String> {
        let number = self.runs.replace(self.runs.get() + 1);
        let (out, err) = (
            self.base.join(format!("out{number}")),
            self.base.join(format!("err{number}")),
        );
        command
            .stdin(Stdio::null())
            .stdout(File::create(&out).unwrap())
            .stderr(File::create(&err).unwrap())
            .process_group(0);
        let started = Instant::now();
        let mut child = command
            .spawn()
            .map_err(|e| format!("{:?}: {e}", command.get_program()))?;
        let status = super::wait(&mut child, Duration::from_secs(90));
        let run = Run {
            status: *status.as_ref().unwrap_or(&-1),
            stdout: super::read_text(&out),
            stderr: super::read_text(&err),
            took: started.elapsed(),
        };
        status.map_err(|e| format!("{e}\n{}", super::tail(&run.stderr)))?;
        Ok(run)
    }

    /// A bash script in this home.
    pub fn script(&self, with: With<'_>, script: &str) -> Result<Run, String> {
        self.finish(self.command(with, &["bash", "-c", script]))
    }

    /// The folder with guard's records.
    pub fn runs_folder(&self) -> PathBuf {
        self.path.join(".local/state/guard/runs")
    }

    /// The records in it, the oldest first.
    pub fn records(&self) -> Vec<PathBuf> {
        let found = fs::read_dir(self.runs_folder()).into_iter().flatten();
        let mut files: Vec<PathBuf> = found
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
            .collect();
        files.sort();
        files
    }

    /// Every attempt in every record of this home: the objects that have a system call and an operation.
    pub fn attempts(&self) -> Vec<serde_json::Value> {
        let mut found = Vec::new();
        for file in self.records() {
            for line in super::read_text(&file).lines() {
                match serde_json::from_str(line) {
                    Ok(value) => collect_attempts(&value, &mut found),
                    Err(e) => panic!("{}: not JSON: {e}: {line}", file.display()),
                }
            }
        }
        found
    }
}

fn collect_attempts(value: &serde_json::Value, found: &mut Vec<serde_json::Value>) {
    match value {
        serde_json::Value::Object(map) => {
            if map.contains_key("syscall") && map.contains_key("operation") {
                found.push(value.clone());
            } else {
                map.values().for_each(|v| collect_attempts(v, found));
            }
        }
        serde_json::Value::Array(items) => items.iter().for_each(|v| collect_attempts(v, found)),
        _ => {}
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        remove(&self.base, &self.base);
    }
}

/// Removes a folder of the tests, also one whose modes forbid it. `base` says that it is one of theirs.
fn remove(base: &Path, path: &Path) {
    assert!(
        path.starts_with(base)
            && base
                .file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .starts_with("guard-test-")
    );
    if fs::remove_dir_all(path).is_err() && path.exists() {
        let _ = Command::new("chmod")
            .args(["-R", "u+rwx"])
            .arg(path)
            .stderr(Stdio::null())
            .status();
        let _ = fs::remove_dir_all(path);
    }
}
