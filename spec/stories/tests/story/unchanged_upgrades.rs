//! An upgrade without changes: deployed by default, skipped if the operator turns that on (difference 46 of
//! `spec/contracts/broker-behaviour.md` §9).

use std::fs;

use odb_stories::{
    Broker, BrokerConfiguration, Fault, Foundation, LogLine, Order, TaskFault, client_definition,
};
use serde_json::{Value, json};

const VM_TYPE: &str = "/service_catalog/plans/0/instance_groups/0/vm_type";

fn sparing(foundation: &Foundation) -> BrokerConfiguration<'_> {
    foundation
        .broker()
        .with("/broker/skip_unchanged_upgrades", true.into())
}

async fn ordered(broker: &Broker) -> String {
    broker.platform().created().await
}

async fn upgrade(broker: &Broker, instance: &str) -> odb_stories::Response {
    let body = json!({ "plan_id": Order::small().member("plan_id") });
    broker.platform().operate(instance, "upgrade", &body).await
}

async fn upgraded(broker: &Broker, instance: &str) {
    let data = upgrade(broker, instance).await.operation_data();
    broker
        .platform()
        .succeeds(instance, &data.to_string())
        .await;
}

async fn needs_deploy(broker: &Broker, instance: &str) -> bool {
    let body = json!({ "plan_id": Order::small().member("plan_id") });
    let reported = broker.platform().dry_run(instance, &body).await;
    reported.expect_status(200).json()["needs_deploy"] == true
}

async fn known(broker: &Broker, instance: &str) -> Value {
    let known = broker.platform().inventory_of(instance).await;
    known.expect_status(200).json()
}

#[tokio::test]
async fn what_needs_no_deploy_gets_none_and_counts_as_up_to_date_from_then_on() {
    let foundation = Foundation::bare().start().await;
    let adapter = foundation.adapters().script("read_input; as_redis");
    let sparing = || sparing(&foundation).with_adapter(&adapter).start();
    let mut broker = sparing().await;
    let instance = ordered(&broker).await;
    let created = known(&broker, &instance).await;
    broker.stop().await;
    // Another adapter that makes the same of it.
    foundation.adapters().revise();
    broker = sparing().await;
    assert_eq!(known(&broker, &instance).await["up_to_date"], false);
    let history = foundation.director().history().await;

    let control = foundation.control();
    let earlier = control.broker_calls(0).await.pop();
    let earlier = earlier.map_or(0, |call| call.number);
    for _ in 0..2 {
        let answer = upgrade(&broker, &instance).await;
        assert_eq!(answer.expect_status(204).text, "");
    }

    assert_eq!(foundation.director().history().await, history);
    let mut written = control.broker_calls(earlier).await;
    written.retain(|call| call.method == "POST" && call.path == "/configs");
    assert_eq!(written.len(), 1, "it is written down once: {written:#?}");
    let after = known(&broker, &instance).await;
    assert_eq!(after["up_to_date"], true, "{after}");
    assert_eq!(
        after["operation"], created["operation"],
        "it stays the last one"
    );
    assert_ne!(after["deployed"], created["deployed"]);
}

#[tokio::test]
async fn whatever_is_not_in_location_is_deployed() {
    let foundation = Foundation::bare().start().await;
    let mut broker = sparing(&foundation).start().await;
    let instance = ordered(&broker).await;
    upgrade(&broker, &instance).await.expect_status(204);
    broker.stop().await;

    broker = sparing(&foundation)
        .with(VM_TYPE, "large".into())
        .start()
        .await;
    upgraded(&broker, &instance).await;
    upgrade(&broker, &instance).await.expect_status(204);

    foundation
        .control()
        .set_task(
            TaskFault::at_start()
                .of(&instance)
                .fails(400_001, "no room"),
        )
        .await;
    let body = json!({ "plan_id": Order::small().member("plan_id") });
    let data = broker
        .platform()
        .operate(&instance, "recreate", &body)
        .await
        .operation_data();
    let ended = broker
        .platform()
        .end_of_operation(&instance, &data.to_string())
        .await;
    assert_eq!(ended.state, "failed", "{ended:?}");
    // The state after a failure is unknown.
    upgraded(&broker, &instance).await;
    upgrade(&broker, &instance).await.expect_status(204);
    broker.stop().await;

    broker = sparing(&foundation)
        .with(VM_TYPE, "large".into())
        .with_client_definition(client_definition())
        .start()
        .await;
    let body = json!({
        "plan_id": Order::small().member("plan_id"), "context": { "space_guid": foundation.space() },
    });
    let data = broker
        .platform()
        .operate(&instance, "upgrade", &body)
        .await
        .operation_data();
    broker
        .platform()
        .succeeds(&instance, &data.to_string())
        .await;
}

