//! The state that survives a restart, and the errors of a Director without a config server.

use odb_sandbox::foundation::Persistence;
use serde_json::json;

use crate::foundation::Platform;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn credentials_and_permissions_outlive_a_restart() {
    let path = "/c/s/i/b/credentials";
    let folder = tempfile::tempdir().unwrap();
    let platform = Platform::within(folder, "", "", Persistence::Kept).await;
    let api = platform.broker(&platform.runtime()).await;
    api.set(path, "json", json!({"n": 1})).await;
    let second = api.set(path, "json", json!({"n": 2})).await;
    let permission = json!({"path": path, "actor": "uaa-client:other", "operations": ["read"]});
    api.post("/api/v2/permissions", &permission).await;

    let folder = platform.stop().await;
    let platform = Platform::within(folder, "", "", Persistence::Kept).await;

    let api = platform.broker(&platform.runtime()).await;
    let read = api.get(&format!("/api/v1/data?name={path}")).await.ok();
    assert_eq!(
        (read["data"].as_array().unwrap().len(), &read["data"][0]),
        (2, &second)
    );
    let query = format!("/api/v2/permissions?path={path}&actor=uaa-client:other");
    assert_eq!(api.get(&query).await.ok()["operations"], json!(["read"]));
    let third = api.set(path, "json", json!({"n": 3})).await;
    let newest = api
        .get(&format!("/api/v1/data?name={path}&versions=1"))
        .await
        .ok();
    assert_eq!(newest["data"], json!([third]));
    platform.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_director_without_a_config_server_has_no_credhub() {
    let platform = Platform::with("  config_server: off\n", "").await;
    let director = &platform.foundation.description().director;
    assert!(director.credhub.is_none());
    let access = platform.runtime();
    let info = platform
        .no_user(&access)
        .http
        .get(format!("{}/info", director.url));
    let info = info.send().await.unwrap().text().await.unwrap();
    let info: serde_json::Value = serde_json::from_str(&info).unwrap();
    assert_eq!(
        info["features"]["config_server"],
        json!({"status": false, "extras": {"urls": []}})
    );
}
