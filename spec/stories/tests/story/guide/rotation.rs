//! `docs/operators/secure.md`: the steps of a rotation, while an order is in progress.

use odb_stories::{Errand, ErrandConfiguration, Foundation, eventually};
use serde_json::json;

use crate::TIMEOUT;

#[tokio::test]
async fn while_the_brokers_password_is_exchanged_orders_in_progress_go_on_and_new_ones_are_refused()
{
    let (foundation, mut broker) = Foundation::bare().start_with_broker().await;
    let cf = foundation.cf();
    cf.register(&broker).await;
    let hang = json!({ "place": "step", "stage": "Creating missing vms" });
    let control = foundation.control();
    control
        .set_task_fault(&json!({ "at": hang, "effect": { "kind": "hold" } }))
        .await;
    cf.run(&["create-service", "redis", "small", "early"])
        .await
        .succeeded();

    broker.stop().await;
    let broker = foundation
        .broker()
        .with_password("another one")
        .start()
        .await;
    eventually("the platform is refused", TIMEOUT, async || {
        let refused = broker.log().iter().any(|line| {
            let line = line.text();
            line.contains("/last_operation") && line.contains("\"http.status\":401")
        });
        refused.then_some(()).ok_or("not yet".to_owned())
    })
    .await;
    let refused = ["create-service", "redis", "small", "late", "--wait"];
    cf.run(&refused).await.failed();

    let file = ErrandConfiguration::of(&foundation, &broker)
        .with_plans(&[("small", "enable", None), ("large", "enable", None)]);
    Errand::new(&foundation, "register-broker")
        .configured(&file)
        .run()
        .await
        .expect_success();
    control.clear_task_faults().await;

    eventually("the early order is complete", TIMEOUT, async || {
        let reported = cf.run(&["service", "early"]).await.succeeded();
        reported.contains("succeeded").then_some(()).ok_or(reported)
    })
    .await;
    cf.run(&["create-service", "redis", "small", "later", "--wait"])
        .await
        .succeeded();
    assert_eq!(foundation.director().deployments().await.len(), 2);
}
