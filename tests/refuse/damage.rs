//! The tables: each call by which a file is lost.

use super::*;

#[test]
#[rustfmt::skip] // one row a line
fn removals() {
    table(
        "removals",
        &[
            row("rm -rf of the root", "rm", DELETE, "rm -rf ~/.pi/agent"),
            row("rm -rf of its parent", "rm", DELETE, "rm -rf ~/.pi"),
            row("rm -rf of all of home, dot files first", "rm", DELETE, "rm -rf ~/.[!.]* ~/*"),
            row("rm of a file", "rm", DELETE, "rm -f $P/auth.json"),
            row("rm of the link", "rm", DELETE, "rm -f $P/latest"),
            row("rm from inside", "rm", DELETE, "cd $P/sessions && rm -rf ./*"),
            row("rmdir", "rmdir", DELETE, "rmdir $P/extensions"),
            row("find -delete", "find", DELETE, "find $P -delete"),
            Row {
                needs: &["python3"],
                ..row("shutil.rmtree", "python3", DELETE, "python3 -c 'import shutil,os; shutil.rmtree(os.environ[\"P\"])'")
            },
            Row {
                needs: &["python3"],
                fails: false,
                ..row(
                    "shutil.rmtree that swallows errors",
                    "python3",
                    DELETE,
                    "python3 -c 'import shutil,os; shutil.rmtree(os.environ[\"P\"], ignore_errors=True)'",
                )
            },
            Row {
                needs: &["node"],
                ..row("fs.rmSync", "node", DELETE, "node -e 'fs.rmSync(process.env.P,{recursive:true,force:true})'")
            },
            Row {
                needs: &["node"],
                ..row(
                    "fs.promises.rm",
                    "node",
                    DELETE,
                    "node -e 'fs.promises.rm(process.env.P,{recursive:true,force:true}).catch(e=>{console.error(e.code);process.exit(1)})'",
                )
            },
            Row {
                needs: &["node"],
                ..row(
                    "fs.promises.rm with io_uring asked for",
                    "node",
                    DELETE,
                    "UV_USE_IO_URING=1 node -e 'fs.promises.rm(process.env.P,{recursive:true,force:true}).catch(e=>{console.error(e.code);process.exit(1)})'",
                )
            },
            Row {
                needs: &["node"],
                ..row(
                    "fs.promises.writeFile with io_uring asked for",
                    "node",
                    WRITE,
                    "UV_USE_IO_URING=1 node -e 'fs.promises.writeFile(process.env.P+\"/auth.json\",\"gone\").catch(e=>process.exit(1))'",
                )
            },
            Row {
                needs: &["rsync"],
                before: "mkdir $T/empty",
                ..row("rsync --delete", "rsync", DELETE, "rsync -a --delete $T/empty/ $P/sessions/")
            },
            Row { needs: &["hurt-go"], ..row("Go's RemoveAll", "hurt-go", DELETE, "$B/hurt-go removeall $P") },
            Row { needs: &["hurt-go"], ..row("Go's Truncate", "hurt-go", WRITE, "$B/hurt-go truncate $P/auth.json") },
            Row { needs: &["cc32"], ..row("a 32-bit program", "hurt32", DELETE, "$B/hurt32 unlink $P/auth.json") },
            Row { needs: &["cc32"], ..row("a 32-bit program renames", "hurt32", RENAME, "$B/hurt32 rename $P $T/x") },
            Row { needs: &["cc32"], ..row("a 32-bit program opens", "hurt32", WRITE, "$B/hurt32 creat $P/auth.json") },
            Row { needs: &["cc32"], ..row("a 32-bit program's fchmod", "hurt32", META, "$B/hurt32 fchmod $P/auth.json") },
            #[cfg(target_arch = "x86_64")]
            Row { needs: &["hurt"], ..row("int 0x80 from a 64-bit program", "hurt", DELETE, "$B/hurt int80 $P/auth.json") },
            Row { needs: &["hurt"], ..row("a vfork child", "hurt", DELETE, "$B/hurt vfork $P/auth.json") },
            Row { needs: &["hurt"], ..row("posix_spawn's file action", "hurt", WRITE, "$B/hurt spawn $P/auth.json") },
            Row { needs: &["hurt"], ..row("a raw clone", "hurt", DELETE, "$B/hurt clone $P/auth.json") },
            Row { needs: &["hurt"], ..row("a thread", "hurt", DELETE, "$B/hurt thread $P/auth.json") },
            Row { needs: &["hurt"], ..row("a descriptor of the folder", "hurt", DELETE, "$B/hurt dirfd $P auth.json") },
            Row { needs: &["hurt", "root"], ..row("after a chroot", "hurt", DELETE, "$B/hurt chroot-unlink ~ /.pi/agent/auth.json") },
            // Not to be looked into: whether the supervisor can follow depends on the user, that nothing is lost does not.
            Row { needs: &["hurt"], ..row("a program that nobody may look into", "", &[], "$B/hurt undumpable $P/auth.json") },
            Row {
                fails: false,
                lasts: true,
                ..row(
                    "a background process that outlives the command",
                    "rm",
                    DELETE,
                    "(sleep 0.4; rm -rf $P; touch $T/done) </dev/null >/dev/null 2>$T/err & disown; exit 0",
                )
            },
            Row {
                fails: false,
                lasts: true,
                needs: &["setsid"],
                ..row(
                    "a daemon in a session of its own",
                    "rm",
                    DELETE,
                    "setsid -f bash -c 'sleep 0.4; rm -rf $P; touch $T/done' </dev/null >/dev/null 2>&1",
                )
            },
            row("through /proc/self/cwd", "rm", DELETE, "cd $P && rm -f /proc/self/cwd/auth.json"),
            row("through /proc/self/root", "rm", DELETE, "rm -f /proc/self/root$P/auth.json"),
            row("through a path with dots", "rm", DELETE, "rm -f $T/../.pi/./agent//sessions/../auth.json"),
            Row { before: "ln -s $P $T/l", ..row("through a symbolic link", "rm", DELETE, "rm -rf $T/l/") },
            row("through a link made now", "rm", DELETE, "ln -s ~/.pi $T/a && ln -s a/agent $T/b && rm -rf $T/b/sessions"),
            row("cd into a link, then delete", "rm", DELETE, "ln -s $P $T/l && cd $T/l && rm -rf sessions"),
        ],
    );
}

