//! The level append-only: what exists may grow at its end, and nothing else can be done through a descriptor that was opened
//! for that.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use std::fs;

use support::home::{Home, With, check};
use support::{Run, Who, both, each, programs, skip};

const POLICY: &str = "version = 1\ndefault = \"writable\"\n[paths]\n\"~/log\" = \"append-only\"\n";
const BEFORE: &str = "first\nsecond\nthird\n";

/// A statement in Python, with `old` a file that was there before in a folder at append-only. `fd()` opens it to append.
struct Row {
    name: &'static str,
    script: &'static str,
    /// What becomes of what was there.
    fate: Fate,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    /// It grows, with guard as without.
    Grows,
    /// Without guard it is damaged, with guard it is not, and the program hears of it.
    Kept,
    /// Nothing happens to it, with guard as without.
    Same,
}

const HEAD: &str = r#"
import ctypes, errno, fcntl, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
home = os.environ["HOME"]
old, new, other = home + "/log/old", home + "/log/new", home + "/plain.txt"
def fd(path=old, flags=os.O_WRONLY | os.O_APPEND): return os.open(path, flags | os.O_CREAT, 0o644)
def call(number, *arguments):
    result = libc.syscall(number, *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])
    if result < 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
def ioctl(fd, number, bytes): call(16, fd, number, ctypes.create_string_buffer(bytes))
"#;

const fn row(name: &'static str, script: &'static str, fate: Fate) -> Row {
    Row { name, script, fate }
}

use Fate::{Grows, Kept, Same};

