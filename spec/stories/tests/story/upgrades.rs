//! The operator offers something newer; instances get there by upgrades, and by nothing else.

use odb_stories::{Broker, Foundation, Order, new_id};
use serde_json::{Value, json};

const OLD: &str = "1.0.0";
const NEW: &str = "2.0.0";

/// A broker that checks for pending changes, with plan `small` at a version and on VMs of a type.
async fn broker(foundation: &Foundation, version: &str, vm_type: &str) -> Broker {
    foundation
        .broker()
        .with("/broker/skip_check_for_pending_changes", false.into())
        .with(
            "/service_catalog/plans/0/maintenance_info",
            json!({ "version": version }),
        )
        .with(
            "/service_catalog/plans/0/instance_groups/0/vm_type",
            vm_type.into(),
        )
        .start()
        .await
}

fn change(maxclients: u32) -> Order {
    Order::small().with_parameters(json!({ "maxclients": maxclients }))
}

/// The request of `cf upgrade-service`.
fn upgrade(to: &str, from: &str) -> Order {
    let order = Order::small();
    let previous = previous(&order, from);
    order
        .with_parameters(json!({}))
        .with("maintenance_info", json!({ "version": to }))
        .with("previous_values", previous)
}

/// An order from a platform that has the version of the instance.
fn remembering(order: Order, version: &str) -> Order {
    let previous = previous(&order, version);
    order.with("previous_values", previous)
}

fn previous(order: &Order, version: &str) -> Value {
    let plan = order.member("plan_id");
    json!({ "plan_id": plan, "maintenance_info": { "version": version } })
}

#[tokio::test]
async fn an_instance_that_is_behind_is_upgraded_before_it_is_changed() {
    let foundation = Foundation::start().await;
    let mut old = broker(&foundation, OLD, "small").await;
    let instance = new_id();
    let order = Order::small().with_parameters(json!({ "maxclients": 100 }));
    old.platform().provision_to_the_end(&instance, &order).await;
    old.stop().await;
    let new = broker(&foundation, NEW, "large").await;
    let platform = new.platform();

    let reported = platform
        .update(&instance, &remembering(change(200), OLD))
        .await;
    let text = reported.expect_status(422).description();
    assert!(text.contains("needs to be upgraded"), "{text}");
    let slipped = platform.update(&instance, &change(200)).await;
    let text = slipped.expect_status(422).description();
    assert!(text.contains("out of date"), "{text}");
    let stale = platform.update(&instance, &upgrade(OLD, OLD)).await;
    assert_eq!(stale.expect_status(422).error(), "MaintenanceInfoConflict");

    let token = platform
        .update(&instance, &upgrade(NEW, OLD))
        .await
        .accepted();
    let ended = platform.end_of_operation(&instance, &token).await;
    assert_eq!(ended.state, "succeeded", "{ended:?}");
    assert!(
        ended.last_description().contains("upgrade"),
        "{}",
        ended.last_description()
    );

    platform
        .update(&instance, &upgrade(NEW, NEW))
        .await
        .expect_status(200);
    platform
        .update_to_the_end(&instance, &remembering(change(200), NEW))
        .await;
}

#[tokio::test]
async fn the_operator_reads_what_would_change_and_no_secret() {
    let foundation = Foundation::start().await;
    let mut old = broker(&foundation, OLD, "small").await;
    let instance = old.platform().created().await;
    old.stop().await;
    let new = broker(&foundation, OLD, "large").await;

    let refused = new.platform().update(&instance, &change(200)).await;

    refused.expect_status(422);
    let reported = "instance_groups[redis-server].vm_type changes from \"small\" to \"large\"";
    let log = new.log_of_request(&refused.request_id());
    assert!(log.iter().any(|line| line.mentions(reported)), "{log:?}");
    assert!(!refused.description().contains("vm_type"), "{refused:?}");
}

#[tokio::test]
async fn an_update_passes_where_only_the_user_changes_something() {
    let foundation = Foundation::start().await;
    let broker = broker(&foundation, OLD, "small").await;
    let (platform, instance) = (broker.platform(), new_id());
    platform.provision_to_the_end(&instance, &change(100)).await;

    for maxclients in [150, 200] {
        platform
            .update_to_the_end(&instance, &change(maxclients))
            .await;
    }
}
