//! Random sequences of calls: mostly on names that are there, sometimes on odd ones.

use proptest::prelude::*;
use proptest::strategy::Union;

use super::ops::{How, Sequence};

/// Calls: how often, the name, and what its arguments are (see [`argument`]).
const CALLS: &[(u32, &str, &str)] = &[
    (14, "openat", "D P O M >"),
    (4, "open", "P O M >"),
    (5, "openat2", "D P H i24 >"),
    (1, "openat2", "D P H Y"),
    (3, "truncate", "P Z"),
    (2, "ftruncate", "F Z"),
    (4, "unlink", "P"),
    (3, "unlinkat", "D P A"),
    (3, "rmdir", "P"),
    (6, "rename", "P P"),
    (2, "renameat", "D P D P"),
    (6, "renameat2", "D P D P R"),
    (3, "link", "P P"),
    (4, "linkat", "D P D P A"),
    (2, "linkat", "w Q D P A"),
    (4, "symlink", "L P"),
    (2, "symlinkat", "L D P"),
    (7, "mkdir", "P M"),
    (3, "mkdirat", "D P M"),
    (3, "mknod", "P K i0"),
    (2, "mknodat", "D P K i0"),
    (2, "bind", "@ B I"),
    (3, "chmod", "P M"),
    (2, "fchmod", "F M"),
    (2, "fchmodat", "D P M"),
    (2, "fchmodat2", "D P M A"),
    (2, "chown", "P U G"),
    (1, "lchown", "P U G"),
    (2, "fchown", "F U G"),
    (2, "fchownat", "D P U G A"),
    (4, "utimensat", "D P T A"),
    (2, "utimensat", "F n T A"),
    (1, "utimes", "P T"),
    (1, "utime", "P T"),
    (1, "futimesat", "D P T"),
    (3, "setxattr", "P X V"),
    (2, "lsetxattr", "P X V"),
    (2, "fsetxattr", "S X V"),
    (2, "removexattr", "P X"),
    (1, "lremovexattr", "P X"),
    (1, "fremovexattr", "S X"),
    (1, "removexattrat", "D P A X"),
    (1, "fallocate", "F E Z Z"),
    (3, "write", "F x78797a i3"),
    (1, "pwrite64", "F x505157 i3 i2"),
    (1, "lseek", "F i0 i1"),
    (1, "setflags", "F W"),
    (1, "flock", "F J"),
    (2, "dup", "F >"),
    (2, "close", "F"),
    (3, "chdir", "C"),
    (1, "fchdir", "F"),
    (2, "umask", "N"),
    (2, "access", "P i7"),
    (1, "faccessat2", "D P i2 A"),
    (3, "stat", "D P A"),
    (2, "readlink", "D P"),
    (2, "list", "D P"),
    (1, "attributes", "P"),
    (2, "getxattr", "P X i100"),
    (2, "read", "F"),
    (1, "about", "F"),
];

/// What paths lead to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Names {
    /// The furnished folder and what is made in it.
    Own,
    /// The same without `.` and `..`, for a folder that was there before and has to stay as it is.
    OwnBelow,
    /// What is protected, and what is on the way there.
    Protected,
}

/// Sequences of at most so many calls.
pub fn sequence(names: Names, length: usize) -> impl Strategy<Value = Sequence> {
    let calls = CALLS
        .iter()
        .map(|(weight, name, signature)| (*weight, call(name, signature, names)));
    let line = (0_u8..4, Union::new_weighted(calls.collect()))
        .prop_map(|(worker, call)| format!("{worker} {call}"));
    let how = prop_oneof![
        4 => Just(How::Processes),
        2 => Just(How::Threads),
        2 => Just(How::Parallel),
    ];
    (how, prop::collection::vec(line, 1..=length)).prop_map(|(how, lines)| Sequence { how, lines })
}

fn call(name: &'static str, signature: &'static str, names: Names) -> BoxedStrategy<String> {
    let parts: Vec<BoxedStrategy<String>> = signature
        .split(' ')
        .map(|letter| argument(letter, names))
        .collect();
    parts
        .prop_map(move |words| {
            let words = words.iter().filter(|word| !word.is_empty());
            words.fold(name.to_owned(), |line, word| format!("{line} {word}"))
        })
        .boxed()
}

/// Calls on protected places, by many processes at once.
pub fn attack(length: usize) -> impl Strategy<Value = Sequence> {
    let calls = CALLS
        .iter()
        .map(|(weight, name, signature)| (*weight, call(name, signature, Names::Protected)));
    let line = (0_u8..4, Union::new_weighted(calls.collect()))
        .prop_map(|(worker, call)| format!("{worker} {call}"));
    prop::collection::vec(line, length).prop_map(|lines| Sequence {
        how: How::Parallel,
        lines,
    })
}

