//! System calls as they are, by `programs/raw.c`: each one that changes the tree, the old form and the one with a folder,
//! of a 64-bit and of a 32-bit program.

use super::row::*;

macro_rules! call {
    ($program:literal, $needs:expr, $name:literal, $numbers:expr, $stopper:expr, $seen:expr, $arguments:literal) => {
        Row {
            needs: $needs,
            ..row(
                concat!($program, ": ", $name),
                $numbers,
                $stopper,
                $program,
                $seen,
                concat!("$B/", $program, " ", $arguments),
            )
        }
    };
}

macro_rules! calls {
    ($program:literal, $($list:tt)*) => { calls!(@ $program; []; $($list)*) };
    (@ $program:literal; [$($done:tt)*];) => { &[$($done)*] };
    (@ $program:literal; [$($done:tt)*]; ($($call:tt)*) $($list:tt)*) => {
        calls!(@ $program; [$($done)* call!($program, &[$program], $($call)*),]; $($list)*)
    };
    (@ $program:literal; [$($done:tt)*]; root ($($call:tt)*) $($list:tt)*) => {
        calls!(@ $program; [$($done)* call!($program, &[$program, "root"], $($call)*),]; $($list)*)
    };
}

/// Flags: 0x201 is `O_WRONLY|O_TRUNC`, 0x410002 `O_TMPFILE|O_RDWR`.
macro_rules! opens {
    ($program:literal) => {
        calls!(
            $program,
            ("open", &[1], Both, WRITE, "open s:$P/auth.json 0x201")(
                "open for reading that truncates",
                &[1],
                Both,
                WRITE,
                "open s:$P/auth.json 0x200"
            )(
                "open, made anew",
                &[1, 14],
                Both,
                CREATE,
                "open s:$P/new 0xc1 0600"
            )("creat", &[2], Both, WRITE, "creat s:$P/auth.json 0600")(
                "openat",
                &[3],
                Both,
                WRITE,
                "openat cwd s:$P/auth.json 0x201"
            )(
                "openat below a folder",
                &[3],
                Both,
                WRITE,
                "openat d:$P s:auth.json 0x201"
            )(
                "openat below an O_PATH folder",
                &[3],
                Both,
                WRITE,
                "openat p:$P s:auth.json 0x201"
            )(
                "openat, a descriptor that is not looked at",
                &[3],
                Both,
                WRITE,
                "openat 77 s:$P/auth.json 0x201"
            )(
                "openat and a write at an offset",
                &[3, 27],
                Both,
                WRITE,
                "openat cwd s:$P/auth.json 1 then pwrite64 @ s:Z 1 3"
            )(
                "openat2",
                &[4],
                Both,
                WRITE,
                "openat2 cwd s:$P/auth.json how:0x201,0,0 24"
            )(
                "openat2 of the old size and a longer one",
                &[4],
                Both,
                WRITE,
                "openat2 cwd s:$P/auth.json how:0x201,0,0,0,0 40"
            )(
                "openat2, RESOLVE_NO_XDEV",
                &[4],
                Both,
                WRITE,
                "openat2 cwd s:$P/auth.json how:0x201,0,1 24"
            )(
                "openat2, RESOLVE_NO_MAGICLINKS",
                &[4],
                Both,
                WRITE,
                "openat2 cwd s:$P/auth.json how:0x201,0,2 24"
            )(
                "openat2, RESOLVE_NO_SYMLINKS",
                &[4],
                Both,
                WRITE,
                "openat2 cwd s:$P/auth.json how:0x201,0,4 24"
            )(
                "openat2, RESOLVE_BENEATH",
                &[4],
                Both,
                WRITE,
                "openat2 d:$P s:sessions/../auth.json how:0x201,0,8 24"
            )(
                "openat2, RESOLVE_IN_ROOT",
                &[4],
                Both,
                WRITE,
                "openat2 d:$P s:/../latest how:0x201,0,0x10 24"
            )(
                "O_TMPFILE, linked in by its descriptor",
                &[6],
                Both,
                Seen::As(&["create", "link"]),
                "openat cwd s:$T 0x410002 0600 then linkat @ s: cwd s:$P/new 0x1000"
            )(
                "O_TMPFILE in the root itself",
                &[6],
                Both,
                Seen::As(&["create", "link"]),
                "openat cwd s:$P 0x410002 0600 then linkat @ s: cwd s:$P/new 0x1000"
            )("truncate", &[7], Both, WRITE, "truncate s:$P/auth.json 3")(
                "truncate to a longer one",
                &[7],
                Both,
                WRITE,
                "truncate s:$P/auth.json 99999"
            )(
                "truncate through a link",
                &[7],
                Both,
                WRITE,
                "truncate s:$P/latest 0"
            )(
                "open and ftruncate",
                &[1, 8],
                Both,
                WRITE,
                "open s:$P/auth.json 1 then ftruncate @ 0"
            )
        )
    };
}

