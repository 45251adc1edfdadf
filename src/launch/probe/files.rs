//! Trying what guard does with files: walls, paths without links, identities.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::{Report, Verdict};
use crate::launch::{advice, sandbox};
use crate::sys::file::{self, OpenHow, RESOLVE_NO_MAGICLINKS, RESOLVE_NO_SYMLINKS};
use crate::sys::{Errno, process};
use crate::wall::Wall;

/// A new folder that goes with the value.
pub struct Scratch(PathBuf);

impl Scratch {
    /// Makes one where temporary files belong.
    pub fn new() -> Result<Self, String> {
        let moment = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_nanos());
        let top = std::env::temp_dir();
        let path = top.join(format!("guard-doctor-{}-{moment}", std::process::id()));
        let made = DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|error| {
            format!(
                "cannot make one in {}: {error}; set TMPDIR to a folder that can be written",
                top.display()
            )
        })?;
        Ok(Self(path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::warn!(%error, path = %self.0.display(), "a folder is left behind");
        }
    }
}

/// openat2(2): a path without symbolic links is told from one with them.
pub fn try_openat2(report: &Report<'_>, folder: &Path) {
    report.row(0, openat2(folder));
}

fn openat2(folder: &Path) -> Verdict {
    let prepared = symlink(".", folder.join("link")).and_then(|()| File::open(folder));
    let dir = OwnedFd::from(prepared.map_err(|error| format!("cannot prepare the try: {error}"))?);
    let how = OpenHow {
        flags: libc::O_PATH as u64,
        mode: 0,
        resolve: RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    let missing = |errno| {
        format!(
            "the kernel answers {errno}: use Linux 5.6 or later; in a container, let its system call filter allow openat2"
        )
    };
    file::open(dir.as_fd(), c".", how).map_err(missing)?;
    match file::open(dir.as_fd(), c"link", how) {
        Err(Errno::ELOOP) => Ok("symbolic links in a path are noticed".into()),
        Err(errno) => Err(missing(errno)),
        Ok(_) => Err(
            "the kernel follows links that it was told not to: something answers in its place (gVisor?); run on Linux itself"
                .into(),
        ),
    }
}

/// A wall around a folder: everything inside can be changed, nothing outside.
pub fn try_landlock(report: &Report<'_>, folder: &Path) {
    report.row(0, landlock(folder));
}

fn landlock(folder: &Path) -> Verdict {
    let (inside, outside) = (folder.join("inside"), folder.join("outside"));
    furnish(&inside)
        .and_then(|()| furnish(&outside))
        .map_err(|error| format!("cannot prepare the try: {error}"))?;
    let granted =
        File::open(&inside).map_err(|error| format!("cannot prepare the try: {error}"))?;
    let privileges = sandbox::privileges();
    Wall::around(&granted.into())
        .and_then(|wall| wall.enforce(privileges))
        .map_err(|error| advice::with_causes(&error))?;
    let version = process::landlock_version().map_err(|errno| errno.to_string())?;
    for (what, act) in ACTIONS {
        match act(&outside) {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {}
            other => {
                return Err(format!(
                    "the wall does not stop a process that tries to {what} ({}): another supervisor may do its calls; start \
                     guard outside of it",
                    other.map_or_else(|error| error.to_string(), |()| "done".into())
                ));
            }
        }
    }
    for (what, act) in ACTIONS {
        act(&inside).map_err(|error| {
            format!(
                "the wall stops a process that may {what}: {error}; another sandbox stands in the way, start guard outside \
                 of it"
            )
        })?;
    }
    Ok(format!(
        "version {version}; {} kinds of change are refused outside a folder and possible inside",
        ACTIONS.len()
    ))
}

fn furnish(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir.join("folder"))?;
    for name in ["truncated", "written", "moved", "removed"] {
        fs::write(dir.join(name), "text")?;
    }
    Ok(())
}

/// What somebody does in a folder.
type Act = fn(&Path) -> io::Result<()>;

const ACTIONS: &[(&str, Act)] = &[
    ("make a file", |dir| {
        File::create_new(dir.join("new")).map(drop)
    }),
    ("make a folder", |dir| fs::create_dir(dir.join("newer"))),
    ("make a symbolic link", |dir| symlink(".", dir.join("link"))),
    ("write a file", |dir| {
        OpenOptions::new()
            .append(true)
            .open(dir.join("written"))
            .map(drop)
    }),
    ("truncate a file", |dir| {
        nix::unistd::truncate(&dir.join("truncated"), 0).map_err(io::Error::from)
    }),
    ("move a file", |dir| {
        fs::rename(dir.join("moved"), dir.join("folder/moved"))
    }),
    ("remove a file", |dir| fs::remove_file(dir.join("removed"))),
    ("remove a folder", |dir| {
        fs::remove_dir_all(dir.join("folder"))
    }),
];

/// statx(2): what tells an object from all others, also from one that has its inode number later.
pub fn try_statx(report: &Report<'_>, folder: &Path) {
    report.row(0, statx(folder));
}

fn statx(folder: &Path) -> Verdict {
    // A folder made just now: one from the making of a disk image may have none where others do.
    let held = File::open(folder).map_err(|error| format!("cannot open the folder: {error}"))?;
    let stat = file::stat(held.as_fd())
        .map_err(|errno| format!("the kernel answers {errno} to statx: use Linux 4.11 or later"))?;
    if stat.mount == 0 {
        return Err("the kernel tells no mount ids: use Linux 5.8 or later".into());
    }
    if stat.birth == 0 {
        return Err(
            "the file system of the temporary folder keeps no birth times, so what a run made is told by device and inode \
             number alone there: use ext4, xfs, btrfs, or tmpfs of Linux 6.6"
                .into(),
        );
    }
    Ok("every file can be told from all others, also from earlier ones".into())
}
