//! The grants of random policies in a throw-away home: nothing protected below any of them, and nothing free without one.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::Wall;
use crate::plan::{Below, Host, Mounts, Plan};
use crate::policy::{Level, parse};
use crate::random::Random;

/// Names of the tree, three levels deep.
const NAMES: [&str; 3] = ["a", "b", "c"];

struct World {
    _folder: tempfile::TempDir,
    home: PathBuf,
}

/// Device and inode.
type Key = (u64, u64);

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap().join("h");
        for (one, two, three) in NAMES.iter().flat_map(|one| {
            NAMES
                .iter()
                .flat_map(move |two| NAMES.iter().map(move |three| (one, two, three)))
        }) {
            fs::create_dir_all(home.join(one).join(two).join(three)).unwrap();
        }
        fs::write(home.join("a/file"), "").unwrap();
        Self {
            _folder: folder,
            home,
        }
    }

    fn plan(&self, text: &str) -> Plan {
        let host = Host {
            env: [("HOME".into(), OsString::from(&self.home))].into(),
            cwd: "/".into(),
            guard_binary: None,
            passwd_home: None,
            mounts: Mounts::parse(b"").unwrap(),
        };
        Plan::resolve(&parse(text, "test.toml").unwrap(), None, &host).unwrap()
    }

    /// All directories of the home, the parents first.
    fn directories(&self) -> Vec<PathBuf> {
        let mut all = vec![self.home.clone()];
        let mut next = 0;
        while next < all.len() {
            let inside = fs::read_dir(&all[next])
                .unwrap()
                .map(|entry| entry.unwrap().path());
            all.extend(inside.filter(|path| path.is_dir()).collect::<Vec<_>>());
            next += 1;
        }
        all
    }
}

fn key(path: &Path) -> Key {
    let facts = fs::symlink_metadata(path).unwrap();
    (facts.dev(), facts.ino())
}

fn granted(plan: &Plan) -> HashSet<Key> {
    let wall = Wall::build(plan).unwrap();
    wall.granted()
        .iter()
        .map(|stat| (stat.dev, stat.ino))
        .collect()
}

/// Whether the wall lets everything below a directory change.
fn open(grants: &HashSet<Key>, path: &Path) -> bool {
    path.ancestors().any(|above| grants.contains(&key(above)))
}

/// Whether anything at or below a directory is not free to change: by its level, by a glob, by a name that must stay.
fn protects(plan: &Plan, path: &Path) -> bool {
    let below = |other: &Path| other != path && other.starts_with(path);
    let place = |place: &crate::plan::Place| place.level != Level::Writable && below(&place.path);
    plan.lookup(path).level != Level::Writable
        || plan.places.iter().any(place)
        || plan.kept.iter().any(|kept| kept.path.starts_with(path))
        || plan.strict_globs_below(path) == Below::Stricter
}

/// A policy of up to six rules in the tree, some of which name what is not there, some with a glob.
fn policy(random: &mut Random) -> String {
    let levels = ["read-only", "add-only", "no-delete", "writable"];
    let default = ["writable", "writable", "no-delete", "read-only"][random.below(4)];
    let mut text = format!("version = 1\ndefault = \"{default}\"\n[paths]\n");
    let mut seen = HashSet::new();
    for _ in 0..=random.below(6) {
        let mut path = "~".to_owned();
        for _ in 0..random.below(4) {
            path += ["/a", "/b", "/c", "/new"][random.below(4)];
        }
        path += ["", "", "", "/**/*.key", "/*/x"][random.below(5)];
        if seen.insert(path.clone()) {
            let _ = writeln!(text, "\"{path}\" = \"{}\"", levels[random.below(4)]);
        }
    }
    text
}

#[test]
fn nothing_protected_lies_below_a_grant_and_nothing_free_goes_without() {
    let world = World::new();
    let directories = world.directories();
    let mut random = Random(0x2545_F491_4F6C_DD1D);
    let (mut opened, mut closed) = (0, 0);
    for _ in 0..800 {
        let text = policy(&mut random);
        let plan = world.plan(&text);
        let grants = granted(&plan);
        for path in &directories {
            if open(&grants, path) {
                opened += 1;
                assert!(
                    !protects(&plan, path),
                    "{} is granted by\n{text}",
                    path.display()
                );
            } else {
                closed += 1;
                assert!(
                    protects(&plan, path),
                    "{} is not granted by\n{text}",
                    path.display()
                );
            }
        }
        assert!(
            !grants.contains(&key(&world.home.join("a/file"))),
            "a file has a grant of its own\n{text}"
        );
    }
    assert!(
        opened > 500 && closed > 500,
        "{opened} open, {closed} closed"
    );
}

