//! Attacks on guard itself: that it ends, stalls, starves or chokes, and what it keeps is lost meanwhile.

use super::row::*;

/// `on PID COMMAND...` does it where PID is a guard: without guard nothing is done to whoever runs the test.
macro_rules! on_guard {
    ($how:literal) => {
        concat!(
            "S=$PPID G=$(cut -d ' ' -f 4 /proc/$PPID/stat); on() { if [ \"$(cat /proc/$1/comm)\" = guard ]; then \"${@:2}\"; fi; }\n",
            $how,
            "\nchmod 0 $P/settings.json; echo x > $P/auth.json; mv ~/.pi/agent ~/x; rm -rf $P; ln $P/latest $T/l"
        )
    };
}

/// Whether guard goes on or ends the command, nothing is lost. The record may be what suffers.
const fn itself(name: &'static str, attack: &'static str) -> Row {
    Row {
        fails: false,
        ends: true,
        ..row(name, &[46], Supervisor, "", Seen::Perhaps, attack)
    }
}

/// One that guard goes on after, with its record.
const fn unmoved(name: &'static str, attack: &'static str) -> Row {
    Row {
        ends: false,
        by: "rm",
        seen: DELETE,
        ..itself(name, attack)
    }
}

#[rustfmt::skip] // one row a line
pub const ROWS: &[Row] = &[
    unmoved("signals that end programs, to the supervisor", on_guard!("for s in HUP INT TERM USR1 USR2 ALRM PIPE; do on $S kill -$s $S; done")),
    unmoved("the supervisor is stopped for a while", on_guard!("(sleep 0.3; kill -CONT $S) & sleep 0.1; on $S kill -STOP $S")),
    Row { needs: &["prlimit"], ..itself("the supervisor gets no descriptors", on_guard!("on $S prlimit --pid $S --nofile=0:0")) },
    Row { needs: &["prlimit"], ..itself("guard may not write files", on_guard!("on $S prlimit --pid $S --fsize=0:0; on $G prlimit --pid $G --fsize=0:0")) },
    Row { needs: &["prlimit"], ..itself("the supervisor gets no memory", on_guard!("on $S prlimit --pid $S --as=0:0 --data=0:0")) },
    Row { needs: &["prlimit"], ..itself("the supervisor gets no threads", on_guard!("on $S prlimit --pid $S --nproc=0:0 --stack=0:0")) },
    Row { needs: &["prlimit"], ..itself("the supervisor gets no time", on_guard!("on $S prlimit --pid $S --cpu=0:1")) },
    Row {
        needs: &["python3"],
        ..unmoved(
            "junk for the supervisor where inner guards ask",
            on_guard!(
                "python3 -c '
import os, socket
name = \"\\0\" + os.environ.get(\"GUARD_ACTIVE\", \"\")
for junk in [b\"\", b\"\\xff\" * 64, b\"\\0\" * 64, (8 << 20).to_bytes(8, \"little\"), (2).to_bytes(8, \"little\") + b\"{}\", (4).to_bytes(8, \"little\") + b\"null\" + bytes(8)] * 8:
    s = socket.socket(socket.AF_UNIX)
    try:
        s.connect(name)
        s.send(junk)
    except OSError:
        break
'"
            ),
        )
    },
    unmoved("a hundred at once", "for n in {1..100}; do rm -rf $P & done; wait; chmod 0 $P/settings.json; exit 1"),
    unmoved(
        "everybody waits for a FIFO",
        "mkfifo ~/fifo $T/fifo; for n in {1..70}; do (: > ~/fifo) & (: > $T/fifo) & done; sleep 0.3; rm -rf $P; chmod 0 $P/settings.json; kill $(jobs -p); exit 1",
    ),
    unmoved("an argument as long as it may be", "rm -rf $P $(printf '%0120000d ' 1 2 3 4 5); chmod 0 $P/settings.json; exit 1"),
];
