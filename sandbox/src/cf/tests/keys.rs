//! Service keys.

use serde_json::{Value, json};

use super::platform::{Platform, accepted, job, ok, page};
use super::shapes::found_instance;

#[tokio::test]
async fn a_failed_key_reports_what_only_the_last_operation_knows() {
    let binding = json!({"guid": "k-1", "last_operation": {"type": "create", "state": "failed", "description": "no room"}});
    let errors = json!([{"code": 10009, "title": "CF-UnableToPerform", "detail": "bind could not be completed"}]);
    let link = (
        "service_credential_binding",
        "/v3/service_credential_bindings/k-1",
    );
    let platform = Platform::start([
        found_instance(),
        (
            "POST /v3/service_credential_bindings",
            vec![accepted("j-1")],
        ),
        (
            "GET /v3/jobs/j-1",
            vec![job("service_keys.create", "FAILED", link, &errors)],
        ),
        ("GET /v3/service_credential_bindings/k-1", vec![ok(binding)]),
    ]);

    let seen = platform
        .cf(["create-service-key", "cache", "key", "--wait"])
        .await;

    assert_eq!(
        seen.steps().last(),
        Some(&"error: bind could not be completed; no room"),
        "{seen:?}"
    );
    assert_eq!(
        platform.body_of("POST"),
        json!({"type": "key", "name": "key", "relationships": {"service_instance": {"data": {"guid": "i-1"}}}})
    );
}

#[tokio::test]
async fn a_service_key_prints_the_credentials_and_nothing_else() {
    let credentials =
        json!({"host": "127.80.3.10", "port": 6379, "password": "s3cret", "secret": {"a": [1]}});
    let platform = Platform::start([
        found_instance(),
        (
            "GET /v3/service_credential_bindings",
            vec![page(&json!([{"guid": "k-1"}]))],
        ),
        (
            "GET /v3/service_credential_bindings/k-1/details",
            vec![ok(json!({"credentials": credentials}))],
        ),
    ]);

    let people = platform.cf(["service-key", "cache", "key"]).await;
    let programs = platform.cf(["service-key", "cache", "key", "--json"]).await;

    assert_eq!(
        people.data,
        "host:      127.80.3.10\nport:      6379\npassword:  s3cret\nsecret:    {\"a\":[1]}\n"
    );
    assert_eq!(
        serde_json::from_str::<Value>(&programs.data).unwrap(),
        credentials
    );
    assert_eq!(programs.data.lines().count(), 1);
    assert_eq!(people.stderr + &programs.stderr, "");
    assert_eq!(
        platform.calls()[1],
        "GET /v3/service_credential_bindings?names=key&page=1&per_page=1&service_instance_guids=i-1&type=key"
    );
}
