//! The walk ends where the kernel ends.

use super::compare::Maze;
use super::*;
use crate::random::Random;

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
