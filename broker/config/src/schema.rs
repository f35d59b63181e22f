//! The JSON Schema of `broker.yml`, for editors. It is generated from the declarations of the reader.
//!
//! Draft-07 is the version that the YAML language servers of editors support in full. The schema has shapes, types,
//! bounds and words; only `on-demand-broker check` verifies relations between keys and the environment. The schema is
//! stricter in two points: an unknown key is an error, and an integer has no fraction.

use serde_json::{Map, Value, json};

use super::keys::{FILES, Key, KeyStatus, Keys, Kind, UNLIMITED};

/// The scalars that a text may be spelled as: `version: 1.10` is text, and `1.10` at that.
const SCALAR: [&str; 3] = ["string", "number", "boolean"];

const REQUIRED: bool = true;
const OPTIONAL: bool = false;

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
    schema.extend(section(Some(&FILES.broker), REQUIRED));
    Value::Object(schema)
}

fn entry(name: &str, value: impl Into<Value>) -> (String, Value) {
    (name.to_owned(), value.into())
}

fn section(keys: Option<&Keys>, required: bool) -> Map<String, Value> {
    let mut schema = typed("object", required);
    let Some(keys) = keys else { return schema };
    let properties: Map<_, _> = keys
        .iter()
        .map(|key| (key.name.clone(), described(key)))
        .collect();
    schema.extend([entry("properties", properties)]);
    let needed = keys.iter().filter(|key| key.required);
    let (secrets, needed): (Vec<&Key>, Vec<&Key>) =
        needed.partition(|key| keys.file_of(&key.name).is_some());
    if !needed.is_empty() {
        let needed: Vec<&str> = needed.iter().map(|key| key.name.as_str()).collect();
        schema.extend([entry("required", needed)]);
    }
    if !secrets.is_empty() {
        let in_either = secrets.iter().map(|key| {
            let file = keys.file_of(&key.name);
            let names = [Some(*key), file].into_iter().flatten();
            let ways: Vec<Value> = names.map(|key| json!({ "required": [key.name] })).collect();
            json!({ "anyOf": ways })
        });
        schema.extend([entry("allOf", in_either.collect::<Vec<_>>())]);
    }
    if !keys.lets_others_pass() {
        schema.extend([entry("additionalProperties", false)]);
    }
    schema
}

fn described(key: &Key) -> Value {
    let origin = if key.new {
        " Not a key of the Go broker."
    } else {
        ""
    };
    let mut schema = Map::from_iter([entry("description", format!("{}{origin}", key.what))]);
    schema.extend(value(key));
    if let Some(default) = &key.default {
        schema.extend([entry("default", default.clone())]);
    }
    if key.secret {
        schema.extend([entry("writeOnly", true)]);
    }
    let deprecation = match &key.status {
        KeyStatus::Deprecated(instead) => Some(instead.clone()),
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

fn value(key: &Key) -> Map<String, Value> {
    let (required, keys) = (key.required, key.keys.as_ref());
    match key.kind {
        Kind::Text => text(required),
        Kind::SecretFile => {
            let mut path = typed("string", required);
            path.extend([entry("pattern", "^(/|$)")]);
            path
        }
        Kind::Certificates => typed("string", required),
        Kind::Choice => choice(&key.words, required),
        Kind::Number => {
            let mut number = typed("integer", required);
            number.extend([entry("minimum", key.least)]);
            if key.most < UNLIMITED {
                number.extend([entry("maximum", key.most)]);
            }
            number
        }
        Kind::Flag => typed("boolean", required),
        Kind::Texts => list(text(OPTIONAL), required),
        Kind::Choices => list(choice(&key.words, OPTIONAL), required),
        Kind::VmCount => Map::from_iter([
            entry("type", types(&["integer", "string"], required)),
            entry("pattern", "[0-9]+%"),
            entry("minimum", 0),
        ]),
        Kind::TextMap => map(text(OPTIONAL), required),
        Kind::FreeMap => typed("object", required),
        Kind::Amounts => map(Map::from_iter([entry("type", "number")]), required),
        Kind::Anything => Map::new(),
        Kind::Section => section(keys, required),
        Kind::Sections => list(section(keys, OPTIONAL), required),
        Kind::Named => map(section(keys, OPTIONAL), required),
    }
}

fn typed(name: &str, required: bool) -> Map<String, Value> {
    Map::from_iter([entry("type", types(&[name], required))])
}

/// An optional key may also be null, because the release renders unset properties as null.
fn types(types: &[&str], required: bool) -> Value {
    match types {
        [one] if required => json!(one),
        several if required => json!(several),
        several => several.iter().chain(&["null"]).copied().collect(),
    }
}

fn text(required: bool) -> Map<String, Value> {
    let mut text = Map::from_iter([entry("type", types(&SCALAR, required))]);
    if required {
        text.extend([entry("minLength", 1)]);
    }
    text
}

/// An empty text counts as absent, too.
fn choice(words: &[String], required: bool) -> Map<String, Value> {
    let words = words.iter().map(|word| json!(word));
    let absent = [json!(""), Value::Null].into_iter().filter(|_| !required);
    let words: Value = words.chain(absent).collect();
    Map::from_iter([entry("enum", words)])
}

fn list(item: Map<String, Value>, required: bool) -> Map<String, Value> {
    let mut list = typed("array", required);
    list.extend([entry("items", item)]);
    if required {
        list.extend([entry("minItems", 1)]);
    }
    list
}

fn map(member: Map<String, Value>, required: bool) -> Map<String, Value> {
    let mut map = typed("object", required);
    map.extend([entry("additionalProperties", member)]);
    map
}
