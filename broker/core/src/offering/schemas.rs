//! The parameters of the plans: the JSON Schemas of an adapter, for the catalog, and parameters held against them
//! (`spec/contracts/osb-api.md`, C-03, P-03, B-12).

use std::{collections::BTreeMap, fmt};

use jsonschema::{Draft, PatternOptions, Validator};
use odb_adapter_sdk::{
    protocol,
    schema_messages::{property, reported, shortened},
};
use odb_api_types::ids::PlanId;
use serde_json::{Map, Value, json};

const DRAFT: &str = "http://json-schema.org/draft-04/schema#";
/// Platforms take no larger ones (`spec/contracts/osb-api.md` §12.3).
const LARGEST: usize = 65_536;
const REPORTED: usize = 10;

#[derive(Debug)]
pub struct ParameterSchema {
    document: Value,
    validator: Validator,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SchemaError(String);

/// Parameters that do not fit their schema. Names the properties, never their values: a user's parameters may be
/// secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("; "))]
pub struct InvalidParameters(Vec<String>);

impl ParameterSchema {
    /// Validates that a document is a schema that platforms accept, without external references.
    pub fn new(document: Value) -> Result<Self, SchemaError> {
        match document.get("$schema") {
            Some(Value::String(draft)) if draft == DRAFT => {}
            None | Some(Value::Null) => {
                let missing = format!("`$schema` is missing; platforms read `{DRAFT}`");
                return Err(SchemaError(missing));
            }
            Some(found) => {
                let found = shortened(found.to_string());
                let other = format!("`$schema` is {found}; platforms read `{DRAFT}`");
                return Err(SchemaError(other));
            }
        }
        let bytes = document.to_string().len();
        if bytes > LARGEST {
            let too_large = format!("it has {bytes} bytes as JSON; platforms take {LARGEST}");
            return Err(SchemaError(too_large));
        }
        // Patterns come from outside: this engine matches each in linear time.
        let options = jsonschema::options()
            .with_draft(Draft::Draft4)
            .offline()
            .with_pattern_options(PatternOptions::regex());
        let validator = options.build(&document).map_err(|error| {
            let (location, error) = (error.instance_path(), shortened(error.to_string()));
            SchemaError(format!("it is not a schema at `{location}`: {error}"))
        })?;
        Ok(Self {
            document,
            validator,
        })
    }

    pub fn document(&self) -> &Value {
        &self.document
    }

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
            Err(InvalidParameters(errors))
        }
    }
}

/// The schemas of all plans; none where the operator has not switched them on.
#[derive(Debug, Default)]
pub struct Schemas(BTreeMap<PlanId, PlanSchemas>);

#[derive(Debug)]
pub struct PlanSchemas([ParameterSchema; 3]);

/// The request whose parameters a schema describes. Displayed in the Go broker's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParametersOf {
    InstanceCreate,
    InstanceUpdate,
    BindingCreate,
}

#[derive(Debug, thiserror::Error)]
#[error("the schema of `{of}` cannot be used")]
pub struct BrokenSchema {
    pub of: ParametersOf,
    #[source]
    pub error: SchemaError,
}

impl Schemas {
    /// Holds parameters against the plan's schema. A plan without schemas takes everything.
    pub fn check(
        &self,
        plan: &PlanId,
        of: ParametersOf,
        parameters: &Map<String, Value>,
    ) -> Result<(), InvalidParameters> {
        match self.0.get(plan) {
            Some(schemas) => schemas.of(of).check(parameters),
            None => Ok(()),
        }
    }

    pub fn in_catalog(&self, plan: &PlanId) -> Option<Value> {
        let schemas = self.0.get(plan)?;
        let parameters = |of| json!({ "parameters": schemas.of(of).document() });
        Some(json!({
            "service_instance": {
                "create": parameters(ParametersOf::InstanceCreate),
                "update": parameters(ParametersOf::InstanceUpdate),
            },
            "service_binding": { "create": parameters(ParametersOf::BindingCreate) },
        }))
    }
}

impl FromIterator<(PlanId, PlanSchemas)> for Schemas {
    fn from_iter<I: IntoIterator<Item = (PlanId, PlanSchemas)>>(plans: I) -> Self {
        Self(plans.into_iter().collect())
    }
}

impl PlanSchemas {
    pub fn new(answer: protocol::PlanSchemas) -> Result<Self, Vec<BrokenSchema>> {
        let protocol::ServiceInstanceSchemas { create, update } = answer.service_instance;
        let (mut schemas, mut broken) = (Vec::new(), Vec::new());
        for (of, schema) in [
            (ParametersOf::InstanceCreate, create),
            (ParametersOf::InstanceUpdate, update),
            (ParametersOf::BindingCreate, answer.service_binding.create),
        ] {
            match ParameterSchema::new(schema.parameters) {
                Ok(schema) => schemas.push(schema),
                Err(error) => broken.push(BrokenSchema { of, error }),
            }
        }
        schemas.try_into().map(Self).map_err(|_| broken)
    }

