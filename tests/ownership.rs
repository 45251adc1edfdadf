//! Whose an object is cannot be faked: not by a second run, a reused inode number, or a process outside that swaps entries.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
use support::steps::Stepper;
use support::{Home, Who, With, each, say};

const POLICY: &str = "version = 1\ndefault = \"writable\"\n[paths]\n\"~/add\" = \"add-only\"\n\"~/nd\" = \"no-delete\"\n";
const OLD: &[u8] = b"was there long before";

/// A home with a folder at `add-only` and one at `no-delete`, each with a file `old` and one `older`.
fn home(who: Who) -> (Home, PathBuf) {
    let home = Home::new(who);
    for area in ["add", "nd"] {
        let dir = home.path.join(area);
        fs::create_dir(&dir).unwrap();
        give(&home, &dir);
        for name in ["old", "older"] {
            existing(&home, &dir.join(name));
        }
    }
    let policy = home.outside().join("policy.toml");
    fs::write(&policy, POLICY).unwrap();
    fs::set_permissions(&policy, PermissionsExt::from_mode(0o644)).unwrap();
    // Older than the run by the clock of the file system, too.
    std::thread::sleep(Duration::from_millis(50));
    (home, policy)
}

fn give(home: &Home, path: &Path) {
    chown(path, Some(home.who.uid()), Some(home.who.gid())).unwrap();
}

fn existing(home: &Home, path: &Path) {
    fs::write(path, OLD).unwrap();
    give(home, path);
}

fn guarded(home: &Home, policy: &Path, name: &str) -> Stepper {
    Stepper::start(
        home,
        With::Guard(&["--policy", policy.to_str().unwrap()]),
        name,
    )
}

/// `STEP -> ERRNO`, one a line; `$` is the home.
fn hold(home: &Home, stepper: &mut Stepper, script: &str) -> Result<(), String> {
    for line in script.lines().map(str::trim).filter(|l| !l.is_empty()) {
        let (step, wanted) = line.split_once(" -> ").unwrap();
        let got = stepper.step(&step.replace('$', home.path.to_str().unwrap()))?;
        let wanted = match wanted {
            "ok" => 0,
            "refused" => libc::EACCES,
            other => panic!("{other}"),
        };
        if got != wanted {
            return Err(format!("`{step}` gives errno {got}, not {wanted}"));
        }
    }
    Ok(())
}

fn both(name: &str, case: impl Fn(Who) -> Result<(), String> + Sync) {
    each(
        "ownership",
        &[name],
        |n| (*n).to_owned(),
        |_, who| case(who),
    );
}

fn ensure(good: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if good { Ok(()) } else { Err(what()) }
}

/// What is one run's own is nothing special to another one.
#[test]
fn two_runs_at_once() {
    both("two runs at once", |who| {
        let (home, policy) = home(who);
        let mut a = guarded(&home, &policy, "two-a");
        let mut b = guarded(&home, &policy, "two-b");
        for area in ["add", "nd"] {
            for (me, other, name, theirs) in [(0, 1, "a", "b"), (1, 0, "b", "a")] {
                let both = [&mut a, &mut b];
                let [first, second] = both;
                let (me, other) = match (me, other) {
                    (0, _) => (first, second),
                    _ => (second, first),
                };
                hold(&home, me, &format!("make-full $/{area}/{name} -> ok"))?;
                let changes = if area == "nd" { "ok" } else { "refused" };
                hold(
                    &home,
                    other,
                    &format!(
                        "unlink $/{area}/{name}/in -> refused
                         rename $/{area}/{name}/in $/tmp/out -> refused
                         rename $/{area}/{name} $/tmp/{theirs} -> refused
                         chmod $/{area}/{name} -> {changes}
                         open WRONLY|APPEND $/{area}/{name}/in -> {changes}"
                    ),
                )?;
                hold(
                    &home,
                    me,
                    &format!(
                        "open WRONLY|TRUNC $/{area}/{name}/in -> ok
                         unlink $/{area}/{name}/in -> ok
                         rmdir $/{area}/{name} -> ok"
                    ),
                )?;
            }
        }
        a.end()?;
        b.end()?;
        // The next run finds nothing of its own either.
        let mut first = guarded(&home, &policy, "two-c");
        hold(&home, &mut first, "make $/nd/left -> ok")?;
        first.end()?;
        let mut next = guarded(&home, &policy, "two-d");
        hold(&home, &mut next, "unlink $/nd/left -> refused")?;
        next.end()?;
        let mut control = Stepper::start(&home, With::Nothing, "two-control");
        hold(&home, &mut control, "unlink $/nd/left -> ok")?;
        control.end().map(drop)
    });
}

