//! What a table of deletes does not show: globs, and settings by which the kernel itself acts.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use support::home::{Home, With, check};
use support::{Who, each};

fn both(name: &str, case: impl Fn(Who) -> Result<(), String> + Sync) {
    each("beyond", &[name], |n| (*n).to_owned(), |_, who| case(who));
}

const GLOB: &str =
    "version = 1\ndefault = \"writable\"\n[paths]\n\"~/proj/**/*.key\" = \"read-only\"\n";
const FILES: &str = "mkdir -p ~/proj/a/b ~/proj/c && echo k > ~/proj/a/b/x.key && echo t > ~/proj/a/b/x.txt && echo t > ~/proj/c/y.txt";

/// A glob protects by name: what it matches stays, also when a folder above it is moved out of its reach.
#[test]
fn globs() {
    both("globs", |who| {
        let home = Home::new(who);
        home.script(With::Nothing, FILES)?;
        let policy = home.tmp().join("glob.toml");
        std::fs::write(&policy, GLOB).unwrap();
        std::fs::set_permissions(&policy, std::os::unix::fs::PermissionsExt::from_mode(0o644))
            .unwrap();
        let options = ["--policy", policy.to_str().unwrap()];
        let guard = With::Guard(&options);
        let key = home.path.join("proj/a/b/x.key");
        for attack in [
            "rm -f ~/proj/a/b/x.key",
            "echo no > ~/proj/a/b/x.key",
            "mv ~/proj/a/b/x.key ~/proj/a/b/x.txt",
            "mv ~/proj/a ~/elsewhere && rm -rf ~/elsewhere",
            "mv ~/proj ~/elsewhere && rm -rf ~/elsewhere",
            "ln ~/proj/a/b/x.key ~/link && echo no > ~/link",
            "touch ~/proj/c/new.key",
            "rm -rf ~/proj/a",
        ] {
            let run = home.script(guard, attack)?;
            let kept = std::fs::read(&key).is_ok_and(|bytes| bytes == b"k\n");
            check(
                attack,
                kept && run.status != 0 && run.stderr.contains("guard: refused: "),
                &run,
            )?;
        }
        // What the glob does not name goes on as ever.
        home.script(With::Nothing, FILES)?;
        let free = home.script(
            guard,
            "echo more >> ~/proj/c/y.txt && mv ~/proj/c ~/proj/d && mv ~/proj/d ~/out && rm -r ~/out && mv ~/proj/a ~/proj/e && ls ~/proj/e/b",
        )?;
        check("free", free.stdout == "x.key\nx.txt\n", &free)?;
        let control = home.script(
            With::Nothing,
            "mv ~/proj/e ~/elsewhere && rm -rf ~/elsewhere",
        )?;
        check("control", control.status == 0, &control)
    });
}

/// Only root can write them at all. The value that is written is the one that is there.
#[test]
fn settings_of_the_kernel() {
    both("settings of the kernel", |who| {
        let setting = "/proc/sys/kernel/core_pattern";
        if !who.is_root()
            || std::fs::OpenOptions::new()
                .write(true)
                .open(setting)
                .is_err()
        {
            return Ok(());
        }
        let home = Home::new(who);
        let script = "v=$(cat /proc/sys/kernel/core_pattern); printf '%s\\n' \"$v\" > /proc/sys/kernel/core_pattern";
        let control = home.script(With::Nothing, script)?;
        check("control", control.status == 0, &control)?;
        let run = home.script(With::Guard(&[]), script)?;
        check(
            "guarded",
            run.status != 0 && run.stderr.contains("outside of every sandbox"),
            &run,
        )?;
        let detour = script.replace("> /proc", "| tee /proc/$$/root/proc");
        let run = home.script(With::Guard(&[]), &format!("set -o pipefail; {detour}"))?;
        check(
            "by way of another process",
            run.status != 0 && run.stderr.contains("outside of every sandbox"),
            &run,
        )?;
        let other = home.script(
            With::Guard(&[]),
            "v=$(cat /proc/sys/vm/swappiness); echo $v > /proc/sys/vm/swappiness && echo 0 > /proc/self/oom_score_adj && echo fine",
        )?;
        check("other settings", other.stdout == "fine\n", &other)
    });
}

/// A folder that the wall grants keeps the grant wherever it goes, so it may not come to lie above a place where nothing is
/// to be put: what is made in it could go past the supervisor.
#[test]
fn a_grant_is_not_carried_above_a_missing_place() {
    both("a carried grant", |who| {
        let home = Home::new(who);
        let script =
            "mkdir ~/new && mv ~/was ~/new/share; mv -T ~/new ~/.local; ls -d ~/.local/share";
        let prepare = "rm -rf ~/.local ~/was && mkdir ~/was";
        home.script(With::Nothing, prepare)?;
        let control = home.script(With::Nothing, script)?;
        check("control", control.status == 0, &control)?;
        home.script(With::Nothing, "rm -rf ~/.local ~/new ~/was && mkdir ~/was")?;
        let run = home.script(With::Guard(&[]), script)?;
        let refused = run.stderr.contains("where nothing is yet");
        check("guarded", run.status != 0 && refused, &run)
    });
}
