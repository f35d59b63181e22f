//! Hides the values of properties.

use serde_json::{Map, Value};

/// Sections whose values are hidden.
const HIDDEN: [&str; 2] = ["properties", "bosh"];
const REPLACEMENT: &str = "<redacted>";

/// A document whose properties have their names, but not their values.
pub(super) fn redacted(document: &Map<String, Value>) -> Map<String, Value> {
    document
        .iter()
        .map(|(key, value)| {
            let value = if HIDDEN.contains(&key.as_str()) && value.is_object() {
                hidden(value)
            } else {
                looked_through(value)
            };
            (key.clone(), value)
        })
        .collect()
}

fn looked_through(value: &Value) -> Value {
    match value {
        Value::Object(members) => Value::Object(redacted(members)),
        Value::Array(items) => Value::Array(items.iter().map(looked_through).collect()),
        other => other.clone(),
    }
}

fn hidden(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.iter();
            Value::Object(
                members
                    .map(|(key, value)| (key.clone(), hidden(value)))
                    .collect(),
            )
        }
        Value::Array(items) => Value::Array(items.iter().map(hidden).collect()),
        _ => Value::String(REPLACEMENT.to_owned()),
    }
}
