//! The story of Redis with the adapter that is a folder of templates.

use odb_stories::{BrokerConfiguration, Foundation, Order, ProcessTable, Redis, new_id};
use serde_json::json;

use crate::{history_of_a_deletion, history_of_an_order};

/// A broker that looks for pending changes before each update.
fn broker(foundation: &Foundation) -> BrokerConfiguration<'_> {
    let folder = foundation.adapter_folder("redis");
    foundation
        .broker()
        .with_adapter(&folder.executable())
        .with("/broker/skip_check_for_pending_changes", false.into())
}

#[tokio::test]
async fn a_redis_of_a_folder_runs_keeps_its_data_over_updates_and_is_gone_after_its_deletion() {
    let foundation = Foundation::start().await;
    let broker = broker(&foundation).start().await;
    let (platform, director) = (broker.platform(), foundation.director());
    let (instance, binding) = (new_id(), new_id());

    platform.create(&instance).await;
    let bound = platform.bind(&instance, &binding).await;
    let credentials = bound.expect_status(201).json()["credentials"].clone();
    let mut redis = Redis::connect(&credentials).await;
    assert_eq!(redis.info("clients", "maxclients").await, "10000");
    assert_eq!(redis.command(&["SET", "greeting", "hello"]).await, "OK");

    let change = Order::small().with_parameters(json!({ "maxclients": 250 }));
    for change in [change, Order::large()] {
        let token = platform.update(&instance, &change).await.accepted();
        let updated = platform.end_of_operation(&instance, &token).await;
        assert_eq!(updated.state, "succeeded", "{updated:?}");
        let mut redis = Redis::connect(&credentials).await;
        // An earlier choice stays, also in another plan.
        assert_eq!(redis.info("clients", "maxclients").await, "250");
        assert_eq!(redis.command(&["GET", "greeting"]).await, "hello");
    }
    let mut redis = Redis::connect(&credentials).await;
    let process: u32 = redis.info("server", "process_id").await.parse().unwrap();

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
    director.expect_nothing_left().await;
    let history = [
        history_of_an_order(&instance),
        history_of_an_order(&instance),
        history_of_an_order(&instance),
        history_of_a_deletion(&instance),
    ];
    assert_eq!(director.history().await, history.concat());
}

#[tokio::test]
async fn secrets_of_a_redis_of_a_folder_are_kept_where_manifests_are_secure() {
    let foundation = Foundation::start().await;
    let folder = foundation.adapter_folder("redis");
    folder.edit(
        "adapter.yml",
        "secure_manifests_enabled: false",
        "secure_manifests_enabled: true",
    );
    let broker = foundation
        .broker()
        .with_secure_manifests()
        .with_adapter(&folder.executable())
        .with("/broker/skip_check_for_pending_changes", false.into())
        .with(
            "/service_catalog/global_properties",
            json!({ "persistence": true, "plan_secret": "of-the-plan" }),
        )
        .start()
        .await;
    let (platform, instance) = (broker.platform(), new_id());
    let chosen = json!({ "odb_managed_secret": "first-value" });
    platform
        .provision_to_the_end(&instance, &Order::small().with_parameters(chosen))
        .await;

    let deployment = format!("service-instance_{instance}");
    let manifest = foundation.director().manifest(&deployment).await;
    for secret in ["first-value", "of-the-plan", "odb_secret:"] {
        assert!(!manifest.contains(secret), "{secret}: {manifest}");
    }
    let bound = platform.bind(&instance, &new_id()).await;
    let credentials = bound.expect_status(201).json()["credentials"].clone();
    assert_eq!(credentials["odb_managed_secret"], "first-value");
    assert_ne!(credentials["generated_secret"], "");
    let mut redis = Redis::connect(&credentials).await;
    assert_eq!(redis.command(&["PING"]).await, "PONG");

    let change = Order::small().with_parameters(json!({ "maxclients": 250 }));
    platform.update_to_the_end(&instance, &change).await;

    // All but the number of clients is as it was.
    let after = foundation.director().manifest(&deployment).await;
    assert_eq!(
        after,
        manifest.replace("maxclients: 10000", "maxclients: 250")
    );
    let bound = platform.bind(&instance, &new_id()).await;
    let again = bound.expect_status(201).json()["credentials"].clone();
    assert_eq!(again, credentials);
}
