//! A run as one page for a browser, which needs nothing but itself.
//!
//! The names in a record were chosen by programs that may be hostile. They reach the page in two ways: as text, escaped for
//! HTML, and as JSON without any character that HTML knows, which the page's script puts in as text. Besides, the page lets a
//! browser run and load nothing but its own script and style.

mod data;
mod file;
mod limit;

use std::io::Write;
use std::path::Path;

use super::look::Look;
use super::one::{self, Told};
use super::{Failure, View};
use crate::record::{RecordError, RunFile};

use data::Data;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Attempts that a page lists; a browser takes several times as many, and nobody reads them.
const MOST_ATTEMPTS: usize = 5000;

/// Writes the page about this run to `target`, `-` for `out`; 1 where its record is damaged.
pub fn write(
    mut view: View,
    file: &RunFile,
    target: &Path,
    out: &mut dyn Write,
) -> Result<i32, Failure> {
    view.look = Look::plain();
    let mut told = one::read(&view, file)?;
    let left_out = limit::cut(&mut told.events, MOST_ATTEMPTS);
    let page = page(&view, file, &told, left_out)?;
    if target == Path::new("-") {
        out.write_all(page.as_bytes())?;
    } else {
        file::put(target, page.as_bytes())
            .map_err(|error| Failure::Words(error.in_words(&view.homes)))?;
    }
    Ok(told.status())
}

/// The page as text.
fn page(view: &View, file: &RunFile, told: &Told, left_out: u64) -> Result<String, Failure> {
    let data = Data::new(view, file, told, left_out);
    let mut text = Vec::new();
    one::write(view, file, told, &mut text)?;
    let json = serde_json::to_string(&data).map_err(RecordError::Encode)?;
    // The only script and style that run are those with this word, which no name in the record can hold: it is the hash of
    // all of them.
    let nonce = blake3::hash(json.as_bytes()).to_hex();
    Ok(filled(&[
        ("nonce", &nonce),
        ("title", &escaped(&data.title)),
        ("command", &escaped(&data.command)),
        ("end", &escaped(&data.end)),
        ("style", STYLE),
        ("script", SCRIPT),
        ("text", &escaped(&String::from_utf8_lossy(&text))),
        ("data", &inert(&json)),
    ]))
}

/// The page with these in the places of their names; what is filled in is not looked through again.
fn filled(values: &[(&str, &str)]) -> String {
    let mut page = String::with_capacity(values.iter().map(|(_, value)| value.len()).sum());
    let mut rest = PAGE;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").unwrap_or((after, ""));
        page.push_str(before);
        if let Some((_, value)) = values.iter().find(|(known, _)| *known == name) {
            page.push_str(value);
        }
        rest = after;
    }
    page.push_str(rest);
    page
}

/// Text for HTML, also within quotes.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            _ => safe.push(character),
        }
    }
    safe
}

/// JSON in which nothing can end a script or begin a tag. Such characters are in strings alone.
fn inert(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                safe.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            _ => safe.push(character),
        }
    }
    safe
}

#[cfg(test)]
mod tests;
