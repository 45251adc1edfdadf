//! Calls that guard refuses whatever they are about: what they answer without guard, and with it.

use super::row::{Seen, forbidden};
use super::support::{Home, With, each, programs, tail};

const EPERM: i32 = 1;
const ENOTTY: i32 = 25;
const EOPNOTSUPP: i32 = 95;
const ENOSYS: i32 = 38;

/// One call; what is harmless in it is that it fails, or that it is made in a mount namespace of its own.
pub struct Answer {
    pub name: &'static str,
    pub numbers: &'static [u8],
    /// What `programs/raw.c` is to do.
    call: &'static str,
    /// The error under guard, and another or none without it.
    error: i32,
    seen: Seen,
    /// By these the file system itself says that it does not know the call; then guard says the same, and records nothing.
    unknown: &'static [i32],
    needs: &'static [&'static str],
    /// See `Row::mounts`.
    mounts: &'static str,
}

/// A call that root alone may make.
const fn refused(name: &'static str, numbers: &'static [u8], call: &'static str) -> Answer {
    Answer {
        name,
        numbers,
        call,
        error: EPERM,
        seen: Seen::Forbidden,
        unknown: &[],
        needs: &["raw", "root"],
        mounts: "",
    }
}

/// A request to ioctl(2).
const fn request(name: &'static str, numbers: &'static [u8], call: &'static str) -> Answer {
    Answer {
        needs: &["raw"],
        ..refused(name, numbers, call)
    }
}

/// One that only some file systems know.
const fn special(name: &'static str, numbers: &'static [u8], call: &'static str) -> Answer {
    Answer {
        unknown: &[ENOTTY, EOPNOTSUPP],
        ..request(name, numbers, call)
    }
}

/// A call that changes mounts.
const fn mount(
    name: &'static str,
    numbers: &'static [u8],
    seen: Seen,
    mounts: &'static str,
    call: &'static str,
) -> Answer {
    Answer {
        seen,
        mounts,
        needs: &["raw", "root", "mounts"],
        ..refused(name, numbers, call)
    }
}

const fn absent(name: &'static str, call: &'static str) -> Answer {
    Answer {
        error: ENOSYS,
        seen: Seen::Not,
        needs: &["raw"],
        ..refused(name, &[31], call)
    }
}

const READ_ONLY: &str = "mkdir $T/ro; mount --bind $P $T/ro; mount -o remount,bind,ro $T/ro";

