//! The requests to a broker (`spec/contracts/platform-apis.md`, "CC → broker: requests").

use base64::{Engine, prelude::BASE64_STANDARD};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    broker::{Noted, Route},
    platform::Platform,
};

fn keys(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

fn user(noted: &Noted) -> Value {
    let identity = &noted.headers["x-broker-api-originating-identity"];
    let user = BASE64_STANDARD
        .decode(identity.strip_prefix("cloudfoundry ").unwrap())
        .unwrap();
    serde_json::from_slice(&user).unwrap()
}

#[tokio::test]
async fn every_request_carries_the_headers_of_a_cloud_controller() {
    let (platform, broker) = Platform::with_broker().await;
    platform.instance("small", "db").await;

    let noted = broker.noted(Route::Provision).remove(0);

    let header = |name: &str| noted.headers.get(name).map_or("", String::as_str);
    assert_eq!(header("authorization"), "Basic YnJva2VyOnBhc3M6d29yZA==");
    assert_eq!(header("x-broker-api-version"), "2.15");
    assert_eq!(header("accept"), "application/json");
    assert_eq!(header("content-type"), "application/json");
    assert_eq!(
        header("x-api-info-location"),
        format!("{}/", platform.url.strip_prefix("http://").unwrap())
    );
    for name in [
        "x-vcap-request-id",
        "x-broker-api-request-identity",
        "x-b3-traceid",
        "x-b3-spanid",
    ] {
        assert!(!header(name).is_empty(), "{name}");
    }
    assert!(
        user(&noted)["user_id"]
            .as_str()
            .unwrap()
            .parse::<uuid::Uuid>()
            .is_ok()
    );
    assert_eq!(noted.query, "accepts_incomplete=true");
}

#[tokio::test]
async fn the_request_id_of_a_client_reaches_the_broker() {
    let (platform, broker) = Platform::with_broker().await;
    let user = &platform.developer;
    let order = platform.order("small", "db").await.to_string();

    let answer = user
        .send(Method::POST, "/v3/service_instances", Some(order))
        .await;
    user.completed(&answer).await;

    let reported = answer.header("x-vcap-request-id");
    assert_eq!(
        broker.noted(Route::Provision)[0].headers["x-vcap-request-id"],
        reported
    );
}

#[tokio::test]
async fn a_provision_reports_who_orders_what_and_where() {
    let (platform, broker) = Platform::with_broker().await;
    let user = &platform.developer;
    let mut order = platform.order("small", "db").await;
    order["parameters"] = json!({"maxclients": 250});

    let answer = user.post("/v3/service_instances", &order).await;
    user.completed(&answer).await;
    platform.instance("large", "plain").await;

    let noted = broker.noted(Route::Provision);
    assert_eq!(
        noted[0].body.to_string(),
        json!({
            "service_id": "redis-id",
            "plan_id": "small-id",
            "organization_guid": platform.organization,
            "space_guid": platform.space,
            "context": {
                "platform": "cloudfoundry",
                "organization_guid": platform.organization,
                "space_guid": platform.space,
                "organization_name": "acme",
                "space_name": "development",
                "organization_annotations": {},
                "space_annotations": {},
                "instance_name": "db",
                "instance_annotations": {},
            },
            "parameters": {"maxclients": 250},
            "maintenance_info": {"version": "1.2.0", "description": "jammy 1.80"},
        })
        .to_string()
    );
    assert_eq!(
        keys(&noted[1].body),
        [
            "service_id",
            "plan_id",
            "organization_guid",
            "space_guid",
            "context"
        ],
        "what was not given is left out"
    );
}

#[tokio::test]
async fn an_update_reports_what_was_and_always_has_parameters() {
    let (platform, broker) = Platform::with_broker().await;
    let guid = platform.instance("large", "db").await;
    let small = json!({"relationships": {"service_plan": {"data": {"guid": platform.plan("small").await}}}});

    let answer = platform
        .developer
        .patch(&format!("/v3/service_instances/{guid}"), &small)
        .await;
    platform.developer.completed(&answer).await;

    let body = broker.noted(Route::Update).remove(0).body;
    assert_eq!(
        keys(&body),
        [
            "service_id",
            "plan_id",
            "previous_values",
            "context",
            "parameters",
            "maintenance_info"
        ]
    );
    assert_eq!(
        (&body["plan_id"], &body["parameters"]),
        (&json!("small-id"), &json!({}))
    );
    assert_eq!(
        body["previous_values"],
        json!({
            "plan_id": "large-id", "service_id": "redis-id",
            "organization_id": platform.organization, "space_id": platform.space,
        })
    );
    assert_eq!(
        body["maintenance_info"],
        json!({"version": "1.2.0"}),
        "the version of the plan to come"
    );
    assert_eq!(body["context"]["instance_name"], "db");
    assert!(body["context"].get("instance_annotations").is_none());
}

#[tokio::test]
async fn a_key_names_the_client_that_reads_it() {
    let (platform, broker) = Platform::with_broker().await;
    let guid = platform.instance("small", "db").await;
    let answer = platform.asks_for_key(&guid).await;
    platform.developer.completed(&answer).await;

    let noted = broker.noted(Route::Bind).remove(0);
    assert!(
        noted
            .path
            .starts_with(&format!("/v2/service_instances/{guid}/service_bindings/")),
        "{}",
        noted.path
    );
    assert_eq!(
        keys(&noted.body),
        ["service_id", "plan_id", "bind_resource", "context"]
    );
    assert_eq!(
        noted.body["bind_resource"],
        json!({"credential_client_id": "cc_service_key_client"})
    );
    assert!(noted.body["context"].get("instance_name").is_none());
}

#[tokio::test]
async fn a_poll_hands_back_what_the_broker_gave() {
    let (platform, broker) = Platform::with_broker().await;
    broker.takes_its_time();
    broker.answers(Route::Provision, 202, json!({"operation": "{\"task\": 7}"}));
    broker.ends("succeeded", "");

    platform.instance("small", "db").await;

    let noted = broker.noted(Route::LastOperation).remove(0);
    assert_eq!(
        noted.query,
        "operation=%7B%22task%22%3A+7%7D&plan_id=small-id&service_id=redis-id"
    );
    assert!(user(&noted)["user_id"].is_string());
}

#[tokio::test]
async fn annotations_with_a_prefix_reach_the_broker() {
    let (platform, broker) = Platform::with_broker().await;
    let annotations =
        json!({"metadata": {"annotations": {"acme.example/cost": "42", "private": "x"}}});
    let mut order = platform.order("small", "db").await;
    order["metadata"] = annotations["metadata"].clone();

    let answer = platform
        .developer
        .post("/v3/service_instances", &order)
        .await;
    platform.developer.completed(&answer).await;

    let context = broker.noted(Route::Provision).remove(0).body["context"].clone();
    assert_eq!(
        context["instance_annotations"],
        json!({"acme.example/cost": "42"})
    );
}

#[tokio::test]
async fn what_a_broker_says_of_an_instance_is_kept() {
    let (platform, broker) = Platform::with_broker().await;
    let user = &platform.developer;
    broker.answers(
        Route::Provision,
        201,
        json!({
            "dashboard_url": "https://dashboard",
            "metadata": {"labels": {"tier": "gold"}, "attributes": {"region": "eu"}},
        }),
    );
    let guid = platform.instance("small", "db").await;
    let path = format!("/v3/service_instances/{guid}");

    let shown = user.get(&path).await.body;
    assert_eq!(shown["dashboard_url"], "https://dashboard");
    assert_eq!(
        shown["broker_provided_metadata"],
        json!({"labels": {"tier": "gold"}, "attributes": {"region": "eu"}})
    );
    broker.answers(Route::Update, 200, json!({"dashboard_url": "https://new"}));
    let answer = user.patch(&path, &json!({"parameters": {"a": 1}})).await;
    user.completed(&answer).await;
    let shown = user.get(&path).await.body;
    assert_eq!(shown["dashboard_url"], "https://new");
}
