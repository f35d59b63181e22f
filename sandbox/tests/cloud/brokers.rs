//! Registering brokers.

use serde_json::{Value, json};

use crate::{
    broker::{FakeBroker, Route, catalog},
    platform::Platform,
};

#[tokio::test]
async fn a_registered_broker_is_listed_without_its_credentials() {
    let (platform, broker) = (Platform::start().await, FakeBroker::start());
    let admin = &platform.admin;

    let answer = admin
        .post("/v3/service_brokers", &broker.registration("redis-broker"))
        .await;
    let job = admin.completed(&answer).await;

    assert_eq!(job["operation"], "service_broker.catalog.synchronize");
    let link = job["links"]["service_brokers"]["href"].as_str().unwrap();
    let shown = admin.get(link).await.body;
    assert_eq!(shown["name"], "redis-broker");
    assert!(!shown.to_string().contains("pass:word"));
    let hidden = platform.developer.get("/v3/service_brokers").await.body;
    assert_eq!(hidden["pagination"]["total_results"], 0);
    let catalog_call = &broker.noted(Route::Catalog)[0];
    assert_eq!(
        catalog_call.headers["authorization"],
        "Basic YnJva2VyOnBhc3M6d29yZA=="
    );
}

#[tokio::test]
async fn a_broker_whose_catalog_is_refused_stays_and_can_be_corrected() {
    let broker =
        FakeBroker::with_catalog(json!({"services": [{"id": "x", "name": "x", "bindable": true}]}));
    let platform = Platform::start().await;
    let admin = &platform.admin;

    let answer = admin
        .post("/v3/service_brokers", &broker.registration("redis-broker"))
        .await;
    let error = admin.failed(&answer).await;

    assert_eq!(error["code"], 270_012);
    let detail = error["detail"].as_str().unwrap();
    assert!(
        detail.contains("Service description is required"),
        "{detail}"
    );
    assert!(detail.contains("At least one plan is required"), "{detail}");
    let again = admin
        .post("/v3/service_brokers", &broker.registration("redis-broker"))
        .await;
    assert_eq!(again.rejection().3, "Name must be unique");
    broker.answers(Route::Catalog, 200, catalog());
    let corrected = platform.update_broker(&broker).await;
    admin.completed(&corrected).await;
    assert_eq!(admin.get("/v3/service_offerings").await.total(), 1);
}

#[tokio::test]
async fn a_change_that_fails_is_rolled_back() {
    let (platform, broker) = Platform::with_broker().await;
    let admin = &platform.admin;
    let path = platform.broker_path().await;
    let before = admin.get(&path).await.body;

    broker.answers(Route::Catalog, 401, json!({}));
    let answer = admin.patch(&path, &broker.registration("renamed")).await;
    let error = admin.failed(&answer).await;

    assert!(
        error["detail"]
            .as_str()
            .unwrap()
            .starts_with("Authentication with the service broker failed"),
        "{error}"
    );
    assert_eq!(admin.get(&path).await.body["name"], before["name"]);
}

#[tokio::test]
async fn a_plan_that_left_the_catalog_goes_unless_it_has_instances() {
    let (platform, broker) = Platform::with_broker().await;
    let admin = &platform.admin;
    platform.instance("small", "kept").await;
    let mut smaller = catalog();
    smaller["services"][0]["plans"] =
        json!([{"id": "tiny-id", "name": "tiny", "description": "tiny one"}]);

    broker.answers(Route::Catalog, 200, smaller);
    let answer = platform.update_broker(&broker).await;
    let job = admin.completed(&answer).await;

    let warning = job["warnings"][0]["detail"].as_str().unwrap();
    assert!(
        warning.contains("(http://") && warning.ends_with("broker provider.\nredis\n  small\n"),
        "{warning}"
    );
    let plans = admin.get("/v3/service_plans?order_by=name").await.body;
    let plans: Vec<_> = plans["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(summary)
        .collect();
    assert_eq!(plans, [("small", false, "public"), ("tiny", true, "admin")]);
}

fn summary(plan: &Value) -> (&str, bool, &str) {
    (
        plan["name"].as_str().unwrap(),
        plan["available"].as_bool().unwrap(),
        plan["visibility_type"].as_str().unwrap(),
    )
}

#[tokio::test]
async fn a_broker_goes_only_when_it_has_no_instances() {
    let (platform, broker) = Platform::with_broker().await;
    let admin = &platform.admin;
    let guid = platform.instance("small", "db").await;
    let path = platform.broker_path().await;

    let refused = admin.delete(&path).await;
    let purged = admin
        .delete(&format!("/v3/service_instances/{guid}?purge=true"))
        .await;
    let accepted = admin.delete(&path).await;
    admin.completed(&accepted).await;

    assert_eq!(
        (refused.status.as_u16(), refused.rejection().1),
        (422, 270_010)
    );
    assert_eq!(purged.status, 204);
    assert!(
        broker.noted(Route::Deprovision).is_empty(),
        "a purge does not call the broker"
    );
    assert_eq!(
        admin.get(&path).await.rejection().3,
        "Service broker not found"
    );
    assert_eq!(admin.get("/v3/service_plans").await.total(), 0);
}

#[tokio::test]
async fn a_catalog_that_is_none_has_codes_of_its_own() {
    let (platform, broker) = (Platform::start().await, FakeBroker::start());
    let admin = &platform.admin;
    let table = [
        (
            404,
            json!({}),
            270_020,
            "The service broker rejected the request. Status Code: 404 Not Found. Please check that the URL points to \
             a valid service broker.",
        ),
        (
            200,
            Value::from("<html>"),
            270_021,
            "The service broker returned an invalid response: expected valid JSON object in body. Please check that \
             the URL points to a valid service broker.",
        ),
        (
            500,
            json!({"description": "on fire"}),
            10001,
            "Service broker error: on fire",
        ),
    ];
    for (index, (status, body, code, detail)) in table.into_iter().enumerate() {
        broker.answers(Route::Catalog, status, body);

        let registration = broker.registration(&format!("broker-{index}"));
        let answer = admin.post("/v3/service_brokers", &registration).await;
        let error = admin.failed(&answer).await;

        assert_eq!(
            (&error["code"], &error["detail"]),
            (&json!(code), &json!(detail))
        );
    }
}

#[tokio::test]
async fn a_service_whose_instances_exist_cannot_be_given_another_id() {
    let (platform, broker) = Platform::with_broker().await;
    let admin = &platform.admin;
    platform.instance("small", "kept").await;
    let mut renamed = catalog();
    renamed["services"][0]["id"] = json!("new-id");
    renamed["services"][0]["plans"] = json!([{"id": "p", "name": "p", "description": "p"}]);
    broker.answers(Route::Catalog, 200, renamed);

    let answer = platform.update_broker(&broker).await;
    let error = admin.failed(&answer).await;

    assert_eq!(error["code"], 270_012);
    assert_eq!(
        error["detail"],
        "Service broker catalog is invalid: \nService names must be unique within a broker. Services with names \
         [\"redis\"] already exist\n"
    );
}

#[tokio::test]
async fn another_broker_may_have_the_same_ids() {
    let (platform, _broker) = Platform::with_broker().await;
    let admin = &platform.admin;
    let other = FakeBroker::start();

    let answer = admin
        .post("/v3/service_brokers", &other.registration("other"))
        .await;
    admin.completed(&answer).await;

    let found = admin
        .get("/v3/service_offerings?broker_catalog_ids=redis-id")
        .await
        .body;
    assert_eq!(found["pagination"]["total_results"], 2);
}
