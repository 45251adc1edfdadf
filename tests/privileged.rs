//! Programs that gain rights by being executed (setuid, setgid, file capabilities): under guard they gain none as an ordinary
//! user, and guard says so once.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use support::home::{Home, With, check};
use support::snapshot::set_xattr;
use support::{Who, am_root, both, each, skip};

/// A copy of id(1), and what its owner made of it.
struct Row {
    name: &'static str,
    mode: u32,
    capable: bool,
    /// Words of the notice; none where there must be none.
    says: Option<&'static str>,
    /// How it is started, `PROGRAM` being its path.
    script: &'static str,
}

const fn row(name: &'static str, mode: u32, says: Option<&'static str>) -> Row {
    Row {
        name,
        mode,
        capable: false,
        says,
        script: "PROGRAM -u; PROGRAM -u",
    }
}

const ROOT: Option<&str> = Some("cannot gain the rights of root here");

const ROWS: &[Row] = &[
    row("setuid", 0o4755, ROOT),
    row(
        "setgid",
        0o2755,
        Some("cannot gain the rights of group 0 here"),
    ),
    Row {
        capable: true,
        ..row(
            "capabilities",
            0o755,
            Some("cannot gain its capabilities here"),
        )
    },
    Row {
        script: "cd $O && exec ./id -u",
        ..row("by a relative path, as the last", 0o4755, ROOT)
    },
    Row {
        script: "ln -sf PROGRAM $T/link && $T/link -u",
        ..row("through a link", 0o4755, ROOT)
    },
    Row {
        script: "python3 -c 'import os; os.execve(os.open(\"PROGRAM\", os.O_PATH), [\"id\", \"-u\"], {})'",
        ..row("by a descriptor", 0o4755, ROOT)
    },
    row("an ordinary program", 0o755, None),
    row("locked by a bit that is no setgid", 0o2745, None),
];

/// As its owner root, beside the home.
fn install(home: &Home, row: &Row) -> PathBuf {
    let program = home.outside().join("id");
    fs::copy("/usr/bin/id", &program).unwrap();
    chown(&program, Some(0), Some(0)).unwrap();
    fs::set_permissions(&program, PermissionsExt::from_mode(row.mode)).unwrap();
    if row.capable {
        // cap_net_raw=ep (struct vfs_cap_data, revision 2).
        let value = [1, 0, 0, 2, 0, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        set_xattr(&program, "security.capability", &value);
    }
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
            match row.says.filter(|_| !who.is_root()) {
                None => check("no notice", said.is_empty(), &run),
                Some(words) => check(
                    "one notice",
                    said.len() == 1
                        && said[0].contains(words)
                        && said[0].starts_with(&format!("guard: {}", program.display())),
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
