//! Where a row happens: the folders of its place in a fresh home, the policy, and what may not change.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};

use super::rows::{Place, Row};
use super::support::snapshot::{Compare, Entry, Snapshot};
use super::support::{Home, Who};

const POLICY: &str = r#"version = 1
default = "writable"
[paths]
"~/closed" = "read-only"
"~/add" = "add-only"
"~/nd" = "no-delete"
"~/glob/**/kept/**" = "read-only"
"#;

/// A home with the folders of a row.
pub struct Stage {
    pub home: Home,
    pub swap: &'static str,
    place: Place,
}

impl Stage {
    pub fn new(row: &Row, who: Who) -> Self {
        let stage = Self {
            home: Home::new_in(who, &fast()),
            swap: row.swap,
            place: row.place,
        };
        let at = |name: &str| stage.home.path.join(name);
        for name in ["free", "closed", "add", "nd", "glob"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        fs::create_dir_all(stage.kept_folder().join("d")).unwrap();
        fs::write(stage.kept_folder().join("f"), "kept\n").unwrap();
        if row.swap == "old-link" {
            let folder = stage.work().join("one/in");
            fs::create_dir_all(&folder).unwrap();
            fs::hard_link(stage.kept_folder().join("f"), folder.join("alias")).unwrap();
        }
        for name in ["free", "closed", "add", "nd", "glob"] {
            give(&at(name), who);
        }
        // What was made just now has to be older than the run for the clock of the file system, too.
        std::thread::sleep(std::time::Duration::from_millis(20));
        stage
    }

    /// Where the program makes its folders.
    pub fn work(&self) -> PathBuf {
        self.home.path.join(match self.place {
            Place::Granted => "free/work",
            Place::Made => "made",
            Place::AddOnly => "add/work",
            Place::NoDelete => "nd/work",
            Place::Glob => "glob/work",
        })
    }

    /// Where the other spot of calls with two is.
    pub fn aux(&self) -> PathBuf {
        self.home.path.join(match self.place {
            Place::Made => "aux",
            _ => "free/aux",
        })
    }

    /// What may not change.
    pub fn kept_folder(&self) -> PathBuf {
        self.home.path.join(match self.place {
            Place::Granted | Place::Made => "closed/kept",
            Place::AddOnly => "add/kept",
            Place::NoDelete => "nd/kept",
            Place::Glob => "glob/kept",
        })
    }

    pub fn policy(&self) -> PathBuf {
        let path = self.home.outside().join("policy.toml");
        fs::write(&path, POLICY).unwrap();
        path
    }

    /// What is kept, before the race.
    pub fn kept(&self) -> Snapshot {
        Snapshot::of(&self.kept_folder(), &[""])
    }

    /// What the race has changed.
    pub fn damage(&self, before: &Snapshot) -> Vec<String> {
        let changes = if self.swap.ends_with("names") {
            self.missing(before)
        } else {
            before.differences(&self.kept(), Compare::Exact)
        };
        changes.iter().map(|it| format!("DAMAGE: {it}")).collect()
    }

    /// Where names are swapped, what existed is known by its number, and its place is one of two.
    fn missing(&self, before: &Snapshot) -> Vec<String> {
        let mut now: BTreeMap<u64, Entry> = BTreeMap::new();
        for folder in [self.kept_folder(), self.work().join("one/in")] {
            let all = Snapshot::of(&folder, &[""]).0.into_values();
            now.extend(all.map(|entry| (entry.ino, entry)));
        }
        let mut lines = Vec::new();
        for (path, old) in &before.0 {
            // A folder's own times say that names in it were swapped.
            let same = |new: &&Entry| {
                let times = Entry {
                    mtime: old.mtime,
                    ..(*new).clone()
                };
                if old.kind == 'd' {
                    times == *old
                } else {
                    **new == *old
                }
            };
            if now.get(&old.ino).filter(same).is_none() {
                lines.push(format!("{} is {:?}", path.display(), now.get(&old.ino)));
            }
        }
        lines
    }
}

/// A file system without a disk where there is one: on others a file that is emptied and written again waits for its disk.
fn fast() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    if memory.is_dir() {
        memory
    } else {
        std::env::temp_dir()
    }
}

/// Gives everything there to the user.
fn give(path: &Path, who: Who) {
    chown(path, Some(who.uid()), Some(who.gid())).unwrap();
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            give(&entry.unwrap().path(), who);
        }
    }
}