#[rustfmt::skip] // one row a line
const ROWS: &[Row] = &[
    row("append", "os.write(fd(), b'more\\n')", Grows),
    row("append by a shell", "os.system('echo more >> ~/log/old')", Grows),
    row("append by open(2) of mode a", "open(old, 'a').write('more\\n')", Grows),
    row("pwrite to a descriptor for appending goes to the end", "os.pwrite(fd(), b'more\\n', 0)", Grows),
    row("set O_NONBLOCK and go on appending", "f = fd(); fcntl.fcntl(f, fcntl.F_SETFL, os.O_APPEND | os.O_NONBLOCK); os.write(f, b'more\\n')", Grows),
    row("lock it", "f = fd(); fcntl.flock(f, fcntl.LOCK_EX); fcntl.lockf(f, fcntl.LOCK_EX); os.fsync(f)", Same),
    row("read it", "assert open(old).read().startswith('first')", Same),
    row("map it to read", "import mmap; assert mmap.mmap(os.open(old, os.O_RDONLY), 0, prot=mmap.PROT_READ)[:5] == b'first'", Same),
    row("empty it", "os.open(old, os.O_WRONLY | os.O_TRUNC)", Kept),
    row("empty it while appending", "os.open(old, os.O_WRONLY | os.O_APPEND | os.O_TRUNC)", Kept),
    row("empty it while reading", "os.open(old, os.O_RDONLY | os.O_TRUNC)", Kept),
    row("write over it", "os.write(os.open(old, os.O_WRONLY), b'over')", Kept),
    row("map it to write", "import mmap; mmap.mmap(os.open(old, os.O_RDWR | os.O_APPEND), 0)[:4] = b'over'", Kept),
    row("truncate", "os.truncate(old, 3)", Kept),
    row("ftruncate", "os.ftruncate(fd(), 3)", Kept),
    row("ftruncate of a duplicate", "os.ftruncate(os.dup(fd()), 3)", Kept),
    row("stop appending", "f = fd(); fcntl.fcntl(f, fcntl.F_SETFL, 0); os.pwrite(f, b'over', 0)", Kept),
    row("stop appending on a duplicate", "f = fd(); fcntl.fcntl(os.dup(f), fcntl.F_SETFL, os.O_NONBLOCK); os.pwrite(f, b'over', 0)", Kept),
    row("reopen through procfs", "f = fd(); os.write(os.open(f'/proc/self/fd/{f}', os.O_WRONLY), b'over')", Kept),
    row("punch a hole", "call(285, fd(), 3, 0, 4)", Kept),
    row("write zeroes", "call(285, fd(), 0x10, 0, 4)", Kept),
    row("write where it was", "b = ctypes.create_string_buffer(b'over', 4); v = struct.pack('QQ', ctypes.addressof(b), 4); call(328, fd(), ctypes.create_string_buffer(v), 1, 0, 0, 0x20)", Kept),
    row("remove it", "os.unlink(old)", Kept),
    row("move it away", "os.rename(old, home + '/away')", Kept),
    row("replace it", "open(new, 'w').write('x'); os.rename(new, old)", Kept),
    row("change its mode", "os.chmod(old, 0)", Kept),
    row("what the run made is its own", "f = fd(new); os.write(f, b'long text'); os.ftruncate(f, 2); fcntl.fcntl(f, fcntl.F_SETFL, 0); os.pwrite(f, b'X', 0); assert open(new).read() == 'Xo'; os.unlink(new)", Same),
    row("elsewhere all of it works", "f = fd(other); os.ftruncate(f, 4); fcntl.fcntl(f, fcntl.F_SETFL, 0); os.pwrite(f, b'X', 1); assert open(other).read() == 'pXai'; call(285, f, 0, 0, 100); assert os.stat(other).st_size == 100", Same),
    row("sockets and pipes too", "import socket; s = socket.socket(); s.setblocking(False); fcntl.fcntl(s, fcntl.F_SETFL, os.O_NONBLOCK); assert fcntl.fcntl(s, fcntl.F_GETFL) & os.O_NONBLOCK; r, w = os.pipe(); fcntl.fcntl(w, fcntl.F_SETFL, os.O_NONBLOCK); assert not os.get_blocking(w)", Same),
    row("errors are the kernel's", "
for job, number in [(lambda: os.ftruncate(fd(other), -1), errno.EINVAL), (lambda: os.ftruncate(99, 1), errno.EBADF), (lambda: os.ftruncate(os.open(other, os.O_RDONLY), 1), errno.EINVAL),
        (lambda: call(285, fd(other), 0, 0, 0), errno.EINVAL), (lambda: call(285, os.pipe()[1], 0, 0, 1), errno.ESPIPE), (lambda: call(72, 99, 4, 0), errno.EBADF),
        (lambda: call(72, os.open(other, os.O_PATH), 4, 0), errno.EBADF)]:
    try: job()
    except OSError as error: assert error.errno == number, (error, number)
    else: raise AssertionError(number)", Same),
];

fn run(home: &Home, row: &Row, options: Option<&[&str]>) -> Result<Run, String> {
    let script = format!("{HEAD}\n{}", row.script);
    let with = options.map_or(With::Nothing, With::Guard);
    home.finish(home.command(with, &["python3", "-c", &script]))
}

/// A fresh home with the policy; its path.
fn furnish(home: &Home) -> String {
    fs::create_dir(home.path.join("log")).unwrap();
    fs::write(home.path.join("log/old"), BEFORE).unwrap();
    for path in ["log", "log/old"] {
        std::os::unix::fs::chown(
            home.path.join(path),
            Some(home.who.uid()),
            Some(home.who.gid()),
        )
        .unwrap();
    }
    let policy = home.outside().join("policy.toml");
    fs::write(&policy, POLICY).unwrap();
    policy.to_str().unwrap().to_owned()
}

fn is_whole(home: &Home) -> bool {
    let old = home.path.join("log/old");
    let readable = old
        .metadata()
        .is_ok_and(|it| std::os::unix::fs::PermissionsExt::mode(&it.permissions()) & 0o400 != 0);
    readable && fs::read_to_string(old).is_ok_and(|text| text == BEFORE)
}

#[test]
fn what_exists_grows_and_does_nothing_else() {
    if let Some(needs) = programs::missing(Who::Me, &["python3"]) {
        skip("append", &needs).unwrap();
        return;
    }
    each(
        "append",
        ROWS,
        |row| row.name.into(),
        |row, who| {
            let home = Home::new(who);
            furnish(&home);
            let plain = run(&home, row, None)?;
            let text = fs::read_to_string(home.path.join("log/old")).unwrap_or_default();
            let good = plain.status == 0
                && match row.fate {
                    Grows => text == format!("{BEFORE}more\n"),
                    Kept => !is_whole(&home),
                    Same => is_whole(&home),
                };
            check("control", good, &plain)?;
            home.reset();
            let policy = furnish(&home);
            let guarded = run(&home, row, Some(&["--policy", &policy]))?;
            let text = fs::read_to_string(home.path.join("log/old")).unwrap_or_default();
            let good = match row.fate {
                Grows => guarded.status == 0 && text == format!("{BEFORE}more\n"),
                Kept => guarded.status != 0 && is_whole(&home),
                Same => guarded.status == 0 && is_whole(&home),
            };
            check("guarded", good, &guarded)
        },
    );
}

/// A guard inside answers through the one around it, whose filter has to ask about such places.
#[test]
fn a_guard_inside_has_such_places_only_where_the_one_around_has_some() {
    both("append", "nested", |who| {
        let home = Home::new(who);
        let policy = furnish(&home);
        let guard = programs::guard().to_str().unwrap();
        let inner = format!("{guard} --policy {policy} -- truncate -s 3 ~/log/old");
        let without = home.script(With::Guard(&[]), &inner)?;
        let told = without.stderr.contains("append-only");
        check(
            "no such place around",
            without.status == 125 && told && is_whole(&home),
            &without,
        )?;
        let with = home.script(With::Guard(&["--policy", &policy]), &inner)?;
        check(
            "such a place around",
            with.status == 1 && is_whole(&home),
            &with,
        )
    });
}
