//! The adapters for Redis.

use std::io::Write;

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tempfile::NamedTempFile;

use super::service::Service;
use crate::{executable::Executable, redis::adapter::Implementation};

of_each_implementation! {
    instances_keep_unchanged_values,
    wrong_parameters_are_refused_by_name,
    wrong_plan_properties_are_refused,
    no_previous_manifest_is_its_end,
}

/// The service with the adapter's settings, as long as they are needed.
fn configured(implementation: Implementation, secure_manifests: bool) -> (Service, NamedTempFile) {
    let mut settings = NamedTempFile::new().unwrap();
    writeln!(settings, "secure_manifests_enabled: {secure_manifests}").unwrap();
    let executable = implementation.executable(Some(settings.path()));
    (service(executable), settings)
}

/// The inputs of every adapter for Redis.
pub(crate) fn service(executable: Executable) -> Service {
    Service {
        executable,
        release: "redis-example-service",
        jobs: &["redis-server", "health-check", "cleanup-data"],
        versions: &["7.4", "7.4+dev.2", "7.5", "8"],
        plans: plans().boxed(),
        parameters: parameters().boxed(),
        wrong_parameters: wrong_parameters().boxed(),
        wrong_properties: wrong_properties().boxed(),
        influences: &[
            ("maxclients", "/properties/redis/maxclients"),
            ("odb_managed_secret", "/properties/redis/odb_managed_secret"),
            ("credhub_secret_path", "/properties/redis/secret"),
            ("persistence", "/properties/redis/persistence"),
            ("plan_secret", "/properties/redis/plan_secret"),
            ("use_short_dns_addresses", "/features"),
            ("something_completely_different", "/features"),
            (
                "systest_errand_failure_override",
                "/properties/health-check",
            ),
            (
                "systest_errand_failure_override",
                "/properties/cleanup-data",
            ),
            ("systest_errand_sleep", "/properties/health-check"),
            ("systest_errand_sleep", "/properties/cleanup-data"),
            (
                "colocated_errand",
                "/instance_groups/redis-server/jobs/health-check",
            ),
            (
                "colocated_errand",
                "/instance_groups/redis-server/jobs/cleanup-data",
            ),
            (
                "lifecycle_errands",
                "/instance_groups/redis-server/jobs/health-check",
            ),
            (
                "lifecycle_errands",
                "/instance_groups/redis-server/jobs/cleanup-data",
            ),
        ],
        not_upgraded: &[],
        refuses: |_, _| false,
    }
}

/// A plan with any of the properties that an operator may set, its errands in groups of their own, colocated, or none.
fn plans() -> impl Strategy<Value = Value> {
    let properties = (
        any::<bool>(),
        prop::option::of("[a-z]{8,12}"),
        prop::option::of(any::<bool>()),
        prop::option::of(json_of_any_kind()),
        prop::option::of(prop_oneof![Just("health-check"), Just("cleanup-data")]),
        prop::option::of(0..5_u8),
    )
        .prop_map(|(persistence, secret, short, feature, failing, sleep)| {
            let mut properties = Map::from_iter([("persistence".to_owned(), persistence.into())]);
            let optional = [
                ("plan_secret", secret.map(Value::from)),
                ("use_short_dns_addresses", short.map(Value::from)),
                ("something_completely_different", feature),
                ("systest_errand_failure_override", failing.map(Value::from)),
                ("systest_errand_sleep", sleep.map(Value::from)),
            ];
            for (name, value) in optional {
                properties.extend(value.map(|value| (name.to_owned(), value)));
            }
            properties
        });
    let machine = (
        prop_oneof![Just("small"), Just("large")],
        prop::option::of(prop_oneof![Just("1GB"), Just("5GB")]),
        prop::collection::vec("[a-z]{1,5}", 0..3),
    );
    (properties, machine, 0..3_u8, any::<bool>()).prop_map(
        |(mut properties, (vm_type, disk, extensions), errands, has_update)| {
            let mut redis = group("redis-server", vm_type);
            if let Some(disk) = disk {
                redis["persistent_disk_type"] = disk.into();
            }
            if !extensions.is_empty() {
                redis["vm_extensions"] = extensions.into();
            }
            let mut groups = vec![redis];
            let errands = match errands {
                0 => json!({}),
                1 => {
                    groups.extend(["health-check", "cleanup-data"].map(|name| {
                        let mut errand = group(name, "tiny");
                        errand["lifecycle"] = "errand".into();
                        errand
                    }));
                    json!({"post_deploy": [{"name": "health-check"}], "pre_delete": [{"name": "cleanup-data"}]})
                }
                _ => {
                    properties.insert("colocated_errand".to_owned(), true.into());
                    let colocated = |name| json!([{"name": name, "instances": ["redis-server/0"]}]);
                    json!({"post_deploy": colocated("health-check"), "pre_delete": colocated("cleanup-data")})
                }
            };
            let mut plan = json!({
                "properties": properties, "lifecycle_errands": errands, "instance_groups": groups,
            });
            if has_update {
                plan["update"] = json!({
                    "canaries": 1, "canary_watch_time": "5000-60000", "update_watch_time": "5000-60000", "max_in_flight": "20%",
                });
            }
            plan
        },
    )
}

