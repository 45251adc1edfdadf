//! Every errno that a call can give, by that call, in each place: the same with guard as without. That the call really gives
//! it without guard is checked for each row.

use super::ops::{How, Sequence, Stage, compared, control};
use super::places::{PLACES, Place};
use super::support::{Home, Who, each};

/// Calls on a path, which is `*`: that the way to it is not there, no directory, a loop, too long or no string at all is
/// said by each.
#[rustfmt::skip] // a few a line
const PATHS: &[&str] = &[
    "open * i0101 i0644", "open * i01 i0", "creat * i0644", "openat w * i0101 i0644", "openat w * i01001 i0", "openat w * i0 i0",
    "openat w * i0301 i0644", "openat w * i020200002 i0600", "openat2 w * h0101,0644,0 i24", "openat2 w * h1,0,0 i24",
    "truncate * i0", "unlink *", "unlinkat w * i0", "unlinkat w * i0x200", "rmdir *", "mkdir * i0755", "mkdirat w * i0755",
    "mknod * i0100644 i0", "mknodat w * i0010644 i0", "symlink pa *", "symlinkat pa w *", "link pa *", "linkat w pa w * i0",
    "link * pnew", "linkat w * w pnew i0x400", "rename * pnew", "rename pa *", "renameat w pa w *", "renameat2 w * w pnew i1",
    "renameat2 w pa w * i2", "chmod * i0644", "fchmodat w * i0644", "fchmodat2 w * i0644 i0x100", "chown * i-1 i-1",
    "lchown * i-1 i-1", "fchownat w * i-1 i-1 i0", "utimensat w * t1,1,1,1 i0x100", "utime * t1,1,1,1", "utimes * t1,1,1,1",
    "futimesat w * t1,1,1,1", "setxattr * puser.a x61 i1 i0", "lsetxattr * puser.a x61 i1 i0", "removexattr * puser.note",
    "lremovexattr * puser.note", "removexattrat w * i0 puser.note", "chdir *", "access * i0", "faccessat2 w * i0 i0x100",
    "stat w * i0", "readlink w *", "list w *", "getxattr * puser.note i9",
];

/// Paths that lead nowhere, and what is said of them.
const NOWHERE: &[(&str, &str)] = &[
    ("ENOENT", "pnone/x"),
    ("ENOENT", "p"),
    ("ENOENT", "ps/x"),
    ("ENOTDIR", "pa/x"),
    ("ENOTDIR", "pl/../x"),
    ("ELOOP", "plo/x"),
    ("ELOOP", "pg0/x"),
    ("ENAMETOOLONG", "r256:n:"),
    ("ENAMETOOLONG", "r2048:./:c"),
    ("ENAMETOOLONG", "r256:n:/x"),
    ("EFAULT", "b"),
    ("EFAULT", "uc"),
];

/// The same for a directory's descriptor, which is `*`: one that is not open, one of a file.
#[rustfmt::skip] // a few a line
const BASES: &[&str] = &[
    "openat * px i0101 i0644", "openat * pa i0 i0", "openat2 * px h0101,0644,0 i24", "unlinkat * pa i0", "mkdirat * px i0755",
    "mknodat * px i0100644 i0", "symlinkat pa * px", "linkat * pa w px i0", "linkat w pa * px i0", "renameat * pa w px",
    "renameat2 w pa * px i0", "fchmodat * pa i0644", "fchmodat2 * pa i0644 i0", "fchownat * pa i-1 i-1 i0",
    "utimensat * pa t1,1,1,1 i0", "futimesat * pa t1,1,1,1", "removexattrat * pa i0 puser.note", "faccessat2 * pa i0 i0",
    "stat * pa i0", "readlink * pl", "list * pd",
];

/// Calls on a descriptor, which is `*`, that do not work on one that only names a place.
#[rustfmt::skip] // a few a line
const DESCRIPTORS: &[&str] = &[
    "fchmod * i0644", "fchown * i-1 i-1", "utimensat * n t1,1,1,1 i0", "fsetxattr * puser.a x61 i1 i0",
    "fremovexattr * puser.note", "ftruncate * i0", "write * x61 i1", "pwrite64 * x61 i1 i0", "fallocate * i0 i0 i9", "flock * i5",
    "lseek * i0 i0", "read *", "setflags * i64", "fsync *",
];

