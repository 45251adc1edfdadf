//! Where protected places are, and which names stay.

use std::os::unix::ffi::{OsStrExt, OsStringExt};

use super::*;
use crate::policy::discover::load;

#[test]
fn ancestors_keep_their_names() {
    let world = World::new();
    let root = world.dir("~/.pi/agent");
    world.dir("~/.pi/agent/sessions");
    let plan = world.plan("'~/.pi/agent' = 'read-only'\n'~/.pi/agent/sessions' = 'add-only'");
    for above in root.ancestors().skip(1) {
        let kept = plan
            .kept
            .iter()
            .find(|kept| kept.path == above)
            .unwrap_or_else(|| panic!("{}", above.display()));
        assert_eq!(Some(kept.identity), identity(above));
        assert_eq!(plan.names_below(above), Below::Stricter);
    }
    assert!(
        !plan.keeps(&root),
        "what lies inside a protected place needs no keeping"
    );
    assert_eq!(plan.names_below(&root), Below::Nothing);
    assert_eq!(plan.names_below(&world.path("w")), Below::Nothing);
    let paths: std::collections::HashSet<_> = plan.kept.iter().map(|kept| &kept.path).collect();
    assert_eq!(paths.len(), plan.kept.len());
}

#[test]
fn a_hole_has_its_own_gaps() {
    let world = World::new();
    world.dir("~/p/keys");
    let plan = world.plan("default = 'read-only'\n\n'~/p' = 'writable'\n'~/p/keys' = 'read-only'");
    assert!(plan.keeps(&world.path("~/p")));
    assert!(!plan.keeps(&world.path("~")));
    assert_eq!(plan.names_below(&world.path("~/p")), Below::Stricter);
    assert_eq!(plan.names_below(&world.path("~")), Below::Nothing);
}

#[test]
fn identities() {
    let world = World::new();
    let root = world.dir("~/a");
    let plan = world.plan("'~/a' = 'read-only'");
    assert_eq!(
        plan.place_by_identity(identity(&root).unwrap())
            .unwrap()
            .path,
        root
    );
    assert_eq!(
        plan.place_by_identity(identity(&world.path("w")).unwrap()),
        None
    );
}

#[test]
fn a_root_that_is_a_link() {
    let world = World::new();
    let real = world.dir("disk/pi");
    let link = world.link(&real, "~/.pi");
    let plan = world.plan("'~/.pi' = 'read-only'");
    assert_eq!(plan.place(&link).unwrap().identity, identity(&link));
    assert_eq!(plan.place(&real).unwrap().identity, identity(&real));
    assert_eq!(plan.level(&real.join("x")), Level::ReadOnly);
    assert!(plan.keeps(&world.path("disk")) && plan.keeps(&world.path("~")));
    assert!(plan.keeps(&link), "a link is kept wherever it stands");
    assert_eq!(plan.rule(RuleId(0)).targets.len(), 2);
}

#[test]
fn a_link_on_the_way_keeps_its_name() {
    let world = World::new();
    let real = world.dir("disk/pi/agent");
    let link = world.link("../disk/pi", "~/.pi");
    let plan = world.plan("'~/.pi/agent' = 'read-only'");
    assert!(plan.place(&link).is_none());
    assert_eq!(plan.place(&real).unwrap().level, Level::ReadOnly);
    let kept = plan.kept.iter().find(|kept| kept.path == link).unwrap();
    assert_eq!(Some(kept.identity), identity(&link));
    assert_eq!(
        plan.names_below(&world.path("~")),
        Below::Stricter,
        "the link is in it"
    );
    assert!(plan.keeps(&world.path("~")));
    let open = world.plan("'~/.pi/agent' = 'writable'");
    assert!(!open.keeps(&link));
}

#[test]
fn chains_dangling_links_and_circles() {
    let world = World::new();
    world.link("two", "~/one");
    world.link("gone/x", "~/two");
    let plan = world.plan("'~/one' = 'read-only'");
    for path in ["~/one", "~/two", "~/gone/x"] {
        assert_eq!(
            plan.place(&world.path(path)).map(|place| place.level),
            Some(Level::ReadOnly),
            "{path}"
        );
    }
    assert_eq!(plan.place(&world.path("~/gone/x")).unwrap().identity, None);

    world.link("b", "~/a");
    world.link("a", "~/b");
    let plan = world.plan("'~/a' = 'read-only'");
    assert!(plan.place(&world.path("~/a")).is_some() && plan.place(&world.path("~/b")).is_some());
    assert!(
        plan.notices.iter().any(|notice| notice.contains("circle")),
        "{:?}",
        plan.notices
    );
}

#[test]
fn a_root_that_does_not_exist_yet() {
    let world = World::new();
    world.link("disk", "data");
    world.dir("disk");
    let plan = world.plan("'@/data/new/deep' = 'read-only'");
    let place = plan.place(&world.path("disk/new/deep")).unwrap();
    assert_eq!(place.identity, None);
    assert!(plan.keeps(&world.path("disk")));
    assert!(!plan.keeps(&world.path("disk/new")), "it does not exist");
    assert_eq!(plan.names_below(&world.path("disk/new")), Below::Stricter);
    let missing = |path: &str| {
        plan.missing_below(&world.path(path))
            .any(|missing| missing == place)
    };
    assert!(
        missing("disk") && missing("disk/new/deep") && !missing("disk/new/deep/x") && !missing("w")
    );
}

