//! What is said of a path, as values.

use super::*;

/// Who does or refuses each column, in the order of the table and then metadata: `K` and `S` for the kernel and the
/// supervisor that do it, `k` and `s` for the kernel and the supervisor alone that refuse it.
fn row(explanation: &Explanation) -> String {
    let letter = |answer| match answer {
        Answer::Yes(Doer::Kernel) => 'K',
        Answer::Yes(Doer::Supervisor) => 'S',
        Answer::No(Keeper::KernelAndSupervisor) => 'k',
        Answer::No(Keeper::SupervisorAlone) => 's',
        Answer::Moot => '-',
    };
    let columns = Column::ALL.map(|column| letter(explanation.standing.answer(column)));
    columns
        .into_iter()
        .chain([letter(explanation.standing.metadata())])
        .collect()
}

fn explained(world: &World, plan: &Plan, path: &str) -> Explanation {
    plan.explain(&world.path(path)).unwrap()
}

#[test]
fn each_level_says_who_does_and_who_refuses() {
    let world = World::new();
    for path in ["~/r", "~/a", "~/n", "~/w", "~/free/deep"] {
        world.dir(path);
    }
    let plan = world
        .plan("'~/r' = 'read-only'\n'~/a' = 'add-only'\n'~/n' = 'no-delete'\n'~/w' = 'writable'");
    for (path, wanted) in [
        ("~/r/x", "kkk-s"),
        ("~/a/x", "SkkSs"),
        ("~/n/x", "SSkSS"),
        ("~/w/x", "KKKKS"),
        ("~/w", "KKKKS"),
        ("~/free/deep/new/x", "KKKKS"),
        ("~/new/x", "SSSSS"),
        ("~", "SSSSS"),
    ] {
        assert_eq!(row(&explained(&world, &plan, path)), wanted, "{path}");
    }
    let new = explained(&world, &plan, "~/new/x");
    assert_eq!(new.notes, [Note::Beside(world.path("~"))]);
    assert_eq!((new.now, new.rule, new.beaten), (Now::Nothing, None, None));
}

#[test]
fn a_strict_glob_is_the_supervisors_alone_and_a_loose_one_an_exception_to_the_kernels_refusal() {
    let world = World::new();
    world.dir("~/a/open.d");
    world.dir("~/p");
    let plan = world.plan(
        "'~/a' = 'read-only'\n'~/a/*.lock' = 'add-only'\n'~/a/*.d' = 'writable'\n'~/p/**/*.key' = 'read-only'",
    );
    let strict = explained(&world, &plan, "~/p/q/x.key");
    assert_eq!(row(&strict), "sss-s");
    assert_eq!(
        (strict.glob, strict.beaten),
        (
            Some(Contrast::Stricter),
            Some(Beaten::Default(Level::Writable))
        )
    );
    let loose = explained(&world, &plan, "~/a/x.lock");
    assert_eq!(row(&loose), "SkkSs");
    assert_eq!(
        (loose.glob, loose.beaten),
        (
            Some(Contrast::Looser),
            Some(Beaten::Rule(RuleId(0), Specificity::Less))
        )
    );
    assert_eq!(
        row(&explained(&world, &plan, "~/a/open.d")),
        "SSSSS",
        "the wall does not meet it in what it does not grant"
    );
    let beside = explained(&world, &plan, "~/p/x");
    assert_eq!(row(&beside), "SSSSS");
    assert_eq!(beside.notes, [Note::InReach(vec![RuleId(3)])]);
    assert_eq!(beside.glob, None);
}

#[test]
fn a_strict_glob_where_the_kernel_grants_nothing_anyway_is_not_the_supervisors_alone() {
    let world = World::new();
    let plan = world.plan("'~/a' = 'no-delete'\n'**/*.key' = 'read-only'");
    let inside = explained(&world, &plan, "~/a/x.key");
    assert_eq!(row(&inside), "kkk-s");
    assert_eq!(inside.glob, Some(Contrast::Stricter));
    let same = world.plan("'~/a' = 'read-only'\n'~/a/*.key' = 'read-only'");
    assert_eq!(
        explained(&world, &same, "~/a/x.key").glob,
        Some(Contrast::Same)
    );
}

#[test]
fn the_beaten_rule_is_the_one_that_would_hold() {
    let world = World::new();
    let plan = world.plan(
        "'~' = 'no-delete'\n'~/a' = 'add-only'\n'~/a/' = 'writable'\n'~/a/*' = 'read-only'\n'~/a/x' = 'writable'",
    );
    let beaten = |path: &str| {
        let explanation = explained(&world, &plan, path);
        (explanation.rule, explanation.beaten)
    };
    let rule = |number, specificity| Some(Beaten::Rule(RuleId(number), specificity));
    assert_eq!(
        beaten("~/x"),
        (Some(RuleId(0)), Some(Beaten::Default(Level::Writable)))
    );
    assert_eq!(
        beaten("~/a"),
        (Some(RuleId(1)), rule(2, Specificity::Equal)),
        "the same path, written twice"
    );
    assert_eq!(
        beaten("~/a/x"),
        (Some(RuleId(3)), rule(4, Specificity::Equal)),
        "a glob and a path"
    );
    assert_eq!(
        beaten("~/a/y"),
        (Some(RuleId(3)), rule(1, Specificity::Less)),
        "the strictest of the rest"
    );
}