/// A path to a protected place or to something on the way there, from the home directory or a folder in it.
fn protected() -> BoxedStrategy<String> {
    let top = prop::sample::select(
        &[
            ".pi/agent",
            ".pi/agent",
            ".pi",
            ".pi/agent/sessions",
            ".pi/agent/sessions/--work--",
            ".codex",
            ".claude.json",
            "a",
            "tmp/b",
        ][..],
    );
    let name = prop::sample::select(
        &[
            "",
            "/a",
            "/b",
            "/auth.json",
            "/settings.json",
            "/sessions",
            "/npm",
            "/2026-08-31_1.jsonl",
            "/latest",
            "/",
        ][..],
    );
    let start = prop::sample::select(&["~/", "~/", "../"][..]);
    (start, top, name.clone(), name)
        .prop_map(|(start, top, a, b)| format!("p{start}{top}{}{b}", a.trim_end_matches('/')))
        .boxed()
}

/// One of these, the first being the simplest.
fn one_of(words: &'static [&'static str]) -> BoxedStrategy<String> {
    prop::sample::select(words).prop_map(str::to_owned).boxed()
}

/// Integers, each an `i` argument.
fn number(values: &'static [&'static str]) -> BoxedStrategy<String> {
    prop::sample::select(values)
        .prop_map(|value| format!("i{value}"))
        .boxed()
}

const SLOTS: &[&str] = &["f0", "f1", "f2", "f3", "f7"];
const ABSENT: &[&str] = &["i99", "i-5", "i-1"];

#[rustfmt::skip] // one letter a line
fn argument(letter: &'static str, names: Names) -> BoxedStrategy<String> {
    match letter {
        "D" => prop_oneof![20 => Just("w".to_owned()), 8 => one_of(SLOTS), 1 => one_of(ABSENT)].boxed(),
        "F" => prop_oneof![20 => one_of(SLOTS), 1 => one_of(ABSENT), 1 => Just("w".to_owned())].boxed(),
        // AT_FDCWD would be the working directory to the attribute calls of some kernels (6.13), by mistake.
        "S" => prop_oneof![20 => one_of(SLOTS), 1 => one_of(ABSENT)].boxed(),
        "P" => path(names),
        // What the name of a socket shows is spelled anew where it leads through procfs.
        "@" => path(names).prop_filter("no procfs, and a string", |path| !path.contains("/proc/") && !matches!(&path[..1], "b" | "u" | "n" | "q")).boxed(),
        "C" => prop_oneof![one_of(&["p@", "pd", "pe", "pa", "pl", "pd/l"])].boxed(),
        "Q" => one_of(&["q0:", "q1:", "q2:", "q3:", "q0:/a", "q1:/a", "q7:"]),
        "L" => prop_oneof![6 => one_of(&["pa", "pb", "pd", "pc", "p../in/a", "p../in/d", "p@/a", "p@/d", "pl"]), 1 => path(match names { Names::Protected => names, _ => Names::OwnBelow })].boxed(),
        ">" => one_of(&["", "", ">0", ">1", ">2", ">3"]),
        "O" => open_flags(),
        "H" => (open_flags(), number(&["0644", "0600", "0777", "0", "0", "010644"]), resolve())
            .prop_map(|(flags, mode, resolve)| format!("h{},{},{resolve}", &flags[1..], &mode[1..])).boxed(),
        "Y" => number(&["24", "23", "0", "32", "40", "4096", "4097", "-1"]),
        "M" => number(&["0644", "0755", "0600", "0700", "0777", "0666", "0400", "0500", "0", "01777", "02755", "04755", "07777", "0100644", "0200644", "-1"]),
        "K" => number(&["0010644", "0100600", "0600", "0140644", "0020600", "0040755", "0120777", "0170600", "01000600", "0101640"]),
        "N" => number(&["022", "0", "02", "077", "0277", "0777"]),
        "R" => number(&["0", "0", "1", "1", "2", "2", "4", "3", "6", "5", "8", "-1"]),
        "A" => number(&["0", "0", "0", "0x100", "0x100", "0x200", "0x400", "0x400", "0x1000", "0x1000", "0x1100", "0x1400", "0x80000", "1"]),
        "T" => one_of(&["n", "t1000000000,7,1000000001,9", "t1100000000,0,1200000000,999999", "t1000000000,1073741823,1000000000,1073741822",
            "t0,1073741822,0,1073741822", "t5,2000000000,5,5", "t-5,5,-7,7", "b"]),
        "X" => one_of(&["puser.note", "puser.a", "puser.b", "puser.", "pnothing.x", "p", "psecurity.x", "ptrusted.x", "psystem.posix_acl_access", "r251:n:", "b"]),
        "V" => one_of(&["x6f6e65 i3 i0", "x i0 i0", "x61 i1 i1", "x62 i1 i2", "x62 i1 i4", "z3000 i3000 i0", "b i4 i0", "n i0 i0", "z100 i70000 i0"]),
        "U" | "G" => id(letter),
        "Z" => number(&["0", "1", "5", "4096", "100000", "-1"]),
        "E" => number(&["0", "1", "3", "0x10", "0x20", "0x1000"]),
        "W" => number(&["0x40", "0"]),
        "J" => number(&["6", "5", "8", "4", "64"]),
        "B" => number(&["1", "2", "5", "3"]),
        "I" => number(&["1", "0"]),
        fixed => Just(fixed.to_owned()).boxed(),
    }
}

