//! Tokens, errors and foundations that do not answer.

use serde_json::json;

use super::platform::{Platform, ok, page, refused};
use super::shapes::{instance, plan};

#[tokio::test]
async fn a_token_that_has_run_out_is_replaced_once() {
    let expired = || refused(401, 1000, "CF-InvalidAuthToken", "Invalid Auth Token");
    let platform = Platform::start([("GET /v3/info", vec![expired(), ok(json!({"build": ""}))])]);
    let never = Platform::start([("GET /v3/info", vec![expired()])]);

    assert_eq!(
        platform.cf(["curl", "/v3/info"]).await.data,
        "{\"build\":\"\"}\n"
    );
    let seen = never.cf(["curl", "/v3/info"]).await;

    assert!(!seen.succeeded);
    assert_eq!(never.calls().len(), 2);
}

#[tokio::test]
async fn rejections_are_reported_in_the_cloud_controllers_words_with_a_hint() {
    let in_progress = "An operation for service instance cache is in progress.";
    let platform = Platform::start([
        (
            "GET /v3/service_plans",
            vec![page(&json!([plan("p-1", "small")])), page(&json!([]))],
        ),
        (
            "POST /v3/service_instances",
            vec![refused(
                422,
                10008,
                "CF-UnprocessableEntity",
                "The service instance name is taken: cache.",
            )],
        ),
        (
            "GET /v3/service_instances",
            vec![page(&json!([instance("in progress", "")]))],
        ),
        (
            "DELETE /v3/service_instances/i-1",
            vec![refused(
                409,
                60016,
                "CF-AsyncServiceInstanceOperationInProgress",
                in_progress,
            )],
        ),
    ]);

    let taken = platform
        .cf(["create-service", "redis", "small", "cache"])
        .await;
    let unknown = platform
        .cf(["create-service", "redis", "huge", "cache"])
        .await;
    let busy = platform.cf(["delete-service", "cache"]).await;

    assert_eq!(
        taken.stderr,
        "error: The service instance name is taken: cache. (CF-UnprocessableEntity, status 422)\n\
         \nhint: choose another name, or delete that service instance first\n"
    );
    // The platform has no plan of this offering, so the offering is what is wrong.
    assert!(
        unknown
            .stderr
            .starts_with("error: unknown offering `redis`\n\nhint: "),
        "{}",
        unknown.stderr
    );
    assert!(
        busy.stderr.starts_with(&format!("error: {in_progress} "))
            && busy.stderr.contains("hint: wait for")
    );
}

#[tokio::test]
async fn curl_prints_what_it_gets_and_refuses_what_is_no_path() {
    let platform = Platform::start([("GET /v3/jobs", vec![ok(json!({"a": 1}))])]);

    assert_eq!(
        platform.cf(["curl", "/v3/jobs?x=%2C"]).await.data,
        "{\"a\":1}\n"
    );
    assert_eq!(platform.calls(), ["GET /v3/jobs?x=,"]);
    assert!(
        !platform
            .cf(["curl", "https://elsewhere.example/"])
            .await
            .succeeded
    );
    let missing = platform.cf(["curl", "/v3/nothing"]).await;
    assert_eq!(
        missing.stderr,
        "error: Unknown request (CF-NotFound, status 404)\n"
    );
}

#[tokio::test]
async fn a_foundation_that_is_gone_is_reported_as_such_and_without_its_secrets() {
    let platform = Platform::start([]);
    platform.file(
        "foundation.json",
        r#"{"ca_certificate": "ca.pem", "cloud_controller": {"url": "https://127.0.0.1:1", "uaa_url": "https://127.0.0.1:1",
            "admin_user": {"name": "a", "password": "adminsecret"}, "user": {"name": "d", "password": "developersecret"},
            "space": {"guid": "s"}}}"#,
    );

    let seen = platform.cf(["services"]).await;

    assert!(
        seen.stderr
            .starts_with("error: no answer to POST `https://127.0.0.1:1/oauth/token`: "),
        "{}",
        seen.stderr
    );
    assert!(
        seen.stderr.contains("hint: is the sandbox still running?"),
        "{}",
        seen.stderr
    );
    assert!(!seen.stderr.contains("secret"), "{}", seen.stderr);
    std::fs::remove_file(platform.foundation()).unwrap();
    let missing = platform.cf(["services"]).await;
    assert!(
        missing.stderr.starts_with("error: could not read `"),
        "{}",
        missing.stderr
    );
    assert!(
        missing
            .stderr
            .contains("hint: start a foundation with `odb-sandbox up`"),
        "{}",
        missing.stderr
    );
}

#[tokio::test]
async fn a_server_with_another_authority_is_not_called() {
    let platform = Platform::start([]);
    let other = Platform::start([]);
    let unauthenticated_client =
        std::fs::read_to_string(other.file("x", "").replace("/x", "/ca.pem")).unwrap();
    platform.file("ca.pem", &unauthenticated_client);

    let seen = platform.cf(["services"]).await;

    assert!(!seen.succeeded);
    assert!(platform.asked().is_empty());
    assert!(
        seen.stderr.starts_with("error: no answer to POST "),
        "{}",
        seen.stderr
    );
}

#[tokio::test]
async fn a_read_request_is_retried_when_the_platform_fails_and_an_order_is_not() {
    let stumble = || {
        refused(
            502,
            20004,
            "CF-UaaUnavailable",
            "The UAA service is currently unavailable",
        )
    };
    let platform = Platform::start([
        (
            "GET /v3/service_instances",
            vec![
                stumble(),
                stumble(),
                page(&json!([instance("succeeded", "")])),
            ],
        ),
        ("DELETE /v3/service_instances/i-1", vec![stumble()]),
    ]);

    let seen = platform.cf(["delete-service", "cache", "--wait"]).await;

    assert!(!seen.succeeded);
    assert!(
        seen.stderr
            .contains("error: The UAA service is currently unavailable"),
        "{}",
        seen.stderr
    );
    for (method, expected) in [("GET", 3), ("DELETE", 1)] {
        let calls = platform.calls().into_iter();
        let sent = calls.filter(|call| call.starts_with(method)).count();
        assert_eq!(sent, expected, "{method}");
    }
}
