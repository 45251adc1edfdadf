//! Changes of a configuration file: what has to be in it, put there and taken out again, everything else left as it is.

mod json;
mod lines;
mod toml;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The language of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// JSON, with the comments and trailing commas that many agents read.
    Json,
    /// TOML.
    Toml,
    /// A file that is guard's as a whole.
    Whole,
}

/// One thing that has to be in a configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Edit {
    /// The keys that lead to it.
    pub path: Vec<String>,
    /// What is there.
    pub change: Change,
}

/// What has to be at a place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// This value, whatever was there before.
    Set(Value),
    /// This value, unless there is another.
    Default(Value),
    /// An array with this among its elements.
    Element(Value),
}

/// Why a configuration was left as it is.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// It is broken.
    #[error("line {line}, column {column}: {what}")]
    Broken {
        /// From 1.
        line: usize,
        /// From 1, in characters.
        column: usize,
        /// What the parser says.
        what: String,
    },
    /// Something else is where the change has to go.
    #[error("{0} is not {1}")]
    Kind(String, &'static str),
    /// A key is there twice.
    #[error("{0} is there twice; it is not clear which one counts")]
    Twice(String),
    /// The result was not what it should have been.
    #[error("it cannot be changed without changing something else as well")]
    Strayed,
}

/// What [`undo`] left.
#[derive(Debug, PartialEq, Eq)]
pub struct Undone {
    /// The text without what was put in.
    pub text: String,
    /// Places that hold something else by now.
    pub left: Vec<String>,
}

const BOM: char = '\u{feff}';

/// Whether everything is there already.
///
/// # Errors
/// The text is broken.
pub fn holds(format: Format, text: &str, edits: &[Edit]) -> Result<bool, EditError> {
    let value = read(format, text)?;
    Ok(edits.iter().all(|edit| edit.holds(&value)))
}

/// The text with everything in it.
///
/// # Errors
/// The text is broken, or has no room for the change.
pub fn apply(format: Format, text: &str, edits: &[Edit]) -> Result<String, EditError> {
    let (mark, old) = split_mark(text);
    let body = match format {
        Format::Json => json::apply(old, edits)?,
        Format::Toml => toml::apply(old, edits)?,
        Format::Whole => return Err(EditError::Strayed),
    };
    let mut wanted = read(format, text)?;
    edits.iter().for_each(|edit| edit.put(&mut wanted));
    checked(
        format,
        format!("{mark}{}", lines::with_ends_of(old, &body)),
        &wanted,
    )
}

/// Takes out what [`apply`] made `after` from `before` with, in a text that was changed since.
///
/// # Errors
/// The text is broken.
pub fn undo(
    format: Format,
    text: &str,
    edits: &[Edit],
    before: &str,
    after: &str,
) -> Result<Undone, EditError> {
    let then = read(format, before)?;
    let mut wanted = read(format, text)?;
    let mut left = Vec::new();
    for edit in edits.iter().rev() {
        if !edit.take(&mut wanted, &then) {
            left.push(edit.path.join("."));
        }
    }
    // The bytes that were put in, if they are still there and nothing hangs on them.
    if let Some(text) = swapped_back(text, before, after)
        && read(format, &text).is_ok_and(|value| value == wanted)
    {
        return Ok(Undone { text, left });
    }
    let (mark, old) = split_mark(text);
    let body = match format {
        Format::Json => json::reach(old, &wanted)?,
        Format::Toml => toml::reach(old, &wanted)?,
        Format::Whole => return Err(EditError::Strayed),
    };
    let text = checked(
        format,
        format!("{mark}{}", lines::with_ends_of(old, &body)),
        &wanted,
    )?;
    Ok(Undone { text, left })
}

/// Whether nothing is left in a text.
#[must_use]
pub fn is_empty(format: Format, text: &str) -> bool {
    let comments = match format {
        Format::Json => text.contains("//") || text.contains("/*"),
        _ => text.contains('#'),
    };
    !comments
        && read(format, text).is_ok_and(|value| value.as_object().is_some_and(|it| it.is_empty()))
}

fn checked(format: Format, text: String, wanted: &Value) -> Result<String, EditError> {
    if read(format, &text)? == *wanted {
        Ok(text)
    } else {
        Err(EditError::Strayed)
    }
}

fn read(format: Format, text: &str) -> Result<Value, EditError> {
    let (_, body) = split_mark(text);
    match format {
        Format::Json => json::read(body),
        Format::Toml => toml::read(body),
        Format::Whole => Ok(Value::Null),
    }
}

