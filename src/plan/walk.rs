//! Walks a path component by component and notes every symbolic link on the way.
#![forbid(unsafe_code)]

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use super::expand::is_normal;
use super::tree::{Spot, Tree};
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
    seen: Tree<Option<Seen>>,
}

impl Walker {
    /// What is at a path; its last component is not followed.
    ///
    /// # Errors
    /// Anything but absence and a lack of rights.
    pub fn look(&mut self, path: &Path) -> Result<Seen, PlanError> {
        let mut spot = self.seen.start(path);
        let mut nothing = false;
        for name in path.components().filter(|part| *part != Component::RootDir) {
            // In what is missing, or is no directory, there is nothing: the kernel would say so again.
            nothing |= matches!(self.seen.value(spot), Some(Seen::Missing | Seen::Other(_)));
            spot = self.seen.grow(spot, name.as_os_str());
        }
        self.look_at(spot, || match nothing {
            true => None,
            false => Some(path),
        })
    }

    /// What is at a spot, which is remembered; `path` tells what to ask the kernel for, if it has to be asked.
    fn look_at<'p>(
        &mut self,
        spot: Spot,
        path: impl FnOnce() -> Option<&'p Path>,
    ) -> Result<Seen, PlanError> {
        if let Some(seen) = self.seen.value(spot) {
            return Ok(seen.clone());
        }
        let seen = match path() {
            None => Seen::Missing,
            Some(path) => lstat(path).map_err(|source| PlanError::Look {
                path: path.to_path_buf(),
                source,
            })?,
        };
        *self.seen.value_mut(spot) = Some(seen.clone());
        Ok(seen)
    }

    /// Follows an absolute path.
    ///
    /// # Errors
    /// Something on the way cannot be looked at.
    pub fn walk(&mut self, path: &Path) -> Result<Walked, PlanError> {
        match self.walk_straight(path)? {
            Some(walked) => Ok(walked),
            None => self.walk_links(path),
        }
    }

    /// Follows a path that is normal already and on which no link lies, as nearly all are: the path is what it says, so
    /// all there is to learn is how far it exists. None for any other.
    fn walk_straight(&mut self, path: &Path) -> Result<Option<Walked>, PlanError> {
        if !is_normal(path) {
            return Ok(None);
        }
        let mut spot = self.seen.start(path);
        let mut seen = self.look_at(spot, || Some(Path::new("/")))?;
        let mut names = path.components();
        names.next();
        while let Some(name) = names.next() {
            let Seen::Directory(_) = seen else { break };
            spot = self.seen.grow(spot, name.as_os_str());
            let rest = names.as_path().as_os_str().len();
            seen = self.look_at(spot, || Some(without_last(path, rest)))?;
            if let Seen::Link(..) = seen {
                return Ok(None);
            }
            // As far as there is something: a file on the way ends it as well.
            if let Seen::Other(_) = seen
                && rest > 0
            {
                seen = Seen::Missing;
            }
        }
        Ok(Some(Walked {
            path: Some(path.to_path_buf()),
            identity: seen.identity(),
            links: Vec::new(),
        }))
    }

    /// Follows any path, component by component.
    fn walk_links(&mut self, path: &Path) -> Result<Walked, PlanError> {
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

/// The start of a normal path, without the last so many bytes of names and the slash before them.
fn without_last(path: &Path, rest: usize) -> &Path {
    let bytes = path.as_os_str().as_bytes();
    let end = match rest {
        0 => bytes.len(),
        rest => bytes.len() - rest - 1,
    };
    Path::new(OsStr::from_bytes(&bytes[..end]))
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
mod tests;
