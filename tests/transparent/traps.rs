//! What belongs to the caller of a call, and what a supervisor that makes the call for it could forget: limits, umask, users,
//! groups, capabilities, the root directory, default ACLs, other mounts.

use super::ops::{How, Sequence, Stage, compared, control};
use super::places::{PLACES, Place};
use super::support::{Home, Who, each, programs, skip};

/// One situation.
struct Trap {
    name: &'static str,
    /// `root`: only root can set it up. Else programs.
    needs: &'static [&'static str],
    /// A shell script around guard and the command, which are `"$@"`.
    outside: &'static str,
    /// Calls; in the first column who makes them.
    lines: &'static [&'static str],
    /// What the last calls must give without guard, or nothing is shown.
    last: &'static [&'static str],
}

const PLAIN: &str = "";
/// A small file system in the home, `m`, with a file and a folder in it.
const MOUNTED: &str = "exec unshare --mount --propagation private bash -c 'mkdir -p ~/m && mount -t tmpfs -o nr_inodes=12,mode=777 m ~/m && \
    mkdir ~/m/d && echo x > ~/m/a && cd ~ && exec \"$@\"' mounted \"$@\"";
const MOUNTED_READ_ONLY: &str = "exec unshare --mount --propagation private bash -c 'mkdir -p ~/m && mount -t tmpfs m ~/m && mkdir ~/m/d && \
    echo x > ~/m/a && ln -s a ~/m/l && mount -o remount,ro ~/m && cd ~ && exec \"$@\"' mounted \"$@\"";

/// Worker 1 becomes uid 65534 without groups; worker 0 stays what it was.
const OTHER_USER: [&str; 3] = [
    "1 setgroups i0 n",
    "1 setresgid i65534 i65534 i65534",
    "1 setresuid i65534 i65534 i65534",
];

