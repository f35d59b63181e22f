//! The story of the example for authors, `redis-service-adapter`, where manifests are secure. `scripts/try` has the story where
//! they are not.

use odb_stories::{Binaries, Foundation, Order, Redis, new_id};
use serde_json::json;

#[tokio::test]
async fn the_password_of_the_example_is_in_credhub_and_in_bindings_only() {
    let foundation = Foundation::start().await;
    let program = Binaries::find().path("redis-service-adapter");
    let script = format!(
        "export REDIS_ADAPTER_CONFIG=$folder/redis.conf\nexec '{}' \"$@\"",
        program.display()
    );
    let adapter = foundation.adapters().script(&script);
    let broker = foundation
        .broker()
        .with_secure_manifests()
        .with_adapter(&adapter)
        .with("/broker/skip_check_for_pending_changes", false.into())
        .start()
        .await;
    let (platform, instance, binding) = (broker.platform(), new_id(), new_id());
    platform
        .provision_to_the_end(&instance, &Order::small())
        .await;

    let bound = platform.bind(&instance, &binding).await;
    let credentials = bound.expect_status(201).json()["credentials"].clone();
    let mut redis = Redis::connect(&credentials).await;
    assert_eq!(redis.command(&["SET", "greeting", "hello"]).await, "OK");
    let deployment = format!("service-instance_{instance}");
    let manifest = foundation.director().manifest(&deployment).await;
    let password = credentials["password"].as_str().unwrap();
    assert!(!manifest.contains(password), "{manifest}");
    assert!(manifest.contains("/password))"), "{manifest}");

    let change = Order::small().with_parameters(json!({ "maxclients": 250 }));
    platform.update_to_the_end(&instance, &change).await;
    let mut redis = Redis::connect(&credentials).await;
    assert_eq!(redis.info("clients", "maxclients").await, "250");
    assert_eq!(redis.command(&["GET", "greeting"]).await, "hello");

    platform
        .unbind(&instance, &binding)
        .await
        .expect_status(200);
    platform.delete_to_the_end(&instance).await;
    foundation.director().expect_nothing_left().await;
}
