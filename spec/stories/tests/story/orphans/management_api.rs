//! `GET` and `DELETE /mgmt/v1/orphan_deployments`.

use odb_stories::{Broker, Fault, Foundation, Order, Response, new_id};
use reqwest::Method;
use serde_json::{Value, json};

use super::{
    ask, delete, deployment, end_of, fail, hold, is_at_work, made_without_a_record, order, orphans,
    purge,
};
use crate::{history_of_a_deletion, history_of_an_order};

#[tokio::test]
async fn what_the_platform_has_forgotten_is_an_orphan_and_is_deleted_as_an_instance_is() {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;
    let (platform, director) = (broker.platform(), foundation.director());
    foundation.cf().register(&broker).await;
    let forgotten = order(&foundation, "forgotten").await;
    let kept = order(&foundation, "kept").await;
    assert_eq!(orphans(&broker).await, Vec::<Value>::new());
    purge(&foundation, "forgotten").await;

    let reported = orphans(&broker).await;

    assert_eq!(reported.len(), 1, "{reported:#?}");
    let reported = &reported[0];
    assert_eq!(reported["deployment_name"], deployment(&forgotten));
    assert_eq!(reported["service_instance_id"], forgotten);
    assert_eq!(reported["owner"], "this_broker");
    assert_eq!(reported["reason"], "purged_in_platform");
    assert_eq!(reported["plan_id"], *Order::small().member("plan_id"));
    assert_eq!(reported["last_operation"]["kind"], "create");
    assert_eq!(reported["last_operation"]["state"], "succeeded");
    assert!(
        reported["since"].is_string() && reported["age_seconds"].is_u64(),
        "{reported}"
    );

    refused(
        &delete(platform, &kept, "force=true").await,
        409,
        "ODB-2052",
    );
    let before = director.history().await.len();
    let deletion = delete(platform, &forgotten, "").await;
    assert_eq!(
        end_of(platform, &forgotten, &deletion).await.state,
        "succeeded"
    );
    let history = director.history().await;
    assert_eq!(history[before..], history_of_a_deletion(&forgotten));
    delete(platform, &forgotten, "").await.expect_status(204);
    assert_eq!(orphans(&broker).await, Vec::<Value>::new());
    assert_eq!(director.deployments().await, [deployment(&kept)]);
    assert_eq!(
        director.configs().await.len(),
        1,
        "the operation record of the other one"
    );
}

#[tokio::test]
async fn what_another_broker_has_marked_is_neither_reported_nor_deleted() {
    let foundation = Foundation::start().await;
    let other = foundation.broker();
    let other = other.with("/service_catalog/id", "another offering".into());
    let mut other = other.start().await;
    let instance = new_id();
    let order = Order::small().with("service_id", "another offering".into());
    let ordering = other.platform().provision_to_the_end(&instance, &order);
    ordering.await;
    other.stop().await;
    let broker = foundation.broker().start().await;
    foundation.cf().register(&broker).await;
    let (platform, director) = (broker.platform(), foundation.director());

    assert_eq!(orphans(&broker).await, Vec::<Value>::new());
    for query in ["", "include_unmarked=true&force=true&offering_is_gone=true"] {
        refused(&delete(platform, &instance, query).await, 403, "ODB-2054");
    }
    assert_eq!(director.history().await, history_of_an_order(&instance));
}

#[tokio::test]
async fn an_unmarked_deployment_is_reported_as_such_and_deleted_only_on_request() {
    let foundation = Foundation::start().await;
    let instance = new_id();
    made_without_a_record(&foundation, &instance).await;
    let broker = foundation.broker().start().await;
    foundation.cf().register(&broker).await;
    let platform = broker.platform();

    let reported = orphans(&broker).await;

    assert_eq!(reported.len(), 1, "{reported:#?}");
    assert_eq!(reported[0]["owner"], "unknown");
    assert_eq!(reported[0]["reason"], "unknown");
    assert_eq!(reported[0]["last_operation"]["state"], "succeeded");
    assert!(reported[0]["plan_id"].is_null());
    assert!(reported[0]["age_seconds"].is_u64());
    for query in ["", "include_unmarked=false", "force=true"] {
        refused(&delete(platform, &instance, query).await, 403, "ODB-2053");
    }
    let deletion = delete(platform, &instance, "include_unmarked=true&plan_id=small").await;
    assert_eq!(
        end_of(platform, &instance, &deletion).await.state,
        "succeeded"
    );
    foundation.director().expect_nothing_left().await;
}

