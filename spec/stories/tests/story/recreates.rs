//! The operator has instances put onto new VMs.

use odb_stories::{Foundation, Order, Redis, new_id};
use serde_json::{Value, json};

use crate::history_of_an_order;

fn body() -> Value {
    json!({ "plan_id": Order::small().member("plan_id"), "context": { "space_guid": "" } })
}

/// The operation data as an errand of the Go broker hands them back: what it does not know is lost.
fn reencoded(data: &Value) -> String {
    let kept = ["BoshTaskID", "BoshContextID", "OperationType", "Errands"];
    let mut token = json!({ "PostDeployErrand": {}, "PreDeleteErrand": {} });
    for key in kept {
        if let Some(value) = data.get(key) {
            token[key] = value.clone();
        }
    }
    token.to_string()
}

#[tokio::test]
async fn a_recreated_instance_has_new_vms_and_its_data_and_its_errands_have_run() {
    let foundation = Foundation::start().await;
    let script = r#"read_input; echo "$call" >>"$folder/asked"; as_redis"#;
    let adapter = foundation.adapters().script(script);
    let broker = foundation.broker().with_adapter(&adapter).start().await;
    let platform = broker.platform();
    let instance = platform.created().await;
    let bound = platform.bind(&instance, &new_id()).await;
    let credentials = bound.expect_status(201).json()["credentials"].clone();
    let mut redis = Redis::connect(&credentials).await;
    redis.command(&["SET", "kept", "yes"]).await;
    let director = foundation.director();
    let deployment = format!("service-instance_{instance}");
    let vms = director.vms(&deployment).await;
    let asked = || std::fs::read_to_string(foundation.folder().join("asked")).unwrap();
    let asked_before = asked();

    let data = platform
        .operate(&instance, "recreate", &body())
        .await
        .operation_data();
    assert_eq!(data["OperationType"], "recreate");
    assert_eq!(data["Errands"][0]["Name"], "health-check");
    let ended = platform
        .end_of_operation(&instance, &reencoded(&data))
        .await;

    assert_eq!(ended.state, "succeeded", "{ended:?}");
    assert_eq!(ended.last_description(), "Instance recreate completed");
    let recreated = director.vms(&deployment).await;
    assert_eq!(recreated.len(), vms.len());
    assert!(recreated.iter().all(|vm| !vms.contains(vm)), "{vms:?}");
    let history = [
        history_of_an_order(&instance),
        history_of_an_order(&instance),
    ];
    assert_eq!(director.history().await, history.concat());
    assert_eq!(asked(), asked_before, "the adapter is not asked");
    let mut redis = Redis::connect(&credentials).await;
    assert_eq!(redis.command(&["GET", "kept"]).await, "yes");
}