    fn of(&self, of: ParametersOf) -> &ParameterSchema {
        let [create, update, bind] = &self.0;
        match of {
            ParametersOf::InstanceCreate => create,
            ParametersOf::InstanceUpdate => update,
            ParametersOf::BindingCreate => bind,
        }
    }
}

impl fmt::Display for ParametersOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InstanceCreate => "instance create",
            Self::InstanceUpdate => "instance update",
            Self::BindingCreate => "binding create",
        })
    }
}

#[cfg(test)]
mod tests {
    use odb_adapter_sdk::schema_messages::LONGEST;

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
        let refused = |document| ParameterSchema::new(document).unwrap_err().to_string();
        assert!(refused(other).starts_with("`$schema` is \"http://json-schema.org/draft-07"));
        for absent in [json!({}), Value::Null] {
            assert!(refused(absent).starts_with("`$schema` is missing"));
        }
        let large = schema(json!({"description": "x".repeat(LARGEST)}));
        let large = large.unwrap_err().to_string();
        assert!(
            large.ends_with("bytes as JSON; platforms take 65536"),
            "{large}"
        );
        for broken in [
            json!({"type": "no such type"}),
            json!({"properties": {"a": {"minimum": "three"}}}),
            json!({"properties": {"a": {"pattern": "("}}}),
            json!({"properties": {"a": {"$ref": "https://example.com/schema.json"}}}),
        ] {
            let refused = schema(broken.clone()).unwrap_err().to_string();
            assert!(
                refused.starts_with("it is not a schema at"),
                "{broken} {refused}"
            );
        }
        assert!(
            schema(
                json!({"properties": {"a": {"$ref": "#/definitions/a"}}, "definitions": {"a": {}}})
            )
            .is_ok()
        );
    }

    fn requiring(property: &str) -> Value {
        json!({
            "$schema": "http://json-schema.org/draft-04/schema#",
            "type": "object",
            "required": [property],
        })
    }

    fn answer(create: &Value, update: &Value, bind: &Value) -> protocol::PlanSchemas {
        serde_json::from_value(json!({
            "service_instance": { "create": { "parameters": create }, "update": { "parameters": update } },
            "service_binding": { "create": { "parameters": bind } },
        }))
        .unwrap()
    }

    fn plan() -> PlanId {
        PlanId::from("plan-1".to_owned())
    }

    fn schemas() -> Schemas {
        let answer = answer(&requiring("a"), &requiring("b"), &requiring("c"));
        Schemas::from_iter([(plan(), PlanSchemas::new(answer).unwrap())])
    }

    #[test]
    fn each_request_is_held_against_its_own_schema() {
        for (of, property) in [
            (ParametersOf::InstanceCreate, "a"),
            (ParametersOf::InstanceUpdate, "b"),
            (ParametersOf::BindingCreate, "c"),
        ] {
            let reported = schemas().check(&plan(), of, &Map::new()).unwrap_err();
            assert_eq!(reported.to_string(), format!("`{property}` is missing"));
            let fitting = Map::from_iter([(property.to_owned(), json!(1))]);
            assert_eq!(schemas().check(&plan(), of, &fitting), Ok(()));
        }
    }

    #[test]
    fn a_plan_without_schemas_takes_everything() {
        let other = PlanId::from("plan-2".to_owned());
        let anything = Map::from_iter([("x".to_owned(), json!([1]))]);
        let checked = schemas().check(&other, ParametersOf::InstanceCreate, &anything);
        assert_eq!(checked, Ok(()));
        assert_eq!(schemas().in_catalog(&other), None);
    }

    #[test]
    fn a_catalog_has_the_schemas_where_platforms_look_for_them() {
        assert_eq!(
            schemas().in_catalog(&plan()).unwrap(),
            json!({
                "service_instance": {
                    "create": { "parameters": requiring("a") },
                    "update": { "parameters": requiring("b") },
                },
                "service_binding": { "create": { "parameters": requiring("c") } },
            })
        );
    }

    #[test]
    fn every_schema_that_is_none_is_reported() {
        let reported = |answer| {
            let errors = PlanSchemas::new(answer).unwrap_err().into_iter();
            let named = errors.map(|broken| broken.of.to_string());
            named.collect::<Vec<_>>()
        };
        let broken = json!({ "type": "object" });
        assert_eq!(
            reported(answer(&broken, &requiring("b"), &Value::Null)),
            ["instance create", "binding create"]
        );
        let nothing = protocol::PlanSchemas::default();
        assert_eq!(reported(nothing).len(), 3);
    }
}