macro_rules! entries {
    ($program:literal) => {
        calls!($program,
            ("unlink", &[9], Both, DELETE, "unlink s:$P/auth.json")
            ("unlinkat", &[9], Both, DELETE, "unlinkat cwd s:$P/auth.json 0")
            ("unlinkat below a folder", &[9], Both, DELETE, "unlinkat d:$P s:auth.json 0")
            ("unlinkat of a folder", &[9], Both, DELETE, "unlinkat d:$P s:extensions 0x200")
            ("rmdir", &[9], Both, DELETE, "rmdir s:$P/extensions")
            ("unlink from inside", &[9], Both, DELETE, "chdir s:$P/sessions then unlink s:../auth.json")
            ("unlink after fchdir", &[9], Both, DELETE, "fchdir p:$P then unlink s:auth.json")
            ("rename out", &[10], Both, RENAME, "rename s:$P/auth.json s:$T/x")
            ("rename inside", &[10], Both, RENAME, "rename s:$P/auth.json s:$P/x")
            ("renameat", &[10], Both, RENAME, "renameat d:$P s:auth.json d:$T s:x")
            ("renameat over", &[10], Both, RENAME, "renameat cwd s:$HOME/plain.txt d:$P s:auth.json")
            ("renameat2", &[10], Both, RENAME, "renameat2 d:$P s:auth.json d:$T s:x 0")
            ("renameat2, RENAME_NOREPLACE", &[10], Both, RENAME, "renameat2 d:$P s:auth.json d:$T s:x 1")
            ("renameat2, RENAME_EXCHANGE", &[11], Both, RENAME, "renameat2 d:$P s:auth.json cwd s:$HOME/plain.txt 2")
            ("rename of the root", &[11], Both, RENAME, "rename s:$P s:$T/x")
            ("rename of what is above it", &[11], Both, RENAME, "renameat d:$HOME s:.pi d:$T s:x")
            ("RENAME_EXCHANGE with what is above it", &[11], Both, RENAME, "mkdir s:$HOME/x 0700 then renameat2 d:$HOME s:.pi d:$HOME s:x 2")
            root ("RENAME_WHITEOUT", &[12], Both, RENAME, "renameat2 d:$P s:auth.json d:$T s:x 4")
            ("link out", &[13], Both, LINK, "link s:$P/auth.json s:$T/l then truncate s:$T/l 0")
            ("linkat out", &[13], Both, LINK, "linkat d:$P s:auth.json d:$T s:l 0 then truncate s:$T/l 0")
            ("linkat out by /proc/self/fd", &[13], Both, LINK, "openat cwd s:$P/auth.json 0 then linkat cwd s:/proc/self/fd/3 d:$T s:l 0x400")
            root ("linkat out by its descriptor", &[13], Both, LINK, "linkat r:$P/auth.json s: d:$T s:l 0x1000")
            ("link in", &[14], Both, Seen::As(&["create", "link"]), "link s:$HOME/plain.txt s:$P/l")
            ("symlink", &[14], Both, CREATE, "symlink s:x s:$P/l")
            ("symlinkat", &[14], Both, CREATE, "symlinkat s:x d:$P s:l")
            ("mkdir", &[14], Both, CREATE, "mkdir s:$P/d 0700")
            ("mkdirat", &[14], Both, CREATE, "mkdirat d:$P s:d 0700")
            ("mknod of a file", &[14], Both, CREATE, "mknod s:$P/n 0100600 0")
            ("mknodat of a FIFO", &[14], Both, CREATE, "mknodat d:$P s:n 010600 0")
            root ("mknodat of a device", &[14], Both, Seen::As(&["create", "forbidden"]), "mknodat d:$P s:n 020600 0x103")
            ("bind", &[15], Both, CREATE, "bind sock un:$P/s 110")
            ("bind from inside", &[15], Both, CREATE, "chdir s:$P then bind sock un:s 110")
        )
    };
}

