//! Options of a deploy beside its manifest.

use serde_json::json;

use crate::foundation::{Foundation, redis, redis_with_password};
use crate::redis::ask;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dry_run_prepares_and_leaves_a_row_without_a_manifest() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    let manifest = redis("d").to_string();
    let task = bosh
        .post_yaml("/deployments?dry_run=true", manifest)
        .await
        .task();
    let ended = bosh.done(task).await;
    assert_eq!(ended["description"], "create deployment (dry run)");
    assert_eq!(ended["result"], "/deployments/d");
    assert_eq!(bosh.stages(task).await, ["Preparing deployment"]);
    assert_eq!(
        bosh.get("/deployments/d").await.body,
        r#"{"manifest":null}"#
    );
    let listed = bosh.get("/deployments").await.json();
    assert_eq!(listed[0]["releases"][0]["version"], "7.4");
    assert_eq!(listed[0]["stemcells"][0]["version"], "1.80");
    assert_eq!(bosh.get("/deployments/d/vms").await.body, "[]");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recreated_vm_keeps_its_address_and_its_data() {
    let foundation = Foundation::start();
    let bosh = foundation.admin();
    let manifest = redis_with_password("d", "secret");
    bosh.deployed(&manifest).await;
    let before = bosh.get("/deployments/d/vms").await.json();
    let address = bosh.address("d", "redis-server").await;
    ask(&address, &["AUTH secret", "SET k v"]).await;

    let path = "/deployments?recreate=true&skip_drain=*&canaries=0&max_in_flight=5";
    let task = bosh.post_yaml(path, manifest.to_string()).await.task();
    bosh.done(task).await;

    let after = bosh.get("/deployments/d/vms").await.json();
    assert_ne!(before[0]["cid"], after[0]["cid"]);
    assert_ne!(before[0]["agent_id"], after[0]["agent_id"]);
    assert_eq!(before[0]["id"], after[0]["id"]);
    assert_eq!(before[0]["ips"], after[0]["ips"]);
    let answers = ask(&address, &["AUTH secret", "GET k"]).await;
    assert!(answers.contains("\r\nv\r\n"), "{answers}");
    let log = bosh.output(task, "event").await;
    assert!(log.contains("skipped pre-stop & drain"), "{log}");
    assert!(!log.contains("(canary)"), "{log}");
    assert!(!log.contains("Creating missing vms"), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_disk_takes_over_the_data_and_the_previous_one_is_orphaned() {
    let foundation = Foundation::start();
    let bosh = foundation.admin();
    let mut manifest = redis_with_password("d", "secret");
    bosh.deployed(&manifest).await;
    let address = bosh.address("d", "redis-server").await;
    ask(&address, &["AUTH secret", "SET k v"]).await;
    let group = manifest["instance_groups"][0].as_object_mut().unwrap();
    group.remove("persistent_disk_type");
    group.insert("persistent_disk".to_owned(), json!(2048));
    bosh.deployed(&manifest).await;
    let answers = ask(&address, &["AUTH secret", "GET k"]).await;
    assert!(answers.contains("\r\nv\r\n"), "{answers}");
    let orphans = foundation.cpi().orphaned_disks();
    assert_eq!(orphans.len(), 1, "{orphans:?}");
    assert_eq!(
        (orphans[0].size, orphans[0].deployment_name.as_str()),
        (1024, "d")
    );
    let delete = bosh.delete("/deployments/d").await.task();
    bosh.done(delete).await;
    assert_eq!(foundation.cpi().orphaned_disks().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn configs_can_be_pinned_and_unknown_ones_are_refused() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    let manifest = redis("d").to_string();
    let pinned = "/deployments?context=%7B%22cloud_config_ids%22%3A%5B1%5D%2C%22runtime_config_ids%22%3A%5B%5D%7D";
    let task = bosh.post_yaml(pinned, manifest.clone()).await.task();
    bosh.done(task).await;
    assert_eq!(
        bosh.get("/deployments").await.json()[0]["cloud_config"],
        "latest"
    );
    let answer = bosh
        .post_yaml(&pinned.replace("%5B1%5D", "%5B9999%5D"), manifest.clone())
        .await;
    assert_eq!(
        answer.reported(),
        (
            400,
            r#"{"code":190025,"description":"Context includes invalid config ID"}"#
        )
    );
    let more = json!({"type": "cloud", "name": "more", "content": "vm_types: [{name: huge}]"});
    bosh.post_json("/configs", &more).await;
    assert_eq!(
        bosh.get("/deployments").await.json()[0]["cloud_config"],
        "outdated"
    );
    bosh.deployed(&redis("d")).await;
    assert_eq!(
        bosh.get("/deployments").await.json()[0]["cloud_config"],
        "latest"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_number_fails_the_task() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    for key in ["max_in_flight", "canaries"] {
        let path = format!("/deployments?{key}=abc");
        let task = bosh.post_yaml(&path, redis("d").to_string()).await.task();
        bosh.ended(task).await;
        let text = format!("{key} value should be integer or percent");
        assert_eq!(bosh.error_of(task).await, ("100".to_owned(), text));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_of_cloud_properties_takes_a_new_vm() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    bosh.deployed(&redis("d")).await;
    let before = bosh.get("/deployments/d/vms").await.json();
    let content = json!({
        "azs": [{"name": "z1", "cloud_properties": {"rack": 7}}, {"name": "z2"}],
        "vm_types": [{"name": "small"}, {"name": "large"}],
        "vm_extensions": [{"name": "public"}],
        "disk_types": [{"name": "1GB", "disk_size": 1024}],
        "networks": [{"name": "default", "type": "manual", "subnets": []}],
    });
    let config = json!({"type": "cloud", "name": "default", "content": content.to_string()});
    bosh.post_json("/configs", &config).await;
    bosh.deployed(&redis("d")).await;
    let after = bosh.get("/deployments/d/vms").await.json();
    assert_ne!(before[0]["cid"], after[0]["cid"]);
    assert_eq!(before[0]["ips"], after[0]["ips"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_vm_whose_agent_is_dead_fails_a_deploy_unless_it_is_to_be_fixed() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    bosh.deployed(&redis("d")).await;
    let vms = bosh.get("/deployments/d/vms").await.json();
    let id = vms[0]["id"].as_str().unwrap().to_owned();
    let agent = vms[0]["agent_id"].as_str().unwrap().to_owned();
    foundation.impatient_with_agents();
    for vm in foundation.cpi().vms() {
        foundation.cpi().kill_agent(&vm).unwrap();
    }
    let task = bosh.deploy(&redis("d")).await;
    let text = format!(
        "Timed out sending 'get_state' to instance: 'redis-server/{id}', agent-id: '{agent}' after 0 seconds"
    );
    assert_eq!(bosh.error_of(task).await, ("450002".to_owned(), text));

    let fixing = bosh.post_yaml("/deployments?fix=true", redis("d").to_string());
    let task = fixing.await.task();
    bosh.done(task).await;
    let after = bosh.get("/deployments/d/vms").await.json();
    assert_ne!(vms[0]["cid"], after[0]["cid"]);
}
