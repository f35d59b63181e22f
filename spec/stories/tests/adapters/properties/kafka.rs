//! The adapter for Kafka.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{
    redis::{json_of_any_kind, not_a_count},
    service::Service,
};
use crate::executable::Executable;

fn service() -> Service {
    Service {
        executable: Executable::named("kafka-service-adapter"),
        release: "kafka-example-service",
        jobs: &["kafka_server", "zookeeper_server", "smoke_tests"],
        versions: &["0.16.0", "0.17.0+dev.1", "0.18", "1.0.0"],
        plans: plans().boxed(),
        parameters: parameters().boxed(),
        wrong_parameters: wrong_parameters().boxed(),
        wrong_properties: wrong_properties().boxed(),
        influences: &[
            (
                "auto_create_topics",
                "/jobs/kafka_server/properties/auto_create_topics",
            ),
            (
                "default_replication_factor",
                "/jobs/kafka_server/properties/default_replication_factor",
            ),
            (
                "service_adapter_fails",
                "/jobs/kafka_server/properties/service_adapter_fails",
            ),
            ("instance_groups", "/jobs/kafka_server/properties/network"),
            (
                "lifecycle_errands",
                "/instance_groups/kafka_server/jobs/smoke_tests",
            ),
        ],
        not_upgraded: &[],
        refuses: |from, to| {
            let size = |plan: &Value, name: &str| {
                let groups = plan["instance_groups"].as_array().unwrap();
                let group = groups.iter().find(|group| group["name"] == name);
                group.unwrap()["instances"].as_u64().unwrap()
            };
            ["kafka_server", "zookeeper_server"]
                .into_iter()
                .any(|name| size(to, name) < size(from, name))
        },
    }
}

/// A plan of any size with its groups in any order.
fn plans() -> impl Strategy<Value = Value> {
    let properties = (
        prop::option::of(any::<bool>()),
        prop::option::of(1..5_u8),
        prop::option::of(any::<bool>()),
    )
        .prop_map(|(auto_create, replication, fails)| {
            [
                ("auto_create_topics", auto_create.map(Value::from)),
                ("default_replication_factor", replication.map(Value::from)),
                ("service_adapter_fails", fails.map(Value::from)),
            ]
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect::<Map<_, _>>()
        });
    let errand = prop_oneof![Just(None), Just(Some("group")), Just(Some("colocated"))];
    let network = prop_oneof![Just("net-a"), Just("net-b")];
    (properties, 1..4_u8, 1..4_u8, errand, network, any::<bool>())
        .prop_flat_map(|(properties, brokers, keepers, errand, network, has_update)| {
            let group = |name: &str, instances: u8| {
                json!({
                    "name": name, "vm_type": "small", "persistent_disk_type": "5GB", "instances": instances,
                    "networks": [network], "azs": ["z1"],
                })
            };
            let mut groups = vec![
                group("kafka_server", brokers),
                group("zookeeper_server", keepers),
                group("of_another_service", 1),
            ];
            let errands = match errand {
                None => json!({}),
                Some("group") => {
                    let mut errand = group("smoke_tests", 1);
                    errand["lifecycle"] = "errand".into();
                    groups.push(errand);
                    json!({"post_deploy": [{"name": "smoke_tests"}]})
                }
                Some(_) => {
                    json!({"post_deploy": [{"name": "smoke_tests", "instances": ["kafka_server/0"]}]})
                }
            };
            let mut plan = json!({ "properties": properties, "lifecycle_errands": errands });
            if has_update {
                plan["update"] = json!({"max_in_flight": 2, "serial": true});
            }
            Just(groups).prop_shuffle().prop_map(move |groups| {
                let mut plan = plan.clone();
                plan["instance_groups"] = groups.into();
                plan
            })
        })
}

fn parameters() -> impl Strategy<Value = Map<String, Value>> {
    (prop::option::of(any::<bool>()), prop::option::of(1..9_u8)).prop_map(
        |(auto_create, replication)| {
            [
                ("auto_create_topics", auto_create.map(Value::from)),
                ("default_replication_factor", replication.map(Value::from)),
            ]
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect()
        },
    )
}

fn wrong_parameters() -> impl Strategy<Value = (Map<String, Value>, String)> {
    let wrong = prop_oneof![
        (
            "auto_create_topics",
            prop_oneof![Just(json!("true")), Just(json!(1)), Just(json!([]))]
        ),
        ("default_replication_factor", not_a_count()),
        ("unheard_of_[a-z]{3,9}", json_of_any_kind()),
    ];
    (parameters(), wrong).prop_map(|(mut parameters, (name, value))| {
        parameters.insert(name.clone(), value);
        (parameters, name)
    })
}

fn wrong_properties() -> impl Strategy<Value = (String, Value)> {
    prop_oneof![
        (
            Just("auto_create_topics".to_owned()),
            prop_oneof![Just(json!("no")), Just(json!(0))]
        ),
        (Just("default_replication_factor".to_owned()), not_a_count()),
        (Just("service_adapter_fails".to_owned()), Just(json!("yes"))),
        (
            Just("schema_to_return".to_owned()),
            Just(json!({"type": "object"}))
        ),
    ]
}

every_promise_is_held_by!(service());
