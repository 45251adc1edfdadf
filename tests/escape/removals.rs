//! Entries removed: by tools, by libraries, through every kind of path.

use super::row::*;

#[rustfmt::skip] // one row a line
pub const ROWS: &[Row] = &[
    row("rm -rf of the root", &[9], Both, "rm", DELETE, "rm -rf ~/.pi/agent"),
    row("rm -rf of its parent", &[9], Both, "rm", DELETE, "rm -rf ~/.pi"),
    row("rm -rf of all of home, dot files first", &[9], Both, "rm", DELETE, "rm -rf ~/.[!.]* ~/*"),
    row("rm of a file", &[9], Both, "rm", DELETE, "rm -f $P/auth.json"),
    row("rm of the link", &[9], Both, "rm", DELETE, "rm -f $P/latest"),
    row("rm from inside", &[9], Both, "rm", DELETE, "cd $P/sessions && rm -rf ./*"),
    row("rmdir", &[9], Both, "rmdir", DELETE, "rmdir $P/extensions"),
    row("find -delete", &[9], Both, "find", DELETE, "find $P -delete"),
    Row { needs: &["python3"], ..row("shutil.rmtree", &[9], Both, "python3", DELETE, "python3 -c 'import shutil,os; shutil.rmtree(os.environ[\"P\"])'") },
    Row { needs: &["python3"], fails: false, ..row("shutil.rmtree that swallows errors", &[9], Both, "python3", DELETE, "python3 -c 'import shutil,os; shutil.rmtree(os.environ[\"P\"], ignore_errors=True)'") },
    Row { needs: &["node"], ..row("fs.rmSync", &[9], Both, "node", DELETE, "node -e 'fs.rmSync(process.env.P,{recursive:true,force:true})'") },
    Row { needs: &["node"], ..row("fs.promises.rm", &[9], Both, "node", DELETE, "node -e 'fs.promises.rm(process.env.P,{recursive:true,force:true}).catch(e=>{console.error(e.code);process.exit(1)})'") },
    Row { needs: &["node"], ..row("fs.promises.rm with io_uring asked for", &[9, 31], Both, "node", DELETE, "UV_USE_IO_URING=1 node -e 'fs.promises.rm(process.env.P,{recursive:true,force:true}).catch(e=>{console.error(e.code);process.exit(1)})'") },
    Row { needs: &["node"], ..row("fs.promises.writeFile with io_uring asked for", &[3, 31], Both, "node", WRITE, "UV_USE_IO_URING=1 node -e 'fs.promises.writeFile(process.env.P+\"/auth.json\",\"gone\").catch(e=>process.exit(1))'") },
    Row { needs: &["rsync"], before: "mkdir $T/empty", ..row("rsync --delete", &[9], Both, "rsync", DELETE, "rsync -r --delete $T/empty/ $P/sessions/") },
    Row { needs: &["hurt-go"], ..row("Go's RemoveAll", &[9], Both, "hurt-go", DELETE, "$B/hurt-go removeall $P") },
    Row { needs: &["hurt-go"], ..row("Go's Truncate", &[7], Both, "hurt-go", WRITE, "$B/hurt-go truncate $P/auth.json") },
    Row { needs: &["cc32"], ..row("a 32-bit program", &[9], Both, "hurt32", DELETE, "$B/hurt32 unlink $P/auth.json") },
    Row { needs: &["cc32"], ..row("a 32-bit program renames", &[10], Both, "hurt32", RENAME, "$B/hurt32 rename $P $T/x") },
    Row { needs: &["cc32"], ..row("a 32-bit program opens", &[2], Both, "hurt32", WRITE, "$B/hurt32 creat $P/auth.json") },
    Row { needs: &["cc32"], ..row("a 32-bit program's fchmod", &[16], Supervisor, "hurt32", META, "$B/hurt32 fchmod $P/auth.json") },
    #[cfg(target_arch = "x86_64")]
    Row { needs: &["hurt"], ..row("int 0x80 from a 64-bit program", &[9], Both, "hurt", DELETE, "$B/hurt int80 $P/auth.json") },
    Row { needs: &["hurt"], ..row("a vfork child", &[9], Both, "hurt", DELETE, "$B/hurt vfork $P/auth.json") },
    Row { needs: &["hurt"], ..row("posix_spawn's file action", &[3], Both, "hurt", WRITE, "$B/hurt spawn $P/auth.json") },
    Row { needs: &["hurt"], ..row("a raw clone", &[9], Both, "hurt", DELETE, "$B/hurt clone $P/auth.json") },
    Row { needs: &["hurt"], ..row("a thread", &[9], Both, "hurt", DELETE, "$B/hurt thread $P/auth.json") },
    Row { needs: &["hurt"], ..row("a descriptor of the folder", &[9], Both, "hurt", DELETE, "$B/hurt dirfd $P auth.json") },
    Row { needs: &["hurt", "root"], ..row("after a chroot", &[9, 41], Both, "hurt", DELETE, "$B/hurt chroot-unlink ~ /.pi/agent/auth.json") },
    // Not to be looked into: whether the supervisor can follow depends on the user, that nothing is lost does not.
    Row { needs: &["hurt"], ..row("a program that nobody may look into", &[9], Both, "", Seen::Perhaps, "$B/hurt undumpable $P/auth.json") },
    Row { fails: false, lasts: true, ..row("a background process that outlives the command", &[9], Both, "rm", DELETE, "(sleep 0.4; rm -rf $P; touch $T/done) </dev/null >/dev/null 2>$T/err & disown; exit 0") },
    Row { fails: false, lasts: true, needs: &["setsid"], ..row("a daemon in a session of its own", &[9], Both, "rm", DELETE, "setsid -f bash -c 'sleep 0.4; rm -rf $P; touch $T/done' </dev/null >/dev/null 2>&1") },
    row("through /proc/self/cwd", &[9], Both, "rm", DELETE, "cd $P && rm -f /proc/self/cwd/auth.json"),
    row("through /proc/self/root", &[9], Both, "rm", DELETE, "rm -f /proc/self/root$P/auth.json"),
    row("through a path with dots", &[9], Both, "rm", DELETE, "rm -f $T/../.pi/./agent//sessions/../auth.json"),
    Row { before: "ln -s $P $T/l", ..row("through a symbolic link", &[9], Both, "rm", DELETE, "rm -rf $T/l/") },
    row("through a link made now", &[9], Both, "rm", DELETE, "ln -s ~/.pi $T/a && ln -s a/agent $T/b && rm -rf $T/b/sessions"),
    row("cd into a link, then delete", &[9], Both, "rm", DELETE, "ln -s $P $T/l && cd $T/l && rm -rf sessions"),
];
