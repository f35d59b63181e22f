//! The schemas of a plan: where they are, how long they may be and what they may refer to.

use serde_json::{Map, Value};

use super::service::CatalogErrors;
use crate::director::ruby::inspect;

const SCHEMA_LIMIT: usize = 65_536;
const LOCATIONS: [(&str, &[&str]); 2] = [
    ("service_instance", &["create", "update"]),
    ("service_binding", &["create"]),
];
const KNOWN_METASCHEMAS: [&str; 5] = [
    "http://json-schema.org/draft-01/schema",
    "http://json-schema.org/draft-02/schema",
    "http://json-schema.org/draft-03/schema",
    "http://json-schema.org/draft-04/schema",
    "http://json-schema.org/draft-06/schema",
];

/// The errors of the schemas. The schemas themselves are checked only if all are in the right place.
pub(super) fn errors(given: &Map<String, Value>) -> CatalogErrors {
    let mut errors = CatalogErrors::default();
    let mut schemas = Vec::new();
    for (kind, moments) in LOCATIONS {
        let Some(of_kind) = hash(given, kind, kind, &mut errors) else {
            continue;
        };
        for moment in moments {
            let path = format!("{kind}.{moment}");
            let schema = hash(of_kind, moment, &path, &mut errors).and_then(|of_moment| {
                let path = format!("{path}.parameters");
                Some((hash(of_moment, "parameters", &path, &mut errors)?, path))
            });
            schemas.extend(schema);
        }
    }
    if errors.are_none() {
        for (schema, path) in schemas {
            for wrong in wrong_with(schema) {
                errors.say(format!("Schema {path} is not valid. {wrong}"));
            }
        }
    }
    errors
}

fn hash<'a>(
    within: &'a Map<String, Value>,
    key: &str,
    path: &str,
    errors: &mut CatalogErrors,
) -> Option<&'a Map<String, Value>> {
    match within.get(key)? {
        Value::Null => None,
        Value::Object(hash) => Some(hash),
        other => {
            errors.say(format!(
                "Schemas {path} must be a hash, but has value {}",
                inspect(other)
            ));
            None
        }
    }
}

fn wrong_with(schema: &Map<String, Value>) -> Vec<String> {
    let schema = Value::Object(schema.clone());
    if schema.to_string().len() > SCHEMA_LIMIT {
        return vec!["Must not be larger than 64KB".to_owned()];
    }
    if let Some(reference) = external_reference(&schema) {
        let kind = if reference.contains("://") {
            "URI"
        } else {
            "file"
        };
        return vec![format!(
            "No external references are allowed: Read of {kind} at {reference} refused"
        )];
    }
    if let Err(error) = jsonschema::draft4::meta::validate(&schema) {
        return vec![format!(
            "Must conform to JSON Schema Draft 04 (experimental support for later versions): The property '#{}' is \
             wrong: {error} in schema http://json-schema.org/draft-04/schema#",
            error.instance_path()
        )];
    }
    let unknown = schema
        .get("$schema")
        .and_then(Value::as_str)
        .is_some_and(|name| !KNOWN_METASCHEMAS.contains(&name.trim_end_matches('#')));
    if unknown {
        return vec!["Custom meta schemas are not supported.".to_owned()];
    }
    Vec::new()
}

fn external_reference(schema: &Value) -> Option<&str> {
    match schema {
        Value::Object(members) => members.iter().find_map(|(key, value)| match value {
            Value::String(reference) if key == "$ref" && !reference.starts_with('#') => {
                Some(reference.as_str())
            }
            other => external_reference(other),
        }),
        Value::Array(items) => items.iter().find_map(external_reference),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}