#[rustfmt::skip] // a few a line
const TRAPS: &[Trap] = &[
    Trap {
        name: "a limit of a file's size", needs: &[], outside: PLAIN,
        lines: &["0 limit i1 i1000", "0 truncate pb i900", "0 openat w pb i1 i0 >0", "0 ftruncate f0 i2000", "0 fallocate f0 i0 i0 i3000",
            "0 truncate pd i5000", "0 truncate pf i5000", "0 truncate pnone i5000", "0 signals", "0 chmod pb i0", "0 truncate pb i5000",
            "0 signals", "0 chmod pb i0600", "1 truncate pb i5000", "1 signals", "0 truncate pb i2000", "0 truncate pb i7000", "0 signals", "0 truncate pb i1",
            "0 truncate pa i1001", "0 signals", "0 stat w pa i0"],
        last: &["EFBIG", "", "mode"],
    },
    Trap {
        name: "a limit of a file's size around guard", needs: &[], outside: "ulimit -f 30; exec \"$@\"",
        lines: &["0 truncate pa i30000", "0 signals", "0 truncate pa i40000", "0 signals"],
        last: &["EFBIG", "1"],
    },
    Trap {
        name: "few descriptors around guard", needs: &[], outside: "ulimit -n 64; exec \"$@\"",
        lines: &["0 mkdir pnew i0755", "0 openat w pnew/x i0101 i0644 >0", "0 rename pnew pnew2", "1 unlink pnew2/x", "2 rmdir pnew2"],
        last: &["0"],
    },
    Trap {
        name: "a umask each", needs: &[], outside: PLAIN,
        lines: &["0 umask i0", "1 umask i077", "2 umask i0777", "0 mkdir pn0 i0777", "1 mkdir pn1 i0777", "2 mkdir pn2 i0777",
            "0 openat w pn3 i0101 i0666", "1 openat w pn4 i0101 i0666", "2 openat w pn5 i0101 i0666", "1 openat w p. i020200002 i0666",
            "3 mkdir pn11 i0755", "3 chmod pn11 i02755", "0 bind pn6 i1 i0", "1 bind pn7 i1 i0", "1 mknodat w pn8 i0010666 i0", "0 stat w pn6 i0", "1 stat w pn7 i0", "0 stat w pn0 i0",
            "1 stat w pn1 i0", "2 openat2 w pn9 h0101,0777,0 i24", "3 mkdir pn10 i01777", "3 stat w pn11 i0"],
        last: &["mode 42755"],
    },
    Trap {
        name: "a default ACL", needs: &[], outside: PLAIN,
        lines: &["0 mkdir pacl i0755",
            "0 setxattr pacl psystem.posix_acl_default x0200000001000700ffffffff020006003930000004000500ffffffff10000700ffffffff20000100ffffffff i44 i0",
            "1 umask i077", "1 openat w pacl/f i0101 i0666", "1 mkdir pacl/d i0777", "1 mknodat w pacl/p i0010666 i0", "1 bind pacl/s i1 i0",
            "1 openat w pacl i020200002 i0666 >0", "1 linkat w q0: w pacl/t i0x400", "0 attributes pacl/f", "0 attributes pacl/d", "0 attributes pacl/p",
            "0 attributes pacl/t", "0 stat w pacl/f i0", "0 stat w pacl/s i0", "1 chmod pacl/f i0640", "0 attributes pacl/f", "0 list w pacl"],
        last: &[". .. d f p s t"],
    },
    Trap {
        name: "a folder with a group of its own", needs: &["root"], outside: PLAIN,
        lines: &["0 mkdir pg i0755", "0 chown pg i-1 i12345", "0 chmod pg i02777", OTHER_USER[0], OTHER_USER[1], OTHER_USER[2], "1 mkdir pg/d i0755",
            "1 openat w pg/f i0101 i02775", "1 openat w pg i020200002 i02775", "1 mknodat w pg/p i0100775 i0", "0 mkdir pg/e i0755", "1 symlink px pg/l",
            "1 openat w pg/g i0101 i0644", "1 chmod pg/g i02755", "1 stat w pg/g i0", "0 stat w pg/d i0"],
        last: &["mode 42755 uid 65534 gid 12345"],
    },
    Trap {
        name: "another user", needs: &["root"], outside: PLAIN,
        lines: &["0 chmod p. i0777", OTHER_USER[0], OTHER_USER[1], OTHER_USER[2], "1 openat w pmine i0101 i0600", "1 openat w pa i1 i0", "1 mkdir pmine2 i0700",
            "1 chmod pa i0777", "1 chown pmine i0 i0", "1 truncate pa i0", "1 setxattr pa puser.x x61 i1 i0", "1 utimensat w pa n i0",
            "1 utimensat w pa t1,1,1,1 i0", "0 chmod pa i0666", "1 utimensat w pa n i0", "1 openat w pa i01000001 i0", "1 unlink pd/a", "1 link pb pmine3",
            "1 link pa pmine4", "1 rename pd pd2", "0 chmod pd i0700", "1 openat w pd2/a i1 i0", "0 chown pmine i0 i0", "1 openat w pmine i1 i0"],
        last: &["0", "EACCES"],
    },
    Trap {
        name: "another user for files alone", needs: &["root"], outside: PLAIN,
        lines: &["0 chmod p. i0777", "1 setfsgid i12345", "1 setfsuid i65534", "1 openat w pmine i0101 i0600", "1 openat w pb i1 i0", "1 mkdir pmine2 i0700",
            "1 chown pmine i0 i0", "0 openat w pmine i1 i0", "1 setfsuid i0", "1 chown pmine i0 i0", "1 setfsuid i12345", "1 unlink pmine", "1 chmod pb i0777"],
        last: &["0", "EPERM"],
    },
    Trap {
        name: "further groups", needs: &["root"], outside: PLAIN,
        lines: &["0 chmod p. i0777", "0 chown pb i-1 i12345", "0 chmod pb i0660", "1 setgroups i2 x3930000031d40000", OTHER_USER[1], OTHER_USER[2], "1 openat w pb i1 i0",
            "1 openat w pmine i0101 i0644", "1 chown pmine i-1 i54321", "1 chown pmine i-1 i12345", "1 chown pmine i-1 i7"],
        last: &["0", "EPERM"],
    },
    Trap {
        name: "capabilities given up", needs: &["root"], outside: PLAIN,
        lines: &["0 chmod pb i0", "0 chown pe i65534 i65534", "0 openat w ptheirs i0101 i0600 >0", "0 fchown f0 i65534 i65534", "1 capset x2205082000000000 z24",
            "1 openat w pb i1 i0", "1 chown pb i65534 i-1", "1 mkdir pe/x i0755", "1 chmod pe i0777", "1 truncate ptheirs i9", "1 setxattr pb ptrusted.x x61 i1 i0",
            "1 mknodat w pnull i0020666 i259", "1 utimensat w ptheirs n i0", "1 mkdir pnew i02755", "1 chmod pnew i02755", "1 stat w pnew i0", "1 openat w ptheirs i01000001 i0"],
        last: &["mode 42755", "EACCES"],
    },
    Trap {
        name: "capabilities kept across a change of user", needs: &["root"], outside: PLAIN,
        lines: &["0 chmod p. i0777", "0 chmod pb i0", "1 prctl i8 i1 i0 i0 i0", OTHER_USER[0], OTHER_USER[1], OTHER_USER[2], "1 openat w pb i1 i0",
            "1 capset x2205082000000000 x010000000100000000000000000000000000000000000000", "1 chown pb i65534 i65534", "1 openat w pd/b i1 i0",
            "2 prctl i28 i4 i0 i0 i0", "2 setresuid i65534 i65534 i65534", "2 openat w pd/b i1 i0", "2 openat w pmine i0101 i0600", "2 chown pmine i7 i7", "1 chmod pmine i0777"],
        last: &["0", "EPERM"],
    },
    Trap {
        name: "another root directory", needs: &["root"], outside: PLAIN,
        lines: &["1 chroot p.", "1 chdir p/", "1 mkdir p/made i0755", "1 symlink p/made pabs", "1 openat w pabs/f i0101 i0644", "1 rename p/made/f p/../../g",
            "1 link p/g p/made/../h", "1 openat w p/proc/self/comm i1 i0", "1 openat2 w p/made/x h0101,0644,0x10 i24", "1 unlink p/etc/passwd",
            "0 openat w pabs/z i0101 i0644", "1 list w p/made"],
        last: &["ENOENT", ". .. x"],
    },
    Trap {
        name: "a user namespace", needs: &[], outside: PLAIN,
        lines: &["1 unshare i0x10000000", "1 mkdir pnew i0755", "1 openat w pnew/f i0101 i0644", "1 chown pnew i0 i0", "1 chown pnew i-1 i-1", "1 chmod pnew i0700",
            "1 rename pnew pnew2", "1 setxattr pnew2 puser.x x61 i1 i0", "1 stat w pnew2 i0"],
        last: &["mode 40700"],
    },
    Trap {
        name: "a folder that all share", needs: &["root"], outside: PLAIN,
        lines: &["0 mkdir ps1 i0755", "0 chmod ps1 i01777", "0 openat w ps1/f i0101 i0644 >0", "0 fchmod f0 i0666", "0 symlink pf ps1/l", "0 mknodat w ps1/p i0010666 i0",
            "0 chmod ps1/p i0666", "0 mkdir ps1/d i0777", OTHER_USER[0], OTHER_USER[1], OTHER_USER[2], "1 unlink ps1/f", "1 rename ps1/f ps1/g", "1 rename ps1/d ps1/e", "1 rmdir ps1/d",
            "1 openat w ps1/f i01 i0", "1 openat w ps1/f i0101 i0644", "1 openat w ps1/l i1 i0", "1 openat w ps1/p i04102 i0644", "1 link ps1/f ps1/h", "1 openat w ps1/mine i0101 i0666 >1",
            "0 openat w ps1/mine i0101 i0666", "0 openat w ps1/mine i1 i0", "1 symlink pmine ps1/m", "0 openat w ps1/m i1 i0", "1 rename ps1/mine ps1/f", "1 rename ps1/mine ps1/n", "0 unlink ps1/n"],
        last: &["EPERM", "0", "0"],
    },
    Trap {
        name: "a file that can only grow", needs: &["root", "chattr"], outside: PLAIN,
        lines: &["0 openat w pb i0 i0 >0", "0 setflags f0 i0x20", "1 openat w pb i1 i0", "1 openat w pb i02001 i0 >1", "1 write f1 x61 i1", "1 truncate pb i0", "1 unlink pb", "1 rename pb pz",
            "1 chmod pb i0777", "1 link pb pz", "1 utimensat w pb t1,1,1,1 i0", "1 setxattr pb puser.x x61 i1 i0", "1 openat w pb i02001 i0", "1 ftruncate f1 i0", "0 setflags f0 i0",
            "1 setflags f0 i0", "1 unlink pb"],
        last: &["0"],
    },
    Trap {
        name: "a mount where nothing can be written", needs: &["root", "mounts"], outside: MOUNTED_READ_ONLY,
        lines: &["0 openat w p~/m/a i1 i0", "0 openat w p~/m/n i0101 i0644", "0 openat w p~/m/a i0101 i0644", "0 openat w p~/m i020200002 i0600", "0 openat2 w p~/m/n h0101,0644,0 i24",
            "0 truncate p~/m/a i0", "0 unlink p~/m/a", "0 rmdir p~/m/d", "0 mkdir p~/m/n i0755", "0 mkdir p~/m/d i0755", "0 mknodat w p~/m/n i0010644 i0", "0 symlink px p~/m/n", "0 link p~/m/a p~/m/n",
            "0 link pa p~/m/n", "0 rename p~/m/a p~/m/n", "0 rename p~/m/a pn", "0 rename pa p~/m/n", "0 chmod p~/m/a i0600", "0 chown p~/m/a i0 i0", "0 lchown p~/m/l i0 i0",
            "0 utimensat w p~/m/a n i0", "0 setxattr p~/m/a puser.x x61 i1 i0", "0 removexattr p~/m/a puser.x", "0 bind p~/m/s i1 i0", "0 unlink p~/m/none", "0 chmod p~/m/none i0600",
            "0 openat w p~/m/a i0 i0 >0", "0 fchmod f0 i0600", "0 fchown f0 i0 i0", "0 fsetxattr f0 puser.x x61 i1 i0", "0 utimensat f0 n n i0", "0 unlinkat w p~/m/d i0x200"],
        last: &["EROFS"],
    },
    Trap {
        name: "a mount that is full, and in the way", needs: &["root", "mounts"], outside: MOUNTED,
        lines: &["0 rename p~/m/a pn", "0 rename pa p~/m/n", "0 link p~/m/a pn", "0 link pa p~/m/n", "0 renameat2 w pa w p~/m/a i2", "0 rmdir p~/m", "0 unlink p~/m", "0 rename p~/m p~/m2",
            "0 rename pe p~/m", "0 openat2 w p~/m/a h1,0,1 i24", "0 openat2 w p~/m/n h0101,0644,1 i24", "0 rename p~/m/a p~/m/b", "0 chmod p~/m i0700", "0 bind p~/m/s i1 i0",
            "1 chain p~/m/c i20", "1 mkdir p~/m/n i0755", "1 openat w p~/m/n i0101 i0644", "1 openat w p~/m/b i01 i0", "1 symlink pa p~/m/n", "1 openat w p~/m i020200002 i0644"],
        last: &["ENOSPC"],
    },
    Trap {
        name: "only what is cached", needs: &[], outside: PLAIN,
        lines: &["0 openat2 w pa h0,0,0x20 i24", "0 openat2 w pd/a h0200000,0,0x20 i24", "0 openat2 w pnew h0101,0644,0x20 i24", "0 openat2 w pa h01001,0,0x20 i24", "0 stat w pnew i0"],
        last: &["EAGAIN", "EAGAIN", "ENOENT"],
    },
];

