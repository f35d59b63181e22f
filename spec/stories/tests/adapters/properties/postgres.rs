//! The adapter for PostgreSQL, which is a folder.

use odb_stories::AdapterFolder;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{
    redis::{json_of_any_kind, not_a_count},
    service::Service,
};
use crate::executable::Executable;

fn service() -> Service {
    Service {
        executable: Executable::named("template-service-adapter")
            .with_environment("SERVICE_ADAPTER_FOLDER", AdapterFolder::of("postgres")),
        release: "postgresql-example-service",
        jobs: &["postgres-server", "postgres-smoke-tests"],
        versions: &["1.0", "1.1+dev.3", "2", "3.0.1"],
        plans: plans().boxed(),
        parameters: parameters().boxed(),
        wrong_parameters: wrong_parameters().boxed(),
        wrong_properties: wrong_properties().boxed(),
        // Of the plan's properties none: an instance keeps what it has.
        influences: &[
            ("max_connections", "/properties/postgres/max_connections"),
            (
                "lifecycle_errands",
                "/instance_groups/postgres-server/jobs/postgres-smoke-tests",
            ),
        ],
        not_upgraded: &[],
        refuses: |_, _| false,
    }
}

fn plans() -> impl Strategy<Value = Value> {
    let properties = (
        prop::option::of(10..1000_u16),
        prop::option::of("[a-z][a-z0-9_]{0,8}"),
    )
        .prop_map(|(connections, database)| {
            [
                ("max_connections", connections.map(Value::from)),
                ("database", database.map(Value::from)),
            ]
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect::<Map<_, _>>()
        });
    let errand = prop_oneof![Just(None), Just(Some("group")), Just(Some("colocated"))];
    let vm_type = prop_oneof![Just("small"), Just("large")];
    (properties, errand, vm_type, any::<bool>()).prop_map(
        |(properties, errand, vm_type, has_update)| {
            let group = |name: &str| {
                json!({
                    "name": name, "vm_type": vm_type, "persistent_disk_type": "1GB", "instances": 1,
                    "networks": ["net"], "azs": ["z1"],
                })
            };
            let mut groups = vec![group("postgres-server"), group("of-another")];
            let errands = match errand {
                None => json!({}),
                Some("group") => {
                    let mut errand = group("postgres-smoke-tests");
                    errand["lifecycle"] = "errand".into();
                    groups.push(errand);
                    json!({"post_deploy": [{"name": "postgres-smoke-tests"}]})
                }
                Some(_) => {
                    let instances = ["postgres-server/0"];
                    json!({"post_deploy": [{"name": "postgres-smoke-tests", "instances": instances}]})
                }
            };
            let mut plan = json!({
                "properties": properties, "lifecycle_errands": errands, "instance_groups": groups,
            });
            if has_update {
                plan["update"] = json!({"max_in_flight": "50%", "canaries": 2});
            }
            plan
        },
    )
}

/// The name of the database is not among them: it cannot be changed.
fn parameters() -> impl Strategy<Value = Map<String, Value>> {
    prop::option::of(10..1000_u16).prop_map(|connections| {
        let connections = connections.map(|number| ("max_connections".to_owned(), number.into()));
        connections.into_iter().collect()
    })
}

fn wrong_parameters() -> impl Strategy<Value = (Map<String, Value>, String)> {
    let name = prop_oneof![
        Just(json!("postgres")),
        Just(json!("Shop")),
        Just(json!("it's")),
        Just(json!("")),
        Just(json!(5)),
        Just(json!(["shop"])),
    ];
    let wrong = prop_oneof![
        ("max_connections", not_a_count()),
        ("database", name),
        ("unheard_of_[a-z]{3,9}", json_of_any_kind()),
    ];
    (parameters(), wrong).prop_map(|(mut parameters, (name, value))| {
        parameters.insert(name.clone(), value);
        (parameters, name)
    })
}

fn wrong_properties() -> impl Strategy<Value = (String, Value)> {
    prop_oneof![
        (Just("max_connections".to_owned()), not_a_count()),
        (Just("database".to_owned()), Just(json!("it's"))),
        (Just("persistence".to_owned()), Just(json!(true))),
    ]
}

every_promise_is_held_by!(service());