fn group(name: &str, vm_type: &str) -> Value {
    json!({"name": name, "vm_type": vm_type, "instances": 1, "networks": ["net"], "azs": ["z1"]})
}

fn parameters() -> impl Strategy<Value = Map<String, Value>> {
    // Words that YAML 1.1 takes for booleans or nulls are no names.
    let config = "ext-[a-z]{1,8}".prop_map(|name| format!("vm_extensions:\n- name: {name}\n"));
    (
        prop::option::of(1..100_000_u32),
        prop::option::of("[a-z]{8,12}"),
        prop::option::of("/[a-z]{1,8}/[a-z]{1,8}"),
        prop::option::of(config),
    )
        .prop_map(|(maxclients, secret, path, config)| {
            [
                ("maxclients", maxclients.map(Value::from)),
                ("odb_managed_secret", secret.map(Value::from)),
                ("credhub_secret_path", path.map(Value::from)),
                ("vm_extensions_config", config.map(Value::from)),
            ]
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect()
        })
}

fn wrong_parameters() -> impl Strategy<Value = (Map<String, Value>, String)> {
    let text = || {
        prop_oneof![
            any::<bool>().prop_map(Value::from),
            Just(json!([1])),
            Just(json!({"a": 1}))
        ]
    };
    let wrong = prop_oneof![
        ("maxclients", not_a_count()),
        ("odb_managed_secret", text()),
        ("credhub_secret_path", text()),
        ("vm_extensions_config", Just(json!("vm_extensions: [{"))),
        ("unheard_of_[a-z]{3,9}", json_of_any_kind()),
    ];
    (parameters(), wrong).prop_map(|(mut parameters, (name, value))| {
        parameters.insert(name.clone(), value);
        (parameters, name)
    })
}

/// Values that are not an integer of at least 1.
pub(crate) fn not_a_count() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!(0)),
        (i64::MIN..0).prop_map(Value::from),
        Just(json!(1.5)),
        Just(json!(1e300)),
        "[0-9a-z]{0,4}".prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(json!([5])),
        Just(json!({"count": 5})),
    ]
}

fn wrong_properties() -> impl Strategy<Value = (String, Value)> {
    prop_oneof![
        (
            Just("persistence".to_owned()),
            prop_oneof![Just(json!("yes")), Just(json!(1)), Just(json!({}))]
        ),
        (Just("colocated_errand".to_owned()), Just(json!("true"))),
        (
            Just("plan_secret".to_owned()),
            prop_oneof![Just(json!(5)), Just(json!(["s"]))]
        ),
        (
            Just("use_short_dns_addresses".to_owned()),
            Just(json!("no"))
        ),
        (
            Just("systest_errand_failure_override".to_owned()),
            Just(json!(true))
        ),
        (Just("systest_errand_sleep".to_owned()), Just(json!("5"))),
    ]
}

pub(crate) fn json_of_any_kind() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        // Among them what YAML 1.1 would read as something else.
        prop_oneof![
            Just("yes"),
            Just("12:30"),
            Just("010"),
            Just("~"),
            Just("1_000"),
            Just("plain")
        ]
        .prop_map(Value::from),
    ];
    prop_oneof![
        3 => scalar.clone(),
        1 => prop::collection::vec(scalar.clone(), 1..3).prop_map(Value::from),
        1 => scalar.prop_map(|inner| json!({ "inner": inner })),
    ]
}

fn instances_keep_unchanged_values(implementation: Implementation) {
    for secure_manifests in [true, false] {
        let (service, _settings) = configured(implementation, secure_manifests);
        super::instances_keep_unchanged_values(&service);
    }
}

fn wrong_parameters_are_refused_by_name(implementation: Implementation) {
    let (service, _settings) = configured(implementation, true);
    super::wrong_parameters_are_refused_by_name(&service);
}

fn wrong_plan_properties_are_refused(implementation: Implementation) {
    let (service, _settings) = configured(implementation, true);
    super::wrong_plan_properties_are_refused(&service);
}

fn no_previous_manifest_is_its_end(implementation: Implementation) {
    let (service, _settings) = configured(implementation, true);
    super::no_previous_manifest_is_its_end(&service);
}