/// The places where they are tried: what the wall grants, what it does not, and what is decided by who made it.
fn places() -> impl Iterator<Item = &'static Place> {
    const NAMES: &[&str] = &["granted", "made in home", "at add-only"];
    PLACES.iter().filter(|place| NAMES.contains(&place.name))
}

#[test]
fn traps() {
    let rows: Vec<(&Trap, &Place)> = TRAPS
        .iter()
        .flat_map(|trap| places().map(move |place| (trap, place)))
        .collect();
    each(
        "traps",
        &rows,
        |(trap, place)| format!("{}, {}", trap.name, place.name),
        |(trap, place), who| case(trap, place, who),
    );
}

fn case(trap: &Trap, place: &Place, who: Who) -> Result<(), String> {
    if programs::not_for(who, trap.needs) {
        return Ok(());
    }
    if let Some(need) = programs::missing(who, trap.needs) {
        return skip(trap.name, &need);
    }
    let home = Home::new(who);
    let stage = Stage {
        outside: trap.outside,
        ..Stage::new(&home, place)
    };
    let sequence = Sequence {
        how: How::Processes,
        lines: trap.lines.iter().map(|line| (*line).to_owned()).collect(),
    };
    let plain = control(&stage, &sequence)?;
    let answers = plain.answers(stage.skipped(sequence.how));
    for (back, wanted) in trap.last.iter().rev().enumerate() {
        let number = sequence.lines.len() - 1 - back;
        if !answers[&number].trim().starts_with(wanted) {
            return Err(format!(
                "CONTROL: `{}` gives {}, not {wanted}\n{}",
                sequence.lines[number], answers[&number], plain.run.stdout
            ));
        }
    }
    compared(&stage, &sequence, &plain)
}