fn split_mark(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with(BOM) {
        BOM.len_utf8()
    } else {
        0
    })
}

/// `text` with the one place exchanged in which `after` differs from `before`, if it is there exactly once.
fn swapped_back(text: &str, before: &str, after: &str) -> Option<String> {
    let same = |a: &mut dyn Iterator<Item = char>, b: &mut dyn Iterator<Item = char>| {
        a.zip(b)
            .take_while(|(a, b)| a == b)
            .map(|(a, _)| a.len_utf8())
            .sum::<usize>()
    };
    let start = same(&mut before.chars(), &mut after.chars());
    let (old, new) = (&before[start..], &after[start..]);
    let end = same(&mut old.chars().rev(), &mut new.chars().rev());
    let (old, new) = (&old[..old.len() - end], &new[..new.len() - end]);
    let mut places = text.match_indices(new);
    let (at, _) = places.next().filter(|_| !new.is_empty())?;
    places
        .next()
        .is_none()
        .then(|| format!("{}{old}{}", &text[..at], &text[at + new.len()..]))
}

impl Edit {
    fn holds(&self, root: &Value) -> bool {
        match (&self.change, lookup(root, &self.path)) {
            (Change::Set(value), Some(there)) => value == there,
            (Change::Default(_), Some(_)) => true,
            (Change::Element(element), Some(Value::Array(all))) => all.contains(element),
            _ => false,
        }
    }

    /// The change as it is meant.
    fn put(&self, root: &mut Value) {
        if self.holds(root) {
            return;
        }
        let Some(place) = make(root, &self.path) else {
            return;
        };
        match &self.change {
            Change::Set(value) | Change::Default(value) => *place = value.clone(),
            Change::Element(element) => match place {
                Value::Array(all) => all.push(element.clone()),
                _ => *place = Value::Array(vec![element.clone()]),
            },
        }
    }

    /// The change taken back, to what was there `then`. False if something else is there by now.
    fn take(&self, root: &mut Value, then: &Value) -> bool {
        let was = lookup(then, &self.path);
        let Some(now) = lookup(root, &self.path).cloned() else {
            return false;
        };
        match (&self.change, now) {
            (Change::Set(value), now) if now == *value => match was {
                Some(was) => set(root, &self.path, was.clone()),
                None => drop_key(root, &self.path, then),
            },
            (Change::Element(element), Value::Array(mut all)) if all.contains(element) => {
                if !self.holds(then) {
                    all.retain(|one| one != element);
                    match was {
                        None if all.is_empty() => drop_key(root, &self.path, then),
                        _ => set(root, &self.path, Value::Array(all)),
                    }
                }
            }
            // What was added since may count on it.
            (Change::Default(_), _) => {
                let is_old =
                    |key: &String| self.path.first() == Some(key) || then.get(key).is_some();
                if was.is_none() && root.as_object().is_some_and(|it| it.keys().all(is_old)) {
                    drop_key(root, &self.path, then);
                }
            }
            _ => return false,
        }
        true
    }
}

fn lookup<'a>(root: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(root, |at, key| at.get(key))
}

fn set(root: &mut Value, path: &[String], value: Value) {
    if let Some(place) = make(root, path) {
        *place = value;
    }
}

/// The place of a path, with all that leads to it.
fn make<'a>(root: &'a mut Value, path: &[String]) -> Option<&'a mut Value> {
    path.iter().try_fold(root, |at, key| {
        Some(
            at.as_object_mut()?
                .entry(key)
                .or_insert(Value::Object(Default::default())),
        )
    })
}

/// Removes a key, and what leads to it where that was not there `then` and is empty now.
fn drop_key(root: &mut Value, path: &[String], then: &Value) {
    let Some((last, above)) = path.split_last() else {
        return;
    };
    let object = above
        .iter()
        .try_fold(&mut *root, |at, key| at.get_mut(key))
        .and_then(Value::as_object_mut);
    let Some(object) = object else { return };
    object.remove(last);
    if object.is_empty() && !above.is_empty() && lookup(then, above).is_none() {
        drop_key(root, above, then);
    }
}

/// A path for people.
fn shown(path: &[String]) -> String {
    if path.is_empty() {
        "the file".to_owned()
    } else {
        path.join(".")
    }
}

#[cfg(test)]
mod tests;
