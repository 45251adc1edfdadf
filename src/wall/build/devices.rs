//! Folders of devices, made for the test: what of them is granted.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::*;
use crate::plan::{Host, Mounts};
use crate::policy::parse;

/// Device numbers of Documentation/admin-guide/devices.txt.
const MEMORY: (u32, u32, u32) = (libc::S_IFCHR, 1, 1);
const NULL: (u32, u32, u32) = (libc::S_IFCHR, 1, 3);
const CONSOLE: (u32, u32, u32) = (libc::S_IFCHR, 4, 1);
const GENERIC_DISK: (u32, u32, u32) = (libc::S_IFCHR, 21, 0);
const LOOP: (u32, u32, u32) = (libc::S_IFBLK, 7, 0);

/// One folder, and the names in it that have grants; `.` is the folder itself.
struct Row {
    nodes: &'static [(&'static str, (u32, u32, u32))],
    granted: &'static [&'static str],
}

const ROWS: &[Row] = &[
    Row {
        nodes: &[("null", NULL)],
        granted: &["."],
    },
    Row {
        nodes: &[("null", NULL), ("empty/", NULL)],
        granted: &["."],
    },
    Row {
        nodes: &[("null", NULL), ("input/event", NULL)],
        granted: &["."],
    },
    Row {
        nodes: &[("null", NULL), ("mem", MEMORY)],
        granted: &["null"],
    },
    Row {
        nodes: &[("null", NULL), ("sg0", GENERIC_DISK)],
        granted: &["null"],
    },
    Row {
        nodes: &[("null", NULL), ("loop0", LOOP)],
        granted: &["null"],
    },
    Row {
        nodes: &[
            ("null", NULL),
            ("loop0", LOOP),
            ("tty1", CONSOLE),
            ("vcs1", CONSOLE),
            ("tty", CONSOLE),
        ],
        granted: &["null", "tty"],
    },
    Row {
        nodes: &[("null", NULL), ("mapper/root", LOOP), ("mapper/null", NULL)],
        granted: &["null", "mapper/null"],
    },
    Row {
        nodes: &[("null", NULL), ("deep/mem", MEMORY), ("deep/null", NULL)],
        granted: &["null", "deep/null"],
    },
    Row {
        nodes: &[
            ("null", NULL),
            ("a/b/mem", MEMORY),
            ("a/null", NULL),
            ("plain/null", NULL),
        ],
        granted: &["null", "a/null", "plain"],
    },
];

fn make(top: &Path, (name, (kind, major, minor)): (&str, (u32, u32, u32))) -> Result<(), Errno> {
    let path = top.join(name);
    let parent = if name.ends_with('/') {
        &path
    } else {
        path.parent().unwrap()
    };
    std::fs::create_dir_all(parent).unwrap();
    if name.ends_with('/') {
        return Ok(());
    }
    let dir = open_path(None, &CString::new(parent.as_os_str().as_bytes()).unwrap())?;
    let last = CString::new(path.file_name().unwrap().as_bytes()).unwrap();
    file::make_node(
        dir.as_fd(),
        &last,
        kind | 0o600,
        libc::makedev(major, minor),
    )
}

#[test]
fn no_folder_with_a_raw_device_below_it_is_granted_as_a_whole() {
    let world = tempfile::tempdir().unwrap();
    let host = Host {
        env: [("HOME".into(), world.path().into())].into(),
        cwd: "/".into(),
        guard_binary: None,
        passwd_home: None,
        mounts: Mounts::parse(b"").unwrap(),
    };
    let policy = parse("version = 1\ndefault = \"writable\"\n", "test.toml").unwrap();
    let plan = Plan::resolve(&policy, None, &host).unwrap();
    for (number, row) in ROWS.iter().enumerate() {
        let top = world.path().join(number.to_string());
        std::fs::create_dir(&top).unwrap();
        for node in row.nodes {
            match make(&top, *node) {
                Err(Errno::EPERM) => return eprintln!("NOT RUN: only root can make devices"),
                made => made.unwrap(),
            }
        }
        let (ruleset, handled) = empty().unwrap();
        let mut builder = Builder::new(&plan, ruleset, handled);
        let dir = open_path(None, &CString::new(top.as_os_str().as_bytes()).unwrap()).unwrap();
        let stat = file::stat(dir.as_fd()).unwrap();
        builder.visit_devices(dir, stat).unwrap();
        let mut granted: Vec<u64> = builder.granted.iter().map(|stat| stat.ino).collect();
        let inode = |path: PathBuf| std::os::unix::fs::MetadataExt::ino(&path.metadata().unwrap());
        let mut expected: Vec<u64> = row
            .granted
            .iter()
            .map(|name| inode(top.join(name)))
            .collect();
        granted.sort_unstable();
        expected.sort_unstable();
        assert_eq!(
            granted,
            expected,
            "{:?}",
            row.nodes.iter().map(|node| node.0).collect::<Vec<_>>()
        );
    }
}
