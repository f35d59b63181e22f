//! The life of a deployment.

use serde_json::json;

use crate::{
    client::Event,
    foundation::{Foundation, redis, redis_with_password},
    redis::{ask, listens},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ordered_redis_runs_is_updated_with_its_data_and_disappears() {
    let foundation = Foundation::start();
    let bosh = foundation.admin();
    let mut manifest = redis_with_password("service-instance_a", "pass word\"1");
    bosh.deployed(&manifest).await;
    let address = bosh.address("service-instance_a", "redis-server").await;
    let login = r#"AUTH "pass word\"1""#;
    assert!(ask(&address, &["GET k"]).await.starts_with("-NOAUTH"));
    assert_eq!(
        ask(&address, &[login, "SET k v"]).await,
        "+OK\r\n+OK\r\n+OK\r\n"
    );

    let health = bosh
        .errand_result("service-instance_a", "health-check", &json!({}))
        .await;
    assert_eq!(health["exit_code"], 0, "{health}");
    assert!(health["stdout"].as_str().unwrap().contains("PONG"));

    manifest["instance_groups"][0]["jobs"][0]["properties"]["redis"]["maxclients"] = json!(123);
    let update = bosh.deployed(&manifest).await;
    assert!(
        !bosh
            .stages(update)
            .await
            .contains(&"Creating missing vms".to_owned())
    );
    assert_eq!(
        bosh.address("service-instance_a", "redis-server").await,
        address
    );
    let answers = ask(&address, &[login, "GET k", "INFO clients"]).await;
    assert!(
        answers.contains("\r\nv\r\n") && answers.contains("maxclients:123"),
        "{answers}"
    );

    let cleanup = bosh
        .errand_result("service-instance_a", "cleanup-data", &json!({}))
        .await;
    assert_eq!(cleanup["exit_code"], 0, "{cleanup}");
    assert!(ask(&address, &[login, "GET k"]).await.contains("$-1"));

    let delete = bosh.delete("/deployments/service-instance_a").await.task();
    let ended = bosh.done(delete).await;
    assert_eq!(ended["result"], "/deployments/service-instance_a");
    assert!(!listens(&address).await);
    assert_eq!(foundation.vm_folders().len(), 0);
    assert_eq!(
        bosh.get("/deployments/service-instance_a").await.status,
        404
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_deploy_reports_its_steps() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    let task = bosh.deployed(&redis("d")).await;
    let instances = bosh.get("/deployments/d/instances").await.json();
    let id = instances[0]["id"].as_str().unwrap();
    let label = format!("redis-server/{id} (0)");

    let log = bosh.output(task, "event").await;
    let reported: Vec<String> = log
        .lines()
        .map(|line| {
            let (_, rest) = line.split_once(',').unwrap();
            rest.replace(id, "ID")
        })
        .collect();
    insta::assert_snapshot!(reported.join("\n"), @r#"
    "stage":"Preparing deployment","tags":[],"total":1,"task":"Preparing deployment","index":1,"state":"started","progress":0}
    "stage":"Preparing deployment","tags":[],"total":1,"task":"Preparing deployment","index":1,"state":"finished","progress":100}
    "stage":"Preparing deployment","tags":[],"total":1,"task":"Rendering templates","index":2,"state":"started","progress":0}
    "stage":"Preparing deployment","tags":[],"total":1,"task":"Rendering templates","index":2,"state":"finished","progress":100}
    "stage":"Preparing package compilation","tags":[],"total":1,"task":"Finding packages to compile","index":1,"state":"started","progress":0}
    "stage":"Preparing package compilation","tags":[],"total":1,"task":"Finding packages to compile","index":1,"state":"finished","progress":100}
    "stage":"Creating missing vms","tags":[],"total":1,"task":"redis-server/ID (0)","index":1,"state":"started","progress":0}
    "stage":"Creating missing vms","tags":[],"total":1,"task":"redis-server/ID (0)","index":1,"state":"finished","progress":100}
    "stage":"Updating instance","tags":["redis-server"],"total":1,"task":"redis-server/ID (0) (canary)","index":1,"state":"started","progress":0}
    "stage":"Updating instance","tags":["redis-server"],"total":1,"task":"redis-server/ID (0) (canary)","index":1,"state":"in_progress","progress":5,"data":{"status":"executing pre-stop"}}
    "stage":"Updating instance","tags":["redis-server"],"total":1,"task":"redis-server/ID (0) (canary)","index":1,"state":"in_progress","progress":10,"data":{"status":"executing drain"}}
    "stage":"Updating instance","tags":["redis-server"],"total":1,"task":"redis-server/ID (0) (canary)","index":1,"state":"in_progress","progress":30,"data":{"status":"stopping jobs"}}
    "stage":"Updating instance","tags":["redis-server"],"total":1,"task":"redis-server/ID (0) (canary)","index":1,"state":"in_progress","progress":40,"data":{"status":"executing post-stop"}}
    "stage":"Updating instance","tags":["redis-server"],"total":1,"task":"redis-server/ID (0) (canary)","index":1,"state":"in_progress","progress":50,"data":{"status":"installing packages"}}
    "stage":"Updating instance","tags":["redis-server"],"total":1,"task":"redis-server/ID (0) (canary)","index":1,"state":"in_progress","progress":60,"data":{"status":"configuring jobs"}}
    "stage":"Updating instance","tags":["redis-server"],"total":1,"task":"redis-server/ID (0) (canary)","index":1,"state":"in_progress","progress":70,"data":{"status":"executing pre-start"}}
    "stage":"Updating instance","tags":["redis-server"],"total":1,"task":"redis-server/ID (0) (canary)","index":1,"state":"in_progress","progress":90,"data":{"status":"starting jobs"}}
    "stage":"Updating instance","tags":["redis-server"],"total":1,"task":"redis-server/ID (0) (canary)","index":1,"state":"in_progress","progress":100,"data":{"status":"executing post-start"}}
    "stage":"Updating instance","tags":["redis-server"],"total":1,"task":"redis-server/ID (0) (canary)","index":1,"state":"finished","progress":100}
    "#);
    let again = bosh.deployed(&redis("d")).await;
    let steps: Vec<Event> = bosh.events(again).await;
    assert_eq!(steps.len(), 6, "{steps:?}");
    assert!(!steps.iter().any(|step| step.task.starts_with(&label)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delete_reports_its_steps() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    bosh.deployed(&redis("d")).await;
    let task = bosh.delete("/deployments/d").await.task();
    bosh.done(task).await;
    let stages = bosh.stages(task).await;
    assert_eq!(
        stages,
        [
            "Deleting instances",
            "Removing deployment artifacts",
            "Deleting properties"
        ]
    );
    let deleted = bosh.events(task).await;
    let ended = deleted
        .iter()
        .filter(|step| step.stage == "Deleting instances" && step.state == "finished");
    assert_eq!(ended.count(), 3);
    assert_eq!(bosh.output(task, "result").await, "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn instances_keep_their_ids_while_a_group_grows_and_shrinks() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    let mut manifest = redis("d");
    let ids = async || {
        let instances = bosh.get("/deployments/d/instances").await.json();
        let of_group = instances
            .as_array()
            .unwrap()
            .iter()
            .filter(|one| one["job"] == "redis-server");
        of_group
            .map(|one| (one["index"].clone(), one["id"].clone()))
            .collect::<Vec<_>>()
    };
    bosh.deployed(&manifest).await;
    let one = ids().await;

    manifest["instance_groups"][0]["instances"] = json!(3);
    manifest["instance_groups"][0]["azs"] = json!(["z1", "z2"]);
    let growth = bosh.deployed(&manifest).await;
    let three = ids().await;
    assert_eq!((three.len(), &three[0]), (3, &one[0]));
    let canaries = bosh.events(growth).await;
    let canaries = canaries
        .iter()
        .filter(|step| step.task.ends_with("(canary)") && step.state == "started");
    assert_eq!(canaries.count(), 1);

    manifest["instance_groups"][0]["instances"] = json!(1);
    let shrinkage = bosh.deployed(&manifest).await;
    assert_eq!(ids().await, one);
    let deleted = bosh.events(shrinkage).await;
    let deleted = deleted
        .iter()
        .filter(|step| step.stage == "Deleting unneeded instances" && step.state == "finished");
    assert_eq!(deleted.count(), 2);
    assert_eq!(foundation.cpi().vms().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_that_the_manifest_drops_is_deleted() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    let mut manifest = redis("d");
    bosh.deployed(&manifest).await;
    let groups = manifest["instance_groups"].as_array_mut().unwrap();
    groups.truncate(1);
    groups[0]["name"] = json!("renamed");
    manifest["variables"] = json!([{"name": "secret_pass", "type": "password"}]);
    bosh.deployed(&manifest).await;
    let instances = bosh.get("/deployments/d/instances").await.json();
    assert_eq!(instances.as_array().unwrap().len(), 1, "{instances}");
    assert_eq!(instances[0]["job"], "renamed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deployment_is_shown_as_it_was_sent() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    let text = format!("# ordered today\n{}\n", redis("d"));
    let task = bosh.post_yaml("/deployments", text.clone()).await.task();
    bosh.done(task).await;
    assert_eq!(
        bosh.get("/deployments/d").await.json(),
        json!({"manifest": text})
    );
    assert_eq!(
        bosh.get("/deployments").await.json(),
        json!([{
            "name": "d", "teams": [], "cloud_config": "latest",
            "stemcells": [{"name": "ubuntu-jammy-go_agent", "version": "1.80"}],
            "releases": [{"name": "redis-example-service", "version": "7.4"}],
            "locked": false,
        }])
    );
    let slim = "/deployments?exclude_configs=true&exclude_releases=true&exclude_stemcells=true&exclude_lock=true";
    assert_eq!(bosh.get(slim).await.body, r#"[{"name":"d","teams":[]}]"#);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_vm_is_shown_with_its_address_without_a_task() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    bosh.deployed(&redis("d")).await;
    let vms = bosh.get("/deployments/d/vms").await.json();
    let keys: Vec<&String> = vms[0].as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "agent_id",
            "cid",
            "job",
            "index",
            "id",
            "az",
            "ips",
            "vm_created_at",
            "active",
            "permanent_nats_credentials"
        ]
    );
    assert_eq!(
        (vms.as_array().unwrap().len(), &vms[0]["az"]),
        (1, &json!("z1"))
    );
    let instances = bosh.get("/deployments/d/instances").await.json();
    assert_eq!(instances[1]["job"], "health-check");
    assert_eq!(instances[1]["ips"], json!([]));
    assert_eq!(
        (&instances[0]["expects_vm"], &instances[1]["expects_vm"]),
        (&json!(true), &json!(false))
    );
}
