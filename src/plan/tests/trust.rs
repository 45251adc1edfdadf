//! What the environment, the working directory, links and the workspace's policy cannot open.

use super::*;

/// The whole language's example: home is kept, the workspace is open.
const OPEN_WORKSPACE: &str =
    "'~' = 'no-delete'\n'${workspace}' = 'writable'\n'~/.pi/agent' = 'read-only'";

fn said(plan: &Plan, words: &str) -> bool {
    plan.notices.iter().any(|notice| notice.contains(words))
}

#[test]
fn a_workspace_in_home_is_open() {
    let mut world = World::new();
    world.file("~/proj/.git/HEAD", "ref: refs/heads/main\n");
    world.cwd = world.dir("~/proj/src");
    let plan = world.plan(OPEN_WORKSPACE);
    assert_eq!(plan.level(&world.path("~/proj/x")), Level::Writable);
    assert_eq!(plan.level(&world.path("~/other")), Level::NoDelete);
    assert!(plan.notices.is_empty(), "{:?}", plan.notices);
}

#[test]
fn a_workspace_that_is_home_holds_it_or_a_root_or_lies_in_one_stays_closed() {
    let mut world = World::new();
    world.dir("~/.pi/agent/sessions");
    for (cwd, level, why) in [
        ("~", Level::NoDelete, "~ is or holds the home directory"),
        ("", Level::NoDelete, "is or holds the home directory"),
        (
            "~/.pi",
            Level::NoDelete,
            "~/.pi holds the protected ~/.pi/agent",
        ),
        (
            "~/.pi/agent/sessions",
            Level::ReadOnly,
            "~/.pi/agent/sessions is in the protected ~/.pi/agent",
        ),
    ] {
        world.cwd = world.path(cwd);
        let plan = world.plan(&format!("default = 'no-delete'\n\n{OPEN_WORKSPACE}"));
        assert_eq!(plan.level(&world.cwd.join("x")), level, "{cwd}");
        assert!(said(&plan, why), "{cwd}: {:?}", plan.notices);
        assert!(matches!(
            plan.effect(Level::Writable, "test.toml")[0],
            Effect::Ignored(_)
        ));
        assert_eq!(plan.notices.len(), 1, "once: {:?}", plan.notices);
    }
    world.cwd = world.path("~/.pi/agent");
    assert_eq!(
        world
            .plan(OPEN_WORKSPACE)
            .level(&world.path("~/.pi/agent/x")),
        Level::ReadOnly
    );
}

#[test]
fn home_is_known_by_identity_too() {
    let world = World::new();
    let host = world.host();
    let draft = resolve::Draft::new(Level::Writable, &host).unwrap();
    let elsewhere = |real: &Path| Place {
        path: "/mnt/seen/elsewhere".into(),
        identity: identity(real),
        rule: RuleId(0),
        level: Level::Writable,
        via: Via::Named,
    };
    assert!(draft.is_home_or_above(&elsewhere(&world.path("~"))));
    assert!(draft.is_home_or_above(&elsewhere(&world.at)));
    assert!(!draft.is_home_or_above(&elsewhere(&world.path("w"))));
}

#[test]
fn a_workspace_may_hold_what_its_own_rules_protect() {
    let mut world = World::new();
    world.cwd = world.dir("~/proj");
    let plan = world
        .plan("'~' = 'no-delete'\n'${workspace}' = 'writable'\n'${workspace}/.env' = 'read-only'");
    assert_eq!(plan.level(&world.path("~/proj/.env")), Level::ReadOnly);
    assert_eq!(plan.level(&world.path("~/proj/x")), Level::Writable);
    let plan = world.plan(
        "'~' = 'read-only'\n'${workspace}' = 'no-delete'\n'${workspace}/target' = 'writable'",
    );
    assert_eq!(plan.level(&world.path("~/proj/x")), Level::NoDelete);
    assert_eq!(plan.level(&world.path("~/proj/target/x")), Level::Writable);
}

