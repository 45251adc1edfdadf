//! The same directory under another path. The mounts are made by hand: what a bind mount would show is put there as a
//! link's identity cannot be, so an alias that must be verified is one where the text says that both paths are one.

use super::*;

impl World {
    /// The text of a mountinfo file: `@` stands for this world's directory.
    fn mount(&mut self, text: &str) {
        self.mounts = text.replace('@', &self.at.display().to_string());
    }
}

/// The root file system, and what else is said.
const ROOT: &str = "20 1 8:1 / / rw - ext4 a rw\n";

#[test]
fn a_mount_of_a_parent_shows_a_missing_root_too() {
    let mut world = World::new();
    world.dir("~/.pi");
    world.dir("mnt");
    world.mount(&format!("{ROOT}21 20 8:1 @/h/.pi @/mnt rw - ext4 a rw\n"));
    let plan = world.plan("'~/.pi/agent' = 'read-only'");
    let alias = plan.place(&world.path("mnt/agent")).unwrap();
    assert_eq!(
        (alias.via, alias.identity, alias.rule),
        (Via::MountAlias, None, RuleId(0))
    );
    assert!(
        plan.keeps(&world.path("mnt")),
        "ancestors of aliases keep their names"
    );
    assert_eq!(plan.names_below(&world.path("mnt")), Below::Stricter);
}

#[test]
fn an_alias_must_be_the_same_thing() {
    let mut world = World::new();
    let root = world.dir("~/.pi/agent");
    world.dir("mnt/agent");
    world.mount(&format!("{ROOT}21 20 8:1 @/h/.pi @/mnt rw - ext4 a rw\n"));
    let lines = "'~/.pi/agent' = 'read-only'";
    assert!(
        world.plan(lines).place(&world.path("mnt/agent")).is_none(),
        "another directory is there"
    );
    fs::remove_dir(world.path("mnt/agent")).unwrap();
    assert!(
        world.plan(lines).place(&world.path("mnt/agent")).is_none(),
        "nothing is there"
    );
    // A hard link is the one thing that has two paths without privileges.
    fs::remove_dir(&root).unwrap();
    let file = world.file("~/.pi/agent", "x");
    fs::hard_link(&file, world.path("mnt/agent")).unwrap();
    let plan = world.plan(lines);
    let alias = plan.place(&world.path("mnt/agent")).unwrap();
    assert_eq!(
        (alias.via, alias.identity),
        (Via::MountAlias, identity(&file))
    );
    assert_eq!(plan.rule(RuleId(0)).targets.len(), 2);
}

#[test]
fn a_mount_of_a_part_has_the_level_of_the_part() {
    let mut world = World::new();
    for path in ["~/.pi/agent/sessions", "~/.pi/agent/tmp/x", "s", "t"] {
        world.dir(path);
    }
    world.mount(&format!(
        "{ROOT}21 20 8:1 @/h/.pi/agent/sessions @/s rw - ext4 a rw\n22 20 8:1 @/h/.pi/agent/tmp/x @/t rw - ext4 a rw\n"
    ));
    let plan = world.plan("'~/.pi/agent' = 'read-only'\n'~/.pi/agent/tmp' = 'writable'");
    let part = plan.place(&world.path("s")).unwrap();
    assert_eq!(
        (part.via, part.identity, part.level),
        (Via::MountAlias, identity(&world.path("s")), Level::ReadOnly)
    );
    assert!(
        plan.place(&world.path("t")).is_none(),
        "a mount of the hole is as open as the hole"
    );
}

#[test]
fn other_devices_and_covered_mounts_show_nothing() {
    let mut world = World::new();
    world.dir("~/.pi");
    world.dir("mnt");
    let root = "'~/.pi/agent' = 'read-only'";
    world.mount(&format!("{ROOT}21 20 8:2 @/h/.pi @/mnt rw - ext4 b rw\n"));
    assert!(
        world.plan(root).place(&world.path("mnt/agent")).is_none(),
        "another device"
    );
    world.mount(&format!(
        "{ROOT}21 20 8:1 @/h/.pi @/mnt rw - ext4 a rw\n22 21 0:9 / @/mnt rw - tmpfs t rw\n"
    ));
    assert!(
        world.plan(root).place(&world.path("mnt/agent")).is_none(),
        "covered"
    );
    world.mount(&format!(
        "{ROOT}21 20 8:1 /elsewhere @/mnt rw - ext4 a rw\n"
    ));
    assert!(
        world.plan(root).place(&world.path("mnt/agent")).is_none(),
        "another directory"
    );
}

#[test]
fn home_on_a_file_system_of_its_own() {
    let mut world = World::new();
    world.dir("~/.pi");
    world.dir("mnt/u/.pi");
    world.mount(&format!(
        "{ROOT}21 20 8:2 /u @/h rw - ext4 b rw\n22 20 8:2 / @/mnt rw - ext4 b rw\n"
    ));
    let plan = world.plan("'~/.pi/agent' = 'read-only'");
    assert_eq!(
        plan.place(&world.path("mnt/u/.pi/agent")).unwrap().via,
        Via::MountAlias
    );
}