/// The number of an own file that is gone names another one.
#[test]
fn a_reused_inode_number() {
    both("a reused inode number", |who| {
        let (home, policy) = home(who);
        let dir = home.path.join("add");
        let mut run = guarded(&home, &policy, "inode");
        hold(&home, &mut run, "make $/add/x -> ok")?;
        let number = dir.join("x").metadata().unwrap().ino();
        fs::remove_file(dir.join("x")).unwrap();
        let started = Instant::now();
        // ext4 gives no number out again that was given back less than five seconds ago, unless it has no other.
        let reused = loop {
            let pause = Duration::from_millis(300);
            let batch: Vec<PathBuf> = (0..200).map(|n| dir.join(format!("y{n}"))).collect();
            batch.iter().for_each(|path| existing(&home, path));
            let same = batch
                .iter()
                .find(|path| path.metadata().unwrap().ino() == number);
            for path in batch.iter().filter(|path| Some(*path) != same) {
                fs::remove_file(path).unwrap();
            }
            if same.is_some() || started.elapsed() > Duration::from_secs(14) {
                break same.cloned();
            }
            std::thread::sleep(pause);
        };
        let Some(reused) = reused else {
            say("SKIPPED a reused inode number: this file system did not give it out again");
            return Ok(());
        };
        let name = reused.to_str().unwrap();
        hold(
            &home,
            &mut run,
            &format!(
                "open WRONLY {name} -> refused
                 open RDONLY|TRUNC {name} -> refused
                 chmod {name} -> refused
                 rename {name} $/add/z -> refused
                 unlink {name} -> refused"
            ),
        )?;
        run.end()?;
        ensure(fs::read(&reused).is_ok_and(|bytes| bytes == OLD), || {
            "the file with the reused number is not what it was".to_owned()
        })
    });
}

/// A process outside puts something older under a name that the run made.
#[test]
fn an_entry_that_is_swapped() {
    both("an entry that is swapped", |who| {
        let (home, policy) = home(who);
        let at = |name: &str| home.path.join(name);
        let mut run = guarded(&home, &policy, "swapped");
        hold(
            &home,
            &mut run,
            "make $/add/x -> ok
             make $/nd/x -> ok
             link $/nd/old $/nd/second -> ok
             make-full $/add/d -> ok",
        )?;
        fs::rename(at("add/old"), at("add/x")).unwrap();
        fs::rename(at("nd/older"), at("nd/x")).unwrap();
        existing(&home, &at("nd/third"));
        fs::rename(at("nd/third"), at("nd/second")).unwrap();
        // Into an own folder: what lies in it does not become the run's.
        fs::rename(at("add/older"), at("add/d/in")).unwrap();
        hold(
            &home,
            &mut run,
            "truncate $/add/x -> refused
             open WRONLY|TRUNC $/add/x -> refused
             unlink $/add/x -> refused
             rename $/add/x $/tmp/x -> refused
             unlink $/nd/x -> refused
             rename $/nd/x $/tmp/x -> refused
             unlink $/nd/second -> refused
             unlink $/add/d/in -> refused
             open WRONLY $/add/d/in -> refused
             rename $/add/d $/tmp/d -> refused",
        )?;
        run.end()?;
        for name in ["add/x", "nd/x", "nd/old", "nd/second", "add/d/in"] {
            ensure(fs::read(at(name)).is_ok_and(|bytes| bytes == OLD), || {
                format!("{name} is not what it was")
            })?;
        }
        let mut control = Stepper::start(&home, With::Nothing, "swapped-control");
        hold(
            &home,
            &mut control,
            "truncate $/add/x -> ok
             unlink $/add/x -> ok
             rename $/add/d $/tmp/d -> ok",
        )?;
        control.end().map(drop)
    });
}

