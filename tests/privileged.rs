//! Setuid programs: under guard they give an ordinary user no rights, and guard says so once.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::home::{Home, With, check};
use support::{Who, am_root, both, each, skip};

/// A copy of id(1), and how it is started: `PROGRAM` is its path.
struct Row {
    name: &'static str,
    mode: u32,
    script: &'static str,
}

const fn row(name: &'static str, mode: u32) -> Row {
    Row {
        name,
        mode,
        script: "PROGRAM -u; PROGRAM -u",
    }
}

const fn setuid(name: &'static str, script: &'static str) -> Row {
    Row {
        name,
        mode: 0o4755,
        script,
    }
}

const ROWS: &[Row] = &[
    setuid("twice", "PROGRAM -u; PROGRAM -u"),
    setuid("by a relative path, as the last", "cd $O && exec ./id -u"),
    setuid("through a link", "ln -sf PROGRAM $T/link && $T/link -u"),
    setuid(
        "by a descriptor",
        "python3 -c 'import os; os.execve(os.open(\"PROGRAM\", os.O_PATH), [\"id\", \"-u\"], {})'",
    ),
    row("an ordinary program", 0o755),
    row("setgid, as ssh-agent is", 0o2755),
];

/// As its owner root, beside the home.
fn install(home: &Home, row: &Row) -> PathBuf {
    let program = home.outside().join("id");
    // By a process of its own: a file that this one has open for writing could not be executed by another thread.
    let done = Command::new("install")
        .args(["-o", "0", "-g", "0", "-m", &format!("{:o}", row.mode)])
        .args([Path::new("/usr/bin/id"), &program])
        .status();
    assert!(done.unwrap().success());
    program
}

fn notices(stderr: &str) -> Vec<&str> {
    let lines = stderr.lines();
    lines.filter(|line| line.contains("cannot gain")).collect()
}

#[test]
fn it_is_said_once_where_a_program_would_have_gained_rights() {
    if !am_root() {
        skip("programs of root's", "root to make them").unwrap();
        return;
    }
    each(
        "privileged",
        ROWS,
        |row| row.name.into(),
        |row, who| {
            let home = Home::new(who);
            let program = install(&home, row);
            let script = row.script.replace("PROGRAM", program.to_str().unwrap());
            let plain = home.script(With::Nothing, &script)?;
            let run = home.script(With::Guard(&[]), &script)?;
            let gained = row.mode & 0o4000 != 0 && !who.is_root();
            check(
                "control",
                plain.status == 0 && plain.stdout.starts_with("0\n") == (gained || who.is_root()),
                &plain,
            )?;
            check("status", run.status == plain.status, &run)?;
            let own = format!("{}\n", who.uid());
            check("gains", run.stdout.starts_with(&own), &run)?;
            let said = notices(&run.stderr);
            let words = format!(
                "guard: {} cannot gain the rights of root here",
                program.display()
            );
            match gained {
                false => check("no notice", said.is_empty(), &run),
                true => check(
                    "one notice",
                    said.len() == 1 && said[0].starts_with(&words),
                    &run,
                ),
            }
        },
    );
}

/// Where nothing could be gained without guard either, guard has nothing to say about it.
#[test]
fn nothing_is_said_where_nothing_could_be_gained_anyway() {
    let su = Path::new("/usr/bin/su");
    if !su.exists() {
        skip("su", "su, which is setuid").unwrap();
        return;
    }
    both("privileged", "no gain to lose", |who| {
        let home = Home::new(who);
        let guard = support::programs::guard().to_str().unwrap();
        let plain = home.script(With::Guard(&[]), "su --version")?;
        let expected = usize::from(!who.is_root());
        check("control", notices(&plain.stderr).len() == expected, &plain)?;
        let before = format!("setpriv --no-new-privs {guard} -- su --version");
        let run = home.script(With::Nothing, &before)?;
        check(
            "no_new_privs before",
            run.status == 0 && notices(&run.stderr).is_empty(),
            &run,
        )?;
        if who == Who::Nobody {
            let mounts = "mount --bind /usr/bin /usr/bin && mount -o remount,bind,nosuid /usr/bin";
            let with = With::Guard(&[]);
            let run = home.finish(home.command_with_mounts(mounts, with, &["su", "--version"]))?;
            check(
                "nosuid",
                run.status == 0 && notices(&run.stderr).is_empty(),
                &run,
            )?;
        }
        Ok(())
    });
}

/// The notice is for people: it makes no record, and goes into one that is made for something else.
#[test]
fn a_notice_alone_makes_no_record() {
    both("privileged", "the record", |who| {
        let home = Home::new(who);
        home.script(With::Guard(&[]), "su --version")?;
        let without = home.records();
        let run = home.script(With::Guard(&[]), "su --version; rm $P/auth.json")?;
        check("refused", run.status != 0 && without.is_empty(), &run)?;
        let record = fs::read_to_string(&home.records()[0]).unwrap();
        let header = record.lines().next().unwrap_or_default();
        check(
            "noted in the header",
            header.contains("cannot gain the rights of root") != who.is_root(),
            &run,
        )
    });
}
