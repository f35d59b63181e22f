//! G and C: every request, and the catalog.

use odb_stories::Foundation;
use reqwest::Method;

/// G-07: the log has the originator of a request; an unreadable one is never rejected.
#[tokio::test]
async fn the_originating_identity_is_logged_and_never_a_reason_to_refuse() {
    let (_foundation, broker) = Foundation::setup().start_with_broker().await;
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
