//! Damage by way of other processes, of the kernel itself, and of descriptors that were there before: by
//! `programs/reach.c`.

use super::row::*;

/// A process outside of guard that empties a file when it is told to; `$V` its pid, `$F` its descriptor.
const VICTIM: &str = "cd $P && $B/reach victim $P/auth.json $T/note >&- 2>&- && while [ ! -s $T/note ]; do sleep 0.01; done";
const OPEN_ALREADY: Stopper = Limit("Descriptors that were already open for writing");
const ASKED: Stopper = Limit("A daemon that is asked over a socket");
const PEERS: Stopper = Limit("Programs outside can be stopped, told and held up");

const fn reach(
    name: &'static str,
    numbers: &'static [u8],
    stopper: Stopper,
    by: &'static str,
    seen: Seen,
    attack: &'static str,
) -> Row {
    Row {
        needs: &["reach", "raw"],
        ..row(name, numbers, stopper, by, seen, attack)
    }
}

const fn victim(
    name: &'static str,
    numbers: &'static [u8],
    stopper: Stopper,
    by: &'static str,
    seen: Seen,
    attack: &'static str,
) -> Row {
    Row {
        before: VICTIM,
        ..reach(name, numbers, stopper, by, seen, attack)
    }
}

const fn inherited(name: &'static str, numbers: &'static [u8], attack: &'static str) -> Row {
    Row {
        around: "exec 9<>$P/auth.json",
        fails: false,
        ..reach(name, numbers, OPEN_ALREADY, "", Seen::Not, attack)
    }
}

