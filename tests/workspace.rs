//! Where the workspace is: what of the home directory a run may remove, and what it cannot talk guard into.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use support::home::{Home, With};
use support::{each, programs, skip};

/// One run. Each script is in bash; unguarded it has to remove the victim.
struct Row {
    name: &'static str,
    /// Where guard is started, from the home directory; an absolute path from nowhere.
    from: &'static str,
    script: &'static str,
    /// What the script removes without guard, from the home directory.
    victim: &'static str,
    with_guard: Fate,
    /// Whether guard says that it has taken a repository for the workspace.
    said: bool,
    policy: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Gone,
    Kept,
}

const fn row(name: &'static str, script: &'static str, victim: &'static str) -> Row {
    Row {
        name,
        from: "/",
        script,
        victim,
        with_guard: Fate::Kept,
        said: false,
        policy: "default",
    }
}

/// Two repositories, a plain folder, a folder for own things; committed and ignored files in the first.
const FURNISH: &str = "for r in code/one code/two; do git init -q ~/$r && echo a > ~/$r/a && git -C ~/$r add a && \
                       git -C ~/$r commit -q -m a && mkdir ~/$r/build && echo o > ~/$r/build/o; done; \
                       mkdir ~/Documents && echo t > ~/Documents/thesis; git init -q $O/r";

const ROWS: &[Row] = &[
    Row {
        from: "code/one",
        with_guard: Fate::Gone,
        ..row("started in it", "rm -rf build", "code/one/build")
    },
    Row {
        from: "code/one/build",
        with_guard: Fate::Gone,
        ..row("started below its top", "rm a ../a", "code/one/a")
    },
    Row {
        from: "code/one",
        ..row(
            "a neighbour",
            "cd ~/code/two && rm -rf build",
            "code/two/build",
        )
    },
    Row {
        from: "Documents",
        ..row(
            "started in a folder of the home directory",
            "cd ~/code/one && rm -rf build",
            "code/one/build",
        )
    },
    Row {
        with_guard: Fate::Gone,
        said: true,
        ..row(
            "the first repository that a command goes to from outside",
            "cd ~/code/one && rm -rf build",
            "code/one/build",
        )
    },
    Row {
        with_guard: Fate::Gone,
        said: true,
        ..row(
            "a checkout there replaces files",
            "cd ~/code/one && echo b > a && git checkout -q -- a && rm -rf build",
            "code/one/build",
        )
    },
    Row {
        said: true,
        ..row(
            "and not the second",
            "cd ~/code/one && touch new; cd ~/code/two && rm -rf build",
            "code/two/build",
        )
    },
    Row {
        said: true,
        policy: "test",
        ..row(
            "and with the policy `test`, not its history",
            "cd ~/code/one && touch new && rm -rf .git",
            "code/one/.git/HEAD",
        )
    },
    Row {
        from: "../outside/r",
        said: true,
        policy: "test",
        ..row(
            "nor that of the repository where guard was started",
            "cd ~/code/one && touch new; rm -rf \"$O/r/.git\"",
            "../outside/r/.git/HEAD",
        )
    },
    Row {
        said: true,
        ..row(
            "and nothing beside it",
            "cd ~/code/one && touch new; rm -rf ~/Documents",
            "Documents",
        )
    },
    row("a walk from above", "find ~/code -delete", "code/one/a"),
    row(
        "a walk from home",
        "cd ~ && find . -name thesis -delete; rm -rf code",
        "code/one/a",
    ),
    row(
        "a repository that the run has made",
        "git init -q ~/Documents && cd ~/Documents && rm thesis",
        "Documents/thesis",
    ),
    row(
        "a repository that the run has moved there",
        "mv ~/code/one/.git ~/Documents/.git && cd ~/Documents && rm thesis",
        "Documents/thesis",
    ),
    row(
        "what the run has moved into a repository",
        "mv ~/Documents ~/code/one/ && cd ~/code/one && rm -rf Documents; mv ~/code/one/Documents ~ 2>/dev/null",
        "Documents/thesis",
    ),
    row(
        "a link to a repository",
        "ln -s ~/code/one/.git ~/Documents/.git && cd ~/Documents && rm thesis",
        "Documents/thesis",
    ),
    row(
        "a file that names a repository",
        "echo \"gitdir: $HOME/code/one/.git\" > ~/Documents/.git && cd ~/Documents && rm thesis",
        "Documents/thesis",
    ),
    row(
        "a program's word for where it was started",
        "cd ~/Documents && env PWD=$HOME/Documents rm thesis",
        "Documents/thesis",
    ),
    Row {
        from: "",
        ..row(
            "the home directory as a repository",
            "git init -q && git add -A . 2>/dev/null; git clean -fdxq; rm -rf Documents",
            "Documents/thesis",
        )
    },
];

#[test]
fn what_may_be_removed() {
    each(
        "workspace",
        ROWS,
        |row| row.name.to_owned(),
        |row, who| {
            if let Some(need) = programs::missing(who, &["git"]) {
                return skip(row.name, &need);
            }
            let home = Home::new(who);
            let run = |with: With<'_>| {
                home.reset();
                home.script(With::Nothing, FURNISH)?;
                let mut command = home.command(with, &["bash", "-c", row.script]);
                let from = home.path.join(row.from);
                command.current_dir(&from).env("PWD", from);
                home.finish(command)
            };
            let victim = home.path.join(row.victim);
            run(With::Nothing)?;
            if victim.exists() {
                return Err(format!("CONTROL: {} is still there", row.victim));
            }
            let guarded = run(With::Guard(&["--policy", row.policy]))?;
            let fate = if victim.exists() {
                Fate::Kept
            } else {
                Fate::Gone
            };
            let said = guarded.stderr.contains("is taken for the workspace");
            if fate == row.with_guard && said == row.said {
                return Ok(());
            }
            Err(format!(
                "{} is {}, said: {said}\n{}",
                row.victim,
                if fate == Fate::Kept { "kept" } else { "gone" },
                guarded.stderr
            ))
        },
    );
}
