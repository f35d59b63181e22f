//! The schemas that a catalog shows.

use std::error::Error;

use odb_adapter_sdk::parameters::{Draft4Schema, NoParameters};
use odb_adapter_sdk::protocol::PlanSchemas;
use odb_adapter_sdk::schemars::{self, JsonSchema};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::service::Parameters;

const DRAFT_4: &str = "http://json-schema.org/draft-04/schema#";

/// The keywords of draft 4, and those that authors add for a platform.
const KEYWORDS: [&str; 33] = [
    "$schema",
    "$ref",
    "title",
    "description",
    "default",
    "multipleOf",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "additionalItems",
    "items",
    "maxItems",
    "minItems",
    "uniqueItems",
    "maxProperties",
    "minProperties",
    "required",
    "additionalProperties",
    "definitions",
    "properties",
    "patternProperties",
    "dependencies",
    "enum",
    "type",
    "format",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
];

/// Holds a schema against draft 4, keyword by keyword.
fn assert_draft_4(schema: &Value) {
    let meta = jsonschema::options()
        .with_draft(jsonschema::Draft::Draft4)
        .build(schema);
    assert!(meta.is_ok(), "{schema:#} {:?}", meta.err());
    assert_eq!(schema["$schema"], DRAFT_4);
    assert_known_keywords(schema);
}

fn assert_known_keywords(schema: &Value) {
    let keywords = schema
        .as_object()
        .unwrap_or_else(|| panic!("{schema} is no schema of draft 4"));
    for (keyword, value) in keywords {
        assert!(
            KEYWORDS.contains(&keyword.as_str()) || keyword.starts_with("x-"),
            "{keyword}"
        );
        match (keyword.as_str(), value) {
            ("properties" | "patternProperties" | "definitions", Value::Object(schemas)) => {
                schemas.values().for_each(assert_known_keywords);
            }
            ("allOf" | "anyOf" | "oneOf" | "items", Value::Array(schemas)) => {
                schemas.iter().for_each(assert_known_keywords);
            }
            ("items" | "not", schema)
            | ("additionalProperties" | "additionalItems", schema @ Value::Object(_)) => {
                assert_known_keywords(schema);
            }
            ("exclusiveMinimum" | "exclusiveMaximum", flag) => assert!(flag.is_boolean()),
            ("format", format) => {
                let format = format.as_str().unwrap();
                assert!(
                    ["date-time", "email", "hostname", "ipv4", "ipv6", "uri"].contains(&format)
                );
            }
            ("$ref", reference) => assert!(reference.as_str().unwrap().starts_with('#')),
            _ => {}
        }
    }
}

fn schema_of<P: JsonSchema>() -> Value {
    let schemas = PlanSchemas::of_parameters::<P>();
    assert_eq!(
        schemas.service_instance.create,
        schemas.service_instance.update
    );
    let schema = schemas.service_instance.create.parameters;
    assert_draft_4(&schema);
    schema
}

#[test]
fn a_struct_becomes_a_schema_that_every_platform_reads() {
    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    /// The parameters of a cache.
    #[expect(dead_code, reason = "for its schema")]
    struct Cache {
        /// How many clients may be connected at once.
        #[schemars(range(min = 1, max = 100), extend("x-widget" = "slider", "examples" = [7]))]
        maxclients: u64,
        /// Which one comes first.
        #[serde(default)]
        eviction: Eviction,
        #[schemars(extend("exclusiveMinimum" = 0.5))]
        ratio: Option<f32>,
    }
    #[derive(Deserialize, serde::Serialize, JsonSchema, Default)]
    #[serde(rename_all = "lowercase")]
    enum Eviction {
        /// By age.
        #[default]
        Oldest,
        Random,
    }
    assert_eq!(
        schema_of::<Cache>(),
        json!({
            "$schema": DRAFT_4,
            "title": "Cache",
            "description": "The parameters of a cache.",
            "type": "object",
            "properties": {
                "maxclients": {
                    "description": "How many clients may be connected at once.",
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 100,
                    "x-widget": "slider",
                },
                "eviction": {
                    "description": "Which one comes first.",
                    "oneOf": [
                        {"type": "string", "enum": ["random"]},
                        {"type": "string", "enum": ["oldest"], "description": "By age."},
                    ],
                    "default": "oldest",
                },
                "ratio": {"type": ["number", "null"], "minimum": 0.5, "exclusiveMinimum": true},
            },
            "additionalProperties": false,
            "required": ["maxclients"],
        })
    );
}

#[test]
fn everything_that_a_type_may_hold_is_in_draft_4() {
    let schema = schema_of::<Parameters>();
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(schema["required"], json!(["name"]));
    assert_eq!(schema["properties"]["maxclients"]["maximum"], u64::MAX);
    assert_eq!(
        schema["properties"]["window"]["additionalItems"],
        Value::Null
    );
    assert!(
        schema["definitions"]["Tree"].is_object(),
        "a recursive type has a definition of its own"
    );
}