#[test]
#[rustfmt::skip] // one row a line
fn renames() {
    table(
        "renames",
        &[
            row("mv of the root", "mv", RENAME, "mv ~/.pi/agent ~/x"),
            row("mv of the root within its parent", "mv", RENAME, "mv ~/.pi/agent ~/.pi/x"),
            row("mv of its parent", "mv", RENAME, "mv ~/.pi ~/x"),
            row("mv of home itself", "mv", RENAME, "mv ~ $O/x"),
            row("mv of home to a name beside it", "mv", RENAME, "cd / && mv $HOME $HOME.old"),
            row("mv of a file out", "mv", RENAME, "mv $P/auth.json $T/"),
            row("mv of a file out of home", "mv", RENAME, "mv $P/auth.json $O/"),
            row("mv inside", "mv", RENAME, "mv $P/auth.json $P/auth.json.bak"),
            row("mv of a file in", "mv", &["create"], "mv ~/plain.txt $P/"),
            row("an atomic save over a file", "mv", REPLACE, "echo new > $T/n && mv -T $T/n $P/auth.json"),
            row("an atomic save over the root's link", "mv", REPLACE, "ln -s /nowhere $T/n && mv -T $T/n $P/latest"),
            Row { needs: &["hurt"], ..row("rename over", "hurt", REPLACE, "$B/hurt rename ~/plain.txt $P/auth.json") },
            Row { needs: &["hurt"], ..row("exchange with the root", "hurt", RENAME, "mkdir ~/x && $B/hurt exchange ~/x $P") },
            Row { needs: &["hurt"], ..row("exchange with its parent", "hurt", RENAME, "mkdir ~/x && $B/hurt exchange ~/.pi ~/x") },
            Row { needs: &["hurt"], ..row("exchange of a file", "hurt", RENAME, "$B/hurt exchange ~/plain.txt $P/auth.json") },
            Row {
                needs: &["hurt", "root"],
                ..row("a whiteout left behind", "hurt", RENAME, "$B/hurt whiteout $P/auth.json $T/x")
            },
            Row {
                needs: &["node"],
                ..row("fs.renameSync", "node", RENAME, "node -e 'fs.renameSync(process.env.P, process.env.T+\"/x\")'")
            },
            row(
                "the parent made unreadable and moved",
                "",
                &["metadata"],
                "chmod 000 ~/.pi; mv ~/.pi ~/x",
            ),
        ],
    );
}

