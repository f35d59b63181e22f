//! An instance that is used in two spaces (`docs/users/README.md`, "Share it").

use odb_stories::{CloudController, Foundation, eventually};
use reqwest::Method;
use serde_json::{Value, json};

use super::NOTING;
use crate::TIMEOUT;

/// The platform lets the broker delete only the bindings of the other space. While that fails, the instance stays
/// shared.
#[tokio::test]
async fn an_instance_is_rolled_back_from_another_space_with_the_bindings_there() {
    let foundation = Foundation::bare().start().await;
    let adapter = foundation.adapters().script(NOTING);
    let configuration = foundation.broker().with_adapter(&adapter);
    let shareable = "/service_catalog/metadata/shareable";
    let broker = configuration.with(shareable, true.into()).start().await;
    let cf = foundation.cf();
    cf.register(&broker).await;
    let on = json!({ "enabled": true });
    let flag = "/v3/feature_flags/service_instance_sharing";
    let admin = foundation.cloud_controller_of_admin().await;
    admin.send(Method::PATCH, flag, Some(&on)).await;
    let typed = async |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        cf.run(&words).await
    };
    for line in [
        "--as admin create-space elsewhere -o acme",
        "create-service redis small db --wait",
        "--as admin share-service db -s elsewhere",
        "create-app here",
        "bind-service here db --wait",
    ] {
        typed(line).await.succeeded();
    }
    let elsewhere = admin.in_space("elsewhere").await;
    let instance = typed("service db --guid").await.succeeded();
    let there = bound(&elsewhere, instance.trim()).await;
    let code = foundation.folder().join("code");
    std::fs::write(&code, "1").unwrap();

    let refused = typed("--as admin unshare-service db -s elsewhere")
        .await
        .failed();
    assert!(
        refused.contains("CF-ServiceInstanceUnshareFailed")
            && refused
                .contains("Service broker failed to delete service binding for instance db: "),
        "{refused}"
    );
    assert_eq!(seen(&elsewhere).await, ["db"]);

    std::fs::remove_file(&code).unwrap();
    typed("--as admin unshare-service db -s elsewhere")
        .await
        .succeeded();
    assert_eq!(seen(&elsewhere).await, Vec::<String>::new());
    let noted = std::fs::read_to_string(foundation.folder().join("bindings")).unwrap();
    let deleted: Vec<&str> = noted
        .lines()
        .filter_map(|call| call.strip_prefix("delete-binding "))
        .collect();
    assert_eq!(deleted, [there.as_str(), &there], "twice the one there");
    typed("unbind-service here db --wait").await.succeeded();
}

/// Binds an app of a space; the binding's guid.
async fn bound(space: &CloudController, instance: &str) -> String {
    let one = |guid: &str| json!({ "data": { "guid": guid } });
    let app = json!({ "name": "there", "relationships": { "space": one(space.space()) } });
    let (_, app) = space.send(Method::POST, "/v3/apps", Some(&app)).await;
    let app = app["guid"].as_str().unwrap();
    let bindings = "/v3/service_credential_bindings";
    let binding = json!({
        "type": "app",
        "relationships": { "service_instance": one(instance), "app": one(app) },
    });
    let (status, body) = space.send(Method::POST, bindings, Some(&binding)).await;
    assert_eq!(status, 202, "{body}");
    let path = format!("{bindings}?app_guids={app}");
    eventually("the app is bound", TIMEOUT, async || {
        let (_, found) = space.send(Method::GET, &path, None).await;
        let row = &found["resources"][0];
        if row["last_operation"]["state"] == "succeeded" {
            Ok(row["guid"].as_str().unwrap_or_default().to_owned())
        } else {
            Err(found.to_string())
        }
    })
    .await
}

/// The names of the instances that are there for a space.
async fn seen(space: &CloudController) -> Vec<String> {
    let path = format!("/v3/service_instances?space_guids={}", space.space());
    let (_, found) = space.send(Method::GET, &path, None).await;
    let rows = found["resources"].as_array().cloned().unwrap_or_default();
    let name = |row: &Value| row["name"].as_str().unwrap_or_default().to_owned();
    rows.iter().map(name).collect()
}
