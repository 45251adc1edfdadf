//! `guard doctor`: what this machine can enforce.

use std::io::Write;

use clap::Args;

use super::words::visible;
use super::{Failure, demo};
use crate::launch::{Capability, Need, probe};

/// What `guard doctor` is asked.
#[derive(Args, Debug)]
pub struct DoctorArgs {
    /// Play the accident under guard as well, in a throw-away home, and fail unless it is prevented and recorded
    #[arg(long)]
    strict: bool,
}

/// Prints every capability. Succeeds when nothing that is required is missing, and the trial, where it is asked for, ends as
/// it should.
pub fn main(arguments: &DoctorArgs, out: &mut dyn Write) -> Result<i32, Failure> {
    let capabilities = probe();
    let (mut status, verdict) = verdict(&capabilities);
    writeln!(out, "{}\n{verdict}", table(&capabilities))?;
    if arguments.strict {
        match demo::trial()? {
            Ok(()) => writeln!(
                out,
                "A trial run was stopped from removing what is protected, and its attempts are in its record."
            )?,
            Err(why) => {
                status = 1;
                writeln!(
                    out,
                    "A trial run did not go as it should: {}",
                    visible(&why)
                )?;
            }
        }
    }
    Ok(status)
}

fn verdict(capabilities: &[Capability]) -> (i32, &'static str) {
    let missing = |one: &Capability| one.works.is_err() && one.needed == Need::Required;
    if capabilities.is_empty() || capabilities.iter().any(missing) {
        (
            1,
            "guard cannot start a command safely on this machine: see what is marked MISSING.",
        )
    } else {
        (0, "guard can enforce its policies on this machine.")
    }
}

fn table(capabilities: &[Capability]) -> String {
    let width = capabilities
        .iter()
        .map(|one| one.name.chars().count())
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for one in capabilities {
        let (mark, detail) = match (&one.works, one.needed) {
            (Ok(detail), _) => ("ok     ", detail),
            (Err(missing), Need::Required) => ("MISSING", missing),
            (Err(missing), Need::Wanted) => ("absent ", missing),
        };
        let mut lines = detail.lines().map(visible);
        let first = lines.next().unwrap_or_default();
        let row = format!("{mark}  {:width$}  {first}", one.name);
        text.push_str(row.trim_end());
        text.push('\n');
        for line in lines {
            text.push_str(&format!("{:indent$}{line}\n", "", indent = width + 11));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_says_what_is_there_or_what_to_do() {
        let capabilities = [
            Capability {
                name: "Landlock",
                works: Ok("ABI 7".into()),
                needed: Need::Required,
            },
            Capability {
                name: "user notification",
                works: Err("the kernel has none\nuse Linux 5.19 or later".into()),
                needed: Need::Required,
            },
            Capability {
                name: "sync wake-up",
                works: Err("slower without".into()),
                needed: Need::Wanted,
            },
        ];
        assert_eq!(
            table(&capabilities),
            "ok       Landlock           ABI 7\n\
             MISSING  user notification  the kernel has none\n\
             \u{20}                           use Linux 5.19 or later\n\
             absent   sync wake-up       slower without\n"
        );
        assert_eq!(verdict(&capabilities).0, 1);
        assert_eq!(verdict(&capabilities[2..]).0, 0);
        assert_eq!(verdict(&[]).0, 1, "nothing tried is nothing proved");
    }
}