#[test]
#[rustfmt::skip] // one row a line
fn writes() {
    table(
        "writes",
        &[
            row("truncate", "truncate", WRITE, "truncate -s 0 $P/auth.json"),
            row("> file", "bash", WRITE, ": > $P/auth.json"),
            row(">> file", "bash", WRITE, "echo more >> $P/auth.json"),
            row("a shell that reads and writes", "bash", WRITE, "exec 5<>$P/auth.json && echo zz >&5"),
            row("cp over", "cp", WRITE, "cp ~/plain.txt $P/auth.json"),
            // Removes first, then makes anew.
            row("cp --remove-destination", "cp", &["delete", "write"], "cp --remove-destination ~/plain.txt $P/auth.json"),
            row("install over", "install", &["delete", "write"], "install ~/plain.txt $P/auth.json"),
            row("dd conv=notrunc", "dd", WRITE, "dd if=/dev/zero of=$P/auth.json bs=4 count=1 conv=notrunc status=none"),
            row("sed -i", "sed", &["create", "write", "rename", "replace"], "sed -i s/t-/x-/ $P/auth.json"),
            row("tee", "tee", WRITE, "echo x | tee $P/auth.json >/dev/null; exit ${PIPESTATUS[1]}"),
            row("through the link in it", "bash", WRITE, "echo x > $P/latest"),
            row("through a link outside", "bash", WRITE, "ln -s $P/auth.json $T/l && echo x > $T/l"),
            row("through /dev/fd", "bash", WRITE, "exec 5<$P/auth.json && echo x > /dev/fd/5"),
            Row {
                needs: &["hurt"],
                ..row("a descriptor for reading, reopened", "hurt", WRITE, "$B/hurt reopen-read $P/auth.json")
            },
            Row { needs: &["hurt"], ..row("an O_PATH descriptor, reopened", "hurt", WRITE, "$B/hurt reopen-path $P/auth.json") },
            Row { needs: &["hurt"], ..row("truncate by /proc/self/fd", "hurt", WRITE, "$B/hurt truncate-proc $P/auth.json") },
            Row { needs: &["hurt"], ..row("openat2", "hurt", WRITE, "$B/hurt open2 $P/auth.json") },
            Row { needs: &["hurt"], ..row("creat", "hurt", WRITE, "$B/hurt creat $P/auth.json") },
            Row { needs: &["hurt"], ..row("a shared mapping", "hurt", WRITE, "$B/hurt mmap $P/auth.json") },
            Row { needs: &["hurt"], ..row("a hole punched", "hurt", WRITE, "$B/hurt punch $P/auth.json") },
            Row {
                needs: &["hurt", "root"],
                ..row("open_by_handle_at", "hurt", &["forbidden", "write"], "$B/hurt handle $P/auth.json")
            }
            .quiet_rule(),
            Row {
                needs: &["sqlite3"],
                before: "true",
                ..row(
                    "sqlite makes a database",
                    "sqlite3",
                    &["create", "write"],
                    "sqlite3 $P/new.db 'create table t(a)'",
                )
            },
        ],
    );
}

impl Row {
    /// The call is refused under every policy: no rule of this one is named, so only the damage is looked at.
    const fn quiet_rule(self) -> Self {
        Self {
            operation: &[],
            ..self
        }
    }
}

