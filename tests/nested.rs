//! Guard inside guard: the inner policy counts as well as the outer one, for the inner command and nothing else.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use support::home::{Home, With};
use support::{Who, each, programs};

const INNER: &str = "version = 1\ninclude = [\"pi\"]\ndefault = \"writable\"\n[paths]\n\"~/secret\" = \"read-only\"\n";

/// Runs a script under guard, `$G` being guard itself and `$I` an inner policy that protects `~/secret`.
fn run(home: &Home, with: With<'_>, script: &str) -> Result<support::home::Run, String> {
    let policy = home.tmp().join("inner.toml");
    std::fs::write(&policy, INNER).map_err(|e| e.to_string())?;
    std::fs::set_permissions(&policy, std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .map_err(|e| e.to_string())?;
    let guard = programs::guard().display();
    home.script(
        with,
        &format!("G={guard} I={}; cd ~; {script}", policy.display()),
    )
}

fn check(what: &str, good: bool, run: &support::home::Run) -> Result<(), String> {
    if good {
        Ok(())
    } else {
        Err(format!(
            "{what}: exit {}\n{}\n{}",
            run.status, run.stdout, run.stderr
        ))
    }
}

fn both(name: &str, case: impl Fn(Who) -> Result<(), String> + Sync) {
    each("nested", &[name], |n| (*n).to_owned(), |_, who| case(who));
}

const SECRET: &str = "mkdir ~/secret && echo s > ~/secret/s";

#[test]
fn the_outer_policy_holds_inside() {
    both("outer policy inside", |who| {
        let home = Home::new(who);
        let before = home.protected();
        let result = run(
            &home,
            With::Guard(&[]),
            "$G -- sh -c 'rm -rf ~/.pi; touch ~/new && mv ~/new ~/newer && echo done'",
        )?;
        let kept = before
            .differences(&home.protected(), support::snapshot::Compare::Exact)
            .is_empty();
        let told = result.stderr.contains("guard: refused: rm");
        check(
            "inside",
            kept && told && result.stdout == "done\n" && home.path.join("newer").exists(),
            &result,
        )
    });
}

#[test]
fn the_inner_policy_holds_inside_and_only_there() {
    both("inner policy", |who| {
        let home = Home::new(who);
        home.script(With::Nothing, SECRET)?;
        let secret = home.path.join("secret/s");
        let inside = run(
            &home,
            With::Guard(&[]),
            "$G --policy $I -- sh -c 'rm -rf ~/secret; echo x > ~/secret/s; chmod 000 ~/secret; mv ~/secret ~/other; touch ~/secret/new'; ls ~/secret",
        )?;
        let kept = std::fs::read(&secret).is_ok_and(|bytes| bytes == b"s\n");
        let told = inside.stderr.matches("guard: refused: ").count() >= 3
            && inside.stderr.contains("rule ~/secret");
        check("inside", kept && told && inside.stdout == "s\n", &inside)?;
        if home.attempts().len() < 4 {
            return Err(format!("the record has {:?}", home.attempts()));
        }
        let outside = run(
            &home,
            With::Guard(&[]),
            "$G --policy $I -- true; rm -f ~/secret/s && echo gone",
        )?;
        check(
            "outside",
            !secret.exists() && outside.stdout == "gone\n",
            &outside,
        )?;
        home.script(With::Nothing, "rm -rf ~/secret")?;
        home.script(With::Nothing, SECRET)?;
        let control = run(&home, With::Nothing, "sh -c 'rm -rf ~/secret'")?;
        check("control", !secret.exists(), &control)
    });
}

/// The inner command's status is what its own guard says it is, and deeper nesting changes nothing.
#[test]
fn statuses_and_depth() {
    both("status and depth", |who| {
        let home = Home::new(who);
        home.script(With::Nothing, SECRET)?;
        let result = run(
            &home,
            With::Guard(&[]),
            "$G --policy $I -- $G --fail-on-attempt -- sh -c 'rm -f ~/secret/s; true'; echo $?; $G -- sh -c 'exit 7'; echo $?; $G -- no-such-program; echo $?",
        )?;
        let kept = home.path.join("secret/s").exists();
        check("status", kept && result.stdout == "123\n7\n127\n", &result)
    });
}

/// Whoever ends the inner guard's own process gains nothing: its policy goes on.
#[test]
fn a_killed_inner_guard_leaves_its_policy_behind() {
    both("killed inner guard", |who| {
        let home = Home::new(who);
        home.script(With::Nothing, SECRET)?;
        let result = run(
            &home,
            With::Guard(&[]),
            "$G --policy $I -- sh -c '(setsid sh -c \"sleep 0.7; rm -f ~/secret/s; echo x > ~/secret/s; echo tried > $TMPDIR/tried\" &) ; kill -9 $PPID; sleep 9'; sleep 1.5; cat $TMPDIR/tried",
        )?;
        let kept = std::fs::read(home.path.join("secret/s")).is_ok_and(|bytes| bytes == b"s\n");
        check("killed", kept && result.stdout == "tried\n", &result)
    });
}

#[test]
fn a_guard_is_found_where_the_environment_names_one_that_is_gone() {
    both("a stale environment", |who| {
        let home = Home::new(who);
        let script = format!(
            "{SECRET}; export GUARD_ACTIVE=guard-1-0123456789abcdef; $G --policy $I -- sh -c 'rm -rf ~/secret ~/.pi; echo ran'"
        );
        let result = run(&home, With::Guard(&[]), &script)?;
        let kept = home.path.join("secret/s").exists() && home.agent().join("auth.json").exists();
        check(
            "stale",
            kept && result.stdout == "ran\n" && result.status == 0,
            &result,
        )
    });
}