#[test]
fn the_folders_that_back_an_overlay() {
    let mut world = World::new();
    for path in ["~/.pi", "up/.pi", "low/.pi", "low2"] {
        world.dir(path);
    }
    world.mount(&format!(
        "{ROOT}21 20 0:40 / @/h rw - overlay o rw,lowerdir=@/low:@/low2:/no/such/layer:l/RELATIVE,upperdir=@/up,workdir=@/work\n"
    ));
    let plan = world.plan("'~/.pi/agent' = 'read-only'");
    for layer in ["up/.pi/agent", "low/.pi/agent", "low2/.pi/agent"] {
        assert_eq!(
            plan.place(&world.path(layer)).unwrap().via,
            Via::Backing,
            "{layer}"
        );
    }
    assert!(plan.place(Path::new("/no/such/layer/.pi/agent")).is_none());
    assert_eq!(plan.rule(RuleId(0)).targets.len(), 4);
}

#[test]
fn an_overlay_over_a_protected_place() {
    let mut world = World::new();
    for path in ["~/.pi/agent", "merged/agent", "shown"] {
        world.dir(path);
    }
    let overlay = "rw,lowerdir=/no/such,upperdir=@/h/.pi,workdir=@/work";
    world.mount(&format!(
        "{ROOT}21 20 0:40 / @/merged rw - overlay o {overlay}\n"
    ));
    let plan = world.plan("'~/.pi/agent' = 'read-only'");
    assert_eq!(
        plan.place(&world.path("merged/agent")).unwrap().via,
        Via::Backing
    );
    assert_eq!(plan.level(&world.path("merged/other")), Level::Writable);

    // The place holds the upper folder: all that the overlay changes, it changes there. A lower folder is never changed.
    let inside = "rw,lowerdir=/no/such,upperdir=@/h/.pi/agent,workdir=@/work";
    world.mount(&format!(
        "{ROOT}21 20 0:40 / @/merged rw - overlay o {inside}\n"
    ));
    assert_eq!(
        world
            .plan("'~/.pi' = 'read-only'")
            .level(&world.path("merged/other")),
        Level::ReadOnly
    );
    world.mount(&format!(
        "{ROOT}21 20 0:40 / @/merged rw - overlay o rw,lowerdir=@/h/.pi/agent:/x\n"
    ));
    assert_eq!(
        world
            .plan("'~/.pi' = 'read-only'")
            .level(&world.path("merged/other")),
        Level::Writable
    );
}

#[test]
fn aliases_of_aliases() {
    let mut world = World::new();
    for path in ["~/.pi", "up/.pi", "mnt/.pi"] {
        world.dir(path);
    }
    // The overlay on home writes to `up`, which a further mount shows.
    world.mount(&format!(
        "{ROOT}21 20 0:40 / @/h rw - overlay o rw,lowerdir=/no/such,upperdir=@/up,workdir=@/work\n22 20 8:1 @/up @/mnt rw - ext4 a rw\n"
    ));
    let plan = world.plan("'~/.pi/agent' = 'read-only'");
    assert_eq!(
        plan.place(&world.path("mnt/.pi/agent")).unwrap().via,
        Via::MountAlias
    );
}

#[test]
fn globs_hold_under_other_mounts() {
    let mut world = World::new();
    for path in ["~/p/a/b", "whole", "part"] {
        world.dir(path);
    }
    world.mount(&format!(
        "{ROOT}21 20 8:1 @/h/p @/whole rw - ext4 a rw\n22 20 8:1 @/h/p/a/b @/part rw - ext4 a rw\n"
    ));
    let plan = world.plan("'~/p/a/*/*.key' = 'read-only'");
    let level = |path: &str| plan.level(&world.path(path));
    assert_eq!(
        (level("whole/a/x/y.key"), level("whole/y.key")),
        (Level::ReadOnly, Level::Writable)
    );
    assert_eq!(
        (level("part/y.key"), level("part/x/y.key")),
        (Level::ReadOnly, Level::Writable)
    );
}

#[test]
fn what_an_alias_shows_cannot_be_opened_by_a_variable() {
    let mut world = World::new();
    world.dir("~/.pi");
    world.dir("mnt");
    world.mount(&format!("{ROOT}21 20 8:1 @/h/.pi @/mnt rw - ext4 a rw\n"));
    world.set("TMPDIR", world.path("mnt/agent/tmp"));
    let plan = world.plan("'~/.pi/agent' = 'read-only'\n'${tmp}' = 'writable'");
    assert_eq!(plan.level(&world.path("mnt/agent/tmp/x")), Level::ReadOnly);
}

