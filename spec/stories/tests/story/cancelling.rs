//! The operator has enough of an operation: what runs is ended, nothing more is begun, whatever becomes of the broker.

use odb_stories::{
    Broker, Errand, ErrandConfiguration, Fault, Foundation, Order, Platform, TaskFault, eventually,
    new_id,
};
use serde_json::{Value, json};

use crate::{TIMEOUT, history_of_an_order};

/// How an operation ends that was cancelled.
const CANCELLED: &str = "cancelled by the operator";

pub(crate) async fn hold(foundation: &Foundation, stage: &str) {
    foundation
        .control()
        .set_task(TaskFault::at_step_of(stage).holds())
        .await;
}

async fn an_instance(platform: &Platform) -> String {
    platform.created().await
}

fn change() -> Order {
    Order::small().with_parameters(json!({ "maxclients": 222 }))
}

pub(crate) async fn newest_task_is(
    foundation: &Foundation,
    description: &str,
    states: &[&str],
) -> u64 {
    let director = foundation.director();
    eventually("the task gets there", TIMEOUT, async || {
        let tasks = director.tasks().await;
        let newest = tasks.last().cloned().unwrap_or_default();
        let text = |key: &str| newest[key].as_str().unwrap_or_default().to_owned();
        if text("description").starts_with(description) && states.contains(&&*text("state")) {
            Ok(newest["id"].as_u64().unwrap_or_default())
        } else {
            Err(format!("{newest}"))
        }
    })
    .await
}

/// Waits until the newest task, which does this, is held up: one that is cancelled earlier ends at once.
pub(crate) async fn task_is_held(foundation: &Foundation, description: &str) -> u64 {
    let task = newest_task_is(foundation, description, &["processing"]).await;
    let control = foundation.control();
    eventually("the task is held", TIMEOUT, async || {
        let faults = control.task_faults().await;
        let is_held = faults.iter().any(|fault| fault["holds"] == task);
        is_held.then_some(task).ok_or(format!("{faults:?}"))
    })
    .await
}

async fn expect_cancelled(platform: &Platform, instance: &str, token: &str) {
    let ended = platform.fails(instance, token).await;
    assert!(ended.last_description().ends_with(CANCELLED), "{ended:?}");
    let status = platform.operation_status(instance).await.json();
    assert_eq!(status["state"], "failed", "{status}");
    assert_eq!(status["cancelled"], true, "{status}");
    platform.cancel(instance).await.expect_status(404);
}

async fn restart(broker: &mut Broker) {
    broker.kill();
    broker.start_again().await;
}

#[tokio::test]
async fn an_update_that_hangs_is_cancelled_and_the_instance_can_be_updated_again() {
    let (foundation, broker) = Foundation::setup()
        .with_director_admin()
        .start_with_broker()
        .await;
    let platform = broker.platform();
    let instance = an_instance(platform).await;
    hold(&foundation, "Updating instance").await;
    let token = platform.update(&instance, &change()).await.accepted();
    task_is_held(&foundation, "create deployment").await;

    platform.cancel(&instance).await.expect_status(202);
    platform.cancel(&instance).await.expect_status(202);

    newest_task_is(&foundation, "create deployment", &["cancelling"]).await;
    let poll = platform.last_operation(&instance, &token).await;
    assert_eq!(
        poll.json()["state"],
        "in progress",
        "its task has not ended"
    );
    assert!(poll.description().contains("being cancelled"), "{poll:?}");
    foundation.control().clear_faults().await;
    expect_cancelled(platform, &instance, &token).await;
    let mut history = history_of_an_order(&instance);
    history.push("create deployment: cancelled".to_owned());
    assert_eq!(foundation.director().history().await, history);

    platform.update_to_the_end(&instance, &change()).await;
}

