//! What a schema rejects and accepts, one change at a time, compared with the SDK.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;

use odb_adapter_sdk::yaml;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::document::{errors, is_read};
use super::samples::{full, names};

/// One change of a document, and what becomes of it.
struct Change {
    document: String,
    location: String,
    /// The new value; `None` removes the member.
    value: Option<Value>,
    changed: Value,
}

/// Changes by the result on them, from the table of changes.
fn changes(result: &str) -> Vec<Change> {
    type Locations = BTreeMap<String, Vec<Value>>;
    let table: BTreeMap<String, BTreeMap<String, Locations>> =
        yaml::from_str(include_str!("changes.yml")).unwrap();
    let mut changes = Vec::new();
    for (document, locations) in &table[result] {
        for (location, values) in locations {
            for value in values {
                let value = Some(value.clone()).filter(|value| value != "(nothing)");
                changes.push(Change {
                    document: document.clone(),
                    location: location.clone(),
                    changed: changed(&full(document), location, value.clone()),
                    value,
                });
            }
        }
    }
    assert!(changes.len() > 10, "the table has changes");
    changes
}

fn changed(document: &Value, pointer: &str, value: Option<Value>) -> Value {
    let mut document = document.clone();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let parent = document
        .pointer_mut(parent)
        .unwrap_or_else(|| panic!("{pointer} leads nowhere"));
    match (parent, value) {
        (Value::Object(members), Some(value)) => {
            members.insert(name.to_owned(), value);
        }
        (Value::Object(members), None) => {
            members
                .shift_remove(name)
                .unwrap_or_else(|| panic!("there is no {pointer}"));
        }
        (Value::Array(items), Some(value)) => items[name.parse::<usize>().unwrap()] = value,
        (parent, _) => panic!("{parent} at {pointer} has no parts"),
    }
    document
}

#[test]
fn what_breaks_a_rule_is_refused_by_schema_and_sdk_and_at_its_location() {
    for change in changes("refused") {
        change.assert_refused_by_the_schema();
        assert!(!change.is_read(), "{change}: the SDK reads it");
    }
}

#[test]
fn what_the_broker_would_refuse_is_refused_by_the_schema_already() {
    for change in changes("refused by the schema") {
        change.assert_refused_by_the_schema();
        assert!(change.is_read(), "{change}: the SDK refuses it, too");
    }
}

#[test]
fn what_later_versions_may_bring_and_go_writes_is_accepted_by_both() {
    for change in changes("accepted") {
        assert_eq!(
            errors(&change.document, &change.changed),
            [""; 0],
            "{change}"
        );
        assert!(change.is_read(), "{change}: the SDK refuses it");
    }
}

impl Change {
    fn is_read(&self) -> bool {
        is_read(&self.document, &self.changed)
    }

    /// The error names the location, a part of it, or what contains it.
    fn assert_refused_by_the_schema(&self) {
        let errors = errors(&self.document, &self.changed);
        assert!(!errors.is_empty(), "{self}: the schema accepts it");
        let top = self.location.split('/').nth(1).unwrap();
        let is_on_the_way = |error: &String| {
            let (location, what) = error.split_once(": ").unwrap();
            if location.is_empty() {
                self.value.is_none() && what.contains(&format!("\"{top}\""))
            } else {
                self.location.starts_with(location) || location.starts_with(&self.location)
            }
        };
        assert!(
            errors.iter().all(is_on_the_way),
            "{self} is reported as {errors:?}"
        );
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self
            .value
            .as_ref()
            .map_or("nothing".to_owned(), Value::to_string);
        write!(f, "{value} at {} of {}", self.location, self.document)
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        prop::sample::select(vec![-1, 0, 1, 70_000, 5_000_000_000_i64]).prop_map(Value::from),
        Just(json!(0.5)),
        prop::sample::select(vec!["", "word", "25%", "25", "nil", "serial", "1.5"])
            .prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
        Just(json!([1])),
        Just(json!(["word"])),
        Just(json!({"name": "word"})),
        Just(json!({"word": ["word"]})),
    ]
}

/// Every place in a document.
fn locations(document: &Value, here: &str, locations: &mut Vec<String>) {
    let parts: Vec<(String, &Value)> = match document {
        Value::Object(members) => members
            .iter()
            .map(|(name, part)| (name.clone(), part))
            .collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(nth, part)| (nth.to_string(), part))
            .collect(),
        _ => Vec::new(),
    };
    for (name, part) in parts {
        let location = format!("{here}/{}", name.replace('~', "~0").replace('/', "~1"));
        self::locations(part, &location, locations);
        locations.push(location);
    }
}

#[test]
fn what_a_schema_accepts_the_sdk_reads_whatever_is_changed() {
    let samples: Vec<(&str, Value, String)> = names()
        .flat_map(|name| {
            let document = full(name);
            let mut found = Vec::new();
            locations(&document, "", &mut found);
            found
                .into_iter()
                .map(move |location| (name, document.clone(), location))
        })
        .collect();
    let accepted = Cell::new(0);
    let config = ProptestConfig {
        failure_persistence: None,
        cases: 6_000,
        ..ProptestConfig::default()
    };
    proptest!(config, |(sample in prop::sample::select(samples), value in any_value())| {
        let (name, mut document, location) = sample;
        *document.pointer_mut(&location).unwrap() = value;
        if errors(name, &document).is_empty() {
            accepted.set(accepted.get() + 1);
            prop_assert!(is_read(name, &document), "{} {}", name, document);
        }
    });
    assert!(accepted.get() > 600, "{accepted:?} of 6000 were accepted");
}
