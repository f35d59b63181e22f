//! The sequences of a broker (`spec/contracts/platform-apis.md`, "What the broker needs").

use serde_json::json;
use uuid::Uuid;

use crate::foundation::Platform;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secrets_of_manifests_are_stored_resolved_and_deleted() {
    let platform = Platform::start().await;
    let api = platform.broker(&platform.bosh()).await;
    let instance = Uuid::new_v4();
    let folder = format!("/odb/service-id/service-instance_{instance}");
    let stored = api
        .set(&format!("{folder}/password"), "value", json!("p"))
        .await;
    api.set(&format!("{folder}/tls"), "json", json!({"key": "k"}))
        .await;

    let latest = api
        .get(&format!("/api/v1/data?current=true&name={folder}/tls"))
        .await
        .ok();
    assert_eq!(latest["data"][0]["value"], json!({"key": "k"}));
    let id = stored["id"].as_str().unwrap();
    assert_eq!(
        api.get(&format!("/api/v1/data/{id}")).await.ok()["value"],
        "p"
    );
    let found = api
        .get(&format!("/api/v1/data?name-like={instance}"))
        .await
        .ok();
    let found = found["credentials"].as_array().unwrap();
    assert_eq!(found.len(), 2);
    for one in found {
        let path = format!("/api/v1/data?name={}", one["name"].as_str().unwrap());
        assert_eq!(api.delete(&path).await.status, 204);
        assert_eq!(api.delete(&path).await.status, 404, "a repeat does no harm");
    }
    let left = api
        .get(&format!("/api/v1/data?name-like={instance}"))
        .await
        .ok();
    assert_eq!(left, json!({"credentials": []}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_may_read_variables_of_the_director_and_write_below_its_own_path_alone() {
    let platform = Platform::start().await;
    let access = platform.bosh();
    let (admin, api) = (
        platform.admin(&access).await,
        platform.broker(&access).await,
    );
    admin
        .set("/sandbox-director/d/pw", "password", json!("p"))
        .await;
    admin.set("/elsewhere", "password", json!("p")).await;
    let read = async |name: &str| {
        api.get(&format!("/api/v1/data?name={name}"))
            .await
            .status
            .as_u16()
    };
    assert_eq!(
        (
            read("/sandbox-director/d/pw").await,
            read("/elsewhere").await
        ),
        (200, 404)
    );
    for name in ["/sandbox-director/d/pw", "/elsewhere"] {
        let body = json!({"name": name, "type": "password", "value": "q"});
        assert_eq!(api.put("/api/v1/data", &body).await.status, 403, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn credentials_of_bindings_are_stored_shared_and_rolled_back() {
    let platform = Platform::start().await;
    let api = platform.broker(&platform.runtime()).await;
    let app = Uuid::new_v4();
    let path = "/c/service-id/instance/binding/credentials";
    api.set(path, "json", json!({"uri": "redis://"})).await;
    let permission =
        json!({"path": path, "actor": format!("mtls-app:{app}"), "operations": ["read"]});
    assert_eq!(
        api.post("/api/v2/permissions", &permission).await.status,
        201
    );
    assert_eq!(
        api.post("/api/v2/permissions", &permission).await.status,
        409,
        "a repeated bind"
    );
    assert_eq!(
        api.delete(&format!("/api/v1/data?name={path}"))
            .await
            .status,
        204
    );
    let query = format!("/api/v2/permissions?path={path}&actor=mtls-app:{app}");
    let left = api.get(&query).await.ok();
    assert_eq!(left["path"], path, "permissions outlive the credential");
    let id = left["uuid"].as_str().unwrap();
    assert_eq!(
        api.delete(&format!("/api/v2/permissions/{id}"))
            .await
            .status,
        200
    );
    assert_eq!(api.get(&query).await.status, 404);
}
