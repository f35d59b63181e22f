//! Many deployments that were never deployed here.

use odb_sandbox::director::{SeededDeployment, SeededGroup, SeededGroupKind};
use serde_json::json;

use crate::foundation::{Foundation, redis};

fn seeded(name: String) -> SeededDeployment {
    let group = |name: &str, kind| SeededGroup {
        name: name.to_owned(),
        kind,
        instances: 1,
        az: Some("z1".to_owned()),
        vm_type: Some("small".to_owned()),
        disk_size: Some(1024),
    };
    SeededDeployment {
        manifest: Some(redis(&name).to_string()),
        name,
        teams: vec!["odb".to_owned()],
        releases: vec![("redis-example-service".to_owned(), "7.4".to_owned())],
        stemcells: vec![("ubuntu-jammy-go_agent".to_owned(), "1.80".to_owned())],
        groups: vec![
            group("redis-server", SeededGroupKind::Service),
            group("health-check", SeededGroupKind::Errand),
        ],
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_adopted_deployment_is_listed_deployed_and_deleted_like_any_other() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    for number in 0..20 {
        let name = format!("service-instance_{number:02}");
        foundation.director().adopt(seeded(name)).await.unwrap();
    }
    let again = foundation
        .director()
        .adopt(seeded("service-instance_00".to_owned()));
    assert!(again.await.is_err());
    let listed = bosh.get("/deployments").await.json();
    assert_eq!(listed.as_array().unwrap().len(), 20);
    assert_eq!(
        (&listed[0]["teams"], &listed[0]["cloud_config"]),
        (&json!(["odb"]), &json!("latest"))
    );
    let before = bosh
        .get("/deployments/service-instance_07/vms")
        .await
        .json();
    let task = bosh.deployed(&redis("service-instance_07")).await;
    assert!(
        bosh.stages(task)
            .await
            .contains(&"Updating instance".to_owned())
    );
    let after = bosh
        .get("/deployments/service-instance_07/vms")
        .await
        .json();
    assert_eq!(before[0]["cid"], after[0]["cid"]);
    let delete = bosh.delete("/deployments/service-instance_07").await.task();
    bosh.done(delete).await;
    assert_eq!(
        bosh.get("/deployments")
            .await
            .json()
            .as_array()
            .unwrap()
            .len(),
        19
    );
}
