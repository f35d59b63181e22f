//! The answer to a poll besides its state: when to poll again, and the condition after a failure (L-07, U-11 and D-07
//! of `spec/contracts/osb-api.md`).

use odb_stories::{Broker, Foundation, Order, Platform, Response, eventually, new_id};
use serde_json::{Value, json};

use crate::TIMEOUT;

const FLAGS: [&str; 2] = ["instance_usable", "update_repeatable"];

fn fault(instance: &str, at: &Value, effect: &Value) -> Value {
    json!({ "deployment": format!("service-instance_{instance}"), "at": at, "effect": effect })
}

fn failing() -> Value {
    json!({ "kind": "fail", "code": 400_001, "message": "no disk space left" })
}

/// Polls to the end and gives the last answer.
async fn end_of(platform: &Platform, instance: &str, token: &str) -> Response {
    eventually("the operation ends", TIMEOUT, async || {
        let reported = platform.last_operation(instance, token).await;
        let state = reported.expect_status(200).json()["state"].clone();
        if state == "in progress" {
            Err(reported.text)
        } else {
            Ok(reported)
        }
    })
    .await
}

fn flags(reported: &Response) -> [Option<bool>; 2] {
    let body = reported.json();
    FLAGS.map(|flag| {
        body.get(flag)
            .map(|flag| flag.as_bool().expect("a flag is a boolean"))
    })
}

async fn broker_with_instance(foundation: &Foundation) -> (Broker, String) {
    let (broker, instance) = (foundation.broker().start().await, new_id());
    broker.platform().create(&instance).await;
    (broker, instance)
}

fn change(maxclients: u32) -> Order {
    Order::small().with_parameters(json!({ "maxclients": maxclients }))
}

#[tokio::test]
async fn an_update_that_fails_before_it_gets_to_a_vm_leaves_the_instance_usable() {
    let foundation = Foundation::start().await;
    let (broker, instance) = broker_with_instance(&foundation).await;
    let platform = broker.platform();
    let at = json!({ "place": "step", "stage": "Preparing deployment" });
    foundation
        .control()
        .set_task_fault(&fault(&instance, &at, &failing()))
        .await;

    let token = platform.update(&instance, &change(100)).await.accepted();

    let reported = end_of(platform, &instance, &token).await;
    assert_eq!(reported.json()["state"], "failed");
    assert_eq!(flags(&reported), [Some(true), Some(true)]);
}

#[tokio::test]
async fn an_update_that_fails_at_a_vm_leaves_the_instance_damaged_and_can_be_repeated() {
    let foundation = Foundation::start().await;
    let (mut broker, instance) = broker_with_instance(&foundation).await;
    let at = json!({ "place": "step", "stage": "Updating instance", "task": "redis-server/" });
    foundation
        .control()
        .set_task_fault(&fault(&instance, &at, &failing()))
        .await;

    let order = change(100);
    let token = broker.platform().update(&instance, &order).await.accepted();

    let reported = end_of(broker.platform(), &instance, &token).await;
    assert_eq!(reported.json()["state"], "failed");
    assert_eq!(flags(&reported), [Some(false), Some(true)]);
    broker.kill();
    broker.start_again().await;
    let platform = broker.platform();
    let reported = end_of(platform, &instance, &token).await;
    assert_eq!(
        flags(&reported),
        [Some(false), Some(true)],
        "it is recorded"
    );
    let token = platform.update(&instance, &order).await.accepted();
    let reported = end_of(platform, &instance, &token).await;
    assert_eq!(reported.json()["state"], "succeeded");
    assert_eq!(flags(&reported), [None, None]);
}

#[tokio::test]
async fn a_deletion_that_fails_reports_whether_it_got_to_a_vm() {
    let foundation = Foundation::start().await;
    let (broker, instance) = broker_with_instance(&foundation).await;
    let platform = broker.platform();

    for (stage, usable) in [("Running errand", true), ("Deleting instances", false)] {
        let at = json!({ "place": "step", "stage": stage });
        foundation
            .control()
            .set_task_fault(&fault(&instance, &at, &failing()))
            .await;
        let token = platform.deprovision(&instance).await.accepted();
        let reported = end_of(platform, &instance, &token).await;
        assert_eq!(reported.json()["state"], "failed", "{stage}");
        assert_eq!(flags(&reported), [Some(usable), None], "{stage}");
    }
}

#[tokio::test]
async fn a_failed_operation_has_not_succeeded_because_a_later_one_has() {
    let foundation = Foundation::start().await;
    let (mut broker, instance) = broker_with_instance(&foundation).await;
    let platform = broker.platform().clone();
    let failing_start = fault(&instance, &json!({ "place": "start" }), &failing());
    let control = foundation.control();
    control.set_task_fault(&failing_start).await;
    let changed = platform.update(&instance, &change(100)).await.accepted();
    assert_eq!(
        end_of(&platform, &instance, &changed).await.json()["state"],
        "failed"
    );
    control.set_task_fault(&failing_start).await;
    let deleted = platform.deprovision(&instance).await.accepted();
    assert_eq!(
        end_of(&platform, &instance, &deleted).await.json()["state"],
        "failed"
    );
    let body = json!({ "plan_id": Order::small().member("plan_id") });
    let recreated = platform.operate(&instance, "recreate", &body).await;
    let recreated = recreated.expect_status(202).text.clone();
    assert_eq!(
        end_of(&platform, &instance, &recreated).await.json()["state"],
        "succeeded"
    );

    for _ in 0..2 {
        for token in [&changed, &deleted] {
            let reported = platform.last_operation(&instance, token).await;
            assert_eq!(
                reported.expect_status(200).json()["state"],
                "failed",
                "{reported:?}"
            );
        }
        let reported = platform.last_operation(&instance, &recreated).await;
        assert_eq!(
            reported.expect_status(200).json()["state"],
            "succeeded",
            "{reported:?}"
        );
        broker.stop().await;
        broker.start_again().await;
    }
}

#[tokio::test]
async fn a_made_up_token_starts_no_errand_and_deletes_nothing() {
    let foundation = Foundation::start().await;
    let (mut broker, instance) = broker_with_instance(&foundation).await;
    let director = foundation.director();
    let history = director.history().await;
    let context = director.tasks().await[0]["context_id"].clone();
    broker.stop().await;
    broker.start_again().await;

    for made_up in [
        json!({ "BoshTaskID": 1, "BoshContextID": context, "OperationType": "create", "Errands": [
            { "Name": "health-check" }, { "Name": "anything" },
        ] }),
        json!({ "BoshTaskID": 2, "BoshContextID": context, "OperationType": "delete", "Errands": [{ "Name": "health-check" }] }),
        json!({ "BoshTaskID": 2, "OperationType": "delete", "PreDeleteErrand": { "Name": "health-check" } }),
    ] {
        let reported = platform_reported(&broker, &instance, &made_up).await;
        assert_ne!(
            reported.json()["state"],
            "in progress",
            "{made_up}: {reported:?}"
        );
    }

    assert_eq!(director.history().await, history);
}

async fn platform_reported(broker: &Broker, instance: &str, token: &Value) -> Response {
    let token = token.to_string();
    broker.platform().last_operation(instance, &token).await
}
