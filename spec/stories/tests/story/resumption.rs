//! The broker is killed in the middle of an operation and started again.

use odb_stories::{Broker, Foundation, Order, TaskFault, eventually, new_id};
use serde_json::{Value, json};

use crate::{TIMEOUT, history_of_a_deletion, history_of_an_order};

#[tokio::test]
async fn a_provision_completes_without_a_poll_after_the_broker_was_killed() {
    let (foundation, mut broker) = Foundation::setup()
        .with("/director/durations/step", "100ms")
        .start_with_broker()
        .await;
    let instance = new_id();
    let ordered = broker
        .platform()
        .provision(&instance, &Order::small())
        .await;
    let token = ordered.accepted();

    broker.kill();
    let director = foundation.director();
    assert_eq!(
        director.history().await.len(),
        1,
        "it was killed in the middle"
    );
    broker.start_again().await;

    expect_complete(&foundation, &instance).await;
    let poll = broker.platform().last_operation(&instance, &token).await;
    assert_eq!(poll.expect_status(200).json()["state"], "succeeded");
}

#[tokio::test]
async fn a_provision_completes_however_often_the_broker_is_killed() {
    let (foundation, mut broker) = Foundation::setup()
        .with("/director/durations/step", "100ms")
        .start_with_broker()
        .await;
    let instance = new_id();
    broker.platform().order(&instance).await;

    for _ in 0..5 {
        broker.kill();
        broker.start_again().await;
    }

    expect_complete(&foundation, &instance).await;
}

#[tokio::test]
async fn a_deletion_completes_without_a_poll_after_the_broker_was_killed() {
    let (foundation, mut broker, instance) = Foundation::setup().start_with_instance().await;
    let director = foundation.director();
    let deletion = broker.platform().deprovision(&instance).await;
    let token = deletion.accepted();

    broker.kill();
    assert_eq!(
        director.history().await.len(),
        3,
        "it was killed in the middle"
    );
    broker.start_again().await;

    eventually("instance and record are gone", TIMEOUT, async || {
        let left = (director.deployments().await, director.configs().await);
        let is_nothing = left.0.is_empty() && left.1.is_empty();
        is_nothing.then_some(()).ok_or(format!("{left:?}"))
    })
    .await;
    let history = [
        history_of_an_order(&instance),
        history_of_a_deletion(&instance),
    ];
    assert_eq!(director.history().await, history.concat());
    let poll = broker.platform().last_operation(&instance, &token).await;
    let succeeded = poll.status == 200 && poll.json()["state"] == "succeeded";
    assert!(succeeded || poll.status == 410, "{poll:?}");
}

#[tokio::test]
async fn a_broker_serves_before_it_has_looked_up_what_it_left_and_reads_what_it_is_asked_about() {
    let (foundation, mut broker) = Foundation::bare().start_with_broker().await;
    let control = foundation.control();
    let (made, ordered) = (new_id(), new_id());
    broker.platform().create(&made).await;
    control.set_task(TaskFault::at_start().holds()).await;
    let order = Order::small();
    let answer = broker.platform().provision(&ordered, &order).await;
    let token = answer.accepted();
    broker.kill();
    broker.ended().await;
    let list = json!({ "method": "GET", "path": "/configs", "query": { "type": "odb-operation" } });
    let held = control
        .set_fault(&json!({ "server": "director", "requests": list, "times": 1, "effect": { "kind": "hold" } }))
        .await;

    broker.serve_again().await;
    eventually("the list is asked for", TIMEOUT, async || {
        let fault = control.fault(held.id).await;
        fault.has_struck().then_some(()).ok_or_else(String::new)
    })
    .await;

    let platform = broker.platform();
    let bound = platform.bind(&ordered, &new_id()).await;
    assert_eq!(bound.expect_status(422).json()["error"], "ConcurrencyError");
    platform.bind(&made, &new_id()).await.expect_status(201);
    let poll = platform.last_operation(&ordered, &token).await;
    assert_eq!(poll.expect_status(200).json()["state"], "in progress");
    assert_eq!(control.fault(held.id).await.holds, 1);
    control.clear_faults().await;
    platform.succeeds(&ordered, &token).await;
}

#[tokio::test]
async fn an_order_that_never_got_to_the_director_leaves_nothing_and_can_be_repeated() {
    let foundation = Foundation::start().await;
    let (adapters, director) = (foundation.adapters(), foundation.director());
    let configuration = foundation.broker().with_adapter(&adapters.gated());
    let mut broker: Broker = configuration.start().await;
    let (instance, platform) = (new_id(), broker.platform().clone());
    let request = platform.provision_request(&instance, &Order::small());
    let order = tokio::spawn(request.send());
    eventually("the adapter has begun", TIMEOUT, async || {
        (adapters.at_gate() == 1)
            .then_some(())
            .ok_or_else(String::new)
    })
    .await;

    broker.kill();
    assert!(order.await.unwrap().is_err(), "the broker is gone");
    director.expect_untouched().await;
    adapters.open_gate();
    broker.start_again().await;

    platform.create(&instance).await;
    assert_eq!(director.history().await, history_of_an_order(&instance));
}

/// The deployment and its errand are done, once, and the operation record says so.
async fn expect_complete(foundation: &Foundation, instance: &str) {
    let director = foundation.director();
    eventually("the operation record has an outcome", TIMEOUT, async || {
        let record = director.record(instance).await.unwrap_or(Value::Null);
        if record["outcome"]["state"] == "succeeded" {
            Ok(())
        } else {
            Err(format!("{record}, {:?}", director.history().await))
        }
    })
    .await;
    assert_eq!(director.history().await, history_of_an_order(instance));
    let deployment = format!("service-instance_{instance}");
    assert_eq!(director.deployments().await, [deployment]);
}
