use std::fmt;

use jsonschema::{Draft, PatternOptions, Validator};
use schemars::JsonSchema;
use serde_json::{Map, Value};

use super::draft4::{META_SCHEMA, schema_of};
use super::errors::ParameterErrors;
use super::plan_properties::PlanPropertiesError;
use super::request::ParametersError;

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

    /// The schema of the input of a type.
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