#[test]
fn without_the_root_mount_it_is_said() {
    let mut world = World::new();
    world.mount("21 20 8:1 / @/h rw - ext4 a rw\n");
    let plan = world.plan("'~/a' = 'read-only'");
    assert!(
        plan.notices[0].contains("is not listed in /proc/self/mountinfo"),
        "{:?}",
        plan.notices
    );
}

#[test]
fn an_overlay_of_the_root_below_itself() {
    let mut world = World::new();
    for path in ["~/.pi", "up", "merged"] {
        world.dir(path);
    }
    world.mount(&format!(
        "{ROOT}21 20 0:40 / @/merged rw - overlay o rw,lowerdir=/,upperdir=@/up,workdir=@/work\n"
    ));
    let plan = world.plan("'~/.pi/agent' = 'read-only'");
    let root = world.path("~/.pi/agent");
    let below = root.strip_prefix("/").unwrap();
    assert_eq!(
        plan.place(&world.path("merged").join(below)).unwrap().via,
        Via::Backing
    );
    assert_eq!(
        plan.place(&world.path("up").join(below)).unwrap().via,
        Via::Backing
    );
    assert_eq!(
        plan.rule(RuleId(0)).targets.len(),
        3,
        "{:?}",
        plan.rule(RuleId(0)).targets
    );
}

#[test]
fn layers_that_hold_each_other_come_to_an_end() {
    let mut world = World::new();
    world.dir("~/.pi/agent");
    world.dir("merged");
    let overlay = "rw,lowerdir=@/h/.pi,upperdir=@/h/.pi/agent,workdir=@/work";
    world.mount(&format!(
        "{ROOT}21 20 0:40 / @/merged rw - overlay o {overlay}\n"
    ));
    let plan = world.plan("'~/.pi' = 'read-only'");
    assert_eq!(plan.level(&world.path("merged/x")), Level::ReadOnly);
    let targets = &plan.rule(RuleId(0)).targets;
    assert!(targets.len() < 8, "{targets:?}");
}

#[test]
fn a_glob_under_an_overlay_of_the_root() {
    let mut world = World::new();
    world.dir("up");
    world.dir("merged");
    let overlay = "rw,lowerdir=/,upperdir=@/up,workdir=@/work";
    world.mount(&format!(
        "{ROOT}21 20 0:40 / @/merged rw - overlay o {overlay}\n"
    ));
    let plan = world.plan("'/etc/*.key' = 'read-only'");
    for path in ["merged/etc/a.key", "up/etc/a.key"] {
        assert_eq!(plan.level(&world.path(path)), Level::ReadOnly, "{path}");
    }
    assert_eq!(plan.level(&world.path("merged/etc/a")), Level::Writable);
}

#[test]
fn an_alias_makes_no_hole() {
    let mut world = World::new();
    world.dir("data/x");
    world.dir("~/.pi/agent/mnt");
    world.mount(&format!(
        "{ROOT}21 20 8:1 @/data/x @/h/.pi/agent/mnt rw - ext4 a rw\n"
    ));
    let plan = world.plan("'@/data' = 'no-delete'\n'~/.pi/agent' = 'read-only'");
    assert_eq!(
        plan.level(&world.path("~/.pi/agent/mnt/y")),
        Level::ReadOnly
    );
}

#[test]
fn a_mount_of_a_part_of_the_workspace_does_not_close_it() {
    let mut world = World::new();
    // A hard link stands for the bind mount of a file: both paths are one thing.
    let part = world.file("~/proj/sub", "x");
    fs::hard_link(&part, world.path("s")).unwrap();
    world.dir("whole");
    world.cwd = world.path("~/proj");
    for mounts in [
        "21 20 8:1 @/h/proj/sub @/s rw - ext4 a rw\n22 20 8:1 @/h @/whole rw - ext4 a rw\n",
        "22 20 8:1 @/h @/whole rw - ext4 a rw\n21 20 8:1 @/h/proj/sub @/s rw - ext4 a rw\n",
    ] {
        world.mount(&format!("{ROOT}{mounts}"));
        let plan = world.plan("'~' = 'no-delete'\n'${workspace}' = 'writable'");
        assert_eq!(plan.level(&part), Level::Writable);
        assert_eq!(plan.level(&world.path("s")), Level::NoDelete);
        assert!(plan.notices.is_empty(), "{:?}", plan.notices);
    }
}

#[test]
fn a_rule_for_a_mount_holds_for_what_it_shows() {
    let mut world = World::new();
    let file = world.file("~/proj/file", "x");
    fs::hard_link(&file, world.path("f")).unwrap();
    world.mount(&format!(
        "{ROOT}21 20 8:1 @/h/proj/file @/f rw - ext4 a rw\n"
    ));
    let plan = world.plan("'~' = 'no-delete'\n'@/f' = 'read-only'");
    let place = plan.place(&file).unwrap();
    assert_eq!((place.level, place.rule), (Level::ReadOnly, RuleId(1)));
}
