//! A JSON Schema that an adapter gives for parameters, and parameters held against it
//! (`spec/contracts/osb-api.md`, C-03, P-03, B-12).

use std::fmt;

use jsonschema::{Draft, PatternOptions, Validator, error::ValidationErrorKind};
use serde_json::{Map, Value};

/// The draft that all platforms support.
const DRAFT: &str = "http://json-schema.org/draft-04/schema#";
/// Platforms take no larger ones (`spec/contracts/osb-api.md` §12.3).
const LARGEST: usize = 65_536;
/// The most errors that one answer reports, and the most names in one error.
const REPORTED: usize = 10;
/// The most characters of a name or of a schema's list in an error.
const LONGEST: usize = 200;

/// A schema that parameters can be held against.
#[derive(Debug)]
pub struct ParameterSchema {
    document: Value,
    validator: Validator,
}

/// Why a document is of no use as a schema.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// There is none, or it does not say which draft it is of.
    #[error("`$schema` is missing; platforms read `{DRAFT}`")]
    NoDraft,
    /// It is not of the draft that platforms read.
    #[error("`$schema` is {found}; platforms read `{DRAFT}`")]
    OtherDraft {
        /// The value found.
        found: String,
    },
    /// Platforms do not take it.
    #[error("it has {bytes} bytes as JSON; platforms take {LARGEST}")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// It is no schema, or refers to something outside itself.
    #[error("it is not a schema at `{location}`: {error}")]
    Invalid {
        /// Where in the document.
        location: String,
        /// The error.
        error: String,
    },
}

/// Parameters that do not fit their schema. Names the properties, never their values: a user's parameters may be
/// secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct InvalidParameters {
    errors: Vec<String>,
}

impl ParameterSchema {
    /// Validates that a document is a schema that platforms accept, without external references.
    pub fn new(document: Value) -> Result<Self, SchemaError> {
        match document.get("$schema") {
            Some(Value::String(draft)) if draft == DRAFT => {}
            None | Some(Value::Null) => return Err(SchemaError::NoDraft),
            Some(found) => {
                let found = shortened(found.to_string());
                return Err(SchemaError::OtherDraft { found });
            }
        }
        let bytes = document.to_string().len();
        if bytes > LARGEST {
            return Err(SchemaError::TooLarge { bytes });
        }
        // Patterns come from outside: this engine matches each in linear time.
        let options = jsonschema::options()
            .with_draft(Draft::Draft4)
            .offline()
            .with_pattern_options(PatternOptions::regex());
        let validator = options
            .build(&document)
            .map_err(|error| SchemaError::Invalid {
                location: error.instance_path().to_string(),
                error: shortened(error.to_string()),
            })?;
        Ok(Self {
            document,
            validator,
        })
    }

    /// The schema as the adapter gave it.
    pub fn document(&self) -> &Value {
        &self.document
    }

    /// Holds parameters against the schema.
    pub fn check(&self, parameters: &Map<String, Value>) -> Result<(), InvalidParameters> {
        let instance = Value::Object(parameters.clone());
        let errors: Vec<String> = self
            .validator
            .iter_errors(&instance)
            .take(REPORTED)
            .map(|error| reported(&property(error.instance_path().as_str()), error.kind()))
            .collect();
        if errors.is_empty() {
            Ok(())
        } else {
            Err(InvalidParameters { errors })
        }
    }
}

impl fmt::Display for InvalidParameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.errors.join("; "))
    }
}

/// `/maxmemory/policy` as users write it: `maxmemory.policy`. Empty for the parameters as a whole.
fn property(pointer: &str) -> String {
    let parts = pointer.split('/').skip(1);
    let parts = parts.map(|part| part.replace("~1", "/").replace("~0", "~"));
    shortened(parts.collect::<Vec<_>>().join("."))
}

