//! A manifest as a map of paths, and its references to secrets.

use std::collections::{BTreeMap, BTreeSet};

use odb_adapter_sdk::{secrets::references_in, yaml};
use serde_json::Value;

/// Values that operators choose in the plan and the service deployment, which the broker does not compare.
const NOT_KEPT: [&str; 3] = ["releases", "stemcells", "update"];

/// The members of an instance group that come from the plan as they are.
const OF_THE_PLAN: [&str; 9] = [
    "instances",
    "vm_type",
    "vm_extensions",
    "persistent_disk_type",
    "azs",
    "networks",
    "lifecycle",
    "migrated_from",
    "update",
];

pub(crate) fn parsed(text: &str) -> Value {
    yaml::from_str(text).unwrap_or_else(|error| panic!("the manifest is no YAML: {error}; {text}"))
}

/// The manifest as the broker compares it: without update blocks.
pub(crate) fn compared(text: &str) -> Value {
    let mut manifest = parsed(text);
    let groups = manifest["instance_groups"].as_array_mut();
    for group in groups.into_iter().flatten() {
        group.as_object_mut().map(|group| group.remove("update"));
    }
    manifest
        .as_object_mut()
        .map(|manifest| manifest.remove("update"));
    manifest
}

/// Every value of the manifest that an instance keeps unless a request changes it, by its path. Named members are found
/// by name, such as `/instance_groups/redis-server/jobs/redis-server/properties/redis/password`.
pub(crate) fn leaves(text: &str) -> BTreeMap<String, Value> {
    let mut manifest = parsed(text);
    if let Some(manifest) = manifest.as_object_mut() {
        manifest.retain(|name, _| !NOT_KEPT.contains(&name.as_str()));
    }
    let groups = manifest["instance_groups"].as_array_mut();
    for group in groups.into_iter().flatten() {
        if let Some(group) = group.as_object_mut() {
            group.retain(|name, _| !OF_THE_PLAN.contains(&name.as_str()));
        }
    }
    let mut leaves = BTreeMap::new();
    collect(String::new(), &manifest, &mut leaves);
    leaves
}

fn collect(path: String, value: &Value, leaves: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (name, member) in members {
                collect(format!("{path}/{name}"), member, leaves);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (nth, item) in items.iter().enumerate() {
                let name = item["name"].as_str().map(str::to_owned);
                let name = name.unwrap_or_else(|| nth.to_string());
                collect(format!("{path}/{name}"), item, leaves);
            }
        }
        leaf => {
            leaves.insert(path, leaf.clone());
        }
    }
}

/// Everything between double parentheses, without them.
pub(crate) fn references(text: &str) -> BTreeSet<&str> {
    references_in(text)
        .map(|reference| &reference[2..reference.len() - 2])
        .collect()
}
