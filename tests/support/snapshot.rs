//! A tree as it was at one moment, exact to the byte, mode, owner, time, attribute and inode, and what differs between two.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// One entry of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub kind: char,
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    pub nlink: u64,
    pub ino: u64,
    pub size: u64,
    pub mtime: (i64, i64),
    /// The bytes of a file, the target of a link.
    pub content: Vec<u8>,
    /// Extended attributes, without those that an overlay mount leaves on its folders.
    pub xattrs: BTreeMap<String, Vec<u8>>,
    /// Inode flags of files and directories (immutable, nodump); 0 where the file system has none.
    pub flags: i64,
}

/// What to leave out when two trees are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Compare<'a> {
    /// Everything but atime and ctime.
    Exact,
    /// Two runs of one thing: inode numbers and the times of "now" (later than the given second) differ by nature, and
    /// so do the bytes of the files whose path contains one of the words.
    Alike { since: i64, loose: &'a [&'a str] },
}

/// The entries by their path from the top; the top itself is ``.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot(pub BTreeMap<PathBuf, Entry>);

impl Snapshot {
    /// Everything at and below each of `names` in `top`; what is missing is not in it.
    pub fn of(top: &Path, names: &[&str]) -> Self {
        let mut found = BTreeMap::new();
        for name in names {
            add(top, Path::new(name), &mut found);
        }
        Self(found)
    }

    /// What changed from `self` to `after`, one line each.
    pub fn differences(&self, after: &Self, how: Compare<'_>) -> Vec<String> {
        let mut lines = Vec::new();
        for (path, old) in &self.0 {
            match after.0.get(path) {
                None => lines.push(format!("{} is gone", path.display())),
                Some(new) => lines.extend(
                    entry_differences(path, old, new, how)
                        .into_iter()
                        .map(|d| format!("{}: {d}", path.display())),
                ),
            }
        }
        for (path, entry) in &after.0 {
            if !self.0.contains_key(path) {
                lines.push(format!(
                    "{} is new ({} {:o})",
                    path.display(),
                    entry.kind,
                    entry.mode
                ));
            }
        }
        lines
    }
}

fn add(top: &Path, name: &Path, found: &mut BTreeMap<PathBuf, Entry>) {
    let path = top.join(name);
    let Ok(meta) = path.symlink_metadata() else {
        return;
    };
    let kind = match meta.file_type() {
        t if t.is_dir() => 'd',
        t if t.is_file() => 'f',
        t if t.is_symlink() => 'l',
        t if t.is_fifo() => 'p',
        t if t.is_socket() => 's',
        t if t.is_char_device() => 'c',
        _ => 'b',
    };
    let content = match kind {
        'f' => std::fs::read(&path).unwrap_or_else(|e| format!("cannot be read: {e}").into_bytes()),
        'l' => std::fs::read_link(&path)
            .map(|t| t.as_os_str().as_bytes().to_vec())
            .unwrap_or_default(),
        _ => Vec::new(),
    };
    found.insert(
        name.to_path_buf(),
        Entry {
            kind,
            mode: meta.mode() & 0o7777,
            uid: meta.uid(),
            gid: meta.gid(),
            nlink: meta.nlink(),
            ino: meta.ino(),
            // A directory's size is the file system's own business.
            size: if kind == 'd' { 0 } else { meta.size() },
            mtime: (meta.mtime(), meta.mtime_nsec()),
            content,
            xattrs: xattrs(&path),
            flags: if kind == 'f' || kind == 'd' {
                flags(&path)
            } else {
                0
            },
        },
    );
    if kind == 'd' {
        let mut names: Vec<_> = std::fs::read_dir(&path)
            .into_iter()
            .flatten()
            .flatten()
            .map(|e| e.file_name())
            .collect();
        names.sort();
        for child in names {
            add(top, &name.join(child), found);
        }
    }
}

