//! The same story through the Cloud Controller.

use odb_stories::{Foundation, Redis};
use serde_json::Value;

#[tokio::test]
async fn a_developer_orders_uses_and_deletes_a_redis_of_the_marketplace() {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;
    let cf = foundation.cf();

    cf.register(&broker).await;
    let marketplace = cf.run(&["marketplace"]).await.succeeded();
    assert!(marketplace.contains("redis"), "{marketplace}");
    assert!(marketplace.contains("small"), "{marketplace}");

    cf.run(&["create-service", "redis", "small", "cache", "--wait"])
        .await
        .succeeded();
    cf.run(&["create-service-key", "cache", "key", "--wait"])
        .await
        .succeeded();
    let key = cf.run(&["service-key", "cache", "key", "--json"]).await;
    let credentials: Value = serde_json::from_str(&key.succeeded()).unwrap();
    let mut redis = Redis::connect(&credentials).await;
    assert_eq!(redis.command(&["SET", "greeting", "hello"]).await, "OK");
    assert_eq!(redis.command(&["GET", "greeting"]).await, "hello");

    cf.run(&["delete-service-key", "cache", "key", "--wait"])
        .await
        .succeeded();
    cf.run(&["delete-service", "cache", "--wait"])
        .await
        .succeeded();
    foundation.director().expect_nothing_left().await;
}

#[tokio::test]
async fn a_developer_reads_what_the_adapter_says_of_a_wrong_parameter() {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;
    let cf = foundation.cf();
    cf.register(&broker).await;

    let order = ["create-service", "redis", "small", "cache", "-c"];
    let order = [&order[..], &[r#"{"maxclient": 5}"#, "--wait"]].concat();
    let said = cf.run(&order).await.failed();

    assert!(
        said.contains("unsupported parameter(s) for this service plan: maxclient"),
        "{said}"
    );
    foundation.director().expect_untouched().await;
}
