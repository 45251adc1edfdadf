//! TOML, changed in its syntax tree. Only values are set in it: no agent asks for more.

use serde_json::{Map, Value};
use toml_edit::{DocumentMut, InlineTable, Item, Table, TableLike, value};

use super::{Change, Edit, EditError, shown};

fn parse(text: &str) -> Result<DocumentMut, EditError> {
    text.parse::<DocumentMut>().map_err(|error| {
        let at = error.span().map_or(0, |span| span.start.min(text.len()));
        let before = text.get(..at).unwrap_or_default();
        EditError::Broken {
            line: before.matches('\n').count() + 1,
            column: before
                .rsplit('\n')
                .next()
                .unwrap_or_default()
                .chars()
                .count()
                + 1,
            what: error.message().to_owned(),
        }
    })
}

/// What a text means.
pub fn read(text: &str) -> Result<Value, EditError> {
    Ok(of_table(parse(text)?.as_table()))
}

fn of_table(table: &dyn TableLike) -> Value {
    let members = table
        .iter()
        .map(|(key, item)| (key.to_owned(), of_item(item)));
    Value::Object(members.collect::<Map<_, _>>())
}

fn of_item(item: &Item) -> Value {
    if let Some(table) = item.as_table_like() {
        return of_table(table);
    }
    if let Some(tables) = item.as_array_of_tables() {
        return Value::Array(tables.iter().map(|table| of_table(table)).collect());
    }
    item.as_value().map_or(Value::Null, of_value)
}

fn of_value(it: &toml_edit::Value) -> Value {
    match it {
        toml_edit::Value::String(text) => Value::String(text.value().clone()),
        toml_edit::Value::Array(all) => Value::Array(all.iter().map(of_value).collect()),
        toml_edit::Value::InlineTable(table) => of_table(table),
        toml_edit::Value::Boolean(boolean) => Value::Bool(*boolean.value()),
        // Numbers and times are only compared.
        other => Value::String(format!("toml {}", other.to_string().trim())),
    }
}

/// The text with everything in it.
pub fn apply(text: &str, edits: &[Edit]) -> Result<String, EditError> {
    let mut document = parse(text)?;
    for edit in edits {
        let Change::Set(Value::String(wanted)) = &edit.change else {
            return Err(EditError::Strayed);
        };
        put(document.as_table_mut(), &edit.path, 0, wanted)?;
    }
    Ok(document.to_string())
}

fn put(
    table: &mut dyn TableLike,
    path: &[String],
    depth: usize,
    wanted: &str,
) -> Result<(), EditError> {
    let key = &path[depth];
    if depth + 1 == path.len() {
        let Some(item) = table.get_mut(key) else {
            table.insert(key, value(wanted));
            return Ok(());
        };
        let old = item.as_value_mut();
        let old = old.ok_or_else(|| EditError::Kind(shown(path), "a value"))?;
        let decor = old.decor().clone();
        *old = toml_edit::Value::from(wanted);
        *old.decor_mut() = decor;
        return Ok(());
    }
    if !table.contains_key(key) {
        // The outermost gets a header of its own, what is in it one line.
        let inner = if depth == 0 {
            Item::Table(Table::new())
        } else {
            value(InlineTable::new())
        };
        table.insert(key, inner);
    }
    let inner = table.get_mut(key).and_then(Item::as_table_like_mut);
    let inner = inner.ok_or_else(|| EditError::Kind(shown(&path[..=depth]), "a table"))?;
    put(inner, path, depth + 1, wanted)
}

/// The text changed so that it means `wanted`.
pub fn reach(text: &str, wanted: &Value) -> Result<String, EditError> {
    let mut document = parse(text)?;
    if let Value::Object(wanted) = wanted {
        narrow(document.as_table_mut(), wanted);
    }
    Ok(document.to_string())
}

fn narrow(table: &mut dyn TableLike, wanted: &Map<String, Value>) {
    let keys: Vec<String> = table.iter().map(|(key, _)| key.to_owned()).collect();
    for key in keys {
        let now = table.get(&key).map_or(Value::Null, of_item);
        match (wanted.get(&key), table.get_mut(&key)) {
            (None, _) => drop(table.remove(&key)),
            (Some(wanted), _) if *wanted == now => {}
            (Some(Value::Object(wanted)), Some(item)) => {
                if let Some(inner) = item.as_table_like_mut() {
                    narrow(inner, wanted);
                }
            }
            (Some(Value::String(text)), Some(item)) => *item = value(text),
            _ => {}
        }
    }
}
