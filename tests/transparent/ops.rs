//! Runs `programs/ops.c` with and without guard, and compares what the calls gave and what is left.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::places::{Made, Place};
use super::support::snapshot::{Compare, Snapshot};
use super::support::{Home, Run, With, programs, tail};
use super::twice::now;

/// Who makes the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Four processes, in turns.
    Processes,
    /// Four threads, in turns.
    Threads,
    /// Four processes in folders of their own, at once.
    Parallel,
}

impl How {
    pub fn word(self) -> &'static str {
        match self {
            Self::Processes => "processes",
            Self::Threads => "threads",
            Self::Parallel => "parallel",
        }
    }
}

/// The folder that the calls are made in, below a place. Two deep, so that `..` is the run's own as well.
pub const BELOW: &str = "work/in";

/// What is in the folder at first. `a` to `e`, `l`, `s` and `f` are the names that calls are about.
const FURNISH: &[&str] = &[
    "openat w pa i0101 i0644 >0",
    "write f0 x6f6e65 i3",
    "openat w pb i0101 i0600 >0",
    "write f0 x74776f2074776f i7",
    "close f0",
    "mkdir pd i0755",
    "mkdir pd/d i0700",
    "mkdir pe i0755",
    "openat w pd/a i0101 i0644",
    "openat w pd/b i0101 i0444",
    "link pa pd/c",
    "symlink pa pl",
    "symlink p../in/d pd/l",
    "symlink pc ps",
    "symlink pe/o pd/s",
    "symlink p../d/s pe/o",
    "mknodat w pf i0010640 i0",
    "setxattr pa puser.note x6f6e65 i3 i0",
    "setxattr pd puser.note x64 i1 i0",
    "utimensat w pb t1000000000,7,1000000001,9 i0",
];

/// Calls for a worker each, as `ops.c` has them. `@` in them is the folder's own path.
#[derive(Clone, Debug)]
pub struct Sequence {
    pub how: How,
    pub lines: Vec<String>,
}

/// What a run of a sequence came to.
pub struct Seen {
    pub run: Run,
    pub tree: Snapshot,
    pub outside: Snapshot,
}

impl Seen {
    /// The answers to the sequence's own lines, by their number.
    pub fn answers(&self, skipped: usize) -> BTreeMap<usize, &str> {
        let numbered = |line: &'_ str| line.split_once(' ').map(|(n, _)| n.parse().ok());
        self.run
            .stdout
            .lines()
            .filter_map(|line| {
                let number: usize = numbered(line)??;
                let answer = line.split_once(" = ")?.1;
                Some((number.checked_sub(skipped)?, answer))
            })
            .collect()
    }
}

/// How a sequence is run in a place.
pub struct Stage<'a> {
    pub home: &'a Home,
    pub place: &'a Place,
    /// Whether the usual things are put there first.
    pub furnished: bool,
    /// Run by the shell around the program, which is `"$@"` with its arguments; none: nothing.
    pub around: &'a str,
    /// The same around guard and the program.
    pub outside: &'a str,
}

impl<'a> Stage<'a> {
    pub fn new(home: &'a Home, place: &'a Place) -> Self {
        Self {
            home,
            place,
            furnished: true,
            around: "",
            outside: "",
        }
    }

    /// Lines that make the folder and what is in it; and how many of them count as the run's.
    fn first(&self, how: How) -> Vec<String> {
        let below = ["mkdir pwork i0755", "mkdir pwork/in i0755"];
        let enter = format!("chdir p{BELOW}");
        let all: &[u8] = &[0, 1, 2, 3];
        let (makers, movers): (&[u8], &[u8]) = match how {
            How::Processes => (&[0], all),
            How::Threads => (&[0], &[0]),
            How::Parallel => (all, all),
        };
        let mut lines = Vec::new();
        let mut add = |workers: &[u8], texts: &[&str]| {
            for worker in workers {
                lines.extend(texts.iter().map(|text| format!("{worker} {text}")));
            }
        };
        if !self.place.itself {
            add(makers, &below);
            add(movers, &[&enter]);
        }
        if self.furnished {
            add(makers, FURNISH);
        }
        lines
    }

    /// How many lines come before the sequence's own.
    pub fn skipped(&self, how: How) -> usize {
        match self.place.made {
            Made::ByRun => self.first(how).len(),
            Made::Before => self.enter(how).len(),
        }
    }

    fn enter(&self, how: How) -> Vec<String> {
        let mut lines = self.first(how);
        lines.retain(|line| line.contains(" chdir "));
        lines
    }

    /// Runs it once in a fresh home.
    pub fn run(&self, sequence: &Sequence, guard: bool) -> Result<Seen, String> {
        self.home.reset();
        let run = self.start_again(sequence, guard)?;
        Ok(Seen {
            run,
            tree: self.home.everything(),
            outside: Snapshot::of(&self.home.outside(), &[""]),
        })
    }

    /// Runs it in the home as it is.
    pub fn start_again(&self, sequence: &Sequence, guard: bool) -> Result<Run, String> {
        let options = self.place.prepare(self.home);
        let start = self.place.start(self.home);
        let first = self.first(sequence.how);
        let before = if self.place.made == Made::Before {
            let run = self.start(&first, sequence.how, With::Nothing, &start)?;
            if run.status != 0 || run.stdout.lines().any(|line| line.contains(" = E")) {
                return Err(format!("the preparation fails: {}", run.stdout));
            }
            self.enter(sequence.how)
        } else {
            first
        };
        let lines: Vec<String> = before
            .into_iter()
            .chain(sequence.lines.iter().cloned())
            .map(|line| self.with_places(&line, sequence.how))
            .collect();
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let with = if guard {
            With::Guard(&options)
        } else {
            With::Nothing
        };
        self.start(&lines, sequence.how, with, &start)
    }

