//! The Director drops its oldest tasks. The outcome of an operation without a reconciler is then decided by the audit
//! and the deployment.

use odb_stories::{Broker, Ended, Fault, Foundation, Order, TaskFault, new_id};
use serde_json::{Value, json};

use crate::{
    cancelling::{hold, newest_task_is, task_is_held},
    residual_processes::drop_tasks,
};

/// The user's message for an operation that was never submitted.
const NOTHING_HAS_CHANGED: &str = "nothing has changed";

async fn start(foundation: &Foundation) -> Broker {
    let configuration = foundation.broker().with_lifecycle_errands(&Value::Null);
    configuration.start().await
}

/// The broker is killed while the Director is at work, and when it is back the Director has dropped the task.
async fn outlives_the_task(
    foundation: &Foundation,
    broker: &mut Broker,
    instance: &str,
    token: &str,
    state: &str,
) -> Ended {
    broker.kill();
    foundation.control().clear_task_faults().await;
    comes_back(foundation, broker, instance, token, state).await
}

/// The broker is started again when the task has ended and is dropped.
async fn comes_back(
    foundation: &Foundation,
    broker: &mut Broker,
    instance: &str,
    token: &str,
    state: &str,
) -> Ended {
    newest_task_is(foundation, "create deployment", &[state]).await;
    drop_tasks(&foundation.control()).await;
    broker.start_again().await;
    broker.platform().end_of_operation(instance, token).await
}

async fn keep_no_audit(foundation: &Foundation) {
    foundation
        .control()
        .set(Fault::of("director", "GET /events").says(200, "[]"))
        .await;
}

#[tokio::test]
async fn an_operation_has_succeeded_when_the_audit_says_so() {
    let foundation = Foundation::start().await;
    let mut broker = start(&foundation).await;
    let (platform, instance) = (broker.platform().clone(), new_id());
    for order in [
        Order::small(),
        Order::small().with_parameters(json!({ "maxclients": 222 })),
    ] {
        hold(&foundation, "Updating instance").await;
        let is_new = foundation.director().deployments().await.is_empty();
        let token = if is_new {
            platform.provision(&instance, &order).await.accepted()
        } else {
            platform.update(&instance, &order).await.accepted()
        };
        task_is_held(&foundation, "create deployment").await;

        let ended = outlives_the_task(&foundation, &mut broker, &instance, &token, "done").await;

        assert_eq!(ended.state, "succeeded", "{ended:?}");
        foundation.control().clear_faults().await;
    }
}

#[tokio::test]
async fn an_operation_has_failed_when_the_audit_says_so_and_the_operator_reads_why() {
    let foundation = Foundation::start().await;
    let mut broker = start(&foundation).await;
    let (platform, instance) = (broker.platform().clone(), new_id());
    hold(&foundation, "Preparing package compilation").await;
    foundation
        .control()
        .set_task(TaskFault::at_step_of("Updating instance").fails(450_001, "the disk is full"))
        .await;
    let token = platform.order(&instance).await;
    let task = task_is_held(&foundation, "create deployment").await;

    broker.kill();
    let faults = foundation.control().task_faults().await;
    let held = faults.iter().find(|fault| fault["holds"] == task);
    let held = held
        .and_then(|fault| fault["id"].as_u64())
        .expect("it is held");
    foundation.control().clear_task_fault(held).await;
    let ended = comes_back(&foundation, &mut broker, &instance, &token, "error").await;

    assert_eq!(ended.state, "failed", "{ended:?}");
    let reported = ended.last_description();
    assert!(!reported.contains(NOTHING_HAS_CHANGED), "{reported}");
    assert!(reported.contains(&format!("task-id: {task}")), "{reported}");
    let status = platform.operation_status(&instance).await.json();
    let why = status["stages"][0]["error"].as_str().unwrap_or_default();
    assert!(why.contains("the disk is full"), "{status}");
}

#[tokio::test]
async fn without_an_audit_the_outcome_of_an_update_is_unknown() {
    let foundation = Foundation::start().await;
    let mut broker = start(&foundation).await;
    let platform = broker.platform().clone();
    let instance = platform.created().await;
    let change = Order::small().with_parameters(json!({ "maxclients": 222 }));
    hold(&foundation, "Updating instance").await;
    let token = platform.update(&instance, &change).await.accepted();
    task_is_held(&foundation, "create deployment").await;
    keep_no_audit(&foundation).await;

    let ended = outlives_the_task(&foundation, &mut broker, &instance, &token, "done").await;

    assert_eq!(ended.state, "failed", "{ended:?}");
    let reported = ended.last_description();
    assert!(
        reported.contains("it is not known how it ended"),
        "{reported}"
    );
    assert!(reported.contains("Try again"), "{reported}");
    foundation.control().clear_faults().await;
    platform.update_to_the_end(&instance, &change).await;
}

#[tokio::test]
async fn without_audit_and_record_a_token_reports_no_success_of_an_update() {
    let foundation = Foundation::start().await;
    let configuration = foundation
        .broker()
        .with_lifecycle_errands(&Value::Null)
        .with("/broker/disable_bosh_configs", true.into());
    let mut broker = configuration.start().await;
    let platform = broker.platform().clone();
    let instance = platform.created().await;
    let change = Order::small().with_parameters(json!({ "maxclients": 222 }));
    let token = platform.update(&instance, &change).await.accepted();
    platform.end_of_operation(&instance, &token).await;

    let ended = outlives_the_task(&foundation, &mut broker, &instance, &token, "done").await;
    assert_eq!(ended.state, "succeeded", "the audit knows: {ended:?}");
    keep_no_audit(&foundation).await;
    let ended = platform.fails(&instance, &token).await;

    let reported = ended.last_description();
    assert!(
        reported.contains("it is not known how it ended"),
        "{reported}"
    );
}
