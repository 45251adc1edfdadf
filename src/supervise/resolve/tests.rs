//! The walk ends where the kernel ends.

use super::compare::Maze;
use super::*;

/// Bytes without a pattern, the same ones in every run (xorshift64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn bytes(&mut self) -> Vec<u8> {
        let length = self.next() % 7;
        (0..length).map(|_| (self.next() >> 32) as u8).collect()
    }
}

const LASTS: [Last; 3] = [Last::Follow, Last::Keep, Last::Name];

#[test]
fn random_paths_end_where_the_kernel_ends() {
    let dir = tempfile::tempdir().unwrap();
    let maze = Maze::new(dir.path()).unwrap();
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut problems = Vec::new();
    for _ in 0..6_000 {
        let path = maze.path(&random.bytes());
        let last = LASTS[(random.next() >> 40) as usize % 3];
        let restrict = if random.next() >> 60 < 8 {
            0
        } else {
            (random.next() >> 32) & 0x1F
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
