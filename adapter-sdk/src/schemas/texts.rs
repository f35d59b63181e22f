//! Parts of a document that are documents themselves, as text: `contentSchema` has their schema, because validators
//! only check the text.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

const DRAFT_4: &str = "http://json-schema.org/draft-04/schema#";

/// Functions that schemas of members name (`schema_with`).
macro_rules! texts {
    ($($name:ident = $schema:expr;)*) => {
        $(pub(crate) fn $name(_: &mut SchemaGenerator) -> Schema {
            $schema
        })*
    };
}

texts! {
    plain = json_schema!({"type": ["string", "null"]});
    service_deployment = json_text(&reference("service-deployment"));
    plan = json_text(&reference("plan"));
    plan_or_null = json_text(&or_null("plan"));
    request_parameters = json_text(&or_null("request-parameters"));
    previous_secrets = json_text(&or_null("previous-secrets"));
    previous_configs = json_text(&or_null("previous-configs"));
    uaa_client = json_text(&or_null("uaa-client"));
    bosh_vms = json_text(&or_null("bosh-vms"));
    dns_addresses = json_text(&or_null("dns-addresses"));
}

/// A manifest from the broker, empty if there is none.
pub(crate) fn manifest(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": ["string", "null"],
        "contentMediaType": "application/yaml",
        "contentSchema": or_null("manifest"),
    })
}

pub(crate) fn generated_manifest(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "contentMediaType": "application/yaml",
        "contentSchema": reference("manifest"),
    })
}

/// ODB-managed secrets: the broker stores texts and objects and nothing else.
pub(crate) fn outgoing_secrets(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": ["object", "null"],
        "additionalProperties": {"type": ["string", "object"]},
    })
}

/// A schema that the broker takes (`spec/contracts/adapter-protocol.md`, "Plan schemas").
pub(crate) fn parameters_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "properties": {"$schema": {"const": DRAFT_4}},
        "required": ["$schema"],
    })
}

fn json_text(content: &Value) -> Schema {
    json_schema!({
        "type": ["string", "null"],
        "contentMediaType": "application/json",
        "contentSchema": content,
    })
}

fn or_null(document: &str) -> Value {
    json!({"anyOf": [reference(document), {"type": "null"}]})
}

fn reference(document: &str) -> Value {
    json!({"$ref": format!("{document}.schema.json")})
}
