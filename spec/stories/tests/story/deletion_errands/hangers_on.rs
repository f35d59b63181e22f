//! Dependents of an instance are deleted first: bindings of applications, keys, routes, shares.

use reqwest::Method;
use serde_json::{Value, json};

use super::{GENERATIONS, Generation, Stage, rejection};

#[tokio::test]
async fn bindings_go_before_keys_and_keys_before_the_instance() {
    for generation in GENERATIONS {
        let stage = Stage::of(generation).await;
        let guid = stage.order("db").await;
        let key = key(&stage, &guid).await;
        let (app, binding) = bound_app(&stage, &guid, stage.foundation.space()).await;

        let run = stage.delete_all(&[]).await.expect_status(0);

        let texts = run.texts();
        let steps = [
            format!("Deleting binding {binding} of service instance {guid} to app {app}"),
            format!("Deleting service key {key} of service instance {guid}"),
            format!("Deleting service instance {guid}"),
        ];
        let locations = steps.map(|step| texts.iter().position(|text| *text == step));
        assert!(
            locations.is_sorted() && locations[0].is_some(),
            "{generation:?}: {texts:#?}"
        );
        let changes = [
            generation.or(
                format!("DELETE /v3/service_credential_bindings/{binding}"),
                format!("DELETE /v2/apps/{app}/service_bindings/{binding}"),
            ),
            generation.or(
                format!("DELETE /v3/service_credential_bindings/{key}"),
                format!("DELETE /v2/service_keys/{key}"),
            ),
            format!("DELETE {}", generation.path(&guid)),
        ];
        assert_eq!(stage.changes().await, changes);
        stage.expect_nothing_left().await;
    }
}

#[tokio::test]
async fn a_key_that_is_asked_to_be_gone_and_stays_listed_ends_the_deletion_after_some_pauses() {
    for generation in GENERATIONS {
        let stage = Stage::of(generation).await;
        let guid = stage.order("db").await;
        let key = key(&stage, &guid).await;
        let path = generation.or(
            format!("/v3/service_credential_bindings/{key}"),
            format!("/v2/service_keys/{key}"),
        );
        let gone = generation.or(
            rejection(10010, "CF-ResourceNotFound"),
            rejection(360_003, "CF-ServiceKeyNotFound"),
        );
        stage.answers("DELETE", &path, 404, &gone).await;

        let run = stage.delete_all(&[]).await.expect_status(1);

        let reported = format!("service key {key} still exists");
        assert!(
            run.stderr.contains(&reported),
            "{generation:?}: {}",
            run.stderr
        );
        let deletions = stage.changes().await;
        assert!(deletions.len() < 10, "{deletions:#?}");
    }
}

#[tokio::test]
async fn a_binding_that_stays_fails_its_instance_and_names_itself() {
    for generation in GENERATIONS {
        let stage = Stage::of(generation).await;
        let bound = stage.order("bound").await;
        stage.order("free").await;
        let key = key(&stage, &bound).await;
        let path = generation.or(
            format!("/v3/service_credential_bindings/{key}"),
            format!("/v2/service_keys/{key}"),
        );
        stage
            .answers("DELETE", &path, 403, &rejection(10003, "CF-NotAuthorized"))
            .await;

        let run = stage.delete_all(&[]).await.expect_status(1);

        let reported = format!(
            "Result: failed to delete service instance {bound}. Error: service key {key} could not be deleted: "
        );
        let texts = run.texts();
        let reported = texts.iter().find(|text| text.starts_with(&reported));
        assert!(
            reported.is_some_and(|text| text.contains("CF-NotAuthorized") && text.contains("not today")),
            "{texts:#?}"
        );
        assert_eq!(stage.instances().await, ["bound"]);
    }
}

#[tokio::test]
async fn a_binding_that_stays_busy_does_not_hide_the_others() {
    for generation in GENERATIONS {
        let stage = Stage::of(generation).await;
        let guid = stage.order("db").await;
        let (_, busy) = bound_app(&stage, &guid, stage.foundation.space()).await;
        let free = key(&stage, &guid).await;
        let path = generation.or(
            format!("/v3/service_credential_bindings/{busy}"),
            "/v2/apps/*/service_bindings/*".to_owned(),
        );
        let code = rejection(90008, "CF-ServiceBindingLocked");
        stage.answers("DELETE", &path, 409, &code).await;

        let run = stage.delete_all(&["--give-up-after", "2s"]).await;
        run.expect_status(1);

        let deletion = generation.or(
            format!("DELETE /v3/service_credential_bindings/{free}"),
            format!("DELETE /v2/service_keys/{free}"),
        );
        let changes = stage.changes().await;
        let deletions = changes.iter().filter(|change| **change == deletion);
        assert_eq!(deletions.count(), 1, "{generation:?}: {changes:#?}");
    }
}

