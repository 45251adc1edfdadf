//! A record that cannot be written: the command goes on, what is protected stays, and guard says so.

use std::time::Duration;

use crate::support::snapshot::Compare;
use crate::support::{Home, With, each, eventually, programs, read_text, skip, tail};

/// One way in which the record's folder fails, as a script that root runs before guard, and one that the command runs.
struct Row {
    name: &'static str,
    before: &'static str,
    during: &'static str,
    /// Whether there is room for some of the record.
    said: &'static str,
}

const SCRIPT: &str = "for i in $(seq 300); do : > $P/file$i; rm -rf $P/npm; done 2>/dev/null; echo made > ~/made; cat ~/made";

#[test]
fn a_record_that_cannot_be_written() {
    let rows = [
        Row {
            name: "a full disk",
            before: "mount -t tmpfs -o size=12k,mode=777 none $O",
            during: "",
            said: "is kept in memory and tried again",
        },
        Row {
            name: "no room at all",
            before: "mount -t tmpfs -o size=4k,nr_inodes=2,mode=777 none $O",
            during: "",
            said: "is kept in memory and tried again",
        },
        Row {
            name: "read-only",
            before: "mount -t tmpfs -o ro none $O",
            during: "",
            said: "is kept in memory and tried again",
        },
        Row {
            name: "removed meanwhile",
            before: "true",
            during: "touch $T/now; until [ -e $T/removed ]; do sleep 0.01; done; ",
            said: "",
        },
    ];
    each(
        "record",
        &rows,
        |r| r.name.to_owned(),
        |row, who| {
            if programs::missing(who, &["mounts"]).is_some() {
                return skip(row.name, "root");
            }
            for (options, want) in [(&[][..], 0), (&["--fail-on-attempt"][..], 123)] {
                let home = Home::new(who);
                let before = home.protected();
                let script = format!("rm -rf $P/npm; {}{SCRIPT}", row.during);
                let argv = ["bash", "-c", &*script];
                let mut command = home.command_with_mounts(row.before, With::Guard(options), &argv);
                command.env("XDG_STATE_HOME", home.outside());
                let (state, now, removed) = (
                    home.outside().join("guard"),
                    home.tmp().join("now"),
                    home.tmp().join("removed"),
                );
                // Whatever happens to the run, this ends.
                let remover = std::thread::spawn(move || {
                    if eventually(Duration::from_secs(10), || now.exists()) {
                        let _ = std::fs::remove_dir_all(state);
                        std::fs::write(removed, "").unwrap();
                    }
                });
                let run = home.finish(command)?;
                if !row.during.is_empty() {
                    remover.join().unwrap();
                }
                let changes = before.differences(&home.protected(), Compare::Exact);
                let told = run
                    .stderr
                    .lines()
                    .any(|line| line.starts_with("guard: ") && line.contains(row.said));
                let good =
                    run.stdout == "made\n" && run.status == want && told && changes.is_empty();
                if !good || read_text(&home.path.join("made")) != "made\n" {
                    return Err(format!(
                        "exit {}, not {want}; {:?}; {}\n{}",
                        run.status,
                        run.stdout,
                        changes.join("\n"),
                        tail(&run.stderr)
                    ));
                }
            }
            Ok(())
        },
    );
}
