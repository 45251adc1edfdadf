//! Grouping: what the processes of one tree try under one rule in one way is one event, however many calls it takes.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Answer, Attempt, ObjectKind, Operation, Process, RuleNote, Text, moment};

/// Lines of attempts after which their number counts by doubling.
const FEW: u64 = 8;
/// Groups that are told apart by their processes; what comes then is counted by rule and operation alone.
const MOST_GROUPS: usize = 256;
/// Processes of a group that are told apart.
const MOST_PROCESSES: usize = 1000;
/// From this many removals on, a group is called a recursive delete.
pub const RECURSIVE: u64 = 3;
/// How long a group's count may be newer than its last line.
const PATIENCE: Duration = Duration::from_secs(1);

/// Several attempts of one process tree under one rule, all of one operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// From 1 within the run.
    pub id: u32,
    /// What the attempts are together.
    pub kind: GroupKind,
    /// What each of them would have done.
    pub operation: Operation,
    /// What became of each.
    pub answer: Answer,
    /// The rule that decided, the outermost of several that lie within each other; none as in an [`Attempt`].
    pub rule: Option<RuleNote>,
    /// The process that made them, or that started those which did.
    #[serde(flatten)]
    pub process: Process,
    /// Its parents, nearest first, up to the command that guard started.
    pub parents: Vec<Process>,
    /// How many processes made them; 1000 stands for that many or more.
    pub processes: u64,
    /// When the first was made, UTC.
    #[serde(with = "moment")]
    pub begun: Timestamp,
    /// When the last was made, UTC.
    #[serde(with = "moment")]
    pub latest: Timestamp,
    /// How many attempts.
    pub attempts: u64,
    /// Those aimed at a regular file or symbolic link.
    pub files: u64,
    /// Those aimed at a directory.
    pub folders: u64,
    /// How many of them have a line of their own.
    pub listed: u64,
    /// The object of the first.
    pub first: Option<Text>,
    /// The object of the last.
    pub last: Option<Text>,
    /// The place that all objects are or lie in.
    pub within: Option<Text>,
}

/// What attempts of one operation are together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GroupKind {
    /// Too few to be called something.
    Single,
    /// Removals of many entries.
    RecursiveDelete,
    /// Openings for writing and truncations.
    RepeatedWrite,
    /// Changes of modes, owners, times, attributes.
    MetadataSweep,
    /// Many of another operation.
    Repeated,
}

impl GroupKind {
    fn of(operation: Operation, attempts: u64) -> Self {
        match operation {
            _ if attempts < RECURSIVE => Self::Single,
            Operation::Delete => Self::RecursiveDelete,
            Operation::Write => Self::RepeatedWrite,
            Operation::Metadata => Self::MetadataSweep,
            Operation::Create
            | Operation::Rename
            | Operation::Replace
            | Operation::Link
            | Operation::Forbidden => Self::Repeated,
        }
    }
}

/// What attempts of one group have in common.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    root: usize,
    operation: Operation,
    answer: Answer,
}

/// A process, told apart from later ones of the same number.
type Identity = (i32, u64);

/// All groups of a run.
pub struct Groups {
    all: Vec<Kept>,
    /// By the process at the head of the group.
    led: HashMap<(Key, Identity), usize>,
    /// By the parent of that process.
    siblings: HashMap<(Key, Identity), usize>,
    /// Where there are too many.
    rest: HashMap<Key, usize>,
    /// Attempts of a group that have lines of their own.
    listed: u64,
}

struct Kept {
    group: Group,
    key: Key,
    processes: HashSet<Identity>,
    /// Attempts when the last line of the group was written.
    written: u64,
    /// When that was, at first when the group was begun.
    at: Instant,
    begun: Instant,
}

/// Where an attempt belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The group.
    pub group: u32,
    /// Whether it is to have a line of its own.
    pub listed: bool,
}

impl Groups {
    /// None so far; of each the first `listed` attempts will have lines of their own.
    #[must_use]
    pub fn new(listed: u32) -> Self {
        Self {
            all: Vec::new(),
            led: HashMap::new(),
            siblings: HashMap::new(),
            rest: HashMap::new(),
            listed: listed.into(),
        }
    }

    /// Adds an attempt under the root of this number, which is this rule's place.
    pub fn add(&mut self, attempt: &Attempt, root: usize, rule: Option<&RuleNote>) -> Place {
        let index = self.place(attempt, root);
        let kept = &mut self.all[index];
        if kept.group.attempts == 0 {
            kept.group.rule = rule.cloned();
        }
        kept.count(attempt, self.listed);
        Place {
            group: kept.group.id,
            listed: kept.group.listed == kept.group.attempts,
        }
    }

    /// The root of this number has become this rule's place.
    pub fn widen(&mut self, root: usize, rule: Option<&RuleNote>) {
        for kept in self.all.iter_mut().filter(|kept| kept.key.root == root) {
            kept.group.rule = rule.cloned();
        }
    }

    /// The groups so far.
    pub fn iter(&self) -> impl Iterator<Item = &Group> {
        self.all.iter().map(|kept| &kept.group)
    }

    /// The groups of which a line is due: twice as many attempts as the last line told, or a second of news. At the end of
    /// the run all that have news.
    pub fn due(&mut self, now: Instant, over: bool) -> Vec<Group> {
        let due = self.all.iter_mut().filter_map(|kept| {
            (kept.has_news() && (over || kept.is_due(now))).then(|| {
                kept.written = kept.group.attempts;
                kept.at = now;
                kept.group.clone()
            })
        });
        due.collect()
    }

