//! Running rows: one process a user and layout makes every call of every row, and each row has folders of its own.
//!
//! Three times at the same place: twice without guard, once with it. The first makes only the calls that the oracle lets
//! happen, and its tree is what the guarded one has to look like at the end. The second shows that whatever guard is to refuse
//! would have worked and would have changed something.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::row::{Act, Before, Row};
use crate::support::snapshot::{Compare, Snapshot, set_mtime, set_xattr};
use crate::support::steps::Stepper;
use crate::support::{Home, With, say};

/// Where the four levels are.
pub struct Layout {
    pub name: &'static str,
    /// The folder of each level, from strict to loose, below the home.
    pub areas: [&'static str; 4],
    pub policy: &'static str,
}

/// What is different for one row, in words.
pub type Problems = Vec<String>;

struct Table<'a> {
    home: &'a Home,
    layout: &'a Layout,
    rows: &'a [Row],
}

/// All rows in this layout.
pub fn run(home: &Home, layout: &Layout, rows: &[Row]) -> Result<(), String> {
    let table = Table { home, layout, rows };
    let since = now() - 5;
    let mut problems = Problems::new();
    let (expected, mut found) = table.control(since)?;
    problems.append(&mut found);
    home.renew();
    problems.extend(table.guarded(&expected, since)?);
    let refused: usize = rows.iter().map(Row::recorded).sum();
    say(&format!(
        "levels: {} ({}): {} rows, {} calls, {refused} of them to be refused",
        layout.name,
        home.who.name(),
        rows.len(),
        rows.iter().map(|r| r.acts.len()).sum::<usize>(),
    ));
    if problems.is_empty() {
        return Ok(());
    }
    let count = problems.len();
    let limit = std::env::var("GUARD_TEST_SHOW")
        .ok()
        .and_then(|n| n.parse().ok());
    problems.truncate(limit.unwrap_or(40));
    Err(format!("{count} problems\n{}", problems.join("\n")))
}