#[tokio::test]
async fn no_lifecycle_errand_begins_when_the_deployment_ends_well_after_all() {
    let (foundation, broker) = Foundation::setup()
        .with_director_admin()
        .start_with_broker()
        .await;
    let (platform, instance) = (broker.platform(), new_id());
    hold(&foundation, "Updating instance").await;
    // The cancellation reaches the Director when the deployment is done.
    let deaf = foundation
        .control()
        .set_fault(&json!({
            "server": "director",
            "requests": { "method": "DELETE", "path": "/task/*" },
            "effect": { "kind": "hold" },
        }))
        .await;
    let token = platform.order(&instance).await;
    task_is_held(&foundation, "create deployment").await;

    platform.cancel(&instance).await.expect_status(202);
    eventually("the cancellation is on its way", TIMEOUT, async || {
        let fault = foundation.control().fault(deaf.id).await;
        (fault.holds == 1).then_some(()).ok_or(format!("{fault:?}"))
    })
    .await;
    foundation.control().clear_task_faults().await;
    newest_task_is(&foundation, "create deployment", &["done"]).await;
    foundation.control().clear_faults().await;

    expect_cancelled(platform, &instance, &token).await;
    let history = foundation.director().history().await;
    assert_eq!(history, ["create deployment: done"]);
}

#[tokio::test]
async fn a_lifecycle_errand_that_hangs_is_cancelled_and_the_deletion_does_not_follow() {
    let (foundation, broker) = Foundation::setup()
        .with_director_admin()
        .start_with_broker()
        .await;
    let platform = broker.platform();
    let instance = an_instance(platform).await;
    hold(&foundation, "Running errand").await;
    let token = platform.deprovision(&instance).await.accepted();
    task_is_held(&foundation, "run errand cleanup-data").await;

    platform.cancel(&instance).await.expect_status(202);
    newest_task_is(&foundation, "run errand cleanup-data", &["cancelling"]).await;
    foundation.control().clear_faults().await;

    expect_cancelled(platform, &instance, &token).await;
    let history = foundation.director().history().await;
    assert!(
        history
            .last()
            .is_some_and(|last| last.ends_with("cancelled")),
        "{history:?}"
    );

    platform.delete_to_the_end(&instance).await;
}

#[tokio::test]
async fn a_killed_broker_does_not_go_on_with_what_was_cancelled() {
    let (foundation, mut broker) = Foundation::setup()
        .with_director_admin()
        .start_with_broker()
        .await;
    let (platform, instance) = (broker.platform().clone(), new_id());
    hold(&foundation, "Updating instance").await;
    let token = platform.order(&instance).await;
    task_is_held(&foundation, "create deployment").await;
    foundation
        .control()
        .set(Fault::of("director", "DELETE /task/*").drops("before"))
        .await;
    platform.cancel(&instance).await.expect_status(202);
    broker.kill();
    foundation.control().clear_faults().await;
    newest_task_is(&foundation, "create deployment", &["done"]).await;
    broker.start_again().await;

    expect_cancelled(&platform, &instance, &token).await;

    let history = foundation.director().history().await;
    assert_eq!(history, ["create deployment: done"]);
}

#[tokio::test]
async fn what_an_earlier_process_began_can_be_cancelled() {
    let (foundation, mut broker) = Foundation::setup()
        .with_director_admin()
        .start_with_broker()
        .await;
    let platform = broker.platform().clone();
    let instance = an_instance(&platform).await;
    hold(&foundation, "Updating instance").await;
    let token = platform.update(&instance, &change()).await.accepted();
    task_is_held(&foundation, "create deployment").await;
    restart(&mut broker).await;

    platform.cancel(&instance).await.expect_status(202);
    newest_task_is(&foundation, "create deployment", &["cancelling"]).await;
    foundation.control().clear_faults().await;

    expect_cancelled(&platform, &instance, &token).await;
}

