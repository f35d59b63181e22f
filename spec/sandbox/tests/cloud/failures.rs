//! Brokers that refuse, break or say nothing.

use std::time::Duration;

use odb_sandbox::cloud_controller::BrokerConduct;
use serde_json::{Value, json};

use crate::{
    broker::{FakeBroker, Route},
    platform::{Platform, eventually},
};

#[tokio::test]
async fn a_refusal_is_told_in_the_brokers_words_and_not_mitigated() {
    let (platform, broker) = (Platform::start().await, FakeBroker::start());
    platform.register(&broker).await;
    broker.answers(
        Route::Provision,
        403,
        json!({"description": "all 20 instances are taken"}),
    );

    let answer = platform
        .developer
        .post(
            "/v3/service_instances",
            &platform.order("small", "db").await,
        )
        .await;
    let error = platform.developer.failed(&answer).await;

    let told = "Service broker error: all 20 instances are taken";
    assert_eq!(
        error["detail"],
        format!("provision could not be completed: {told}")
    );
    let guid = platform.guid("db").await;
    let shown = platform
        .developer
        .get(&format!("/v3/service_instances/{guid}"))
        .await
        .body;
    assert_eq!(
        (
            &shown["last_operation"]["state"],
            &shown["last_operation"]["description"]
        ),
        (&json!("failed"), &json!(told))
    );
    assert!(broker.noted(Route::Deprovision).is_empty());
}

#[tokio::test]
async fn a_broken_answer_is_mitigated_until_the_broker_takes_the_delete() {
    let (platform, broker) = (Platform::start().await, FakeBroker::start());
    platform.register(&broker).await;
    broker.answers(Route::Provision, 500, "the roof is on fire");
    broker.answers(Route::Deprovision, 500, json!({}));

    let answer = platform
        .developer
        .post(
            "/v3/service_instances",
            &platform.order("small", "db").await,
        )
        .await;
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
async fn an_asynchronous_failure_is_told_and_not_mitigated() {
    let (platform, broker) = (Platform::start().await, FakeBroker::start());
    platform.register(&broker).await;
    broker.takes_its_time();
    broker.ends("failed", "redis/0 is not running");

    let answer = platform
        .developer
        .post(
            "/v3/service_instances",
            &platform.order("small", "db").await,
        )
        .await;
    let error = platform.developer.failed(&answer).await;

    assert_eq!(
        error["detail"],
        "create managed could not be completed: redis/0 is not running"
    );
    assert!(broker.noted(Route::Deprovision).is_empty());
}

#[tokio::test]
async fn the_name_of_a_failed_create_is_free_and_what_is_left_of_it_is_deleted() {
    let (platform, broker) = (Platform::start().await, FakeBroker::start());
    platform.register(&broker).await;
    broker.answers(Route::Provision, 400, json!({}));
    let answer = platform
        .developer
        .post(
            "/v3/service_instances",
            &platform.order("small", "db").await,
        )
        .await;
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
async fn a_create_that_never_ends_is_given_up_and_mitigated() {
    let platform = Platform::with(BrokerConduct {
        polling_interval: Duration::from_millis(10),
        maximum_polling_duration: Duration::from_millis(50),
        ..BrokerConduct::default()
    })
    .await;
    let broker = FakeBroker::start();
    platform.register(&broker).await;
    broker.takes_its_time();

    let answer = platform
        .developer
        .post(
            "/v3/service_instances",
            &platform.order("small", "db").await,
        )
        .await;
    let error = platform.developer.failed(&answer).await;

    assert_eq!(error["code"], 290_006);
    let guid = platform.guid("db").await;
    let shown = platform
        .developer
        .get(&format!("/v3/service_instances/{guid}"))
        .await
        .body;
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
    let (platform, broker) = (Platform::start().await, FakeBroker::start());
    platform.register(&broker).await;
    broker.takes_its_time();
    broker.answers(Route::LastOperation, 500, Value::from("garbage"));

    let answer = platform
        .developer
        .post(
            "/v3/service_instances",
            &platform.order("small", "db").await,
        )
        .await;
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
    let broker = FakeBroker::start();
    platform.register(&broker).await;
    let nowhere = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let mut registration = broker.registration("nowhere");
    registration["url"] = json!(nowhere);

    let answer = platform
        .admin
        .post("/v3/service_brokers", &registration)
        .await;
    let error = platform.admin.failed(&answer).await;

    let detail = error["detail"].as_str().unwrap();
    assert!(
        detail.starts_with("The service broker could not be reached"),
        "{detail}"
    );
}

#[tokio::test]
async fn a_refused_unbind_stops_the_delete_of_the_instance() {
    let (platform, broker) = (Platform::start().await, FakeBroker::start());
    platform.register(&broker).await;
    let guid = platform.instance("small", "db").await;
    let key = json!({"type": "key", "name": "k", "relationships": {"service_instance": {"data": {"guid": guid}}}});
    let key = platform
        .developer
        .post("/v3/service_credential_bindings", &key)
        .await;
    platform.developer.completed(&key).await;
    broker.answers(Route::Unbind, 500, json!({"description": "not now"}));

    let deleted = platform
        .developer
        .delete(&format!("/v3/service_instances/{guid}"))
        .await;
    let error = platform.developer.failed(&deleted).await;

    assert_eq!(error["code"], 60011);
    assert!(
        error["detail"].as_str().unwrap().contains("not now"),
        "{error}"
    );
    assert!(broker.noted(Route::Deprovision).is_empty());
    let shown = platform
        .developer
        .get(&format!("/v3/service_instances/{guid}"))
        .await
        .body;
    assert_eq!(
        (
            &shown["last_operation"]["type"],
            &shown["last_operation"]["state"]
        ),
        (&json!("delete"), &json!("failed"))
    );
}
