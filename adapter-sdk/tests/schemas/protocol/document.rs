//! The committed schemas, and the readers of the same documents.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use jsonschema::{Draft, Registry, Resource, Validator};
use odb_adapter_sdk::protocol::{
    AdapterInput, Binding, DashboardUrl, GeneratedManifest, ManifestText, PlanSchemas,
    RequestParameters, Subcommand,
};
use odb_adapter_sdk::yaml;
use serde_json::{Value, json};

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../spec/schemas/adapter")
}

/// Schemas by the name of their document, as they are committed.
pub(crate) static SCHEMAS: LazyLock<BTreeMap<String, Value>> = LazyLock::new(|| {
    let files = fs::read_dir(folder()).expect("the schemas are committed");
    let schema = |path: PathBuf| {
        let name = path
            .file_name()?
            .to_str()?
            .strip_suffix(".schema.json")?
            .to_owned();
        let schema = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        Some((name, schema))
    };
    files
        .filter_map(|file| schema(file.unwrap().path()))
        .collect()
});

/// Where the schemas lie, as far as they are concerned: their references are relative.
const BASE: &str = "json-schema:///";

/// Validators by what they hold documents against: a file, or a part of one.
static VALIDATORS: LazyLock<BTreeMap<String, Validator>> = LazyLock::new(|| {
    let resources = SCHEMAS.iter().map(|(name, schema)| {
        let resource = Resource::from_contents(schema.clone());
        (format!("{BASE}{name}.schema.json"), resource)
    });
    let registry = Registry::new()
        .extend(resources)
        .unwrap()
        .prepare()
        .unwrap();
    let files = SCHEMAS.keys().map(|name| (name.clone(), String::new()));
    let calls = Subcommand::ALL.iter().map(|subcommand| {
        let part = format!("#/$defs/{}", subcommand.name());
        ("input".to_owned(), part)
    });
    let validator = |(name, part): (String, String)| {
        let schema = json!({"$ref": format!("{BASE}{name}.schema.json{part}")});
        let options = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .with_registry(&registry);
        let validator = options
            .build(&schema)
            .unwrap_or_else(|error| panic!("{error}"));
        (format!("{name}{part}"), validator)
    };
    files.chain(calls).map(validator).collect()
});

/// The errors of a schema in a document.
pub(crate) fn errors(name: &str, document: &Value) -> Vec<String> {
    let validator = &VALIDATORS[name];
    let errors = validator.iter_errors(document);
    errors
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

/// The errors of the schemas in a document and in its texts, each with its own schema.
pub(crate) fn errors_throughout(name: &str, document: &Value) -> Vec<String> {
    let mut found = errors(name, document);
    errors_in_texts(&SCHEMAS[name], &SCHEMAS[name], document, name, &mut found);
    found
}

fn errors_in_texts(
    root: &Value,
    schema: &Value,
    part: &Value,
    location: &str,
    found: &mut Vec<String>,
) {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = root.pointer(reference.trim_start_matches('#')).unwrap();
        errors_in_texts(root, target, part, location, found);
    }
    for branch in schema["anyOf"].as_array().into_iter().flatten() {
        errors_in_texts(root, branch, part, location, found);
    }
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        if let Some(part) = part.get(name) {
            errors_in_texts(root, schema, part, &format!("{location}/{name}"), found);
        }
    }
    let (Some(content), Some(text)) = (schema.get("contentSchema"), part.as_str()) else {
        return;
    };
    if text.is_empty() {
        return;
    }
    let inner: Value = match schema["contentMediaType"].as_str() {
        Some("application/json") => serde_json::from_str(text).unwrap(),
        Some("application/yaml") => yaml::from_str(text).unwrap(),
        other => panic!("{location} is {other:?}"),
    };
    let mut contents = [content]
        .into_iter()
        .chain(content["anyOf"].as_array().into_iter().flatten());
    let document = contents
        .find_map(|schema| schema["$ref"].as_str()?.strip_suffix(".schema.json"))
        .unwrap_or_else(|| panic!("{location} has a document in it: {content}"));
    if inner.is_null() && content.get("anyOf").is_some() {
        return;
    }
    found.extend(
        errors(document, &inner)
            .into_iter()
            .map(|error| format!("{location}: {error}")),
    );
}

/// The errors of one subcommand's input schema in a document.
pub(crate) fn errors_of_call(subcommand: Subcommand, document: &Value) -> Vec<String> {
    errors(&format!("input#/$defs/{}", subcommand.name()), document)
}

/// Whether the SDK reads a document.
pub(crate) fn is_read(name: &str, document: &Value) -> bool {
    let text = document.to_string();
    let create = |member: &str| in_generate_manifest(member, &text);
    let bind = |member: &str| in_create_binding(member, &text);
    match name {
        "service-deployment" => create("service_deployment"),
        "plan" => create("plan") && create("previous_plan"),
        "request-parameters" => RequestParameters::from_json(&text).is_ok(),
        "previous-secrets" => create("previous_secrets") && bind("secrets"),
        "previous-configs" => create("previous_configs"),
        "uaa-client" => create("uaa_client"),
        "bosh-vms" => bind("bosh_vms"),
        "dns-addresses" => bind("dns_addresses"),
        "manifest" => ManifestText::from(yaml::to_string(document).unwrap())
            .parse()
            .is_ok(),
        "generated-manifest" => serde_json::from_str::<GeneratedManifest>(&text).is_ok(),
        "binding" => serde_json::from_str::<Binding>(&text).is_ok(),
        "dashboard-url" => serde_json::from_str::<DashboardUrl>(&text).is_ok(),
        "plan-schemas" => serde_json::from_str::<PlanSchemas>(&text).is_ok(),
        other => panic!("{other} has no reader here"),
    }
}

fn in_generate_manifest(member: &str, text: &str) -> bool {
    let mut section = json!({
        "service_deployment": r#"{"deployment_name":"d","releases":[],"stemcells":[]}"#,
        "plan": r#"{"instance_groups":[]}"#,
        "previous_plan": "null",
        "request_parameters": "{}",
    });
    section[member] = text.into();
    let document = json!({ "generate_manifest": section }).to_string();
    AdapterInput::read(&document, Subcommand::GenerateManifest).is_ok()
}

fn in_create_binding(member: &str, text: &str) -> bool {
    let mut section = json!({"bosh_vms": "{}", "request_parameters": "{}"});
    section[member] = text.into();
    let document = json!({ "create_binding": section }).to_string();
    AdapterInput::read(&document, Subcommand::CreateBinding).is_ok()
}
