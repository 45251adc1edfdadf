//! What the suites of `tests/transparent/suites.sh` found, each reduced to a few lines.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use support::{Home, With, each, programs, say, skip, tail};

/// Asks for what guard refuses under every policy, on a file and on its folder, and prints what it hears.
const ASK: &str = r#"cd "$WHERE" && python3 - <<'E'
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
open("f", "w").close()
requests = dict(verity=0x40806685, policy=0x800C6613, key=0xC0406618, keys=0xC0406619, subvolume=0x5000940E, snapshot=0x50009417,
                destroy=0x5000940F, bcachefs=0x4020BC10)
for name, request in requests.items():
    for what in "f", ".":
        fd = os.open(what, os.O_RDONLY)
        structure = ctypes.create_string_buffer(4096)
        done = libc.ioctl(fd, ctypes.c_ulong(request), structure)
        print(name, what, done if done >= 0 else errno.errorcode[ctypes.get_errno()])
print(errno.errorcode[libc.ioctl(99, ctypes.c_ulong(0x40806685), structure) and ctypes.get_errno()])
E"#;

/// stress-ng's `verity`: a program that asks for what its file system does not have goes another way, and nothing is recorded.
#[test]
fn what_a_file_system_does_not_know_is_not_refused() {
    let places = ["in home", "outside"];
    each(
        "unknown requests",
        &places,
        |name| (*name).to_owned(),
        |name, who| {
            if let Some(need) = programs::missing(who, &["python3", "mounts"]) {
                return skip(name, &need);
            }
            let home = Home::new(who);
            let place = if *name == "outside" {
                home.outside()
            } else {
                home.path.clone()
            };
            // A file system that knows none of them, whatever the tests' own is.
            let mounts = format!(
                "mount -t tmpfs -o mode=777 none {0} && cd {0}",
                place.display()
            );
            let script = format!("WHERE={}\n{ASK}", place.display());
            let run = |with| {
                home.finish(home.command_with_mounts(&mounts, with, &["bash", "-c", &script]))
            };
            let plain = run(With::Nothing)?;
            let guarded = run(With::Guard(&["--policy", "default", "--fail-on-attempt"]))?;
            if plain.status != 0 || plain.stdout.matches("ENOTTY").count() < 10 {
                return Err(format!("CONTROL: {}{}", plain.stdout, tail(&plain.stderr)));
            }
            if (plain.status, &plain.stdout) == (guarded.status, &guarded.stdout) {
                return Ok(());
            }
            Err(format!(
                "without guard:\n{}with it, exit {}:\n{}{}",
                plain.stdout,
                guarded.status,
                guarded.stdout,
                tail(&guarded.stderr)
            ))
        },
    );
}

/// Where the file system knows the request it stays refused: a folder is encrypted without guard, and not with it.
#[test]
fn what_a_file_system_knows_stays_refused() {
    const ENCRYPT: &str = r#"python3 - "$E/folder" <<'E'
import ctypes, errno, os, sys
libc = ctypes.CDLL(None, use_errno=True)
os.mkdir(sys.argv[1])
fd = os.open(sys.argv[1], os.O_RDONLY)
policy = ctypes.create_string_buffer(b"\0\1\4\0" + b"k" * 8, 12)
print(libc.ioctl(fd, ctypes.c_ulong(0x800C6613), policy) and errno.errorcode[ctypes.get_errno()])
E"#;
    each(
        "known requests",
        &["encryption"],
        |name| (*name).to_owned(),
        |name, who| {
            if let Some(need) = programs::missing(who, &["python3", "mounts", "mkfs.ext4"]) {
                return skip(name, &need);
            }
            let home = Home::new(who);
            let image = home.outside().join("image");
            std::fs::File::create(&image)
                .unwrap()
                .set_len(8 << 20)
                .unwrap();
            let disk = format!(
                "mkfs.ext4 -q -F -O encrypt {0} && mkdir -p {1} && mount -o loop {0} {1} && chmod 777 {1}",
                image.display(),
                home.outside().join("disk").display()
            );
            let script = format!("E={}\n{ENCRYPT}", home.outside().join("disk").display());
            let run =
                |with| home.finish(home.command_with_mounts(&disk, with, &["bash", "-c", &script]));
            let plain = run(With::Nothing)?;
            if plain.stdout != "0\n" {
                // No loop devices in a container, no encryption in many kernels.
                say(&format!("NOT RUN {name}: {}", tail(&plain.stderr)));
                return Ok(());
            }
            let guarded = run(With::Guard(&[]))?;
            if guarded.stdout == "EPERM\n" && home.attempts().len() == 1 {
                return Ok(());
            }
            Err(format!(
                "{}{}\n{:?}",
                guarded.stdout,
                tail(&guarded.stderr),
                home.attempts()
            ))
        },
    );
}
