//! What HOME, TMPDIR, the XDG variables and the working directory cannot open under the shipped default.

use super::*;
use crate::policy::discover::load;

/// What `default` says in this world.
fn default(world: &World) -> Plan {
    Plan::resolve(&load("default").unwrap(), None, &world.host()).unwrap()
}

/// The paths that a notice is about, each once.
fn said(plan: &Plan, words: &str) -> bool {
    plan.notices.iter().any(|notice| notice.contains(words))
}

#[test]
fn a_variable_that_names_or_holds_something_stricter() {
    let home = "is or holds the home directory";
    // Variable, its value, a path, its level, and what is said; nothing is said where all is well.
    for (name, value, path, level, words) in [
        ("TMPDIR", "~", "~/x", Level::NoDelete, home),
        ("TMPDIR", "/", "~/x", Level::NoDelete, home),
        ("TMPDIR", "~/..", "~/x", Level::NoDelete, ""),
        (
            "TMPDIR",
            "~/.ssh",
            "~/.ssh/x",
            Level::ReadOnly,
            "~/.ssh is protected itself",
        ),
        (
            "TMPDIR",
            "~/.ssh/tmp",
            "~/.ssh/tmp/x",
            Level::ReadOnly,
            "in the protected ~/.ssh",
        ),
        (
            "TMPDIR",
            "~/.pi",
            "~/.pi/x",
            Level::NoDelete,
            "holds the protected ~/.pi/agent",
        ),
        (
            "TMPDIR",
            "~/.pi/agent/sessions",
            "~/.pi/agent/sessions/x",
            Level::AddOnly,
            "protected itself",
        ),
        (
            "TMPDIR",
            "~/.config",
            "~/.config/x",
            Level::NoDelete,
            "holds the protected",
        ),
        ("TMPDIR", "~/tmp", "~/tmp/x", Level::Writable, ""),
        (
            "TMPDIR",
            "~/.cache/tmp",
            "~/.cache/tmp/x",
            Level::Writable,
            "",
        ),
        ("TMPDIR", "/var/folders/x", "w/x", Level::Writable, ""),
        ("XDG_CACHE_HOME", "~", "~/x", Level::NoDelete, home),
        (
            "XDG_CACHE_HOME",
            "~/.pi",
            "~/.pi/x",
            Level::NoDelete,
            "holds the protected ~/.pi/agent",
        ),
        (
            "XDG_CACHE_HOME",
            "~/.local/share",
            "~/.local/share/x",
            Level::NoDelete,
            "holds the protected",
        ),
        (
            "XDG_CACHE_HOME",
            "~/var/cache",
            "~/var/cache/x",
            Level::Writable,
            "",
        ),
        ("XDG_CONFIG_HOME", "~", "~/x", Level::NoDelete, ""),
        (
            "XDG_CONFIG_HOME",
            "~/.ssh",
            "~/.ssh/chromium/Crash Reports/x",
            Level::ReadOnly,
            "~/.ssh",
        ),
        (
            "XDG_DATA_HOME",
            "~/.pi/agent",
            "~/.pi/agent/pnpm/store/x",
            Level::ReadOnly,
            "~/.pi/agent",
        ),
        ("CARGO_HOME", "~", "~/registry/x", Level::Writable, ""),
        ("CARGO_HOME", "~", "~/x", Level::NoDelete, ""),
        (
            "CARGO_HOME",
            "~/.codex",
            "~/.codex/registry/x",
            Level::ReadOnly,
            "in the protected ~/.codex",
        ),
        ("RUSTUP_HOME", "~", "~/x", Level::NoDelete, home),
        ("npm_config_cache", "~", "~/x", Level::NoDelete, home),
        (
            "npm_config_cache",
            "~/.claude/projects",
            "~/.claude/projects/x",
            Level::AddOnly,
            "protected itself",
        ),
        (
            "GNUPGHOME",
            "~/.pi/agent",
            "~/.pi/agent/x.lock",
            Level::AddOnly,
            "~/.pi/agent",
        ),
        (
            "GNUPGHOME",
            "~/.ssh",
            "~/.ssh/random_seed",
            Level::ReadOnly,
            "~/.ssh",
        ),
        (
            "CLAUDE_CONFIG_DIR",
            "~/.ssh",
            "~/.ssh/projects/x",
            Level::ReadOnly,
            "~/.ssh",
        ),
        (
            "PI_CONFIG_DIR",
            ".ssh",
            "~/.ssh/x",
            Level::ReadOnly,
            "~/.ssh",
        ),
        (
            "PI_CODING_AGENT_SESSION_DIR",
            "~/.ssh",
            "~/.ssh/x",
            Level::ReadOnly,
            "~/.ssh",
        ),
        (
            "CLAUDE_CONFIG_DIR",
            "~",
            "~/x",
            Level::ReadOnly,
            "the environment makes all of ~ read-only",
        ),
    ] {
        let mut world = World::new();
        let place = match value.starts_with('~') {
            true => world.path(value).into_os_string(),
            false => value.into(),
        };
        world.set(name, place);
        let plan = default(&world);
        let all = &plan.notices;
        assert_eq!(
            plan.level(&world.path(path)),
            level,
            "{name}={value} {path}: {all:?}"
        );
        match words {
            "" => assert!(all.is_empty(), "{name}={value}: {all:?}"),
            _ => assert!(said(&plan, words), "{name}={value}: {all:?}"),
        }
    }
}

