//! The JSON Schemas that an adapter gives for the parameters of a plan, and parameters held against them
//! (`spec/contracts/osb-api.md`, C-03, P-03, B-12).

use std::fmt;

use jsonschema::{Draft, PatternOptions, Validator, error::ValidationErrorKind};
use serde_json::{Map, Value};

/// What platforms read in any case.
const DRAFT: &str = "http://json-schema.org/draft-04/schema#";
/// Platforms take no larger ones (`spec/contracts/osb-api.md` §12.3).
const LARGEST: usize = 65_536;
/// So many faults of one request are told.
const TOLD: usize = 10;

/// The schemas of one plan. They are compiled, so each of them is one.
#[derive(Debug)]
pub struct PlanSchemas {
    /// For orders of service instances.
    pub create: ParameterSchema,
    /// For updates of service instances.
    pub update: ParameterSchema,
    /// For orders of service bindings.
    pub bind: ParameterSchema,
}

/// A schema that parameters can be held against.
#[derive(Debug)]
pub struct ParameterSchema {
    document: Value,
    validator: Validator,
}

/// Why a document is of no use as a schema.
#[derive(Debug, thiserror::Error)]
pub enum SchemaFault {
    /// It does not say that it is of the draft that platforms read.
    #[error("`$schema` is {found}; platforms read `{DRAFT}`")]
    OtherDraft {
        /// What stands there.
        found: Value,
    },
    /// Platforms do not take it.
    #[error("it has {bytes} bytes as JSON; platforms take {LARGEST}")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// It is no schema, or refers to something outside itself.
    #[error("it is no schema at `{place}`: {fault}")]
    Invalid {
        /// Where in the document.
        place: String,
        /// What is wrong.
        fault: String,
    },
}

/// Parameters that do not fit their schema. Names the properties, never their values: a user's parameters may be secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct InvalidParameters {
    faults: Vec<String>,
}

impl PlanSchemas {
    /// The schemas as a catalog has them.
    pub fn in_catalog(&self) -> Value {
        let parameters = |schema: &ParameterSchema| {
            Value::from(Map::from_iter([(
                "parameters".to_owned(),
                schema.document.clone(),
            )]))
        };
        serde_json::json!({
            "service_instance": {
                "create": parameters(&self.create),
                "update": parameters(&self.update),
            },
            "service_binding": { "create": parameters(&self.bind) },
        })
    }
}

impl ParameterSchema {
    /// Makes sure that a document is a schema which platforms take and which needs nothing but itself.
    pub fn new(document: Value) -> Result<Self, SchemaFault> {
        match document.get("$schema") {
            Some(Value::String(draft)) if draft == DRAFT => {}
            found => {
                let found = found.cloned().unwrap_or_default();
                return Err(SchemaFault::OtherDraft { found });
            }
        }
        let bytes = document.to_string().len();
        if bytes > LARGEST {
            return Err(SchemaFault::TooLarge { bytes });
        }
        // Patterns come from outside: with this engine none of them takes long.
        let options = jsonschema::options()
            .with_draft(Draft::Draft4)
            .offline()
            .with_pattern_options(PatternOptions::regex());
        let validator = options
            .build(&document)
            .map_err(|error| SchemaFault::Invalid {
                place: error.instance_path().to_string(),
                fault: error.to_string(),
            })?;
        Ok(Self {
            document,
            validator,
        })
    }

    /// Holds parameters against the schema.
    pub fn check(&self, parameters: &Map<String, Value>) -> Result<(), InvalidParameters> {
        let instance = Value::Object(parameters.clone());
        let faults: Vec<String> = self
            .validator
            .iter_errors(&instance)
            .take(TOLD)
            .map(|error| told(&property(error.instance_path().as_str()), error.kind()))
            .collect();
        if faults.is_empty() {
            Ok(())
        } else {
            Err(InvalidParameters { faults })
        }
    }
}

impl fmt::Display for InvalidParameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.faults.join("; "))
    }
}

/// `/maxmemory/policy` as users write it: `maxmemory.policy`. Nothing stands for the parameters as a whole.
fn property(pointer: &str) -> String {
    let parts = pointer.split('/').skip(1);
    let parts = parts.map(|part| part.replace("~1", "/").replace("~0", "~"));
    parts.collect::<Vec<_>>().join(".")
}

/// What is wrong with a property, in words for the user who sent it.
fn told(property: &str, kind: &ValidationErrorKind) -> String {
    let below = |name: &str| {
        if property.is_empty() {
            format!("`{name}`")
        } else {
            format!("`{property}.{name}`")
        }
    };
    let subject = if property.is_empty() {
        "the parameters".to_owned()
    } else {
        format!("`{property}`")
    };
    match kind {
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let names: Vec<String> = unexpected.iter().map(|name| below(name)).collect();
            format!("{} not known", is(&names))
        }
        ValidationErrorKind::Required {
            property: Value::String(name),
        } => format!("{} is missing", below(name)),
        ValidationErrorKind::Type { kind } => format!("{subject} must be {}", types(kind)),
        ValidationErrorKind::Enum { options } => format!("{subject} must be one of {options}"),
        ValidationErrorKind::Minimum { limit } => format!("{subject} must be at least {limit}"),
        ValidationErrorKind::Maximum { limit } => format!("{subject} must be at most {limit}"),
        ValidationErrorKind::ExclusiveMinimum { limit } => {
            format!("{subject} must be more than {limit}")
        }
        ValidationErrorKind::ExclusiveMaximum { limit } => {
            format!("{subject} must be less than {limit}")
        }
        ValidationErrorKind::MinLength { limit } => {
            format!("{subject} must have at least {limit} characters")
        }
        ValidationErrorKind::MaxLength { limit } => {
            format!("{subject} must have at most {limit} characters")
        }
        ValidationErrorKind::MinItems { limit } => {
            format!("{subject} must have at least {limit} items")
        }
        ValidationErrorKind::MaxItems { limit } => {
            format!("{subject} must have at most {limit} items")
        }
        ValidationErrorKind::UniqueItems => format!("{subject} must not have an item twice"),
        ValidationErrorKind::Pattern { pattern } => {
            format!("{subject} must match the pattern `{pattern}`")
        }
        ValidationErrorKind::Format { format } => {
            format!("{subject} must be of the format {format}")
        }
        other => format!(
            "{subject} does not fit `{}` of the plan's schema",
            other.keyword()
        ),
    }
}

