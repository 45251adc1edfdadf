//! Second names.

use super::row::*;

#[rustfmt::skip] // one row a line
pub const ROWS: &[Row] = &[
    row("ln out, then write", &[13], Both, "ln", LINK, "ln $P/auth.json $T/l && echo x > $T/l"),
    row("ln into home, then write", &[13], Both, "ln", LINK, "ln $P/auth.json ~/l && echo x > ~/l"),
    row("ln inside", &[14], Both, "ln", LINK, "ln $P/auth.json $P/l"),
    row("ln of an outside file in", &[14], Both, "ln", Seen::As(&["link", "create"]), "ln ~/plain.txt $P/l"),
    row("ln -f over", &[9, 14], Both, "ln", Seen::As(&["link", "create", "delete", "replace", "rename"]), "ln -f ~/plain.txt $P/auth.json"),
    row("ln -s in", &[14], Both, "ln", CREATE, "ln -s /etc/passwd $P/l"),
    row("ln -sf over", &[9, 14], Both, "ln", Seen::As(&["create", "delete", "replace", "rename"]), "ln -sf /etc/passwd $P/auth.json"),
    Row { needs: &["hurt"], ..row("a link of a descriptor", &[13], Both, "hurt", LINK, "$B/hurt link-fd $P/auth.json $T/l") },
    Row { needs: &["hurt"], ..row("O_TMPFILE, then linked in", &[6], Both, "hurt", Seen::As(&["link", "create"]), "$B/hurt tmpfile-link $T $P/new") },
    Row { before: "ln $P/auth.json $T/alias", ..row("a hard link made before", &[33], Supervisor, "bash", WRITE, "echo x > $T/alias") },
    Row { before: "ln $P/auth.json $T/alias", ..row("chmod of a hard link made before", &[16, 33], Supervisor, "chmod", META, "chmod 777 $T/alias") },
    Row { needs: &["python3"], before: "ln $P/auth.json $T/alias", ..row("a hard link made before, opened with O_NOFOLLOW", &[33], Supervisor, "python3", WRITE, "python3 -c 'import os; os.open(os.environ[\"T\"] + \"/alias\", os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW)'") },
    row("cp -l out, then write", &[13], Both, "cp", LINK, "cp -l $P/auth.json $T/l && echo x > $T/l"),
    // What the wall does not know of may not be reached by a way that the supervisor does not follow to its end.
    Row { before: "ln $P/auth.json $T/alias", ..row("a hard link made before, in the folder of another process", &[33], Supervisor, "bash", WRITE, "cd $T && (echo x > /proc/$$/cwd/alias)") },
    Row { before: "ln $P/auth.json $T/alias", ..row("a hard link made before, that another process has open", &[33], Supervisor, "bash", WRITE, "exec 5<$T/alias && (echo x > /proc/$$/fd/5)") },
    Row { before: "ln $P/auth.json $T/alias", ..row("chmod of a hard link made before, in the root of another process", &[16, 33], Supervisor, "chmod", META, "chmod 777 /proc/$$/root$T/alias; exit 1") },
    Row {
        before: "ln $P/auth.json $T/alias && ln -s alias $T/l1 && for n in {1..39}; do ln -s l$n $T/l$((n + 1)); done",
        ..row("a hard link made before, behind all links that the kernel follows", &[33], Supervisor, "bash", WRITE, "echo x > $T/l40")
    },
    Row {
        before: "ln $P/auth.json $T/alias && ln -s . $T/l0 && for n in {1..38}; do ln -s l$((n - 1))$(printf '/.%.0s' {1..2030}) $T/l$n; done",
        ..row("a hard link made before, behind links that are long together", &[33], Supervisor, "bash", WRITE, "echo x > $T/l38/alias")
    },
    Row {
        needs: &["reach"],
        before: "ln $P/auth.json $T/alias",
        ..row("a hard link made before, its path hidden from other processes", &[33], Supervisor, "", Seen::Perhaps, "$B/reach secret $T/alias")
    },
    Row {
        needs: &["raw"],
        before: "ln $P/auth.json $T/alias",
        ..row("a hard link made before, looked up in the cache alone", &[4, 33], Supervisor, "", Seen::Perhaps, "stat $T/alias >&2; $B/raw openat2 cwd s:$T/alias how:1,0,0x20 24 then ftruncate @ 0")
    },
    Row {
        before: "mkdir $T/box && ln $P/auth.json $T/box/alias && chmod 0 $T/box",
        after: "chmod 700 $T/box",
        ..row("a hard link made before, in a folder for the root of a user namespace", &[33, 43], Supervisor, "", Seen::Perhaps, "unshare -Ur bash -c 'echo x > $T/box/alias'")
    },
    Row {
        needs: &["prlimit"],
        before: "ln $P/auth.json $T/alias",
        ends: true,
        ..row(
            "a hard link made before, and a supervisor without descriptors",
            &[33, 46],
            Supervisor,
            "",
            Seen::Perhaps,
            "[ $(cat /proc/$PPID/comm) != guard ] || prlimit --pid $PPID --nofile=0:0; for n in {1..20}; do echo x > $T/alias || continue; exit; done; exit 1",
        )
    },
    // Root's supervisor may look into everybody.
    Row {
        needs: &["reach", "user"],
        before: "ln $P/auth.json $T/alias",
        fails: false,
        ..row("a hard link made before, by a program that nobody may look into", &[33], Limit("Programs that do not let others look into them"), "", Seen::Perhaps, "$B/reach undumpable $T/alias")
    },
];