#[test]
fn a_workspace_that_is_or_holds_something_stricter() {
    for (cwd, repository, path, level, words) in [
        (
            "~",
            "",
            "~/x",
            Level::NoDelete,
            "~ is or holds the home directory",
        ),
        (
            "~",
            "~/.git/HEAD",
            "~/x",
            Level::NoDelete,
            "~ is or holds the home directory",
        ),
        (
            "~/a/b",
            "~/.git/HEAD",
            "~/a/b/x",
            Level::NoDelete,
            "~ is or holds the home directory",
        ),
        (
            "~/.pi",
            "",
            "~/.pi/x",
            Level::NoDelete,
            "~/.pi holds the protected ~/.pi/agent",
        ),
        ("~/.ssh", "", "~/.ssh/x", Level::ReadOnly, "~/.ssh"),
        (
            "~/.claude/projects/x",
            "",
            "~/.claude/projects/x/y",
            Level::AddOnly,
            "in the protected",
        ),
        (
            "~/.config",
            "~/.config/.git/HEAD",
            "~/.config/x",
            Level::NoDelete,
            "holds the protected",
        ),
        (
            "~/.cargo/registry/src/x",
            "",
            "~/.cargo/registry/src/x/y",
            Level::Writable,
            "",
        ),
        ("~/a/b", "", "~/a/b/x", Level::Writable, ""),
        ("~/a/b", "", "~/a/x", Level::NoDelete, ""),
        ("~/a/b", "~/a/.git/HEAD", "~/a/x", Level::Writable, ""),
        ("w", "", "w/x", Level::Writable, ""),
        ("", "", "x", Level::Writable, ""),
    ] {
        let mut world = World::new();
        world.cwd = world.dir(cwd);
        if !repository.is_empty() {
            world.file(repository, "ref: refs/heads/main\n");
        }
        let plan = default(&world);
        let all = &plan.notices;
        assert_eq!(
            plan.level(&world.path(path)),
            level,
            "{cwd} {repository}: {all:?}"
        );
        match words {
            "" => assert!(all.is_empty(), "{cwd}: {all:?}"),
            _ => assert!(said(&plan, words) && all.len() == 1, "{cwd}: {all:?}"),
        }
    }
}

#[test]
fn a_variable_for_one_project_does_not_close_its_workspace() {
    let mut world = World::new();
    world.file("~/proj/.git/HEAD", "ref: refs/heads/main\n");
    world.cwd = world.path("~/proj");
    for (name, value) in [
        ("CODEX_HOME", "~/proj/.codex"),
        ("DOCKER_CONFIG", "~/proj/.docker"),
        ("XDG_CONFIG_HOME", "~/proj/.config"),
    ] {
        world.set(name, world.path(value));
    }
    let plan = default(&world);
    assert!(plan.notices.is_empty(), "{:?}", plan.notices);
    for (path, level) in [
        ("~/proj/x", Level::Writable),
        ("~/proj/.codex/auth.json", Level::ReadOnly),
        ("~/proj/.codex/sessions/x", Level::AddOnly),
        ("~/proj/.docker/config.json", Level::ReadOnly),
        ("~/proj/.docker/x", Level::Writable),
        ("~/proj/.config/guard/x", Level::ReadOnly),
    ] {
        assert_eq!(plan.level(&world.path(path)), level, "{path}");
    }
}

