//! An instance is deleted while it is still being created.

use odb_stories::{
    Broker, Control, Fault, Foundation, Order, Platform, TaskFault, eventually, new_id,
};
use serde_json::Value;

use crate::TIMEOUT;

#[tokio::test]
async fn a_creation_is_stopped_by_a_deletion() {
    let (foundation, broker) = Foundation::setup()
        .with_director_admin()
        .start_with_broker()
        .await;
    let (platform, instance) = (broker.platform(), new_id());
    hold_the_deployment(&foundation.control(), &instance).await;
    let creation = begin(&foundation, platform, &instance).await;

    let deletion = platform.deprovision(&instance).await.accepted();

    let again = platform.deprovision(&instance).await.accepted();
    assert_eq!(again, deletion, "it is the same deletion");
    let repeat = platform.provision(&instance, &Order::small()).await;
    assert_eq!(repeat.expect_status(422).error(), "ConcurrencyError");
    for token in [&creation, &deletion] {
        let poll = platform.last_operation(&instance, token).await;
        let reported = poll.expect_status(200).description();
        assert_eq!(poll.json()["state"], "in progress");
        assert!(reported.contains("deletion"), "{reported}");
    }
    foundation.control().clear_faults().await;

    expect_gone(&foundation, platform, &instance, &deletion).await;
    let history = foundation.director().history().await;
    assert_eq!(history, cancelled_and_deleted(&instance));
    let created = platform.end_of_operation(&instance, &creation).await;
    assert_eq!(created.state, "failed", "{created:?}");
}

#[tokio::test]
async fn a_creation_is_stopped_between_its_tasks_and_what_was_deployed_is_cleaned_first() {
    let (foundation, broker) = Foundation::setup()
        .with_director_admin()
        .start_with_broker()
        .await;
    let (platform, instance) = (broker.platform(), new_id());
    let control = foundation.control();
    control
        .set_task(
            TaskFault::at_step_of("Running errand")
                .of(&instance)
                .holds(),
        )
        .await;
    let ordered = platform.provision(&instance, &Order::small()).await;
    ordered.accepted();
    tasks_at(&foundation, "the errand runs", |tasks| {
        tasks.len() == 2 && tasks[1]["state"] == "processing"
    })
    .await;

    let deletion = platform.deprovision(&instance).await.accepted();
    tasks_at(&foundation, "the errand is cancelled", |tasks| {
        tasks[1]["state"] != "processing"
    })
    .await;
    control.clear_faults().await;

    expect_gone(&foundation, platform, &instance, &deletion).await;
    let name = format!("service-instance_{instance}");
    let history = foundation.director().history().await;
    assert_eq!(
        history,
        [
            "create deployment: done".to_owned(),
            format!("run errand health-check from deployment {name}: cancelled"),
            format!("run errand cleanup-data from deployment {name}: done"),
            format!("delete deployment {name}: done"),
        ]
    );
}

#[tokio::test]
async fn a_creation_that_completes_before_it_can_be_cancelled_is_deleted_anyway() {
    let (foundation, broker) = Foundation::setup()
        .with_director_admin()
        .start_with_broker()
        .await;
    let (platform, instance) = (broker.platform(), new_id());
    let (control, director) = (foundation.control(), foundation.director());
    hold_the_deployment(&control, &instance).await;
    begin(&foundation, platform, &instance).await;
    let held = control
        .set(Fault::of("director", "DELETE /task/*").holds("before"))
        .await;

    let deletion = platform.deprovision(&instance).await.accepted();
    control.strikes(held.id).await;
    control.clear_task_faults().await;
    tasks_at(&foundation, "the deployment is done", |tasks| {
        tasks[0]["state"] == "done"
    })
    .await;
    control.clear_faults().await;

    expect_gone(&foundation, platform, &instance, &deletion).await;
    let mut history = vec!["create deployment: done".to_owned()];
    history.extend(crate::history_of_a_deletion(&instance));
    assert_eq!(director.history().await, history);
}

