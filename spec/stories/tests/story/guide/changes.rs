//! `docs/operators/upgrade.md`, "What users notice", and `docs/operators/plans.md`, "Changing a plan, and taking one
//! away".

use odb_stories::{Broker, Errand, ErrandConfiguration, Foundation, eventually};
use serde_json::json;

use crate::TIMEOUT;

#[tokio::test]
async fn while_a_broker_is_deployed_operations_go_on_and_orders_are_refused_without_a_trace() {
    let (foundation, mut broker) = Foundation::bare().start_with_broker().await;
    let cf = foundation.cf();
    cf.register(&broker).await;
    let (control, director) = (foundation.control(), foundation.director());
    let step = json!({ "place": "step", "stage": "Creating missing vms" });
    control
        .set_task_fault(&json!({ "at": step, "effect": { "kind": "hold" } }))
        .await;
    cf.run(&["create-service", "redis", "small", "early"])
        .await
        .succeeded();

    broker.stop().await;
    cf.run(&["create-service", "redis", "small", "late", "--wait"])
        .await
        .failed();
    control.clear_task_faults().await;
    eventually("the deployment continues", TIMEOUT, async || {
        let tasks = director.tasks().await;
        let is_done = tasks.iter().any(|task| task["state"] == "done");
        is_done.then_some(()).ok_or_else(|| format!("{tasks:?}"))
    })
    .await;
    broker.start_again().await;

    eventually("the early order is complete", TIMEOUT, async || {
        let reported = cf.run(&["service", "early"]).await.succeeded();
        reported.contains("succeeded").then_some(()).ok_or(reported)
    })
    .await;
    assert_eq!(director.deployments().await.len(), 1);
}

#[tokio::test]
async fn a_plan_is_taken_away_in_three_steps() {
    let (foundation, mut broker) = Foundation::bare().start_with_broker().await;
    let cf = foundation.cf();
    cf.register(&broker).await;
    let order = ["create-service", "redis", "small", "cache", "--wait"];
    cf.run(&order).await.succeeded();

    register(
        &foundation,
        &broker,
        &[("small", "disable", None), ("large", "enable", None)],
    )
    .await;
    let another = ["create-service", "redis", "small", "another", "--wait"];
    cf.run(&another).await.failed();
    let in_use = ["create-service-key", "cache", "key", "--wait"];
    cf.run(&in_use).await.succeeded();

    let change = ["update-service", "cache", "-p", "large", "--wait"];
    cf.run(&change).await.succeeded();

    broker.stop().await;
    let broker = foundation.broker().without_plan("small").start().await;
    register(&foundation, &broker, &[("large", "enable", None)]).await;
    let offered = cf.run(&["--as", "admin", "marketplace"]).await.succeeded();
    assert!(
        offered.contains("large") && !offered.contains("small"),
        "{offered}"
    );
    let change = [
        "update-service",
        "cache",
        "-c",
        r#"{"maxclients":222}"#,
        "--wait",
    ];
    cf.run(&change).await.succeeded();
}

async fn register(foundation: &Foundation, broker: &Broker, plans: &[(&str, &str, Option<&str>)]) {
    let file = ErrandConfiguration::of(foundation, broker).with_plans(plans);
    let errand = Errand::new(foundation, "register-broker").configured(&file);
    errand.run().await.expect_success();
}
