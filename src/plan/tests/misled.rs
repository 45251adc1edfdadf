//! What a HOME that names another place, and links that an earlier run may have laid, cannot open.

use super::*;
use crate::policy::discover::load;

/// What `default` says in this world.
fn default(world: &World) -> Plan {
    Plan::resolve(&load("default").unwrap(), None, &world.host()).unwrap()
}

/// Whether a notice has these words.
fn said(plan: &Plan, words: &str) -> bool {
    plan.notices.iter().any(|notice| notice.contains(words))
}

/// Programs ask the environment or the user database where home is: what either says is protected.
#[test]
fn home_in_the_environment_and_home_in_the_user_database() {
    let mut world = World::new();
    let real = world.dir("real");
    for folder in ["real/.pi/agent", "real/proj", "other", "home"] {
        world.dir(folder);
    }
    let resolve = |world: &World| {
        let host = Host {
            passwd_home: Some(real.clone()),
            ..world.host()
        };
        Plan::resolve(&load("default").unwrap(), None, &host).unwrap()
    };
    for (home, path, level) in [
        ("home", "real/.pi/agent/x", Level::ReadOnly),
        ("home", "real/.pi/agent/sessions/x", Level::AddOnly),
        ("home", "real/x", Level::NoDelete),
        ("home", "home/x", Level::NoDelete),
        ("home", "home/.pi/agent/x", Level::ReadOnly),
        ("home", "home/.cache/x", Level::Writable),
        ("real", "real/.cache/x", Level::Writable),
        ("real", "other/x", Level::Writable),
        // It names what is protected.
        ("real/.pi/agent", "real/.pi/agent/x", Level::ReadOnly),
        ("real/.pi/agent", "real/.pi/agent/.cache/x", Level::ReadOnly),
        ("real/.pi/agent", "real/.ssh/x", Level::ReadOnly),
        ("real/.pi/agent", "real/x", Level::NoDelete),
    ] {
        world.set("HOME", world.path(home));
        let plan = resolve(&world);
        assert_eq!(plan.level(&world.path(path)), level, "HOME={home}: {path}");
        let odd = said(&plan, "makes anything there looser");
        assert_eq!(odd, home == "real/.pi/agent", "{:?}", plan.notices);
    }
    world.set("HOME", world.path("home"));
    world.cwd = world.path("real/proj");
    assert_eq!(
        resolve(&world).level(&world.path("real/proj/x")),
        Level::Writable,
        "a workspace in the other home"
    );
    world.cwd = real.clone();
    assert_eq!(resolve(&world).level(&real.join("x")), Level::NoDelete);
}

/// A run may make a link of what is its own to remove; the next run must not follow it to what is not.
#[test]
fn a_link_in_the_place_of_a_cache() {
    let mut world = World::new();
    for folder in ["home/Docs", "big/cache"] {
        world.dir(folder);
    }
    world.set("HOME", world.path("home"));
    let level = |plan: &Plan, path: &str| plan.level(&world.path(path));
    let cache = world.link(world.path("home/Docs"), "home/.cache");
    let plan = default(&world);
    assert_eq!(level(&plan, "home/Docs/x"), Level::NoDelete);
    assert!(
        said(&plan, "a symbolic link leads to"),
        "{:?}",
        plan.notices
    );
    fs::remove_file(&cache).unwrap();
    // On the way to one as well: what was moved to the name that the rule has.
    world.dir("home/x/registry");
    let cargo = world.link(world.path("home/x"), "home/.cargo");
    let plan = default(&world);
    assert_eq!(level(&plan, "home/x/registry/f"), Level::NoDelete);
    assert!(
        said(&plan, "a symbolic link leads to"),
        "{:?}",
        plan.notices
    );
    fs::remove_file(&cargo).unwrap();
    world.link(world.path("big/cache"), "home/.cache");
    let plan = default(&world);
    assert_eq!(level(&plan, "big/cache/x"), Level::Writable);
    assert!(plan.notices.is_empty(), "{:?}", plan.notices);
}
