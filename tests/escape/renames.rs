//! Entries moved, replaced and exchanged.

use super::row::*;

#[rustfmt::skip] // one row a line
pub const ROWS: &[Row] = &[
    row("mv of the root", &[10, 11], Both, "mv", RENAME, "mv ~/.pi/agent ~/x"),
    row("mv of the root within its parent", &[10, 11], Both, "mv", RENAME, "mv ~/.pi/agent ~/.pi/x"),
    row("mv of its parent", &[11], Both, "mv", RENAME, "mv ~/.pi ~/x"),
    row("mv of home itself", &[11], Both, "mv", RENAME, "mv ~ $O/x"),
    row("mv of home to a name beside it", &[11], Both, "mv", RENAME, "cd / && mv $HOME $HOME.old"),
    row("mv of a file out", &[10], Both, "mv", RENAME, "mv $P/auth.json $T/"),
    row("mv of a file out of home", &[10], Both, "mv", RENAME, "mv $P/auth.json $O/"),
    row("mv inside", &[10], Both, "mv", RENAME, "mv $P/auth.json $P/auth.json.bak"),
    row("mv of a file in", &[10], Both, "mv", CREATE, "mv ~/plain.txt $P/"),
    row("an atomic save over a file", &[10], Both, "mv", RENAME, "echo new > $T/n && mv -T $T/n $P/auth.json"),
    row("an atomic save over the root's link", &[10], Both, "mv", RENAME, "ln -s /nowhere $T/n && mv -T $T/n $P/latest"),
    Row { needs: &["hurt"], ..row("rename over", &[10], Both, "hurt", RENAME, "$B/hurt rename ~/plain.txt $P/auth.json") },
    Row { needs: &["hurt"], ..row("exchange with the root", &[11], Both, "hurt", RENAME, "mkdir ~/x && $B/hurt exchange ~/x $P") },
    Row { needs: &["hurt"], ..row("exchange with its parent", &[11], Both, "hurt", RENAME, "mkdir ~/x && $B/hurt exchange ~/.pi ~/x") },
    Row { needs: &["hurt"], ..row("exchange of a file", &[10], Both, "hurt", RENAME, "$B/hurt exchange ~/plain.txt $P/auth.json") },
    Row { needs: &["hurt", "root"], ..row("a whiteout left behind", &[12], Both, "hurt", RENAME, "$B/hurt whiteout $P/auth.json $T/x") },
    Row { needs: &["node"], ..row("fs.renameSync", &[10, 11], Both, "node", RENAME, "node -e 'fs.renameSync(process.env.P, process.env.T+\"/x\")'") },
    row("the parent made unreadable and moved", &[11, 16], Supervisor, "", META, "chmod 000 ~/.pi; mv ~/.pi ~/x"),
];
