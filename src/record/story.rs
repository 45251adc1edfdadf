//! A record as a whole: its groups with their attempts, and the tree of processes that made them.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use super::groups::Groups;
use super::{
    Attempt, Entry, Footer, Group, Header, Line, Note, Numbered, Process, RecordError, entries,
};

/// What a record tells.
#[derive(Debug, Default)]
pub struct Story {
    /// None when the first line is damaged, or of a version that this program does not know.
    pub header: Option<Header>,
    /// What was tried, in the order of the first attempt of each.
    pub events: Vec<Event>,
    /// What guard said.
    pub notes: Vec<Note>,
    /// None while the run goes on, and when it was cut short.
    pub footer: Option<Footer>,
    /// Lines that are no event.
    pub damaged: Vec<usize>,
    /// The last line, if it has no end.
    pub torn: Option<usize>,
    /// The version in the header, where this program does not know it.
    pub other_version: Option<u32>,
}

/// A group with those of its attempts that have a line.
#[derive(Debug)]
pub struct Event {
    /// What the attempts come to.
    pub group: Group,
    /// The attempts, in order.
    pub attempts: Vec<Numbered>,
}

impl Story {
    /// Reads a record.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read(path: &Path) -> Result<Self, RecordError> {
        let mut story = Self::default();
        let mut attempts: BTreeMap<u32, Vec<Numbered>> = BTreeMap::new();
        let mut groups: HashMap<u32, Group> = HashMap::new();
        for entry in entries(path)? {
            match entry? {
                Entry::Line(Line::Header(header)) if header.version == super::VERSION => {
                    story.header = Some(*header);
                }
                Entry::Line(Line::Header(header)) => {
                    story.other_version = Some(header.version);
                    return Ok(story);
                }
                Entry::Line(Line::Attempt(one)) => {
                    attempts.entry(one.group).or_default().push(*one);
                }
                Entry::Line(Line::Group(group)) => {
                    groups.insert(group.id, *group);
                }
                Entry::Line(Line::Note(note)) => story.notes.push(note),
                Entry::Line(Line::Footer(footer)) => story.footer = Some(footer),
                Entry::Line(Line::Unknown) => {}
                Entry::Damaged(line) => story.damaged.push(line),
                Entry::Torn(line) => story.torn = Some(line),
            }
        }
        let mut ids: Vec<u32> = attempts.keys().chain(groups.keys()).copied().collect();
        ids.sort_unstable();
        ids.dedup();
        for id in ids {
            let attempts = attempts.remove(&id).unwrap_or_default();
            let told = groups.remove(&id);
            let group = told.filter(|group| group.attempts >= attempts.len() as u64);
            // A guard that was killed has not told what its last attempts come to.
            if let Some(group) = group.or_else(|| together(id, &attempts)) {
                story.events.push(Event { group, attempts });
            }
        }
        Ok(story)
    }
}

/// What attempts come to by themselves.
fn together(id: u32, attempts: &[Numbered]) -> Option<Group> {
    let mut groups = Groups::new(u32::MAX);
    for one in attempts {
        // All are of one group: whoever made the first leads.
        let first = &attempts[0].attempt;
        let attempt = Attempt {
            process: first.process.clone(),
            parents: first.parents.clone(),
            ..one.attempt.clone()
        };
        groups.add(&attempt, 0, first.rule.as_ref());
    }
    let mut group = groups.iter().next()?.clone();
    group.id = id;
    Some(group)
}

/// A process with what it started.
#[derive(Debug)]
pub struct Node<'a> {
    /// The process.
    pub process: &'a Process,
    /// Those it started, in the order in which they first tried something.
    pub children: Vec<Node<'a>>,
    /// What it, or those that it started together, tried.
    pub events: Vec<&'a Event>,
}

/// The processes behind these events, each below its parent.
#[must_use]
pub fn tree<'a>(events: &[&'a Event]) -> Vec<Node<'a>> {
    let mut roots: Vec<Node<'a>> = Vec::new();
    for &event in events {
        let mut nodes = &mut roots;
        let chain = event.group.parents.iter().rev();
        for process in chain {
            nodes = &mut at(nodes, process).children;
        }
        at(nodes, &event.group.process).events.push(event);
    }
    roots
}

fn at<'n, 'a>(nodes: &'n mut Vec<Node<'a>>, process: &'a Process) -> &'n mut Node<'a> {
    let same = |node: &Node<'a>| {
        (node.process.pid, node.process.started) == (process.pid, process.started)
    };
    let index = nodes.iter().position(same).unwrap_or_else(|| {
        nodes.push(Node {
            process,
            children: Vec::new(),
            events: Vec::new(),
        });
        nodes.len() - 1
    });
    &mut nodes[index]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Journal, Operation, list, samples};

    fn told(attempts: &[(&[i32], Operation, &str)], ended: bool) -> Story {
        let top = tempfile::tempdir().unwrap();
        let keep = samples::keep(0, 0);
        let mut journal = Journal::new(top.path().into(), samples::header(), keep);
        for (chain, operation, found) in attempts {
            journal
                .attempt(&samples::of(chain, *operation, found))
                .unwrap();
        }
        if ended {
            journal.finish(Some(0), Some(0)).unwrap();
        }
        Story::read(&list(top.path()).unwrap()[0].path).unwrap()
    }

    use Operation::{Delete, Write};

    #[test]
    fn groups_have_their_attempts_and_the_tree_its_processes() {
        let delete: (&[i32], _, _) = (&[1, 2, 3], Delete, "/a");
        let story = told(
            &[delete, (&[1, 4], Write, "/b"), delete, delete, delete],
            true,
        );
        let seen: Vec<_> = story
            .events
            .iter()
            .map(|event| {
                (
                    event.group.process.pid,
                    event.group.attempts,
                    event.attempts.len(),
                )
            })
            .collect();
        assert_eq!(seen, [(3, 4, 4), (4, 1, 1)]);
        let events: Vec<_> = story.events.iter().collect();
        let tree = tree(&events);
        assert_eq!((tree.len(), tree[0].process.pid), (1, 1));
        let below: Vec<_> = tree[0]
            .children
            .iter()
            .map(|node| node.process.pid)
            .collect();
        assert_eq!(below, [2, 4]);
        assert_eq!(tree[0].children[0].children[0].events.len(), 1);
    }

    #[test]
    fn what_a_killed_guard_did_not_count_is_counted() {
        let delete: (&[i32], _, _) = (&[1, 2], Delete, "/a");
        let story = told(&[delete; 5], false);
        assert_eq!(
            (story.events[0].group.attempts, story.footer.is_none()),
            (5, true)
        );
        assert_eq!(story.events[0].group.within, Some("/a".into()));
    }
}
