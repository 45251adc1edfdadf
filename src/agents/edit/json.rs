//! JSON with comments, changed in its syntax tree.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::{Map, Number, Value};

use super::{Change, Edit, EditError, shown};

const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

fn parse(text: &str) -> Result<CstRootNode, EditError> {
    CstRootNode::parse(text, &OPTIONS).map_err(|error| EditError::Broken {
        line: error.line_display(),
        column: error.column_display(),
        what: error.kind().to_string(),
    })
}

/// What a text means; one without anything is an empty object.
pub fn read(text: &str) -> Result<Value, EditError> {
    let root = parse(text)?;
    match root.value() {
        None => Ok(Value::Object(Map::new())),
        Some(node) => value(&node, &mut Vec::new()),
    }
}

/// The value of a node. A number that is beyond what programs hold stays distinct by its text.
fn value(node: &CstNode, path: &mut Vec<String>) -> Result<Value, EditError> {
    if let Some(object) = node.as_object() {
        let mut map = Map::new();
        for property in object.properties() {
            let name = property.decoded_name().ok_or(EditError::Strayed)?;
            path.push(name.clone());
            let inner = property.value().ok_or(EditError::Strayed)?;
            if map.insert(name, value(&inner, path)?).is_some() {
                return Err(EditError::Twice(shown(path)));
            }
            path.pop();
        }
        return Ok(Value::Object(map));
    }
    if let Some(array) = node.as_array() {
        let all: Result<_, _> = array
            .elements()
            .iter()
            .map(|node| value(node, path))
            .collect();
        return Ok(Value::Array(all?));
    }
    if let Some(number) = node.as_number_lit() {
        let text = number.to_string();
        let exact = text
            .parse::<Number>()
            .ok()
            .filter(|number| number.to_string() == text);
        return Ok(exact.map_or_else(|| Value::String(format!("number {text}")), Value::Number));
    }
    if let Some(text) = node.as_string_lit() {
        return text
            .decoded_value()
            .map(Value::String)
            .map_err(|_| EditError::Strayed);
    }
    if let Some(boolean) = node.as_boolean_lit() {
        return Ok(Value::Bool(boolean.value()));
    }
    Ok(Value::Null)
}

/// The text with everything in it.
pub fn apply(text: &str, edits: &[Edit]) -> Result<String, EditError> {
    let root = parse(text)?;
    let top = match root.value() {
        None => root.object_value_or_set(),
        Some(node) => node
            .as_object()
            .ok_or_else(|| EditError::Kind(shown(&[]), "an object"))?,
    };
    for edit in edits {
        if !edit.holds(&read(&root.to_string())?) {
            put(&top, edit)?;
        }
    }
    let mut text = root.to_string();
    if !text.ends_with('\n') && parse(&text)?.value().is_some() && !text.contains('\n') {
        text.push('\n');
    }
    Ok(text)
}

fn put(top: &CstObject, edit: &Edit) -> Result<(), EditError> {
    let Some((last, above)) = edit.path.split_last() else {
        return Err(EditError::Strayed);
    };
    let mut at = top.clone();
    for (depth, key) in above.iter().enumerate() {
        at = match at.get(key) {
            Some(property) => property
                .object_value()
                .ok_or_else(|| EditError::Kind(shown(&edit.path[..=depth]), "an object"))?,
            None => {
                at.append(key, nested(&edit.path[depth + 1..], fresh(&edit.change)));
                return Ok(());
            }
        };
    }
    match (at.get(last), &edit.change) {
        (None, change) => drop(at.append(last, input(&fresh(change)))),
        (Some(property), Change::Element(element)) => {
            let array = property
                .array_value()
                .ok_or_else(|| EditError::Kind(shown(&edit.path), "an array"))?;
            array.append(input(element));
        }
        (Some(property), Change::Set(value) | Change::Default(value)) => {
            property.set_value(input(value))
        }
    }
    Ok(())
}

/// The value at a place that was not there.
fn fresh(change: &Change) -> Value {
    match change {
        Change::Set(value) | Change::Default(value) => value.clone(),
        Change::Element(element) => Value::Array(vec![element.clone()]),
    }
}

/// A value below keys of its own.
fn nested(path: &[String], value: Value) -> CstInputValue {
    let wrap = |value, key: &String| CstInputValue::Object(vec![(key.clone(), value)]);
    path.iter().rev().fold(input(&value), wrap)
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(boolean) => CstInputValue::Bool(*boolean),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(all) => CstInputValue::Array(all.iter().map(input).collect()),
        Value::Object(map) => CstInputValue::Object(
            map.iter()
                .map(|(key, value)| (key.clone(), input(value)))
                .collect(),
        ),
    }
}

/// The text changed so that it means `wanted`, by removing what has to go and setting what differs.
pub fn reach(text: &str, wanted: &Value) -> Result<String, EditError> {
    let root = parse(text)?;
    if let (Some(top), Value::Object(wanted)) = (root.object_value(), wanted) {
        narrow(&top, wanted)?;
    }
    Ok(root.to_string())
}

fn narrow(object: &CstObject, wanted: &Map<String, Value>) -> Result<(), EditError> {
    for property in object.properties() {
        let name = property.decoded_name().ok_or(EditError::Strayed)?;
        let node = property.value().ok_or(EditError::Strayed)?;
        let now = value(&node, &mut Vec::new())?;
        match wanted.get(&name) {
            None => property.remove(),
            Some(wanted) if *wanted == now => {}
            Some(Value::Object(wanted)) if node.as_object().is_some() => {
                if let Some(inner) = node.as_object() {
                    narrow(&inner, wanted)?;
                }
            }
            Some(Value::Array(wanted))
                if now.as_array().is_some_and(|now| now.len() > wanted.len()) =>
            {
                let elements = node
                    .as_array()
                    .map(|array| array.elements())
                    .unwrap_or_default();
                for element in elements {
                    if !wanted.contains(&value(&element, &mut Vec::new())?) {
                        element.remove();
                    }
                }
            }
            Some(wanted) => property.set_value(input(wanted)),
        }
    }
    Ok(())
}
