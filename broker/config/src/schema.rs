//! The JSON Schema of `broker.yml`, for editors. It is generated from the declarations of the reader.
//!
//! Draft-07 is the version that the YAML language servers of editors support in full. The schema has shapes, types,
//! bounds and words; only `on-demand-broker check` verifies relations between keys and the environment. The schema is
//! stricter in two points: an unknown key is an error, and an integer has no fraction.

use serde_json::{Map, Value, json};

use super::keys::{DefaultValue, Key, KeyStatus, Keys, Kind, Origin, Presence, ROOT};

/// The scalars that a text may be spelled as: `version: 1.10` is text, and `1.10` at that.
const SCALAR: [&str; 3] = ["string", "number", "boolean"];

/// The JSON Schema of `broker.yml`.
pub fn json_schema() -> Value {
    let mut schema = Map::from_iter([
        entry("$schema", "http://json-schema.org/draft-07/schema#"),
        entry("title", "broker.yml"),
        entry(
            "description",
            "The configuration of the on-demand broker. A key with the value null is absent.",
        ),
    ]);
    schema.extend(section(&ROOT, Presence::Required));
    Value::Object(schema)
}

fn entry(name: &str, value: impl Into<Value>) -> (String, Value) {
    (name.to_owned(), value.into())
}

fn section(keys: &Keys, presence: Presence) -> Map<String, Value> {
    let mut schema = typed("object", presence);
    let properties: Map<_, _> = keys
        .iter()
        .map(|key| (key.name.to_owned(), described(key)))
        .collect();
    let required: Vec<&str> = keys
        .iter()
        .filter(|key| key.presence == Presence::Required)
        .map(|key| key.name)
        .collect();
    schema.extend([entry("properties", properties)]);
    if !required.is_empty() {
        schema.extend([entry("required", required)]);
    }
    if !keys.lets_others_pass() {
        schema.extend([entry("additionalProperties", false)]);
    }
    schema
}

fn described(key: &Key) -> Value {
    let mut schema = Map::from_iter([entry("description", explained(key))]);
    schema.extend(value(&key.kind, key.presence));
    if let Some(default) = key.default {
        schema.extend([match default {
            DefaultValue::Number(number) => entry("default", number),
            DefaultValue::Flag(flag) => entry("default", flag),
        }]);
    }
    if key.is_secret {
        schema.extend([entry("writeOnly", true)]);
    }
    let deprecation = match key.status {
        KeyStatus::Deprecated(instead) => Some(instead.to_owned()),
        KeyStatus::OtherSpelling(of) => Some(format!("spell it `{of}`")),
        KeyStatus::Read | KeyStatus::ReadElsewhere => None,
    };
    if let Some(instead) = deprecation {
        // The first is the later drafts' keyword, the second is shown by editors.
        schema.extend([
            entry("deprecated", true),
            entry("deprecationMessage", format!("Deprecated: {instead}.")),
        ]);
    }
    Value::Object(schema)
}

fn explained(key: &Key) -> String {
    match key.origin {
        Origin::GoBroker => key.what.to_owned(),
        Origin::Added => format!("{} Not a key of the Go broker.", key.what),
    }
}

fn value(kind: &Kind, presence: Presence) -> Map<String, Value> {
    match kind {
        Kind::Text => text(presence),
        Kind::Certificates => typed("string", presence),
        Kind::Choice(words) => Map::from_iter([entry("enum", choice(words, presence))]),
        Kind::Number { least, most } => {
            let mut number = typed("integer", presence);
            number.extend([entry("minimum", *least)]);
            if *most < i64::MAX.cast_unsigned() {
                number.extend([entry("maximum", *most)]);
            }
            number
        }
        Kind::Flag => typed("boolean", presence),
        Kind::Texts => list(text(Presence::Optional), presence),
        Kind::Choices(words) => {
            let word = Map::from_iter([entry("enum", choice(words, Presence::Optional))]);
            list(word, presence)
        }
        Kind::VmCount => Map::from_iter([
            entry("type", types(&["integer", "string"], presence)),
            entry("pattern", "[0-9]+%"),
            entry("minimum", 0),
        ]),
        Kind::TextMap => map(text(Presence::Optional), presence),
        Kind::FreeMap => typed("object", presence),
        Kind::Amounts => map(Map::from_iter([entry("type", "number")]), presence),
        Kind::Anything => Map::new(),
        Kind::Section(keys) => section(keys, presence),
        Kind::Sections(keys) => list(section(keys, Presence::Optional), presence),
        Kind::Named(keys) => map(section(keys, Presence::Optional), presence),
    }
}

fn typed(name: &str, presence: Presence) -> Map<String, Value> {
    Map::from_iter([entry("type", types(&[name], presence))])
}

/// An optional key may also be null, because the release renders unset properties as null.
fn types(types: &[&str], presence: Presence) -> Value {
    match (types, presence) {
        ([one], Presence::Required) => json!(one),
        (several, Presence::Required) => json!(several),
        (several, Presence::Optional) => several.iter().chain(&["null"]).copied().collect(),
    }
}

fn text(presence: Presence) -> Map<String, Value> {
    let mut text = Map::from_iter([entry("type", types(&SCALAR, presence))]);
    if presence == Presence::Required {
        text.extend([entry("minLength", 1)]);
    }
    text
}

/// An empty text counts as absent, too.
fn choice(words: &[&str], presence: Presence) -> Value {
    let words = words.iter().map(|word| json!(word));
    match presence {
        Presence::Required => words.collect(),
        Presence::Optional => words.chain([json!(""), Value::Null]).collect(),
    }
}

fn list(item: Map<String, Value>, presence: Presence) -> Map<String, Value> {
    let mut list = typed("array", presence);
    list.extend([entry("items", item)]);
    if presence == Presence::Required {
        list.extend([entry("minItems", 1)]);
    }
    list
}

fn map(member: Map<String, Value>, presence: Presence) -> Map<String, Value> {
    let mut map = typed("object", presence);
    map.extend([entry("additionalProperties", member)]);
    map
}
