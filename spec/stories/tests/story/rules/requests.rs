//! G and C: every request, and the catalog.

use odb_stories::{Foundation, Order, new_id};
use reqwest::Method;
use serde_json::json;

/// G-04: minor versions only add members, so a newer one is supported as well.
#[tokio::test]
async fn every_minor_version_is_used() {
    let foundation = Foundation::start().await;
    let broker = foundation.broker().start().await;
    let platform = broker.platform();

    for version in ["2.0", "2.13", "2.15", "2.17", "2.99"] {
        let mut request = platform
            .request(Method::GET, "/v2/catalog")
            .build()
            .unwrap();
        let headers = request.headers_mut();
        headers.insert("X-Broker-API-Version", version.parse().unwrap());
        let answer = platform.execute(request).await;
        assert_eq!(answer.status, 200, "{version}: {answer:?}");
    }
}

/// G-07: the log has the originator of a request; an unreadable one is never rejected.
#[tokio::test]
async fn the_originating_identity_is_logged_and_never_a_reason_to_refuse() {
    let foundation = Foundation::start().await;
    let broker = foundation.broker().start().await;
    let platform = broker.platform();
    // {"user_id":"683ea748-3092-4ff4-b656-39cacc4d5360"}
    let known = "cloudfoundry eyJ1c2VyX2lkIjoiNjgzZWE3NDgtMzA5Mi00ZmY0LWI2NTYtMzljYWNjNGQ1MzYwIn0=";

    for (value, logged) in [
        (known, "683ea748-3092-4ff4-b656-39cacc4d5360"),
        ("cloudfoundry", "cannot be understood"),
        ("cloudfoundry %%%", "cannot be understood"),
    ] {
        let request = platform.request(Method::GET, "/v2/catalog");
        let request = request.header("X-Broker-API-Originating-Identity", value);
        let answer = platform.send(request).await;
        assert_eq!(answer.status, 200, "{value}: {answer:?}");
        let log = broker.log_of_request(&answer.request_id());
        assert!(log.iter().any(|line| line.mentions(logged)), "{log:?}");
    }
}

/// G-10 and G-12: a body has a content type or not, and may have unknown members.
#[tokio::test]
async fn a_body_may_come_without_a_type_and_with_unknown_members() {
    let foundation = Foundation::start().await;
    let broker = foundation.broker().start().await;
    let platform = broker.platform();
    let order = Order::small()
        .with("new_in_3_0", json!({ "a": [1] }))
        .with("maintenance_info", json!({ "unheard": "of" }));

    for content_type in [None, Some("application/json; charset=utf-8")] {
        let instance = new_id();
        let path = format!("/v2/service_instances/{instance}?{}&unknown=1", order.query);
        let mut request = platform.request(Method::PUT, &path);
        if let Some(content_type) = content_type {
            request = request.header("Content-Type", content_type);
        }
        let body = platform.provision_body(&order).to_string();
        platform.send(request.body(body)).await.accepted();
    }
}

/// G-23: what only the operator is to know does not reach users.
#[tokio::test]
async fn an_error_reports_users_no_internals() {
    let foundation = Foundation::start().await;
    let adapter = foundation.adapters().script("echo 10.0.0.1 >&2; exit 1");
    let broker = foundation.broker().with_adapter(&adapter).start().await;

    let answer = broker
        .platform()
        .provision(&new_id(), &Order::small())
        .await;

    let reported = answer.expect_status(500).description();
    assert!(reported.contains(&answer.request_id()), "{reported}");
    for internal in ["10.0.0.1", "adapter", "panicked", "src/"] {
        assert!(!reported.contains(internal), "{reported}");
    }
}

/// C-01, C-02 and C-04.
#[tokio::test]
async fn a_catalog_that_is_known_is_not_sent_again() {
    let foundation = Foundation::start().await;
    let mut broker = foundation.broker().start().await;
    let first = broker.platform().catalog().await;
    let tag = first.expect_status(200).header("etag").to_owned();
    assert!(tag.starts_with('"') && tag.len() > 2, "it is strong: {tag}");
    broker.stop().await;
    broker.start_again().await;
    let platform = broker.platform();

    let again = platform.catalog().await;
    assert_eq!((&again.text, again.header("etag")), (&first.text, &*tag));
    for known in [&tag, "*", &format!("\"other\", W/{tag}")] {
        let request = platform.request(Method::GET, "/v2/catalog");
        let answer = platform.send(request.header("If-None-Match", known)).await;
        assert_eq!(answer.status, 304, "{known}: {answer:?}");
        assert_eq!((answer.header("etag"), &*answer.text), (&*tag, ""));
    }
    for unknown in ["\"other\"", "other", ""] {
        let request = platform.request(Method::GET, "/v2/catalog");
        let answer = platform
            .send(request.header("If-None-Match", unknown))
            .await;
        assert_eq!(answer.status, 200, "{unknown}: {answer:?}");
    }
}