#[test]
fn a_variable_opens_nothing_that_is_protected() {
    let mut world = World::new();
    world.dir("~/.pi/agent");
    let lines = "'~' = 'no-delete'\n'~/.pi/agent' = 'read-only'\n'${tmp}' = 'writable'\n'${XDG_CACHE_HOME:-~/.cache}' = 'writable'";
    for (name, value, path, level) in [
        ("TMPDIR", "~/.pi/agent", "~/.pi/agent/x", Level::ReadOnly),
        (
            "TMPDIR",
            "~/.pi/agent/tmp",
            "~/.pi/agent/tmp/x",
            Level::ReadOnly,
        ),
        ("TMPDIR", "~/.pi", "~/.pi/x", Level::NoDelete),
        ("TMPDIR", "~", "~/x", Level::NoDelete),
        ("TMPDIR", "~/tmp", "~/tmp/x", Level::Writable),
        ("TMPDIR", "w/tmp", "w/tmp/x", Level::Writable),
        (
            "XDG_CACHE_HOME",
            "~/.pi/agent/..",
            "~/.pi/x",
            Level::NoDelete,
        ),
        ("XDG_CACHE_HOME", "~/cache2", "~/cache2/x", Level::Writable),
        ("XDG_CACHE_HOME", "w", "~/.cache/x", Level::NoDelete),
        ("UNUSED", "w", "~/.cache/x", Level::Writable),
    ] {
        world.env.truncate(1);
        world.set(name, world.path(value));
        let plan = world.plan(lines);
        assert_eq!(
            plan.level(&world.path(path)),
            level,
            "{name}={value}: {:?}",
            plan.notices
        );
    }
}

#[test]
fn of_two_variables_the_stricter_wins_in_any_order() {
    let mut world = World::new();
    world.set("STRICT", world.path("x"));
    world.set("LOOSE", world.path("x/tmp"));
    for lines in [
        "'${STRICT}' = 'read-only'\n'${LOOSE}' = 'writable'",
        "'${LOOSE}' = 'writable'\n'${STRICT}' = 'read-only'",
        "'${LOOSE}' = 'writable'\n'${STRICT}' = 'add-only'",
        "'${LOOSE}' = 'add-only'\n'${STRICT}' = 'read-only'",
    ] {
        let plan = world.plan(lines);
        let strict = plan.level(&world.path("x"));
        assert!(strict < Level::NoDelete, "{lines}");
        assert_eq!(plan.level(&world.path("x/tmp/y")), strict, "{lines}");
        assert!(said(&plan, "has no effect"), "{lines}");
    }
}

#[test]
fn a_planted_link_opens_nothing() {
    let world = World::new();
    world.dir("~/.pi/agent/sessions");
    world.link(".pi/agent/sessions", "~/.cache");
    let lines = "'~' = 'no-delete'\n'~/.pi/agent' = 'read-only'\n'~/.cache' = 'writable'";
    let plan = world.plan(lines);
    assert_eq!(
        plan.level(&world.path("~/.pi/agent/sessions/x")),
        Level::ReadOnly
    );
    assert!(
        said(&plan, "~/.cache = \"writable\" (test.toml:6) has no effect"),
        "{:?}",
        plan.notices
    );
    fs::remove_file(world.path("~/.cache")).unwrap();
    world.link("../w", "~/.cache");
    assert_eq!(
        world.plan(lines).level(&world.path("w/x")),
        Level::Writable,
        "an honest link is followed"
    );
}

#[test]
fn a_glob_below_a_variable_counts_as_the_variable() {
    let mut world = World::new();
    let lines = "'~' = 'no-delete'\n'~/.pi/agent' = 'read-only'\n'${tmp}/**/*.log' = 'writable'\n'${tmp}/*.key' = 'add-only'";
    world.set("TMPDIR", world.path("~/tmp"));
    assert_eq!(
        world.plan(lines).level(&world.path("~/tmp/a/b.log")),
        Level::Writable
    );
    world.set("TMPDIR", world.path("~/.pi/agent/tmp"));
    let plan = world.plan(lines);
    assert_eq!(
        plan.level(&world.path("~/.pi/agent/tmp/b.log")),
        Level::ReadOnly
    );
    assert_eq!(
        plan.level(&world.path("~/.pi/agent/tmp/b.key")),
        Level::ReadOnly
    );
}

