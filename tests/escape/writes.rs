//! What exists opened for writing, truncated, mapped.

use super::row::*;

#[rustfmt::skip] // one row a line
pub const ROWS: &[Row] = &[
    row("truncate", &[3, 8], Both, "truncate", WRITE, "truncate -s 0 $P/auth.json"),
    row("> file", &[1, 3], Both, "bash", WRITE, ": > $P/auth.json"),
    row(">> file", &[1, 3], Both, "bash", WRITE, "echo more >> $P/auth.json"),
    row("a shell that reads and writes", &[1, 3], Both, "bash", WRITE, "exec 5<>$P/auth.json && echo zz >&5"),
    row("cp over", &[1, 3], Both, "cp", WRITE, "cp ~/plain.txt $P/auth.json"),
    // Removes first, then makes anew.
    row("cp --remove-destination", &[3, 9], Both, "cp", Seen::As(&["delete", "write"]), "cp --remove-destination ~/plain.txt $P/auth.json"),
    row("install over", &[3, 9], Both, "install", Seen::As(&["delete", "write"]), "install ~/plain.txt $P/auth.json"),
    row("dd conv=notrunc", &[1, 3], Both, "dd", WRITE, "dd if=/dev/zero of=$P/auth.json bs=4 count=1 conv=notrunc status=none"),
    row("sed -i", &[1, 10], Both, "sed", Seen::As(&["create", "write", "rename", "replace"]), "sed -i s/t-/x-/ $P/auth.json"),
    row("tee", &[1, 3], Both, "tee", WRITE, "echo x | tee $P/auth.json >/dev/null; exit ${PIPESTATUS[1]}"),
    row("through the link in it", &[1, 3], Both, "bash", WRITE, "echo x > $P/latest"),
    row("through a link outside", &[1, 3], Both, "bash", WRITE, "ln -s $P/auth.json $T/l && echo x > $T/l"),
    row("through /dev/fd", &[1, 3], Both, "bash", WRITE, "exec 5<$P/auth.json && echo x > /dev/fd/5"),
    Row { needs: &["hurt"], ..row("a descriptor for reading, reopened", &[1, 3], Both, "hurt", WRITE, "$B/hurt reopen-read $P/auth.json") },
    Row { needs: &["hurt"], ..row("an O_PATH descriptor, reopened", &[1, 3], Both, "hurt", WRITE, "$B/hurt reopen-path $P/auth.json") },
    Row { needs: &["hurt"], ..row("truncate by /proc/self/fd", &[7], Both, "hurt", WRITE, "$B/hurt truncate-proc $P/auth.json") },
    Row { needs: &["hurt"], ..row("openat2", &[4], Both, "hurt", WRITE, "$B/hurt open2 $P/auth.json") },
    Row { needs: &["hurt"], ..row("creat", &[2], Both, "hurt", WRITE, "$B/hurt creat $P/auth.json") },
    Row { needs: &["hurt"], ..row("a shared mapping", &[28], Both, "hurt", WRITE, "$B/hurt mmap $P/auth.json") },
    Row { needs: &["hurt"], ..row("a hole punched", &[26], Both, "hurt", WRITE, "$B/hurt punch $P/auth.json") },
    Row { needs: &["hurt", "root"], ..row("open_by_handle_at", &[5], Both, "hurt", Seen::Forbidden, "$B/hurt handle $P/auth.json") },
    Row { needs: &["sqlite3"], before: "true", ..row("sqlite makes a database", &[1, 3], Both, "sqlite3", Seen::As(&["create", "write"]), "sqlite3 $P/new.db 'create table t(a)'") },
];