macro_rules! metadata {
    ($program:literal) => {
        calls!($program,
            ("chmod", &[16], Supervisor, META, "chmod s:$P/auth.json 0")
            ("fchmod", &[16], Supervisor, META, "fchmod r:$P/auth.json 0")
            ("fchmodat", &[16], Supervisor, META, "fchmodat d:$P s:auth.json 0")
            ("fchmodat2", &[16], Supervisor, META, "fchmodat2 d:$P s:auth.json 0 0x100")
            ("fchmodat2 of a descriptor", &[16], Supervisor, META, "fchmodat2 p:$P/auth.json s: 0 0x1000")
            root ("chown", &[17], Supervisor, META, "chown s:$P/auth.json 12345 12345")
            root ("lchown", &[17], Supervisor, META, "lchown s:$P/latest 12345 12345")
            root ("fchown", &[17], Supervisor, META, "fchown r:$P/auth.json 12345 12345")
            root ("fchownat", &[17], Supervisor, META, "fchownat d:$P s:latest 12345 12345 0x100")
            root ("fchownat of a descriptor", &[17], Supervisor, META, "fchownat p:$P/latest s: 12345 12345 0x1000")
            ("utime", &[18], Supervisor, META, "utime s:$P/auth.json z:")
            ("utimes", &[18], Supervisor, META, "utimes s:$P/auth.json z:")
            ("futimesat", &[18], Supervisor, META, "futimesat d:$P s:auth.json z:")
            ("futimesat of a descriptor", &[18], Supervisor, META, "futimesat r:$P/auth.json 0 z:")
            ("utimensat", &[18], Supervisor, META, "utimensat d:$P s:latest z: 0x100")
            ("utimensat of a descriptor", &[18], Supervisor, META, "utimensat r:$P/auth.json 0 z: 0")
            ("setxattr", &[19], Supervisor, META, "setxattr s:$P/auth.json s:user.x s:z 1 0")
            ("lsetxattr", &[19], Supervisor, META, "lsetxattr s:$P/auth.json s:user.x s:z 1 0")
            ("fsetxattr", &[19], Supervisor, META, "fsetxattr r:$P s:user.x s:z 1 0")
            root ("setxattr of a security label", &[19], Supervisor, META, "setxattr s:$P/auth.json s:security.x s:z 1 0")
            root ("lsetxattr of a link", &[19], Supervisor, META, "lsetxattr s:$P/latest s:trusted.x s:z 1 0")
            ("removexattr", &[19], Supervisor, META, "removexattr s:$P/settings.json s:user.note")
            ("lremovexattr", &[19], Supervisor, META, "lremovexattr s:$P/settings.json s:user.note")
            ("fremovexattr", &[19], Supervisor, META, "fremovexattr r:$P/settings.json s:user.note")
            ("setxattrat", &[20], Supervisor, META, "setxattrat d:$P s:auth.json 0 s:user.x x:z 16")
            ("setxattrat of a descriptor", &[20], Supervisor, META, "setxattrat r:$P/auth.json s: 0x1000 s:user.x x:z 16")
            ("removexattrat", &[20], Supervisor, META, "removexattrat d:$P s:settings.json 0 s:user.note")
            ("removexattrat of a descriptor", &[20], Supervisor, META, "removexattrat r:$P/settings.json s: 0x1000 s:user.note")
            ("file_setattr", &[21], Supervisor, META, "file_setattr d:$P s:auth.json q:0x80,0,0 24 0")
            ("file_setattr of a descriptor", &[21], Supervisor, META, "file_setattr r:$P/auth.json s: q:0x80,0,0 24 0x1000")
            root ("file_setattr, immutable", &[21], Supervisor, META, "file_setattr cwd s:$P/auth.json q:8,0,0 24 0; s=$?; chattr -i $P/auth.json; touch $P/auth.json; exit $s")
            ("FS_IOC_FSSETXATTR", &[22], Supervisor, META, "ioctl r:$P/auth.json 0x401c5820 q:0x80,0,0,0")
        )
    };
}

pub const OPENS: &[Row] = opens!("raw");
pub const OPENS_32: &[Row] = opens!("raw32");
pub const ENTRIES: &[Row] = entries!("raw");
pub const ENTRIES_32: &[Row] = entries!("raw32");
pub const METADATA: &[Row] = metadata!("raw");
pub const METADATA_32: &[Row] = metadata!("raw32");

/// What only one of the two has.
pub const OWN: &[Row] = calls!(
    "raw",
    (
        "open and fallocate",
        &[1, 26],
        Both,
        WRITE,
        "open s:$P/auth.json 1 then fallocate @ 0 0 4096"
    )(
        "FS_IOC_SETFLAGS",
        &[22],
        Supervisor,
        META,
        "ioctl r:$P/auth.json 0x40086602 n:0x80040"
    )
);
pub const OWN_32: &[Row] = calls!("raw32",
    ("truncate64", &[7], Both, WRITE, "truncate64 s:$P/auth.json 3 0")
    ("open and ftruncate64", &[1, 8], Both, WRITE, "open s:$P/auth.json 1 then ftruncate64 @ 0 0")
    ("socketcall", &[15], Both, CREATE, "socketcall 2 bound:$P/s")
    ("utimensat_time64", &[18], Supervisor, META, "utimensat_time64 d:$P s:latest z: 0x100")
    ("FS_IOC32_SETFLAGS", &[22], Supervisor, META, "ioctl r:$P/auth.json 0x40046602 n:0x80040")
    root ("chown32", &[17], Supervisor, META, "chown32 s:$P/auth.json 12345 12345")
    root ("lchown32", &[17], Supervisor, META, "lchown32 s:$P/latest 12345 12345")
    root ("fchown32", &[17], Supervisor, META, "fchown32 r:$P/auth.json 12345 12345")
);
