//! `guard log`: the runs that tried something, and what one of them tried.

mod view;

use std::fs::File;
use std::io::{self, Write};

use clap::Args;
use jiff::tz::TimeZone;

use super::{Failure, surroundings};
use crate::record::{RunFile, list, outline};

use view::View;

/// What `guard log` is asked.
#[derive(Args, Debug)]
pub struct LogArgs {
    /// The id of a run, or the beginning of one
    run: Option<String>,
    /// Print JSON: the record as it is for one run, one object a run for all
    #[arg(long)]
    json: bool,
}

/// Prints all runs, or one.
pub fn main(arguments: &LogArgs, out: &mut dyn Write) -> Result<i32, Failure> {
    let view = View {
        dir: surroundings::runs()
            .ok_or_else(|| Failure::Words("no home directory: set HOME".into()))?,
        homes: surroundings::homes(),
        zone: TimeZone::system(),
    };
    let runs = list(&view.dir)?;
    match (&arguments.run, arguments.json) {
        (None, false) => view.all(&runs, out),
        (None, true) => all_json(&runs, out),
        (Some(wanted), json) => {
            let file = view.one_of(&runs, wanted)?;
            if json {
                raw(file, out)
            } else {
                view.one(file, out)
            }
        }
    }?;
    Ok(0)
}

/// The record as it is.
fn raw(file: &RunFile, out: &mut dyn Write) -> Result<(), Failure> {
    let path = &file.path;
    let failed = |source| crate::record::RecordError::Read {
        path: path.clone(),
        source,
    };
    let mut from = io::BufReader::new(File::open(path).map_err(failed)?);
    loop {
        let bytes = io::BufRead::fill_buf(&mut from).map_err(failed)?;
        if bytes.is_empty() {
            return Ok(());
        }
        out.write_all(bytes)?;
        let count = bytes.len();
        io::BufRead::consume(&mut from, count);
    }
}

fn all_json(runs: &[RunFile], out: &mut dyn Write) -> Result<(), Failure> {
    for file in runs {
        let outline = outline(&file.path)?;
        let object = serde_json::json!({
            "run": file.run,
            "file": file.path.to_string_lossy(),
            "attempts": outline.attempts,
            "header": outline.header,
            "footer": outline.footer,
        });
        writeln!(out, "{object}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::cli::words::Homes;
    use crate::record::{Journal, Operation, Summary, samples};

    fn recorded() -> (tempfile::TempDir, View) {
        let top = tempfile::tempdir().unwrap();
        let mut journal = Journal::new(top.path().to_owned(), samples::header());
        let mut summary = Summary::default();
        for (path, asked) in [
            ("/home/u/.pi/agent/auth.json", "auth.json"),
            ("/home/u/.pi/agent/b", "/home/u/.pi/agent/b"),
        ] {
            let mut attempt = samples::attempt(4312, Operation::Delete, path);
            attempt.asked = vec![asked.into()];
            journal.attempt(&attempt).unwrap();
            summary.count(&attempt);
        }
        journal.finish(&summary, Some(0), Some(123)).unwrap();
        let homes = Homes::new(Path::new("/home/u"));
        let view = View {
            dir: top.path().to_owned(),
            homes,
            zone: TimeZone::UTC,
        };
        (top, view)
    }

    fn shown(print: impl FnOnce(&mut dyn Write) -> Result<(), Failure>) -> String {
        let mut out = Vec::new();
        print(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn all_runs_in_a_table() {
        let (_top, view) = recorded();
        let runs = list(&view.dir).unwrap();
        assert_eq!(
            shown(|out| view.all(&runs, out)),
            format!(
                "RUN       TIME                 ATTEMPTS       STATUS  COMMAND\n\
                 {:8}  1970-01-01 00:00:00         2  0, here 123  npm test\n\
                 \u{20}         under ~/.pi/agent\n",
                runs[0].run
            )
        );
        assert!(shown(|out| view.all(&[], out)).starts_with("Nothing was refused so far"));
    }

    #[test]
    fn one_run_groups_what_one_process_tried() {
        let (_top, view) = recorded();
        let runs = list(&view.dir).unwrap();
        let text = shown(|out| view.one(&runs[0], out));
        let (_, body) = text.split_once("kernel 6.18.0, guard 0.1.0\n").unwrap();
        assert_eq!(
            body,
            "\nnode (pid 4312, `node --test create.test.js`)\n  started by npm (7)\n  \
             rule ~/.pi/agent = \"read-only\" (policy pi:4)\n     \
             1  00:00:00.000  delete    unlinkat EACCES  ~/.pi/agent/auth.json (as auth.json)\n     \
             2  00:00:00.000  delete    unlinkat EACCES  ~/.pi/agent/b\n\n\
             2 attempts refused. The command ended with 0, guard with 123.\n"
        );
    }

    #[test]
    fn a_record_without_an_end_says_so_and_json_is_the_file() {
        let (_top, view) = recorded();
        let runs = list(&view.dir).unwrap();
        let bytes = std::fs::read(&runs[0].path).unwrap();
        std::fs::write(&runs[0].path, &bytes[..bytes.len() - 5]).unwrap();
        let text = shown(|out| view.one(&runs[0], out));
        assert!(text.contains("(line 4 is damaged"), "{text}");
        assert!(
            text.ends_with("The record has no end: the run goes on, or it was cut short.\n"),
            "{text}"
        );
        assert_eq!(
            shown(|out| raw(&runs[0], out)).as_bytes(),
            &bytes[..bytes.len() - 5]
        );
        let all: serde_json::Value =
            serde_json::from_str(&shown(|out| all_json(&runs, out))).unwrap();
        assert_eq!(
            (&all["attempts"], &all["footer"]),
            (&2.into(), &serde_json::Value::Null)
        );
    }

    #[test]
    fn a_run_is_found_by_the_beginning_of_its_id() {
        let (_top, view) = recorded();
        let runs = list(&view.dir).unwrap();
        assert_eq!(view.one_of(&runs, &runs[0].run[..2]).unwrap(), &runs[0]);
        assert!(
            view.one_of(&runs, "xyz")
                .unwrap_err()
                .to_string()
                .starts_with("no run xyz in ")
        );
    }
}
