//! Walks a path component by component and notes every symbolic link on the way.
#![forbid(unsafe_code)]

use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use super::{Identity, PlanError};

/// As many links as the kernel follows (path_resolution(7)).
const MOST_LINKS: usize = 40;

/// What lstat(2) says of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A symbolic link, and its text.
    Link(Identity, PathBuf),
    /// A directory.
    Directory(Identity),
    /// Something else.
    Other(Identity),
    /// Nothing.
    Missing,
    /// A directory before it cannot be searched.
    Hidden,
}

impl Seen {
    /// What is there, if something is.
    #[must_use]
    pub fn identity(&self) -> Option<Identity> {
        match self {
            Self::Link(identity, _) | Self::Directory(identity) | Self::Other(identity) => {
                Some(*identity)
            }
            Self::Missing | Self::Hidden => None,
        }
    }
}

/// Where a link stands in the path that was walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// More components follow.
    Middle,
    /// The path ends with it.
    Last,
}

/// A symbolic link that was met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its own path, without links before its name.
    pub path: PathBuf,
    /// The link itself.
    pub identity: Identity,
    /// Where it stood.
    pub position: Position,
}

/// Where a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walked {
    /// The path without links, with the part that does not exist; none when links lead in a circle.
    pub path: Option<PathBuf>,
    /// What is there.
    pub identity: Option<Identity>,
    /// The links on the way.
    pub links: Vec<Link>,
}

/// Remembers what it has looked at.
#[derive(Debug, Default)]
pub struct Walker {
    seen: HashMap<PathBuf, Seen>,
}

impl Walker {
    /// What is at a path; its last component is not followed.
    ///
    /// # Errors
    /// Anything but absence and a lack of rights.
    pub fn look(&mut self, path: &Path) -> Result<Seen, PlanError> {
        if let Some(seen) = self.seen.get(path) {
            return Ok(seen.clone());
        }
        let seen = lstat(path).map_err(|source| PlanError::Look {
            path: path.to_path_buf(),
            source,
        })?;
        self.seen.insert(path.to_path_buf(), seen.clone());
        Ok(seen)
    }

    /// Follows an absolute path.
    ///
    /// # Errors
    /// Something on the way cannot be looked at.
    pub fn walk(&mut self, path: &Path) -> Result<Walked, PlanError> {
        let mut at = PathBuf::from("/");
        let mut ahead = names(path);
        let mut links = Vec::new();
        while let Some(name) = ahead.pop_front() {
            if name == ".." {
                at.pop();
                continue;
            }
            at.push(&name);
            match self.look(&at)? {
                Seen::Directory(_) => {}
                Seen::Other(_) if ahead.is_empty() => {}
                Seen::Link(identity, target) => {
                    let position = if ahead.is_empty() {
                        Position::Last
                    } else {
                        Position::Middle
                    };
                    links.push(Link {
                        path: at.clone(),
                        identity,
                        position,
                    });
                    if links.len() > MOST_LINKS {
                        return Ok(Walked {
                            path: None,
                            identity: None,
                            links,
                        });
                    }
                    at.pop();
                    if target.is_absolute() {
                        at = PathBuf::from("/");
                    }
                    let rest = std::mem::replace(&mut ahead, names(&target));
                    ahead.extend(rest);
                }
                Seen::Missing | Seen::Hidden | Seen::Other(_) => {
                    return Ok(Walked {
                        path: Some(append(at, ahead)),
                        identity: None,
                        links,
                    });
                }
            }
        }
        let identity = self.look(&at)?.identity();
        Ok(Walked {
            path: Some(at),
            identity,
            links,
        })
    }
}

/// The components of a path, `..` included.
fn names(path: &Path) -> VecDeque<OsString> {
    path.components()
        .filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir))
        .map(|part| part.as_os_str().to_owned())
        .collect()
}

/// Adds what does not exist, word by word.
fn append(mut path: PathBuf, names: VecDeque<OsString>) -> PathBuf {
    for name in names {
        if name == ".." {
            path.pop();
        } else {
            path.push(name);
        }
    }
    path
}

fn lstat(path: &Path) -> io::Result<Seen> {
    let facts = match fs::symlink_metadata(path) {
        Ok(facts) => facts,
        Err(error) => {
            return match error.kind() {
                io::ErrorKind::NotFound
                | io::ErrorKind::NotADirectory
                | io::ErrorKind::InvalidFilename => Ok(Seen::Missing),
                io::ErrorKind::PermissionDenied => Ok(Seen::Hidden),
                _ => Err(error),
            };
        }
    };
    let identity = Identity {
        dev: facts.dev(),
        ino: facts.ino(),
    };
    Ok(if facts.is_symlink() {
        Seen::Link(identity, fs::read_link(path)?)
    } else if facts.is_dir() {
        Seen::Directory(identity)
    } else {
        Seen::Other(identity)
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A temporary directory whose own path holds no links.
    fn folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        (folder, path)
    }

    fn identity(path: &Path) -> Option<Identity> {
        let facts = fs::symlink_metadata(path).unwrap();
        Some(Identity {
            dev: facts.dev(),
            ino: facts.ino(),
        })
    }

    #[test]
    fn links_in_the_middle_and_at_the_end() {
        let (_keep, at) = folder();
        fs::create_dir_all(at.join("real/deep")).unwrap();
        symlink("real", at.join("middle")).unwrap();
        symlink("../middle/deep", at.join("real/last")).unwrap();
        let walked = Walker::default().walk(&at.join("middle/last")).unwrap();
        assert_eq!(walked.path, Some(at.join("real/deep")));
        assert_eq!(walked.identity, identity(&at.join("real/deep")));
        let links: Vec<_> = walked
            .links
            .iter()
            .map(|link| (link.path.clone(), link.position))
            .collect();
        let expected = [
            (at.join("middle"), Position::Middle),
            (at.join("real/last"), Position::Last),
            (at.join("middle"), Position::Middle),
        ];
        assert_eq!(links, expected);
        assert_eq!(
            Some(walked.links[1].identity),
            identity(&at.join("real/last"))
        );
    }

    #[test]
    fn what_does_not_exist() {
        let (_keep, at) = folder();
        symlink("gone/x", at.join("dangling")).unwrap();
        fs::write(at.join("file"), "").unwrap();
        let end = |path: &str| Walker::default().walk(&at.join(path)).unwrap();
        assert_eq!(
            (end("a/b").path, end("a/b").identity),
            (Some(at.join("a/b")), None)
        );
        assert_eq!(end("dangling").path, Some(at.join("gone/x")));
        assert_eq!(end("dangling").links.len(), 1);
        assert_eq!(
            (end("file/x").path, end("file/x").identity),
            (Some(at.join("file/x")), None)
        );
        assert_eq!(end("file").identity, identity(&at.join("file")));
    }

    #[test]
    fn circles_end() {
        let (_keep, at) = folder();
        symlink("b", at.join("a")).unwrap();
        symlink("a", at.join("b")).unwrap();
        let walked = Walker::default().walk(&at.join("a/x")).unwrap();
        assert_eq!(walked.path, None);
        assert!(walked.links.len() > MOST_LINKS);
    }

    #[test]
    fn the_root() {
        let walked = Walker::default().walk(Path::new("/../")).unwrap();
        assert_eq!(
            (walked.path, walked.identity),
            (Some("/".into()), identity(Path::new("/")))
        );
    }
}
