//! A user orders a Redis, uses it, changes it, and deletes it.

use odb_stories::{Foundation, Order, ProcessTable, Redis, new_id};
use serde_json::json;
use tokio::net::TcpStream;

use crate::{history_of_a_deletion, history_of_an_order};

#[tokio::test]
async fn an_ordered_redis_runs_keeps_its_data_over_an_update_and_is_gone_after_its_deletion() {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;
    let (platform, director) = (broker.platform(), foundation.director());
    let (instance, binding) = (new_id(), new_id());

    platform.create(&instance).await;
    let bound = platform.bind(&instance, &binding).await;
    let credentials = bound.expect_status(201).json()["credentials"].clone();
    let mut redis = Redis::connect(&credentials).await;
    assert_eq!(redis.command(&["SET", "greeting", "hello"]).await, "OK");
    assert_eq!(redis.command(&["GET", "greeting"]).await, "hello");

    let change = Order::small().with_parameters(json!({ "maxclients": 250 }));
    let token = platform.update(&instance, &change).await.accepted();
    let updated = platform.end_of_operation(&instance, &token).await;
    assert_eq!(updated.state, "succeeded", "{updated:?}");
    // The old credentials, and so the old password.
    let mut redis = Redis::connect(&credentials).await;
    assert_eq!(redis.info("clients", "maxclients").await, "250");
    assert_eq!(redis.command(&["GET", "greeting"]).await, "hello");
    let process: u32 = redis.info("server", "process_id").await.parse().unwrap();
    assert_eq!(ProcessTable::look().family_of(process).len(), 1);

    platform
        .unbind(&instance, &binding)
        .await
        .expect_status(200);
    let token = platform.deprovision(&instance).await.accepted();
    let deleted = platform.end_of_operation(&instance, &token).await;
    assert!(
        ["succeeded", "gone"].contains(&deleted.state.as_str()),
        "{deleted:?}"
    );

    assert!(ProcessTable::look().family_of(process).is_empty());
    let address = (credentials["host"].as_str().unwrap(), 6379);
    let refused = TcpStream::connect(address).await.unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
    director.expect_nothing_left().await;
    let history = [
        history_of_an_order(&instance),
        history_of_an_order(&instance),
        history_of_a_deletion(&instance),
    ];
    assert_eq!(director.history().await, history.concat());
    let afterwards = platform.last_operation(&instance, &token).await;
    let still_known = afterwards.status == 200 && afterwards.json()["state"] == "succeeded";
    assert!(still_known || afterwards.status == 410, "{afterwards:?}");
}

#[tokio::test]
async fn progress_reports_which_step_of_which_instance_is_being_taken() {
    let (_foundation, broker) = Foundation::setup()
        .with("/director/durations/step", "300ms")
        .start_with_broker()
        .await;
    let instance = new_id();

    let ordered = broker
        .platform()
        .provision(&instance, &Order::small())
        .await;
    let ended = broker
        .platform()
        .end_of_operation(&instance, &ordered.accepted())
        .await;

    assert_eq!(ended.state, "succeeded", "{ended:?}");
    let of_the_instance = ended
        .descriptions
        .iter()
        .filter(|text| text.contains("redis-server/0"));
    assert!(of_the_instance.count() >= 2, "{ended:#?}");
    let errand = |text: &String| text.contains("health-check");
    assert!(ended.descriptions.iter().any(errand), "{ended:#?}");
}
