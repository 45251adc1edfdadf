//! Too few descriptors, too little memory, too few processes.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::run::{Running, argv, both, fault, is_gone, send, working};
use crate::support::snapshot::Compare;
use crate::support::{Home, With, am_root, each, programs, read_text, say, skip, tail};

const GUARD: With<'_> = With::Guard(&[]);

/// A control group of the tests' own; goes when it is dropped.
pub struct Group(PathBuf);

impl Group {
    /// One of this controller below the tests' own, with a limit; none where there is no such thing.
    pub fn new(controller: &str, name: &str, limit: &str) -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let own = read_text(Path::new("/proc/self/cgroup"));
        let path = |line: &str| {
            let mut fields = line.splitn(3, ':').skip(1);
            let (controllers, path) = (fields.next()?, fields.next()?.trim_start_matches('/'));
            let top = Path::new("/sys/fs/cgroup");
            match controllers {
                "" => Some(top.join(path)),
                one if one == controller => Some(top.join(controller).join(path)),
                _ => None,
            }
        };
        let number = NUMBER.fetch_add(1, Ordering::SeqCst);
        own.lines().filter_map(path).find_map(|top| {
            let group = Self(top.join(format!("guard-test-{}-{number}", std::process::id())));
            let made = am_root() && std::fs::create_dir(&group.0).is_ok();
            (made && group.set(name, limit)).then_some(group)
        })
    }

    /// Whether it could be set.
    pub fn set(&self, name: &str, value: &str) -> bool {
        // Never made: what is no control of the kernel's is not written.
        let file = self.0.join(name);
        file.exists() && std::fs::write(file, value).is_ok()
    }

    pub fn procs(&self) -> String {
        self.0.join("cgroup.procs").display().to_string()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for _ in 0..200 {
            if std::fs::remove_dir(&self.0).is_ok() || !self.0.exists() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// A fork bomb meets the limit of processes, and guard with it; both end.
#[test]
fn a_fork_bomb_under_a_limit() {
    both("fork bomb", |who| {
        let Some(group) = Group::new("pids", "pids.max", "80") else {
            return skip("fork bomb", "a control group of processes");
        };
        for with in [With::Nothing, GUARD] {
            let home = Home::new(who);
            let before = home.protected();
            let words = argv(&home, &["bomb", "", "7"]);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let enter = format!("echo $$ > {}", group.procs());
            let command = home.command_with_mounts(&enter, with, &words);
            let mut run = Running::start(&home, command, "bomb");
            let line = run.line()?;
            let (status, said) = run.end()?;
            let changes = before.differences(&home.protected(), Compare::Exact);
            if status != 7 || line != "the limit was met, 0 calls failed" || !changes.is_empty() {
                return Err(format!(
                    "exit {status}, {line}; {}\n{}",
                    changes.join("\n"),
                    tail(&said)
                ));
            }
        }
        Ok(())
    });
}

const WORK: &str = "rm -rf $P; : > $P/auth.json; chmod 0 $P/auth.json; mv ~/.pi ~/gone; touch ~/ran; \
    for i in $(seq 8); do mkdir ~/d$i; $B/fault once ~/d$i 1 10 & done 2>$T/said; wait";

/// guard itself has few descriptors, and its target no more: it says that it cannot start, or does all its work.
#[test]
fn few_descriptors() {
    let rows: Vec<u32> = if crate::support::is_long() {
        (4..200).collect()
    } else {
        vec![4, 8, 10, 11, 12, 13, 14, 16, 20, 24, 32, 48, 64, 100]
    };
    programs::helper("fault").unwrap();
    each(
        "descriptors",
        &rows,
        |r| format!("{r} descriptors"),
        |limit, who| {
            let home = Home::new(who);
            let before = home.protected();
            let limited = format!("ulimit -n {limit}; exec \"$@\"");
            let guard = programs::guard().to_str().unwrap();
            let mut command = home.command(
                With::Nothing,
                &[
                    "bash", "-c", &limited, "limit", guard, "--", "bash", "-c", WORK,
                ],
            );
            command.env("GUARD_LOG", "warn");
            let run = home.finish(command)?;
            let ran = home.path.join("ran").exists();
            let done = run.stdout.matches("0 wrong, 220 done\n").count();
            let changes = before.differences(&home.protected(), Compare::Exact);
            let refused = !ran
                && run.status == 125
                && run.stderr.lines().any(|line| line.starts_with("guard: "));
            if changes.is_empty() && (refused || ran && run.status == 0 && done == 8) {
                return Ok(());
            }
            Err(format!(
                "exit {}, ran: {ran}, whole: {done} of 8; {}\n{}\n{}",
                run.status,
                changes.join("\n"),
                tail(&run.stderr),
                tail(&read_text(&home.tmp().join("said")))
            ))
        },
    );
}

/// The target's own limit counts for what the supervisor opens for it.
#[test]
fn a_target_with_few_descriptors() {
    both("target's descriptors", |who| {
        let script = "ulimit -n 20; i=0; while exec {x}>~/made/e$i; do i=$((i+1)); done 2>$T/said; \
            grep -q 'Too many open files' $T/said && echo $i";
        let counts: Vec<String> = [With::Nothing, GUARD, With::Guard(&["--policy", "default"])]
            .into_iter()
            .map(|with| {
                let home = Home::new(who);
                home.script(With::Nothing, "mkdir ~/made")?;
                Ok(home.script(with, script)?.stdout)
            })
            .collect::<Result<_, String>>()?;
        let limited = counts[0]
            .trim()
            .parse()
            .is_ok_and(|many: u32| (4..20).contains(&many));
        if counts.iter().all(|count| *count == counts[0]) && limited {
            return Ok(());
        }
        Err(format!("{counts:?}"))
    });
}

/// How the supervisor is left without memory.
#[derive(Clone, Copy)]
enum Memory {
    /// No further address space, beyond so many KiB (setrlimit(2) from outside).
    Addresses(u64),
    /// A control group with so many KiB.
    Group(u64),
}

#[test]
fn a_supervisor_without_memory() {
    let rows = [
        ("no address space", Memory::Addresses(0)),
        ("64 KiB of address space", Memory::Addresses(64)),
        ("3 MiB of address space", Memory::Addresses(3 << 10)),
        ("20 MiB of address space", Memory::Addresses(20 << 10)),
        ("a group with 100 KiB", Memory::Group(100)),
        ("a group with 4 MiB", Memory::Group(4 << 10)),
    ];
    each(
        "memory",
        &rows,
        |r| r.0.to_owned(),
        |(_, memory), who| {
            let home = Home::new(who);
            let before = home.protected();
            let mut run = Running::start(
                &home,
                fault(&home, GUARD, &["once", "", "16", "20"]),
                "memory",
            );
            let supervisor = run.supervisor()?;
            working(&home)?;
            let group = match memory {
                Memory::Addresses(more) => {
                    limit_addresses(&home, supervisor, *more)?;
                    None
                }
                Memory::Group(kib) => {
                    let Some(group) = Group::new("unified", "memory.max", &(kib << 10).to_string())
                    else {
                        // The limits of address space stand for it.
                        say(
                            "SKIPPED memory of a group: needs a control group (version 2) with memory.max",
                        );
                        return Ok(());
                    };
                    group.set("cgroup.procs", &supervisor.to_string());
                    Some(group)
                }
            };
            let line = run.line();
            let (status, said) = run.end()?;
            let changes = before.differences(&home.protected(), Compare::Exact);
            // Either it did all of its work, or guard was lost and said so.
            let whole =
                line.as_deref() == Ok(&*format!("0 wrong, {} done", 22 * 16 * 20)) && status == 0;
            let lost = status == 125 && said.contains("guard: the supervisor was killed");
            send(supervisor, Signal::SIGKILL);
            crate::support::eventually(Duration::from_secs(5), || is_gone(supervisor));
            drop(group);
            if changes.is_empty() && (whole || lost) {
                return Ok(());
            }
            Err(format!(
                "{line:?}, exit {status}; {}\n{}",
                changes.join("\n"),
                tail(&said)
            ))
        },
    );
}

/// Takes away the address space of a process that runs, but for some KiB.
fn limit_addresses(home: &Home, pid: i32, more: u64) -> Result<(), String> {
    let status = read_text(Path::new(&format!("/proc/{pid}/status")));
    let size: u64 = status
        .lines()
        .find_map(|line| line.strip_prefix("VmSize:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .ok_or("no VmSize")?;
    let bytes = (size + more) << 10;
    let words = [format!("--pid={pid}"), format!("--as={bytes}:{bytes}")];
    let done = home
        .command(With::Nothing, &["prlimit", &words[0], &words[1]])
        .status();
    match done {
        Ok(status) if status.success() => Ok(()),
        other => Err(format!("prlimit: {other:?}")),
    }
}