fn is(names: &[String]) -> String {
    let verb = if names.len() == 1 { "is" } else { "are" };
    format!("{} {verb}", names.join(", "))
}

fn types(kind: &jsonschema::error::TypeKind) -> String {
    use jsonschema::error::TypeKind;
    match kind {
        TypeKind::Single(one) => format!("of type {one}"),
        TypeKind::Multiple(several) => {
            let names: Vec<String> = several.iter().map(|one| one.to_string()).collect();
            format!("of type {}", names.join(" or "))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema(rest: Value) -> Result<ParameterSchema, SchemaFault> {
        let mut document = json!({"$schema": DRAFT, "type": "object"});
        let (Value::Object(document_map), Value::Object(rest)) = (&mut document, rest) else {
            panic!("schemas are objects");
        };
        document_map.extend(rest);
        ParameterSchema::new(document)
    }

    fn redis() -> ParameterSchema {
        schema(json!({
            "additionalProperties": false,
            "required": ["name"],
            "properties": {
                "name": {"type": "string", "minLength": 2, "pattern": "^[a-z]+$"},
                "maxclients": {"type": "integer", "minimum": 1, "maximum": 100},
                "policy": {"enum": ["lru", "none"]},
                "users": {"type": "array", "items": {"type": "object", "required": ["id"]}},
            },
        }))
        .unwrap()
    }

    fn faults(parameters: &Value) -> String {
        let Value::Object(parameters) = parameters else {
            panic!("parameters are objects");
        };
        redis()
            .check(parameters)
            .map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn parameters_that_fit_pass() {
        assert_eq!(
            faults(&json!({"name": "ab", "maxclients": 7, "policy": "lru", "users": []})),
            ""
        );
    }

    #[test]
    fn faults_name_the_property_and_never_the_value() {
        for (parameters, told) in [
            (
                json!({"name": "ab", "maxclient": "hunter2"}),
                "`maxclient` is not known",
            ),
            (json!({}), "`name` is missing"),
            (json!({"name": 4711}), "`name` must be of type string"),
            (
                json!({"name": "HUNTER2"}),
                "`name` must match the pattern `^[a-z]+$`",
            ),
            (
                json!({"name": "x"}),
                "`name` must have at least 2 characters",
            ),
            (
                json!({"name": "ab", "maxclients": 4711}),
                "`maxclients` must be at most 100",
            ),
            (
                json!({"name": "ab", "policy": "hunter2"}),
                "`policy` must be one of [\"lru\",\"none\"]",
            ),
            (
                json!({"name": "ab", "users": [{"pw": "hunter2"}]}),
                "`users.0.id` is missing",
            ),
        ] {
            let found = faults(&parameters);
            assert_eq!(found, told);
            assert!(
                !found.contains("unter2") && !found.contains("4711"),
                "{found}"
            );
        }
    }

    #[test]
    fn every_fault_is_told_at_once() {
        let found = faults(&json!({"maxclients": 0, "policy": "x"}));
        assert_eq!(found.split("; ").count(), 3, "{found}");
    }

    #[test]
    fn only_schemas_that_platforms_take_are_taken() {
        let other = json!({"$schema": "http://json-schema.org/draft-07/schema#"});
        assert!(matches!(
            ParameterSchema::new(other),
            Err(SchemaFault::OtherDraft { .. })
        ));
        assert!(matches!(
            ParameterSchema::new(json!({})),
            Err(SchemaFault::OtherDraft { .. })
        ));
        assert!(matches!(
            ParameterSchema::new(Value::Null),
            Err(SchemaFault::OtherDraft { .. })
        ));
        let large = schema(json!({"description": "x".repeat(LARGEST)}));
        assert!(matches!(large, Err(SchemaFault::TooLarge { .. })));
        for broken in [
            json!({"type": "no such type"}),
            json!({"properties": {"a": {"minimum": "three"}}}),
            json!({"properties": {"a": {"pattern": "("}}}),
            json!({"properties": {"a": {"$ref": "https://example.com/schema.json"}}}),
        ] {
            let refused = schema(broken.clone());
            assert!(
                matches!(refused, Err(SchemaFault::Invalid { .. })),
                "{broken} {refused:?}"
            );
        }
        assert!(
            schema(
                json!({"properties": {"a": {"$ref": "#/definitions/a"}}, "definitions": {"a": {}}})
            )
            .is_ok()
        );
    }
}