    /// The line with the folder's own path for `@`, and that of the home for `~`.
    fn with_places(&self, line: &str, how: How) -> String {
        let mut work = self.place.start(self.home);
        if how == How::Parallel {
            work.push(&line[..1]); // the worker's own
        }
        if !self.place.itself {
            work.push(BELOW);
        }
        line.replace('@', work.to_str().unwrap())
            .replace('~', self.home.path.to_str().unwrap())
    }

    fn start(&self, lines: &[String], how: How, with: With<'_>, dir: &Path) -> Result<Run, String> {
        let file = self.home.outside().join("ops");
        fs::write(&file, lines.join("\n") + "\n").unwrap();
        fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
        let program = programs::helper("ops").unwrap();
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let argv = [
            text(&program),
            how.word().to_owned(),
            text(&file),
            text(dir),
        ];
        let inner = in_shell(self.around, argv.to_vec());
        let (with, argv) = match with {
            With::Guard(options) if !self.outside.is_empty() => {
                let mut full = vec![text(programs::guard())];
                full.extend(options.iter().map(|option| (*option).to_owned()));
                full.push("--".to_owned());
                full.extend(inner);
                (With::Nothing, in_shell(self.outside, full))
            }
            With::Guard(_) => (with, inner),
            With::Nothing => (with, in_shell(self.outside, inner)),
        };
        let argv: Vec<&str> = argv.iter().map(String::as_str).collect();
        self.home.finish(self.home.command(with, &argv))
    }

    /// Everything that differs between two runs.
    pub fn differences(&self, sequence: &Sequence, plain: &Seen, guarded: &Seen) -> Vec<String> {
        let mut problems = Vec::new();
        let skipped = self.skipped(sequence.how);
        let (a, b) = (plain.answers(0), guarded.answers(0));
        for number in 0..skipped + sequence.lines.len() {
            let (a, b) = (a.get(&number), b.get(&number));
            if a != b {
                let line = number
                    .checked_sub(skipped)
                    .map_or("(furnishing)", |n| sequence.lines[n].as_str());
                problems.push(format!("`{line}` gives {a:?}, under guard {b:?}"));
            }
        }
        if plain.run.status != guarded.run.status {
            problems.push(format!(
                "exit {}, under guard {}: {}",
                plain.run.status,
                guarded.run.status,
                tail(&guarded.run.stderr)
            ));
        }
        if plain.run.stderr != guarded.run.stderr {
            problems.push(format!("under guard it says {:?}", guarded.run.stderr));
        }
        let how = Compare::Alike {
            since: now() - 600,
            loose: &[],
        };
        for (name, a, b) in [
            ("~", &plain.tree, &guarded.tree),
            ("outside", &plain.outside, &guarded.outside),
        ] {
            let found = a.differences(b, how);
            problems.extend(found.into_iter().map(|d| format!("{name}/{d}")));
            if names_of_files(a) != names_of_files(b) {
                problems.push(format!("{name}: other names belong to one file"));
            }
        }
        problems.truncate(8);
        problems
    }
}

/// The command, run by a shell script if there is one.
fn in_shell(script: &str, argv: Vec<String>) -> Vec<String> {
    if script.is_empty() {
        return argv;
    }
    let shell = ["bash", "-c", script, "shell"].map(str::to_owned);
    shell.into_iter().chain(argv).collect()
}

/// For each name of a file with several names, the first name of the same file.
fn names_of_files(tree: &Snapshot) -> BTreeMap<&PathBuf, &PathBuf> {
    let mut first = BTreeMap::new();
    let shared = tree
        .0
        .iter()
        .filter(|(_, it)| it.kind != 'd' && it.nlink > 1);
    shared
        .map(|(path, it)| (path, *first.entry(it.ino).or_insert(path)))
        .collect()
}

/// Runs a sequence with and without guard; what differs, in words.
pub fn twice(stage: &Stage<'_>, sequence: &Sequence) -> Result<Seen, String> {
    let plain = control(stage, sequence)?;
    compared(stage, sequence, &plain)?;
    Ok(plain)
}

/// Runs it without guard.
pub fn control(stage: &Stage<'_>, sequence: &Sequence) -> Result<Seen, String> {
    let plain = stage.run(sequence, false)?;
    let got = plain.answers(0).len();
    let lines = stage.skipped(sequence.how) + sequence.lines.len();
    if got == lines {
        return Ok(plain);
    }
    Err(format!(
        "CONTROL: {got} answers to {lines} lines, exit {}: {}{}",
        plain.run.status,
        tail(&plain.run.stdout),
        tail(&plain.run.stderr)
    ))
}

/// Runs it with guard, and compares.
pub fn compared(stage: &Stage<'_>, sequence: &Sequence, plain: &Seen) -> Result<(), String> {
    let guarded = stage.run(sequence, true)?;
    let problems = stage.differences(sequence, plain, &guarded);
    if problems.is_empty() {
        return Ok(());
    }
    let again = stage.run(sequence, false)?;
    let noise = stage.differences(sequence, plain, &again);
    if noise.is_empty() {
        return Err(problems.join("\n"));
    }
    Err(format!(
        "CONTROL: not the same without guard either\n{}",
        noise.join("\n")
    ))
}