#[test]
#[rustfmt::skip] // one row a line
fn metadata() {
    table(
        "metadata",
        &[
            row("chmod -R 000", "chmod", META, "chmod -R 000 $P"),
            row("chmod of one file", "chmod", META, "chmod 777 $P/auth.json"),
            Row { needs: &["root"], ..row("chown -R", "chown", META, "chown -R 12345:12345 $P") },
            // As much as an ordinary user may: to the own group. Nothing changes for the eye but the times of the inode,
            // so the control takes a group that differs where root can give it.
            Row { needs: &["root"], ..row("chgrp", "chgrp", META, "chgrp 12345 $P/auth.json") },
            Row { needs: &["root"], ..row("chown of the link", "chown", META, "chown -h 12345 $P/latest") },
            Row { needs: &["hurt", "root"], ..row("fchown", "hurt", META, "$B/hurt fchown $P/auth.json") },
            Row { needs: &["hurt", "root"], ..row("lchown", "hurt", META, "$B/hurt lchown $P/latest") },
            row("touch", "touch", &["metadata", "write"], "touch $P/auth.json"),
            row("touch -d", "touch", META, "touch -c -d 2001-01-01 $P/sessions"),
            row("touch -h", "touch", META, "touch -h $P/latest"),
            Row { needs: &["setfattr"], ..row("setfattr", "setfattr", META, "setfattr -n user.note -v z $P/settings.json") },
            Row { needs: &["setfattr"], ..row("setfattr -x", "setfattr", META, "setfattr -x user.note $P/settings.json") },
            Row { needs: &["setfacl"], ..row("setfacl", "setfacl", META, "setfacl -m u:12345:rwx $P/settings.json") },
            Row {
                needs: &["python3"],
                ..row(
                    "os.setxattr",
                    "python3",
                    META,
                    "python3 -c 'import os; os.setxattr(os.environ[\"P\"], \"user.a\", b\"z\")'",
                )
            },
            Row { needs: &["hurt"], ..row("fsetxattr on a reader", "hurt", META, "$B/hurt fsetxattr $P/settings.json") },
            Row { needs: &["hurt"], ..row("fremovexattr on a reader", "hurt", META, "$B/hurt fremovexattr $P/settings.json") },
            Row { needs: &["hurt"], ..row("lsetxattr", "hurt", META, "$B/hurt lsetxattr $P/settings.json") },
            Row { needs: &["hurt"], ..row("fchmod on a reader", "hurt", META, "$B/hurt fchmod $P/auth.json") },
            Row { needs: &["hurt"], ..row("chmod by /proc/self/fd", "hurt", META, "$B/hurt fchmod-proc $P/auth.json") },
            Row { needs: &["hurt"], ..row("futimens on a reader", "hurt", META, "$B/hurt futimens $P/auth.json") },
            Row { needs: &["hurt"], ..row("utimensat of nothing but a descriptor", "hurt", META, "$B/hurt utimensat-empty $P/auth.json") },
            Row { needs: &["chattr"], ..row("chattr +d", "chattr", META, "chattr +d $P/settings.json") },
            Row { needs: &["hurt"], ..row("FS_IOC_SETFLAGS", "hurt", META, "$B/hurt setflags $P/auth.json") },
            Row { needs: &["hurt"], ..row("FS_IOC_FSSETXATTR", "hurt", META, "$B/hurt fssetxattr $P/auth.json") },
            row("a mode that hides the parent", "chmod", META, "chmod 000 ~/.pi"),
            row("chmod through a link", "chmod", META, "ln -s $P/auth.json $T/l && chmod 777 $T/l"),
        ],
    );
}

#[test]
#[rustfmt::skip] // one row a line
fn links() {
    table(
        "links",
        &[
            row("ln out, then write", "ln", LINK, "ln $P/auth.json $T/l && echo x > $T/l"),
            row("ln into home, then write", "ln", LINK, "ln $P/auth.json ~/l && echo x > ~/l"),
            row("ln inside", "ln", LINK, "ln $P/auth.json $P/l"),
            row("ln of an outside file in", "ln", &["link", "create"], "ln ~/plain.txt $P/l"),
            row("ln -f over", "ln", &["link", "create", "delete", "replace", "rename"], "ln -f ~/plain.txt $P/auth.json"),
            row("ln -s in", "ln", &["create"], "ln -s /etc/passwd $P/l"),
            row("ln -sf over", "ln", &["create", "delete", "replace", "rename"], "ln -sf /etc/passwd $P/auth.json"),
            Row { needs: &["hurt"], ..row("a link of a descriptor", "hurt", LINK, "$B/hurt link-fd $P/auth.json $T/l") },
            Row { needs: &["hurt"], ..row("O_TMPFILE, then linked in", "hurt", &["link", "create"], "$B/hurt tmpfile-link $T $P/new") },
            Row {
                before: "ln $P/auth.json $T/alias",
                ..row("a hard link made before", "bash", WRITE, "echo x > $T/alias")
            },
            Row {
                before: "ln $P/auth.json $T/alias",
                ..row("chmod of a hard link made before", "chmod", META, "chmod 777 $T/alias")
            },
            Row {
                needs: &["python3"],
                before: "ln $P/auth.json $T/alias",
                ..row(
                    "a hard link made before, opened with O_NOFOLLOW",
                    "python3",
                    WRITE,
                    "python3 -c 'import os; os.open(os.environ[\"T\"] + \"/alias\", os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW)'",
                )
            },
            row("cp -l out, then write", "cp", LINK, "cp -l $P/auth.json $T/l && echo x > $T/l"),
        ],
    );
}

