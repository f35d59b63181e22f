//! The number of the broker's calls to its upstreams.
//!
//! A request's calls are those from its arrival up to the submission, including the redirect that answers it; for a
//! request that submits nothing, all until its answer. The later calls are the reconciler's: it polls the tasks of the
//! operation with growing pauses until they have ended, and writes its outcome once. Tokens do not count, because one
//! serves many requests, nor do optional features, which are off here.

use odb_stories::{Broker, BrokerCall, Control, Foundation, Order, TaskFault, new_id};
use serde_json::Value;

/// A broker with one limit to count and nothing else that would be asked for.
async fn broker(foundation: &Foundation) -> Broker {
    foundation
        .broker()
        .without_quotas()
        .with_plan_limit(10)
        .with_lifecycle_errands(&Value::Null)
        .start()
        .await
}

/// Reads what the broker has asked since it was last read.
struct Reader {
    control: Control,
    last: u64,
}

impl Reader {
    async fn of(foundation: &Foundation) -> Self {
        let mut reader = Self {
            control: foundation.control(),
            last: 0,
        };
        reader.read().await;
        reader
    }

    async fn read(&mut self) -> Vec<BrokerCall> {
        let mut calls = self.control.broker_calls(self.last).await;
        self.last = calls.last().map_or(self.last, |call| call.number);
        calls.retain(|call| !call.is_for_a_token());
        calls
    }
}

/// The calls up to the submission, and those of the reconciler after it.
fn split(calls: &[BrokerCall]) -> (&[BrokerCall], &[BrokerCall]) {
    let submission = calls.iter().position(|call| {
        let deployments = call.path.starts_with("/deployments");
        deployments && ["POST", "DELETE", "PUT"].contains(&call.method.as_str())
    });
    let submission = submission.unwrap_or_else(|| panic!("nothing was submitted: {calls:#?}"));
    calls.split_at(submission + 1)
}

fn expect_at_most(limit: usize, calls: &[BrokerCall]) {
    assert!(
        calls.len() <= limit,
        "{} calls instead of {limit}:\n{}",
        calls.len(),
        reported(calls)
    );
}

fn reported(calls: &[BrokerCall]) -> String {
    let lines = calls.iter().map(|call| {
        let query = if call.query.is_empty() { "" } else { "?" };
        format!(
            "{} {} {}{query}{}\n",
            call.server, call.method, call.path, call.query
        )
    });
    lines.collect()
}

/// Besides looking, a reconciler writes the outcome; that of a delete removes what is left.
fn expect_to_write_at_most(limit: usize, reconciler: &[BrokerCall]) {
    let written: Vec<BrokerCall> = reconciler
        .iter()
        .filter(|call| call.method != "GET")
        .cloned()
        .collect();
    expect_at_most(limit, &written);
}

#[tokio::test]
async fn a_provision_takes_six_calls() {
    let foundation = Foundation::bare().start().await;
    let broker = broker(&foundation).await;
    let (platform, instance) = (broker.platform(), new_id());
    let mut reader = Reader::of(&foundation).await;

    platform.create(&instance).await;

    let calls = reader.read().await;
    let (request, reconciler) = split(&calls);
    expect_at_most(6, request);
    expect_to_write_at_most(1, reconciler);
}

#[tokio::test]
async fn a_poll_calls_no_upstream_during_and_after_the_reconciler() {
    let foundation = Foundation::bare().start().await;
    let broker = broker(&foundation).await;
    let (platform, instance) = (broker.platform(), new_id());
    foundation
        .control()
        .set_task(TaskFault::at_start().holds())
        .await;
    let ordered = platform.provision(&instance, &Order::small()).await;
    let token = ordered.accepted();

    for _ in 0..100 {
        let poll = platform.last_operation(&instance, &token).await;
        assert_eq!(poll.expect_status(200).json()["state"], "in progress");
    }
    foundation.control().clear_faults().await;
    platform.end_of_operation(&instance, &token).await;
    let mut reader = Reader::of(&foundation).await;
    for _ in 0..100 {
        let poll = platform.last_operation(&instance, &token).await;
        assert_eq!(poll.expect_status(200).json()["state"], "succeeded");
    }

    assert_eq!(
        reported(&reader.read().await),
        "",
        "the reconciler has ended"
    );
    reader.last = 0;
    let all = reader.read().await;
    assert!(all.len() < 100, "polls make calls:\n{}", reported(&all));
}

#[tokio::test]
async fn a_poll_of_a_restarted_broker_asks_twice_at_most() {
    let foundation = Foundation::bare().start().await;
    let mut broker = broker(&foundation).await;
    let instance = new_id();
    let ordered = broker
        .platform()
        .provision(&instance, &Order::small())
        .await;
    let token = ordered.accepted();
    broker.platform().end_of_operation(&instance, &token).await;
    broker.stop().await;
    broker.start_again().await;
    let mut reader = Reader::of(&foundation).await;

    let poll = broker.platform().last_operation(&instance, &token).await;

    assert_eq!(poll.expect_status(200).json()["state"], "succeeded");
    expect_at_most(2, &reader.read().await);
}

#[tokio::test]
async fn a_bind_takes_three_calls() {
    let foundation = Foundation::bare().start().await;
    let broker = broker(&foundation).await;
    let platform = broker.platform();
    let instance = platform.created().await;
    let mut reader = Reader::of(&foundation).await;

    platform.bind(&instance, &new_id()).await.expect_status(201);

    expect_at_most(3, &reader.read().await);
}

/// Look up, store, record, permit; and the calls of every bind.
#[tokio::test]
async fn a_secure_bind_takes_four_calls_more_and_an_unbind_five() {
    let foundation = Foundation::bare().start().await;
    let broker = foundation
        .broker()
        .without_quotas()
        .with_secure_bindings()
        .start()
        .await;
    let (platform, instance, binding) = (broker.platform(), new_id(), new_id());
    platform.create(&instance).await;
    let mut reader = Reader::of(&foundation).await;

    let bound = platform.bind_app(&instance, &binding, &new_id()).await;
    bound.expect_status(201);
    expect_at_most(3 + 4, &reader.read().await);

    let unbound = platform.unbind(&instance, &binding).await;
    unbound.expect_status(200);
    expect_at_most(2 + 5, &reader.read().await);
}

#[tokio::test]
async fn a_deprovision_takes_four_calls() {
    let foundation = Foundation::bare().start().await;
    let broker = broker(&foundation).await;
    let platform = broker.platform();
    let instance = platform.created().await;
    let mut reader = Reader::of(&foundation).await;

    let token = platform.deprovision(&instance).await.accepted();
    platform.end_of_operation(&instance, &token).await;

    let calls = reader.read().await;
    let (request, reconciler) = split(&calls);
    expect_at_most(4, request);
    expect_to_write_at_most(2, reconciler);
}