/// How often each of the two files was under the name, and what the existing one holds at the end.
fn race(home: &Home, mut run: Stepper) -> Result<(i64, i64, Vec<u8>), String> {
    let (x, y) = (home.path.join("add/x"), home.path.join("add/old"));
    hold(home, &mut run, "make $/add/x -> ok")?;
    let number = y.metadata().unwrap().ino();
    let stop = AtomicBool::new(false);
    let answer = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let exchange = RenameFlags::RENAME_EXCHANGE;
                renameat2(AT_FDCWD, &x, AT_FDCWD, &y, exchange).unwrap();
            }
        });
        let answer = run.ask(&format!("hammer {} 1000", x.display()));
        stop.store(true, Ordering::Relaxed);
        answer
    })?;
    run.end()?;
    let (worked, refused) = answer.split_once(' ').ok_or("no two numbers")?;
    let old = [&x, &y]
        .into_iter()
        .find(|path| path.metadata().is_ok_and(|meta| meta.ino() == number))
        .ok_or("the existing file is gone")?;
    let count = |text: &str| text.parse::<i64>().map_err(|e| e.to_string());
    Ok((count(worked)?, count(refused)?, fs::read(old).unwrap()))
}

#[test]
fn an_entry_that_is_swapped_all_the_time() {
    both("an entry that is swapped all the time", |who| {
        let (plain, _) = home(who);
        let run = Stepper::start(&plain, With::Nothing, "race-control");
        let (_, _, bytes) = race(&plain, run)?;
        ensure(bytes != OLD, || {
            "CONTROL: without guard nothing is emptied".to_owned()
        })?;
        let (home, policy) = home(who);
        let run = guarded(&home, &policy, "race");
        let (worked, refused, bytes) = race(&home, run)?;
        ensure(bytes == OLD, || {
            format!("DAMAGE: the existing file holds {} bytes", bytes.len())
        })?;
        ensure(worked > 0 && refused > 0, || {
            format!("no race: {worked} times own, {refused} times refused")
        })
    });
}

/// VmHWM of a process in KiB.
fn peak(pid: i32) -> Result<u64, String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).map_err(|e| e.to_string())?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .ok_or_else(|| format!("no VmHWM in\n{status}"))
}

fn many(who: Who, count: u32) -> Result<(), String> {
    let (home, policy) = home(who);
    let mut run = guarded(&home, &policy, "many");
    // The parent of the command is the supervisor.
    let supervisor = run.step("pid")?;
    let exe = fs::read_link(format!("/proc/{supervisor}/exe")).map_err(|e| e.to_string())?;
    ensure(exe == support::programs::guard(), || {
        format!("the parent is {}", exe.display())
    })?;
    let started = Instant::now();
    hold(&home, &mut run, &format!("many {count} $/add -> ok"))?;
    let kilobytes = peak(supervisor)?;
    say(&format!(
        "ownership: {count} own files made and removed ({}): {:.1} s, {kilobytes} KiB",
        who.name(),
        started.elapsed().as_secs_f64()
    ));
    // It still knows what is its own.
    hold(
        &home,
        &mut run,
        "make $/add/x -> ok
         unlink $/add/x -> ok
         unlink $/add/old -> refused",
    )?;
    run.end()?;
    ensure(kilobytes < 100 * 1024, || {
        format!("the supervisor took {kilobytes} KiB")
    })
}

#[test]
fn many_own_files_take_little_memory() {
    both("many own files", |who| many(who, 20_000));
}

/// `cargo test --release --test ownership -- --ignored`.
#[test]
#[ignore = "takes long where the file system is slow"]
fn a_hundred_thousand_own_files_take_little_memory() {
    both("a hundred thousand own files", |who| many(who, 100_000));
}
