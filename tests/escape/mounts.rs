//! The same tree under other mounts, and mounts that are made inside.

use super::row::*;

#[rustfmt::skip] // one row a line
pub const ROWS: &[Row] = &[
    Row { needs: &["mounts"], mounts: "mkdir -p $T/alias && mount --bind $P $T/alias", ..row("a bind mount of the root", &[34], Both, "rm", DELETE, "rm -rf $T/alias/sessions") },
    Row { needs: &["mounts"], mounts: "mkdir -p $T/alias && mount --bind $P $T/alias", ..row("a write through a bind mount of the root", &[34], Both, "bash", WRITE, "echo x > $T/alias/auth.json") },
    Row { needs: &["mounts"], mounts: "mkdir -p $T/alias && mount --bind $P $T/alias", ..row("chmod through a bind mount of the root", &[34], Supervisor, "chmod", META, "chmod -R 000 $T/alias/sessions") },
    Row { needs: &["mounts"], mounts: "mkdir -p $T/alias && mount --bind $HOME/.pi $T/alias", ..row("a bind mount of its parent", &[34], Both, "rm", DELETE, "rm -rf $T/alias/agent") },
    Row { needs: &["mounts"], mounts: "mkdir -p $T/alias && mount --bind $HOME/.pi $T/alias", ..row("mv below a bind mount of its parent", &[34], Both, "mv", RENAME, "mv $T/alias/agent $T/alias/x") },
    Row { needs: &["mounts"], mounts: "mkdir -p $T/alias && mount --bind $P/sessions $T/alias", ..row("a bind mount of a folder in it", &[34], Both, "rm", DELETE, "rm -rf $T/alias/--work--") },
    Row { needs: &["mounts"], mounts: "mkdir -p $O/alias && mount --bind $HOME $O/alias", ..row("a bind mount of home", &[34], Both, "", Seen::Perhaps, "rm -rf $O/alias/.pi/agent") },
    Row { needs: &["mounts", "root"], mounts: "mkdir -p $T/low $T/work $T/merged && mount -t overlay overlay -o lowerdir=$T/low,upperdir=$P,workdir=$HOME/tmp/work $T/merged", ..row("an overlay with the root as its upper folder", &[35], Both, "", Seen::Perhaps, "echo x > $T/merged/auth.json; rm -rf $T/merged/sessions; exit 1") },
    Row { needs: &["python3", "root"], ..row("a copy of the tree that hangs nowhere", &[40], Both, "", Seen::Perhaps, "python3 -c 'import ctypes, os; f = ctypes.CDLL(None).syscall(428, -100, b\"'$P'/sessions\", 1); os.mkdir(\"new\", dir_fd=f)'") },
    Row { needs: &["python3", "root"], ..row("an overlay that hangs nowhere and works in the root", &[35, 40], Supervisor, "", Seen::Perhaps, "mkdir -p $T/low $T/up && python3 -c 'import ctypes; s = ctypes.CDLL(None).syscall; f = s(430, b\"overlay\", 0); exit(any([s(431, f, 1, b\"lowerdir\", b\"'$T'/low\", 0), s(431, f, 1, b\"upperdir\", b\"'$T'/up\", 0), s(431, f, 1, b\"workdir\", b\"'$P'\", 0), s(431, f, 6, None, None, 0)]))'") },
    Row { needs: &["root"], fails: true, ..row("a mount over the root, then its effects", &[37, 38], Both, "", Seen::Perhaps, "mount --bind $T $P; mount -t tmpfs none $P; umount $P; umount $P; rm -rf $P; exit 1") },
    Row { needs: &["mounts", "root"], mounts: "mkdir -p $T/ro && mount --bind $P $T/ro && mount -o remount,bind,ro $T/ro", ..row("remount and write", &[38], Both, "", Seen::Perhaps, "mount -o remount,bind,rw $T/ro; echo x > $T/ro/auth.json") },
    Row { needs: &["unshare", "mounts"], ..row("a namespace of its own", &[43], Both, "", Seen::Perhaps, "unshare -Urm bash -c 'mount --bind $P $T && rm -rf $T/* || rm -rf $P'; exit 1") },
];
