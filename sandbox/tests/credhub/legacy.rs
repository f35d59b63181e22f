//! A CredHub before version 2.

use serde_json::json;

use crate::foundation::Platform;

const LEGACY: &str = r#"    version: 1.9.3
    permissions:
    - {path: /new/*, actor: "uaa-client:odb-credhub", operations: [write]}
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn before_version_2_values_stay_unless_reported_and_creators_have_all_rights() {
    let platform = Platform::with("", LEGACY).await;
    let access = platform.bosh();
    let api = platform.broker(&access).await;
    let info = platform.no_user(&access).get("/info").await.ok();
    assert_eq!(info["app"], json!({"name": "CredHub", "version": "1.9.3"}));

    let first = api.set("/new/pw", "value", json!("one")).await;
    let kept = api.set("/new/pw", "value", json!("two")).await;
    assert_eq!(kept, first);
    let reported = json!({"name": "/new/pw", "type": "value", "value": "two", "mode": "overwrite"});
    assert_eq!(
        api.put("/api/v1/data", &reported).await.ok()["value"],
        "two"
    );
    let read = api.get("/api/v1/data?name=/new/pw&current=true").await.ok();
    assert_eq!(read["data"][0]["value"], "two", "who made it may read it");

    let permission = json!({"path": "/new/pw", "actor": "uaa-client:x", "operations": ["read"]});
    assert_eq!(
        api.post("/api/v2/permissions", &permission).await.status,
        404
    );
    let permission = json!({"credential_name": "/new/pw", "permissions": [{"actor": "uaa-client:x", "operations": ["read"]}]});
    assert_eq!(
        api.post("/api/v1/permissions", &permission).await.status,
        201
    );
    assert_eq!(api.delete("/api/v1/data?name=/new/pw").await.status, 204);
}
