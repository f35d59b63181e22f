//! L and D: last operation and deprovision.

use odb_stories::{Foundation, Order, new_id};
use reqwest::Method;
use serde_json::{Value, json};

/// L-02 to L-06: the instance's latest operation is meant, whatever is handed back; its end is not forgotten.
#[tokio::test]
async fn a_poll_without_a_token_that_fits_is_answered_for_the_latest_operation() {
    let foundation = Foundation::start().await;
    let mut broker = foundation.broker().start().await;
    let instance = new_id();
    broker
        .platform()
        .provision_to_the_end(&instance, &Order::small())
        .await;
    let made_up = [
        "",
        "operation",
        "{}",
        "{\"BoshTaskID\":0}",
        "{\"BoshTaskID\":99999,\"OperationType\":\"delete\"}",
    ];

    for _ in 0..2 {
        let platform = broker.platform();
        for token in made_up {
            let reported = platform.last_operation(&instance, token).await;
            let body = reported.expect_status(200).json();
            // An existing instance must never look deleted.
            let expected = if token.contains("delete") {
                "failed"
            } else {
                "succeeded"
            };
            assert_eq!(body["state"], expected, "{token}: {body}");
            let unknown = platform.last_operation(&new_id(), token).await;
            assert!([404, 410].contains(&unknown.status), "{token}: {unknown:?}");
        }
        let path = format!("/v2/service_instances/{instance}/last_operation");
        let bare = platform.send(platform.request(Method::GET, &path)).await;
        assert_eq!(bare.expect_status(200).json()["state"], "succeeded");
        broker.stop().await;
        broker.start_again().await;
    }
    let deployments = foundation.director().deployments().await;
    assert_eq!(deployments, [format!("service-instance_{instance}")]);
}

/// L-09: a deletion that has ended succeeded, or left nothing to be asked about.
#[tokio::test]
async fn the_end_of_a_deletion_is_reported_after_a_restart_too() {
    let foundation = Foundation::start().await;
    let mut broker = foundation.broker().start().await;
    let instance = new_id();
    broker
        .platform()
        .provision_to_the_end(&instance, &Order::small())
        .await;
    let token = broker.platform().deprovision(&instance).await.accepted();
    broker.platform().end_of_operation(&instance, &token).await;

    broker.stop().await;
    broker.start_again().await;

    let ended = broker.platform().end_of_operation(&instance, &token).await;
    let gone = ["succeeded", "gone"].contains(&ended.state.as_str());
    assert!(gone, "{ended:?}");
}

/// D-01 and D-02, defect 27 of the Go broker.
#[tokio::test]
async fn a_deletion_names_offering_and_plan_and_may_name_a_plan_that_is_gone() {
    let foundation = Foundation::start().await;
    let broker = foundation.broker().start().await;
    let (platform, instance) = (broker.platform(), new_id());
    platform
        .provision_to_the_end(&instance, &Order::small())
        .await;
    let service = Order::small().member("service_id").clone();
    let service = service.as_str().unwrap();
    let delete = async |instance: &str, query: &str| {
        let path = format!("/v2/service_instances/{instance}?accepts_incomplete=true&{query}");
        platform.send(platform.request(Method::DELETE, &path)).await
    };

    for (query, reason) in [
        ("plan_id=p".to_owned(), "service_id missing"),
        (format!("service_id={service}"), "plan_id missing"),
        (format!("service_id={service}&plan_id="), "plan_id missing"),
        (
            "service_id=other&plan_id=p".to_owned(),
            "service-id not in the catalog",
        ),
    ] {
        let answer = delete(&instance, &query).await;
        assert_eq!(answer.status, 400, "{query}: {answer:?}");
        assert!(answer.description().contains(reason), "{query}: {answer:?}");
    }
    let query = format!("service_id={service}&plan_id=gone");
    let absent = delete(&new_id(), &query).await;
    assert_eq!(absent.expect_status(410).json(), json!({}));
    let token = delete(&instance, &query).await.accepted();
    platform.end_of_operation(&instance, &token).await;
    let none: Vec<Value> = Vec::new();
    assert_eq!(foundation.director().configs().await, none);
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
    let (platform, instance) = (broker.platform(), new_id());
    platform
        .provision_to_the_end(&instance, &Order::small())
        .await;
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
