//! Nothing of a plan or a service deployment is lost that the types do not know.

use odb_adapter_sdk::protocol::{LifecycleErrand, Plan, ServiceDeployment, ServiceRelease};
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::documents::{document, text};

fn full_plan() -> Value {
    json!({
        "properties": {"persistence": true},
        "lifecycle_errands": {
            "post_deploy": [{"name": "check", "instances": ["server/0"]}],
            "pre_delete": [{"name": "cleanup"}],
        },
        "instance_groups": [{
            "name": "server", "vm_type": "small", "vm_extensions": ["lb"], "persistent_disk_type": "10GB",
            "instances": 1, "networks": ["net"], "azs": ["z1"], "lifecycle": "service",
            "migrated_from": [{"name": "old"}],
        }],
        "update": {
            "canaries": 1, "canary_watch_time": "1000-30000", "update_watch_time": "1000-30000",
            "max_in_flight": "10%", "serial": true, "initial_deploy_az_update_strategy": "serial",
        },
    })
}

fn full_service_deployment() -> Value {
    json!({
        "deployment_name": "service-instance_1",
        "releases": [{"name": "r", "version": "1.2", "jobs": ["a"]}],
        "stemcells": [{"stemcell_name": "fips", "stemcell_os": "ubuntu-jammy", "stemcell_version": "1.80"}],
    })
}

/// The document with something new at each of these places.
fn with_news(mut document: Value, locations: &[&str], news: &[(String, Value)]) -> Value {
    for (location, (key, value)) in locations.iter().zip(news) {
        let object = document
            .pointer_mut(location)
            .unwrap()
            .as_object_mut()
            .unwrap();
        object.insert(format!("unknown {key}"), value.clone());
    }
    document
}

fn read_and_written<T: Serialize + DeserializeOwned>(document: &Value) -> Value {
    let read: T = serde_json::from_value(document.clone()).unwrap();
    serde_json::to_value(&read).unwrap()
}

proptest! {
    #[test]
    fn what_the_protocol_does_not_know_survives_at_every_level(
        news in prop::collection::vec((text(), document()), 8),
    ) {
        let locations = [
            "", "/lifecycle_errands", "/lifecycle_errands/post_deploy/0", "/lifecycle_errands/pre_delete/0",
            "/instance_groups/0", "/instance_groups/0/migrated_from/0", "/update", "/properties",
        ];
        let plan = with_news(full_plan(), &locations, &news);
        prop_assert_eq!(read_and_written::<Plan>(&plan), plan);
        let deployment = with_news(full_service_deployment(), &["", "/releases/0", "/stemcells/0"], &news);
        prop_assert_eq!(read_and_written::<ServiceDeployment>(&deployment), deployment);
    }
}

#[test]
fn formatting_shows_no_value_that_is_not_known() {
    let locations = [
        "/instance_groups/0",
        "/update",
        "/lifecycle_errands/post_deploy/0",
    ];
    let news = locations.map(|_| ("password".to_owned(), json!("hunter2")));
    let plan: Plan = serde_json::from_value(with_news(full_plan(), &locations, &news)).unwrap();
    let shown = format!("{plan:?}");
    assert!(
        shown.contains("unknown password") && !shown.contains("hunter2"),
        "{shown}"
    );
}

#[test]
fn incomplete_releases_are_named_to_who_asks() {
    let complete = ServiceRelease::new("r", "1", vec!["a".to_owned()]);
    let empty = ServiceRelease::default();
    let deployment = |releases| ServiceDeployment::new("d", releases, vec![]);
    assert_eq!(deployment(vec![complete.clone()]).check_releases(), Ok(()));
    let error = |releases| {
        deployment(releases)
            .check_releases()
            .unwrap_err()
            .to_string()
    };
    assert_eq!(error(vec![]), "`releases` must not be empty");
    assert_eq!(
        error(vec![complete, empty]),
        "`releases[1].name` must not be empty, `releases[1].version` must not be empty, \
         `releases[1].jobs` must not be empty"
    );
}

#[test]
fn an_errand_knows_the_groups_that_it_is_put_into() {
    let instances = ["server/0", "backup", "server/1"]
        .map(str::to_owned)
        .to_vec();
    let errand = LifecycleErrand::colocated("check", instances);
    let groups: Vec<_> = errand.instance_groups().collect();
    assert_eq!(groups, ["server", "backup", "server"]);
    assert_eq!(LifecycleErrand::new("check").instance_groups().count(), 0);
}
