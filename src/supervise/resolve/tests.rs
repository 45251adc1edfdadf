//! The walk ends where the kernel ends.

use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::process::Command;
use std::sync::mpsc;
use std::thread;

use super::compare::{Maze, NATIVE};
use super::*;
use crate::random::Random;
use crate::sys::file::RESOLVE_NO_XDEV;

/// Up to six bytes.
fn bytes(random: &mut Random) -> Vec<u8> {
    let length = random.below(7);
    (0..length).map(|_| random.below(256) as u8).collect()
}

const LASTS: [Last; 3] = [Last::Follow, Last::Keep, Last::Name];

#[test]
fn random_paths_end_where_the_kernel_ends() {
    let dir = tempfile::tempdir().unwrap();
    let maze = Maze::new(dir.path()).unwrap();
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut problems = Vec::new();
    for _ in 0..6_000 {
        let path = maze.path(&bytes(&mut random));
        let last = LASTS[random.below(3)];
        let restrict = if random.below(2) == 0 {
            0
        } else {
            random.below(32) as u64
        };
        problems.extend(maze.agree(&path, last, restrict).err());
    }
    problems.truncate(20);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// What fuzzing found.
#[test]
fn a_magic_link_with_a_slash_behind_it_leads_to_a_directory() {
    let dir = tempfile::tempdir().unwrap();
    let maze = Maze::new(dir.path()).unwrap();
    for path in [
        c"fdlink/",
        c"fdlink///",
        c"cwdlink/",
        c"fdlink/a",
        c"mine//",
    ] {
        for last in LASTS {
            assert_eq!(maze.agree(path, last, 0), Ok(()));
        }
    }
}

/// procfs and devtmpfs lie on other mounts than the root, as a last component and on the way.
#[test]
fn a_walk_that_may_not_cross_mounts_stays_on_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let maze = Maze::new(dir.path()).unwrap();
    for path in [
        c"/",
        c"/proc",
        c"/proc/",
        c"/proc/version",
        c"/dev/.",
        c"/proc/..",
    ] {
        for last in LASTS {
            for restrict in [0, RESOLVE_NO_SYMLINKS, RESOLVE_NO_XDEV] {
                assert_eq!(maze.agree(path, last, restrict), Ok(()));
            }
        }
    }
}

#[test]
fn the_process_of_a_folder_in_procfs() {
    use super::walker::process_of;
    for (path, process) in [
        ("/proc/7", Some(7)),
        ("/proc/7/fd", Some(7)),
        ("/proc/7/task/8", Some(7)),
        ("/proc/7/task/8/ns", Some(7)),
        ("/run/user/1000/jail/proc/7/map_files", Some(7)),
        ("/proc", None),
        ("/proc/sys/fs", None),
    ] {
        assert_eq!(process_of(path), process, "{path}");
    }
}

