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
];
