//! Rate limits.

use std::time::Duration;

use odb_sandbox::{cloud_controller::RateLimits, store::Store};

use crate::platform::Platform;

#[tokio::test]
async fn a_client_with_too_many_requests_reads_when_to_retry() {
    let platform = Platform::adapted(&Store::in_memory(), |settings| {
        settings.rate_limits = Some(RateLimits {
            general: 2,
            unauthenticated: 1,
            reset_interval: Duration::from_hours(1),
        });
    })
    .await;
    let path = "/v3/spaces";

    let first = platform.developer.get(path).await;
    assert_eq!(first.status, 200);
    assert_eq!(
        (
            first.header("X-RateLimit-Limit"),
            first.header("X-RateLimit-Remaining")
        ),
        ("2", "1")
    );
    platform.developer.get(path).await;
    let third = platform.developer.get(path).await;

    assert_eq!(
        third.rejection(),
        (429, 10013, "CF-RateLimitExceeded", "Rate Limit Exceeded")
    );
    assert_eq!(
        third.header("Content-Type"),
        "text/plain; charset=utf-8",
        "although it is JSON"
    );
    assert_eq!(
        third.header("Retry-After"),
        third.header("X-RateLimit-Reset")
    );
    assert!(third.header("Retry-After").parse::<u64>().is_ok());
    assert_eq!(platform.developer.get("/v3").await.status, 200);
    for _ in 0..4 {
        assert_eq!(platform.admin.get(path).await.status, 200);
    }
    let plans = "/v3/service_plans";
    assert_eq!(platform.anonymous().get(plans).await.status, 200);
    assert_eq!(platform.anonymous().get(plans).await.rejection().1, 10014);
}

#[tokio::test]
async fn without_limits_nothing_is_said_about_them() {
    let platform = Platform::start().await;

    let answer = platform.developer.get("/v3/spaces").await;

    assert_eq!(answer.header("X-RateLimit-Limit"), "");
}