/// Another thread as the target, with a working directory of its own and, where that may be had, a root of its own: links
/// and `..` mean to the walk what they mean to that thread.
#[test]
fn the_walk_turns_where_the_target_turns() {
    let dir = tempfile::tempdir().unwrap();
    Maze::new(dir.path()).unwrap();
    let top = dir.path().canonicalize().unwrap();
    let (say_tid, tid) = mpsc::channel();
    let (ask, asked) = mpsc::channel::<CString>();
    let (answer, answers) = mpsc::channel();
    let thread = thread::spawn(move || {
        process::unshare_file_state().unwrap();
        let link = std::fs::read_link("/proc/thread-self").unwrap();
        let tid: i32 = link.file_name().unwrap().to_str().unwrap().parse().unwrap();
        std::env::set_current_dir(top.join("a/b")).unwrap();
        let jailed = std::os::unix::fs::chroot(top.join("a"));
        say_tid.send((tid, jailed.is_ok())).unwrap();
        while let Ok(path) = asked.recv() {
            let found = file::open_absolute(&path, libc::O_PATH).and_then(Object::new);
            answer.send(found).unwrap();
        }
    });
    let (tid, jailed) = tid.recv().unwrap();
    let target = Target::new(tid, NATIVE).unwrap();
    let mut paths = vec![c"up/../b/f", c"f", c"../f", c"./up/b/f", c"self/self/f"];
    if jailed {
        paths.extend([
            c"/",
            c"/..",
            c"/../f",
            c"/b/../../f",
            c"/b/../../../b/f",
            c"../../../f",
            c"/up/up/up/b/f",
            c"/abs/f",
            c"/b/abs/f",
            c"/cwdlink/f",
        ]);
    } else {
        paths.extend([
            c"/proc/thread-self/cwd/f",
            c"/proc/self/../thread-self/cwd/f",
        ]);
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: a target in a chroot, for want of privilege"
        );
    }
    for path in paths {
        ask.send(path.to_owned()).unwrap();
        let theirs = answers.recv().unwrap();
        for restrict in [0, RESOLVE_NO_MAGICLINKS] {
            let ours = walk(&target, Base(libc::AT_FDCWD), path, Last::Follow, restrict);
            let same = match (&ours, &theirs) {
                (Ok(spot), Ok(theirs)) => spot.object().is_some_and(|ours| ours.is(theirs)),
                (Ok(spot), Err(Errno::ENOENT)) => spot.object().is_none(),
                (Err(Trouble::Fault(ours)), Err(theirs)) => ours == theirs,
                _ => false,
            };
            let magic = restrict != 0 && path.to_bytes().starts_with(b"/proc");
            assert!(
                same || magic,
                "{path:?}: {ours:?}, for the thread {theirs:?}"
            );
        }
    }
    drop(ask);
    thread.join().unwrap();
}

/// A process as the target: its links in procfs are its own, and those of a process outside of the run are not followed.
#[test]
fn links_of_procfs_are_those_of_the_target() {
    let dir = tempfile::tempdir().unwrap();
    Maze::new(dir.path()).unwrap();
    let there = dir.path().canonicalize().unwrap().join("a/b");
    let mut child = Command::new("sleep")
        .arg("600")
        .current_dir(&there)
        .spawn()
        .unwrap();
    let target = Target::new(child.id() as i32, NATIVE).unwrap();
    let inode = std::fs::metadata(there.join("f")).unwrap().ino();
    let ask = |path: &str| {
        let path = CString::new(path).unwrap();
        walk(&target, Base(libc::AT_FDCWD), &path, Last::Follow, 0)
    };
    let mut problems = Vec::new();
    for own in ["self", "thread-self", &child.id().to_string()] {
        match ask(&format!("/proc/{own}/cwd/f")) {
            Ok(spot) if spot.object().is_some_and(|found| found.stat.ino == inode) => {}
            other => problems.push(format!("{own}: {other:?}")),
        }
    }
    // init, our own parent, and ourselves, who are not started by ourselves.
    for other in [1, std::process::id()] {
        match ask(&format!("/proc/{other}/root/etc")) {
            Err(Trouble::Foreign) => {}
            Err(Trouble::Fault(Errno::EACCES)) if other == 1 => {} // an ordinary user cannot even look
            other => problems.push(format!("another process: {other:?}")),
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn links_that_anybody_may_have_laid() {
    use super::walker::is_planted;
    let stat = |mode, uid| {
        let any = Object::new(file::open_absolute(c"/", libc::O_PATH).unwrap()).unwrap();
        Stat {
            mode: libc::S_IFDIR | mode,
            uid,
            ..any.stat
        }
    };
    let link = |uid| stat(0o777, uid);
    assert!(is_planted(&stat(0o1777, 0), &link(7)));
    assert!(is_planted(&stat(0o1773, 7), &link(0)));
    for (dir, link) in [
        (stat(0o1777, 7), link(7)),
        (stat(0o777, 0), link(7)),
        (stat(0o1775, 0), link(7)),
        (stat(0o755, 0), link(7)),
    ] {
        assert!(!is_planted(&dir, &link), "{:o}", dir.mode);
    }
}
