//! Schemas in draft 4 of JSON Schema, which platforms read: those of types, and those to hold documents against
//! (`spec/contracts/adapter-protocol.md`, "Plan schemas").

use std::fmt;

use jsonschema::{Draft, PatternOptions, Validator};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::errors::ParameterErrors;
use super::{ParametersError, PlanPropertiesError};
use crate::schemas::integer_range;

const META_SCHEMA: &str = "http://json-schema.org/draft-04/schema#";

pub(super) fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft07().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let mut document = Map::from_iter([("$schema".to_owned(), json!(META_SCHEMA))]);
    document.extend(object(schema.to_value()));
    Value::Object(document)
}

fn schema(schema: Value) -> Value {
    Value::Object(object(schema))
}

/// A schema as an object: draft 4 does not allow `true` and `false` as schemas.
fn object(schema: Value) -> Map<String, Value> {
    match schema {
        Value::Object(keywords) => converted(keywords),
        Value::Bool(false) => Map::from_iter([("not".to_owned(), json!({}))]),
        _ => Map::new(),
    }
}

fn converted(keywords: Map<String, Value>) -> Map<String, Value> {
    let mut converted = Map::new();
    let mut bounds = Bounds::default();
    for (keyword, value) in keywords {
        match keyword.as_str() {
            "minimum" => bounds.minimum = Some(value),
            "maximum" => bounds.maximum = Some(value),
            "exclusiveMinimum" => bounds.exclusive_minimum = Some(value),
            "exclusiveMaximum" => bounds.exclusive_maximum = Some(value),
            "const" => insert(&mut converted, "enum", Value::Array(vec![value])),
            "default" if value.is_null() => {}
            "format" => match value.as_str() {
                Some("ip") => insert(
                    &mut converted,
                    "anyOf",
                    json!([{"format": "ipv4"}, {"format": "ipv6"}]),
                ),
                Some("date-time" | "email" | "hostname" | "ipv4" | "ipv6" | "uri") => {
                    insert(&mut converted, &keyword, value);
                }
                Some(format) => bounds.of_the_type(format),
                None => {}
            },
            "additionalProperties" | "additionalItems" if value.is_boolean() => {
                insert(&mut converted, &keyword, value);
            }
            "additionalProperties" | "additionalItems" | "not" => {
                insert(&mut converted, &keyword, schema(value));
            }
            "items" | "allOf" | "anyOf" | "oneOf" => {
                let value = match value {
                    Value::Array(schemas) => schemas.into_iter().map(schema).collect(),
                    one => schema(one),
                };
                insert(&mut converted, &keyword, value);
            }
            "properties" | "patternProperties" | "definitions" => {
                if let Value::Object(schemas) = value {
                    let schemas = schemas.into_iter().map(|(name, of)| (name, schema(of)));
                    insert(&mut converted, &keyword, Value::Object(schemas.collect()));
                }
            }
            "required" if value.as_array().is_some_and(Vec::is_empty) => {}
            "title" | "description" | "default" | "multipleOf" | "maxLength" | "minLength"
            | "pattern" | "maxItems" | "minItems" | "uniqueItems" | "maxProperties"
            | "minProperties" | "required" | "dependencies" | "enum" | "type" | "$ref" => {
                insert(&mut converted, &keyword, value);
            }
            // An author's own, for a platform that reads them.
            extension if extension.starts_with("x-") => insert(&mut converted, extension, value),
            _ => {}
        }
    }
    bounds.write(&mut converted);
    converted
}

fn insert(schema: &mut Map<String, Value>, keyword: &str, value: Value) {
    schema.insert(keyword.to_owned(), value);
}

/// The bounds of a number. Later drafts have exclusive bounds as numbers, draft 4 as flags.
#[derive(Default)]
struct Bounds {
    minimum: Option<Value>,
    maximum: Option<Value>,
    exclusive_minimum: Option<Value>,
    exclusive_maximum: Option<Value>,
}

impl Bounds {
    /// Those of an integer type that are left to its format.
    fn of_the_type(&mut self, format: &str) {
        let Some((minimum, maximum)) = integer_range(format) else {
            return;
        };
        self.minimum.get_or_insert(minimum);
        self.maximum.get_or_insert(maximum);
    }

    fn write(self, schema: &mut Map<String, Value>) {
        let least = tighter(self.minimum, self.exclusive_minimum, |a, b| a >= b);
        let most = tighter(self.maximum, self.exclusive_maximum, |a, b| a <= b);
        for (bound, keyword, exclusive) in [
            (least, "minimum", "exclusiveMinimum"),
            (most, "maximum", "exclusiveMaximum"),
        ] {
            if let Some((limit, is_exclusive)) = bound {
                insert(schema, keyword, limit);
                if is_exclusive {
                    insert(schema, exclusive, json!(true));
                }
            }
        }
    }
}

