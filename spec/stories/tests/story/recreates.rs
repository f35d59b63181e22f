//! The operator has instances put onto new VMs.

use odb_stories::{Foundation, Order, Redis, eventually, new_id};
use serde_json::{Value, json};

use crate::{TIMEOUT, history_of_an_order};

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

#[tokio::test]
async fn a_recreation_completes_unaided_after_the_broker_was_killed() {
    let (foundation, mut broker) = Foundation::setup()
        .with("/director/durations/step", "100ms")
        .start_with_broker()
        .await;
    let platform = broker.platform().clone();
    let instance = platform.created().await;
    let data = platform
        .operate(&instance, "recreate", &body())
        .await
        .operation_data();

    broker.kill();
    broker.start_again().await;

    let director = foundation.director();
    let history = [
        history_of_an_order(&instance),
        history_of_an_order(&instance),
    ];
    eventually("the errands have run", TIMEOUT, async || {
        let seen = director.history().await;
        let is_so = seen == history.concat();
        is_so.then_some(()).ok_or(format!("{seen:?}"))
    })
    .await;
    platform.succeeds(&instance, &reencoded(&data)).await;
}

#[tokio::test]
async fn a_recreation_that_fails_can_be_repeated() {
    let (foundation, broker, instance) = Foundation::setup().start_with_instance().await;
    let platform = broker.platform();
    foundation
        .control()
        .set_task_fault(&json!({
            "deployment": format!("service-instance_{instance}"),
            "at": { "place": "step", "stage": "Updating instance", "task": "redis-server/" },
            "effect": { "kind": "fail", "code": 400_001, "message": "no disk space left" },
        }))
        .await;

    let first = platform.operate(&instance, "recreate", &body()).await;
    let data = first.operation_data();
    platform.fails(&instance, &reencoded(&data)).await;
    let log = broker.log_of_request(&first.request_id());
    let is_logged = log.iter().any(|line| line.mentions("no disk space left"));
    assert!(is_logged, "{log:?}");

    let data = platform
        .operate(&instance, "recreate", &body())
        .await
        .operation_data();
    platform.succeeds(&instance, &reencoded(&data)).await;
}
