//! Two kinds of home: an empty one, and one with what gathers in a home over the years.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use super::support::{Home, Run, With, programs, tail};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing is in it.
    Fresh,
    Full,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Full => "full",
        }
    }
}

/// What the tests may lose: the caches of the full home, and guard's record.
pub const CACHES: &[&str] = &[
    ".cache",
    ".npm",
    "go/pkg",
    ".m2/repository",
    ".config/chromium/Crash Reports",
    ".local/state",
];

/// Makes the full home, as its user. What is old is old: everything gets one time of years ago.
const FULL: &str = r#"set -e; umask 022
mkdir -p .config/git .config/gh .config/chromium/Default ".config/chromium/Crash Reports/new" .cache/pip .local/share/keyrings .local/bin \
  .ssh .gnupg Documents/2023 Downloads Pictures .npm/_cacache .cargo/bin .m2/repository/a .pi/agent/sessions/--w-- .claude/projects/p \
  .codex/sessions .mozilla/firefox/x.default-release .docker .aws .kube go/pkg/mod/x go/bin
chmod 700 .ssh .gnupg
echo '*.swp' > .config/git/ignore; echo 'github.com: token' > .config/gh/hosts.yml
echo cookies > .config/chromium/Default/Cookies; echo dump > '.config/chromium/Crash Reports/new/a.dmp'
echo x > .cache/pip/selfcheck.json; echo x > .npm/_cacache/x; echo x > go/pkg/mod/x/x; echo x > .m2/repository/a/a.jar; echo x > go/bin/tool
echo k > .local/share/keyrings/login.keyring; printf '#!/bin/sh\necho mine\n' > .local/bin/mine; chmod +x .local/bin/mine
echo key > .ssh/id_ed25519; echo pub > .ssh/id_ed25519.pub; printf 'Host *\n' > .ssh/config; echo 'h ssh-rsa AAAA' > .ssh/known_hosts; chmod 600 .ssh/*
echo '//registry.example/:_authToken=abc' > .npmrc; printf '[user]\n\tname = Me\n\temail = me@example.invalid\n' > .gitconfig
printf 'EDITOR=vim\nHISTSIZE=1000\n' > .bashrc; cp .bashrc .profile; seq 300 | sed 's/^/echo /' > .bash_history; chmod 600 .bash_history
printf 'set nocompatible\nset backup\n' > .vimrc; printf 'set backup\nset historylog\n' > .nanorc; echo 'import os' > .python_history
for i in 1 2 3; do echo "letter $i" > Documents/letter$i.txt; echo d > Documents/2023/d$i; done; echo pic > Pictures/p.png; echo iso > Downloads/x.iso
echo '{"t":1}' > .claude/projects/p/a.jsonl; echo '{}' > .claude.json; echo '{}' > .claude/settings.json
echo '{"t":1}' > .pi/agent/sessions/--w--/s.jsonl; echo '{"k":1}' > .pi/agent/auth.json; echo '{}' > .codex/auth.json; echo '{}' > .codex/sessions/a.jsonl
echo p > .mozilla/firefox/x.default-release/logins.json; echo '{}' > .docker/config.json; echo '[default]' > .aws/credentials; echo k > .kube/config
echo '[registry]' > .cargo/credentials.toml; echo '<settings/>' > .m2/settings.xml; echo 'machine x login y password z' > .netrc; chmod 600 .netrc
ln -s Documents docs; mkfifo pipe; printf 'prefix = /usr\n' > .hidden
mkdir -p oldvenv/bin oldvenv/lib; echo 'home = /usr/bin' > oldvenv/pyvenv.cfg; ln -s /usr/bin/python3 oldvenv/bin/python
if command -v git; then for r in old1 old2; do mkdir $r; (cd $r; git init -q -b main; for i in 1 2 3 4; do seq $i > f$i; git add .; git commit -qm c$i; done; mkdir build; echo o > build/o; echo build > .gitignore); done; fi
if command -v sqlite3; then sqlite3 notes.db 'create table n(t); insert into n values(1),(2)'; fi
if command -v gpg; then gpg --batch --quiet --pinentry-mode loopback --passphrase '' --quick-generate-key 'Me <me@example.invalid>' ed25519 default never
  gpg --batch --quiet --check-trustdb; gpgconf --kill all; sleep 0.2; rm -f .gnupg/S.*; fi
find . -depth -exec touch -h -d '2020-02-02 02:02:02' {} +
"#;

/// Gives `home` what its kind has, and nothing else.
pub fn furnish(home: &Home, kind: Kind) -> Result<(), String> {
    home.reset();
    // Of the harness's own furniture nothing is left but the folder itself.
    bash(&home.path, "find . -mindepth 1 -delete")?;
    if kind == Kind::Full {
        let template = template(home)?;
        bash(&home.path, &format!("cp -a {}/. .", template.display()))?;
    }
    Ok(())
}

/// `script` in the folder `cwd` of home, under the shipped default, where temporary files are in /tmp as they are for people.
pub fn script(home: &Home, cwd: &str, with: With<'_>, script: &str) -> Result<Run, String> {
    let mut command = home.command(with, &["bash", "-c", script]);
    command
        .current_dir(home.path.join(cwd))
        .env_remove("TMPDIR")
        .env_remove("GUARD_POLICY")
        .env("USER", "me")
        .env("SHELL", "/bin/bash");
    home.finish(command)
}

/// The full home of a user, made once.
fn template(home: &Home) -> Result<PathBuf, String> {
    static MADE: Mutex<Option<HashMap<u32, PathBuf>>> = Mutex::new(None);
    let mut made = MADE.lock().unwrap_or_else(|broken| broken.into_inner());
    let made = made.get_or_insert_default();
    if let Some(template) = made.get(&home.who.uid()) {
        return Ok(template.clone());
    }
    let run = script(home, "", With::Nothing, FULL)?;
    if run.status != 0 {
        return Err(format!("the full home: {}", tail(&run.stderr)));
    }
    let template = programs::shared().join(format!("full-{}", home.who.uid()));
    bash(
        &home.path,
        &format!(
            "cp -a . {} && find . -mindepth 1 -delete",
            template.display()
        ),
    )?;
    made.insert(home.who.uid(), template.clone());
    Ok(template)
}

/// A script of the tests themselves.
fn bash(cwd: &Path, script: &str) -> Result<(), String> {
    let run = Command::new("bash")
        .args(["-c", script])
        .current_dir(cwd)
        .output()
        .map_err(|error| error.to_string())?;
    if run.status.success() {
        return Ok(());
    }
    Err(format!(
        "{script}: {}",
        tail(&String::from_utf8_lossy(&run.stderr))
    ))
}
