//! The throw-away homes of the demo: ten files of a coding agent that never was, and what became of them.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Every file of a home, with its text.
pub const FILES: [(&str, &str); 10] = [
    (
        ".pi/agent/AGENTS.md",
        "Answer briefly. Run the tests before you say that you are done.\n",
    ),
    (
        ".pi/agent/auth.json",
        "{\"provider\":{\"type\":\"oauth\",\"refresh\":\"not-a-secret\"}}\n",
    ),
    (
        ".pi/agent/extensions/greet.ts",
        "export default () => console.log(\"hello\");\n",
    ),
    (".pi/agent/models.json", "{\"models\":[]}\n"),
    (".pi/agent/npm/package.json", "{\"dependencies\":{}}\n"),
    (
        ".pi/agent/sessions/--home-you-notes--/monday.jsonl",
        "{\"type\":\"session\",\"version\":3,\"id\":\"n1\"}\n",
    ),
    (
        ".pi/agent/sessions/--home-you-web--/monday.jsonl",
        "{\"type\":\"session\",\"version\":3,\"id\":\"w1\"}\n",
    ),
    (
        ".pi/agent/sessions/--home-you-web--/now.jsonl",
        "{\"type\":\"session\",\"version\":3,\"id\":\"live\"}\n",
    ),
    (
        SESSION,
        "{\"type\":\"session\",\"version\":3,\"id\":\"test\"}\n",
    ),
    (".pi/agent/settings.json", "{\"theme\":\"dark\"}\n"),
];

/// The session that the test left behind.
pub const SESSION: &str = ".pi/agent/sessions/--home-you-web--/test.jsonl";

/// Marks a home that may be destroyed.
const MARKER: (&str, &str) = (".throwaway-home", "made by guard demo\n");

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It has the same bytes.
    Kept,
    /// It has other bytes, or something else has its name.
    Changed,
    /// It is gone.
    Lost,
}

impl Fate {
    /// In the table.
    pub fn word(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Changed => "CHANGED",
            Self::Lost => "lost",
        }
    }
}

/// Makes a folder of its own in `parent`, for its owner alone.
pub fn private_folder(parent: &Path) -> io::Result<PathBuf> {
    let parent = parent.canonicalize()?;
    let mut number = std::process::id();
    loop {
        let path = parent.join(format!("guard-demo-{number}"));
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                number = number.wrapping_add(1)
            }
            Err(error) => return Err(error),
        }
    }
}

/// Makes a home with all files.
pub fn furnish(home: &Path) -> io::Result<()> {
    for (name, text) in FILES.iter().chain([&MARKER]) {
        let path = home.join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, text)?;
    }
    Ok(())
}

/// Whether `home` was made by [`furnish`].
pub fn is_throwaway(home: &Path) -> bool {
    fs::read_to_string(home.join(MARKER.0)).is_ok_and(|text| text == MARKER.1)
}

/// What became of each of [`FILES`].
pub fn fates(home: &Path) -> Vec<Fate> {
    let fate = |(name, text): &(&str, &str)| match fs::read(home.join(name)) {
        Ok(bytes) if bytes == text.as_bytes() => Fate::Kept,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Fate::Lost,
        _ => Fate::Changed,
    };
    FILES.iter().map(fate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_is_furnished_marked_and_looked_after() {
        let top = tempfile::tempdir().unwrap();
        let home = private_folder(top.path()).unwrap();
        assert_ne!(home, private_folder(top.path()).unwrap());
        assert!(!is_throwaway(&home));
        assert_eq!(fates(&home), [Fate::Lost; FILES.len()]);
        furnish(&home).unwrap();
        assert!(is_throwaway(&home));
        assert_eq!(fates(&home), [Fate::Kept; FILES.len()]);
        fs::write(home.join(FILES[1].0), "{}").unwrap();
        assert_eq!(fates(&home)[1], Fate::Changed);
    }
}
