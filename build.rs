//! Reads the policies that come with guard when guard is built: their text is 60 KB, and no start should have to take it
//! apart again. What their rules mean is checked by `policy::parse` all the same, and a test compares both ways.
#![forbid(unsafe_code)]

use std::error::Error;
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    println!("cargo::rerun-if-changed=policies");
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("policies");
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "toml") {
            files.push(path);
        }
    }
    files.sort();
    let mut code = String::from("static TABLES: &[Table] = &[\n");
    for path in files {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let text = fs::read_to_string(&path)?;
        let table = table(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        let file = format!("policy {name}");
        writeln!(code, "Table {{ name: {name:?}, file: {file:?}, {table} }},")?;
    }
    code.push_str("];\n");
    fs::write(Path::new(&env::var("OUT_DIR")?).join("shipped.rs"), code)?;
    Ok(())
}

/// One policy as the code of the fields of a `Table`. What is not in the form that the shipped policies have ends the build.
fn table(text: &str) -> Outcome<String> {
    let parsed = DeTable::parse(text)?;
    let (mut default, mut fail, mut rules) = (None, None, Vec::new());
    let (mut include, mut without) = (String::new(), String::new());
    let mut source = None;
    for (key, value) in parsed.get_ref() {
        match (key.get_ref().as_ref(), value.get_ref()) {
            ("version", DeValue::Integer(number)) if number.as_str() == "1" => {}
            ("source", DeValue::String(text)) => source = Some(text.as_ref()),
            ("default", value) => default = Some(level(value)?),
            ("fail-on-attempt", DeValue::Boolean(on)) => fail = Some(*on),
            ("include" | "without", DeValue::Array(names)) => {
                let list = match key.get_ref().as_ref() {
                    "include" => &mut include,
                    _ => &mut without,
                };
                for name in names {
                    let name = name.get_ref().as_str().ok_or("a name is no string")?;
                    write!(list, "{name:?}, ")?;
                }
            }
            ("paths", DeValue::Table(paths)) => {
                for (key, value) in paths {
                    rules.push((key.span().start, rule(text, key, value.get_ref())?));
                }
            }
            (key, _) => return Err(format!("{key} is not understood").into()),
        }
    }
    // In the order of the text.
    rules.sort();
    let rules: String = rules.into_iter().map(|(_, rule)| rule).collect();
    let default = match default {
        Some(level) => format!("Some({level})"),
        None => "None".to_owned(),
    };
    Ok(format!(
        "source: {source:?}, default: {default}, fail_on_attempt: {fail:?}, include: &[{include}], without: &[{without}], rules: &[\n{rules}]"
    ))
}

/// One line of `[paths]` as the code of a `Line`.
fn rule(text: &str, key: &Spanned<impl AsRef<str>>, value: &DeValue<'_>) -> Outcome<String> {
    let path = key.get_ref().as_ref();
    let (mut level_found, mut why, mut source) = (None, None, None);
    match value {
        DeValue::Table(parts) => {
            for (key, value) in parts {
                match (key.get_ref().as_ref(), value.get_ref()) {
                    ("level", value) => level_found = Some(level(value)?),
                    ("why", DeValue::String(text)) => why = Some(text.as_ref()),
                    ("source", DeValue::String(text)) => source = Some(text.as_ref()),
                    _ => return Err(format!("the rule of {path} is not understood").into()),
                }
            }
        }
        value => level_found = Some(level(value)?),
    }
    let level = level_found.ok_or_else(|| format!("{path} has no level"))?;
    let before = text.get(..key.span().start).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let column = before[start..].chars().count() + 1;
    Ok(format!(
        "Line {{ path: {path:?}, level: {level}, why: {why:?}, source: {source:?}, line: {line}, column: {column} }},\n"
    ))
}

/// A level as code: `no-delete` is `Level::NoDelete`, and the compiler knows whether there is one of this name.
fn level(value: &DeValue<'_>) -> Outcome<String> {
    let word = value.as_str().ok_or("a level is no string")?;
    let mut code = String::from("Level::");
    for part in word.split('-') {
        let mut letters = part.chars();
        code.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        code.push_str(letters.as_str());
    }
    Ok(code)
}
