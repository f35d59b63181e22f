//! The same binding is asked for again, or another one under its id (B-05, B-06).

use odb_stories::new_id;
use serde_json::{Value, json};

use super::Scene;

#[tokio::test]
async fn a_repeat_gets_the_stored_answer_and_another_request_is_a_conflict() {
    let scene = Scene::secure().await;
    let (platform, binding) = (scene.broker.platform(), new_id());
    let mut body = scene.body("parameters", json!({ "role": "auditor", "limit": 10 }));
    body["bind_resource"]["app_annotations"] = json!({ "example.com/team": "one" });
    scene.answer_with(
        r#"{"credentials":{"password":"hunter2"},"endpoints":[{"host":"a","ports":["1"]}],
            "metadata":{"expires_at":"2030-01-01T00:00:00.0Z"}}"#,
    );
    let bound = platform.bind_with(&scene.instance, &binding, &body).await;
    let answer = bound.expect_status(201).json();
    assert_eq!(answer["metadata"]["expires_at"], "2030-01-01T00:00:00.0Z");

    // Later answers of the adapter do not matter. Names and annotations may change at any time.
    scene.answer_with(r#"{"credentials":{"password":"another"}}"#);
    let mut same = body.clone();
    same["parameters"] = json!({ "limit": 10.0, "role": "auditor" });
    same["context"]["space_name"] = "renamed".into();
    same["bind_resource"]["app_annotations"] = json!({});
    for repeat in [&body, &same] {
        let again = platform.bind_with(&scene.instance, &binding, repeat).await;
        assert_eq!(again.expect_status(200).json(), answer, "{repeat}");
    }
    let with = |pointer: &str, value: Value| {
        let mut other = body.clone();
        *other.pointer_mut(pointer).unwrap() = value;
        other
    };
    for other in [
        with("/parameters/limit", json!(11)),
        with("/parameters", json!({})),
        with("/app_guid", json!(new_id())),
        with("/bind_resource/space_guid", json!(new_id())),
        with("/plan_id", json!("c4d1a0de-7b1e-4f0e-9d57-2f5d0f1f6b32")),
    ] {
        let conflict = platform.bind_with(&scene.instance, &binding, &other).await;
        assert!(
            !conflict.expect_status(409).description().is_empty(),
            "{other}"
        );
    }
    assert_eq!(scene.noted(), [format!("create-binding {binding}")]);
    let credhub = scene.foundation.runtime_credhub();
    let stored = credhub.value(&scene.path(&binding)).await;
    assert_eq!(stored, Some(json!({ "password": "hunter2" })));
    let parameters = credhub.names_like(&binding).await;
    for name in parameters {
        let value = credhub.value(&name).await.unwrap().to_string();
        assert!(!value.contains("auditor"), "parameters are kept: {value}");
    }
}

/// Nothing is on the broker's disk: another process answers alike.
#[tokio::test]
async fn a_repeat_after_a_restart_gets_the_stored_answer() {
    let mut scene = Scene::secure().await;
    let (binding, app) = (new_id(), new_id());
    let bound = scene
        .broker
        .platform()
        .bind_app(&scene.instance, &binding, &app)
        .await;
    let answer = bound.expect_status(201).json();
    scene.broker.stop().await;
    scene.broker.start_again().await;

    let again = scene
        .broker
        .platform()
        .bind_app(&scene.instance, &binding, &app)
        .await;

    assert_eq!(again.expect_status(200).json(), answer);
    assert_eq!(scene.noted(), [format!("create-binding {binding}")]);
}

/// Identical requests side by side are one binding.
#[tokio::test]
async fn identical_requests_at_once_ask_the_adapter_once() {
    let scene = Scene::secure().await;
    let (platform, binding, app) = (scene.broker.platform(), new_id(), new_id());
    let bind = || platform.bind_app(&scene.instance, &binding, &app);

    let (one, two, three) = tokio::join!(bind(), bind(), bind());

    let mut statuses = [one.status, two.status, three.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 200, 201]);
    assert_eq!(one.json(), two.json());
    assert_eq!(scene.noted(), [format!("create-binding {binding}")]);
}

/// A binding of the Go broker has nothing beside its credentials; its adapter is asked, as that broker would.
#[tokio::test]
async fn a_binding_of_the_go_broker_is_made_again_and_can_be_deleted() {
    let scene = Scene::secure().await;
    let credhub = scene.foundation.runtime_credhub();
    let (platform, binding, app) = (scene.broker.platform(), new_id(), new_id());
    let path = scene.path(&binding);
    credhub.set(&path, &json!({ "password": "old" })).await;
    scene.answer_with(r#"{"credentials":{"password":"new"}}"#);

    let bound = platform.bind_app(&scene.instance, &binding, &app).await;
    bound.expect_status(201);
    assert_eq!(
        credhub.value(&path).await,
        Some(json!({ "password": "new" }))
    );
    for name in scene.stored().await {
        if name != path {
            credhub.delete(&name).await;
        }
    }
    let unbound = platform.unbind(&scene.instance, &binding).await;
    unbound.expect_status(200);
    assert_eq!(scene.stored().await, Vec::<String>::new());
}
