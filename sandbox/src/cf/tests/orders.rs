//! Ordering, changing and deleting service instances.

use serde_json::json;

use super::platform::{Platform, accepted, job, ok, page};
use super::shapes::{
    INSTANCE, creating, found_instance, found_plan, included, instance, page_with_included, plan,
};

#[tokio::test]
async fn create_service_with_wait_reports_each_step_once_and_ends_with_the_operation() {
    let platform = Platform::start([
        found_plan(),
        ("POST /v3/service_instances", vec![accepted("j-1")]),
        (
            "GET /v3/jobs/j-1",
            vec![
                creating("PROCESSING"),
                creating("POLLING"),
                creating("POLLING"),
                creating("POLLING"),
                creating("COMPLETE"),
            ],
        ),
        (
            "GET /v3/service_instances/i-1",
            vec![
                ok(instance("initial", "")),
                ok(instance("in progress", "Creating missing vms")),
                ok(instance("in progress", "Creating missing vms")),
                ok(instance("in progress", "Updating instance")),
                ok(instance("succeeded", "")),
            ],
        ),
    ]);

    let seen = platform
        .cf([
            "create-service",
            "redis",
            "small",
            "cache",
            "-c",
            r#"{"maxclients": 250}"#,
            "--wait",
        ])
        .await;

    assert!(seen.succeeded, "{seen:?}");
    assert_eq!(
        seen.steps(),
        [
            "create accepted",
            "create in progress: Creating missing vms",
            "create in progress: Updating instance",
            "create succeeded",
            "service instance cache created",
        ]
    );
    assert_eq!(seen.data, "");
    assert_eq!(
        platform.calls()[..4],
        [
            "GET /v3/service_plans?names=small&service_offering_names=redis",
            "POST /v3/service_instances",
            "GET /v3/jobs/j-1",
            "GET /v3/service_instances/i-1",
        ]
    );
    assert_eq!(
        platform.body_of("POST"),
        json!({
            "type": "managed", "name": "cache", "parameters": {"maxclients": 250},
            "relationships": {"space": {"data": {"guid": "space-1"}}, "service_plan": {"data": {"guid": "p-1"}}}
        })
    );
}

#[tokio::test]
async fn create_service_without_wait_leaves_once_the_broker_works_on_it() {
    let platform = Platform::start([
        found_plan(),
        ("POST /v3/service_instances", vec![accepted("j-1")]),
        (
            "GET /v3/jobs/j-1",
            vec![creating("PROCESSING"), creating("POLLING")],
        ),
        (
            "GET /v3/service_instances/i-1",
            vec![ok(instance("in progress", "Preparing deployment"))],
        ),
    ]);

    let seen = platform
        .cf(["create-service", "redis", "small", "cache"])
        .await;

    assert!(seen.succeeded, "{seen:?}");
    assert_eq!(
        seen.steps(),
        ["create in progress; `odb-sandbox cf service cache` shows its progress"]
    );
}

#[tokio::test]
async fn a_failed_create_ends_with_the_brokers_words_and_a_hint() {
    let errors = json!([{
        "code": 10009, "title": "CF-UnableToPerform",
        "detail": "create managed could not be completed: Instance provisioning failed: request id 42"
    }]);
    let platform = Platform::start([
        found_plan(),
        ("POST /v3/service_instances", vec![accepted("j-1")]),
        (
            "GET /v3/jobs/j-1",
            vec![job("service_instance.create", "FAILED", INSTANCE, &errors)],
        ),
        (
            "GET /v3/service_instances/i-1",
            vec![ok(instance(
                "failed",
                "Instance provisioning failed: request id 42",
            ))],
        ),
    ]);

    let seen = platform
        .cf(["create-service", "redis", "small", "cache", "--wait"])
        .await;

    assert!(!seen.succeeded);
    assert_eq!(
        seen.steps(),
        [
            "create failed: Instance provisioning failed: request id 42",
            "error: create managed could not be completed: Instance provisioning failed: request id 42",
            "",
            "hint: order again under the same name, or remove what failed with `odb-sandbox cf delete-service NAME`",
        ]
    );
}

#[tokio::test]
async fn an_operation_that_takes_too_long_is_left_to_itself() {
    let platform = Platform::start([
        found_instance(),
        ("DELETE /v3/service_instances/i-1", vec![accepted("j-1")]),
        (
            "GET /v3/jobs/j-1",
            vec![job(
                "service_instance.delete",
                "POLLING",
                INSTANCE,
                &json!([]),
            )],
        ),
    ]);

    let seen = platform
        .cf(["delete-service", "cache", "--wait", "--timeout", "1"])
        .await;

    assert!(!seen.succeeded);
    assert!(
        seen.stderr
            .contains("error: the operation has not ended after 1 s"),
        "{}",
        seen.stderr
    );
    assert!(
        seen.stderr.contains("hint: the operation continues"),
        "{}",
        seen.stderr
    );
}

#[tokio::test]
async fn deleting_what_is_not_there_is_no_failure() {
    let platform = Platform::start([("GET /v3/service_instances", vec![page(&json!([]))])]);

    let seen = platform.cf(["delete-service", "cache", "--wait"]).await;

    assert!(seen.succeeded);
    assert_eq!(
        platform.calls(),
        ["GET /v3/service_instances?names=cache&page=1&per_page=1&space_guids=space-1"]
    );
}