#[tokio::test]
async fn a_task_that_waits_for_a_worker_is_cancelled() {
    let (foundation, broker) = Foundation::setup()
        .with_director_admin()
        .start_with_broker()
        .await;
    let platform = broker.platform();
    let instance = an_instance(platform).await;
    foundation
        .control()
        .set_task_fault(&json!({ "at": { "place": "queue" }, "effect": { "kind": "hold" } }))
        .await;
    let token = platform.update(&instance, &change()).await.accepted();

    platform.cancel(&instance).await.expect_status(202);
    newest_task_is(&foundation, "create deployment", &["cancelling"]).await;
    foundation.control().clear_faults().await;

    expect_cancelled(platform, &instance, &token).await;
    let poll = platform.last_operation(&instance, &token).await.json();
    assert_eq!(poll["instance_usable"], true, "nothing was touched: {poll}");
}

#[tokio::test]
async fn a_task_whose_worker_has_died_is_over_when_the_director_gives_it_up() {
    let (foundation, broker) = Foundation::setup()
        .with_director_admin()
        .with_impatient_workers()
        .start_with_broker()
        .await;
    let platform = broker.platform();
    let instance = an_instance(platform).await;
    foundation
        .control()
        .set_task_fault(&json!({
            "at": { "place": "step", "stage": "Updating instance" },
            "effect": { "kind": "kill_worker" },
        }))
        .await;
    let token = platform.update(&instance, &change()).await.accepted();
    newest_task_is(&foundation, "create deployment", &["processing"]).await;

    platform.cancel(&instance).await.expect_status(202);

    expect_cancelled(platform, &instance, &token).await;
    newest_task_is(&foundation, "create deployment", &["timeout", "cancelled"]).await;
}

#[tokio::test]
async fn where_nothing_can_be_recorded_this_process_cancels_its_own() {
    let foundation = Foundation::start_with_director_admin().await;
    let configuration = foundation
        .broker()
        .with("/broker/disable_bosh_configs", true.into());
    let mut broker = configuration.start().await;
    let platform = broker.platform().clone();
    let instance = an_instance(&platform).await;
    hold(&foundation, "Updating instance").await;
    let token = platform.update(&instance, &change()).await.accepted();
    task_is_held(&foundation, "create deployment").await;
    platform.cancel(&instance).await.expect_status(202);
    newest_task_is(&foundation, "create deployment", &["cancelling"]).await;
    foundation.control().clear_faults().await;
    expect_cancelled(&platform, &instance, &token).await;

    hold(&foundation, "Updating instance").await;
    let other = Order::small().with_parameters(json!({ "maxclients": 333 }));
    platform.update(&instance, &other).await.accepted();
    let task = task_is_held(&foundation, "create deployment").await;
    restart(&mut broker).await;

    let reported = platform.cancel(&instance).await;

    let text = reported.expect_status(409).description();
    assert!(text.contains(&format!("bosh cancel-task {task}")), "{text}");
    foundation.control().clear_faults().await;
}

#[tokio::test]
async fn what_is_being_removed_is_removed_and_what_rests_is_not_cancelled() {
    let (foundation, broker) = Foundation::setup()
        .with_director_admin()
        .start_with_broker()
        .await;
    let platform = broker.platform();
    platform.cancel(&new_id()).await.expect_status(404);
    let instance = an_instance(platform).await;
    platform.cancel(&instance).await.expect_status(404);
    foundation
        .control()
        .set(Fault::of("director", "DELETE /configs").answers(503))
        .await;
    let token = platform.deprovision(&instance).await.accepted();
    eventually("the clean-up has begun", TIMEOUT, async || {
        let status: Value = platform.operation_status(&instance).await.json();
        let is_so = status["stages"][2]["state"] == "running";
        is_so.then_some(()).ok_or(status.to_string())
    })
    .await;

    let reported = platform.cancel(&instance).await;

    let text = reported.expect_status(409).description();
    assert!(text.contains("already deleted"), "{text}");
    foundation.control().clear_faults().await;
    platform.succeeds(&instance, &token).await;
}

