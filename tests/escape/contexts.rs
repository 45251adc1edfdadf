//! The same eight attacks, by `programs/context.c`, in every state that a process can bring itself into.

use super::row::*;
use super::support::{Home, Who, each, programs, tail};

/// What each attack damages, without guard.
const DAMAGE: [&str; 8] = [
    ".pi/agent/models-store.json is gone",
    ".local/share/opencode is gone",
    ".pi/agent/auth.json: content",
    ".pi/agent/settings.json: mode",
    ".pi/agent/sessions/--other--/x.jsonl: link count",
    ".pi/agent/sessions: xattrs",
    ".pi/agent/new is new",
    ".pi/agent/npm/package.json: inode",
];
/// Those that the wall alone lets happen.
const BLIND: [usize; 2] = [3, 5];
const OPERATIONS: &[&str] = &[
    "delete", "rename", "write", "metadata", "link", "create", "replace",
];
const BEFORE: &str =
    "mkdir -p ~/.local/share/opencode && echo 1 > ~/.local/share/opencode/auth.json";

/// One state; all of the attacks are recorded.
const fn state(name: &'static str, numbers: &'static [u8], attack: &'static str) -> Row {
    Row {
        needs: &["context"],
        ..row(name, numbers, Both, "", Seen::As(OPERATIONS), attack)
    }
}

/// One that the supervisor, or guard itself, cannot always follow.
const fn hidden(name: &'static str, numbers: &'static [u8], attack: &'static str) -> Row {
    Row {
        seen: Seen::Perhaps,
        ..state(name, numbers, attack)
    }
}

const LOOSE: &str = "printf 'version = 1\ndefault = \"writable\"\n' > $T/loose.toml";

#[rustfmt::skip] // one row a line
pub const ROWS: &[Row] = &[
    state("as usual", &[3, 9, 10, 13, 16, 20], "$B/context plain"),
    state("a thread", &[], "$B/context thread"),
    state("a vfork child", &[], "$B/context vfork"),
    state("a raw clone that shares memory, folder and descriptors", &[], "$B/context clone"),
    state("a signal handler", &[], "$B/context signal"),
    state("posix_spawn", &[], "$B/context spawn"),
    state("a program that is no file", &[], "$B/context memfd"),
    hidden("a program that nobody may look into", &[], "$B/context dumpable"),
    state("a daemon", &[], "$B/context session"),
    state("every descriptor closed", &[], "$B/context closed"),
    state("no descriptor to spare", &[], "ulimit -n 5; $B/context plain"),
    state("a umask that takes everything", &[], "umask 0777; $B/context plain"),
    state("a folder that is gone", &[], "mkdir $O/gone && cd $O/gone && rmdir $O/gone && $B/context plain"),
    state("a folder that is protected", &[], "cd $P/sessions && $B/context plain"),
    state("relative paths after chdir", &[], "$B/context chdir"),
    state("relative paths after fchdir", &[], "$B/context fchdir"),
    state("relative to a folder's descriptor", &[], "$B/context dirfd"),
    state("relative to an O_PATH descriptor", &[], "$B/context path"),
    state("a filter of its own that allows", &[], "$B/context filter-allow"),
    state("a filter of its own that refuses something", &[], "$B/context filter-errno"),
    Row { alone: Some("it needs seccomp(2) itself"), ..state("a listener of its own", &[], "$B/context filter-listener") },
    Row { alone: Some("it needs Landlock itself"), ..hidden("a wall of its own", &[], "$B/context landlock") },
    Row { alone: Some("the inner guard needs both itself"), before: LOOSE, ..state("a guard inside with a looser policy", &[], "$B/guard --policy $T/loose.toml -- $B/context plain") },
    state("a user namespace", &[43], "unshare -Ur $B/context plain"),
    state("a user namespace, not as root", &[43], "unshare -U $B/context plain"),
    hidden("user and mount namespaces", &[43], "unshare -Urm --propagation unchanged $B/context plain"),
    hidden("user and process namespaces", &[43], "unshare -Urpf $B/context plain"),
    hidden("chroot in a user namespace", &[41, 43], "unshare -Ur $B/context chroot ~"),
    Row { needs: &["context", "root"], ..state("chroot", &[41], "$B/context chroot ~") },
    Row { needs: &["context", "root"], ..state("chroot above home", &[41], "$B/context chroot $O/.. /home") },
    Row {
        before: "unshare -Urm --propagation unchanged sleep 60 >&- 2>&- & echo $! > $T/pid; while ! readlink /proc/$(cat $T/pid)/exe | grep -q sleep; do sleep 0.01; done",
        after: "kill $(cat $T/pid)",
        ..hidden("the namespaces of a process outside", &[42], "nsenter -t $(cat $T/pid) -U -m --preserve-credentials $B/context plain")
    },
    Row {
        needs: &["context", "root"],
        before: "unshare -m sleep 60 >&- 2>&- & echo $! > $T/pid; while ! readlink /proc/$(cat $T/pid)/exe | grep -q sleep; do sleep 0.01; done",
        after: "kill $(cat $T/pid)",
        ..hidden("the mount namespace of a process outside", &[42], "nsenter -t $(cat $T/pid) -m $B/context plain")
    },
    Row { needs: &["context", "root"], before: "chown -R 65534:65534 ~", ..state("root become an ordinary user", &[], "$B/context uid 65534") },
    Row { needs: &["context", "root", "setpriv"], ..state("root without its capabilities", &[], "setpriv --bounding-set -all --inh-caps -all $B/context plain") },
    Row { needs: &["context", "strace"], ..state("under strace", &[], "strace -f -o /dev/null $B/context plain") },
    Row { needs: &["hurt-go"], ..state("a static program in Go", &[], "$B/hurt-go attacks ~") },
    Row { needs: &["hurt-go-arm64", "qemu-aarch64"], ..state("a program for aarch64", &[], "qemu-aarch64 $B/hurt-go-arm64 attacks ~") },
    #[cfg(target_arch = "x86_64")]
    state("calls that a tracer puts in", &[], "$B/context ptrace"),
    #[cfg(target_arch = "x86_64")]
    state("calls that a tracer puts in by a filter", &[], "$B/context ptrace-trace"),
    #[cfg(target_arch = "x86_64")]
    state("int 0x80 of a 64-bit program", &[], "$B/context int80"),
    #[cfg(target_arch = "x86_64")]
    Row { needs: &["context32"], ..state("a 32-bit program", &[], "$B/context32 plain") },
    #[cfg(target_arch = "x86_64")]
    Row { needs: &["context32"], ..state("a 32-bit program, relative to a descriptor", &[], "$B/context32 dirfd") },
    #[cfg(target_arch = "x86_64")]
    Row { needs: &["context", "x32"], ..state("calls of x32", &[], "$B/context x32") },
];

