//! Manifests that no adapter wrote: one that was deployed, with parts replaced or cut out.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::manifest::parsed;

/// A change of one part of a document.
#[derive(Clone, Debug)]
pub(crate) struct Cut {
    /// Which part, among all there are.
    part: prop::sample::Index,
    /// The replacement; `None` removes the part.
    instead: Option<Value>,
}

pub(crate) fn cuts() -> impl Strategy<Value = Vec<Cut>> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[ -~]{0,12}".prop_map(Value::from),
        Just(json!("((/odb/elsewhere))")),
        Just(json!([])),
        Just(json!([{"name": "kafka_server"}, {"name": "redis-server"}])),
        Just(json!({"properties": 1})),
    ];
    let cut = (any::<prop::sample::Index>(), prop::option::of(scalar))
        .prop_map(|(part, instead)| Cut { part, instead });
    prop::collection::vec(cut, 1..4)
}

pub(crate) fn mangle(manifest: &str, cuts: &[Cut]) -> String {
    let mut document = parsed(manifest);
    for cut in cuts {
        let mut pointers = Vec::new();
        collect("", &document, &mut pointers);
        if pointers.is_empty() {
            break;
        }
        let pointer = cut.part.get(&pointers);
        match &cut.instead {
            Some(value) => *document.pointer_mut(pointer).unwrap() = value.clone(),
            None => take_away(&mut document, pointer),
        }
    }
    format!("{document:#}")
}

fn collect(pointer: &str, value: &Value, pointers: &mut Vec<String>) {
    let inner: Vec<_> = match value {
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| (name.replace('~', "~0").replace('/', "~1"), member))
            .collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(nth, item)| (nth.to_string(), item))
            .collect(),
        _ => Vec::new(),
    };
    for (name, member) in inner {
        let pointer = format!("{pointer}/{name}");
        pointers.push(pointer.clone());
        collect(&pointer, member, pointers);
    }
}

fn take_away(document: &mut Value, pointer: &str) {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    match document.pointer_mut(parent).unwrap() {
        Value::Object(members) => {
            members.remove(&name.replace("~1", "/").replace("~0", "~"));
        }
        Value::Array(items) => {
            items.remove(name.parse().unwrap());
        }
        _ => {}
    }
}
