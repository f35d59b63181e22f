//! Something fails half-way (defect 36 of the Go broker).

use odb_stories::{Foundation, eventually, new_id};
use serde_json::json;

use super::{Scene, fault};
use crate::TIMEOUT;

const DATA: &str = "/api/v1/data";
const PERMISSIONS: &str = "/api/v2/permissions";

/// Nothing of the binding is anywhere, and the same request is answered well.
async fn expect_rolled_back(scene: &Scene, binding: &str, app: &str) {
    let control = scene.foundation.control();
    control.clear_faults().await;
    assert_eq!(
        scene.noted(),
        [
            format!("create-binding {binding}"),
            format!("delete-binding {binding}")
        ]
    );
    assert_eq!(scene.stored().await, Vec::<String>::new());
    let platform = scene.broker.platform();
    let bound = platform.bind_app(&scene.instance, binding, app).await;
    bound.expect_status(201);
    let credhub = scene.foundation.runtime_credhub();
    let actor = format!("mtls-app:{app}");
    let permitted = credhub.permitted(&scene.path(binding), &actor).await;
    assert_eq!(permitted, ["read"]);
}

#[tokio::test]
async fn credentials_that_cannot_be_stored_are_rolled_back_from_the_service() {
    let scene = Scene::secure().await;
    let control = scene.foundation.control();
    let refuse = json!({ "kind": "answer", "status": 500, "body": "{\"error\":\"disk full\"}" });
    control.set_fault(&fault("PUT", DATA, &refuse)).await;
    let (platform, binding, app) = (scene.broker.platform(), new_id(), new_id());

    let bound = platform.bind_app(&scene.instance, &binding, &app).await;

    let message = bound.expect_status(500).description();
    assert!(message.contains("operation: bind"), "{message}");
    let reported = scene.broker.log_of_request(&bound.request_id());
    let is_reported = |line: &odb_stories::LogLine| {
        line.text().contains("ODB-4007") && line.mentions("disk full")
    };
    assert!(reported.iter().any(is_reported), "{reported:#?}");
    assert!(!bound.text.contains("CredHub"), "{bound:?}");
    eventually("all is rolled back", TIMEOUT, async || {
        let reported = scene.broker.log_of_request(&bound.request_id());
        let done = reported.iter().any(|line| line.mentions("is rolled back"));
        if done {
            Ok(())
        } else {
            Err(format!("{reported:#?}"))
        }
    })
    .await;
    expect_rolled_back(&scene, &binding, &app).await;

    // The adapter is not called while CredHub does not answer, or for ids that CredHub cannot store.
    let calls = scene.noted();
    control.set_fault(&fault("GET", DATA, &refuse)).await;
    let bound = platform.bind_app(&scene.instance, &new_id(), &app).await;
    bound.expect_status(500);
    assert!(!bound.text.contains("CredHub"), "{bound:?}");
    control.clear_faults().await;
    let bound = platform.bind_app(&scene.instance, "tilde~", &app).await;
    assert_eq!(
        bound.expect_status(400).description(),
        "the ids of service instance and binding cannot be part of a name in CredHub: they are too long together, or have a `~`."
    );
    assert_eq!(scene.noted(), calls);
    scene.end_unbinds_with(41);
    let unbound = platform.unbind(&scene.instance, "tilde~").await;
    unbound.expect_status(410);
}

/// An application that cannot read its credentials has none.
#[tokio::test]
async fn credentials_that_the_application_may_not_read_are_rolled_back() {
    let scene = Scene::secure().await;
    let control = scene.foundation.control();
    let refuse = json!({ "kind": "answer", "status": 404, "body": "{\"error\":\"no\"}" });
    control
        .set_fault(&fault("POST", PERMISSIONS, &refuse))
        .await;
    let (platform, binding, app) = (scene.broker.platform(), new_id(), new_id());

    let bound = platform.bind_app(&scene.instance, &binding, &app).await;

    bound.expect_status(500);
    let reported = scene.broker.log_of_request(&bound.request_id());
    let why = "let the application read its credentials";
    assert!(
        reported.iter().any(|line| line.mentions(why)),
        "{reported:#?}"
    );
    expect_rolled_back(&scene, &binding, &app).await;
}

/// When the request's time is used up, the answer does not wait, and the rollback still runs, also for late results.
#[tokio::test]
async fn what_was_made_is_rolled_back_after_the_answer_when_the_time_is_over() {
    let foundation = Foundation::bare().start().await;
    let timings = json!({ "request_budget_in_seconds": 2, "lost_answer_in_seconds": 1 });
    let scene = Scene::of(
        foundation,
        &[
            ("/service_catalog/bindings_retrievable", true.into()),
            ("/broker/timings", timings),
        ],
    )
    .await;
    let control = scene.foundation.control();
    let (platform, binding, app) = (scene.broker.platform(), new_id(), new_id());
    let late = json!({ "kind": "delay", "duration": "2500ms" });
    let mut put = fault("PUT", DATA, &late);
    put["times"] = 1.into();
    control.set_fault(&put).await;
    let slow = json!({ "kind": "hold" });
    let held = control.set_fault(&fault("DELETE", DATA, &slow)).await;

    let bound = platform.bind_app(&scene.instance, &binding, &app).await;

    bound.expect_status(500);
    assert_eq!(control.fault(held.id).await.holds, 1, "it did not wait");
    control.clear_faults().await;
    eventually("all is rolled back", TIMEOUT, async || {
        let reported = scene.broker.log_of_request(&bound.request_id());
        let done = reported.iter().any(|line| line.mentions("is rolled back"));
        if done {
            Ok(())
        } else {
            Err(format!("{reported:#?}"))
        }
    })
    .await;
    expect_rolled_back(&scene, &binding, &app).await;
}