#[test]
#[rustfmt::skip] // one row a line
fn new_entries() {
    table(
        "new entries",
        &[
            row("a file", "bash", CREATE, "echo x > $P/new"),
            row("touch", "touch", CREATE, "touch $P/sessions/new"),
            row("mkdir", "mkdir", CREATE, "mkdir $P/new"),
            row("mkdir -p", "mkdir", CREATE, "mkdir -p $P/sessions/a/b"),
            row("mkfifo", "mkfifo", CREATE, "mkfifo $P/fifo"),
            Row { needs: &["hurt"], ..row("mknod of a file", "hurt", CREATE, "$B/hurt mknod $P/new") },
            Row { needs: &["root"], ..row("mknod of a device", "mknod", &["create", "forbidden"], "mknod $P/null c 1 3") },
            Row { needs: &["hurt"], ..row("a socket", "hurt", CREATE, "$B/hurt bind $P/s") },
            Row { needs: &["hurt"], ..row("a socket, relative", "hurt", CREATE, "cd $P && $B/hurt bind s") },
            // A root that is not there yet.
            row("mkdir of a missing root", "mkdir", CREATE, "mkdir ~/.codex"),
            row("mkdir -p below a missing root", "mkdir", CREATE, "mkdir -p ~/.codex/sessions"),
            row("mkdir -p on the way to a missing root", "", &["create", "write"], "mkdir -p ~/.local/share/opencode && echo x > ~/.local/share/opencode/auth.json"),
            row("a file as a missing root", "bash", &["create", "write"], "echo x > ~/.claude.json"),
            row("mv onto a missing root", "mv", &["rename", "create", "replace"], "mkdir ~/x && mv ~/x ~/.codex"),
            row("ln -s as a missing root", "ln", CREATE, "ln -s tmp ~/.claude"),
            row("ln as a missing root", "ln", &["link", "create"], "ln ~/plain.txt ~/.claude.json"),
            row("cp -r as a missing root", "cp", CREATE, "mkdir $T/d && cp -r $T/d ~/.codex"),
            row("mv of a folder on the way with the root in it", "mv", &["rename", "create", "replace"], "mkdir -p ~/x/opencode && echo x > ~/x/opencode/a && mv -T ~/x ~/.config"),
            row("a link of a link on the way to a missing root", "ln", &["link", "create"], "mkdir -p $T/q/opencode && echo x > $T/q/opencode/a && ln -s $T/q ~/s && ln -P ~/s ~/.config"),
            row("mv of a folder with a link to nothing yet on the way", "mv", &["rename", "create", "replace"], "mkdir ~/x && ln -s $T/q ~/x/share && mv -T ~/x ~/.local && mkdir -p $T/q/opencode && echo x > $T/q/opencode/a"),
            Row {
                needs: &["python3"],
                ..row(
                    "a link exchanged onto the way to a missing root",
                    "",
                    &[],
                    "mkdir -p ~/.config $T/q/opencode && echo x > $T/q/opencode/a && ln -s $T/q ~/s && python3 -c 'import ctypes; exit(ctypes.CDLL(None).renameat2(-100, b\"'$HOME'/.config\", -100, b\"'$HOME'/s\", 2) != 0)'",
                )
            },
            row("guard's own configuration", "", &["create", "write"], "mkdir -p ~/.config/guard && echo 'version = 1' > ~/.config/guard/policy.toml"),
        ],
    );
}

