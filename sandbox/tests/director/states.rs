//! Stopping, starting, restarting and recreating instances; instances that are to be left alone; and how they all are.

use odb_sandbox::director::{TaskEffect, TaskFault, TaskPoint};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    client::Client,
    foundation::{Foundation, redis, redis_with_password},
    redis::{ask, listens},
};

async fn put(bosh: &Client, path: &str) -> u64 {
    let headers = [("content-type", "text/yaml")];
    bosh.call(Method::PUT, path, &headers, String::new())
        .await
        .task()
}

/// The lines of a full list.
async fn full(bosh: &Client, path: &str) -> Vec<Value> {
    let task = bosh.get(&format!("{path}?format=full")).await.task();
    let ended = bosh.done(task).await;
    assert_eq!(ended["description"], "retrieve vm-stats");
    assert_eq!(ended["result"], "");
    let result = bosh.output(task, "result").await;
    let lines = result.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_is_stopped_detached_and_started_again() {
    let foundation = Foundation::start();
    let bosh = foundation.admin();
    bosh.deployed(&redis_with_password("d", "secret")).await;
    let address = bosh.address("d", "redis-server").await;
    ask(&address, &["AUTH secret", "SET k v"]).await;

    let task = put(&bosh, "/deployments/d/jobs/redis-server?state=stopped").await;
    let ended = bosh.done(task).await;
    assert_eq!(ended["description"], "create deployment");
    assert!(!listens(&address).await);
    let vms = full(&bosh, "/deployments/d/vms").await;
    assert_eq!(
        (&vms[0]["state"], &vms[0]["job_state"]),
        (&json!("stopped"), &json!("stopped"))
    );

    let task = put(&bosh, "/deployments/d/jobs/redis-server?state=detached").await;
    bosh.done(task).await;
    assert_eq!(bosh.get("/deployments/d/vms").await.body, "[]");
    let instances = bosh.get("/deployments/d/instances").await.json();
    assert_eq!(instances[0]["expects_vm"], false);

    let task = put(&bosh, "/deployments/d/jobs/*?state=started").await;
    bosh.done(task).await;
    let stages = bosh.stages(task).await;
    assert!(
        stages.contains(&"Creating missing vms".to_owned()),
        "{stages:?}"
    );
    assert_eq!(bosh.address("d", "redis-server").await, address);
    let answers = ask(&address, &["AUTH secret", "GET k"]).await;
    assert!(answers.contains("\r\nv\r\n"), "{answers}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_instances_are_recreated_without_a_manifest() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    bosh.deployed(&redis("d")).await;
    let before = bosh.get("/deployments/d/vms").await.json();
    let task = put(&bosh, "/deployments/d/jobs/*?fix=true&state=recreate").await;
    bosh.done(task).await;
    let after = bosh.get("/deployments/d/vms").await.json();
    assert_ne!(before[0]["cid"], after[0]["cid"]);
    assert_eq!(
        bosh.stages(task).await,
        [
            "Preparing deployment",
            "Preparing package compilation",
            "Updating instance"
        ]
    );
    let restart = put(
        &bosh,
        "/deployments/d/jobs/redis-server/0?state=restart&skip_drain=true",
    )
    .await;
    bosh.done(restart).await;
    let log = bosh.output(restart, "event").await;
    assert!(log.contains("skipped pre-stop & drain"), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn states_that_there_are_not_fail_in_the_task_and_unknown_instances_at_once() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    bosh.deployed(&redis("d")).await;
    let task = put(&bosh, "/deployments/d/jobs/*?state=bogus").await;
    let text = "Invalid state 'bogus' for 'redis-server', valid states are: started, stopped, detached, recreate, restart";
    assert_eq!(
        bosh.error_of(task).await,
        ("140008".to_owned(), text.to_owned())
    );
    let yaml = [("content-type", "text/yaml")];
    for (path, status, body) in [
        (
            "/deployments/d/jobs/redis-server/9?state=restart",
            404,
            r#"{"code":70001,"description":"'d/redis-server/9' doesn't exist"}"#,
        ),
        (
            "/deployments/d/jobs/redis-server/x?state=restart",
            400,
            r#"{"code":70002,"description":"Invalid instance index or id 'x'"}"#,
        ),
        (
            "/deployments/none/jobs/*?state=restart",
            404,
            r#"{"code":70000,"description":"Deployment 'none' doesn't exist"}"#,
        ),
    ] {
        let answer = bosh.call(Method::PUT, path, &yaml, String::new()).await;
        assert_eq!(answer.reported(), (status, body));
    }
    let without_type = bosh
        .call(
            Method::PUT,
            "/deployments/d/jobs/*?state=restart",
            &[],
            String::new(),
        )
        .await;
    assert_eq!(
        without_type.body,
        "Endpoint '/deployments/d/jobs/*' not found."
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ignored_instance_is_left_alone_and_keeps_its_deployment() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    bosh.deployed(&redis("d")).await;
    let before = bosh.get("/deployments/d/vms").await.json();
    let ignore = async |ignore: bool| {
        let path = "/deployments/d/instance_groups/redis-server/0/ignore";
        let json = [("content-type", "application/json")];
        let body = json!({"ignore": ignore}).to_string();
        bosh.call(Method::PUT, path, &json, body).await
    };
    assert_eq!(ignore(true).await.status, 200);
    let task = put(&bosh, "/deployments/d/jobs/*?state=recreate").await;
    bosh.done(task).await;
    assert_eq!(bosh.get("/deployments/d/vms").await.json(), before);

    let task = put(&bosh, "/deployments/d/jobs/redis-server/0?state=stopped").await;
    assert_eq!(bosh.error_of(task).await.0, "140021");
    let delete = bosh.delete("/deployments/d?force=true").await.task();
    let text = "You are trying to delete deployment 'd', which contains ignored instance(s). Operation not allowed.";
    assert_eq!(
        bosh.error_of(delete).await,
        ("190021".to_owned(), text.to_owned())
    );
    let mut smaller = redis("d");
    smaller["instance_groups"][0]["instances"] = json!(0);
    assert_eq!(bosh.deploy_error(&smaller).await.0, "190020");

    ignore(false).await;
    bosh.deployed(&smaller).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_list_reports_how_every_vm_is() {
    let foundation = Foundation::start();
    let bosh = foundation.admin();
    bosh.deployed(&redis("d")).await;
    let vms = full(&bosh, "/deployments/d/vms").await;
    let keys: Vec<&String> = vms[0].as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "vm_cid",
            "active",
            "vm_created_at",
            "cloud_properties",
            "disk_cid",
            "disk_cids",
            "ips",
            "dns",
            "agent_id",
            "job_name",
            "index",
            "job_state",
            "state",
            "vm_type",
            "vitals",
            "processes",
            "az",
            "id",
            "bootstrap",
            "ignore",
            "stemcell"
        ]
    );
    assert_eq!(
        (
            &vms[0]["job_state"],
            &vms[0]["vm_type"],
            &vms[0]["bootstrap"]
        ),
        (&json!("running"), &json!("small"), &json!(true))
    );
    assert_eq!(vms[0]["processes"][0]["state"], "running");
    assert_eq!(vms[0]["stemcell"]["version"], "1.80");
    let instances = full(&bosh, "/deployments/d/instances").await;
    assert_eq!(instances.len(), 3);
    let errand = instances
        .iter()
        .find(|one| one["job_name"] == "health-check");
    let errand = errand.unwrap();
    assert_eq!(
        (&errand["vitals"], &errand["stemcell"]["name"]),
        (&json!(null), &json!(null))
    );

    foundation.impatient_with_agents();
    for vm in foundation.cpi().vms() {
        foundation.cpi().kill_agent(&vm).unwrap();
    }
    let vms = full(&bosh, "/deployments/d/vms").await;
    assert_eq!(
        (
            &vms[0]["job_state"],
            &vms[0]["vitals"],
            &vms[0]["processes"]
        ),
        (&json!("unresponsive agent"), &json!(null), &json!([]))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_agent_keeps_a_deployment_from_being_deleted_but_not_by_force() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    let mut manifest = redis("d");
    manifest["instance_groups"][0]["instances"] = json!(2);
    bosh.deployed(&manifest).await;
    let vms = bosh.get("/deployments/d/vms").await.json();
    foundation.impatient_with_agents();
    let dead = vms[0]["cid"].as_str().unwrap().to_owned();
    foundation.cpi().kill_agent(&dead.clone().into()).unwrap();
    let delete = bosh.delete("/deployments/d").await.task();
    let (code, text) = bosh.error_of(delete).await;
    assert_eq!(code, "450002");
    assert!(
        text.starts_with("Timed out sending 'run_script' to instance: 'redis-server/"),
        "{text}"
    );
    let left = bosh.get("/deployments/d/vms").await.json();
    assert_eq!(
        (left.as_array().unwrap().len(), &left[0]["cid"]),
        (1, &json!(dead))
    );

    let delete = bosh.delete("/deployments/d?force=true").await.task();
    bosh.done(delete).await;
    assert_eq!(bosh.get("/deployments/d").await.status, 404);
}

/// Only a deploy settles links, and what it replaces goes when it has succeeded (cloudfoundry/bosh,
/// `jobs/update_deployment.rb`, `cleanup`).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_of_a_failed_update_stay_over_a_recreate_until_a_deploy_succeeds() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    let links = async || {
        let links = bosh.get("/links?deployment=d").await.json();
        let links = links.as_array().unwrap().iter();
        links
            .map(|link| link["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    bosh.deployed(&redis_with_password("d", "first")).await;
    let first = links().await;
    assert_eq!(first.len(), 2, "of the two errands: {first:?}");

    foundation.director().arm(TaskFault {
        deployment: None,
        at: TaskPoint::Step {
            stage: "Updating instance".to_owned(),
            task: None,
            status: None,
        },
        effect: TaskEffect::Fail {
            code: 400_001,
            message: "no disk space left".to_owned(),
        },
    });
    let failed = bosh.deploy(&redis_with_password("d", "second")).await;
    assert_eq!(bosh.ended(failed).await["state"], "error");
    let old_and_new = links().await;
    assert_eq!(old_and_new.len(), 4, "{old_and_new:?}");

    let recreate = put(&bosh, "/deployments/d/jobs/*?state=recreate").await;
    bosh.done(recreate).await;
    assert_eq!(links().await, old_and_new);

    bosh.deployed(&redis_with_password("d", "second")).await;
    let second = links().await;
    assert!(
        second.len() == 2 && second.iter().all(|id| !first.contains(id)),
        "{second:?}"
    );
}