/// A protected folder, and one on the way to one, that got another name since the plan was made: by that name the plan
/// takes it for free.
#[test]
fn what_is_protected_is_not_granted_by_another_name() {
    let world = World::new();
    let at = |name: &str| world.home.join(name);
    let plan =
        world.plan("version = 1\n[paths]\n\"~/b\" = \"read-only\"\n\"~/a/a/a\" = \"read-only\"\n");
    fs::rename(at("b"), at("other")).unwrap();
    fs::rename(at("a/a"), at("c2")).unwrap();
    let grants = granted(&plan);
    for kept in ["other", "c2", "c2/a"] {
        assert!(!open(&grants, &at(kept)), "{kept}");
    }
    assert!(open(&grants, &at("c")), "the control");
}

/// What the plan took for a folder has become a link by the time the wall is built: neither the link nor what it leads to
/// is granted, listed or waited for.
#[test]
fn a_free_folder_that_became_a_link_opens_nothing() {
    let world = World::new();
    let plan = world.plan(
        "version = 1\ndefault = \"read-only\"\n[paths]\n\"~/a/b\" = \"writable\"\n\"~/c\" = \"writable\"\n\
         \"~/c/b/c\" = \"read-only\"\n",
    );
    let [kept, free] = ["b", "a/b"].map(|name| world.home.join(name));
    assert!(granted(&plan).contains(&key(&free)), "the control");
    for (name, to) in [("a/b", &kept), ("c/a", &kept), ("c/c", &world.home)] {
        let place = world.home.join(name);
        fs::rename(&place, world.home.join("away")).unwrap();
        std::os::unix::fs::symlink(to, &place).unwrap();
        fs::remove_dir_all(world.home.join("away")).unwrap();
    }
    let grants = granted(&plan);
    for path in [&kept, &world.home, &kept.join("a")] {
        assert!(!open(&grants, path), "{}", path.display());
    }
}

#[test]
fn a_folder_made_unreadable_or_known_by_another_name_is_not_granted() {
    let world = World::new();
    std::os::unix::fs::symlink(world.home.join("a"), world.home.join("b/link")).unwrap();
    let plan =
        world.plan("version = 1\ndefault = \"writable\"\n[paths]\n\"~/b/link\" = \"read-only\"\n");
    let grants = granted(&plan);
    assert!(
        !open(&grants, &world.home.join("a")),
        "what the link leads to"
    );
    assert!(!open(&grants, &world.home.join("b")), "where the link lies");
    assert!(open(&grants, &world.home.join("c")));
}

/// All devices, and folders of them, below `/dev`.
fn devices(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        let kind = entry.file_type().unwrap();
        if kind.is_dir()
            && fs::metadata(&path)
                .is_ok_and(|facts| facts.dev() == fs::metadata("/dev").unwrap().dev())
        {
            devices(&path, found);
        } else if kind.is_block_device() || kind.is_char_device() {
            found.push(path);
        }
    }
}

#[test]
fn devices_that_hold_file_systems_or_memory_are_never_granted() {
    let world = World::new();
    let plan =
        world.plan("version = 1\ndefault = \"writable\"\n[paths]\n\"~/a\" = \"read-only\"\n");
    let grants = granted(&plan);
    let mut all = Vec::new();
    devices(Path::new("/dev"), &mut all);
    let raw = |path: &PathBuf| {
        let kind = fs::metadata(path).unwrap().file_type();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let memory = path.parent() == Some(Path::new("/dev"))
            && ["mem", "kmem", "port"].contains(&name.as_str());
        kind.is_block_device() || memory || name.starts_with("sg")
    };
    for device in all.iter().filter(|path| raw(path)) {
        assert!(!open(&grants, device), "{}", device.display());
    }
    let holds_raw = all.iter().any(raw);
    for device in [
        "/dev/null",
        "/dev/zero",
        "/dev/full",
        "/dev/urandom",
        "/dev/ptmx",
    ]
    .map(Path::new)
    {
        assert!(
            !device.exists() || open(&grants, device),
            "{}",
            device.display()
        );
    }
    for console in all
        .iter()
        .filter(|path| holds_raw && path.starts_with("/dev/tty1"))
    {
        assert!(!open(&grants, console), "{}", console.display());
    }
    let shared = Path::new("/dev/shm");
    assert!(
        !shared.is_dir() || open(&grants, shared),
        "what is mounted there holds files"
    );
}

#[test]
fn all_is_granted_at_once_where_nothing_is_protected() {
    let world = World::new();
    let plan =
        world.plan("version = 1\ndefault = \"writable\"\n[paths]\n\"~/a\" = \"read-only\"\n");
    let wall = Wall::build(&plan).unwrap();
    let number = wall.granted().len();
    let mut beside = fs::read_dir("/dev").unwrap().count() + 2 * NAMES.len();
    for above in world.home.ancestors().skip(1) {
        beside += fs::read_dir(above).unwrap().count();
    }
    assert!(number <= beside, "{number} grants for {beside} neighbours");
}

#[test]
fn a_landlock_that_cannot_deny_truncation_is_not_enough() {
    let enough: Vec<bool> = (0..=7)
        .map(|found| super::build::enough(found).is_ok())
        .collect();
    assert_eq!(enough, [false, false, false, true, true, true, true, true]);
}