#[test]
#[rustfmt::skip] // one row a line
fn mounts() {
    table(
        "mounts",
        &[
            Row {
                needs: &["mounts"],
                mounts: "mkdir -p $T/alias && mount --bind $P $T/alias",
                ..row("a bind mount of the root", "rm", DELETE, "rm -rf $T/alias/sessions")
            },
            Row {
                needs: &["mounts"],
                mounts: "mkdir -p $T/alias && mount --bind $P $T/alias",
                ..row("a write through a bind mount of the root", "bash", WRITE, "echo x > $T/alias/auth.json")
            },
            Row {
                needs: &["mounts"],
                mounts: "mkdir -p $T/alias && mount --bind $P $T/alias",
                ..row("chmod through a bind mount of the root", "chmod", META, "chmod -R 000 $T/alias/sessions")
            },
            Row {
                needs: &["mounts"],
                mounts: "mkdir -p $T/alias && mount --bind $HOME/.pi $T/alias",
                ..row("a bind mount of its parent", "rm", DELETE, "rm -rf $T/alias/agent")
            },
            Row {
                needs: &["mounts"],
                mounts: "mkdir -p $T/alias && mount --bind $HOME/.pi $T/alias",
                ..row("mv below a bind mount of its parent", "mv", RENAME, "mv $T/alias/agent $T/alias/x")
            },
            Row {
                needs: &["mounts"],
                mounts: "mkdir -p $T/alias && mount --bind $P/sessions $T/alias",
                ..row("a bind mount of a folder in it", "rm", DELETE, "rm -rf $T/alias/--work--")
            },
            Row {
                needs: &["mounts"],
                mounts: "mkdir -p $O/alias && mount --bind $HOME $O/alias",
                ..row("a bind mount of home", "", &[], "rm -rf $O/alias/.pi/agent")
            },
            Row {
                needs: &["mounts", "root"],
                mounts: "mkdir -p $T/low $T/work $T/merged && mount -t overlay overlay -o lowerdir=$T/low,upperdir=$P,workdir=$HOME/tmp/work $T/merged",
                ..row("an overlay with the root as its upper folder", "", &[], "echo x > $T/merged/auth.json; rm -rf $T/merged/sessions; exit 1")
            },
            Row {
                needs: &["python3", "root"],
                ..row(
                    "a copy of the tree that hangs nowhere",
                    "",
                    &[],
                    "python3 -c 'import ctypes, os; f = ctypes.CDLL(None).syscall(428, -100, b\"'$P'/sessions\", 1); os.mkdir(\"new\", dir_fd=f)'",
                )
            },
            Row {
                needs: &["python3", "root"],
                ..row(
                    "an overlay that hangs nowhere and works in the root",
                    "",
                    &[],
                    "mkdir -p $T/low $T/up && python3 -c 'import ctypes; s = ctypes.CDLL(None).syscall; f = s(430, b\"overlay\", 0); exit(any([s(431, f, 1, b\"lowerdir\", b\"'$T'/low\", 0), s(431, f, 1, b\"upperdir\", b\"'$T'/up\", 0), s(431, f, 1, b\"workdir\", b\"'$P'\", 0), s(431, f, 6, None, None, 0)]))'",
                )
            },
            Row { needs: &["root"], fails: true, ..row("a mount over the root, then its effects", "", &[], "mount --bind $T $P; mount -t tmpfs none $P; umount $P; umount $P; rm -rf $P; exit 1") },
            Row {
                needs: &["mounts", "root"],
                mounts: "mkdir -p $T/ro && mount --bind $P $T/ro && mount -o remount,bind,ro $T/ro",
                ..row("remount and write", "", &[], "mount -o remount,bind,rw $T/ro; echo x > $T/ro/auth.json")
            },
            Row {
                needs: &["unshare", "mounts"],
                ..row("a namespace of its own", "", &[], "unshare -Urm bash -c 'mount --bind $P $T && rm -rf $T/* || rm -rf $P'; exit 1")
            },
        ],
    );
}
