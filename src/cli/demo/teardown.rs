//! The teardown of the accident. It really deletes, so it works on a throw-away home alone.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::home::is_throwaway;
use crate::cli::{say, surroundings};

/// How many folders the teardown walks up.
const LEVELS: usize = 3;

/// Removes what `session` lies in, and what that lies in. Returns the exit status of a green test.
pub fn main(session: &Path) -> i32 {
    match surroundings::home()
        .ok_or("no home")
        .and_then(|home| targets(&home, session))
    {
        Ok(folders) => {
            let swallowed: usize = folders.iter().map(|folder| remove(folder)).sum();
            let _ = writeln!(
                io::stdout(),
                "tests 1, pass 1, fail 0 (errors that the teardown swallowed: {swallowed})"
            );
            0
        }
        Err(why) => {
            say(&format!("guard: the demo's teardown refuses: {why}\n"));
            1
        }
    }
}

/// The folders above `session`, nearest first; all of them strictly below a throw-away home.
fn targets(home: &Path, session: &Path) -> Result<Vec<PathBuf>, &'static str> {
    if !is_throwaway(home) {
        return Err("HOME is not a throw-away home that `guard demo` made");
    }
    let home = home.canonicalize().map_err(|_| "HOME cannot be found")?;
    let session = session
        .canonicalize()
        .map_err(|_| "there is no such session")?;
    let folders: Vec<_> = session
        .ancestors()
        .skip(1)
        .take(LEVELS)
        .map(Path::to_owned)
        .collect();
    if folders.len() < LEVELS
        || folders
            .iter()
            .any(|folder| *folder == home || !folder.starts_with(&home))
    {
        return Err("the session is not deep enough below HOME");
    }
    Ok(folders)
}

/// A recursive delete that goes on after errors, as `rm -rf` does. Returns how many there were; what is gone is none.
fn remove(folder: &Path) -> usize {
    let errors = match fs::read_dir(folder) {
        Ok(entries) => entries.flatten().map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => remove(&entry.path()),
            _ => counted(fs::remove_file(entry.path())),
        }),
        Err(error) => return counted(Err(error)),
    };
    errors.sum::<usize>() + counted(fs::remove_dir(folder))
}

fn counted(result: io::Result<()>) -> usize {
    usize::from(result.is_err_and(|error| error.kind() != io::ErrorKind::NotFound))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::demo::home::{FILES, Fate, SESSION, fates, furnish};

    #[test]
    fn it_takes_all_files_of_a_throwaway_home_and_nothing_beside_them() {
        let top = tempfile::tempdir().unwrap();
        let home = top.path().join("home");
        furnish(&home).unwrap();
        fs::write(home.join(".pi/beside"), "").unwrap();
        let folders = targets(&home, &home.join(SESSION)).unwrap();
        assert_eq!(
            folders.iter().map(|folder| remove(folder)).sum::<usize>(),
            0
        );
        assert_eq!(fates(&home), [Fate::Lost; FILES.len()]);
        assert!(home.join(".pi/beside").exists() && is_throwaway(&home));
    }

    #[test]
    fn it_refuses_any_other_home_and_places_outside_it() {
        let top = tempfile::tempdir().unwrap();
        let home = top.path().join("home");
        furnish(&home).unwrap();
        let elsewhere = top.path().join("a/b/c/d");
        fs::create_dir_all(&elsewhere).unwrap();
        fs::write(elsewhere.join("s"), "").unwrap();
        assert!(targets(&home, &elsewhere.join("s")).is_err());
        assert!(targets(&home, &home.join(".pi/agent/auth.json")).is_err());
        fs::remove_file(home.join(".throwaway-home")).unwrap();
        assert!(targets(&home, &home.join(SESSION)).is_err());
    }
}