#[tokio::test]
async fn the_instance_that_vanishes_with_its_delete_is_no_failure() {
    let deleting = |state| {
        job(
            "service_instance.delete",
            state,
            ("service_instance", "/v3/service_instances/i-1"),
            &json!([]),
        )
    };
    let platform = Platform::start([
        found_instance(),
        ("DELETE /v3/service_instances/i-1", vec![accepted("j-1")]),
        (
            "GET /v3/jobs/j-1",
            vec![deleting("POLLING"), deleting("COMPLETE")],
        ),
    ]);

    let seen = platform.cf(["delete-service", "cache", "--wait"]).await;

    assert_eq!(seen.steps(), ["service instance cache deleted"]);
    assert!(seen.succeeded);
}

#[tokio::test]
async fn an_update_changes_plan_and_parameters_in_one_request() {
    let mut plans = included();
    plans["service_plans"] = json!([]);
    plans["service_brokers"] = json!([{"name": "odb"}]);
    let platform = Platform::start([
        (
            "GET /v3/service_instances",
            vec![ok(
                json!({"pagination": {"next": null}, "resources": [instance("succeeded", "")], "included": plans}),
            )],
        ),
        (
            "GET /v3/service_plans",
            vec![page(&json!([plan("p-2", "large")]))],
        ),
        (
            "PATCH /v3/service_instances/i-1",
            vec![ok(instance("succeeded", ""))],
        ),
    ]);
    let parameters = platform.file("parameters.json", r#"{"maxclients": 250}"#);

    let seen = platform
        .cf([
            "update-service",
            "cache",
            "-p",
            "large",
            "-c",
            &parameters,
            "--wait",
        ])
        .await;

    assert_eq!(seen.steps(), ["service instance cache updated"]);
    assert_eq!(
        platform.body_of("PATCH"),
        json!({"parameters": {"maxclients": 250}, "relationships": {"service_plan": {"data": {"guid": "p-2"}}}})
    );
    assert!(
        platform
            .calls()
            .contains(&"GET /v3/service_plans?names=large&service_offering_guids=o-1".to_owned())
    );
}

#[tokio::test]
async fn an_upgrade_asks_for_the_plans_version() {
    let mut outdated = instance("succeeded", "");
    outdated["upgrade_available"] = json!(true);
    let platform = Platform::start([
        (
            "GET /v3/service_instances",
            vec![
                page(&json!([outdated])),
                page(&json!([instance("succeeded", "")])),
            ],
        ),
        ("GET /v3/service_plans/p-1", vec![ok(plan("p-1", "small"))]),
        (
            "PATCH /v3/service_instances/i-1",
            vec![ok(instance("succeeded", ""))],
        ),
    ]);

    let first = platform.cf(["upgrade-service", "cache", "--wait"]).await;
    let second = platform.cf(["upgrade-service", "cache", "--wait"]).await;

    assert_eq!(first.steps(), ["service instance cache upgraded"]);
    assert_eq!(
        second.steps(),
        ["no upgrade is available for service instance cache"]
    );
    assert_eq!(
        platform.body_of("PATCH"),
        json!({"maintenance_info": {"version": "1.1.0"}})
    );
}

#[tokio::test]
async fn a_service_instance_is_shown_with_its_plan_and_last_operation() {
    let resources = json!([instance("in progress", "Running errand")]);
    let platform = Platform::start([(
        "GET /v3/service_instances",
        vec![page_with_included(&resources)],
    )]);

    let one = platform.cf(["service", "cache"]).await;
    let all = platform.cf(["services"]).await;

    assert_eq!(
        one.data,
        "name:            cache\n\
         guid:            i-1\n\
         offering:        redis\n\
         plan:            small\n\
         broker:          odb\n\
         last operation:  create in progress\n\
         message:         Running errand\n"
    );
    let guid = platform.cf(["service", "cache", "--guid"]).await;
    assert_eq!(guid.data, "i-1\n");
    assert_eq!(
        all.data,
        "name   offering  plan   last operation      upgrade available\n\
         cache  redis     small  create in progress  no\n"
    );
}

#[tokio::test]
async fn the_operation_before_is_not_taken_for_this_one() {
    let updating = |state| job("service_instance.update", state, INSTANCE, &json!([]));
    let mut updated = instance("succeeded", "");
    updated["last_operation"]["type"] = json!("update");
    let platform = Platform::start([
        found_instance(),
        ("PATCH /v3/service_instances/i-1", vec![accepted("j-1")]),
        (
            "GET /v3/jobs/j-1",
            vec![updating("PROCESSING"), updating("COMPLETE")],
        ),
        (
            "GET /v3/service_instances/i-1",
            vec![ok(instance("succeeded", "")), ok(updated)],
        ),
    ]);

    let seen = platform
        .cf(["update-service", "cache", "-c", "{}", "--wait"])
        .await;

    assert_eq!(
        seen.steps(),
        ["update succeeded", "service instance cache updated"]
    );
}