#[tokio::test]
async fn a_killed_broker_goes_on_with_the_deletion_and_not_with_the_creation() {
    let (foundation, mut broker) = Foundation::setup()
        .with_director_admin()
        .start_with_broker()
        .await;
    let (platform, instance) = (broker.platform().clone(), new_id());
    hold_the_deployment(&foundation.control(), &instance).await;
    begin(&foundation, &platform, &instance).await;
    let deletion = platform.deprovision(&instance).await.accepted();

    restart(&mut broker).await;

    let again = platform.deprovision(&instance).await.accepted();
    assert_eq!(again, deletion, "it is the same deletion");
    foundation.control().clear_faults().await;
    expect_nothing_left(&foundation).await;
    let history = foundation.director().history().await;
    assert_eq!(history, cancelled_and_deleted(&instance));
    let poll = platform.last_operation(&instance, &deletion).await;
    let succeeded = poll.status == 200 && poll.json()["state"] == "succeeded";
    assert!(succeeded || poll.status == 410, "{poll:?}");
}

#[tokio::test]
async fn a_creation_is_stopped_where_nothing_can_be_recorded() {
    let foundation = Foundation::start_with_director_admin().await;
    let configuration = foundation.broker();
    let configuration = configuration.with("/broker/disable_bosh_configs", true.into());
    let broker = configuration.start().await;
    let (platform, instance) = (broker.platform(), new_id());
    hold_the_deployment(&foundation.control(), &instance).await;
    begin(&foundation, platform, &instance).await;

    let deletion = platform.deprovision(&instance).await.accepted();
    foundation.control().clear_faults().await;

    expect_gone(&foundation, platform, &instance, &deletion).await;
    let history = foundation.director().history().await;
    assert_eq!(history, cancelled_and_deleted(&instance));
}

#[tokio::test]
async fn a_creation_that_a_team_may_not_cancel_ends_and_is_deleted_then() {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;
    let (platform, instance) = (broker.platform(), new_id());
    hold_the_deployment(&foundation.control(), &instance).await;
    begin(&foundation, platform, &instance).await;

    let deletion = platform.deprovision(&instance).await.accepted();
    eventually("the rejection is reported", TIMEOUT, async || {
        let poll = platform.last_operation(&instance, &deletion).await;
        let reported = poll.description();
        reported
            .contains("did not allow")
            .then_some(())
            .ok_or(reported)
    })
    .await;
    foundation.control().clear_faults().await;

    expect_gone(&foundation, platform, &instance, &deletion).await;
    let mut history = vec!["create deployment: done".to_owned()];
    history.extend(crate::history_of_a_deletion(&instance));
    assert_eq!(foundation.director().history().await, history);
}

async fn hold_the_deployment(control: &Control, instance: &str) {
    control
        .set_task(
            TaskFault::at_step_of("Creating missing vms")
                .of(instance)
                .holds(),
        )
        .await;
}

/// Orders and waits until the Director is at it.
async fn begin(foundation: &Foundation, platform: &Platform, instance: &str) -> String {
    let token = platform.order(instance).await;
    tasks_at(foundation, "the deployment has begun", |tasks| {
        tasks.len() == 1 && tasks[0]["state"] == "processing"
    })
    .await;
    token
}

async fn tasks_at(foundation: &Foundation, what: &str, is_so: impl Fn(&[Value]) -> bool) {
    let director = foundation.director();
    eventually(what, TIMEOUT, async || {
        let tasks = director.tasks().await;
        is_so(&tasks).then_some(()).ok_or(format!("{tasks:?}"))
    })
    .await;
}

async fn restart(broker: &mut Broker) {
    broker.kill();
    broker.start_again().await;
}

fn cancelled_and_deleted(instance: &str) -> [String; 2] {
    [
        "create deployment: cancelled".to_owned(),
        format!("delete deployment service-instance_{instance}: done"),
    ]
}

async fn expect_gone(foundation: &Foundation, platform: &Platform, instance: &str, token: &str) {
    platform.succeeds(instance, token).await;
    expect_nothing_left(foundation).await;
    platform.deprovision(instance).await.expect_status(410);
}

async fn expect_nothing_left(foundation: &Foundation) {
    let director = foundation.director();
    eventually("nothing is left", TIMEOUT, async || {
        let left = (director.deployments().await, director.configs().await);
        let is_nothing = left.0.is_empty() && left.1.is_empty();
        is_nothing.then_some(()).ok_or(format!("{left:?}"))
    })
    .await;
}
