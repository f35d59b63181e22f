//! Brokers that refuse, break or say nothing.

use std::time::Duration;

use odb_sandbox::cloud_controller::{BrokerBehaviour, InstanceRow};
use serde_json::{Value, json};

use crate::{
    broker::{FakeBroker, Route},
    platform::{Platform, eventually, quick},
};

#[tokio::test]
async fn a_rejection_is_reported_in_the_brokers_words_and_not_mitigated() {
    let (platform, broker) = Platform::with_broker().await;
    broker.answers(
        Route::Provision,
        403,
        json!({"description": "all 20 instances are taken"}),
    );

    let answer = platform.orders("small", "db").await;
    let error = platform.developer.failed(&answer).await;

    let reported = "Service broker error: all 20 instances are taken";
    assert_eq!(
        error["detail"],
        format!("provision could not be completed: {reported}")
    );
    let guid = platform.guid("db").await;
    let shown = platform.shown(&guid).await;
    assert_eq!(
        (
            &shown["last_operation"]["state"],
            &shown["last_operation"]["description"]
        ),
        (&json!("failed"), &json!(reported))
    );
    assert!(broker.noted(Route::Deprovision).is_empty());
}

#[tokio::test]
async fn a_broken_answer_is_mitigated_until_the_broker_takes_the_delete() {
    let (platform, broker) = Platform::with_broker().await;
    broker.answers(Route::Provision, 500, "the roof is on fire");
    broker.answers(Route::Deprovision, 500, json!({}));

    let answer = platform.orders("small", "db").await;
    platform.developer.failed(&answer).await;
    eventually("the delete is repeated", async || {
        (broker.noted(Route::Deprovision).len() > 1).then_some(())
    })
    .await;
    broker.answers(Route::Deprovision, 202, json!({}));

    let deletes = broker.noted(Route::Deprovision);
    assert_eq!(deletes[0].path, broker.noted(Route::Provision)[0].path);
    assert_eq!(
        deletes[0].query,
        "accepts_incomplete=true&plan_id=small-id&service_id=redis-id"
    );
    assert!(
        !deletes[0]
            .headers
            .contains_key("x-broker-api-originating-identity")
    );
}

#[tokio::test]
async fn an_asynchronous_failure_is_reported_and_not_mitigated() {
    let (platform, broker) = Platform::with_broker().await;
    broker.takes_its_time();
    broker.ends("failed", "redis/0 is not running");

    let answer = platform.orders("small", "db").await;
    let error = platform.developer.failed(&answer).await;

    assert_eq!(
        error["detail"],
        "create managed could not be completed: redis/0 is not running"
    );
    assert!(broker.noted(Route::Deprovision).is_empty());
}

#[tokio::test]
async fn the_name_of_a_failed_create_is_free_and_what_is_left_of_it_is_deleted() {
    let (platform, broker) = Platform::with_broker().await;
    broker.answers(Route::Provision, 400, json!({}));
    let answer = platform.orders("small", "db").await;
    platform.developer.failed(&answer).await;
    broker.answers(Route::Provision, 201, json!({}));

    platform.instance("small", "db").await;

    let orphan = eventually("the first one is deleted", async || {
        broker.noted(Route::Deprovision).pop()
    })
    .await;
    assert_eq!(orphan.path, broker.noted(Route::Provision)[0].path);
}

#[tokio::test]
async fn a_create_that_never_ends_is_abandoned_and_mitigated() {
    let platform = Platform::with(BrokerBehaviour {
        polling_interval: Duration::from_millis(10),
        maximum_polling_duration: Duration::from_millis(50),
        ..BrokerBehaviour::default()
    })
    .await;
    let broker = FakeBroker::start();
    platform.register(&broker).await;
    broker.takes_its_time();

    let answer = platform.orders("small", "db").await;
    let error = platform.developer.failed(&answer).await;

    assert_eq!(error["code"], 290_006);
    let guid = platform.guid("db").await;
    let shown = platform.shown(&guid).await;
    assert_eq!(
        shown["last_operation"]["description"],
        "Service Broker failed to provision within the required time."
    );
    eventually("it is deleted", async || {
        broker.noted(Route::Deprovision).pop()
    })
    .await;
}

#[tokio::test]
async fn a_poll_goes_on_after_answers_that_make_no_sense() {
    let (platform, broker) = Platform::with_broker().await;
    broker.takes_its_time();
    broker.answers(Route::LastOperation, 500, Value::from("garbage"));

    let answer = platform.orders("small", "db").await;
    eventually("it is asked again", async || {
        (broker.noted(Route::LastOperation).len() > 2).then_some(())
    })
    .await;
    broker.ends("succeeded", "");

    platform.developer.completed(&answer).await;
}

#[tokio::test]
async fn a_broker_that_is_not_there_is_not_mitigated() {
    let platform = Platform::start().await;
    let admin = &platform.admin;
    let broker = FakeBroker::start();
    platform.register(&broker).await;
    let nowhere = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let mut registration = broker.registration("nowhere");
    registration["url"] = json!(nowhere);

    let answer = admin.post("/v3/service_brokers", &registration).await;
    let error = admin.failed(&answer).await;

    let detail = error["detail"].as_str().unwrap();
    assert!(
        detail.starts_with("The service broker could not be reached"),
        "{detail}"
    );
}

