//! What must go on working in and around the protected tree.

use super::support::home::{Home, With};
use super::support::snapshot::Compare;
use super::support::{each, programs, skip, tail};

/// What must go on working in and around the protected tree, with the same result as without guard.
#[test]
#[rustfmt::skip] // one row a line
fn still_allowed() {
    let rows: &[(&str, &[&str], &str)] = &[
        ("mkdir -p of what exists", &[], "mkdir -p ~/.pi/agent"),
        ("mkdir of what exists", &[], "mkdir ~/.pi/agent 2>&1"),
        ("rm -f of what is not there", &[], "rm -f ~/.pi/agent/nonexistent"),
        ("rm of what is not there", &[], "rm ~/.pi/agent/nonexistent 2>&1"),
        ("rmdir below what is not there", &[], "rmdir ~/.codex/a 2>&1"),
        ("reading", &[], "cat $P/auth.json $P/latest && ls -laR $P | grep -c json"),
        ("cp out", &[], "cp -r $P $T/copy && chmod -R u+w $T/copy && rm -r $T/copy && cp $P/auth.json ~/mine && cat ~/mine"),
        ("find and grep", &[], "find $P -type f | sort && grep -r token $P"),
        ("stat and test", &[], "stat -c '%a %s %n' $P/* && test -r $P/auth.json && test -w $P/auth.json; echo $?"),
        ("tar out", &["tar"], "tar cf $T/a.tar -C ~ .pi && tar tf $T/a.tar"),
        ("a path at the end of memory", &["reach"], "touch $T/e && $B/reach edge $T/e && ls $T"),
        ("names that are no text", &[], "cd $T && touch $'\\xff\\n' && mv $'\\xff\\n' $'\\xfe' && rm $'\\xfe' && ls | wc -l"),
        (
            "the folders and descriptors of another process",
            &[],
            "cd $T && exec 5>f && (echo 1 > /proc/$$/fd/5; echo 2 > /proc/$$/cwd/g; chmod 600 /proc/$$/root$T/g; rm /proc/$$/cwd/g; touch ~/h; mv ~/h /proc/$$/cwd/h) && cat f && ls",
        ),
        ("flock of a file for reading", &["flock"], "flock -s $P/auth.json echo locked"),
        (
            "O_CREAT of what exists, for reading",
            &["python3"],
            "python3 -c 'import os; print(os.read(os.open(os.environ[\"P\"]+\"/auth.json\", os.O_RDONLY|os.O_CREAT), 99))'",
        ),
        (
            "python's exist_ok",
            &["python3"],
            "python3 -c 'import os; os.makedirs(os.environ[\"P\"]+\"/sessions\", exist_ok=True); print(1)'",
        ),
        ("node's recursive mkdir", &["node"], "node -e 'console.log(fs.mkdirSync(process.env.P+\"/sessions\",{recursive:true}))'"),
        (
            "rmSync with force of what is not there",
            &["node"],
            "node -e 'fs.rmSync(process.env.P+\"/none\",{recursive:true,force:true}); console.log(1)'",
        ),
    ];
    each("still allowed", rows, |r| r.0.to_owned(), |(name, needs, script), who| {
        if let Some(need) = programs::missing(who, needs) {
            return skip(name, &need);
        }
        let home = Home::new(who);
        let before = home.protected();
        let plain = home.script(With::Nothing, script)?;
        home.reset();
        let guarded = home.script(With::Guard(&[]), script)?;
        if (plain.status, &plain.stdout) != (guarded.status, &guarded.stdout) {
            return Err(format!(
                "exit {} and\n{}\nwithout guard, exit {} and\n{}\nwith it\n{}",
                plain.status, plain.stdout, guarded.status, guarded.stdout, tail(&guarded.stderr)
            ));
        }
        if guarded.stderr != plain.stderr {
            return Err(format!("guard says something: {}", tail(&guarded.stderr)));
        }
        let _ = before;
        Ok(())
    });
}

/// A git repository and a database inside a protected root can be read.
#[test]
#[rustfmt::skip] // one row a line
fn tools_that_read() {
    let rows: &[(&str, &[&str], &str, &str)] = &[
        (
            "git status and log",
            &["git"],
            "cd $P && git init -q . && git add -A && git commit -qm x",
            "cd $P && git status --short && git log --format=%s && git diff --stat",
        ),
        (
            "sqlite, read-only",
            &["sqlite3"],
            "sqlite3 $P/a.db 'create table t(a); insert into t values(42)'",
            "sqlite3 -readonly $P/a.db 'select a from t'",
        ),
    ];
    each("tools that read", rows, |r| r.0.to_owned(), |(name, needs, before, script), who| {
        if let Some(need) = programs::missing(who, needs) {
            return skip(name, &need);
        }
        let home = Home::new(who);
        let made = home.script(With::Nothing, before)?;
        if made.status != 0 {
            return Err(format!("the preparation fails: {}", tail(&made.stderr)));
        }
        let before = home.protected();
        let guarded = home.script(With::Guard(&[]), script)?;
        let changes = before.differences(&home.protected(), Compare::Exact);
        let plain = home.script(With::Nothing, script)?;
        if !changes.is_empty() {
            return Err(changes.join("\n"));
        }
        if (plain.status, &plain.stdout) != (guarded.status, &guarded.stdout) {
            return Err(format!(
                "exit {} {:?} without guard, exit {} {:?} with it\n{}",
                plain.status, plain.stdout, guarded.status, guarded.stdout, tail(&guarded.stderr)
            ));
        }
        Ok(())
    });
}