/// What else there is, one errno after the other. Slot 0: a file to read; 1: one that is named only; 2: one to write.
#[rustfmt::skip] // a few a line
const OTHERS: &[(&str, &[&str])] = &[
    ("ENOENT", &["open pnew i1 i0", "openat2 w ps h2,0,0 i24", "truncate pnew i0", "unlink pnew", "rmdir pnew", "rename pnew pa",
        "renameat2 w pa w pnew i2", "link pnew pz", "chmod ps i0644", "lchown pnew i-1 i-1", "utimensat w pnew n i0",
        "lsetxattr pnew puser.a x61 i1 i0", "mkdir pnew/x i0755", "openat f3 px i0101 i0644", "mkdirat f3 px i0755",
        "symlinkat pa f3 px", "mknodat f3 px i0100644 i0", "renameat w pa f3 px", "bind pnone/x i1 i0", "open pnew/ i0 i0"]),
    ("EEXIST", &["open pa i0301 i0644", "open pd i0301 i0644", "open ps i0301 i0644", "openat2 w pa h0301,0644,0 i24", "mkdir pa i0755",
        "mkdir pd/ i0755", "mkdir p. i0755", "mkdir p.. i0755", "mkdir p/ i0755", "mkdir pl i0755", "mkdirat w ps i0755",
        "mknod pf i0010644 i0", "mknodat w pd i0100644 i0", "symlink pa pl", "symlink pa pd/", "symlinkat pa w p.", "link pa pb",
        "link pb pl", "linkat w pa w pd i0", "renameat2 w pa w pb i1", "renameat2 w pd w pa i1", "setxattr pa puser.note x61 i1 i1",
        "fsetxattr f0 puser.note x61 i1 i1"]),
    ("EADDRINUSE", &["bind pa i1 i0", "bind pd i2 i0", "bind pl i1 i0", "bind ps i1 i0", "bind pk i1 i0", "bind pa/ i1 i0"]),
    ("ENOTDIR", &["open pa i0200000 i0", "open pa/ i1 i0", "openat2 w pa/ h0,0,0 i24", "open pl/ i0 i0", "rmdir pa", "rmdir pl", "rmdir pl/",
        "unlinkat w pf i0x200", "unlink pa/", "rename pd pb", "rename pa/ pnew", "rename pa pnew/", "link pa/ pnew", "chmod pa/ i0644",
        "truncate pa/ i0", "chdir pa", "fchdir f0", "setxattr pa/ puser.a x61 i1 i0", "open pa i020200002 i0600", "list w pa",
        "renameat2 w pa/ w pd i2", "bind pa/x i1 i0"]),
    ("EISDIR", &["open pd i1 i0", "open pd i2 i0", "open pd i0101 i0644", "open pd i0100 i0644", "open pnew/ i0101 i0644", "open pd i01000 i0",
        "openat2 w pd h2,0,0 i24", "creat pd i0644", "creat pd/ i0644", "truncate pd i0", "truncate p. i0", "unlink pd", "unlink pd/",
        "unlink p.", "unlinkat w p.. i0", "unlinkat w pe i0", "rename pa pe", "rename pl pe", "read f4", "open pe/ i0101 i0644", "open p. i1 i0"]),
    ("ELOOP", &["open plo i0 i0", "open plo i0101 i0644", "open pl i0400001 i0", "open pl i0400000 i0", "open pg0 i1 i0", "openat2 w pl h1,0,4 i24",
        "openat2 w q0: h1,0,2 i24", "truncate plo i0", "truncate pg0 i0", "chmod plo i0644", "chown pg0 i-1 i-1", "utimensat w plo n i0",
        "setxattr plo puser.a x61 i1 i0", "removexattr pg0 puser.note", "linkat w plo w pnew i0x400", "access plo i0", "chdir plo"]),
    ("ENAMETOOLONG", &["symlink r4096:x: pnew", "symlink pa r256:n:", "rename r256:n: r256:m:"]),
    ("EXDEV", &["rename pa p/proc/x", "rename p/proc/self/status pnew", "renameat2 w pd w p/proc/x i1", "renameat2 w pa w p/proc/self/comm i2",
        "link p/proc/self/status pnew", "link pa p/dev/guard-x", "linkat w pl w p/dev/guard-x i0x400", "openat2 w p.. h0,0,8 i24",
        "openat2 w p@/a h1,0,8 i24", "openat2 w p/proc/self/comm h1,0,1 i24", "rename pnew p/proc/x"]),
    ("ENOTEMPTY", &["rmdir pd", "rmdir pd/", "unlinkat w pd i0x200", "rmdir pd/..", "rename pe pd", "rename pe/ pd/", "renameat w pe w pd"]),
    ("EINVAL", &["rmdir p.", "rmdir pd/.", "unlinkat w p. i0x200", "unlinkat w pa i1", "renameat2 w pa w pnew i3", "renameat2 w pa w pnew i6",
        "renameat2 w pa w pnew i8", "rename pd pd/x", "rename pd pd/d/x", "renameat2 w pd w pd/d i2", "linkat w pa w pnew i0x100",
        "mknod pnew i0170644 i0", "mknodat w pa i0120777 i0", "truncate pa i-1", "truncate pnew i-1", "truncate pf i0", "ftruncate f0 i0",
        "ftruncate f2 i-1", "utimensat w pa t1,2000000000,1,1 i0", "utimensat w pa n i0x80000", "utimensat f0 n n i0x100",
        "utimes pa t1,1000000,1,1", "openat w pnew i020200000 i0600", "openat w pnew i020000002 i0600", "openat w pnew i0200101 i0755",
        "openat2 w pa h0x4000000000000001,0,0 i24", "openat2 w pnew h0101,010644,0 i24", "openat2 w pa h1,0644,0 i24",
        "openat2 w pa h1,0,0x40 i24", "openat2 w pa h1,0,0x18 i24", "openat2 w pa h0x200041,0,0 i24", "openat2 w pa h1,0,0 i23",
        "openat2 w pa h1,0,0 i0", "fchmodat2 w pa i0644 i0x80000", "fchownat w pa i-1 i-1 i0x80000", "setxattr pa puser.a x61 i1 i4",
        "setxattr pnew puser.a x61 i1 i8", "setxattr pa psystem.posix_acl_access x61 i1 i0", "readlink w pa", "fallocate f2 i0 i0 i0",
        "faccessat2 w pa i8 i0", "fcntl f0 i1030 i-1"]),
    ("EPERM", &["link pd pnew", "linkat w pd w pnew i0", "mknod pnew i0040755 i0", "mknodat w pa/x i0040755 i0", "lsetxattr pl puser.a x61 i1 i0",
        "setxattr pf puser.a x61 i1 i0", "lremovexattr pl puser.a"]),
    ("ENXIO", &["open pf i04001 i0", "openat w pk i0 i0", "openat w pk i1 i0", "openat2 w pk h2,0,0 i24", "openat w pf i05001 i0"]),
    ("EBUSY", &["rename p. pnew", "rename p.. pnew", "rename pa p.", "rename pd p..", "renameat2 w p. w pd i2", "rename p/ pnew", "rmdir p/",
        "renameat2 w pd/. w pnew i0"]),
    ("ENODATA", &["removexattr pa puser.none", "lremovexattr pa puser.none", "fremovexattr f0 puser.none", "getxattr pa puser.none i9",
        "setxattr pa puser.none x61 i1 i2", "lsetxattr pd puser.none x61 i1 i2", "fsetxattr f0 puser.none x61 i1 i2"]),
    ("ERANGE", &["setxattr pa p x61 i1 i0", "setxattr pa r256:n: x61 i1 i0", "removexattr pa p", "fremovexattr f0 r256:n:",
        "getxattr pa puser.note i1", "setxattr pnew p x61 i1 i0"]),
    ("E2BIG", &["setxattr pa puser.a z9 i65537 i0", "lsetxattr pnew puser.a z9 i70000 i0", "fsetxattr f0 puser.a z9 i-1 i0",
        "openat2 w pa h1,0,0,1 i32", "openat2 w pa h1,0,0 i4097"]),
    ("EFAULT", &["setxattr pa b x61 i1 i0", "setxattr pa puser.a b i1 i0", "removexattr pa b", "utimensat w pa b i0", "openat2 w pa b i24",
        "write f2 b i4", "utime pa b", "symlink b pnew", "symlink uabc pnew", "openat w n i1 i0", "unlink n", "rename pa n", "mkdir n i0755"]),
    ("EBADF", &["write f0 x61 i1", "read f2", "fallocate f0 i0 i0 i9", "linkat f7 pa w pnew i0", "renameat f7 pa w pnew", "openat i-5 pa i0 i0",
        "linkat i99 p w pnew i0x1000"]),
    ("EOPNOTSUPP", &["setxattr pa pnothing.x x61 i1 i0", "fchmodat2 w pl i0644 i0x100",
        "removexattr pd pnothing.x", "fallocate f2 i0x100 i0 i9"]),
    ("ETXTBSY", &["open psleep i1 i0", "openat w psleep i01000 i0", "openat w psleep i0101 i0644", "openat2 w psleep h2,0,0 i24", "truncate psleep i0"]),
];

