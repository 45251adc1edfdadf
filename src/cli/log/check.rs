//! Whether records are as they were written.

use std::io::Write;

use super::View;
use super::look::Part;
use crate::cli::Failure;
use crate::cli::words::counted;
use crate::record::{RunFile, verify};

/// Checks these runs; 1 where one is not as it was written.
pub fn check(view: &View, runs: &[RunFile], out: &mut dyn Write) -> Result<i32, Failure> {
    let mut broken = 0;
    for file in runs {
        let verified = verify(&view.dir, file)?;
        let run = view.look.part(Part::Name, &file.run);
        if verified.findings.is_empty() {
            writeln!(
                out,
                "{run}: as it was written, {}",
                counted(verified.lines, "line")
            )?;
            continue;
        }
        broken += 1;
        for finding in verified.findings {
            writeln!(out, "{run}: {}", view.look.part(Part::Refused, finding))?;
        }
    }
    if runs.is_empty() {
        writeln!(out, "There is no record to check.")?;
    }
    Ok(i32::from(broken > 0))
}
