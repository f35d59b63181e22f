//! L and D: last operation and deprovision.

use odb_stories::{Foundation, Order};
use reqwest::Method;
use serde_json::{Value, json};

/// L-09: a deletion that has ended succeeded, or left nothing to be asked about.
#[tokio::test]
async fn the_end_of_a_deletion_is_reported_after_a_restart_too() {
    let (_foundation, mut broker, instance) = Foundation::setup().start_with_instance().await;
    let token = broker.platform().deprovision(&instance).await.accepted();
    broker.platform().end_of_operation(&instance, &token).await;

    broker.stop().await;
    broker.start_again().await;

    let ended = broker.platform().end_of_operation(&instance, &token).await;
    let gone = ["succeeded", "gone"].contains(&ended.state.as_str());
    assert!(gone, "{ended:?}");
}

/// D-08: `force=true` continues where a normal deletion stops.
#[tokio::test]
async fn a_forced_deletion_goes_on_after_a_failing_errand() {
    let foundation = Foundation::start().await;
    let errands = json!({ "pre_delete": [{ "name": "no-such-errand" }] });
    let broker = foundation
        .broker()
        .with_lifecycle_errands(&errands)
        .start()
        .await;
    let platform = broker.platform();
    let instance = platform.created().await;
    let token = platform.deprovision(&instance).await.accepted();
    let careful = platform.end_of_operation(&instance, &token).await;
    assert_eq!(careful.state, "failed", "{careful:?}");

    let order = Order::small();
    let (service, plan) = (order.member("service_id"), order.member("plan_id"));
    let query = format!("service_id={service}&plan_id={plan}&force=true").replace('"', "");
    let path = format!("/v2/service_instances/{instance}?accepts_incomplete=true&{query}");
    let token = platform
        .send(platform.request(Method::DELETE, &path))
        .await
        .accepted();
    let kind: Value = serde_json::from_str(&token).unwrap();
    assert_eq!(kind["OperationType"], "force-delete");
    platform.end_of_operation(&instance, &token).await;
    let none: Vec<String> = Vec::new();
    assert_eq!(foundation.director().deployments().await, none);
}
