//! Keys and app bindings.

use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    broker::{FakeBroker, Route, catalog},
    platform::Platform,
};

const BINDINGS: &str = "/v3/service_credential_bindings";

fn key(instance: &str, name: &str) -> Value {
    json!({"type": "key", "name": name, "relationships": {"service_instance": {"data": {"guid": instance}}}})
}

/// Where the binding is that a job is about.
fn link(job: &Value) -> &str {
    let link = &job["links"]["service_credential_binding"]["href"];
    link.as_str().unwrap()
}

#[tokio::test]
async fn a_key_shows_its_credentials_in_its_details_only() {
    let (platform, _broker) = Platform::with_broker().await;
    let user = &platform.developer;
    let instance = platform.instance("small", "db").await;

    let created = user.post(BINDINGS, &key(&instance, "k")).await;
    let job = user.completed(&created).await;

    assert_eq!(job["operation"], "service_keys.create");
    let link = link(&job);
    let found = user
        .get(&format!(
            "{BINDINGS}?names=k&service_instance_guids={instance}&type=key"
        ))
        .await;
    assert_eq!(found.total(), 1);
    assert!(!found.body.to_string().contains("s3cr3t"));
    let details = user.get(&format!("{link}/details")).await;
    assert_eq!(details.body, json!({"credentials": {"password": "s3cr3t"}}));
}

/// A broker that keeps credentials in CredHub must let the Cloud Controller read them: without that permission CredHub
/// answers 404.
#[tokio::test]
async fn a_key_shows_what_its_reference_means_once_the_cloud_controller_may_read_it() {
    let (platform, broker) = Platform::with_broker().await;
    let user = &platform.developer;
    let reference = "/c/redis-id/instance/binding/credentials";
    let credential = json!({"name": reference, "type": "json", "value": {"password": "hunter2"}});
    let stored = platform
        .credhub(Method::PUT, "/api/v1/data", &credential)
        .await;
    assert_eq!(stored.status, 200, "{}", stored.body);
    let given = json!({"credentials": {"credhub-ref": reference}});
    broker.answers(Route::Bind, 201, given);
    let instance = platform.instance("small", "db").await;
    let created = platform.asks_for_key(&instance).await;
    let job = user.completed(&created).await;
    let link = link(&job);
    let details = format!("{link}/details");

    let refused = user.get(&details).await;
    let permission = json!({
        "path": reference, "actor": "uaa-client:cc_service_key_client", "operations": ["read"],
    });
    let permitted = platform
        .credhub(Method::POST, "/api/v2/permissions", &permission)
        .await;
    assert_eq!(permitted.status, 201, "{}", permitted.body);
    let shown = user.get(&details).await;

    assert_eq!(
        refused.rejection(),
        (
            503,
            10015,
            "CF-ServiceUnavailable",
            "Fetching credentials from CredHub failed; reason: The request could not be completed because the \
             credential does not exist or you do not have sufficient authorization."
        )
    );
    assert_eq!(shown.body, json!({"credentials": {"password": "hunter2"}}));
}

#[tokio::test]
async fn a_deleted_key_is_gone_there_and_here() {
    let (platform, broker) = Platform::with_broker().await;
    let user = &platform.developer;
    let instance = platform.instance("small", "db").await;
    let created = user.post(BINDINGS, &key(&instance, "k")).await;
    let job = user.completed(&created).await;
    let link = link(&job);

    let deleted = user.delete(link).await;
    let job = user.completed(&deleted).await;

    assert_eq!(job["operation"], "service_keys.delete");
    assert_eq!(user.get(link).await.status, 404);
    assert_eq!(
        broker.noted(Route::Unbind)[0].query,
        "accepts_incomplete=true&plan_id=small-id&service_id=redis-id"
    );
}

#[tokio::test]
async fn an_app_is_bound_once() {
    let (platform, broker) = Platform::with_broker().await;
    let user = &platform.developer;
    let instance = platform.instance("small", "db").await;
    let app = platform.app("shop").await;

    let created = platform.binds(&app, &instance).await;
    user.completed(&created).await;
    let again = platform.binds(&app, &instance).await;

    assert_eq!(
        again.rejection().3,
        "The app is already bound to the service instance"
    );
    let listed = user
        .get(&format!(
            "{BINDINGS}?include=app&service_instance_guids={instance}"
        ))
        .await
        .body;
    assert_eq!(listed["included"]["apps"][0]["name"], "shop");
    assert_eq!(
        listed["resources"][0]["relationships"]["app"]["data"]["guid"],
        app.as_str()
    );
    let noted = &broker.noted(Route::Bind)[0];
    assert_eq!(noted.query, "accepts_incomplete=true");
    let members: Vec<_> = noted.body.as_object().unwrap().keys().collect();
    assert_eq!(
        members,
        [
            "service_id",
            "plan_id",
            "app_guid",
            "bind_resource",
            "context"
        ]
    );
    assert_eq!(noted.body["app_guid"], app.as_str());
    assert_eq!(
        noted.body["bind_resource"],
        json!({"app_guid": app, "space_guid": platform.space, "app_annotations": {}})
    );
}

#[tokio::test]
async fn an_asynchronous_binding_is_fetched_when_it_is_there() {
    let mut retrievable = catalog();
    retrievable["services"][0]["bindings_retrievable"] = json!(true);
    let (platform, broker) = (
        Platform::start().await,
        FakeBroker::with_catalog(retrievable),
    );
    let user = &platform.developer;
    platform.register(&broker).await;
    let instance = platform.instance("small", "db").await;
    broker.answers(Route::Bind, 202, json!({"operation": "b"}));
    broker.answers(
        Route::Fetch,
        200,
        json!({"credentials": {"password": "late"}}),
    );
    broker.ends("succeeded", "");

    let created = user.post(BINDINGS, &key(&instance, "k")).await;
    let job = user.completed(&created).await;

    let link = link(&job);
    assert_eq!(
        user.get(&format!("{link}/details")).await.body["credentials"]["password"],
        "late"
    );
}

#[tokio::test]
async fn an_asynchronous_binding_that_cannot_be_fetched_fails_without_mitigation() {
    let (platform, broker) = Platform::with_broker().await;
    let user = &platform.developer;
    let instance = platform.instance("small", "db").await;
    broker.answers(Route::Bind, 202, json!({"operation": "b"}));

    let created = user.post(BINDINGS, &key(&instance, "k")).await;
    let error = user.failed(&created).await;

    assert_eq!(error["code"], 90001);
    assert!(
        broker.noted(Route::Unbind).is_empty(),
        "nothing is cleaned up"
    );
}
