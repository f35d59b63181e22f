//! The platform asks what a binding is (FB-01).

use odb_stories::new_id;
use serde_json::json;

use super::Scene;

#[tokio::test]
async fn a_binding_is_reported_from_its_creation_to_its_deletion_and_its_parameters_never() {
    let scene = Scene::secure().await;
    let (platform, binding) = (scene.broker.platform(), new_id());
    let catalog = platform.catalog().await.json();
    assert_eq!(catalog["services"][0]["bindings_retrievable"], true);
    platform
        .fetch_binding(&scene.instance, &binding)
        .await
        .expect_status(404);
    scene.answer_with(
        r#"{"credentials":{"password":"hunter2"},"syslog_drain_url":"syslog://logs",
            "metadata":{"expires_at":"2030-01-01T00:00:00.0Z"}}"#,
    );
    let body = scene.body("parameters", json!({ "role": "auditor" }));
    let bound = platform.bind_with(&scene.instance, &binding, &body).await;

    let fetched = platform.fetch_binding(&scene.instance, &binding).await;

    assert_eq!(fetched.expect_status(200).json(), bound.json());
    assert!(!fetched.text.contains("hunter2"), "{fetched:?}");
    assert!(!fetched.text.contains("auditor"), "{fetched:?}");
    for (instance, binding) in [(&scene.instance, &new_id()), (&new_id(), &binding)] {
        let fetched = platform.fetch_binding(instance, binding).await;
        fetched.expect_status(404);
    }
    platform.unbind(&scene.instance, &binding).await;
    let fetched = platform.fetch_binding(&scene.instance, &binding).await;
    fetched.expect_status(404);
}