impl Table<'_> {
    /// The trees as they should be, and what is wrong with the rows themselves.
    fn control(&self, since: i64) -> Result<(Vec<Snapshot>, Problems), String> {
        let mut problems = Problems::new();
        self.furnish();
        let mut plain = Stepper::start(self.home, With::Nothing, "expected");
        self.prepare(&mut plain)?;
        let allowed = |act: &&Act| !act.refused();
        for (number, row) in self.rows.iter().enumerate() {
            let acts: Vec<&Act> = row.acts.iter().filter(allowed).collect();
            let wanted: Vec<i32> = acts.iter().map(|act| act.kernel).collect();
            problems.extend(self.compare("CONTROL: ", number, &acts, &mut plain, &wanted)?);
        }
        plain.end()?;
        let expected = self.snapshots();

        self.home.renew();
        self.furnish();
        let mut plain = Stepper::start(self.home, With::Nothing, "damage");
        self.prepare(&mut plain)?;
        let first_refused = |row: &Row| row.acts.iter().position(Act::refused);
        for (number, row) in self.rows.iter().enumerate() {
            if let Some(last) = first_refused(row) {
                let acts: Vec<&Act> = row.acts[..=last].iter().collect();
                let wanted: Vec<i32> = acts.iter().map(|act| act.kernel).collect();
                problems.extend(self.compare("DAMAGE: ", number, &acts, &mut plain, &wanted)?);
            }
        }
        plain.end()?;
        let damaged = self.snapshots();
        for (number, row) in self.rows.iter().enumerate() {
            let Some(last) = first_refused(row) else {
                continue;
            };
            let how = Compare::Alike { since, loose: &[] };
            let same = expected[number]
                .differences(&damaged[number], how)
                .is_empty();
            // A story goes on after what is refused; only one that ends there can be compared.
            if same
                && last + 1 == row.acts.len()
                && !row.acts[last].silent
                && row.acts[last].kernel == 0
            {
                problems.push(format!(
                    "DAMAGE: r{number} {}: nothing is changed without guard",
                    row.name
                ));
            }
        }
        Ok((expected, problems))
    }

    fn guarded(&self, expected: &[Snapshot], since: i64) -> Result<Problems, String> {
        let mut problems = Problems::new();
        self.furnish();
        let policy = self.write_policy();
        // What was made just now has to be older than the run for the clock of the file system, too.
        std::thread::sleep(Duration::from_millis(50));
        let options = ["--policy", policy.to_str().unwrap()];
        let mut guarded = Stepper::start(self.home, With::Guard(&options), self.layout.name);
        problems.extend(self.set_up(&mut guarded)?);
        let before = self.snapshots();
        for (number, row) in self.rows.iter().enumerate() {
            let acts: Vec<&Act> = row.acts.iter().collect();
            let wanted: Vec<i32> = acts.iter().map(|act| act.expected()).collect();
            problems.extend(self.compare("", number, &acts, &mut guarded, &wanted)?);
        }
        let (status, said) = guarded.end()?;
        if status != 0 {
            return Err(format!("exit {status}\n{}", crate::support::tail(&said)));
        }
        let after = self.snapshots();
        let records = self.refusals();
        for (number, row) in self.rows.iter().enumerate() {
            let mut changes = Vec::new();
            if row.acts.iter().all(|act| act.expected() != 0) {
                changes = before[number].differences(&after[number], Compare::Exact);
            }
            if changes.is_empty() {
                let how = Compare::Alike { since, loose: &[] };
                changes = expected[number].differences(&after[number], how);
            }
            if !changes.is_empty() {
                problems.push(format!(
                    "TREE: r{number} {}: {}",
                    row.name,
                    changes.join("; ")
                ));
            }
            let recorded = records.get(&number).copied().unwrap_or(0);
            if recorded != row.recorded() {
                problems.push(format!(
                    "RECORD: r{number} {}: {recorded} refusals, not {}",
                    row.name,
                    row.recorded()
                ));
            }
        }
        Ok(problems)
    }

    /// Makes the calls and says where the answer is another one.
    fn compare(
        &self,
        prefix: &str,
        number: usize,
        acts: &[&Act],
        stepper: &mut Stepper,
        wanted: &[i32],
    ) -> Result<Problems, String> {
        let lines: Vec<String> = acts
            .iter()
            .map(|act| self.real(number, &act.step))
            .collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let got = stepper.steps(&lines)?;
        Ok(acts
            .iter()
            .zip(got)
            .zip(wanted)
            .filter(|((_, got), wanted)| got != *wanted)
            .map(|((act, got), wanted)| {
                format!(
                    "{prefix}r{number} {}: `{}` gives {}, not {}",
                    self.rows[number].name,
                    act.step,
                    errno(got),
                    errno(*wanted)
                )
            })
            .collect())
    }

    fn prepare(&self, stepper: &mut Stepper) -> Result<(), String> {
        match self.set_up(stepper)? {
            problems if problems.is_empty() => Ok(()),
            problems => Err(format!(
                "the rows cannot be set up without guard:\n{}",
                problems.join("\n")
            )),
        }
    }

    fn set_up(&self, stepper: &mut Stepper) -> Result<Problems, String> {
        let mut problems = Problems::new();
        for (number, row) in self.rows.iter().enumerate() {
            let lines: Vec<String> = row.setup.iter().map(|s| self.real(number, s)).collect();
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            for (step, got) in row.setup.iter().zip(stepper.steps(&lines)?) {
                if got != 0 {
                    problems.push(format!(
                        "SETUP: r{number} {}: `{step}` gives {}",
                        row.name,
                        errno(got)
                    ));
                }
            }
        }
        Ok(problems)
    }

    fn folder(&self, level: usize, number: usize) -> PathBuf {
        self.home
            .path
            .join(self.layout.areas[level])
            .join(format!("r{number}"))
    }

    /// A line with the row's own folders in it.
    fn real(&self, number: usize, text: &str) -> String {
        (0..4).fold(text.to_owned(), |line, level| {
            let mark = format!("@{level}");
            if line.contains(&mark) {
                line.replace(&mark, self.folder(level, number).to_str().unwrap())
            } else {
                line
            }
        })
    }

    /// Everything that existed, old.
    fn furnish(&self) {
        for area in self.layout.areas {
            fs::create_dir_all(self.home.path.join(area)).unwrap();
        }
        for (number, row) in self.rows.iter().enumerate() {
            let words = format!(
                "{:?}{:?}{:?}{:?}",
                row.before, row.setup, row.acts, row.places
            );
            for level in (0..4).filter(|level| words.contains(&format!("@{level}"))) {
                fs::create_dir(self.folder(level, number)).unwrap();
            }
            for thing in &row.before {
                put(thing, |text| self.real(number, text));
            }
        }
        let tops = self
            .layout
            .areas
            .map(|area| area.split('/').next().unwrap());
        for top in BTreeSet::from(tops) {
            age(self.home, &self.home.path.join(top));
        }
    }

    fn write_policy(&self) -> PathBuf {
        let mut text = self.layout.policy.to_owned();
        for (number, row) in self.rows.iter().enumerate() {
            for (place, level) in &row.places {
                let place = self.real(number, place);
                text += &format!("\"{place}\" = \"{}\"\n", level.name());
            }
        }
        let file = self.home.outside().join("policy.toml");
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
        file
    }

    fn snapshots(&self) -> Vec<Snapshot> {
        (0..self.rows.len())
            .map(|number| {
                let names: Vec<String> = self
                    .layout
                    .areas
                    .iter()
                    .map(|area| format!("{area}/r{number}"))
                    .collect();
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                Snapshot::of(&self.home.path, &names)
            })
            .collect()
    }

    /// How many refusals the record has for each row.
    fn refusals(&self) -> BTreeMap<usize, usize> {
        let mut counts = BTreeMap::new();
        for attempt in self.home.attempts() {
            let asked = attempt["asked"].as_array().cloned().unwrap_or_default();
            let paths = asked.iter().chain([&attempt["found"]]);
            let row = paths.filter_map(serde_json::Value::as_str).find_map(row_in);
            if let Some(row) = row {
                *counts.entry(row).or_default() += 1;
            }
        }
        counts
    }
}

