//! The Director, or the Cloud Controller, takes connections and answers nothing.

use odb_stories::{Broker, Fault, Foundation, Order, Response, eventually, new_id};
use reqwest::Method;
use serde_json::json;

use crate::{TIMEOUT, history_of_an_order};

#[tokio::test]
async fn an_order_that_the_director_does_not_answer_in_time_can_be_repeated() {
    let foundation = Foundation::start().await;
    let configuration = foundation.broker().without_quotas().with_request_budget(2);
    let broker = configuration.start().await;
    let (platform, instance) = (broker.platform(), new_id());

    foundation.freeze().await;
    let answer = platform.provision(&instance, &Order::small()).await;
    foundation.thaw();

    expect_out_of_time(&answer);
    foundation.director().expect_untouched().await;
    expect_order_once(&foundation, &broker, &instance).await;
}

#[tokio::test]
async fn an_order_whose_count_times_out_can_be_repeated() {
    let foundation = Foundation::start().await;
    let broker = foundation.broker().with_request_budget(2).start().await;
    let (platform, instance) = (broker.platform(), new_id());

    foundation.freeze().await;
    let answer = platform.provision(&instance, &Order::small()).await;
    foundation.thaw();

    expect_out_of_time(&answer);
    foundation.director().expect_untouched().await;
    expect_order_once(&foundation, &broker, &instance).await;
}

#[tokio::test]
async fn an_order_that_could_not_be_written_down_in_time_can_be_repeated() {
    let foundation = Foundation::start().await;
    let instance = new_id();

    let broker = out_of_time_behind_the_adapter(&foundation, &instance).await;

    // A delayed request to the Director may still arrive and cross the repetition.
    expect_order_once(&foundation, &broker, &instance).await;
}

#[tokio::test]
async fn what_arrives_at_the_director_after_the_deletion_does_not_stay() {
    let foundation = Foundation::start().await;
    let configuration = foundation.broker().without_quotas().with_request_budget(4);
    let broker = configuration.start().await;
    let (platform, instance) = (broker.platform(), new_id());
    let (control, director) = (foundation.control(), foundation.director());
    control
        .set_fault(&json!({
            "server": "director",
            "requests": { "method": "POST", "path": "/configs" },
            "times": 1,
            "effect": { "kind": "hold" },
        }))
        .await;

    let answer = platform.provision(&instance, &Order::small()).await;
    expect_out_of_time(&answer);
    platform.deprovision(&instance).await.expect_status(410);
    director.expect_untouched().await;
    control.clear_faults().await;

    eventually("the late arrival is removed", TIMEOUT, async || {
        let lines = broker.log_of_request(&answer.request_id());
        let removed = lines.iter().any(|line| line.mentions("arrived late"));
        removed.then_some(()).ok_or_else(|| format!("{lines:?}"))
    })
    .await;
    director.expect_untouched().await;
}

#[tokio::test]
async fn a_broker_without_its_director_still_shows_its_catalog_and_mentions_operations() {
    let (foundation, broker) = Foundation::setup()
        .with("/director/durations/step", "200ms")
        .start_with_broker()
        .await;
    let (platform, instance) = (broker.platform(), new_id());
    let ordered = platform.provision(&instance, &Order::small()).await;
    let token = ordered.accepted();

    foundation.freeze().await;
    platform.catalog().await.expect_status(200);
    let health = platform.anonymous_request(Method::GET, "/health");
    platform.send(health).await.expect_status(200);
    let poll = platform.last_operation(&instance, &token).await;
    assert_eq!(poll.expect_status(200).json()["state"], "in progress");
    foundation.thaw();

    platform.succeeds(&instance, &token).await;
    let history = foundation.director().history().await;
    assert_eq!(history, history_of_an_order(&instance));
}

#[tokio::test]
async fn an_operation_at_a_silent_director_says_so_to_user_and_operator() {
    let (foundation, broker) = Foundation::setup()
        .with("/director/durations/step", "200ms")
        .start_with_broker()
        .await;
    let (platform, instance) = (broker.platform(), new_id());
    let control = foundation.control();
    let ordered = platform.provision(&instance, &Order::small()).await;
    let token = ordered.accepted();
    control
        .set(Fault::of("director", "GET /tasks/*").answers(500))
        .await;

    let mute = eventually("the user reads it", TIMEOUT, async || {
        let poll = platform.last_operation(&instance, &token).await;
        assert_eq!(poll.expect_status(200).json()["state"], "in progress");
        let reported = poll.description();
        let is_reported = reported.contains("are not available at the moment");
        is_reported.then(|| reported.clone()).ok_or(reported)
    })
    .await;
    let lines = broker.log_of_request(&ordered.request_id());
    let alarm = lines.iter().find(|line| {
        line.field("level") == Some("ERROR")
            && line.mentions("ODB-5005")
            && line.mentions("/tasks/")
    });
    assert!(alarm.is_some(), "{lines:?}");
    control.clear_faults().await;

    assert!(mute.contains("Instance provisioning in progress"), "{mute}");
    platform.succeeds(&instance, &token).await;
}

/// An order during whose adapter call the Director falls silent, until the time of the order is up.
async fn out_of_time_behind_the_adapter(foundation: &Foundation, instance: &str) -> Broker {
    let adapters = foundation.adapters();
    let broker = foundation
        .broker()
        .with_adapter(&adapters.gated())
        .without_quotas()
        .with_request_budget(4)
        .start()
        .await;
    let (platform, instance) = (broker.platform().clone(), instance.to_owned());
    let order = tokio::spawn(async move { platform.provision(&instance, &Order::small()).await });
    eventually("the adapter has begun", TIMEOUT, async || {
        (adapters.at_gate() == 1)
            .then_some(())
            .ok_or_else(|| "not yet".to_owned())
    })
    .await;

    foundation.freeze().await;
    adapters.open_gate();
    let answer = order.await.expect("it is not cancelled");
    foundation.thaw();

    expect_out_of_time(&answer);
    broker
}

fn expect_out_of_time(answer: &Response) {
    answer.expect_status(429);
    assert!(!answer.header("retry-after").is_empty(), "{answer:?}");
}

/// The same order, sent again, is deployed once.
async fn expect_order_once(foundation: &Foundation, broker: &Broker, instance: &str) {
    broker.platform().create(instance).await;
    let history = foundation.director().history().await;
    assert_eq!(history, history_of_an_order(instance));
}
