//! What is said at each level, of globs, and of what lies beside and above.

use super::*;
use crate::cli::policies::tests::Machine;

const NEVER: &str = "no   refused by the kernel (Landlock) and the supervisor";
const ALONE: &str = "no   refused by the supervisor alone";
const AT_ONCE: &str = "yes  done by the kernel at once";
const FOR_IT: &str = "yes  done by the supervisor";
const NOTHING_MADE: &str = "-    a run can make nothing here";

const AGENT: &str = "[paths]\n\
    \"~/.pi/agent\" = { level = \"read-only\", why = \"auth\" }\n\
    \"~/.pi/agent/sessions\" = \"add-only\"\n\
    \"~/.pi/agent/*.lock\" = \"add-only\"\n";

fn said(machine: &Machine, policy: &str, name: &str) -> String {
    let plan = machine.plan(&format!("version = 1\n{policy}"));
    text(&plan, &plan.explain(&machine.home().join(name)).unwrap())
}

/// Compares what is said with the lines before the table, the answers of the table, and the lines after it. `metadata` is
/// there where it is in other hands than other changes.
fn expect(said: &str, before: &[&str], rows: [&str; 4], metadata: Option<&str>, after: &[&str]) {
    let row = |name: &str, answer: &str| format!("  {name:38}  {answer}");
    let mut wanted: Vec<String> = before.iter().map(ToString::to_string).collect();
    wanted.push(row("1  make new entries", rows[0]));
    wanted.push(row("2  change what exists", rows[1]));
    wanted.extend(metadata.map(|answer| row("     mode, owner, times, attributes", answer)));
    wanted.push(row("3  remove or move away what exists", rows[2]));
    wanted.push(row("4  change or remove what this run made", rows[3]));
    wanted.extend(after.iter().map(ToString::to_string));
    assert_eq!(said.lines().collect::<Vec<_>>(), wanted, "\n{said}");
    for line in said.lines() {
        assert!(line.chars().count() <= 100, "too wide: {line}");
    }
}

#[test]
fn read_only_names_its_rule_the_default_that_it_beat_and_other_levels_below() {
    let machine = Machine::new(&[".pi/agent/sessions"]);
    expect(
        &said(&machine, AGENT, ".pi/agent"),
        &[
            "~/.pi/agent",
            "  level     read-only",
            "  rule      ~/.pi/agent = \"read-only\" from p.toml:3 (auth)",
            "  over      default = \"writable\" in the policy p.toml",
            "  now       a directory: all lines hold for its entries, 2 to 4 for itself",
        ],
        [NEVER, NEVER, NEVER, NOTHING_MADE],
        Some(ALONE),
        &[
            "  note      removing or moving it goes by this level, not the writable of ~/.pi",
            "  note      other levels below: ~/.pi/agent/sessions (add-only)",
            "  note      globs may match names below: ~/.pi/agent/*.lock (add-only)",
        ],
    );
}

#[test]
fn add_only_beats_the_level_around_it() {
    let machine = Machine::new(&[".pi/agent/sessions"]);
    std::fs::write(machine.home().join(".pi/agent/sessions/x.jsonl"), "").unwrap();
    let head = |name, now| {
        [
            name,
            "  level     add-only",
            "  rule      ~/.pi/agent/sessions = \"add-only\" from p.toml:4",
            "  over      ~/.pi/agent = \"read-only\" from p.toml:3 (auth)",
            now,
        ]
    };
    expect(
        &said(&machine, AGENT, ".pi/agent/sessions/x.jsonl"),
        &head(
            "~/.pi/agent/sessions/x.jsonl",
            "  now       a file: lines 2 and 3 hold for it, or line 4 if the run made it",
        ),
        [FOR_IT, NEVER, NEVER, FOR_IT],
        Some(ALONE),
        &[],
    );
    expect(
        &said(&machine, AGENT, ".pi/agent/sessions"),
        &head(
            "~/.pi/agent/sessions",
            "  now       a directory: all lines hold for its entries, 2 to 4 for itself",
        ),
        [FOR_IT, NEVER, NEVER, FOR_IT],
        Some(ALONE),
        &["  note      removing or moving it goes by this level, not the read-only of ~/.pi/agent"],
    );
}

