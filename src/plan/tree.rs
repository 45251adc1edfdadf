//! A map from paths that is arranged as the paths are: one walk along a path meets everything above it, and ends where
//! nothing more is known. A policy has hundreds of places and most paths that are asked for share only their first names
//! with one, so this is far cheaper than to ask a hash map for every ancestor.
#![forbid(unsafe_code)]

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path};

use rustc_hash::FxHashMap;

/// Where [`Tree::nodes`] starts for relative paths, and for absolute ones.
const STARTS: [usize; 2] = [0, 1];

/// Values by path. Two spellings of a path are one, as for [`Path`]'s own equality.
#[derive(Clone, Debug)]
pub struct Tree<T> {
    nodes: Vec<Node<T>>,
}

#[derive(Clone, Debug, Default)]
struct Node<T> {
    /// Only the policy's own names get in, so nobody can fill it with names that collide.
    children: FxHashMap<OsString, usize>,
    value: T,
}

/// A place in a [`Tree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot(usize);

impl<T: Default> Default for Tree<T> {
    fn default() -> Self {
        Self {
            nodes: STARTS.map(|_| Node::default()).into(),
        }
    }
}

impl<T: Default> Tree<T> {
    /// The value of a path, which starts as the type's default.
    pub fn at(&mut self, path: &Path) -> &mut T {
        let mut spot = self.start(path);
        for name in names(path) {
            spot = self.grow(spot, name);
        }
        self.value_mut(spot)
    }

    /// What has this name in a directory, made if need be.
    pub fn grow(&mut self, spot: Spot, name: &OsStr) -> Spot {
        if let Some(child) = self.child(spot, name) {
            return child;
        }
        let child = self.nodes.len();
        self.nodes.push(Node::default());
        self.nodes[spot.0].children.insert(name.to_owned(), child);
        Spot(child)
    }
}

impl<T> Tree<T> {
    /// The root directory.
    pub const ROOT: Spot = Spot(STARTS[1]);

    /// The directory that a path starts from.
    #[must_use]
    pub fn start(&self, path: &Path) -> Spot {
        Spot(STARTS[usize::from(path.has_root())])
    }

    /// What has this name in a directory, if anything is known of it.
    #[must_use]
    pub fn child(&self, spot: Spot, name: &OsStr) -> Option<Spot> {
        self.nodes[spot.0].children.get(name).copied().map(Spot)
    }

    /// The value there.
    #[must_use]
    pub fn value(&self, spot: Spot) -> &T {
        &self.nodes[spot.0].value
    }

    /// The value there, to be changed.
    pub fn value_mut(&mut self, spot: Spot) -> &mut T {
        &mut self.nodes[spot.0].value
    }

    /// The value of exactly this path.
    #[must_use]
    pub fn get(&self, path: &Path) -> Option<&T> {
        self.find(path).map(|spot| self.value(spot))
    }

    /// The values of a path and of what it lies in, as far as they are known: the first is that of the root directory,
    /// and each further one is a name further down.
    pub fn along<'t>(&'t self, path: &'t Path) -> impl Iterator<Item = &'t T> {
        let mut next = Some(self.start(path));
        let mut names = names(path);
        std::iter::from_fn(move || {
            let spot = next?;
            next = names.next().and_then(|name| self.child(spot, name));
            Some(self.value(spot))
        })
    }

    /// The values of a path and of everything below it, in no order.
    pub fn below(&self, path: &Path) -> impl Iterator<Item = &T> {
        self.find(path)
            .into_iter()
            .flat_map(|spot| self.under(spot))
    }

    /// The same, of a spot.
    pub fn under(&self, spot: Spot) -> impl Iterator<Item = &T> {
        let mut waiting = vec![spot];
        std::iter::from_fn(move || {
            let spot = waiting.pop()?;
            waiting.extend(self.inside(spot));
            Some(self.value(spot))
        })
    }

    /// The spots that lie in one, in no order.
    pub fn inside(&self, spot: Spot) -> impl Iterator<Item = Spot> {
        self.nodes[spot.0].children.values().copied().map(Spot)
    }

    /// The names that are known in a directory.
    pub fn children(&self, path: &Path) -> impl Iterator<Item = &OsStr> {
        let known = self.find(path).map(|spot| &self.nodes[spot.0].children);
        known
            .into_iter()
            .flatten()
            .map(|(name, _)| name.as_os_str())
    }

    fn find(&self, path: &Path) -> Option<Spot> {
        names(path).try_fold(self.start(path), |spot, name| self.child(spot, name))
    }
}

/// The names of a path after the root directory.
fn names(path: &Path) -> impl Iterator<Item = &OsStr> {
    path.components()
        .filter(|part| *part != Component::RootDir)
        .map(Component::as_os_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(paths: &[&str]) -> Tree<u32> {
        let mut tree = Tree::default();
        for (number, path) in (1..).zip(paths) {
            *tree.at(Path::new(path)) = number;
        }
        tree
    }

    fn along(tree: &Tree<u32>, path: &str) -> Vec<u32> {
        tree.along(Path::new(path)).copied().collect()
    }

    fn below(tree: &Tree<u32>, path: &str) -> Vec<u32> {
        let mut found: Vec<u32> = tree.below(Path::new(path)).copied().collect();
        found.sort_unstable();
        found
    }

    #[test]
    fn a_walk_ends_where_nothing_is_known() {
        let tree = tree(&["/", "/a/b", "/a/c"]);
        assert_eq!(along(&tree, "/"), [1]);
        assert_eq!(along(&tree, "/x/y"), [1]);
        assert_eq!(along(&tree, "/a/b/x/y"), [1, 0, 2]);
        assert_eq!(tree.get(Path::new("/a/c")), Some(&3));
        assert_eq!(tree.get(Path::new("/a/cc")), None);
        assert_eq!(tree.get(Path::new("/a/c/x")), None);
    }

    #[test]
    fn everything_below() {
        let tree = tree(&["/a", "/a/b", "/ab"]);
        assert_eq!(below(&tree, "/a"), [1, 2]);
        assert_eq!(below(&tree, "/"), [0, 1, 2, 3]);
        assert!(below(&tree, "/a/b/c").is_empty());
        let mut names: Vec<_> = tree.children(Path::new("/")).collect();
        names.sort_unstable();
        assert_eq!(names, ["a", "ab"]);
    }

    #[test]
    fn spellings_of_a_path_are_one() {
        let tree = tree(&["/a//b/./c/", "a"]);
        assert_eq!(tree.get(Path::new("/a/b/c")), Some(&1));
        assert_eq!(tree.get(Path::new("/a/b/c/.")), Some(&1));
        assert_eq!(
            tree.get(Path::new("a")),
            Some(&2),
            "a relative path is another"
        );
        assert_eq!(tree.get(Path::new("/a")), Some(&0));
        assert_eq!(
            tree.get(Path::new("/a/b/../b/c")),
            None,
            "no path is worked out"
        );
    }
}
