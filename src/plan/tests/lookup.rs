//! Which rule holds.

use super::*;

#[test]
fn the_most_specific_path_wins() {
    let world = World::new();
    let plan = world.plan(
        "default = 'no-delete'\n\n'~' = 'read-only'\n'~/a' = 'writable'\n'~/a/b' = 'add-only'",
    );
    let level = |path: &str| plan.level(&world.path(path));
    assert_eq!(level("~/x"), Level::ReadOnly);
    assert_eq!(level("~/a/x/y"), Level::Writable);
    assert_eq!(level("~/a/b"), Level::AddOnly);
    assert_eq!(
        level("~/a/bc"),
        Level::Writable,
        "a name is not a prefix of another"
    );
    assert_eq!(level("w/x"), Level::NoDelete);
    assert_eq!(plan.lookup(&world.path("w/x")).rule, None);
    assert_eq!(plan.shown(&world.path("~/a/b/c")), "~/a/b");
}

#[test]
fn of_equals_the_stricter_wins() {
    let world = World::new();
    for lines in [
        "'~/a' = 'add-only'\n'~/a/' = 'writable'",
        "'~/a' = 'writable'\n'~/./a' = 'add-only'",
    ] {
        let plan = world.plan(lines);
        assert_eq!(plan.level(&world.path("~/a/x")), Level::AddOnly, "{lines}");
        assert_eq!(
            plan.places
                .iter()
                .filter(|place| place.path == world.path("~/a"))
                .count(),
            1
        );
    }
}

#[test]
fn globs_are_as_specific_as_what_they_match() {
    let world = World::new();
    let plan = world.plan("'**/*.key' = 'read-only'\n'~/a' = 'add-only'\n'~/a/*/open' = 'writable'\n'~/s/*' = 'no-delete'");
    let level = |path: &str| plan.level(&world.path(path));
    assert_eq!(level("w/deep/x.key"), Level::ReadOnly);
    assert_eq!(
        level("w/x.key/inside"),
        Level::ReadOnly,
        "what is below a match"
    );
    assert_eq!(level("~/a/x.key"), Level::ReadOnly, "longer than ~/a");
    assert_eq!(level("~/a/b"), Level::AddOnly);
    assert_eq!(level("~/a/b/open/c"), Level::Writable);
    assert_eq!(
        level("~/a/b/c/open"),
        Level::AddOnly,
        "a star stays in one component"
    );
    assert_eq!(level("~/s"), Level::Writable);
    assert_eq!(level("~/s/x/y"), Level::NoDelete);
    assert_eq!(plan.shown(&world.path("w/x.key")), "**/*.key");
    assert_eq!(plan.shown(&world.path("~/s/x")), "~/s/*");
}

#[test]
fn a_glob_and_a_path_that_are_equal() {
    let world = World::new();
    let plan = world.plan(
        "'~/a/x' = 'writable'\n'~/a/*' = 'read-only'\n'~/b/x' = 'read-only'\n'~/b/*' = 'writable'",
    );
    assert_eq!(plan.level(&world.path("~/a/x")), Level::ReadOnly);
    assert_eq!(plan.level(&world.path("~/b/x")), Level::ReadOnly);
    assert_eq!(plan.level(&world.path("~/b/y")), Level::Writable);
}

#[test]
fn strict_globs() {
    let world = World::new();
    let strict = |lines: &str| !world.plan(lines).strict_globs().is_empty();
    assert!(strict("'**/*.key' = 'read-only'"));
    assert!(
        strict("'~' = 'read-only'\n'~/w' = 'writable'\n'~/**/*.key' = 'add-only'"),
        "in the hole"
    );
    assert!(!strict("'~' = 'read-only'\n'~/**/*.key' = 'add-only'"));
    let beside = |glob: &str, open: &str| {
        strict(&format!(
            "'~/a' = 'read-only'\n'~/a/{glob}' = 'add-only'\n'~/a/{open}' = 'writable'"
        ))
    };
    assert!(!beside("*.lock", "logs") && !beside("*.lock", "x.lock/logs"));
    assert!(beside("*.lock", "x.lock"), "the stricter of equals");
    assert!(beside("*", "logs") && beside("**/*.lock", "logs") && beside("logs/*.lock", "logs"));
    assert!(!strict("'**/*.key' = 'writable'"));
    assert!(!strict("'~/a' = 'read-only'"));
    let plan = world.plan("'~/p/**/*.key' = 'read-only'");
    let below = |path: &str| plan.strict_globs_below(&world.path(path));
    assert_eq!(
        (below("~"), below("~/p/q"), below("w")),
        (Below::Stricter, Below::Stricter, Below::Nothing)
    );
}

#[test]
fn the_directory_of_a_strict_glob_keeps_its_name() {
    let world = World::new();
    world.dir("~/p");
    let plan = world.plan("'~/p/**/*.key' = 'read-only'");
    assert!(plan.keeps(&world.path("~/p")) && plan.keeps(&world.path("~")));
    assert!(
        !world
            .plan("'~/p/**/*.key' = 'writable'")
            .keeps(&world.path("~/p"))
    );
}

#[test]
fn devices_stay_usable_under_a_strict_default() {
    let world = World::new();
    let strict = world.plan("default = 'read-only'\n\n'~/a' = 'read-only'");
    assert_eq!(strict.level(Path::new("/dev/null")), Level::Writable);
    assert_eq!(strict.level(Path::new("/proc/self/mem")), Level::Writable);
    assert_eq!(strict.level(Path::new("/etc")), Level::ReadOnly);
    let named =
        world.plan("default = 'read-only'\n\n'/dev' = 'no-delete'\n'/proc/sys' = 'add-only'");
    assert_eq!(named.level(Path::new("/dev/null")), Level::NoDelete);
    assert_eq!(named.level(Path::new("/proc/sys/x")), Level::AddOnly);
    assert_eq!(named.level(Path::new("/proc/1")), Level::Writable);
    let built_in = named.effect(Level::Writable, "built in");
    assert!(matches!(built_in[..], [Effect::Nothing(_), Effect::Holds]));
    let open = world.plan("'~/a' = 'read-only'");
    assert!(open.place(Path::new("/dev")).is_none());
}

#[test]
fn the_table() {
    let world = World::new();
    world.dir("~/a");
    let plan = world.plan("'~/a' = { level = 'add-only', why = 'x' }\n'~/a/' = 'writable'\n'${NOT_SET}' = 'read-only'\n'**/*.key' = 'read-only'");
    let rows = plan.table();
    assert_eq!(rows[0].targets.len(), 1);
    assert_eq!(rows[0].targets[0].0.identity, identity(&world.path("~/a")));
    assert_eq!(rows[0].targets[0].1, None);
    assert_eq!(rows[1].targets[0].1, Some(RuleId(0)));
    assert_eq!(
        rows[2].rule.effect,
        Effect::Nothing("$NOT_SET is not set".into())
    );
    assert_eq!(rows[2].rule.shown, "${NOT_SET}");
    assert_eq!(rows[0].rule.origin.to_string(), "test.toml:4");
    assert!(
        !plan.notices.iter().any(|notice| notice.contains("NOT_SET")),
        "{:?}",
        plan.notices
    );
}