#[test]
fn contexts() {
    each("contexts", ROWS, |r| r.name.to_owned(), case);
}

/// Which of the attacks did their damage.
fn done(damage: &[String]) -> Vec<usize> {
    (0..DAMAGE.len())
        .filter(|n| damage.iter().any(|line| line.starts_with(DAMAGE[*n])))
        .collect()
}

fn case(row: &Row, who: Who) -> Result<(), String> {
    if programs::not_for(who, row.needs) {
        return Ok(());
    }
    if let Some(need) = programs::missing(who, row.needs) {
        return super::support::skip(row.name, &need);
    }
    let home = Home::new(who);
    let attack = |layers| {
        home.reset();
        home.script(super::support::With::Nothing, BEFORE)?;
        attempt(&home, row, layers)
    };
    let (damage, run) = attack(Layers::None)?;
    if done(&damage).len() < DAMAGE.len() {
        return Err(format!(
            "CONTROL: only {:?} of the attacks work\n{}{}",
            done(&damage),
            run.stdout,
            tail(&run.stderr)
        ));
    }
    let (damage, run) = attack(Layers::All)?;
    if !damage.is_empty() || run.status == 0 {
        return Err(format!(
            "DAMAGE (exit {}): {damage:?}\n{}{}",
            run.status,
            run.stdout,
            tail(&run.stderr)
        ));
    }
    if let Seen::As(operations) = row.seen {
        let attempts = home.attempts();
        let lacks = operations
            .iter()
            .find(|wanted| !attempts.iter().any(|a| a["operation"] == **wanted));
        if let Some(operation) = lacks {
            return Err(format!(
                "the record has no {operation}\n{}{}",
                run.stdout,
                tail(&run.stderr)
            ));
        }
    }
    if row.alone.is_some() {
        return Ok(());
    }
    let (damage, run) = attack(Layers::WallAlone)?;
    if done(&damage).iter().any(|n| !BLIND.contains(n)) {
        return Err(format!(
            "the wall alone: {damage:?}\n{}{}",
            run.stdout,
            tail(&run.stderr)
        ));
    }
    let (damage, run) = attack(Layers::SupervisorAlone)?;
    if damage.is_empty() {
        return Ok(());
    }
    Err(format!(
        "the supervisor alone: {damage:?}\n{}{}",
        run.stdout,
        tail(&run.stderr)
    ))
}