    /// A line of this group could not be kept: it is due again.
    pub fn unwritten(&mut self, id: u32) {
        if let Some(kept) = self.all.iter_mut().find(|kept| kept.group.id == id) {
            kept.written = 0;
        }
    }

    /// Whether some group has news that no line tells.
    pub fn has_news(&self) -> bool {
        self.all.iter().any(Kept::has_news)
    }

    /// The group of an attempt: the one of the nearest process above it that leads one of the kind, else the one of a
    /// sibling, which their parent leads from then on, else a new one.
    fn place(&mut self, attempt: &Attempt, root: usize) -> usize {
        let key = Key {
            root,
            operation: attempt.operation,
            answer: attempt.answer,
        };
        let mut chain = std::iter::once(&attempt.process).chain(&attempt.parents);
        if let Some(&index) =
            chain.find_map(|process| self.led.get(&(key.clone(), identity(process))))
        {
            return index;
        }
        let parent = attempt.parents.first().map(identity);
        let of_parent = parent.map(|parent| (key.clone(), parent));
        if let Some(index) = of_parent.as_ref().and_then(|it| self.siblings.remove(it)) {
            self.raise(index, attempt);
            return index;
        }
        if self.all.len() >= MOST_GROUPS {
            let next = self.all.len();
            let index = *self.rest.entry(key.clone()).or_insert(next);
            if index == next {
                self.begin(key, attempt);
                // Many processes of many parents: all that is known is that the command started them.
                let group = &mut self.all[index].group;
                if let Some(command) = group.parents.pop() {
                    group.process = command;
                }
                group.parents.clear();
            }
            return index;
        }
        let index = self.begin(key.clone(), attempt);
        self.led.insert((key, identity(&attempt.process)), index);
        if let Some(of_parent) = of_parent {
            self.siblings.insert(of_parent, index);
        }
        index
    }

    fn begin(&mut self, key: Key, attempt: &Attempt) -> usize {
        let index = self.all.len();
        let now = Instant::now();
        self.all.push(Kept {
            group: Group {
                id: u32::try_from(index + 1).unwrap_or(u32::MAX),
                kind: GroupKind::Single,
                operation: attempt.operation,
                answer: attempt.answer,
                rule: None,
                process: attempt.process.clone(),
                parents: attempt.parents.clone(),
                processes: 0,
                begun: attempt.time,
                latest: attempt.time,
                attempts: 0,
                files: 0,
                folders: 0,
                listed: 0,
                first: attempt.found.clone(),
                last: None,
                within: None,
            },
            key,
            processes: HashSet::new(),
            written: 0,
            at: now,
            begun: now,
        });
        index
    }

    /// The parent of the process that made `attempt` leads the group from now on.
    fn raise(&mut self, index: usize, attempt: &Attempt) {
        let Some((parent, above)) = attempt.parents.split_first() else {
            return;
        };
        let kept = &mut self.all[index];
        kept.group.process = parent.clone();
        kept.group.parents = above.to_vec();
        let key = kept.key.clone();
        self.led.insert((key.clone(), identity(parent)), index);
        if let Some(next) = above.first() {
            self.siblings.insert((key, identity(next)), index);
        }
    }
}

impl Kept {
    fn count(&mut self, attempt: &Attempt, listed: u64) {
        let group = &mut self.group;
        group.attempts += 1;
        group.kind = GroupKind::of(group.operation, group.attempts);
        group.latest = group.latest.max(attempt.time);
        match attempt.object {
            Some(ObjectKind::File | ObjectKind::Link) => group.files += 1,
            Some(ObjectKind::Folder) => group.folders += 1,
            Some(ObjectKind::Other) | None => {}
        }
        if group.listed + 1 == group.attempts && group.listed < listed {
            group.listed += 1;
        }
        if self.processes.len() < MOST_PROCESSES {
            self.processes.insert(identity(&attempt.process));
            group.processes = self.processes.len() as u64;
        }
        if let Some(found) = &attempt.found {
            group.within = Some(match &group.within {
                None => within(found.as_bytes(), found.as_bytes()),
                Some(so_far) => within(so_far.as_bytes(), found.as_bytes()),
            });
            group.last = Some(found.clone());
        }
    }

    /// A single attempt has its own line, and needs no other.
    fn has_news(&self) -> bool {
        self.group.attempts > self.written.max(1)
    }

    fn is_due(&self, now: Instant) -> bool {
        let doubled = self.group.attempts >= 2 * self.written.max(FEW);
        // The longer it goes on, the longer the pauses: few lines, however long a run is.
        let lifetime = now.saturating_duration_since(self.begun);
        doubled || now.saturating_duration_since(self.at) >= PATIENCE.max(lifetime / 8)
    }
}

fn identity(process: &Process) -> Identity {
    (process.pid, process.started)
}

/// The nearest folder that holds both, or what one of them is if the other lies in it.
fn within(one: &[u8], other: &[u8]) -> Text {
    let mut end = 0;
    let mut at = 0;
    loop {
        let ends = |path: &[u8]| at == path.len() || path[at] == b'/';
        if ends(one) && ends(other) {
            end = at;
        }
        if at >= one.len() || at >= other.len() || one[at] != other[at] {
            break;
        }
        at += 1;
    }
    if end == 0 && one.first() == Some(&b'/') && other.first() == Some(&b'/') {
        end = 1;
    }
    one[..end].into()
}

#[cfg(test)]
mod tests;
