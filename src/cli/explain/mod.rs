//! `guard explain`: which rule holds for a path, what it lets happen, and who stands behind that.

mod json;
mod text;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use super::policies::{self, Loaded};
use super::{Failure, surroundings};

/// The end of `guard explain --help`.
const AFTER_HELP: &str = "\
The four lines are the columns of the level table. \"The kernel\" is a Landlock ruleset, which holds even when guard's \
supervisor is dead; \"the supervisor\" is guard's own process, which refuses first and records it. Where the kernel \
cannot tell what is allowed from what is not, the supervisor does what is allowed for the command.

--json prints one object a line for each path: `version` is 1; `asked` and `path`, `now` (file, directory, nothing, hidden), \
`level`; `rule` (what decided: `kind` is path, glob or default; `path`, `level`, `policy`, `origin`, `why`, `source`), `over` \
(what would hold without it, or null); `columns`, each with `allowed` (yes, no, or none where there is nothing to ask it \
of) and `by` (kernel, supervisor, kernel-and-supervisor, or null); `concerns`, the columns that are about the path \
itself; `keeps_name_for`; `notes`. A later version may add keys.";

/// What `guard explain` is asked.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct ExplainArgs {
    /// The policy to ask, instead of the one that a run would use
    #[arg(long, value_name = "NAME|FILE")]
    policy: Option<String>,
    /// Print JSON: one object a line for each path
    #[arg(long)]
    json: bool,
    /// Paths; they need not exist
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
}

/// Explains each path.
pub fn main(arguments: &ExplainArgs, out: &mut dyn Write) -> Result<i32, Failure> {
    let Loaded { plan, .. } =
        policies::load(arguments.policy.as_deref(), policies::Purpose::Explain)?;
    let here = policies::working_directory()?;
    let home = surroundings::home();
    for (index, path) in arguments.paths.iter().enumerate() {
        let explanation = plan.explain(&absolute(path, &here, home.as_deref()))?;
        if arguments.json {
            writeln!(out, "{}", json::object(&plan, &explanation)?)?;
            continue;
        }
        if index > 0 {
            writeln!(out)?;
        }
        write!(out, "{}", text::text(&plan, &explanation))?;
    }
    Ok(0)
}

/// `~` at the start is home even where the shell did not see it, as in quotes.
fn absolute(path: &Path, here: &Path, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) if rest.as_os_str().is_empty() => home.to_owned(),
        (Ok(rest), Some(home)) => home.join(rest),
        _ => here.join(path),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;
    use crate::cli::policies::tests::Machine;
    use crate::plan::Doer;
    use crate::wall::Wall;

    #[test]
    fn the_kernel_is_named_exactly_where_the_wall_grants_something() {
        let folders = [
            "a/b/c", "a/x.d/y", "n/w/deep", "n/r/w", "r/w/r/x", "r/x.d", "free/x",
        ];
        for lines in [
            "",
            "default = 'no-delete'",
            "[paths]\n'~/a/b' = 'add-only'\n'~/r' = 'read-only'\n'~/r/w' = 'writable'\n'~/r/w/r' = 'no-delete'",
            "[paths]\n'~' = 'no-delete'\n'~/n/w' = 'writable'\n'~/n/r' = 'read-only'\n'~/n/r/w' = 'writable'",
            "[paths]\n'~/a' = 'read-only'\n'~/a/*.d' = 'writable'\n'~/*.d' = 'writable'\n'~/r/*.d' = 'writable'",
            "[paths]\n'~/a/**/*.key' = 'read-only'\n'~/r/*' = 'no-delete'",
            "default = 'read-only'\n[paths]\n'~/f*' = 'writable'\n'~/a' = 'writable'\n'**/*.d' = 'add-only'",
        ] {
            let machine = Machine::new(&folders);
            let plan = machine.plan(&format!("version = 1\n{lines}\n"));
            let wall = match Wall::build(&plan) {
                Ok(wall) => wall,
                Err(error) => {
                    let must = std::env::var_os("GUARD_MUST_ENFORCE").is_some();
                    assert!(!must, "{error}");
                    eprintln!("skipped: {error}");
                    return;
                }
            };
            if wall.granted().len() > 8000 {
                eprintln!(
                    "skipped: so many folders lie beside this test's that the wall leaves some out"
                );
                return;
            }
            let granted = |path: &Path| {
                let facts = path.metadata().unwrap();
                let mut stats = wall.granted().iter();
                stats.any(|stat| (stat.dev, stat.ino) == (facts.dev(), facts.ino()))
            };
            let home = machine.home().canonicalize().unwrap();
            let all = folders
                .iter()
                .flat_map(|folder| Path::new(folder).ancestors());
            for folder in all {
                let path = home.join(folder);
                let doer = match path.ancestors().any(granted) {
                    true => Doer::Kernel,
                    false => Doer::Supervisor,
                };
                let said = plan.explain(&path).unwrap().standing.doer;
                assert_eq!(said, doer, "{folder:?} under {lines}");
            }
        }
    }

    #[test]
    fn a_path_is_found_from_here_and_from_home() {
        let absolute = |path: &str| {
            absolute(
                Path::new(path),
                Path::new("/here"),
                Some(Path::new("/home/u")),
            )
        };
        assert_eq!(absolute("x/y"), Path::new("/here/x/y"));
        assert_eq!(absolute("/x"), Path::new("/x"));
        assert_eq!(absolute("~"), Path::new("/home/u"));
        assert_eq!(absolute("~/x"), Path::new("/home/u/x"));
        assert_eq!(absolute("~x"), Path::new("/here/~x"));
    }
}