#[tokio::test]
async fn the_dry_run_reports_beforehand_what_the_upgrade_finds() {
    let foundation = Foundation::bare().start().await;
    let mut broker = sparing(&foundation).start().await;
    let instance = ordered(&broker).await;
    assert!(!needs_deploy(&broker, &instance).await);
    upgrade(&broker, &instance).await.expect_status(204);
    broker.stop().await;

    // How changes are rolled out is what recreations go by.
    for (key, value) in [("max_in_flight", 2), ("canaries", 3)] {
        let pointer = format!("/service_catalog/plans/0/update/{key}");
        let configuration = sparing(&foundation).with(&pointer, value.into());
        broker = configuration.start().await;
        assert!(needs_deploy(&broker, &instance).await, "{key}");
        upgraded(&broker, &instance).await;
        assert!(!needs_deploy(&broker, &instance).await, "{key}");
        upgrade(&broker, &instance).await.expect_status(204);
        broker.stop().await;
    }
    broker = sparing(&foundation).start().await;
    upgraded(&broker, &instance).await;

    // The latest operation was one to another plan, as far as is known.
    let director = foundation.director();
    let mut record = director.record(&instance).await.unwrap();
    record["plan"] = "another-plan".into();
    let name = format!("odb-{instance}");
    director
        .write_config_of_team("odb-operation", &name, &record.to_string())
        .await;
    assert!(needs_deploy(&broker, &instance).await);
    upgraded(&broker, &instance).await;
    assert!(!needs_deploy(&broker, &instance).await);
}

#[tokio::test]
async fn an_upgrade_that_needs_no_deploy_succeeds_for_its_user() {
    let foundation = Foundation::bare().start().await;
    let versioned = |version: &str| {
        sparing(&foundation).with(
            "/service_catalog/plans/0/maintenance_info",
            json!({ "version": version }),
        )
    };
    let mut broker = versioned("1.0.0").start().await;
    let instance = ordered(&broker).await;
    broker.stop().await;
    broker = versioned("2.0.0").start().await;
    let history = foundation.director().history().await;

    let plan = Order::small().member("plan_id").clone();
    let order = Order::small()
        .with_parameters(json!({}))
        .with("maintenance_info", json!({ "version": "2.0.0" }))
        .with(
            "previous_values",
            json!({ "plan_id": plan, "maintenance_info": { "version": "1.0.0" } }),
        );
    let answer = broker.platform().update(&instance, &order).await;

    assert_eq!(answer.expect_status(200).json(), json!({}));
    assert_eq!(foundation.director().history().await, history);
}

#[tokio::test]
async fn configs_that_changed_are_deployed_though_the_manifest_is_the_same() {
    let foundation = Foundation::bare().start().await;
    let adapter = foundation.adapters().script(
        r#"read_input
as_redis | sed "s/\"configs\":{}/\"configs\":{\"cloud\":\"vm_extensions: [{name: $(cat "$folder/extension")}]\"}/""#,
    );
    let extension = foundation.folder().join("extension");
    fs::write(&extension, "one").unwrap();
    let broker = sparing(&foundation).with_adapter(&adapter).start().await;
    let instance = ordered(&broker).await;
    upgrade(&broker, &instance).await.expect_status(204);

    fs::write(&extension, "two").unwrap();
    upgraded(&broker, &instance).await;
    upgrade(&broker, &instance).await.expect_status(204);
}

#[tokio::test]
async fn unless_it_is_wanted_every_upgrade_is_deployed() {
    let (_foundation, broker, instance) = Foundation::bare().start_with_instance().await;
    upgraded(&broker, &instance).await;
}

#[tokio::test]
async fn what_cannot_be_written_down_is_found_out_again_next_time() {
    let foundation = Foundation::bare().start().await;
    let adapter = foundation.adapters().script("read_input; as_redis");
    let sparing = || sparing(&foundation).with_adapter(&adapter).start();
    let mut broker = sparing().await;
    let instance = ordered(&broker).await;
    broker.stop().await;
    // Another adapter that makes the same of it.
    foundation.adapters().revise();
    broker = sparing().await;
    let outdated = known(&broker, &instance).await;
    let control = foundation.control();
    control
        .set(Fault::of("director", "POST /configs").answers(400))
        .await;

    let answer = upgrade(&broker, &instance).await;
    answer.expect_status(204);

    control.clear_faults().await;
    assert_eq!(known(&broker, &instance).await, outdated);
    let log = broker.log_of_request(&answer.request_id());
    assert!(log.iter().any(LogLine::is_warning_or_worse));
    upgrade(&broker, &instance).await.expect_status(204);
    let found = known(&broker, &instance).await;
    assert_eq!(outdated["up_to_date"], false, "{outdated}");
    assert_eq!(found["up_to_date"], true, "{found}");
}