#[tokio::test]
async fn routes_are_unbound() {
    for generation in GENERATIONS {
        let stage = Stage::with(generation, |broker| {
            broker.with("/service_catalog/requires", json!(["route_forwarding"]))
        })
        .await;
        let guid = stage.order("proxy").await;
        let domains = stage.get("/v3/domains").await;
        let route = json!({
            "host": "www",
            "relationships": {
                "space": one(stage.foundation.space()),
                "domain": one(domains["resources"][0]["guid"].as_str().unwrap()),
            },
        });
        let route = stage.post("/v3/routes", route).await;
        let route = route["guid"].as_str().unwrap();
        let binding = json!({
            "relationships": { "route": one(route), "service_instance": one(&guid) },
        });
        stage.post("/v3/service_route_bindings", binding).await;
        settled(&stage, "/v3/service_route_bindings", &guid).await;

        let run = stage.delete_all(&[]).await.expect_status(0);

        run.expect_said("Deleting route binding ");
        let change = &stage.changes().await[0];
        let expected = generation.or(
            "DELETE /v3/service_route_bindings/".to_owned(),
            format!("DELETE /v2/service_instances/{guid}/routes/{route}"),
        );
        assert!(change.starts_with(&expected), "{change}");
        stage.expect_nothing_left().await;
    }
}

#[tokio::test]
async fn an_instance_is_taken_away_from_the_spaces_that_share_it() {
    for generation in GENERATIONS {
        let stage = Stage::with(generation, |broker| {
            broker.with("/service_catalog/metadata/shareable", true.into())
        })
        .await;
        let guid = stage.order("db").await;
        let flag = "/v3/feature_flags/service_instance_sharing";
        let on = json!({ "enabled": true });
        stage.controller.send(Method::PATCH, flag, Some(&on)).await;
        let elsewhere = elsewhere(&stage).await;
        let shares = format!("/v3/service_instances/{guid}/relationships/shared_spaces");
        stage
            .post(&shares, json!({ "data": [{ "guid": elsewhere }] }))
            .await;
        let (app, _) = bound_app(&stage, &guid, &elsewhere).await;

        let run = stage.delete_all(&[]).await.expect_status(0);

        run.expect_said(&format!("to app {app}"));
        if generation == Generation::V2 {
            let reported = format!("Unsharing service instance {guid} from space {elsewhere}");
            assert!(run.texts().contains(&reported.as_str()), "{}", run.stderr);
        }
        stage.expect_nothing_left().await;
    }
}

fn one(guid: &str) -> Value {
    json!({ "data": { "guid": guid } })
}

/// A service key of an instance; its guid.
async fn key(stage: &Stage, instance: &str) -> String {
    let key = json!({
        "type": "key", "name": "key", "relationships": { "service_instance": one(instance) },
    });
    stage.post("/v3/service_credential_bindings", key).await;
    settled(stage, "/v3/service_credential_bindings", instance).await
}

/// An application in a space that is bound to an instance; its guid and the binding's.
async fn bound_app(stage: &Stage, instance: &str, space: &str) -> (String, String) {
    let app = json!({ "name": "app", "relationships": { "space": one(space) } });
    let app = stage.post("/v3/apps", app).await;
    let app = app["guid"].as_str().unwrap().to_owned();
    let binding = json!({
        "type": "app",
        "relationships": { "service_instance": one(instance), "app": one(&app) },
    });
    stage.post("/v3/service_credential_bindings", binding).await;
    let all = format!("/v3/service_credential_bindings?type=app&app_guids={app}");
    let binding = settled_in(stage, &all).await;
    (app, binding)
}

async fn settled(stage: &Stage, bindings: &str, instance: &str) -> String {
    settled_in(
        stage,
        &format!("{bindings}?service_instance_guids={instance}"),
    )
    .await
}

/// Waits until a list of bindings has nothing that is still being made; the guid of the last.
async fn settled_in(stage: &Stage, path: &str) -> String {
    odb_stories::eventually("the binding is there", crate::TIMEOUT, async || {
        let found = stage.get(path).await;
        let rows = found["resources"].as_array().cloned().unwrap_or_default();
        let is_done = |row: &Value| row["last_operation"]["state"] == "succeeded";
        match rows.last() {
            Some(last) if rows.iter().all(is_done) => {
                Ok(last["guid"].as_str().unwrap_or_default().to_owned())
            }
            _ => Err(found.to_string()),
        }
    })
    .await
}

/// Another space.
async fn elsewhere(stage: &Stage) -> String {
    stage.cf(&["create-space", "elsewhere", "-o", "acme"]).await;
    let found = stage.get("/v3/spaces?names=elsewhere").await;
    found["resources"][0]["guid"].as_str().unwrap().to_owned()
}