/// Limits the length of foreign text in an error.
fn shortened(text: String) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// The error of a property, in words for the user who sent it.
fn reported(property: &str, kind: &ValidationErrorKind) -> String {
    let below = |name: &str| {
        let name = shortened(name.to_owned());
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
            let names = unexpected.iter().take(REPORTED);
            let names: Vec<String> = names.map(|name| below(name)).collect();
            format!("{} not known", is(&names))
        }
        ValidationErrorKind::Required {
            property: Value::String(name),
        } => format!("{} is missing", below(name)),
        ValidationErrorKind::Type { kind } => format!("{subject} must be {}", types(kind)),
        ValidationErrorKind::Enum { options } => {
            format!(
                "{subject} must be one of {}",
                shortened(options.to_string())
            )
        }
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
            let pattern = shortened(pattern.clone());
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

    fn schema(rest: Value) -> Result<ParameterSchema, SchemaError> {
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

    fn errors(parameters: &Value) -> String {
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
            errors(&json!({"name": "ab", "maxclients": 7, "policy": "lru", "users": []})),
            ""
        );
    }

    #[test]
    fn errors_name_the_property_and_never_the_value() {
        for (parameters, reported) in [
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
            let found = errors(&parameters);
            assert_eq!(found, reported);
            assert!(
                !found.contains("unter2") && !found.contains("4711"),
                "{found}"
            );
        }
    }

    #[test]
    fn reported_text_stays_short() {
        let long = "x".repeat(100_000);
        let mut unknown: Map<String, Value> = (0..1000)
            .map(|number| (format!("{number}{long}"), json!(1)))
            .collect();
        unknown.insert("name".to_owned(), json!("ab"));
        let found = errors(&Value::Object(unknown));
        assert!(found.contains("are not known"), "{}", found.len());
        assert!(found.len() < 4 * REPORTED * LONGEST, "{}", found.len());

        let options: Vec<String> = (0..1000).map(|number| number.to_string()).collect();
        let many = schema(json!({"properties": {"a": {"enum": options}}})).unwrap();
        let parameters = Map::from_iter([("a".to_owned(), json!("b"))]);
        let reported = many.check(&parameters).unwrap_err().to_string();
        assert!(reported.len() < 4 * LONGEST, "{reported}");
    }

    #[test]
    fn a_number_beyond_what_floats_hold_is_held_against_its_limit_exactly() {
        let limited =
            schema(json!({"properties": {"a": {"maximum": 9_007_199_254_740_992_u64}}})).unwrap();
        let with = |number: u64| Map::from_iter([("a".to_owned(), json!(number))]);
        assert!(limited.check(&with(9_007_199_254_740_992)).is_ok());
        assert!(limited.check(&with(9_007_199_254_740_993)).is_err());
    }

    #[test]
    fn every_error_is_reported_at_once() {
        let found = errors(&json!({"maxclients": 0, "policy": "x"}));
        assert_eq!(found.split("; ").count(), 3, "{found}");
    }

    #[test]
    fn only_schemas_that_platforms_take_are_taken() {
        let other = json!({"$schema": "http://json-schema.org/draft-07/schema#"});
        assert!(matches!(
            ParameterSchema::new(other),
            Err(SchemaError::OtherDraft { .. })
        ));
        for absent in [json!({}), Value::Null] {
            assert!(matches!(
                ParameterSchema::new(absent),
                Err(SchemaError::NoDraft)
            ));
        }
        let large = schema(json!({"description": "x".repeat(LARGEST)}));
        assert!(matches!(large, Err(SchemaError::TooLarge { .. })));
        for broken in [
            json!({"type": "no such type"}),
            json!({"properties": {"a": {"minimum": "three"}}}),
            json!({"properties": {"a": {"pattern": "("}}}),
            json!({"properties": {"a": {"$ref": "https://example.com/schema.json"}}}),
        ] {
            let refused = schema(broken.clone());
            assert!(
                matches!(refused, Err(SchemaError::Invalid { .. })),
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
