//! The cloud config has whatever the manifests name with the variables of the example.

use std::collections::BTreeSet;

use odb_stories::manifest::Manifest;
use serde_json::Value;

use super::{site::Site, table::BASES};

/// Where a manifest, or a plan in it, names something of the cloud config, and the list that has it.
const LISTS: [(&str, &str); 4] = [
    ("azs", "azs"),
    ("vm_type", "vm_types"),
    ("persistent_disk_type", "disk_types"),
    ("networks", "networks"),
];

/// The objects that the manifests name, for a Director that has a cloud config.
const BESIDE: &str = "manifests/cloud-config.yml";

/// The cloud config of that Director.
const BASE: &str = "manifests/cloud-config-base.yml";

/// Both files, as a Director puts its configs together.
pub(super) fn cloud_config() -> Value {
    let mut config = Manifest::of_project(BESIDE).document().clone();
    let base = Manifest::of_project(BASE).document().clone();
    let sections = config.as_object_mut().expect("it is a map");
    sections.extend(base.as_object().expect("it is a map").clone());
    config
}

/// A Director refuses every deployment when `compilation` or a zone is in two of its configs.
#[test]
fn a_config_beside_a_cloud_config_has_neither_zones_nor_compilation() {
    let sections = |file: &str| -> Vec<String> {
        let config = Manifest::of_project(file);
        let sections = config.document().as_object().expect("it is a map");
        sections.keys().cloned().collect()
    };
    assert_eq!(sections(BESIDE), ["vm_types", "disk_types", "networks"]);
    assert_eq!(sections(BASE), ["azs", "compilation"]);
}

#[test]
fn whatever_manifests_and_plans_name_is_in_the_cloud_config() {
    let config = cloud_config();
    for base in BASES {
        let errands = if base == "redis.yml" {
            "lifecycle-errands.yml"
        } else {
            "kafka-lifecycle-errands.yml"
        };
        let site = Site::of(base, &["errands-on-own-vms.yml", errands]);
        for (key, list) in LISTS {
            let known: BTreeSet<&str> = names(&config[list]).into_iter().collect();
            let mut named = Vec::new();
            collect(&site.manifest["instance_groups"], key, &mut named);
            assert!(!named.is_empty(), "{base} names no {key}");
            for name in named {
                assert!(known.contains(name), "{base}: {key} `{name}`");
            }
        }
    }
}

#[test]
fn the_cloud_config_names_nothing_that_it_does_not_have() {
    let config = cloud_config();
    let zones = names(&config["azs"]);
    for network in config["networks"].as_array().unwrap() {
        for subnet in network["subnets"].as_array().unwrap() {
            assert_eq!(
                names(&subnet["azs"]),
                zones,
                "every network is in all zones"
            );
        }
    }
    let compilation = &config["compilation"];
    for (key, list) in [
        ("az", "azs"),
        ("vm_type", "vm_types"),
        ("network", "networks"),
    ] {
        let name = compilation[key].as_str().unwrap();
        assert!(names(&config[list]).contains(&name), "{key} `{name}`");
    }
}

/// The names in a list of names, or of what has names.
fn names(list: &Value) -> Vec<&str> {
    let items = list.as_array().into_iter().flatten();
    items
        .filter_map(|item| item.as_str().or(item["name"].as_str()))
        .collect()
}

/// Collects the values of a key at every depth.
fn collect<'v>(value: &'v Value, key: &str, found: &mut Vec<&'v str>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                if name == key {
                    found.extend(member.as_str());
                    found.extend(names(member));
                } else {
                    collect(member, key, found);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, key, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
