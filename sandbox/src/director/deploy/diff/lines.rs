//! The lines of a diff, and the order of its sections.
//!
//! Hides the values of properties.

use serde_json::{Map, Value, json};

/// Sections in the order in which they are shown; others follow as they come.
const ORDER: [&str; 16] = [
    "azs",
    "vm_types",
    "vm_extensions",
    "resource_pools",
    "compilation",
    "networks",
    "disk_types",
    "disk_pools",
    "name",
    "stemcells",
    "releases",
    "update",
    "jobs",
    "release",
    "addons",
    "variables",
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::director) struct DiffLine {
    pub(super) depth: usize,
    pub(super) text: String,
    pub(super) change: Change,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Unchanged; it shows where the others belong.
    None,
    Added,
    Removed,
}

impl DiffLine {
    pub(super) fn new(depth: usize, text: impl Into<String>, change: Change) -> Self {
        Self {
            depth,
            text: text.into(),
            change,
        }
    }

    /// The line as the API shows it: the text, and what becomes of it.
    pub(in crate::director) fn view(&self) -> Value {
        let text = format!("{:indent$}{}", "", self.text, indent = 2 * self.depth);
        json!([
            text,
            match self.change {
                Change::None => None,
                Change::Added => Some("added"),
                Change::Removed => Some("removed"),
            }
        ])
    }

    fn begins_section(&self) -> bool {
        self.depth == 0 && !self.text.starts_with([' ', '-'])
    }
}

/// Lines with their sections in order, an empty line between any two.
pub(super) fn ordered(lines: Vec<DiffLine>) -> Vec<DiffLine> {
    let mut sections: Vec<(String, Vec<DiffLine>)> = Vec::new();
    for line in lines {
        if line.begins_section() {
            // Two sections of one name are distinguished by their first lines, as after a replaced value.
            let is_known = sections.iter().any(|(name, _)| *name == line.text);
            if !is_known {
                sections.push((line.text.clone(), Vec::new()));
            }
        }
        if let Some((_, section)) = sections.last_mut() {
            section.push(line);
        }
    }
    let rank = |name: &str| {
        let known = ORDER.iter().position(|key| name == format!("{key}:"));
        known.unwrap_or(ORDER.len())
    };
    sections.sort_by_key(|(name, _)| rank(name));
    let mut ordered = Vec::new();
    for (_, section) in sections {
        if !ordered.is_empty() {
            ordered.push(DiffLine::new(0, "", Change::None));
        }
        ordered.extend(section);
    }
    ordered
}

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
