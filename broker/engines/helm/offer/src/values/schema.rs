//! `values.schema.json` of a chart.

use std::collections::BTreeSet;

use jsonschema::{Draft, PatternOptions, ValidationError, Validator, error::ValidationErrorKind};
use odb_adapter_sdk::schema_messages::{property, reported};
use serde_json::Value;

use super::Values;

/// The most violations that are reported.
const REPORTED: usize = 10;

/// The drafts that `$schema` can name.
const DRAFTS: &[&str] = &["draft-04", "draft-06", "draft-07", "2019-09", "2020-12"];

/// The schema of a chart's values.
#[derive(Debug)]
pub struct ValuesSchema {
    document: Value,
    validator: Validator,
}

/// A value that does not fit. The text holds no value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Violation {
    /// The keys that lead to it.
    pub(crate) path: Vec<String>,
    pub(crate) text: String,
}

impl ValuesSchema {
    /// Compiles a schema. Nothing is fetched for it.
    pub(crate) fn new(document: Value) -> Result<Self, String> {
        if let Some(reference) = remote_reference(&document) {
            return Err(format!("it refers to `{reference}`, which is not fetched"));
        }
        let options = jsonschema::options()
            .offline()
            .with_pattern_options(PatternOptions::regex());
        let draft = document.get("$schema").and_then(Value::as_str);
        let options = match draft {
            Some(draft) if DRAFTS.iter().any(|known| draft.contains(known)) => options,
            // Helm reads any other as the newest that it knew for long.
            _ => options.with_draft(Draft::Draft7),
        };
        let validator = options
            .build(&document)
            .map_err(|error| error.to_string())?;
        Ok(Self {
            document,
            validator,
        })
    }

    pub fn document(&self) -> &Value {
        &self.document
    }

    pub(crate) fn violations(&self, values: &Values) -> BTreeSet<Violation> {
        let values = Value::Object(values.clone());
        let errors = self.validator.iter_errors(&values).take(20 * REPORTED);
        errors.map(|error| Violation::of(&error)).collect()
    }
}

impl Violation {
    fn of(error: &ValidationError<'_>) -> Self {
        let pointer = error.instance_path().as_str();
        let keys = pointer.split('/').skip(1);
        let mut path: Vec<String> = keys
            .map(|key| key.replace("~1", "/").replace("~0", "~"))
            .collect();
        match error.kind() {
            ValidationErrorKind::AdditionalProperties { unexpected } => {
                path.extend(unexpected.first().cloned());
            }
            ValidationErrorKind::Required {
                property: Value::String(name),
            } => path.push(name.clone()),
            _ => {}
        }
        Self {
            text: reported(&property(pointer), error.kind()),
            path,
        }
    }
}

/// A `$ref` that leads out of the document.
fn remote_reference(schema: &Value) -> Option<&str> {
    match schema {
        Value::Object(members) => members.iter().find_map(|(key, value)| match value {
            Value::String(reference) if key == "$ref" => {
                let is_remote =
                    reference.contains("://") && !reference.starts_with("http://json-schema.org/");
                is_remote.then_some(reference.as_str())
            }
            value => remote_reference(value),
        }),
        Value::Array(items) => items.iter().find_map(remote_reference),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn schemas_of_every_draft_and_of_none_are_used() {
        let values = json!({"a": "x"}).as_object().cloned().unwrap();
        for draft in [
            json!(null),
            json!("http://json-schema.org/schema#"),
            json!("http://json-schema.org/draft-04/schema#"),
            json!("https://json-schema.org/draft-07/schema"),
            json!("https://json-schema.org/draft/2020-12/schema"),
        ] {
            let mut document = json!({"properties": {"a": {"type": "integer"}}});
            if !draft.is_null() {
                document["$schema"] = draft.clone();
            }
            let schema =
                ValuesSchema::new(document).unwrap_or_else(|error| panic!("{draft}: {error}"));
            assert_eq!(schema.violations(&values).len(), 1, "{draft}");
        }
    }
}
