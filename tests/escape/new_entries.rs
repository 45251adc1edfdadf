//! New entries in closed places, and where a closed place is not there yet.

use super::row::*;

#[rustfmt::skip] // one row a line
pub const ROWS: &[Row] = &[
    row("a file", &[3, 14], Both, "bash", CREATE, "echo x > $P/new"),
    row("touch of a new file", &[3, 14], Both, "touch", CREATE, "touch $P/sessions/new"),
    row("mkdir", &[14], Both, "mkdir", CREATE, "mkdir $P/new"),
    row("mkdir -p", &[14], Both, "mkdir", CREATE, "mkdir -p $P/sessions/a/b"),
    row("mkfifo", &[14], Both, "mkfifo", CREATE, "mkfifo $P/fifo"),
    Row { needs: &["hurt"], ..row("mknod of a file", &[14], Both, "hurt", CREATE, "$B/hurt mknod $P/new") },
    Row { needs: &["root"], ..row("mknod of a device", &[14], Both, "mknod", Seen::As(&["create", "forbidden"]), "mknod $P/null c 1 3") },
    Row { needs: &["hurt"], ..row("a socket", &[15], Both, "hurt", CREATE, "$B/hurt bind $P/s") },
    Row { needs: &["hurt"], ..row("a socket, relative", &[15], Both, "hurt", CREATE, "cd $P && $B/hurt bind s") },
    // A root that is not there yet.
    row("mkdir of a missing root", &[14], Both, "mkdir", CREATE, "mkdir ~/.codex"),
    row("mkdir -p below a missing root", &[14], Both, "mkdir", CREATE, "mkdir -p ~/.codex/sessions"),
    row("mkdir -p on the way to a missing root", &[14], Both, "", Seen::As(&["create", "write"]), "mkdir -p ~/.local/share/opencode && echo x > ~/.local/share/opencode/auth.json"),
    row("a file as a missing root", &[14], Both, "bash", Seen::As(&["create", "write"]), "echo x > ~/.claude.json"),
    row("mv onto a missing root", &[10], Both, "mv", Seen::As(&["rename", "create", "replace"]), "mkdir ~/x && mv ~/x ~/.codex"),
    row("ln -s as a missing root", &[14], Both, "ln", CREATE, "ln -s tmp ~/.claude"),
    row("ln as a missing root", &[14], Both, "ln", Seen::As(&["link", "create"]), "ln ~/plain.txt ~/.claude.json"),
    row("cp -r as a missing root", &[14], Both, "cp", CREATE, "mkdir $T/d && cp -r $T/d ~/.codex"),
    row("mv of a folder on the way with the root in it", &[10], Both, "mv", Seen::As(&["rename", "create", "replace"]), "mkdir -p ~/x/opencode && echo x > ~/x/opencode/a && mv -T ~/x ~/.config"),
    row("a link of a link on the way to a missing root", &[14], Both, "ln", Seen::As(&["link", "create"]), "mkdir -p $T/q/opencode && echo x > $T/q/opencode/a && ln -s $T/q ~/s && ln -P ~/s ~/.config"),
    row("mv of a folder with a link to nothing yet on the way", &[10], Both, "mv", Seen::As(&["rename", "create", "replace"]), "mkdir ~/x && ln -s $T/q ~/x/share && mv -T ~/x ~/.local && mkdir -p $T/q/opencode && echo x > $T/q/opencode/a"),
    Row { needs: &["python3"], ..row("a link exchanged onto the way to a missing root", &[10], Both, "", Seen::Perhaps, "mkdir -p ~/.config $T/q/opencode && echo x > $T/q/opencode/a && ln -s $T/q ~/s && python3 -c 'import ctypes; exit(ctypes.CDLL(None).renameat2(-100, b\"'$HOME'/.config\", -100, b\"'$HOME'/s\", 2) != 0)'") },
    row("guard's own configuration", &[62], Both, "", Seen::As(&["create", "write"]), "mkdir -p ~/.config/guard && echo 'version = 1' > ~/.config/guard/policy.toml"),
];
