//! The page's file: the new one takes the old one's place as a whole, so that nobody ever sees half of one.

use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};

use crate::cli::words::Homes;

/// Why there is no page.
#[derive(Debug)]
pub struct Problem {
    place: PathBuf,
    error: io::Error,
}

impl Problem {
    /// For people.
    pub fn in_words(&self, homes: &Homes) -> String {
        let place = homes.place(&self.place.to_string_lossy());
        format!("cannot write {place}: {}", self.error)
    }
}

/// Puts these bytes there. A regular file is replaced, through links to it, and keeps its mode; a new one is for the user
/// alone, as the record is. What is no regular file (a FIFO, `/dev/stdout`) is written to.
pub fn put(target: &Path, bytes: &[u8]) -> Result<(), Problem> {
    let failed = |error| Problem {
        place: target.to_owned(),
        error,
    };
    match fs::metadata(target) {
        Ok(there) if there.is_file() => {
            let real = target.canonicalize().map_err(failed)?;
            replace(&real, Some(&there), bytes).map_err(failed)
        }
        // Opening a folder says what is wrong.
        Ok(_) => OpenOptions::new()
            .write(true)
            .open(target)
            .and_then(|mut file| file.write_all(bytes))
            .map_err(failed),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !target.is_symlink() => {
            replace(target, None, bytes).map_err(failed)
        }
        Err(error) => Err(failed(error)),
    }
}

fn replace(target: &Path, old: Option<&Metadata>, bytes: &[u8]) -> io::Result<()> {
    let dir = match target.parent() {
        Some(dir) if dir != Path::new("") => dir,
        _ => Path::new("."),
    };
    let mut file = tempfile::Builder::new()
        .prefix(".guard-")
        .tempfile_in(dir)
        .map_err(without_name)?;
    file.write_all(bytes)?;
    if let Some(old) = old {
        // Another user's file stays theirs where root replaces it; others may not give files away.
        let _ = fchown(file.as_file(), Some(old.uid()), Some(old.gid()));
        file.as_file().set_permissions(old.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(target)?;
    Ok(())
}

/// What the kernel said, without the name of the temporary file.
fn without_name(error: io::Error) -> io::Error {
    let cause = error.get_ref().and_then(|inner| inner.source());
    match cause.map(ToString::to_string) {
        Some(cause) => io::Error::new(error.kind(), cause),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_new_page_is_the_users_own_and_an_old_one_keeps_its_mode_and_its_links() {
        let top = tempfile::tempdir().unwrap();
        let (page, link) = (top.path().join("page.html"), top.path().join("link"));
        put(&page, b"one").unwrap();
        assert_eq!(mode(&page), 0o600);
        fs::set_permissions(&page, PermissionsExt::from_mode(0o644)).unwrap();
        symlink("page.html", &link).unwrap();
        put(&link, b"two").unwrap();
        assert_eq!(
            (fs::read(&page).unwrap(), mode(&page)),
            (b"two".to_vec(), 0o644)
        );
        assert!(link.is_symlink());
        assert_eq!(
            fs::read_dir(top.path()).unwrap().count(),
            2,
            "something is left over"
        );
    }

    #[test]
    fn what_cannot_be_written_is_named() {
        let top = tempfile::tempdir().unwrap();
        let homes = Homes::new(top.path());
        let error = |path: &str| {
            put(&top.path().join(path), b"x")
                .unwrap_err()
                .in_words(&homes)
        };
        assert!(error("absent/page.html").starts_with("cannot write ~/absent/page.html: "));
        fs::create_dir(top.path().join("folder")).unwrap();
        assert!(
            error("folder").starts_with("cannot write ~/folder: Is a directory"),
            "{}",
            error("folder")
        );
        symlink("nowhere", top.path().join("dangling")).unwrap();
        assert!(error("dangling").starts_with("cannot write ~/dangling: No such file"));
    }
}
