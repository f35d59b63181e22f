//! The protocol's inputs under the names that templates know; `folder::known` says which there are.

use odb_adapter_sdk::manifest::{Release, Update};
use odb_adapter_sdk::protocol::{
    CreateBinding, GenerateDashboardUrl, GenerateManifest, Plan, RequestParameters,
    ServiceDeployment, Stemcell,
};
use serde_json::{Map, Value, json};

/// For templates that a manifest is made of; `values` are added when they are known. `omit` is the engine's.
pub(crate) fn of_manifest(
    call: &GenerateManifest,
    previous_manifest: Option<&Value>,
    settings: &Map<String, Value>,
    omit: String,
) -> Map<String, Value> {
    let deployment = &call.service_deployment;
    let mut context = of_deployment(deployment);
    let mut set = |name: &str, value: Value| drop(context.insert(name.to_owned(), value));
    set("plan", plan(&call.plan));
    set_request(&mut set, &call.request_parameters);
    set("settings", Value::Object(settings.clone()));
    set("omit", omit.into());
    if let Some(previous) = &call.previous_plan {
        set("previous_plan", plan(previous));
    }
    if let Some(manifest) = previous_manifest {
        set("previous_manifest", manifest.clone());
    }
    if let Some(secrets) = &call.previous_secrets {
        set("previous_secrets", json!(secrets));
    }
    if let Some(configs) = &call.previous_configs {
        set("previous_configs", json!(configs));
    }
    if let Some(client) = &call.uaa_client {
        set("uaa_client", json!(client));
    }
    context
}

pub(crate) fn of_binding(
    call: &CreateBinding,
    manifest: &Value,
    settings: &Map<String, Value>,
    omit: String,
) -> Map<String, Value> {
    let mut context = Map::new();
    let mut set = |name: &str, value: Value| drop(context.insert(name.to_owned(), value));
    set("binding_id", call.binding_id.as_str().into());
    set_names(&mut set, manifest);
    set("bosh_vms", json!(call.bosh_vms));
    set("manifest", manifest.clone());
    set_request(&mut set, &call.request_parameters);
    set(
        "bind_resource",
        Value::Object(call.request_parameters.bind_resource()),
    );
    if let Some(guid) = call.request_parameters.app_guid() {
        set("app_guid", guid.into());
    }
    if let Some(secrets) = &call.secrets {
        set("secrets", json!(secrets));
    }
    set("dns_addresses", json!(call.dns_addresses));
    set("settings", Value::Object(settings.clone()));
    set("omit", omit.into());
    context
}

pub(crate) fn of_dashboard(
    call: &GenerateDashboardUrl,
    manifest: &Value,
    settings: &Map<String, Value>,
) -> Map<String, Value> {
    let mut context = Map::new();
    let mut set = |name: &str, value: Value| drop(context.insert(name.to_owned(), value));
    set_names(&mut set, manifest);
    set("instance_id", call.instance_id.as_str().into());
    set("plan", plan(&call.plan));
    set("manifest", manifest.clone());
    set("settings", Value::Object(settings.clone()));
    context
}

fn of_deployment(deployment: &ServiceDeployment) -> Map<String, Value> {
    let releases: Vec<Release> = deployment.releases.iter().map(Release::from).collect();
    let stemcells: Vec<Value> = deployment.stemcells.iter().map(stemcell).collect();
    Map::from_iter([
        (
            "deployment_name".to_owned(),
            deployment.deployment_name.as_str().into(),
        ),
        ("instance_id".to_owned(), deployment.instance_id().into()),
        ("releases".to_owned(), json!(deployment.releases)),
        ("manifest_releases".to_owned(), json!(releases)),
        ("stemcells".to_owned(), stemcells.into()),
    ])
}

fn stemcell(stemcell: &Stemcell) -> Value {
    let mut members = Map::from_iter([
        ("os".to_owned(), stemcell.os.as_str().into()),
        ("version".to_owned(), stemcell.version.as_str().into()),
    ]);
    if let Some(name) = &stemcell.name {
        members.insert("name".to_owned(), name.as_str().into());
    }
    Value::Object(members)
}

/// The plan, with lists where it may leave them out and the update block as manifests have it.
fn plan(plan: &Plan) -> Value {
    let mut value = json!(plan);
    value["update"] = json!(plan.update.as_ref().map(Update::from));
    if plan.update.is_none()
        && let Value::Object(members) = &mut value
    {
        members.shift_remove("update");
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

fn set_request(set: &mut impl FnMut(&str, Value), request: &RequestParameters) {
    set("request", Value::Object(request.fields().clone()));
    set("parameters", Value::Object(request.arbitrary()));
    set("context", Value::Object(request.context()));
}

/// Names that follow from the manifest's own.
fn set_names(set: &mut impl FnMut(&str, Value), manifest: &Value) {
    if let Some(name) = manifest.get("name").and_then(Value::as_str) {
        set("deployment_name", name.into());
        let id = name.strip_prefix("service-instance_").unwrap_or(name);
        set("instance_id", id.into());
    }
}