/// What an ordinary user may not do.
const USER: &[(&str, &[&str])] = &[(
    "EPERM",
    &[
        "chown pa i0 i0",
        "fchown f0 i0 i-1",
        "lchown pl i-1 i0",
        "mknod pnew i0020600 i259",
        "setxattr pa ptrusted.x x61 i1 i0",
    ],
)];

/// Everything is made at the end of its limit of descriptors; the names must not have come to exist, nor `b` be empty.
#[rustfmt::skip] // a few a line
const NO_ROOM: &[&str] = &[
    "open pa i1 i0", "openat w pmade1 i0101 i0644", "openat w pmade2 i0301 i0644", "openat2 w pmade3 h0101,0644,0 i24", "openat w pb i01001 i0",
    "openat w p. i020200002 i0600", "creat pb i0644", "openat w pnone/x i0101 i0644", "dup f0", "openat w pa i0 i0",
];

const SETUP: &[&str] = &[
    "rename p../../sleep psleep",
    "symlink plo pli",
    "symlink pli plo",
    "chain pg i41",
    "openat w pg i0101 i0644",
    "chain ph i40",
    "openat w ph i0101 i0644",
    "openat w ph0 i1 i0",
    "mkdir px2 i0755",
    "openat w pa i0 i0 >0",
    "openat w pa i010000000 i0 >1",
    "openat w pb i1 i0 >2",
    "openat w px2 i0200000 i0 >3",
    "openat w pd i0 i0 >4",
    "rmdir px2",
    "bind pk i1 i0",
    "unlink pe/o",
    "busy psleep",
];

