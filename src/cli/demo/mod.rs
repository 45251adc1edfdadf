//! `guard demo`: the accident in two throw-away homes, unguarded and guarded, and what survived.

mod home;
mod teardown;

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::words::visible;
use super::{EXIT_GUARD, Failure};
use crate::record::list;

use home::{FILES, Fate, SESSION};
pub use teardown::main as teardown_main;

/// The hidden subcommand that does the damage.
pub const TEARDOWN: &str = "demo-teardown";

const STORY: &str = "\
The accident: a test of a coding agent's extension leaves a session file behind, and its teardown cleans up. It removes
the folder of that file, then the folder above it, then the one above that. Errors are swallowed, so the test is green.

Here it is with two throw-away homes that hold the same files; nothing else is touched. The part of `npm test` is played by
guard's own binary, so that nothing has to be installed.
";

/// Plays the accident twice. Succeeds when the unguarded home lost every file and the guarded one none.
pub fn main(out: &mut dyn Write) -> Result<i32, Failure> {
    let stage = Stage::set()
        .map_err(|error| Failure::Words(format!("cannot set up the throw-away homes: {error}")))?;
    writeln!(out, "{STORY}")?;
    out.flush()?;

    let unguarded = stage.home("unguarded");
    writeln!(out, "Without guard:\n\n    $ npm test")?;
    let done = stage.run(
        &unguarded,
        &[TEARDOWN.as_ref(), unguarded.join(SESSION).as_os_str()],
    )?;
    show(out, &done)?;
    let before = home::fates(&unguarded);
    out.flush()?;

    let guarded = stage.home("guarded");
    writeln!(out, "\nWith guard:\n\n    $ guard -- npm test")?;
    let done = stage.teardown()?;
    show(out, &done)?;
    if done.status.code() == Some(EXIT_GUARD) {
        writeln!(
            out,
            "\nguard did not start the command; `guard doctor` shows what this machine lacks."
        )?;
        return Ok(1);
    }
    let after = home::fates(&guarded);

    writeln!(out, "\n    $ guard log")?;
    show(out, &stage.run(&guarded, &["log".as_ref()])?)?;

    writeln!(out, "\nWhat survived:\n\n{}", table(&before, &after))?;
    let (status, verdict) = verdict(&before, &after);
    writeln!(out, "{verdict}")?;
    writeln!(
        out,
        "The throw-away homes are removed again, with the record of this run."
    )?;
    Ok(status)
}

/// Plays the accident under guard, and tells what is wrong with how it ends: in words, where it is not prevented and
/// recorded.
pub fn trial() -> Result<Result<(), String>, Failure> {
    let stage = Stage::set()
        .map_err(|error| Failure::Words(format!("cannot set up a throw-away home: {error}")))?;
    let done = stage.teardown()?;
    let home = stage.home("guarded");
    let recorded = list(&home.join(".local/state/guard/runs"))?.len() == 1;
    Ok(match done.status.code() {
        Some(EXIT_GUARD) => Err(String::from_utf8_lossy(&done.stderr).trim().to_owned()),
        _ if home::fates(&home).iter().any(|fate| *fate != Fate::Kept) => {
            Err("protected files were lost".into())
        }
        _ if !recorded => Err("there is no record of it".into()),
        _ => Ok(()),
    })
}

/// The folder that holds both homes; removed when dropped.
struct Stage {
    top: PathBuf,
    exe: PathBuf,
}

impl Stage {
    fn set() -> std::io::Result<Self> {
        let exe = std::env::current_exe()?;
        let stage = Self {
            top: home::private_folder(&std::env::temp_dir())?,
            exe,
        };
        for name in ["unguarded", "guarded"] {
            home::furnish(&stage.home(name))?;
        }
        std::fs::create_dir(stage.top.join("project"))?;
        Ok(stage)
    }

    /// The teardown under guard.
    fn teardown(&self) -> Result<Output, Failure> {
        let guarded = self.home("guarded");
        let session = guarded.join(SESSION);
        let arguments: [&OsStr; 6] = [
            "--policy".as_ref(),
            "default".as_ref(),
            "--".as_ref(),
            self.exe.as_os_str(),
            TEARDOWN.as_ref(),
            session.as_os_str(),
        ];
        self.run(&guarded, &arguments)
    }