#[tokio::test]
async fn an_unmarked_orphan_is_deleted_with_the_errands_of_its_plan_or_expressly_without_any() {
    let foundation = Foundation::start().await;
    let (one, other) = (new_id(), new_id());
    made_without_a_record(&foundation, &one).await;
    made_without_a_record(&foundation, &other).await;
    let errands = json!({
        "pre_delete": [{ "name": "cleanup-data", "instances": ["redis-server"] }],
    });
    let configuration = foundation.broker().with_lifecycle_errands(&errands);
    let broker = configuration.start().await;
    foundation.cf().register(&broker).await;
    let (platform, director) = (broker.platform(), foundation.director());

    let said = "include_unmarked=true";
    refused(&delete(platform, &one, said).await, 403, "ODB-2056");
    let said = "include_unmarked=true&plan_id=no-such";
    refused(&delete(platform, &one, said).await, 400, "ODB-2004");
    let ran_before = errands_run(&foundation).await;
    let said = "include_unmarked=true&plan_id=small";
    let deletion = delete(platform, &one, said).await;
    let ended = end_of(platform, &one, &deletion).await;
    assert_eq!(ended.state, "succeeded", "{ended:?}");
    assert_eq!(errands_run(&foundation).await, ran_before + 1);
    let said = "include_unmarked=true&force=true";
    let deletion = delete(platform, &other, said).await;
    let ended = end_of(platform, &other, &deletion).await;
    assert_eq!(ended.state, "succeeded", "{ended:?}");
    assert_eq!(errands_run(&foundation).await, ran_before + 1);
    assert_eq!(director.deployments().await, Vec::<String>::new());
}

#[tokio::test]
async fn an_unmarked_orphan_stays_unmarked_when_its_deletion_fails() {
    let foundation = Foundation::start().await;
    let instance = new_id();
    made_without_a_record(&foundation, &instance).await;
    let broker = foundation.broker().start().await;
    foundation.cf().register(&broker).await;
    let platform = broker.platform();
    fail(&foundation, &instance, "Deleting instances").await;
    let deletion = delete(platform, &instance, "include_unmarked=true&plan_id=small").await;
    let ended = end_of(platform, &instance, &deletion).await;
    assert_eq!(ended.state, "failed", "{ended:?}");

    let reported = orphans(&broker).await;

    assert_eq!(reported[0]["owner"], "unknown", "{reported:#?}");
    assert_eq!(reported[0]["last_operation"]["state"], "failed");
    refused(&delete(platform, &instance, "").await, 403, "ODB-2053");
    foundation.control().clear_task_faults().await;
    let deletion = delete(platform, &instance, "include_unmarked=true&plan_id=small").await;
    let ended = end_of(platform, &instance, &deletion).await;
    assert_eq!(ended.state, "succeeded", "{ended:?}");
}

#[tokio::test]
async fn where_records_cannot_be_read_no_unmarked_orphan_is_deleted() {
    let foundation = Foundation::start().await;
    let instance = new_id();
    made_without_a_record(&foundation, &instance).await;
    let blind = foundation.broker();
    let blind = blind.with("/broker/disable_bosh_configs", true.into());
    let broker = blind.start().await;
    foundation.cf().register(&broker).await;

    for query in ["include_unmarked=true", "include_unmarked=true&force=true"] {
        let answer = delete(broker.platform(), &instance, query).await;
        refused(&answer, 403, "ODB-2057");
    }
    let history = foundation.director().history().await;
    assert_eq!(history, history_of_an_order(&instance));
}