#[rustfmt::skip] // one row a line
pub const ROWS: &[Row] = &[
    victim("ptrace of a process outside", &[45], Wall, "", Seen::Not, "$B/reach poke-ptrace $T/note"),
    victim("process_vm_writev into a process outside", &[45], Wall, "", Seen::Not, "$B/reach poke-vm $T/note"),
    victim("/proc/PID/mem of a process outside", &[45], Both, "", Seen::Not, "$B/reach poke-mem $T/note"),
    victim("pidfd_getfd of a process outside", &[30], Wall, "", Seen::Not, "$B/reach getfd $T/note"),
    victim("/proc/PID/root of a process outside", &[44], Both, "", Seen::Forbidden, "read V A F < $T/note; rm -rf /proc/$V/root$P"),
    victim("/proc/PID/cwd of a process outside", &[44], Both, "", Seen::Forbidden, "read V A F < $T/note; rm -rf /proc/$V/cwd/sessions"),
    victim("/proc/PID/fd of a process outside", &[44], Both, "", Seen::Forbidden, "read V A F < $T/note; echo x > /proc/$V/fd/$F"),
    Row { fails: false, ..victim("a signal to a process outside", &[46], PEERS, "", Seen::Not, "read V A F < $T/note; kill $V; for n in {1..200}; do [ -s $P/auth.json ] || break; sleep 0.02; done") },
    Row { fails: false, ..victim("a lock that a process outside waits for", &[50], PEERS, "", Seen::Not, "$B/reach lock $P/auth.json") },
    Row {
        before: "$B/reach serve $P/auth.json $T/socket >&- 2>&-",
        fails: false,
        ..reach("a descriptor from a process outside", &[30, 51, 53, 54, 56], ASKED, "", Seen::Not, "$B/reach take $T/socket")
    },
    Row {
        before: "mkfifo $P/fifo; (read x < $P/fifo; echo $x > $P/auth.json) >&- 2>&- & sleep 0.05",
        ..row("a FIFO that a process outside reads", &[51], Both, "bash", WRITE, "echo x > $P/fifo || exit 1; for n in {1..200}; do grep -q token $P/auth.json || break; sleep 0.02; done")
    },
    Row {
        needs: &["tmux"],
        before: "SHELL=/bin/sh tmux -f /dev/null -S $T/tmux new-session -d 'sleep 60'",
        after: "tmux -S $T/tmux kill-server",
        fails: false,
        ..row("a terminal's server outside", &[55], ASKED, "", Seen::Not, "tmux -S $T/tmux run-shell 'rm -rf $P/sessions'")
    },
    Row {
        needs: &["python3"],
        before: "python3 -c 'import os, socket; s = socket.create_server((\"127.0.0.1\", 0)); open(os.environ[\"T\"] + \"/port\", \"w\").write(str(s.getsockname()[1])); os.fork() and os._exit(0); s.settimeout(60); s.accept(); os.unlink(os.environ[\"P\"] + \"/auth.json\")' >&- 2>&-",
        fails: false,
        ..row("a server on a port", &[57], ASKED, "", Seen::Not, "exec 5<>/dev/tcp/127.0.0.1/$(cat $T/port); for n in {1..200}; do [ -e $P/auth.json ] || break; sleep 0.02; done")
    },
    Row {
        fails: false,
        after: ". ~/.profile",
        ..row("what is run later", &[61], Limit("What is run later"), "", Seen::Not, "echo 'rm -rf ~/.pi/agent/sessions' >> ~/.profile")
    },
    Row {
        needs: &["setsid"],
        before: "(for n in {1..400}; do [ -s $T/log ] && break; sleep 0.05; done; touch $T/done) >&- 2>&- &",
        ends: true,
        lasts: true,
        fails: false,
        ..row(
            "the supervisor is killed",
            &[46],
            Both,
            "",
            Seen::Not,
            "exec 7>$T/log; S=$PPID; setsid -f bash -c 'sleep 0.3; rm -rf $P; echo x > $P/auth.json; mv ~/.pi ~/x; ln $P/auth.json $T/l; echo end >&7' 2>/dev/null
            if [ $(cat /proc/$S/comm) = guard ]; then kill -9 $S; fi; sleep 0.1",
        )
    },
    Row { needs: &["core"], ..row("a core dump in the working directory", &[47], Wall, "", Seen::Not, "cd $P && ulimit -c 1000 && bash -c 'kill -SEGV $$'") },
    Row {
        needs: &["root", "losetup"],
        before: "head -c 1M /dev/zero > $P/disk && losetup -f --show $P/disk > $T/loop",
        after: "losetup -d $(cat $T/loop); [ $(stat -c %s $P/disk) = 1048576 ]",
        ..row("the block device below a file", &[36], Both, "", Seen::Forbidden, "dd if=/dev/urandom of=$(cat $T/loop) bs=4k count=1 conv=notrunc,fsync status=none")
    },
    Row {
        needs: &["hurt", "mounts"],
        mounts: "install -o 0 -m 4755 $B/hurt $O/setuid",
        alone: Some("an ordinary user's gains no rights under either of them"),
        ..row("a setuid program", &[58, 60], Supervisor, "setuid", META, "$O/setuid fchown $P/auth.json")
    },
    reach("io_uring removes", &[31], Both, "", Seen::Not, "$B/reach ring-unlink $P/auth.json"),
    reach("io_uring sets an attribute", &[32], Supervisor, "", Seen::Not, "$B/reach ring-xattr $P/auth.json"),
    inherited("write to what was open", &[27], "echo x >&9"),
    inherited("pwrite64 to what was open", &[27], "$B/raw pwrite64 9 s:ZZ 2 3"),
    inherited("sendfile to what was open", &[27], "$B/raw sendfile 9 r:$HOME/plain.txt 0 3"),
    inherited("copy_file_range to what was open", &[25, 27], "$B/raw copy_file_range r:$HOME/plain.txt 0 9 0 3 0"),
    inherited("ftruncate of what was open", &[8], "$B/raw ftruncate 9 0"),
    inherited("fallocate of what was open", &[26], "$B/raw fallocate 9 3 0 8"),
    inherited("a mapping of what was open", &[28], "$B/reach map 9"),
    inherited("AIO to what was open", &[29], "$B/reach aio 9"),
    Row { around: "exec 9<>$P/auth.json", ..row("what was open, opened again", &[3, 8], Both, "bash", WRITE, ": > /dev/fd/9") },
    Row { around: "exec 9<$P", ..reach("a folder that was open", &[9], Both, "raw", DELETE, "$B/raw unlinkat 9 s:auth.json 0") },
];