/// Calls and what each gives; none: it works.
fn rows(place: &Place, who: Who) -> Vec<(Option<&'static str>, String)> {
    let mut rows: Vec<(Option<&str>, String)> = Vec::new();
    let setup = SETUP
        .iter()
        .filter(|line| !(place.itself && line.contains("/sleep")));
    rows.extend(setup.map(|line| (None, (*line).to_owned())));
    let filled = |template: &str, word: &str| template.replace('*', word);
    for (errno, path) in NOWHERE {
        rows.extend(PATHS.iter().map(|it| (Some(*errno), filled(it, path))));
    }
    for it in BASES {
        rows.push((Some("EBADF"), filled(it, "i99")));
        rows.push((Some("ENOTDIR"), filled(it, "f0")));
    }
    for it in DESCRIPTORS {
        rows.push((Some("EBADF"), filled(it, "i99")));
        rows.push((Some("EBADF"), filled(it, "f1")));
    }
    let tables = if who.is_root() {
        &[OTHERS, &[]]
    } else {
        &[OTHERS, USER]
    };
    for (errno, lines) in tables.iter().flat_map(|table| table.iter()) {
        rows.extend(lines.iter().map(|line| (Some(*errno), (*line).to_owned())));
    }
    rows.push((None, "limit i7 i-1".to_owned()));
    rows.extend(NO_ROOM.iter().map(|it| (Some("EMFILE"), (*it).to_owned())));
    rows.push((None, "limit i7 i500".to_owned()));
    rows.push((None, "list w p.".to_owned()));
    rows
}

/// Runs them all; the rows that give something else without guard than the table says.
fn run(place: &Place, who: Who) -> Result<(), String> {
    let home = Home::new(who);
    let rows = rows(place, who);
    let sequence = Sequence {
        how: How::Processes,
        lines: rows.iter().map(|(_, line)| format!("0 {line}")).collect(),
    };
    let stage = Stage {
        around: "cp /bin/sleep \"$4/sleep\" && exec \"$@\"",
        ..Stage::new(&home, place)
    };
    let plain = control(&stage, &sequence)?;
    let answers = plain.answers(stage.skipped(sequence.how));
    let mut wrong: Vec<String> = rows
        .iter()
        .enumerate()
        .filter_map(|(number, (wanted, line))| {
            let got = answers[&number].trim();
            let right = match wanted {
                Some(errno) => got == *errno,
                None => !got.starts_with('E'),
            };
            (!right).then(|| {
                format!(
                    "CONTROL: `{line}` gives {got}, not {}",
                    wanted.unwrap_or("0")
                )
            })
        })
        .collect();
    wrong.truncate(40);
    if wrong.is_empty() {
        return compared(&stage, &sequence, &plain);
    }
    Err(wrong.join("\n"))
}

#[test]
fn every_errno() {
    each("every errno", PLACES, |place| place.name.to_owned(), run);
}