#[test]
fn the_environment_may_close_everything_and_it_is_said() {
    let mut world = World::new();
    world.set("CODEX_HOME", "/");
    let plan = world.plan("'${CODEX_HOME}' = 'read-only'");
    assert_eq!(plan.level(&world.path("w")), Level::ReadOnly);
    assert!(
        said(
            &plan,
            "the environment makes all of / read-only (test.toml:4)"
        ),
        "{:?}",
        plan.notices
    );
}

#[test]
fn the_workspace_policy_only_makes_stricter() {
    let world = World::new();
    world.dir("~/.pi/agent");
    let base = "fail-on-attempt = false\n\n'~/.pi/agent' = 'read-only'\n'~/n' = 'no-delete'";
    let own = "default = 'writable'\nfail-on-attempt = true\n\n'~/.pi/agent/tmp' = 'writable'\n'~/n' = 'add-only'\n'~/n/x' = 'writable'\n'@/w' = 'read-only'\n'@/w/out' = 'writable'\n'~/.pi/**/*.jsonl' = 'no-delete'\n'**/*.lock' = 'writable'";
    let plan = world.with_workspace(base, own);
    let level = |path: &str| plan.level(&world.path(path));
    assert_eq!(level("~/.pi/agent/tmp/x"), Level::ReadOnly);
    assert_eq!(
        level("~/.pi/agent/a.jsonl"),
        Level::ReadOnly,
        "a glob of the workspace does not loosen"
    );
    assert_eq!(level("~/.pi/a.jsonl"), Level::NoDelete);
    assert_eq!(level("~/.pi/agent/a.lock"), Level::ReadOnly);
    assert_eq!(level("~/n/y"), Level::AddOnly);
    assert_eq!(level("~/n/x"), Level::AddOnly);
    assert_eq!(level("w/a"), Level::ReadOnly);
    assert_eq!(
        level("w/out/a"),
        Level::Writable,
        "no looser than the policy alone"
    );
    assert_eq!(plan.on_attempt, OnAttempt::Fail);
    let ignored = plan
        .notices
        .iter()
        .filter(|notice| notice.contains("can only make levels stricter"))
        .count();
    assert_eq!(ignored, 3, "{:?}", plan.notices);
}

#[test]
fn the_workspace_policy_cannot_loosen_the_default() {
    let world = World::new();
    let strict = world.with_workspace(
        "default = 'read-only'\n\n'~/a' = 'writable'",
        "default = 'writable'\n\n'~/b' = 'writable'",
    );
    assert_eq!(
        (strict.default, strict.level(&world.path("~/b"))),
        (Level::ReadOnly, Level::ReadOnly)
    );
    let tightened = world.with_workspace(
        "'~/a' = 'read-only'",
        "default = 'no-delete'\n\n'~/a' = 'read-only'",
    );
    assert_eq!(
        (tightened.default, tightened.level(&world.path("w"))),
        (Level::NoDelete, Level::NoDelete)
    );
}

#[test]
fn a_workspace_with_its_repository_elsewhere() {
    let mut world = World::new();
    let common = world.dir("~/main/.git");
    world.dir("~/main/.git/objects");
    world.file("~/main/.git/HEAD", "ref: refs/heads/main\n");
    world.file("~/main/.git/worktrees/t/HEAD", "ref: refs/heads/t\n");
    world.file("~/main/.git/worktrees/t/commondir", "../..\n");
    let tree = world.dir("~/t");
    let own = world.file(
        "~/main/.git/worktrees/t/gitdir",
        &format!("{}/.git\n", tree.display()),
    );
    world.file(
        "~/t/.git",
        &format!("gitdir: {}\n", own.parent().unwrap().display()),
    );
    world.cwd = tree.clone();
    let plan = world.plan("'~' = 'no-delete'\n'${workspace}' = 'writable'");
    assert_eq!(plan.level(&common.join("index")), Level::Writable);
    assert_eq!(plan.level(&tree.join("x")), Level::Writable);
    assert_eq!(plan.level(&world.path("~/main/x")), Level::NoDelete);
}