/// The one of two bounds that counts, and whether it is the exclusive one.
fn tighter(
    inclusive: Option<Value>,
    exclusive: Option<Value>,
    is_tighter: impl Fn(f64, f64) -> bool,
) -> Option<(Value, bool)> {
    match (inclusive, exclusive) {
        (None, None) => None,
        (Some(limit), None) => Some((limit, false)),
        (None, Some(limit)) => Some((limit, true)),
        (Some(inclusive), Some(exclusive)) => {
            let is_exclusive = exclusive
                .as_f64()
                .zip(inclusive.as_f64())
                .is_some_and(|(exclusive, inclusive)| is_tighter(exclusive, inclusive));
            Some(if is_exclusive {
                (exclusive, true)
            } else {
                (inclusive, false)
            })
        }
    }
}

/// A schema that parameters or plan properties are held against, for adapters that have it from
/// elsewhere than from a type.
///
/// ```
/// use odb_adapter_sdk::parameters::Draft4Schema;
/// use serde_json::json;
///
/// let schema = Draft4Schema::new("schemas/create.json", json!({
///     "$schema": "http://json-schema.org/draft-04/schema#",
///     "properties": {"maxclients": {"type": "integer", "minimum": 1}},
///     "additionalProperties": false,
/// }))?;
/// let parameters = json!({"maxclients": 0}).as_object().cloned().unwrap_or_default();
/// let error = schema.check_parameters(&parameters).expect_err("that is too few");
/// assert_eq!(error.to_string(), "parameter `maxclients` must be a whole number of at least 1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Draft4Schema {
    document: Value,
    validator: Validator,
}

/// A document that is not a draft 4 schema, or a type whose schema is not one, for example because of an invalid
/// regular expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the schema of `{of}` cannot be used")]
pub struct UnusableSchema {
    of: String,
    #[source]
    error: SchemaError,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum SchemaError {
    #[error("it is not an object")]
    NotAnObject,
    #[error("its `$schema` must be `{META_SCHEMA}`")]
    OtherDraft,
    #[error("it is wrong at `{location}`, {error}")]
    Wrong { location: String, error: String },
}

impl Draft4Schema {
    /// Checks that a document is a self-contained draft 4 schema. `$schema` is optional. `of` names the document in the
    /// error, such as by its file.
    pub fn new(of: impl Into<String>, document: Value) -> Result<Self, UnusableSchema> {
        let unusable = |error| UnusableSchema {
            of: of.into(),
            error,
        };
        if !document.is_object() {
            return Err(unusable(SchemaError::NotAnObject));
        }
        if document
            .get("$schema")
            .is_some_and(|draft| draft != META_SCHEMA)
        {
            return Err(unusable(SchemaError::OtherDraft));
        }
        // Uses the same pattern engine as the broker, so both accept the same patterns.
        let options = jsonschema::options()
            .with_draft(Draft::Draft4)
            .offline()
            .with_pattern_options(PatternOptions::regex());
        match options.build(&document) {
            Ok(validator) => Ok(Self {
                document,
                validator,
            }),
            Err(error) => Err(unusable(SchemaError::Wrong {
                location: error.instance_path().to_string(),
                error: error.to_string(),
            })),
        }
    }

    pub(super) fn of<T: JsonSchema>() -> Result<Self, UnusableSchema> {
        Self::new(std::any::type_name::<T>(), schema_of::<T>())
    }

    /// The schema.
    pub fn document(&self) -> &Value {
        &self.document
    }

    /// Holds a user's parameters against the schema.
    pub fn check_parameters(&self, parameters: &Map<String, Value>) -> Result<(), ParametersError> {
        let parameters = Value::Object(parameters.clone());
        self.check(&parameters).map_err(ParametersError::from)
    }

    /// Holds an operator's properties against the schema.
    pub fn check_plan_properties(
        &self,
        properties: &Map<String, Value>,
    ) -> Result<(), PlanPropertiesError> {
        let properties = Value::Object(properties.clone());
        self.check(&properties).map_err(PlanPropertiesError::from)
    }

    pub(super) fn check(&self, document: &Value) -> Result<(), ParameterErrors> {
        let errors = self.validator.iter_errors(document);
        let errors = ParameterErrors::found(&self.document, document, errors);
        if errors.are_none() {
            Ok(())
        } else {
            Err(errors)
        }
    }
}

impl fmt::Debug for Draft4Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Draft4Schema").field(&self.document).finish()
    }
}