    fn home(&self, name: &str) -> PathBuf {
        self.top.join(name)
    }

    /// Runs guard's own binary as somebody who lives in `home`: nothing of the caller's environment but the search path,
    /// so that no variable leads to the caller's own files.
    fn run(&self, home: &Path, arguments: &[&OsStr]) -> Result<Output, Failure> {
        let mut command = Command::new(&self.exe);
        command
            .args(arguments)
            .env_clear()
            .env("HOME", home)
            .current_dir(self.top.join("project"));
        command.envs(
            ["PATH", "GUARD_LOG", "GUARD_LOG_FILE"]
                .iter()
                .filter_map(|name| Some((name, std::env::var_os(name)?))),
        );
        command
            .output()
            .map_err(|error| Failure::Words(format!("cannot run {}: {error}", self.exe.display())))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.top);
    }
}

/// What a command said, indented.
fn show(out: &mut dyn Write, done: &Output) -> std::io::Result<()> {
    for said in [&done.stderr, &done.stdout] {
        for line in String::from_utf8_lossy(said).lines() {
            writeln!(out, "    {}", visible(line))?;
        }
    }
    match done.status.code() {
        Some(0) => Ok(()),
        Some(status) => writeln!(out, "    (exit status {status})"),
        None => writeln!(out, "    ({})", done.status),
    }
}

fn table(unguarded: &[Fate], guarded: &[Fate]) -> String {
    let width = FILES
        .iter()
        .map(|(name, _)| name.len() + 2)
        .max()
        .unwrap_or(0);
    let mut text = format!("{:width$}  {:15}  {}\n", "", "without guard", "with guard");
    for (((name, _), before), after) in FILES.iter().zip(unguarded).zip(guarded) {
        let name = format!("~/{name}");
        text.push_str(&format!(
            "{name:width$}  {:15}  {}\n",
            before.word(),
            after.word()
        ));
    }
    let files = format!("{} files", FILES.len());
    text.push_str(&format!(
        "{files:width$}  {:15}  {}\n",
        total(unguarded),
        total(guarded)
    ));
    text
}

/// `10 lost`, `3 kept, 7 lost`.
fn total(fates: &[Fate]) -> String {
    let mut parts = Vec::new();
    for kind in [Fate::Kept, Fate::Changed, Fate::Lost] {
        let count = fates.iter().filter(|fate| **fate == kind).count();
        if count > 0 {
            parts.push(format!("{count} {}", kind.word()));
        }
    }
    parts.join(", ")
}

fn verdict(unguarded: &[Fate], guarded: &[Fate]) -> (i32, &'static str) {
    if guarded.iter().any(|fate| *fate != Fate::Kept) {
        (
            1,
            "guard did NOT protect the guarded home. This is a defect: please report it with the output of `guard doctor`.",
        )
    } else if unguarded.iter().any(|fate| *fate != Fate::Lost) {
        (
            1,
            "The accident did not happen in the unguarded home, so this shows nothing. Is guard itself run under a guard?",
        )
    } else {
        (
            0,
            "Without guard every file is gone and the test is green. With guard every file is as it was.",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verdict_needs_both_halves() {
        let lost = [Fate::Lost; FILES.len()];
        let kept = [Fate::Kept; FILES.len()];
        let mut one = kept;
        one[3] = Fate::Changed;
        assert_eq!(verdict(&lost, &kept).0, 0);
        assert_eq!(verdict(&lost, &one).0, 1);
        assert_eq!(verdict(&one, &kept).0, 1);
        assert_eq!(verdict(&lost, &lost).0, 1);
    }

    #[test]
    fn the_table_has_a_row_a_file_and_a_total() {
        let lost = [Fate::Lost; FILES.len()];
        let mut kept = [Fate::Kept; FILES.len()];
        kept[0] = Fate::Lost;
        let text = table(&lost, &kept);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), FILES.len() + 2);
        assert!(
            lines[2].starts_with("~/.pi/agent/") && lines[2].ends_with("  lost             kept"),
            "{text}"
        );
        assert!(
            lines[11].starts_with("10 files ")
                && lines[11].ends_with("  10 lost          9 kept, 1 lost"),
            "{text}"
        );
    }
}