#[test]
fn no_delete_says_what_counts_as_a_change() {
    let machine = Machine::new(&[]);
    expect(
        &said(&machine, "[paths]\n\"~/n\" = \"no-delete\"\n", "n/new"),
        &[
            "~/n/new",
            "  level     no-delete",
            "  rule      ~/n = \"no-delete\" from p.toml:3",
            "  over      default = \"writable\" in the policy p.toml",
            "  now       nothing is there: a run may make it by line 1, and line 4 holds for it then",
        ],
        [FOR_IT, FOR_IT, NEVER, FOR_IT],
        None,
        &[
            "  note      an atomic save, and a rename to no-delete or add-only, lose nothing: both are changes",
        ],
    );
}

#[test]
fn a_writable_workspace_is_the_kernels_but_for_metadata_and_its_own_name() {
    let machine = Machine::new(&["project"]);
    let policy = "[paths]\n\"~\" = \"no-delete\"\n\"${workspace}\" = \"writable\"\n";
    expect(
        &said(&machine, policy, "project"),
        &[
            "~/project",
            "  level     writable",
            "  rule      ~/project = \"writable\" from p.toml:4",
            "  over      ~ = \"no-delete\" from p.toml:3",
            "  now       a directory: all lines hold for its entries, 2 to 4 for itself",
        ],
        [AT_ONCE; 4],
        Some(FOR_IT),
        &[
            "  note      removing or moving it goes by this level, not the no-delete of ~ (by the supervisor)",
        ],
    );
}

#[test]
fn a_looser_glob_is_the_supervisors_exception_to_the_kernels_refusal() {
    let machine = Machine::new(&[".pi/agent/sessions"]);
    expect(
        &said(&machine, AGENT, ".pi/agent/auth.lock"),
        &[
            "~/.pi/agent/auth.lock",
            "  level     add-only",
            "  rule      ~/.pi/agent/*.lock = \"add-only\" from p.toml:5",
            "  over      ~/.pi/agent = \"read-only\" from p.toml:3 (auth)",
            "  glob      looser than around it: the kernel refuses what it forbids, the supervisor does the rest",
            "  now       nothing is there: a run may make it by line 1, and line 4 holds for it then",
        ],
        [FOR_IT, NEVER, NEVER, FOR_IT],
        Some(ALONE),
        &[],
    );
}

#[test]
fn a_stricter_glob_is_the_supervisors_alone_and_what_is_beside_it_its_work() {
    let machine = Machine::new(&["project"]);
    let policy = "[paths]\n\"**/*.keystore\" = \"read-only\"\n";
    expect(
        &said(&machine, policy, "project/a.keystore"),
        &[
            "~/project/a.keystore",
            "  level     read-only",
            "  rule      **/*.keystore = \"read-only\" from p.toml:3",
            "  over      default = \"writable\" in the policy p.toml",
            "  glob      stricter than around it: enforced by the supervisor alone; the kernel knows no globs",
            "  now       nothing is there, and nothing may be put there",
        ],
        [ALONE, ALONE, ALONE, NOTHING_MADE],
        None,
        &[],
    );
    expect(
        &said(&machine, policy, "project/b"),
        &[
            "~/project/b",
            "  level     writable",
            "  rule      none: default = \"writable\" in the policy p.toml",
            "  now       nothing is there: a run may make it by line 1, and line 4 holds for it then",
        ],
        [FOR_IT; 4],
        None,
        &[
            "  note      the kernel grants nothing here, since it knows no globs: **/*.keystore (read-only)",
        ],
    );
}