/// The number of the row whose folder is in this path.
fn row_in(path: &str) -> Option<usize> {
    path.split('/')
        .find_map(|part| part.strip_prefix('r')?.parse().ok())
}

fn errno(number: i32) -> String {
    match number {
        0 => "success".to_owned(),
        number => nix::errno::Errno::from_raw(number).to_string(),
    }
}

pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(since.as_secs()).unwrap()
}

fn put(thing: &Before, real: impl Fn(&str) -> String) {
    let file = |path: &str| {
        fs::write(path, format!("existing {path}")).unwrap();
        set_xattr(Path::new(path), "user.note", b"existing");
    };
    let dir = |path: &str| {
        fs::create_dir(path).unwrap();
        set_xattr(Path::new(path), "user.note", b"existing");
    };
    match thing {
        Before::File(path) => file(&real(path)),
        Before::Dir(path) => dir(&real(path)),
        Before::Full(path) => {
            dir(&real(path));
            file(&format!("{}/in", real(path)));
        }
        Before::Symlink(path, target) => symlink(real(target), real(path)).unwrap(),
        Before::Fifo(path) => {
            let mode = nix::sys::stat::Mode::from_bits_truncate(0o644);
            nix::unistd::mkfifo(Path::new(&real(path)), mode).unwrap();
        }
    }
}

/// Gives everything to the user, and an old time, children first.
fn age(home: &Home, path: &Path) {
    if path.symlink_metadata().unwrap().is_dir() {
        for child in fs::read_dir(path).unwrap() {
            age(home, &child.unwrap().path());
        }
    }
    lchown(path, Some(home.who.uid()), Some(home.who.gid())).unwrap();
    set_mtime(path, 1_100_000_000, 123_456_789);
}