#[rustfmt::skip] // one row a line
pub const ANSWERS: &[Answer] = &[
    refused("swapon", &[48], "swapon s:/nonexistent 0"),
    refused("acct", &[48], "acct s:/nonexistent"),
    refused("quotactl", &[48], "quotactl 0x80000200 s:/nonexistent 0 s:/nonexistent"),
    refused("quotactl_fd", &[48], "quotactl_fd 77 0x80000200 0 z:"),
    refused("init_module", &[49], "init_module z: 0 s:"),
    refused("finit_module", &[49], "finit_module r:$HOME/plain.txt s: 0"),
    refused("kexec_load", &[49], "kexec_load 0 99 z: 0"),
    refused("kexec_file_load", &[49], "kexec_file_load 77 77 0 s: 0"),
    refused("bpf", &[49], "bpf 99 z: 8"),
    refused("iopl", &[49], "iopl 4"),
    refused("ioperm", &[49], "ioperm 0x7ffffff 1 1"),
    refused("open_tree", &[40], "open_tree cwd s:$P 1"),
    refused("fsopen", &[40], "fsopen s:tmpfs 0"),
    refused("fsconfig", &[40], "fsconfig 77 6 0 0 0"),
    refused("fsmount", &[40], "fsmount 77 0 0"),
    refused("fspick", &[40], "fspick cwd s:/ 0"),
    mount("mount over", &[37], Seen::Not, "true", "mount s:$T s:$P s: 0x1000 0"),
    mount("a mount of something else over", &[37], Seen::Not, "true", "mount s:none s:$P s:tmpfs 0 0"),
    mount("umount", &[38], Seen::Not, READ_ONLY, "umount2 s:$T/ro 0"),
    mount("umount with MNT_DETACH", &[38], Seen::Not, READ_ONLY, "umount2 s:$T/ro 2"),
    mount("a remount", &[38], Seen::Not, READ_ONLY, "mount s: s:$T/ro s: 0x1020 0"),
    mount("MS_MOVE", &[38], Seen::Not, READ_ONLY, "mount s:$T/ro s:$O s: 0x2000 0"),
    mount("mount_setattr", &[39], Seen::Forbidden, READ_ONLY, "mount_setattr cwd s:$T/ro 0 q:0,1,0,0 32"),
    mount("open_tree_attr", &[39], Seen::Forbidden, READ_ONLY, "open_tree_attr cwd s:$T/ro 1 q:0,1,0,0 32"),
    mount("move_mount", &[40], Seen::Not, READ_ONLY, "move_mount cwd s:$T/ro cwd s:$O 0"),
    mount("pivot_root", &[41], Seen::Not, READ_ONLY, "pivot_root s:$T/ro s:$T/ro"),
    special("FS_IOC_ENABLE_VERITY", &[23], "ioctl r:$HOME/plain.txt 0x40806685 z:"),
    special("FS_IOC_SET_ENCRYPTION_POLICY", &[23], "ioctl r:$HOME/plain.txt 0x800c6613 z:"),
    special("BTRFS_IOC_SUBVOL_CREATE", &[24], "ioctl r:$P 0x5000940e z:"),
    special("BTRFS_IOC_SNAP_CREATE", &[24], "ioctl r:$P 0x50009401 z:"),
    special("BTRFS_IOC_SNAP_CREATE_V2", &[24], "ioctl r:$P 0x50009417 z:"),
    special("BTRFS_IOC_SNAP_DESTROY", &[24], "ioctl r:$P 0x5000940f z:"),
    special("BTRFS_IOC_SNAP_DESTROY_V2", &[24], "ioctl r:$P 0x5000943f z:"),
    special("BCH_IOCTL_SUBVOLUME_DESTROY", &[24], "ioctl r:$P 0x4020bc11 z:"),
    request("TIOCSTI", &[52], "ioctl r:/dev/null 0x5412 s:x"),
    request("TIOCSTI with something above", &[52], "ioctl r:/dev/null 0x700005412 s:x"),
    request("TIOCLINUX", &[52], "ioctl r:/dev/null 0x541c z:"),
    request("SG_IO", &[36], "ioctl r:/dev/null 0x2285 z:"),
    Answer { needs: &["raw", "root"], ..request("FIFREEZE", &[64], "ioctl r:/proc 0xc0045877 0") },
    request("FS_IOC_SHUTDOWN", &[64], "ioctl r:/proc 0x8004587d z:"),
    absent("io_uring_setup", "425 4 0"),
    absent("io_uring_enter", "426 77 1 0 0"),
    absent("io_uring_register", "427 77 99 0 0"),
];

#[test]
fn answers() {
    each(
        "answers",
        ANSWERS,
        |a| a.name.to_owned(),
        |a, who| {
            if programs::not_for(who, a.needs) {
                return Ok(());
            }
            if let Some(need) = programs::missing(who, a.needs) {
                return super::support::skip(a.name, &need);
            }
            let script = format!("exec $B/raw {}", a.call);
            let errors = [With::Nothing, With::Guard(&[])].map(|with| {
                let home = Home::new(who);
                let argv = ["bash", "-c", &script];
                let run = home.finish(if a.mounts.is_empty() {
                    home.command(with, &argv)
                } else {
                    home.command_with_mounts(a.mounts, with, &argv)
                })?;
                Ok((run, home))
            });
            let [Ok((control, _)), Ok((guarded, home))] = errors else {
                return errors
                    .into_iter()
                    .find_map(Result::err)
                    .map_or(Ok(()), Err::<(), String>);
            };
            if control.status == a.error || (125..=127).contains(&control.status) {
                return Err(format!(
                    "CONTROL: without guard it answers {} too\n{}",
                    control.status,
                    tail(&control.stderr)
                ));
            }
            let unknown = a.unknown.contains(&control.status);
            let expected = if unknown { control.status } else { a.error };
            if guarded.status != expected {
                return Err(format!(
                    "it answers {}\n{}",
                    guarded.status,
                    tail(&guarded.stderr)
                ));
            }
            match a.seen {
                _ if unknown && home.attempts().is_empty() => Ok(()),
                Seen::Not => home
                    .attempts()
                    .first()
                    .map_or(Ok(()), |found| Err(format!("the record has {found}"))),
                _ => forbidden(&home).map_or(Ok(()), Err),
            }
        },
    );
}