#[test]
fn what_lies_above_another_level_keeps_its_name_and_what_lies_beside_it_is_the_supervisors() {
    let machine = Machine::new(&[".pi/agent", "other"]);
    let policy = "[paths]\n\"~/.pi/agent\" = \"read-only\"\n";
    let head = |name, now| {
        [
            name,
            "  level     writable",
            "  rule      none: default = \"writable\" in the policy p.toml",
            now,
        ]
    };
    expect(
        &said(&machine, policy, ".pi"),
        &head(
            "~/.pi",
            "  now       a directory: all lines hold for its entries, 2 to 4 for itself",
        ),
        [FOR_IT; 4],
        None,
        &[
            "  but       it keeps its name, since ~/.pi/agent lies below or behind it",
            "  note      other levels below: ~/.pi/agent (read-only)",
        ],
    );
    let missing =
        "  now       nothing is there: a run may make it by line 1, and line 4 holds for it then";
    expect(
        &said(&machine, policy, "new"),
        &head("~/new", missing),
        [FOR_IT; 4],
        None,
        &["  note      the kernel grants nothing directly in ~, since other levels hold below"],
    );
    expect(
        &said(&machine, policy, "other/deep/new"),
        &head("~/other/deep/new", missing),
        [AT_ONCE; 4],
        Some(FOR_IT),
        &[],
    );
}

#[test]
fn a_looser_place_keeps_the_names_above_it_as_well() {
    let machine = Machine::new(&["n/free"]);
    let policy = "[paths]\n\"~/n\" = \"no-delete\"\n\"~/n/free\" = \"writable\"\n";
    let said = said(&machine, policy, "n");
    let kept = "  but       it keeps its name, since ~/n/free lies below or behind it\n";
    assert!(said.contains(kept), "{said}");
}

#[test]
fn equals_and_what_nothing_may_loosen_say_why_they_lost() {
    let machine = Machine::new(&[]);
    let policy = "[paths]\n\"~/a\" = \"add-only\"\n\"~/a/\" = \"writable\"\n\"~/b\" = \"read-only\"\n\"~/b/*\" = \"read-only\"\n";
    let equal = said(&machine, policy, "a/x");
    assert!(
        equal.contains(
            "\n  over      ~/a = \"writable\" from p.toml:4; as specific, and the stricter holds\n"
        ),
        "{equal}"
    );
    let same = said(&machine, policy, "b/x");
    assert!(
        same.contains("\n  glob      as around it: the kernel refuses what it forbids\n"),
        "{same}"
    );
}

#[test]
fn guards_own_files_need_no_line() {
    let machine = Machine::new(&[]);
    let said = said(&machine, "", ".config/guard/policy.toml");
    let rule =
        "\n  rule      ~/.config/guard = \"read-only\", built in (guard's own configuration)\n";
    assert!(said.contains(rule), "{said}");
}

#[test]
fn what_cannot_be_made_says_which_directory_is_in_the_way() {
    let machine = Machine::new(&[]);
    let policy = "[paths]\n\"~/r\" = \"read-only\"\n\"~/r/hole\" = \"writable\"\n";
    let said = said(&machine, policy, "r/hole/x");
    for line in [
        "\n  now       nothing is there, and a run cannot make it\n",
        "\n  note      it cannot be made, since ~/r is missing too and read-only\n",
    ] {
        assert!(said.contains(line), "{said}");
    }
}

#[test]
fn a_link_has_a_name_of_its_own_and_nothing_obeys_a_terminal() {
    let machine = Machine::new(&["a"]);
    std::os::unix::fs::symlink("a", machine.home().join("way")).unwrap();
    let said = said(&machine, "[paths]\n\"~/a\" = \"add-only\"\n", "way");
    assert!(said.starts_with("~/way is ~/a\n"), "{said}");
    let note = "\n  note      ~/way is a symbolic link; the link itself is writable\n";
    assert!(said.contains(note), "{said}");
    let odd = super::tests::said(&machine, "", "a/\u{1b}[2J");
    assert!(odd.starts_with("~/a/\\e[2J\n"), "{odd}");
}
