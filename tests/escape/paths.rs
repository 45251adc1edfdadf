//! Other ways to spell a path.

use super::row::*;

#[rustfmt::skip] // one row a line
pub const ROWS: &[Row] = &[
    row("/proc/thread-self/cwd", &[9], Both, "rm", DELETE, "cd $P && rm -f /proc/thread-self/cwd/auth.json"),
    row("/proc/self/task/ID/cwd", &[9], Both, "bash", WRITE, "cd $P && : > /proc/self/task/$BASHPID/cwd/auth.json"),
    row("the folder of another process inside", &[9], Both, "rm", DELETE, "cd $P && rm -f /proc/$$/cwd/auth.json; exit 1"),
    row("the root of another process inside", &[9], Both, "rm", DELETE, "rm -f /proc/$$/root$P/auth.json; exit 1"),
    row("a descriptor of another process inside", &[9], Both, "rm", DELETE, "exec 5<$P && rm -f /proc/$$/fd/5/auth.json; exit 1"),
    row("a file that another process inside has open", &[3], Both, "tee", WRITE, "exec 5<$P/auth.json && echo x | tee /proc/$$/fd/5; exit ${PIPESTATUS[1]}"),
    row("/dev/fd of a folder", &[9], Both, "rm", DELETE, "exec 8<$P && rm -f /dev/fd/8/auth.json"),
    row("upwards from /proc/self/fd", &[9], Both, "rm", DELETE, "exec 8<$P/sessions && rm -f /proc/self/fd/8/../auth.json"),
    row("a link to /proc/self/cwd", &[9], Both, "rm", DELETE, "ln -s /proc/self/cwd $T/c && cd $P && rm -f $T/c/auth.json"),
    row("upwards from a link", &[9], Both, "rm", DELETE, "ln -s $P/sessions $T/l && rm -f $T/l/../auth.json"),
    row("as many links as the kernel follows", &[3], Both, "bash", WRITE, "ln -s $P/auth.json $T/l1 && for n in {1..38}; do ln -s l$n $T/l$((n + 1)); done && echo x > $T/l39"),
    Row { needs: &["raw"], ..row("the longest path", &[9], Both, "raw", DELETE, "cd $P && $B/raw unlink s:$(printf './%.0s' {1..2042})auth.json") },
    Row { needs: &["raw"], ..row("a link with a long content", &[3], Both, "bash", WRITE, "ln -s $P/$(printf './%.0s' {1..1900})auth.json $T/l && echo x > $T/l") },
    Row { needs: &["raw"], ..row("a slash at the end", &[9], Both, "raw", DELETE, "$B/raw rmdir s:$P/extensions///") },
    Row { needs: &["raw"], ..row("a slash at both ends of a rename", &[10], Both, "raw", RENAME, "$B/raw rename s:$P/sessions/ s:$T/x/") },
    Row { needs: &["raw"], ..row("a slash at the end of a new folder", &[14], Both, "raw", CREATE, "$B/raw mkdir s:$P/new/ 0700") },
    Row { needs: &["raw"], ..row("an address that ends by its length", &[15], Both, "raw", CREATE, "$B/raw bind sock un:$P/socket $((2 + ${#P} + 4))") },
    Row { before: "touch $P/$'\\xff\\xfe'", ..row("a name that is no text", &[9], Both, "rm", DELETE, "rm -f $P/$'\\xff\\xfe'") },
    Row { before: "touch $P/$'a\\nb\\033[2J'", ..row("a name with a line's end and a terminal's code", &[9], Both, "rm", DELETE, "rm -f $P/$'a\\nb\\033[2J'") },
    Row { needs: &["reach"], ..row("a path at the end of memory", &[9], Both, "reach", DELETE, "$B/reach edge $P/auth.json") },
    Row { needs: &["reach", "root"], ..row("/proc/self/map_files", &[3], Both, "reach", WRITE, "$B/reach mapped $P/auth.json") },
    Row { needs: &["root"], before: "mkdir $T/d $T/d/e && cp $P/auth.json $T/d/e", ..row("a root that is a link inside", &[9, 41], Both, "rm", DELETE, "ln -s / $T/root && rm -f $T/root/$P/auth.json") },
];
