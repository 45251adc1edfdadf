//! Ways round add-only and no-delete that take several steps: what existed first comes to a looser place, or counts as made
//! by the run.

use std::path::PathBuf;

use super::support::home::{Home, Run, With, check};
use super::support::{Who, each};

const HEAD: &str = "version = 1\ndefault = \"writable\"\n[paths]\n\"~\" = \"no-delete\"\n";

fn both(name: &str, case: impl Fn(Who) -> Result<(), String> + Sync) {
    each("detours", &[name], |n| (*n).to_owned(), |_, who| case(who));
}

/// Outside of home: a policy, and runs that start there.
struct Place<'h> {
    home: &'h Home,
    policy: PathBuf,
}

impl<'h> Place<'h> {
    fn new(home: &'h Home, rules: &str) -> Self {
        let policy = home.outside().parent().unwrap().join("levels.toml");
        std::fs::write(&policy, format!("{HEAD}{rules}\n")).unwrap();
        Self { home, policy }
    }

    fn run(&self, guarded: bool, script: &str) -> Result<Run, String> {
        let options = ["--policy", self.policy.to_str().unwrap()];
        let with = if guarded {
            With::Guard(&options)
        } else {
            With::Nothing
        };
        let mut command = self.home.command(with, &["bash", "-c", script]);
        command.current_dir(self.home.outside());
        self.home.finish(command)
    }

    /// `script` loses `~/docs/thesis`, but not under guard.
    fn holds(&self, prepare: &str, script: &str) -> Result<(), String> {
        let prepare = format!("mkdir ~/docs && echo t > ~/docs/thesis && {prepare}");
        let find = "find ~ \"$O\" -name thesis -size 2c";
        for guarded in [false, true] {
            self.home.reset();
            let ready = self.run(false, &format!("{prepare} && sleep 0.05"))?;
            check("prepare", ready.status == 0, &ready)?;
            let run = self.run(guarded, script)?;
            let found = self.run(false, find)?;
            check(script, found.stdout.is_empty() != guarded, &run)?;
        }
        Ok(())
    }
}

/// What lies in a directory that moves must not get a looser level, also where the directory itself does not.
#[test]
fn a_move_opens_nothing_below() {
    both("a move opens nothing below", |who| {
        let home = Home::new(who);
        let missing = Place::new(&home, "\"~/.cargo/registry\" = \"writable\"");
        missing.holds(
            "true",
            "mkdir ~/x && mv ~/docs ~/x/registry; mv ~/x ~/.cargo; rm -rf ~/.cargo/registry",
        )?;
        let glob = Place::new(&home, "\"~/work/**/dist\" = \"writable\"");
        glob.holds(
            "mkdir ~/work ~/old && mv ~/docs ~/old/dist",
            "mv ~/old ~/work/; rm -rf ~/work/old/dist",
        )?;
        // What the run made itself goes there.
        let own = glob.run(
            true,
            "mkdir -p ~/b/dist && mv ~/b ~/work/ && rm -r ~/work/b",
        )?;
        check("own", own.status == 0, &own)
    });
}

/// Where the kernel has no path for a directory, its content stays where it is.
#[test]
fn a_path_that_is_too_long_opens_nothing() {
    both("a long path", |who| {
        let home = Home::new(who);
        let script = r#"python3 -c '
import os
part = "d" * 250
home = os.open(os.environ["HOME"], os.O_RDONLY)
at = home
for _ in range(17):
    os.mkdir(part, dir_fd=at)
    at = os.open(part, os.O_RDONLY, dir_fd=at)
os.mkdir("box", dir_fd=at)
box = os.open("box", os.O_RDONLY, dir_fd=at)
os.rename("docs/thesis", "thesis", src_dir_fd=home, dst_dir_fd=box)
os.rename("box", os.environ["O"] + "/box", src_dir_fd=at)
os.unlink(os.environ["O"] + "/box/thesis")
'"#;
        Place::new(&home, "").holds("true", script)
    });
}

const OLD: &str = "mkdir -p ~/repo/.git/objects && echo ref > ~/repo/.git/HEAD";

