//! The repository of the working directory, and what its version control writes elsewhere.
#![forbid(unsafe_code)]

use std::fs;
use std::path::{Path, PathBuf};

use super::expand::normalise;

/// The nearest directory at or above `cwd` that git would take for a repository; `cwd` itself where there is none.
#[must_use]
pub fn top(cwd: &Path) -> &Path {
    let repository = |directory: &&Path| is_repository(&directory.join(".git"));
    cwd.ancestors().find(repository).unwrap_or(cwd)
}

/// Whether a `.git` is more than a name: a folder with a HEAD, or a file that names such a folder.
fn is_repository(git: &Path) -> bool {
    match fs::symlink_metadata(git) {
        Ok(facts) if facts.is_file() => small(git).is_some_and(|text| text.starts_with("gitdir:")),
        Ok(_) => git.join("HEAD").symlink_metadata().is_ok(),
        Err(_) => false,
    }
}

/// The repository of a worktree or submodule, when its `.git` file names one elsewhere that names this directory in turn
/// (gitrepository-layout(5)). A `.git` file alone proves nothing: any command can write one.
#[must_use]
pub fn elsewhere(top: &Path) -> Vec<PathBuf> {
    let Some(own) = small(&top.join(".git"))
        .as_deref()
        .and_then(|text| named(text, "gitdir:", top))
    else {
        return Vec::new();
    };
    if !own.join("HEAD").is_file() {
        return Vec::new();
    }
    worktree(top, &own)
        .or_else(|| submodule(top, own))
        .unwrap_or_default()
}

/// The folders that version control keeps beside the work, and the repository elsewhere of a worktree or submodule.
#[must_use]
pub fn version_control(top: &Path) -> Vec<PathBuf> {
    const NAMES: [&str; 5] = [".git", ".hg", ".svn", ".jj", ".bzr"];
    let there = |path: &PathBuf| path.symlink_metadata().is_ok();
    let beside = NAMES.map(|name| top.join(name)).into_iter().filter(there);
    beside.chain(elsewhere(top)).collect()
}

/// A worktree: `gitdir` points back, `commondir` names the repository, which holds this folder under `worktrees`.
fn worktree(top: &Path, own: &Path) -> Option<Vec<PathBuf>> {
    let back = named(&small(&own.join("gitdir"))?, "", own)?;
    let common = named(&small(&own.join("commondir"))?, "", own)?;
    let genuine = same(&back, &top.join(".git"))
        && common.join("objects").is_dir()
        && common.join("HEAD").is_file()
        && same(own.parent()?, &common.join("worktrees"));
    genuine.then(|| vec![common])
}

/// A submodule: `core.worktree` points back.
fn submodule(top: &Path, own: PathBuf) -> Option<Vec<PathBuf>> {
    let config = small(&own.join("config"))?;
    let value = config.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "worktree").then(|| value.trim().to_owned())
    })?;
    (same(&own.join(value), top) && own.join("objects").is_dir()).then(|| vec![own])
}

/// Whether two paths are the same existing thing.
fn same(a: &Path, b: &Path) -> bool {
    a.canonicalize()
        .is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}

/// The path that follows `key` on the first line, seen from `base`.
fn named(text: &str, key: &str, base: &Path) -> Option<PathBuf> {
    let value = text.lines().next()?.strip_prefix(key)?.trim();
    (!value.is_empty()).then(|| normalise(&base.join(value)))
}

/// The text of a regular file of a few lines.
fn small(path: &Path) -> Option<String> {
    let facts = fs::symlink_metadata(path).ok()?;
    (facts.is_file() && facts.len() <= 1 << 16)
        .then(|| fs::read_to_string(path).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A repository with a worktree beside it, laid out as git does.
    fn repository(at: &Path) -> (PathBuf, PathBuf) {
        let (common, tree) = (at.join("main/.git"), at.join("tree"));
        fs::create_dir_all(common.join("objects")).unwrap();
        write(&common.join("HEAD"), "ref: refs/heads/main\n");
        let own = common.join("worktrees/tree");
        write(&own.join("HEAD"), "ref: refs/heads/x\n");
        write(&own.join("commondir"), "../..\n");
        write(
            &own.join("gitdir"),
            &format!("{}\n", tree.join(".git").display()),
        );
        write(&tree.join(".git"), &format!("gitdir: {}\n", own.display()));
        (common, tree)
    }

    #[test]
    fn the_top_of_a_repository() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("r/a/b");
        fs::create_dir_all(&deep).unwrap();
        fs::create_dir(folder.path().join("r/.git")).unwrap();
        assert_eq!(top(&deep), deep, "an empty .git is no repository");
        write(&folder.path().join("r/.git/HEAD"), "ref: refs/heads/main");
        assert_eq!(top(&deep), folder.path().join("r"));
        assert_eq!(
            top(Path::new("/nonexistent/x")),
            Path::new("/nonexistent/x")
        );
    }

    #[test]
    fn a_worktree_has_its_repository() {
        let folder = tempfile::tempdir().unwrap();
        let (common, tree) = repository(folder.path());
        assert_eq!(elsewhere(&tree), [common]);
        assert!(
            elsewhere(&folder.path().join("main")).is_empty(),
            "a .git directory is part of its workspace"
        );
    }

    #[test]
    fn what_version_control_keeps() {
        let folder = tempfile::tempdir().unwrap();
        let (common, tree) = repository(folder.path());
        let top = folder.path().join("main");
        assert_eq!(version_control(&top), [top.join(".git")]);
        assert_eq!(version_control(&tree), [tree.join(".git"), common]);
        fs::create_dir(top.join(".jj")).unwrap();
        assert_eq!(version_control(&top), [top.join(".git"), top.join(".jj")]);
        assert!(version_control(folder.path()).is_empty());
    }

    #[test]
    fn a_git_file_that_is_not_answered_opens_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (_, tree) = repository(folder.path());
        let thief = folder.path().join("thief");
        write(
            &thief.join(".git"),
            &fs::read_to_string(tree.join(".git")).unwrap(),
        );
        assert!(elsewhere(&thief).is_empty());
        write(
            &thief.join(".git"),
            &format!("gitdir: {}\n", folder.path().display()),
        );
        assert!(elsewhere(&thief).is_empty());
        write(
            &folder.path().join("main/.git/worktrees/tree/commondir"),
            &folder.path().display().to_string(),
        );
        assert!(
            elsewhere(&tree).is_empty(),
            "the named repository does not hold the worktree"
        );
    }

    #[test]
    fn a_submodule_has_its_module() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("super/.git/modules/sub");
        fs::create_dir_all(own.join("objects")).unwrap();
        write(&own.join("HEAD"), "x");
        write(
            &own.join("config"),
            "[core]\n\tbare = false\n\tworktree = ../../../sub\n",
        );
        let sub = folder.path().join("super/sub");
        write(&sub.join(".git"), "gitdir: ../.git/modules/sub\n");
        assert_eq!(elsewhere(&sub), std::slice::from_ref(&own));
        write(&own.join("config"), "[core]\n\tworktree = ../../../other\n");
        assert!(elsewhere(&sub).is_empty());
    }
}
