//! Instance groups: their order, their zones, their names, and what they share.

use serde_json::json;

use crate::foundation::{Foundation, redis};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renamed_group_keeps_its_instances() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    let mut manifest = redis("d");
    bosh.deployed(&manifest).await;
    let before = bosh.get("/deployments/d/vms").await.json();
    let group = &mut manifest["instance_groups"][0];
    group["name"] = json!("cache");
    group["migrated_from"] = json!([{"name": "redis-server"}]);
    let task = bosh.deployed(&manifest).await;
    let after = bosh.get("/deployments/d/vms").await.json();
    assert_eq!(after[0]["job"], "cache");
    for key in ["id", "cid", "ips"] {
        assert_eq!(before[0][key], after[0][key], "{key}");
    }
    assert!(
        bosh.stages(task)
            .await
            .contains(&"Updating instance".to_owned())
    );

    let mut contradictory = manifest.clone();
    let mut previous = contradictory["instance_groups"][0].clone();
    previous["name"] = json!("redis-server");
    previous.as_object_mut().unwrap().remove("migrated_from");
    contradictory["instance_groups"]
        .as_array_mut()
        .unwrap()
        .push(previous);
    assert_eq!(bosh.deploy_error(&contradictory).await.0, "190018");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn instances_are_spread_over_the_zones_and_leave_one_that_is_abandoned() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    let mut manifest = redis("d");
    manifest["instance_groups"][0]["instances"] = json!(4);
    manifest["instance_groups"][0]["azs"] = json!(["z1", "z2"]);
    bosh.deployed(&manifest).await;
    let zones = async || {
        let vms = bosh.get("/deployments/d/vms").await.json();
        let vms = vms.as_array().unwrap().clone();
        let mut zones: Vec<String> = vms
            .iter()
            .map(|vm| vm["az"].as_str().unwrap().to_owned())
            .collect();
        zones.sort();
        zones
    };
    assert_eq!(zones().await, ["z1", "z1", "z2", "z2"]);
    manifest["instance_groups"][0]["azs"] = json!(["z2"]);
    bosh.deployed(&manifest).await;
    assert_eq!(zones().await, ["z2", "z2", "z2", "z2"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_is_taken_from_another_deployment_only_if_it_is_shared() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    bosh.deployed(&redis("provider")).await;
    let mut consumer = redis("consumer");
    let groups = consumer["instance_groups"].as_array_mut().unwrap();
    groups.remove(0);
    for group in groups.iter_mut() {
        group["jobs"][0]["consumes"] =
            json!({"redis": {"from": "redis", "deployment": "provider"}});
    }
    consumer["variables"] = json!([]);
    bosh.deployed(&consumer).await;

    let mut private = redis("provider");
    private["instance_groups"][0]["jobs"][0]["provides"] = json!({"redis": {"shared": false}});
    bosh.deployed(&private).await;
    let (code, text) = bosh.deploy_error(&consumer).await;
    assert_eq!(code, "100");
    assert!(
        text.starts_with(
            "Failed to resolve links from deployment 'consumer'. See errors below:\n  - Failed to resolve link 'redis' with type 'redis' from job 'health-check' in instance group 'health-check'. Details below:\n    - No link providers found"
        ),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_latest_release_is_stored_as_the_manifest_says_and_used_as_it_is() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    let mut manifest = redis("d");
    manifest["releases"][0]["version"] = json!("latest");
    manifest["stemcells"][0]["version"] = json!("1.latest");
    bosh.deployed(&manifest).await;
    let listed = bosh.get("/deployments").await.json();
    assert_eq!(listed[0]["releases"][0]["version"], "7.4");
    assert_eq!(listed[0]["stemcells"][0]["version"], "1.80");
    let stored = bosh.get("/deployments/d").await.json();
    assert!(stored["manifest"].as_str().unwrap().contains("1.latest"));
}
