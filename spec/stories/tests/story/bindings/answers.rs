//! Valid and invalid answers of an adapter.

use odb_stories::{Foundation, new_id};
use serde_json::{Value, json};

use super::Scene;

fn mounted() -> Value {
    json!({
        "credentials": { "uri": "nfs://here" },
        "volume_mounts": [{
            "driver": "nfs", "container_dir": "/data", "mode": "rw", "device_type": "shared",
            "device": { "volume_id": "v1" },
        }],
    })
}

/// B-10: an unusable answer is an error of the adapter, and its binding is deleted again.
#[tokio::test]
async fn an_answer_that_no_platform_could_use_is_refused_and_its_binding_is_deleted() {
    let scene = Scene::plain().await;
    let mut expected = Vec::new();
    let mut broken_mount = mounted();
    broken_mount["volume_mounts"][0]["mode"] = "SECRET".into();

    for (answer, member) in [
        ("not JSON, and SECRET".to_owned(), "not JSON"),
        (
            json!({ "credentials": "SECRET" }).to_string(),
            "`credentials`",
        ),
        (
            json!({ "endpoints": [{ "host": "a", "ports": [6379] }] }).to_string(),
            "`endpoints[0].ports[0]`",
        ),
        (broken_mount.to_string(), "`volume_mounts[0].mode`"),
        (
            json!({ "metadata": { "expires_at": "SECRET" } }).to_string(),
            "`metadata.expires_at`",
        ),
    ] {
        scene.answer_with(&answer);
        let binding = new_id();
        let bound = scene
            .broker
            .platform()
            .bind(&scene.instance, &binding)
            .await;
        let message = bound.expect_status(500).description();
        assert!(message.contains(&bound.request_id()), "{answer}: {bound:?}");
        assert!(!message.contains(member), "{answer}: {bound:?}");
        let reported = scene.broker.log_of_request(&bound.request_id());
        assert!(
            reported
                .iter()
                .any(|line| line.text().contains("ODB-3004") && line.mentions(member)),
            "{answer}: {reported:#?}"
        );
        assert!(
            reported.iter().all(|line| !line.mentions("SECRET")),
            "{answer}: {reported:#?}"
        );
        expected.push(format!("create-binding {binding}"));
        expected.push(format!("delete-binding {binding}"));
    }
    assert_eq!(scene.noted(), expected);
}

/// An agent that makes backups may bind where the operator says so, and learns where the service's own agent is.
#[tokio::test]
async fn a_backup_agent_binds_where_the_operator_supports_it() {
    let request = |scene: &Scene| scene.body("bind_resource", json!({ "backup_agent": true }));
    let scene = Scene::plain().await;
    let refused = scene
        .broker
        .platform()
        .bind_with(&scene.instance, &new_id(), &request(&scene))
        .await;
    assert_eq!(
        refused.expect_status(422).description(),
        "service does not support backup agent binding"
    );
    assert_eq!(scene.noted(), Vec::<String>::new());

    let foundation = Foundation::bare().start().await;
    let supported = ("/broker/support_backup_agent_binding", true.into());
    let scene = Scene::of(foundation, &[supported]).await;
    scene.answer_with(r#"{"credentials":null,"backup_agent_url":"https://agent"}"#);
    let bound = scene
        .broker
        .platform()
        .bind_with(&scene.instance, &new_id(), &request(&scene))
        .await;
    assert_eq!(
        bound.expect_status(201).json(),
        json!({ "credentials": null, "backup_agent_url": "https://agent" })
    );
}
