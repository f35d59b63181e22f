//! The state that survives a restart, and the errors of a Director without a config server.

use odb_sandbox::foundation::Persistence;
use serde_json::json;
use uuid::Uuid;

use crate::foundation::Platform;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn credentials_permissions_and_the_authority_of_apps_outlive_a_restart() {
    let app = Uuid::new_v4();
    let path = "/c/s/i/b/credentials";
    let folder = tempfile::tempdir().unwrap();
    let platform = Platform::within(folder, "", "", Persistence::Kept).await;
    let api = platform.broker(&platform.runtime()).await;
    api.set(path, "json", json!({"n": 1})).await;
    let second = api.set(path, "json", json!({"n": 2})).await;
    let permission =
        json!({"path": path, "actor": format!("mtls-app:{app}"), "operations": ["read"]});
    api.post("/api/v2/permissions", &permission).await;
    let files = platform
        .foundation
        .description()
        .cloud_controller
        .instance_identity
        .clone();
    let authority = std::fs::read(&files.certificate).unwrap();

    let folder = platform.stop().await;
    let platform = Platform::within(folder, "", "", Persistence::Kept).await;

    let read = platform
        .app(app)
        .get(&format!("/api/v1/data?name={path}"))
        .await
        .ok();
    assert_eq!(
        (read["data"].as_array().unwrap().len(), &read["data"][0]),
        (2, &second)
    );
    assert_eq!(std::fs::read(&files.certificate).unwrap(), authority);
    let api = platform.broker(&platform.runtime()).await;
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
