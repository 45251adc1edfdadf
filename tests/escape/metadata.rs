//! Mode, owner, times, attributes and flags.

use super::row::*;

#[rustfmt::skip] // one row a line
pub const ROWS: &[Row] = &[
    row("chmod -R 000", &[16], Supervisor, "chmod", META, "chmod -R 000 $P"),
    row("chmod of one file", &[16], Supervisor, "chmod", META, "chmod 777 $P/auth.json"),
    Row { needs: &["root"], ..row("chown -R", &[17], Supervisor, "chown", META, "chown -R 12345:12345 $P") },
    // As much as an ordinary user may: to the own group. Nothing changes for the eye but the times of the inode,
    // so the control takes a group that differs where root can give it.
    Row { needs: &["root"], ..row("chgrp", &[17], Supervisor, "chgrp", META, "chgrp 12345 $P/auth.json") },
    Row { needs: &["root"], ..row("chown of the link", &[17], Supervisor, "chown", META, "chown -h 12345 $P/latest") },
    Row { needs: &["hurt", "root"], ..row("fchown", &[17], Supervisor, "hurt", META, "$B/hurt fchown $P/auth.json") },
    Row { needs: &["hurt", "root"], ..row("lchown", &[17], Supervisor, "hurt", META, "$B/hurt lchown $P/latest") },
    row("touch of a file", &[18], Supervisor, "touch", Seen::As(&["metadata", "write"]), "touch $P/auth.json"),
    row("touch -d", &[18], Supervisor, "touch", META, "touch -c -d 2001-01-01 $P/sessions"),
    row("touch -h", &[18], Supervisor, "touch", META, "touch -h $P/latest"),
    Row { needs: &["setfattr"], ..row("setfattr", &[19], Supervisor, "setfattr", META, "setfattr -n user.note -v z $P/settings.json") },
    Row { needs: &["setfattr"], ..row("setfattr -x", &[19], Supervisor, "setfattr", META, "setfattr -x user.note $P/settings.json") },
    Row { needs: &["setfacl"], ..row("setfacl", &[19], Supervisor, "setfacl", META, "setfacl -m u:12345:rwx $P/settings.json") },
    Row { needs: &["python3"], ..row("os.setxattr", &[19], Supervisor, "python3", META, "python3 -c 'import os; os.setxattr(os.environ[\"P\"], \"user.a\", b\"z\")'") },
    Row { needs: &["hurt"], ..row("fsetxattr on a reader", &[19], Supervisor, "hurt", META, "$B/hurt fsetxattr $P/settings.json") },
    Row { needs: &["hurt"], ..row("fremovexattr on a reader", &[19], Supervisor, "hurt", META, "$B/hurt fremovexattr $P/settings.json") },
    Row { needs: &["hurt"], ..row("lsetxattr", &[19], Supervisor, "hurt", META, "$B/hurt lsetxattr $P/settings.json") },
    Row { needs: &["hurt"], ..row("fchmod on a reader", &[16], Supervisor, "hurt", META, "$B/hurt fchmod $P/auth.json") },
    Row { needs: &["hurt"], ..row("chmod by /proc/self/fd", &[16], Supervisor, "hurt", META, "$B/hurt fchmod-proc $P/auth.json") },
    Row { needs: &["hurt"], ..row("futimens on a reader", &[18], Supervisor, "hurt", META, "$B/hurt futimens $P/auth.json") },
    Row { needs: &["hurt"], ..row("utimensat of nothing but a descriptor", &[18], Supervisor, "hurt", META, "$B/hurt utimensat-empty $P/auth.json") },
    Row { needs: &["chattr"], ..row("chattr +d", &[22], Supervisor, "chattr", META, "chattr +d $P/settings.json") },
    Row { needs: &["hurt"], ..row("FS_IOC_SETFLAGS", &[22], Supervisor, "hurt", META, "$B/hurt setflags $P/auth.json") },
    Row { needs: &["hurt"], ..row("FS_IOC_FSSETXATTR", &[22], Supervisor, "hurt", META, "$B/hurt fssetxattr $P/auth.json") },
    row("a mode that hides the parent", &[16], Supervisor, "chmod", META, "chmod 000 ~/.pi"),
    row("chmod through a link", &[16], Supervisor, "chmod", META, "ln -s $P/auth.json $T/l && chmod 777 $T/l"),
];
