//! Sequences that once gave something else under guard: what is in them, then who makes the calls, then the calls.

pub const SEQUENCES: &[(&str, &str)] = &[
    (
        "what a whiteout leaves is the run's own",
        "processes
        3 renameat2 w pd w pz i5
        3 futimesat w pd t1000000000,7,1000000001,9
        0 renameat2 w pb w py i4
        1 unlink pb",
    ),
    (
        "flags and lengths that no call takes",
        "threads
        0 lsetxattr pc p x62 i1 i4
        1 mknod pa/a i0120777 i0
        2 mknod pa/a i0040755 i0
        3 openat2 w pf/e/f h0x220800,010644,0x10 i24
        0 openat2 w pa h0x101840,010644,0 i24
        0 truncate pc/c i-1
        1 removexattrat i-5 pc/f i0x80000 p",
    ),
    (
        "no path is not the working directory",
        "processes
        3 utimensat w n t1,1,1,1 i0x1000
        3 futimesat w n t-5,5,-7,7
        1 fchownat w n i-1 i-1 i0x1000",
    ),
    (
        "a folder that may not be searched has no dot",
        "processes
        0 chmod pd i0600
        1 openat w pd/. i1 i0
        1 chmod pd/. i0755
        1 chmod pd i0755",
    ),
    (
        "a file whose folder has been closed since",
        "threads
        0 openat w pd/a i0x841 i0644 >0
        0 fchmodat w pd i0666
        0 utimensat f0 n n i0
        0 fchmod f0 i0600
        0 fsetxattr f0 puser.a x62 i1 i0
        0 fchmodat w pd i0755",
    ),
    (
        "another mount is said first",
        "parallel
        0 rename q7: pd
        1 rename pnone p/proc/x
        2 renameat2 w pd w q7: i1
        3 rename r256:n: q7:
        3 rename pd/../r p/proc/self
        0 rename r256:n: r256:m:
        0 renameat w p@/. w r256:n:
        1 rename r256:n: p..
        1 rename r256:n: p/proc/self/r256
        2 renameat w q7: w r256:n:/",
    ),
    (
        "another mount is said before what could be lost",
        "processes
        0 fchmodat w pe i0666
        0 rename p@/e q7:
        1 renameat2 w pe w q7: i1",
    ),
    (
        "an absolute link is another mount until the root has been looked up",
        "processes
        0 symlinkat p@/a w pc
        0 openat2 w pc/a h0x800,0,0x01 i24
        1 symlinkat p@/a w pd
        1 openat2 w p../in/c/a h0x800,0,0x01 i24
        2 openat2 w p@/c/a h0x800,0,0x01 i24
        3 openat2 w pd h0x800,0,0x09 i24",
    ),
    (
        "a name that is too long is not looked up before there is another path, and after the first name",
        "parallel
        0 rename r256:n: p
        1 rename p r256:n:
        2 rename p@/c r256:n:
        3 rename pd/c r256:n:
        0 rename r256:n: pd/c/x
        1 renameat2 w p@/none w r256:n: i2
        2 renameat2 w r256:n: w p i1",
    ),
];