/// The log names what could not be rolled back. The platform deletes it, which it does after such an answer.
#[tokio::test]
async fn what_cannot_be_rolled_back_is_reported_and_goes_with_the_platforms_unbind() {
    let scene = Scene::secure().await;
    let control = scene.foundation.control();
    let credhub = scene.foundation.runtime_credhub();
    let refuse = json!({ "kind": "answer", "status": 500, "body": "{\"error\":\"no\"}" });
    for (method, path) in [("POST", PERMISSIONS), ("DELETE", DATA)] {
        control.set_fault(&fault(method, path, &refuse)).await;
    }
    scene.end_unbinds_with(1);
    let (platform, binding, app) = (scene.broker.platform(), new_id(), new_id());

    let bound = platform.bind_app(&scene.instance, &binding, &app).await;
    bound.expect_status(500);
    eventually("both are reported", TIMEOUT, async || {
        let reported = scene.broker.log_of_request(&bound.request_id());
        let is_reported = |text| {
            let reports = |line: &&odb_stories::LogLine| {
                line.text().contains("ODB-5007") && line.mentions(text)
            };
            reported.iter().any(|line| reports(&line))
        };
        if is_reported("the service still has the binding") && is_reported("CredHub may still have")
        {
            Ok(())
        } else {
            Err(format!("{reported:#?}"))
        }
    })
    .await;

    // While the credentials cannot be deleted, the platform gets an error.
    for code in [1, 41, 0] {
        scene.end_unbinds_with(code);
        let unbound = platform.unbind(&scene.instance, &binding).await;
        unbound.expect_status(500);
        assert!(credhub.value(&scene.path(&binding)).await.is_some());
    }
    control.clear_faults().await;
    scene.end_unbinds_with(41);
    let unbound = platform.unbind(&scene.instance, &binding).await;
    unbound.expect_status(410);
    assert_eq!(scene.stored().await, Vec::<String>::new());
}

/// Credentials of a binding, or an instance, that the service does not have any more go too.
#[tokio::test]
async fn credentials_go_when_the_service_has_lost_the_binding_or_the_instance() {
    let scene = Scene::secure().await;
    let (platform, app) = (scene.broker.platform(), new_id());
    let credhub = scene.foundation.runtime_credhub();
    let (one, two) = (new_id(), new_id());
    for binding in [&one, &two] {
        let bound = platform.bind_app(&scene.instance, binding, &app).await;
        bound.expect_status(201);
    }

    // While the adapter fails, the application may still be using them.
    scene.end_unbinds_with(1);
    platform
        .unbind(&scene.instance, &one)
        .await
        .expect_status(500);
    assert!(credhub.value(&scene.path(&one)).await.is_some());

    scene.end_unbinds_with(41);
    platform
        .unbind(&scene.instance, &one)
        .await
        .expect_status(410);
    assert_eq!(credhub.names_like(&one).await, Vec::<String>::new());

    let token = platform.deprovision(&scene.instance).await.accepted();
    platform.end_of_operation(&scene.instance, &token).await;
    platform
        .unbind(&scene.instance, &two)
        .await
        .expect_status(410);
    assert_eq!(scene.stored().await, Vec::<String>::new());
    let actor = format!("mtls-app:{app}");
    for binding in [&one, &two] {
        let permitted = credhub.permitted(&scene.path(binding), &actor).await;
        assert_eq!(permitted, Vec::<String>::new());
    }
}

/// UB-06: an unbind that comes while the bind still runs takes away what that makes.
#[tokio::test]
async fn an_unbind_during_the_bind_leaves_nothing() {
    let scene = Scene::secure().await;
    let control = scene.foundation.control();
    let effect = json!({ "kind": "hold" });
    let held = control.set_fault(&fault("PUT", DATA, &effect)).await.id;
    let (platform, binding, app) = (scene.broker.platform(), new_id(), new_id());

    let unbind = async {
        eventually("the bind is half-way", TIMEOUT, async || {
            let set = control.fault(held).await;
            if set.holds > 0 {
                Ok(())
            } else {
                Err(format!("{set:?}"))
            }
        })
        .await;
        let unbind = platform.unbind(&scene.instance, &binding);
        tokio::join!(unbind, control.clear_faults()).0
    };
    let (bound, unbound) = tokio::join!(platform.bind_app(&scene.instance, &binding, &app), unbind);

    bound.expect_status(201);
    unbound.expect_status(200);
    assert_eq!(scene.stored().await, Vec::<String>::new());
}
