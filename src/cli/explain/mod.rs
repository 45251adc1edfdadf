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

--json prints one object a line, one line a path: `version` is 1; `path`, `now` (file, directory, nothing, hidden), \
`level`; `rule` (what decided: `kind` is path, glob or default; `path`, `level`, `policy`, `origin`, `why`), `over` \
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
    let Loaded { plan, .. } = policies::load(arguments.policy.as_deref())?;
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
    use super::*;

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
