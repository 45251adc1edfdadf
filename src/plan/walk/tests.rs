//! Tests of [`super`].
#![forbid(unsafe_code)]

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