#[test]
fn each_request_has_a_schema_of_its_own() {
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "for its schema")]
    struct Create {
        name: String,
    }
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "for its schema")]
    struct Update {
        name: Option<String>,
    }
    let schemas = PlanSchemas::of::<Create, Update, NoParameters>();
    let create = &schemas.service_instance.create.parameters;
    assert_eq!(create["required"], json!(["name"]));
    assert_eq!(
        create["additionalProperties"],
        Value::Null,
        "what serde lets pass is let pass"
    );
    assert_eq!(
        schemas.service_instance.update.parameters["required"],
        Value::Null
    );
    assert_eq!(
        schemas.service_binding.create.parameters,
        json!({
            "$schema": DRAFT_4,
            "title": "No parameters",
            "description": "No parameters.",
            "type": "object",
            "additionalProperties": false,
        })
    );
}

#[test]
fn a_schema_from_elsewhere_words_its_errors_like_one_of_a_type() {
    let document = json!({
        "$schema": DRAFT_4,
        "properties": {"maxclients": {"type": "integer", "minimum": 1}},
        "additionalProperties": false,
    });
    let schema = Draft4Schema::new("create.json", document.clone()).unwrap();
    assert_eq!(schema.document(), &document);
    let members = json!({"maxclient": "hunter2", "maxclients": 0});
    let members = members.as_object().unwrap();
    assert_eq!(
        schema.check_parameters(members).unwrap_err().to_string(),
        "unsupported parameter(s) for this service plan: maxclient (did you mean `maxclients`?); \
         supported: maxclients; parameter `maxclients` must be a whole number of at least 1"
    );
    assert_eq!(
        schema
            .check_plan_properties(members)
            .unwrap_err()
            .to_string(),
        "unsupported plan properties: maxclient (did you mean `maxclients`?); \
         supported: maxclients; plan property `maxclients` must be a whole number of at least 1"
    );
    assert_eq!(schema.check_parameters(&Map::new()), Ok(()));
}

#[test]
fn only_schemas_of_draft_4_that_need_nothing_else_are_taken() {
    assert!(Draft4Schema::new("create.json", json!({})).is_ok());
    for (document, reason) in [
        (json!([]), "it is not an object"),
        (
            json!({"$schema": "http://json-schema.org/draft-07/schema#"}),
            DRAFT_4,
        ),
        (json!({"type": "no such type"}), "no such type"),
        (json!({"properties": {"a": {"pattern": "("}}}), "pattern"),
        (
            json!({"properties": {"a": {"$ref": "https://example.com/a.json"}}}),
            "https://example.com/a.json",
        ),
    ] {
        let error = Draft4Schema::new("create.json", document).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the schema of `create.json` cannot be used"
        );
        let reported = error.source().unwrap().to_string();
        assert!(reported.contains(reason), "{reported}");
    }
}

#[test]
fn what_schemas_say_beyond_types_is_reported_in_words_as_well() {
    let properties = json!({
        "labels": {"type": "object", "minProperties": 1, "additionalProperties": {"type": "string"}},
        "port": {"type": "integer", "not": {"enum": [22]}},
        "step": {"type": "integer", "multipleOf": 5},
        "hosts": {"type": "array", "items": {"type": "string", "format": "hostname"}, "uniqueItems": true},
        "level": {"enum": [1, 2, "high"]},
        "either": {"anyOf": [{"type": "boolean"}, {"type": "string", "minLength": 3}]},
        "far": {"$ref": "#/definitions/far"},
    });
    let definitions = json!({"far": {"type": "string", "maxLength": 1}});
    let dependencies = json!({"port": ["hosts"]});
    let schema = Draft4Schema::new(
        "create.json",
        json!({"properties": properties, "definitions": definitions, "dependencies": dependencies}),
    )
    .unwrap();
    for (parameters, text) in [
        (
            json!({"labels": {}}),
            "parameter `labels` must be an object of at least 1 name",
        ),
        (
            json!({"port": 22, "hosts": []}),
            "parameter `port` must be something else than `22`",
        ),
        (
            json!({"port": 23}),
            "parameter `hosts` must be set to a list, without duplicates, each of them a host name",
        ),
        (
            json!({"step": 7}),
            "parameter `step` must be a whole number and a multiple of 5",
        ),
        (
            json!({"hosts": ["a", "a"]}),
            "parameter `hosts` must be a list, without duplicates, each of them a host name",
        ),
        (
            json!({"level": "low"}),
            "parameter `level` must be one of `1`, `2`, `high`",
        ),
        (
            json!({"either": "no"}),
            "parameter `either` must be true or false or a string of at least 3 characters",
        ),
        (
            json!({"far": "away"}),
            "parameter `far` must be a string of at most 1 character",
        ),
    ] {
        let reported = schema
            .check_parameters(parameters.as_object().unwrap())
            .unwrap_err();
        assert_eq!(reported.to_string(), text);
    }
}