#[tokio::test]
async fn a_refused_unbind_stops_the_delete_of_the_instance() {
    let (platform, broker) = Platform::with_broker().await;
    let user = &platform.developer;
    let guid = platform.instance("small", "db").await;
    let key = platform.asks_for_key(&guid).await;
    user.completed(&key).await;
    broker.answers(Route::Unbind, 500, json!({"description": "not now"}));

    let deleted = platform.deletes(&guid).await;
    let error = user.failed(&deleted).await;

    assert_eq!(error["code"], 60011);
    assert!(
        error["detail"].as_str().unwrap().contains("not now"),
        "{error}"
    );
    assert!(broker.noted(Route::Deprovision).is_empty());
    let shown = platform.shown(&guid).await;
    assert_eq!(
        (
            &shown["last_operation"]["type"],
            &shown["last_operation"]["state"]
        ),
        (&json!("delete"), &json!("failed"))
    );
}

#[tokio::test]
async fn a_delete_that_the_broker_refuses_names_the_instance() {
    let (platform, broker) = Platform::with_broker().await;
    let user = &platform.developer;
    let guid = platform.instance("small", "db").await;
    broker.answers(Route::Deprovision, 500, json!({"description": "not now"}));

    let deleted = platform.deletes(&guid).await;
    let error = user.failed(&deleted).await;

    assert_eq!(
        error["detail"],
        "delete could not be completed: Service instance db: Service broker error: not now"
    );
}

/// The guid of `db` once the broker is polled for it.
async fn begun(platform: &Platform, broker: &FakeBroker) -> String {
    eventually("the broker is at it", async || {
        broker.noted(Route::LastOperation).pop()
    })
    .await;
    platform.guid("db").await
}

#[tokio::test]
async fn a_create_goes_on_when_the_broker_is_too_busy_to_delete() {
    let (platform, broker) = Platform::with_broker().await;
    let user = &platform.developer;
    broker.takes_its_time();
    broker.answers(
        Route::Deprovision,
        422,
        json!({"error": "ConcurrencyError", "description": "busy"}),
    );
    let ordered = platform.orders("small", "db").await;
    let guid = begun(&platform, &broker).await;

    let deleted = platform.deletes(&guid).await;
    let error = user.failed(&deleted).await;
    broker.ends("succeeded", "");
    user.completed(&ordered).await;

    assert_eq!(
        (&error["code"], &error["detail"]),
        (
            &json!(60016),
            &json!("An operation for service instance db is in progress.")
        )
    );
}

#[tokio::test]
async fn a_delete_overtakes_the_create() {
    let (platform, broker) = Platform::with_broker().await;
    let user = &platform.developer;
    broker.takes_its_time();
    let ordered = platform.orders("small", "db").await;
    let guid = begun(&platform, &broker).await;

    let deleted = platform.deletes(&guid).await;
    let error = user.failed(&ordered).await;
    broker.ends("succeeded", "");
    user.completed(&deleted).await;

    assert_eq!(
        error["detail"],
        "create could not be completed: delete in progress"
    );
}

#[tokio::test]
async fn an_update_that_fails_keeps_the_old_plan() {
    let (platform, broker) = Platform::with_broker().await;
    let user = &platform.developer;
    let guid = platform.instance("small", "db").await;
    let path = format!("/v3/service_instances/{guid}");
    let large = json!({"relationships": {"service_plan": {"data": {"guid": platform.plan("large").await}}}});

    for (status, body, reported) in [
        (
            422,
            json!({"error": "ConcurrencyError", "description": "busy"}),
            "Service broker error: busy",
        ),
        (
            201,
            json!({"description": "done"}),
            "The service broker returned an invalid response. Status Code: 201 Created, Body: \
             {\"description\":\"done\"}",
        ),
    ] {
        broker.answers(Route::Update, status, body);
        let answer = user.patch(&path, &large).await;
        let error = user.failed(&answer).await;
        assert_eq!(
            error["detail"],
            format!("update could not be completed: {reported}")
        );
    }
    broker.answers(Route::Update, 202, json!({}));
    broker.ends("failed", "no disks");
    let answer = user.patch(&path, &large).await;
    user.failed(&answer).await;

    let shown = user.get(&path).await.body;
    assert_eq!(
        shown["relationships"]["service_plan"]["data"]["guid"],
        platform.plan("small").await.as_str()
    );
    assert_eq!(shown["last_operation"]["description"], "no disks");
    assert!(broker.noted(Route::Deprovision).is_empty());
}

#[tokio::test]
async fn whether_a_new_instance_counts_while_it_is_made_can_be_chosen() {
    for (row, expected) in [(InstanceRow::BeforeCall, 1), (InstanceRow::AfterCall, 0)] {
        let platform = Platform::with(BrokerBehaviour {
            instance_row: row,
            ..quick()
        })
        .await;
        let broker = FakeBroker::start();
        platform.register(&broker).await;
        let held = broker.holds(Route::Provision);

        let answer = platform.orders("small", "db").await;
        eventually("the broker is asked", async || {
            broker.noted(Route::Provision).pop()
        })
        .await;
        let count =
            platform.admin.get("/v3/service_instances").await.body["pagination"]["total_results"]
                .clone();
        held.release();
        platform.developer.completed(&answer).await;

        assert_eq!(count, expected, "{row:?}");
        platform.guid("db").await;
    }
}