#[test]
fn the_workspace_is_measured_against_the_policy() {
    let mut world = World::new();
    world.file("~/proj/.git/HEAD", "ref: refs/heads/main\n");
    world.cwd = world.dir("~/proj/src");
    let plan = world.with_workspace(
        "'~' = 'no-delete'\n'${workspace}' = 'writable'",
        "'~/proj/**/*.key' = 'read-only'\n'~/proj/out' = 'writable'",
    );
    let file = explained(&world, &plan, "~/proj/src/main.rs");
    assert_eq!(
        (file.rule, file.beaten),
        (
            Some(RuleId(1)),
            Some(Beaten::Rule(RuleId(0), Specificity::Less))
        )
    );
    let key = explained(&world, &plan, "~/proj/out/x.key");
    assert_eq!(
        (key.rule, key.beaten),
        (
            Some(RuleId(2)),
            Some(Beaten::Rule(RuleId(3), Specificity::Less))
        )
    );
    let inside = explained(&world, &plan, "~/proj/d.key/out");
    assert_eq!(inside.standing.level, Level::ReadOnly);
    let root = explained(&world, &plan, "~/proj");
    let own_name = Note::OwnName(world.path("~"), Level::NoDelete, Doer::Supervisor);
    assert!(root.notes.contains(&own_name), "{:?}", root.notes);
}

#[test]
fn a_more_specific_rule_loses_to_what_nothing_may_loosen() {
    let world = World::new();
    let plan = world.with_workspace("'~/p/d.key/x' = 'writable'", "'~/p/*.key' = 'read-only'");
    let found = explained(&world, &plan, "~/p/d.key/x/y");
    assert_eq!(found.rule, Some(RuleId(1)));
    assert_eq!(
        found.beaten,
        Some(Beaten::Rule(RuleId(0), Specificity::More))
    );
}

#[test]
fn names_stay_above_what_has_another_level() {
    let world = World::new();
    world.dir("~/.pi/agent/sessions");
    world.dir("~/.cache");
    let plan = world.plan(
        "'~' = 'no-delete'\n'~/.cache' = 'writable'\n'~/.pi/agent' = 'read-only'\n'~/.pi/agent/sessions' = 'add-only'",
    );
    let kept = |path: &str| explained(&world, &plan, path).kept_for;
    assert_eq!(kept("~/.pi"), Some(RuleId(2)), "above a stricter one");
    assert!(kept("~").is_some(), "above a looser one");
    assert_eq!(kept("~/.pi/agent"), None, "it cannot be moved anyway");
    assert_eq!(kept("~/.cache"), None);
    assert_eq!(kept("~/new"), None);
    let agent = explained(&world, &plan, "~/.pi/agent");
    assert_eq!(
        agent.notes,
        [
            Note::OwnName(world.path("~/.pi"), Level::NoDelete, Doer::Supervisor),
            Note::OtherLevels(vec![(world.path("~/.pi/agent/sessions"), Level::AddOnly)]),
        ]
    );
    let cache = explained(&world, &plan, "~/.cache");
    assert_eq!(row(&cache), "KKKKS");
    assert_eq!(
        cache.notes,
        [Note::OwnName(
            world.path("~"),
            Level::NoDelete,
            Doer::Supervisor
        )]
    );
}

#[test]
fn what_is_missing_may_need_a_directory_that_may_not_be_made() {
    let world = World::new();
    let plan = world.plan("'~/r' = 'read-only'\n'~/r/hole' = 'writable'");
    let hole = explained(&world, &plan, "~/r/hole/x");
    assert_eq!(
        hole.notes,
        [Note::Unmakeable(world.path("~/r"), Level::ReadOnly)]
    );
    world.dir("~/r");
    let plan = world.plan("'~/r' = 'read-only'\n'~/r/hole' = 'writable'");
    assert_eq!(explained(&world, &plan, "~/r/hole/x").notes, []);
    assert_eq!(
        row(&explained(&world, &plan, "~/r/hole/x")),
        "SSSSS",
        "the wall cannot grant what is not there"
    );
}

#[test]
fn links_are_followed_and_have_names_of_their_own() {
    let world = World::new();
    world.dir("~/a");
    world.link("h/a", "way");
    world.link("a", "~/named");
    let plan = world.plan("'~/named' = 'add-only'");
    let found = explained(&world, &plan, "way");
    assert_eq!(
        (&found.path, found.standing.level),
        (&world.path("~/a"), Level::AddOnly)
    );
    assert_eq!(
        found.notes[0],
        Note::Link(world.path("way"), Level::Writable)
    );
    let kept = explained(&world, &plan, "~/named");
    assert_eq!(kept.notes[0], Note::KeptLink(world.path("~/named")));
}
