//! Reading a configuration as the agent does, and putting another in its place as a whole.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

/// Bytes that a configuration may have.
const MOST: u64 = 16 << 20;

/// Why a file was not read or not changed.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system says no.
    #[error("{path}: {source}")]
    System {
        /// Which file.
        path: PathBuf,
        /// What it says.
        source: io::Error,
    },
    /// Its mode says that nobody is to write it.
    #[error("{path} is read-only (mode {mode:o}); `chmod u+w` it first if it is to be changed")]
    ReadOnly {
        /// Which file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// A symbolic link to nowhere.
    #[error("{path} is a symbolic link to {target}, which is not there")]
    Dangling {
        /// The link.
        path: PathBuf,
        /// What it names.
        target: PathBuf,
    },
    /// Not a file, too large, not text, or another than before.
    #[error("{path} {what}")]
    Unfit {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        what: &'static str,
    },
}

fn system(path: &Path) -> impl Fn(io::Error) -> FileError + '_ {
    |source| FileError::System {
        path: path.to_owned(),
        source,
    }
}

/// A configuration as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Current {
    /// The file itself, behind all symbolic links.
    pub real: PathBuf,
    /// What it holds; none if it is not there.
    pub text: Option<String>,
}

/// Reads a configuration that is to be changed.
pub fn read(path: &Path) -> Result<Current, FileError> {
    let unfit = |what| FileError::Unfit {
        path: path.to_owned(),
        what,
    };
    let real = match (path.canonicalize(), fs::read_link(path)) {
        (Ok(real), _) => real,
        (Err(error), Ok(target)) if error.kind() == ErrorKind::NotFound => {
            return Err(FileError::Dangling {
                path: path.to_owned(),
                target,
            });
        }
        (Err(error), _) if error.kind() == ErrorKind::NotFound => {
            return Ok(Current {
                real: behind_links(path),
                text: None,
            });
        }
        (Err(error), _) => return Err(system(path)(error)),
    };
    let data = real.metadata().map_err(system(&real))?;
    if !data.is_file() {
        return Err(unfit("is not a file"));
    }
    if data.len() > MOST {
        return Err(unfit("is too large for a configuration"));
    }
    let bytes = fs::read(&real).map_err(system(&real))?;
    let text = String::from_utf8(bytes).map_err(|_| unfit("is not UTF-8"))?;
    Ok(Current {
        real,
        text: Some(text),
    })
}

/// A path that is not there, behind the links on the way to it.
fn behind_links(path: &Path) -> PathBuf {
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => parent
            .canonicalize()
            .unwrap_or_else(|_| behind_links(parent))
            .join(name),
        _ => path.to_owned(),
    }
}

/// Says whether a file may be replaced.
pub fn may_replace(current: &Current) -> Result<(), FileError> {
    if current.text.is_none() {
        return Ok(());
    }
    let data = current.real.metadata().map_err(system(&current.real))?;
    let mode = data.mode() & 0o7777;
    if mode & 0o200 == 0 {
        return Err(FileError::ReadOnly {
            path: current.real.clone(),
            mode,
        });
    }
    let opened = File::options().write(true).open(&current.real);
    opened.map(drop).map_err(system(&current.real))
}

/// Puts `text` in the place of what is there, which has to be `current` still. Returns the folders that were made.
pub fn replace(current: &Current, text: &str, mode: u32) -> Result<Vec<PathBuf>, FileError> {
    may_replace(current)?;
    if read(&current.real)? != *current {
        return Err(FileError::Unfit {
            path: current.real.clone(),
            what: "was changed by somebody else in the meantime",
        });
    }
    let made = make_folder(&current.real)?;
    put(&current.real, text.as_bytes(), mode).map_err(system(&current.real))?;
    Ok(made)
}

/// Writes a file of guard's own.
pub fn write(path: &Path, bytes: &[u8], mode: u32) -> Result<(), FileError> {
    make_folder(path)?;
    if path.symlink_metadata().is_ok_and(|data| !data.is_file()) {
        return Err(FileError::Unfit {
            path: path.to_owned(),
            what: "is not a file",
        });
    }
    put(path, bytes, mode).map_err(system(path))?;
    fs::set_permissions(path, PermissionsExt::from_mode(mode)).map_err(system(path))
}

/// Removes a file, then the folders of `made` that are empty by now.
pub fn remove(path: &Path, made: &[PathBuf]) -> Result<(), FileError> {
    fs::remove_file(path).map_err(system(path))?;
    let mut folders: Vec<&PathBuf> = made.iter().collect();
    folders.sort_by_key(|folder| std::cmp::Reverse(folder.as_os_str().len()));
    for folder in folders {
        // One that somebody uses stays.
        let _ = fs::remove_dir(folder);
    }
    Ok(())
}

/// Makes the folder of a file. Returns what was made.
fn make_folder(path: &Path) -> Result<Vec<PathBuf>, FileError> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let missing = folder
        .ancestors()
        .take_while(|at| at.symlink_metadata().is_err());
    let made: Vec<PathBuf> = missing.map(Path::to_path_buf).collect();
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(system(folder))?;
    Ok(made)
}

/// Another file in the place of the one that is there, with its mode and its owner; never a half of it.
fn put(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut new = tempfile::Builder::new()
        .prefix(".guard-")
        .tempfile_in(folder)?;
    new.write_all(bytes)?;
    let mode = match path.metadata() {
        Ok(old) => {
            let mine = new.as_file().metadata()?;
            if (mine.uid(), mine.gid()) != (old.uid(), old.gid()) {
                fchown(new.as_file(), Some(old.uid()), Some(old.gid()))?;
            }
            old.mode() & 0o7777
        }
        Err(_) => mode,
    };
    new.as_file()
        .set_permissions(PermissionsExt::from_mode(mode))?;
    new.as_file().sync_all()?;
    new.persist(path)?;
    File::open(folder)?.sync_all()
}