#[test]
fn a_workspace_below_another_path_to_home() {
    let root = "20 1 8:1 / / rw - ext4 a rw\n";
    for (mount, cwd, closed) in [
        // The whole of home, a folder in it, and the workspace itself.
        ("@/h/all @/mnt", "mnt/proj/src", "mnt/x"),
        ("@/h/all/proj @/mnt", "mnt/src", "~/all/proj/x"),
        ("@/h/all/proj @/mnt", "mnt", "~/all/x"),
    ] {
        let mut world = World::new();
        world.dir("~/all/proj/src");
        world.dir("mnt");
        world.cwd = world.dir(cwd);
        world.mounts = format!("{root}21 20 8:1 {mount} rw - ext4 a rw\n")
            .replace('@', &world.at.display().to_string());
        let plan = default(&world);
        assert_eq!(
            plan.level(&world.cwd.join("x")),
            Level::Writable,
            "{mount} {cwd}"
        );
        assert_eq!(
            plan.level(&world.path(closed)),
            Level::NoDelete,
            "{mount} {cwd}"
        );
        assert!(plan.notices.is_empty(), "{:?}", plan.notices);
    }
}

#[test]
fn home_that_is_not_what_it_should_be() {
    let mut world = World::new();
    world.set("HOME", "/");
    let plan = default(&world);
    assert!(
        said(&plan, "the home directory is \"/\""),
        "{:?}",
        plan.notices
    );
    assert_eq!(plan.level(Path::new("/etc/passwd")), Level::NoDelete);
    assert_eq!(plan.level(Path::new("/tmp/x")), Level::Writable);
    assert_eq!(plan.level(Path::new("/dev/null")), Level::Writable);
}

#[test]
fn version_control_wherever_it_is() {
    let mut world = World::new();
    world.dir("~/main/.git/objects");
    world.file("~/main/.git/HEAD", "ref: refs/heads/main\n");
    let own = world.dir("~/main/.git/worktrees/t");
    world.file("~/main/.git/worktrees/t/HEAD", "ref: refs/heads/t\n");
    world.file("~/main/.git/worktrees/t/commondir", "../..\n");
    let git = world.file("~/t/.git", &format!("gitdir: {}\n", own.display()));
    world.file(
        "~/main/.git/worktrees/t/gitdir",
        &format!("{}\n", git.display()),
    );
    world.dir("~/t/.jj");
    world.cwd = world.path("~/t");
    for lines in [
        "'~' = 'no-delete'\n'${workspace}' = 'writable'\n'${vcs}' = 'read-only'",
        "'${vcs}' = 'read-only'\n'${workspace}' = 'writable'\n'~' = 'no-delete'",
    ] {
        let plan = world.plan(lines);
        for closed in ["~/t/.git", "~/t/.jj/x", "~/main/.git/index"] {
            assert_eq!(plan.level(&world.path(closed)), Level::ReadOnly, "{closed}");
        }
        assert_eq!(plan.level(&world.path("~/t/x")), Level::Writable);
        assert_eq!(plan.level(&world.path("~/main/x")), Level::NoDelete);
        assert!(plan.notices.is_empty(), "{:?}", plan.notices);
    }
    let plan = world.plan("'${vcs}/hooks' = 'read-only'\n'${vcs}/*.lock' = 'add-only'");
    assert_eq!(
        plan.level(&world.path("~/main/.git/hooks/x")),
        Level::ReadOnly
    );
    assert_eq!(plan.level(&world.path("~/t/.jj/a.lock")), Level::AddOnly);
    assert_eq!(
        plan.level(&world.path("~/main/.git/a.lock")),
        Level::AddOnly
    );
}