#[tokio::test]
async fn where_the_director_does_not_let_a_team_cancel_the_operation_ends_after_its_step() {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;
    let (platform, instance) = (broker.platform(), new_id());
    hold(&foundation, "Updating instance").await;
    let token = platform.order(&instance).await;
    task_is_held(&foundation, "create deployment").await;

    for _ in 0..2 {
        let reported = platform.cancel(&instance).await;
        let text = reported.expect_status(202).description();
        assert!(text.contains("did not allow"), "{text}");
        assert!(text.contains("ends after this step"), "{text}");
    }

    let configuration = ErrandConfiguration::of(&foundation, &broker);
    let errand = Errand::new(&foundation, "cancel-operation").configured(&configuration);
    let run = errand.with(&["--instance", &instance, "--no-wait"]);
    let run = run.start().ended().await;
    run.expect_said("did not allow");
    let poll = platform.last_operation(&instance, &token).await;
    assert!(poll.description().contains("did not allow"), "{poll:?}");
    foundation.control().clear_faults().await;
    expect_cancelled(platform, &instance, &token).await;
    let history = foundation.director().history().await;
    assert_eq!(history, ["create deployment: done"], "no errand follows");
}

/// The counts of ended updates, by outcome and name of the metric.
async fn expect_ended(broker: &Broker, outcome: &str) {
    let text = broker.metrics().await.text;
    for each in ["succeeded", "failed", "cancelled", "never-submitted"] {
        let labels = format!("{{operation=\"update\",outcome=\"{each}\",plan=\"small\"}}");
        let times = u8::from(each == outcome);
        let ended = format!("odb_operations_ended_total{labels} {times}");
        assert!(
            text.lines().any(|line| line == ended),
            "no `{ended}` in\n{text}"
        );
        let lasted = format!("odb_operation_duration_seconds_count{labels} 1");
        assert_eq!(
            text.lines().any(|line| line == lasted),
            each == outcome,
            "`{lasted}` in\n{text}"
        );
    }
    let begun = "odb_operations_started_total{operation=\"update\",plan=\"small\"} 1";
    assert!(text.lines().any(|line| line == begun), "{text}");
}

#[tokio::test]
async fn what_was_cancelled_is_counted_as_such_with_the_time_that_it_took() {
    let (foundation, broker) = Foundation::setup()
        .with_director_admin()
        .start_with_broker()
        .await;
    let platform = broker.platform();
    let instance = an_instance(platform).await;
    hold(&foundation, "Updating instance").await;
    let token = platform.update(&instance, &change()).await.accepted();
    task_is_held(&foundation, "create deployment").await;

    platform.cancel(&instance).await.expect_status(202);
    newest_task_is(&foundation, "create deployment", &["cancelling"]).await;
    foundation.control().clear_faults().await;

    expect_cancelled(platform, &instance, &token).await;
    expect_ended(&broker, "cancelled").await;
}

#[tokio::test]
async fn what_ends_while_it_is_being_cancelled_is_counted_once() {
    let (foundation, broker) = Foundation::setup()
        .with_director_admin()
        .start_with_broker()
        .await;
    let (platform, control) = (broker.platform(), foundation.control());
    let instance = an_instance(platform).await;
    hold(&foundation, "Updating instance").await;
    let token = platform.update(&instance, &change()).await.accepted();
    task_is_held(&foundation, "create deployment").await;
    let outcome = control
        .set_fault(&json!({
            "server": "director",
            "requests": { "method": "POST", "path": "/configs" },
            "times": 1,
            "effect": { "kind": "hold" },
        }))
        .await;
    control.clear_task_faults().await;
    eventually("the outcome is being written", TIMEOUT, async || {
        let fault = control.fault(outcome.id).await;
        (fault.holds == 1).then_some(()).ok_or(format!("{fault:?}"))
    })
    .await;

    platform.cancel(&instance).await.expect_status(202);

    let ended = platform.end_of_operation(&instance, &token).await;
    assert_eq!(ended.state, "succeeded", "nothing was left to do");
    control.clear_faults().await;
    expect_ended(&broker, "succeeded").await;
}
