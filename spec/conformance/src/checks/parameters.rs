//! Parameters that do not fit a schema, found by trying.

use jsonschema::Validator;
use serde_json::{Map, Value, json};

use crate::Objection;

/// Parameters that the schema refuses, as near as possible to those that are ordered.
pub(super) fn unfit(schema: Option<&Value>, fitting: Option<&Value>) -> Result<Value, Objection> {
    let Some(schema) = schema else {
        return Err(Objection::not_shown(
            "the plan has no schema for these parameters",
        ));
    };
    let validator = jsonschema::validator_for(schema)
        .map_err(|error| Objection::broken(format!("the plan's schema is none: {error}")))?;
    let base = fitting.cloned().unwrap_or_else(|| json!({}));
    candidates(schema, &base)
        .into_iter()
        .find(|candidate| is_unfit(&validator, candidate))
        .ok_or_else(|| Objection::not_shown("every object seems to fit the plan's schema"))
}

fn candidates(schema: &Value, base: &Value) -> Vec<Value> {
    let mut candidates = vec![with(base, "odb_conformance_unknown", json!(true))];
    let properties = schema["properties"]
        .as_object()
        .cloned()
        .unwrap_or_else(Map::new);
    for name in properties.keys() {
        for wrong in [json!({ "odb": [] }), json!("odb-conformance"), json!(-1.5)] {
            candidates.push(with(base, name, wrong));
        }
    }
    candidates.push(json!({}));
    candidates
}

fn is_unfit(validator: &Validator, candidate: &Value) -> bool {
    !validator.is_valid(candidate)
}

fn with(base: &Value, name: &str, value: Value) -> Value {
    let mut changed = base.clone();
    changed[name] = value;
    changed
}