/// A user or group: nobody's business mostly, one's own, and another.
fn id(letter: &str) -> BoxedStrategy<String> {
    let own = if letter == "U" {
        nix::unistd::geteuid().as_raw()
    } else {
        nix::unistd::getegid().as_raw()
    };
    prop_oneof![
        4 => Just("i-1".to_owned()),
        2 => Just("i65534".to_owned()),
        2 => Just(format!("i{own}")),
        1 => Just("i12345".to_owned()),
    ]
    .boxed()
}

/// Never waits, so that no sequence hangs at a FIFO.
fn open_flags() -> BoxedStrategy<String> {
    const WHOLE: &[i32] = &[
        libc::O_RDONLY,
        libc::O_WRONLY,
        libc::O_RDWR,
        libc::O_WRONLY | libc::O_CREAT,
        libc::O_RDWR | libc::O_CREAT,
        libc::O_RDONLY | libc::O_CREAT,
        libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL,
        libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC,
        libc::O_WRONLY | libc::O_TRUNC,
        libc::O_RDONLY | libc::O_TRUNC,
        libc::O_WRONLY | libc::O_APPEND,
        libc::O_RDONLY | libc::O_DIRECTORY,
        libc::O_PATH,
        libc::O_PATH | libc::O_NOFOLLOW,
        libc::O_PATH | libc::O_DIRECTORY,
        libc::O_TMPFILE | libc::O_RDWR,
        libc::O_TMPFILE | libc::O_WRONLY | libc::O_EXCL,
        libc::O_TMPFILE,
        libc::O_ACCMODE,
        libc::O_DIRECTORY | libc::O_CREAT,
        libc::O_DIRECTORY | libc::O_WRONLY,
    ];
    const MORE: &[i32] = &[
        0,
        0,
        0,
        libc::O_NOFOLLOW,
        libc::O_CLOEXEC,
        libc::O_NOATIME,
        libc::O_SYNC,
        libc::O_DIRECTORY,
        libc::O_TRUNC,
        libc::O_EXCL,
        libc::O_APPEND,
        1 << 28,
    ];
    (prop::sample::select(WHOLE), prop::sample::select(MORE))
        .prop_map(|(whole, more)| format!("i{:#x}", whole | more | libc::O_NONBLOCK))
        .boxed()
}

fn resolve() -> BoxedStrategy<String> {
    one_of(&[
        "0", "0", "0", "0x01", "0x02", "0x04", "0x08", "0x08", "0x10", "0x18", "0x0c", "0x40", "-1",
    ])
}

/// A path: a few names, so that most are there.
fn path(names: Names) -> BoxedStrategy<String> {
    let name = || {
        prop::sample::select(
            &[
                "a", "a", "b", "b", "c", "c", "d", "d", "d", "e", "e", "l", "s", "f",
            ][..],
        )
    };
    if names == Names::Protected {
        return protected();
    }
    let plain = prop_oneof![
        5 => name().prop_map(str::to_owned),
        4 => (name(), name()).prop_map(|(a, b)| format!("{a}/{b}")),
        2 => (name(), name(), name()).prop_map(|(a, b, c)| format!("{a}/{b}/{c}")),
    ]
    .boxed();
    let in_form = |form: &'static [&'static str]| {
        (prop::sample::select(form), plain.clone())
            .prop_map(|(form, path)| format!("p{}", form.replace('*', &path)))
            .boxed()
    };
    let odd = one_of(&[
        "p",
        "r255:n:",
        "r256:n:",
        "r2046:./:ccc",
        "r2046:./:cccc",
        "r2048:./:ccc",
        "n",
        "b",
        "uc",
        "pd/%ff%fe",
        "p%0a%01",
        "pd//a",
        "p%20",
        "p/proc/self/fd/99",
        "p/dev/null/x",
    ]);
    let slot = one_of(&["q0:", "q1:", "q2:", "q0:/a", "q1:/c", "q2:/../in/a", "q7:"]);
    let usual = in_form(&["*"]);
    let absolute = in_form(&["@/*", "/proc/self/cwd/*", "@/*"]);
    let marked = in_form(&["*/", "./*", "*//", "d/../*"]);
    if names == Names::OwnBelow {
        let odd = odd
            .prop_filter("no dots", |word| !word.contains(".."))
            .boxed();
        let slot = one_of(&["q0:", "q1:", "q0:/a", "q7:"]);
        return prop_oneof![30 => usual, 4 => absolute, 3 => marked, 2 => odd, 1 => slot].boxed();
    }
    let dotted = prop_oneof![
        in_form(&["*/.", "*/..", "../in/*", "*/./"]),
        one_of(&[
            "p.",
            "p..",
            "p./",
            "p../",
            "p@",
            "p@/",
            "p@/.",
            "p/proc/self/cwd"
        ]),
    ]
    .boxed();
    prop_oneof![30 => usual, 4 => absolute, 3 => marked, 3 => dotted, 2 => odd, 2 => slot].boxed()
}
