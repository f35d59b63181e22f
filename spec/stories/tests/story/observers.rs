//! A client that reads an instance at the Director, such as a monitor, blocks no operation.

use odb_stories::{Foundation, Order, eventually, new_id};
use serde_json::json;

use crate::TIMEOUT;

#[tokio::test]
async fn an_instance_whose_vms_are_being_looked_at_can_be_changed_recreated_and_deleted() {
    let foundation = Foundation::start().await;
    let configuration = foundation
        .broker()
        .with("/broker/enable_fetch_instance", true.into());
    let broker = configuration.start().await;
    let (platform, instance) = (broker.platform(), new_id());
    let director = foundation.director();
    platform.create(&instance).await;
    let deployment = format!("service-instance_{instance}");
    foundation
        .control()
        .set_task_fault(&json!({
            "deployment": deployment,
            "at": { "place": "start" },
            "effect": { "kind": "hold" },
        }))
        .await;
    director.look_at_vms(&deployment).await;
    let observer = eventually("a client lists the VMs", TIMEOUT, async || {
        let tasks = director.tasks_of(&deployment).await;
        let newest = tasks.last().cloned().unwrap_or_default();
        let is_at_it =
            newest["description"] == "retrieve vm-stats" && newest["state"] == "processing";
        is_at_it
            .then(|| newest.clone())
            .ok_or_else(|| format!("{newest}"))
    })
    .await;

    platform.fetch(&instance).await.expect_status(200);
    let change = Order::small().with_parameters(json!({ "maxclients": 200 }));
    let change = platform.update(&instance, &change).await.accepted();
    platform.succeeds(&instance, &change).await;
    let body =
        json!({ "plan_id": Order::small().member("plan_id"), "context": { "space_guid": "" } });
    let recreation = platform.operate(&instance, "recreate", &body).await;
    let token = recreation.operation_data().to_string();
    platform.succeeds(&instance, &token).await;
    let deletion = platform.deprovision(&instance).await.accepted();
    platform.succeeds(&instance, &deletion).await;

    let tasks = director.tasks_of(&deployment).await;
    let still = tasks.iter().find(|task| task["id"] == observer["id"]);
    assert_eq!(still.expect("it is there")["state"], "processing");
}