#[test]
fn every_variable_moves_the_roots_and_the_default_places_stay() {
    let mut world = World::new();
    let moved = [
        ("PI_CODING_AGENT_DIR", "m/pi", "m/pi"),
        ("CLAUDE_CONFIG_DIR", "m/claude", "m/claude"),
        ("CODEX_HOME", "m/codex", "m/codex"),
        ("CODEX_SQLITE_HOME", "m/sqlite", "m/sqlite"),
        ("XDG_DATA_HOME", "m/data", "m/data/opencode"),
        ("XDG_CONFIG_HOME", "m/config", "m/config/opencode"),
        ("XDG_STATE_HOME", "m/state", "m/state/opencode"),
        ("OPENCODE_CONFIG", "m/opencode.json", "m/opencode.json"),
        ("OPENCODE_CONFIG_DIR", "m/oc", "m/oc"),
        ("OPENCODE_DB", "m/oc.db", "m/oc.db"),
    ];
    for (name, value, _) in moved {
        world.set(name, world.path(value));
    }
    world.set("PI_CODING_AGENT_SESSION_DIR", world.path("m/sessions"));
    world.set("PI_CONFIG_DIR", ".omp2");
    let plan = Plan::resolve(&load("default").unwrap(), None, &world.host()).unwrap();
    let more = [
        "~/.pi/agent",
        "~/.claude",
        "~/.claude.json",
        "~/.codex",
        "~/.local/share/opencode",
        "~/.config/opencode",
        "~/.local/state/opencode",
        "~/.omp",
        "~/.omp2",
        "~/.local/share/omp",
        "~/.local/state/omp",
        "m/data/omp",
        "m/state/omp",
        "~/.config/guard",
        "m/config/guard",
        "~/.local/state/guard",
        "m/state/guard",
    ];
    for path in moved.iter().map(|(_, _, path)| *path).chain(more) {
        assert_eq!(
            plan.level(&world.path(path).join("x")),
            Level::ReadOnly,
            "{path}"
        );
    }
    for (path, level) in [
        ("~/.cache/opencode", Level::Writable),
        ("~/.cache/omp", Level::Writable),
        ("~/.config", Level::NoDelete),
        ("~", Level::NoDelete),
        ("m", Level::Writable),
        ("w", Level::Writable),
        ("m/sessions", Level::AddOnly),
        ("m/oc.db-wal", Level::AddOnly),
        ("m/oc.db-shm", Level::AddOnly),
        ("m/oc.db-journal", Level::AddOnly),
    ] {
        assert_eq!(plan.level(&world.path(path)), level, "{path}");
    }
    assert!(plan.notices.is_empty(), "{:?}", plan.notices);
    assert_eq!(plan.on_attempt, OnAttempt::Report);
    let ci = Plan::resolve(&load("ci").unwrap(), None, &world.host()).unwrap();
    assert_eq!(
        (ci.on_attempt, ci.places.len()),
        (OnAttempt::Fail, plan.places.len())
    );
}

#[test]
fn the_running_guard_and_its_folders_cannot_be_opened() {
    let mut world = World::new();
    world.binary = Some(world.file("bin/guard", ""));
    let plan = world.plan(
        "'@/bin' = 'writable'\n'@/bin/guard' = 'writable'\n'~/.config/guard' = 'writable'\n'~/.local/state/guard/runs' = 'no-delete'\n'**/policy.toml' = 'writable'",
    );
    for path in [
        "bin/guard",
        "~/.config/guard/policy.toml",
        "~/.local/state/guard/runs/x",
        "~/.config/guard/shell/bash",
    ] {
        assert_eq!(plan.level(&world.path(path)), Level::ReadOnly, "{path}");
    }
    assert_eq!(plan.level(&world.path("bin/other")), Level::Writable);
    assert!(plan.keeps(&world.path("bin")));
    let said = plan
        .notices
        .iter()
        .filter(|notice| notice.contains("guard's own and stays read-only"))
        .count();
    assert_eq!(said, 3, "{:?}", plan.notices);
}

#[test]
fn paths_that_are_not_utf8() {
    let mut world = World::new();
    let mut name = world.at.clone().into_os_string().into_vec();
    name.extend(b"/\xff");
    let root = PathBuf::from(OsString::from_vec(name));
    fs::create_dir(&root).unwrap();
    world.set("CODEX_HOME", root.clone());
    let plan = world.plan("'${CODEX_HOME}' = 'read-only'\n'${CODEX_HOME}/*.x' = 'add-only'");
    assert_eq!(plan.place(&root).unwrap().identity, identity(&root));
    assert_eq!(plan.level(&root.join("a.x")), Level::AddOnly);
    let odd = Path::new(std::ffi::OsStr::from_bytes(b"\xfe.x"));
    assert_eq!(plan.level(&root.join(odd)), Level::AddOnly);
}

#[test]
fn a_home_behind_a_link() {
    let mut world = World::new();
    let real = world.dir("h/.pi/agent");
    world.link("h", "home");
    world.set("HOME", world.path("home"));
    let plan = world.plan("'~/.pi/agent' = 'read-only'\n'~/.pi/agent/tmp' = 'writable'");
    assert_eq!(plan.home, world.path("h"));
    assert_eq!(plan.level(&real), Level::ReadOnly);
    assert!(
        plan.keeps(&world.path("home")),
        "the link to the home directory keeps its name"
    );
    assert_eq!(
        plan.level(&real.join("tmp/x")),
        Level::Writable,
        "the machine's own links are no trap"
    );
    assert_eq!(plan.show(&real), "~/.pi/agent");
}

#[test]
fn home_that_is_the_root_directory() {
    let mut world = World::new();
    world.set("HOME", "/");
    let plan = world.plan("'~/no-such-root' = 'read-only'");
    assert_eq!(plan.level(Path::new("/no-such-root")), Level::ReadOnly);
    assert!(
        plan.notices[0].contains("the home directory is \"/\""),
        "{:?}",
        plan.notices
    );
    assert_eq!(plan.show(Path::new("/a")), "/a");
}