/// A folder becomes the workspace of a command that was started elsewhere only if it was a repository before, and nothing
/// but that is opened.
#[test]
fn no_workspace_is_made_up() {
    both("a made-up workspace", |who| {
        let home = Home::new(who);
        let work = "\"${workspace}\" = \"writable\"\n\"~/.cache\" = \"writable\"";
        let place = Place::new(&home, work);
        let remove = "cd ~/docs; bash -c ': > new; rm -f thesis; true'";
        let exchange = r#"mkdir ~/docs/.git; python3 -c '
import ctypes, os
h = os.environ["HOME"].encode()
ctypes.CDLL(None).renameat2(-100, h + b"/docs/.git", -100, h + b"/repo/.git", 2)
'"#;
        place.holds(OLD, &format!("{exchange}; {remove}"))?;
        let cache = format!("{OLD} && mkdir ~/.cache && mv ~/repo ~/.cache/");
        place.holds(
            &cache,
            &format!("mv ~/.cache/repo/.git ~/docs/.git; {remove}"),
        )?;
        place.holds(
            OLD,
            "ln -s ~/docs ~/.cache; cd ~/repo; bash -c ': > new; rm -f ~/docs/thesis; true'",
        )?;
        let tree = format!(
            "{OLD} && mkdir -p ~/tree ~/repo/.git/worktrees/t && cd ~/repo/.git/worktrees/t && echo ref > HEAD \
             && echo ../.. > commondir && echo ~/tree/.git > gitdir && echo \"gitdir: $PWD\" > ~/tree/.git"
        );
        let fake = "mkdir -p ~/docs/objects && echo ref > ~/docs/HEAD";
        let leave = "cd ~/tree; bash -c ': > new; rm -f ~/docs/thesis; true'";
        place.holds(
            &tree,
            &format!(
                "{fake}; cp -r ~/repo/.git/worktrees ~/docs/; echo \"gitdir: $HOME/docs/worktrees/t\" > ~/tree/.git; {leave}"
            ),
        )?;
        place.holds(
            &tree,
            &format!(
                "{fake}; ln -s ~/repo/.git/worktrees ~/docs/worktrees; echo ~/docs > ~/repo/.git/worktrees/t/commondir; {leave}"
            ),
        )?;
        // The worktree itself and its repository are opened.
        home.reset();
        place.run(false, &format!("{tree} && touch ~/tree/old && sleep 0.05"))?;
        let real = place.run(
            true,
            "cd ~/tree; bash -c ': > new; rm old ~/repo/.git/HEAD && true'",
        )?;
        check("a worktree", real.status == 0, &real)
    });
}

/// What somebody else makes meanwhile is not the run's own, whatever names the run gives it.
#[test]
fn a_link_makes_nothing_the_runs_own() {
    both("a link", |who| {
        let home = Home::new(who);
        let place = Place::new(&home, "");
        let script = "for n in {1..100}; do [ -e ~/later ] && break; sleep 0.05; done; ln ~/later \"$O/l\" && mv \"$O/l\" ~/m; rm -f ~/later ~/m";
        for guarded in [false, true] {
            home.reset();
            let later = home.path.join("later");
            let maker = std::thread::spawn(move || {
                std::thread::sleep(std::time::Duration::from_millis(600));
                std::fs::write(&later, "t\n").unwrap();
                std::os::unix::fs::chown(&later, Some(who.uid()), Some(who.gid())).unwrap();
            });
            let run = place.run(guarded, script)?;
            maker.join().unwrap();
            check("later", home.path.join("later").exists() == guarded, &run)?;
        }
        Ok(())
    });
}

/// A rename of a thing to its own name changes nothing, so it stays the run's own.
#[test]
fn own_after_a_rename_to_itself() {
    both("a rename to itself", |who| {
        let home = Home::new(who);
        let place = Place::new(&home, "");
        let script = "mkdir ~/d && python3 -c 'import os; d = os.environ[\"HOME\"] + \"/d\"; os.rename(d, d)' && rmdir ~/d";
        let run = place.run(true, script)?;
        check(script, run.status == 0 && run.stderr.is_empty(), &run)
    });
}