#[tokio::test]
async fn a_thousand_orphans_are_named_with_a_handful_of_calls_to_the_director() {
    let foundation = Foundation::bare().start().await;
    let (control, seeded) = (foundation.control(), 1000);
    let broker = foundation.broker().without_quotas().start().await;
    foundation.cf().register(&broker).await;
    control.seed_fleet(seeded, 5).await;
    let none = json!({
        "pagination": { "total_results": 0, "total_pages": 1, "next": null },
        "resources": [],
    });
    control
        .set(Fault::of("cloud-controller", "/v3/service_instances").says(200, &none.to_string()))
        .await;
    let latest = control.latest_call().await;

    let list = ask(broker.platform(), "/mgmt/orphan_deployments").await;

    let list = list.expect_status(200).json();
    // Those that are being changed are none.
    let reported = list.as_array().map_or(0, Vec::len);
    assert!(reported > seeded / 2, "{reported}");
    let mut asked = control.broker_calls(latest).await;
    asked.retain(|call| call.server == "director");
    // Deployments twice, operation records and what is in progress once each.
    assert_eq!(asked.len(), 4, "{asked:#?}");
}

#[tokio::test]
async fn an_unmarked_deployment_whose_instance_the_platform_knows_is_no_orphan() {
    let foundation = Foundation::start().await;
    let silent = foundation
        .broker()
        .with("/broker/disable_bosh_configs", true.into())
        .with("/service_catalog/id", "another offering".into());
    let mut other = silent.start().await;
    foundation.cf().register(&other).await;
    let instance = order(&foundation, "one").await;
    other.stop().await;
    let broker = foundation.broker().start().await;

    assert_eq!(orphans(&broker).await, Vec::<Value>::new());
    let query = "include_unmarked=true&offering_is_gone=true";
    refused(
        &delete(broker.platform(), &instance, query).await,
        409,
        "ODB-2052",
    );
}

#[tokio::test]
async fn nothing_is_reported_or_deleted_where_not_all_instances_are_reported() {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;
    foundation.cf().register(&broker).await;
    let platform = broker.platform();
    let instance = platform.created().await;
    let control = foundation.control();

    for path in ["/v3/service_offerings", "/v3/service_instances"] {
        control
            .set(Fault::of("cloud-controller", path).answers(500))
            .await;
        let list = ask(platform, "/mgmt/v1/orphan_deployments").await;
        refused(&list, 500, "ODB-4002");
        control.clear_faults().await;
    }
    let history = foundation.director().history().await;
    assert_eq!(history, history_of_an_order(&instance));
    assert_eq!(orphans(&broker).await.len(), 1);
}

#[tokio::test]
async fn a_client_that_sees_only_some_spaces_cannot_report_orphans() {
    let (foundation, broker) = Foundation::setup()
        .with_broker_rights(&["cloud_controller.read", "clients.read", "clients.admin"])
        .start_with_broker()
        .await;
    no_source_can_report(&foundation, &broker, 500, "ODB-2051").await;
}

#[tokio::test]
async fn where_instances_are_unknown_nothing_is_an_orphan() {
    let foundation = Foundation::start().await;
    let configuration = foundation.broker().without_quotas();
    let broker = configuration.without_cloud_controller().start().await;
    no_source_can_report(&foundation, &broker, 501, "ODB-2043").await;
}

#[tokio::test]
async fn where_the_platform_does_not_know_the_offering_it_has_to_be_said_that_it_is_gone() {
    let (foundation, broker, instance) = Foundation::setup().start_with_instance().await;
    let platform = broker.platform();

    let reported = orphans(&broker).await;

    assert_eq!(reported[0]["reason"], "offering_unknown_to_platform");
    refused(&delete(platform, &instance, "").await, 409, "ODB-2055");
    let deletion = delete(platform, &instance, "offering_is_gone=true").await;
    assert_eq!(
        end_of(platform, &instance, &deletion).await.state,
        "succeeded"
    );
    assert!(foundation.director().deployments().await.is_empty());
}