fn entry_differences(path: &Path, old: &Entry, new: &Entry, how: Compare<'_>) -> Vec<String> {
    let mut out = Vec::new();
    let mut note = |what: &str, a: String, b: String| {
        if a != b {
            out.push(format!("{what} was {a}, is {b}"));
        }
    };
    note("type", old.kind.to_string(), new.kind.to_string());
    note("mode", format!("{:o}", old.mode), format!("{:o}", new.mode));
    note("uid", old.uid.to_string(), new.uid.to_string());
    note("gid", old.gid.to_string(), new.gid.to_string());
    note(
        "xattrs",
        format!("{:?}", old.xattrs),
        format!("{:?}", new.xattrs),
    );
    note(
        "inode flags",
        format!("{:#x}", old.flags),
        format!("{:#x}", new.flags),
    );
    note("link count", old.nlink.to_string(), new.nlink.to_string());
    let (times, loose) = match how {
        Compare::Exact => {
            note("inode", old.ino.to_string(), new.ino.to_string());
            ((old.mtime, new.mtime), false)
        }
        Compare::Alike { since, loose } => {
            let class = |t: (i64, i64)| if t.0 >= since { (i64::MAX, 0) } else { t };
            let text = path.to_string_lossy();
            (
                (class(old.mtime), class(new.mtime)),
                loose.iter().any(|word| text.contains(word)),
            )
        }
    };
    note("mtime", format!("{:?}", times.0), format!("{:?}", times.1));
    if !loose {
        note("size", old.size.to_string(), new.size.to_string());
        if old.content != new.content {
            out.push(format!(
                "content was {:?}, is {:?}",
                short(&old.content),
                short(&new.content)
            ));
        }
    }
    out
}

fn short(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned()
}

fn c_path(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap()
}

fn xattrs(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let path = c_path(path);
    let mut names = vec![0_u8; 4096];
    // SAFETY: the path ends in NUL, and the buffer is as long as its length says.
    let n = unsafe { libc::llistxattr(path.as_ptr(), names.as_mut_ptr().cast(), names.len()) };
    names.truncate(usize::try_from(n).unwrap_or(0));
    let mut found = BTreeMap::new();
    for name in names
        .split(|b| *b == 0)
        .filter(|n| !n.is_empty() && !n.starts_with(b"trusted.overlay"))
    {
        let c_name = CString::new(name).unwrap();
        let mut value = vec![0_u8; 4096];
        // SAFETY: both strings end in NUL, and the buffer is as long as its length says.
        let n = unsafe {
            libc::lgetxattr(
                path.as_ptr(),
                c_name.as_ptr(),
                value.as_mut_ptr().cast(),
                value.len(),
            )
        };
        value.truncate(usize::try_from(n).unwrap_or(0));
        found.insert(String::from_utf8_lossy(name).into_owned(), value);
    }
    found
}

fn flags(path: &Path) -> i64 {
    let Ok(file) = std::fs::OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW)
        .open(path)
    else {
        return 0;
    };
    let mut flags: libc::c_long = 0;
    // SAFETY: the request writes at most one long, which `flags` is.
    let done = unsafe { libc::ioctl(file.as_raw_fd(), libc::FS_IOC_GETFLAGS, &raw mut flags) };
    // The extents flag says how the file system stores the file, and inline data how small it is.
    if done == 0 { flags & !0x1008_0000 } else { 0 }
}

/// Sets one `user.` attribute; false where the file system has none.
pub fn set_xattr(path: &Path, name: &str, value: &[u8]) -> bool {
    let path = c_path(path);
    let name = CString::new(name).unwrap();
    // SAFETY: both strings end in NUL, and the value is as long as its length says.
    unsafe {
        libc::lsetxattr(
            path.as_ptr(),
            name.as_ptr(),
            value.as_ptr().cast(),
            value.len(),
            0,
        ) == 0
    }
}

/// Sets the modification time, to the nanosecond, of `path` itself.
pub fn set_mtime(path: &Path, seconds: i64, nanoseconds: i64) {
    let time = nix::sys::time::TimeSpec::new(seconds, nanoseconds);
    nix::sys::stat::utimensat(
        nix::fcntl::AT_FDCWD,
        path,
        &time,
        &time,
        nix::sys::stat::UtimensatFlags::NoFollowSymlink,
    )
    .unwrap();
}
