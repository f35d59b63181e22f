use odb_adapter_sdk::yaml;
use serde_json::{Value, json};

use crate::executable::{Executable, Run};

pub(crate) const MISCONFIGURED: &str =
    "Contact your operator, service configuration issue occurred";

pub(crate) fn kafka() -> Executable {
    Executable::named("kafka-service-adapter")
}

pub(crate) fn service_deployment() -> Value {
    json!({
        "deployment_name": "service-instance_feedface-2222-4333-8444-555566667777",
        "releases": [{
            "name": "kafka-example-service", "version": "0.17.0",
            "jobs": ["kafka_server", "zookeeper_server", "smoke_tests"],
        }],
        "stemcells": [{"stemcell_os": "ubuntu-jammy", "stemcell_version": "1.80"}],
    })
}

/// Three brokers and one ZooKeeper.
pub(crate) fn plan() -> Value {
    json!({
        "properties": {},
        "lifecycle_errands": {},
        "instance_groups": [group("kafka_server", 3), group("zookeeper_server", 1)],
    })
}

pub(crate) fn group(name: &str, instances: u32) -> Value {
    json!({
        "name": name, "vm_type": "broker", "persistent_disk_type": "50GB", "instances": instances,
        "networks": ["svc-net"], "azs": ["az-a"],
    })
}

/// The broker's request for a new instance.
pub(crate) fn create(plan: &Value, parameters: &Value) -> Value {
    json!({
        "service_deployment": service_deployment().to_string(),
        "plan": plan.to_string(),
        "previous_plan": "null",
        "previous_manifest": "",
        "request_parameters": json!({ "parameters": parameters }).to_string(),
        "previous_secrets": "null",
        "previous_configs": "null",
        "uaa_client": "null",
    })
}

/// The broker's request to update an instance that another plan deployed.
pub(crate) fn update(plan: &Value, before: &Value, deployed: &str, parameters: &Value) -> Value {
    let mut input = create(plan, parameters);
    input["previous_plan"] = before.to_string().into();
    input["previous_manifest"] = deployed.into();
    input["previous_configs"] = "{}".into();
    input
}

/// The broker's request before an update, which looks for pending changes.
pub(crate) fn look_for_changes(plan: &Value, deployed: &str) -> Value {
    let mut input = update(plan, plan, deployed, &json!({}));
    input["request_parameters"] = "{}".into();
    input
}

pub(crate) fn generate(input: &Value) -> Run {
    kafka().ask("generate-manifest", input)
}

/// The manifest as text.
pub(crate) fn generated(input: &Value) -> String {
    generate(input).answer()["manifest"]
        .as_str()
        .unwrap()
        .to_owned()
}

pub(crate) fn parsed(manifest: &str) -> Value {
    yaml::from_str(manifest).unwrap()
}

/// An instance group of a manifest by its name.
pub(crate) fn group_of(manifest: &str, name: &str) -> Value {
    let manifest = parsed(manifest);
    let groups = manifest["instance_groups"].as_array().unwrap();
    let group = groups.iter().find(|group| group["name"] == name);
    group
        .unwrap_or_else(|| panic!("no `{name}` in {manifest}"))
        .clone()
}

/// The properties of job `kafka_server`.
pub(crate) fn properties(manifest: &str) -> Value {
    group_of(manifest, "kafka_server")["jobs"][0]["properties"].clone()
}