#[tokio::test]
async fn what_is_being_made_is_no_orphan_and_what_is_being_deleted_can_be_picked_up() {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;
    foundation.cf().register(&broker).await;
    let (platform, control) = (broker.platform(), foundation.control());
    let instance = new_id();
    hold(&foundation, &instance, "Creating missing vms").await;
    let token = platform.order(&instance).await;
    is_at_work(&foundation, "create deployment").await;

    assert_eq!(orphans(&broker).await, Vec::<Value>::new());
    refused(
        &delete(platform, &instance, "force=true").await,
        409,
        "ODB-2008",
    );
    control.clear_task_faults().await;
    platform.succeeds(&instance, &token).await;

    hold(&foundation, &instance, "Deleting instances").await;
    let deletion = delete(platform, &instance, "").await;
    is_at_work(&foundation, "delete deployment").await;
    let reported = orphans(&broker).await;
    assert_eq!(reported[0]["reason"], "being_deleted");
    assert_eq!(reported[0]["last_operation"]["state"], "in progress");
    let again = delete(platform, &instance, "").await;
    assert_eq!(again.operation_data(), deletion.operation_data());
    control.clear_task_faults().await;
    assert_eq!(
        end_of(platform, &instance, &deletion).await.state,
        "succeeded"
    );
}

#[tokio::test]
async fn a_failed_creation_and_a_failed_deletion_are_reported_as_what_they_are() {
    let foundation = Foundation::start().await;
    let script = r"read_input
if [[ -e $folder/bad ]]; then as_redis | sed 's/vm_type: small/vm_type: enormous/'; else as_redis; fi";
    let adapter = foundation.adapters().script(script);
    let broker = foundation.broker().with_adapter(&adapter).start().await;
    foundation.cf().register(&broker).await;
    let platform = broker.platform();
    let (made, unmade) = (platform.created().await, new_id());
    fail(&foundation, &made, "Deleting instances").await;
    let deletion = platform.deprovision(&made).await.accepted();
    platform.fails(&made, &deletion).await;
    std::fs::write(foundation.folder().join("bad"), "").unwrap();
    let creation = platform.order(&unmade).await;
    platform.fails(&unmade, &creation).await;

    let reported = orphans(&broker).await;

    for (instance, reason) in [(&made, "delete_failed"), (&unmade, "create_failed")] {
        let is_it = |orphan: &&Value| orphan["service_instance_id"] == **instance;
        let orphan = reported.iter().find(is_it).expect("it is an orphan");
        assert_eq!(orphan["reason"], reason, "{reported:#?}");
        let deletion = delete(platform, instance, "").await;
        let ended = end_of(platform, instance, &deletion).await;
        assert_eq!(ended.state, "succeeded", "{ended:?}");
    }
    let left = foundation.director().deployments().await;
    assert_eq!(left, Vec::<String>::new());
}

#[tokio::test]
async fn what_holds_no_service_instance_is_not_found_and_unauthenticated_clients_are_reported_nothing()
 {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;
    let platform = broker.platform();
    for name in ["cf", "service-instance_", "service-instance_a%20b"] {
        let path = format!("/mgmt/v1/orphan_deployments/{name}");
        let answer = platform.send(platform.request(Method::DELETE, &path)).await;
        refused(&answer, 404, "ODB-2009");
    }
    let unauthenticated_client = platform.with_wrong_password();
    let list = ask(&unauthenticated_client, "/mgmt/v1/orphan_deployments").await;
    list.expect_status(401);
    delete(&unauthenticated_client, &new_id(), "")
        .await
        .expect_status(401);
    foundation.director().expect_untouched().await;
}

/// How many errands the Director has run.
async fn errands_run(foundation: &Foundation) -> usize {
    let tasks = foundation.director().tasks().await;
    let is_one = |task: &&Value| {
        let text = task["description"].as_str().unwrap_or_default();
        text.starts_with("run errand")
    };
    tasks.iter().filter(is_one).count()
}

fn refused(answer: &Response, status: u16, code: &str) {
    let reported = answer.expect_status(status).json();
    assert_eq!(reported["code"], code, "{answer:?}");
    assert!(!answer.description().is_empty());
}

async fn no_source_can_report(foundation: &Foundation, broker: &Broker, status: u16, code: &str) {
    let platform = broker.platform();
    let instance = platform.created().await;
    let list = ask(platform, "/mgmt/v1/orphan_deployments").await;
    refused(&list, status, code);
    let query = "include_unmarked=true&offering_is_gone=true&force=true";
    refused(&delete(platform, &instance, query).await, status, code);
    let history = foundation.director().history().await;
    assert_eq!(history, history_of_an_order(&instance));
}
