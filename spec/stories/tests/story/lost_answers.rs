//! The Director's answer to what it was submitted is lost.

use odb_stories::{Broker, Control, Fault, Foundation, Order, eventually, new_id};
use serde_json::{Value, json};

use crate::{TIMEOUT, history_of_a_deletion, history_of_an_order};

#[tokio::test]
async fn an_order_that_never_arrived_is_accepted_fails_and_leaves_nothing() {
    let foundation = Foundation::start().await;
    let broker = impatient(&foundation).await;
    let (platform, instance) = (broker.platform(), new_id());
    let (control, director) = (foundation.control(), foundation.director());
    drop_deployments(&control, "before").await;

    let token = platform.order(&instance).await;
    let ended = platform.end_of_operation(&instance, &token).await;
    control.clear_faults().await;

    assert_eq!(ended.state, "failed", "{ended:?}");
    let reported = ended.last_description();
    assert!(reported.contains("nothing has changed"), "{reported}");
    director.expect_untouched().await;
    platform.create(&instance).await;
    assert_eq!(director.history().await, history_of_an_order(&instance));
}

#[tokio::test]
async fn an_order_that_arrived_during_an_outage_is_accepted_and_completes() {
    let foundation = Foundation::start().await;
    let broker = impatient(&foundation).await;
    let (platform, instance) = (broker.platform(), new_id());
    let control = foundation.control();
    drop_deployments(&control, "after").await;
    hide_tasks(&control).await;

    let token = platform.order(&instance).await;
    let again = platform.order(&instance).await;
    assert_eq!(again, token, "it is the same order");
    let poll = platform.last_operation(&instance, &token).await;
    assert_eq!(poll.expect_status(200).json()["state"], "in progress");
    control.clear_faults().await;

    platform.succeeds(&instance, &token).await;
    let history = foundation.director().history().await;
    assert_eq!(history, history_of_an_order(&instance));
}

#[tokio::test]
async fn an_order_whose_answer_is_lost_completes_after_the_broker_was_killed() {
    let foundation = Foundation::start().await;
    let mut broker = impatient(&foundation).await;
    let (platform, instance) = (broker.platform().clone(), new_id());
    let control = foundation.control();
    drop_deployments(&control, "after").await;
    hide_tasks(&control).await;
    let token = platform.order(&instance).await;

    broker.kill();
    control.clear_faults().await;
    broker.start_again().await;

    platform.succeeds(&instance, &token).await;
    let history = foundation.director().history().await;
    assert_eq!(history, history_of_an_order(&instance));
}

#[tokio::test]
async fn an_order_that_may_have_arrived_can_be_deleted_at_once() {
    let foundation = Foundation::start().await;
    let broker = impatient(&foundation).await;
    let (platform, instance) = (broker.platform(), new_id());
    let (control, director) = (foundation.control(), foundation.director());
    drop_deployments(&control, "after").await;
    hide_tasks(&control).await;
    platform.order(&instance).await;
    control.clear_faults().await;

    let token = platform.deprovision(&instance).await.accepted();

    platform.succeeds(&instance, &token).await;
    assert_eq!(director.deployments().await, Vec::<String>::new());
    assert_eq!(director.configs().await, Vec::<Value>::new());
    let deployed = director.history().await;
    let creations = deployed
        .iter()
        .filter(|task| task.starts_with("create deployment"));
    assert_eq!(creations.count(), 1, "{deployed:?}");
}

#[tokio::test]
async fn a_deletion_that_never_arrived_fails_and_leaves_the_instance_as_it_was() {
    let foundation = Foundation::start().await;
    let broker = impatient(&foundation).await;
    let platform = broker.platform();
    let instance = platform.created().await;
    let (control, director) = (foundation.control(), foundation.director());
    let recorded = director.record(&instance).await;
    drop_errands(&control, "before").await;

    let token = platform.deprovision(&instance).await.accepted();
    let ended = platform.end_of_operation(&instance, &token).await;
    control.clear_faults().await;

    assert_eq!(ended.state, "failed", "{ended:?}");
    assert_eq!(director.record(&instance).await, recorded);
    assert_eq!(director.history().await, history_of_an_order(&instance));
    let known = platform.provision(&instance, &Order::small()).await;
    known.expect_status(200);
    platform.delete_to_the_end(&instance).await;
    let history = [
        history_of_an_order(&instance),
        history_of_a_deletion(&instance),
    ];
    assert_eq!(director.history().await, history.concat());
}

#[tokio::test]
async fn an_errand_whose_answer_is_lost_runs_once() {
    for moment in ["before", "after"] {
        let foundation = Foundation::start().await;
        let broker = impatient(&foundation).await;
        let (platform, instance) = (broker.platform(), new_id());
        let control = foundation.control();
        drop_errands(&control, moment).await;

        let token = platform.order(&instance).await;
        eventually("the errand is being started", TIMEOUT, async || {
            let lines = broker.log();
            let lost = lines.iter().any(|line| line.mentions("was lost"));
            lost.then_some(()).ok_or_else(|| "not yet".to_owned())
        })
        .await;
        control.clear_faults().await;

        platform.succeeds(&instance, &token).await;
        let history = foundation.director().history().await;
        assert_eq!(history, history_of_an_order(&instance), "{moment}");
    }
}

/// A broker that does not look for lost answers for as long as it would with a real Director.
async fn impatient(foundation: &Foundation) -> Broker {
    let timings = json!({ "lost_answer_in_seconds": 1 });
    let configuration = foundation.broker().with("/broker/timings", timings);
    configuration.start().await
}

async fn drop_deployments(control: &Control, moment: &str) {
    drop_submissions(control, "/deployments", moment).await;
}

async fn drop_errands(control: &Control, moment: &str) {
    drop_submissions(control, "/deployments/*/errands/*/runs", moment).await;
}

async fn drop_submissions(control: &Control, path: &str, moment: &str) {
    control
        .set(Fault::of("director", &format!("POST {path}")).drops(moment))
        .await;
}

/// Hides the tasks from every list.
async fn hide_tasks(control: &Control) {
    control
        .set(Fault::of("director", "GET /tasks").answers(503))
        .await;
}
