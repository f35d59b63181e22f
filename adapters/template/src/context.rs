//! The protocol's inputs under the names that templates know; `folder::known` says which there are.

use odb_adapter_sdk::manifest::{Release, Update};
use odb_adapter_sdk::protocol::{
    CreateBinding, GenerateDashboardUrl, GenerateManifest, Plan, Stemcell,
};
use serde_json::{Map, Value, json};

/// For templates that a manifest is made of; `values` are added when they are known. `omit` is the engine's.
pub(crate) fn of_manifest(
    call: &GenerateManifest,
    previous_manifest: Option<&Value>,
    settings: &Map<String, Value>,
    omit: &str,
) -> Map<String, Value> {
    let deployment = &call.service_deployment;
    let releases: Vec<Release> = deployment.releases.iter().map(Release::from).collect();
    let stemcells: Vec<Value> = deployment.stemcells.iter().map(stemcell).collect();
    present(json!({
        "deployment_name": deployment.deployment_name,
        "instance_id": deployment.instance_id(),
        "releases": deployment.releases,
        "manifest_releases": releases,
        "stemcells": stemcells,
        "plan": plan(&call.plan),
        "request": call.request_parameters.fields(),
        "parameters": call.request_parameters.arbitrary(),
        "context": call.request_parameters.context(),
        "settings": settings,
        "omit": omit,
        "previous_plan": call.previous_plan.as_ref().map(plan),
        "previous_manifest": previous_manifest,
        "previous_secrets": call.previous_secrets,
        "previous_configs": call.previous_configs,
        "uaa_client": call.uaa_client,
    }))
}

pub(crate) fn of_binding(
    call: &CreateBinding,
    manifest: &Value,
    settings: &Map<String, Value>,
    omit: &str,
) -> Map<String, Value> {
    let (deployment_name, instance_id) = names(manifest);
    present(json!({
        "binding_id": call.binding_id,
        "deployment_name": deployment_name,
        "instance_id": instance_id,
        "bosh_vms": call.bosh_vms,
        "manifest": manifest,
        "request": call.request_parameters.fields(),
        "parameters": call.request_parameters.arbitrary(),
        "context": call.request_parameters.context(),
        "bind_resource": call.request_parameters.bind_resource(),
        "app_guid": call.request_parameters.app_guid(),
        "secrets": call.secrets,
        "dns_addresses": call.dns_addresses,
        "settings": settings,
        "omit": omit,
    }))
}

pub(crate) fn of_dashboard(
    call: &GenerateDashboardUrl,
    manifest: &Value,
    settings: &Map<String, Value>,
) -> Map<String, Value> {
    let (deployment_name, _) = names(manifest);
    present(json!({
        "deployment_name": deployment_name,
        "instance_id": call.instance_id,
        "plan": plan(&call.plan),
        "manifest": manifest,
        "settings": settings,
    }))
}

/// The members that have a value.
fn present(context: Value) -> Map<String, Value> {
    match context {
        Value::Object(mut members) => {
            members.retain(|_, value| !value.is_null());
            members
        }
        _ => Map::new(),
    }
}

fn stemcell(stemcell: &Stemcell) -> Value {
    let mut members = json!({"os": stemcell.os, "version": stemcell.version});
    if let Some(name) = &stemcell.name {
        members["name"] = name.as_str().into();
    }
    members
}

/// The plan, with lists where it may leave them out and the update block as manifests have it.
fn plan(plan: &Plan) -> Value {
    let mut value = json!(plan);
    if let Some(update) = &plan.update {
        value["update"] = json!(Update::from(update));
    }
    let errands = &plan.lifecycle_errands;
    for (name, errands) in [
        ("post_deploy", &errands.post_deploy),
        ("pre_delete", &errands.pre_delete),
    ] {
        let errands = errands
            .iter()
            .map(|errand| json!({"name": errand.name, "instances": errand.instances}));
        value["lifecycle_errands"][name] = errands.collect();
    }
    value
}

/// The names of deployment and instance that follow from the manifest's own.
fn names(manifest: &Value) -> (Option<&str>, Option<&str>) {
    let name = manifest.get("name").and_then(Value::as_str);
    let id = name.map(|name| name.strip_prefix("service-instance_").unwrap_or(name));
    (name, id)
}
