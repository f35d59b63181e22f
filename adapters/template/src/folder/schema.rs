use odb_adapter_sdk::json;
use odb_adapter_sdk::parameters::{
    Draft4Schema, ParametersError, PlanPropertiesError, UnusableSchema,
};
use serde_json::{Map, Value, json};

use crate::template::Shape;

/// The only dialect that the broker takes (`spec/contracts/adapter-protocol.md`, "Plan schemas").
const DIALECT: &str = "http://json-schema.org/draft-04/schema#";

/// A JSON Schema of parameters or of plan properties.
pub(crate) struct Schema(Draft4Schema);

/// Why a file is not a schema of use here.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SchemaError {
    #[error("the schema of `{name}` is not JSON")]
    NotJson {
        name: String,
        #[source]
        source: json::Error,
    },
    #[error(transparent)]
    NotOfUse(#[from] UnusableSchema),
}

impl Schema {
    /// Reads a schema out of the file of that name.
    pub(crate) fn read(name: &str, text: &str) -> Result<Self, SchemaError> {
        let mut document: Value = json::from_str(text).map_err(|source| SchemaError::NotJson {
            name: name.to_owned(),
            source,
        })?;
        if let Value::Object(members) = &mut document {
            members.entry("$schema").or_insert_with(|| DIALECT.into());
        }
        Ok(Self(Draft4Schema::new(name, document)?))
    }

    /// The schema that lets no parameter through.
    pub(crate) fn of_nothing() -> Self {
        let document = json!({"$schema": DIALECT, "type": "object", "properties": {}, "additionalProperties": false});
        Self(Draft4Schema::new("no parameters", document).expect("this is a schema"))
    }

    pub(crate) fn document(&self) -> &Value {
        self.0.document()
    }

    /// The names that are known before there is a value.
    pub(crate) fn shape(&self) -> Shape {
        let document = self.document();
        match (
            document.get("properties"),
            document.get("additionalProperties"),
        ) {
            (Some(Value::Object(properties)), Some(Value::Bool(false))) => {
                Shape::of_names(properties.keys())
            }
            _ => Shape::Open,
        }
    }

    /// Whether the schema accepts this value for one member, regardless of the other members.
    pub(crate) fn takes_member(&self, name: &str, value: &Value) -> bool {
        let document = self.document();
        let parts = ["$schema", "definitions", "properties"];
        let alone = parts
            .into_iter()
            .filter_map(|part| Some((part.to_owned(), document.get(part)?.clone())))
            .collect();
        let member = Map::from_iter([(name.to_owned(), value.clone())]);
        // A schema with references to other parts of the document cannot be used alone.
        Draft4Schema::new(name, Value::Object(alone))
            .map_or(true, |schema| schema.check_parameters(&member).is_ok())
    }

    /// Checks a user's parameters against the schema.
    pub(crate) fn check_parameters(
        &self,
        parameters: &Map<String, Value>,
    ) -> Result<(), ParametersError> {
        self.0.check_parameters(parameters)
    }

    /// Checks an operator's plan properties against the schema.
    pub(crate) fn check_plan_properties(
        &self,
        properties: &Map<String, Value>,
    ) -> Result<(), PlanPropertiesError> {
        self.0.check_plan_properties(properties)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_schemas_of_draft_4_are_taken() {
        let read = |text| Schema::read("create.json", text);
        assert!(read(r#"{"$schema": "http://json-schema.org/draft-07/schema#"}"#).is_err());
        assert!(read(r#"{"type": "hunter2"}"#).is_err());
        assert!(read("[]").is_err());
        assert_eq!(read("{}").unwrap().document()["$schema"], DIALECT);
    }
}
