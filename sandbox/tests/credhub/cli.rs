//! The requests of the `credhub` CLI (`spec/contracts/platform-apis.md`, "What the `credhub` CLI sends").

use serde_json::json;

use crate::foundation::Platform;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_commands_of_the_cli_work() {
    let platform = Platform::start().await;
    let access = platform.bosh();
    let no_user = platform.no_user(&access);
    let info = no_user.get("/info").await.ok();
    assert_eq!(info["auth-server"]["url"], access.uaa_url, "api");
    let api = platform.admin(&access).await;
    assert_eq!(
        api.get("/version").await.ok()["version"],
        "2.15.20",
        "login"
    );

    let set = json!({"name": "/cli/pw", "type": "password", "value": "p"});
    api.put("/api/v1/data", &set).await.ok();
    let generate =
        json!({"name": "/cli/gen", "type": "password", "parameters": {}, "overwrite": true});
    let first = api.post("/api/v1/data", &generate).await.ok();
    let second = api.post("/api/v1/data", &generate).await.ok();
    assert_ne!(first["value"], second["value"], "generate");
    let found = api.get("/api/v1/data?name-like=cli").await.ok();
    assert_eq!(found["credentials"].as_array().unwrap().len(), 2, "find -n");
    let found = api.get("/api/v1/data?path=/cli").await.ok();
    assert_eq!(found["credentials"].as_array().unwrap().len(), 2, "find -p");
    let got = api
        .get("/api/v1/data?current=true&name=/cli/gen")
        .await
        .ok();
    assert_eq!(got["data"], json!([second]), "get -n");
    let got = api.get("/api/v1/data?name=/cli/gen&versions=2").await.ok();
    assert_eq!(got["data"], json!([second, first]), "get --versions");
    let id = first["id"].as_str().unwrap();
    assert_eq!(
        api.get(&format!("/api/v1/data/{id}")).await.ok(),
        first,
        "get --id"
    );

    let query = "/api/v2/permissions?actor=uaa-client:x&path=/cli/*";
    assert_eq!(
        api.get(query).await.status,
        404,
        "set-permission asks first"
    );
    let permission = json!({"actor": "uaa-client:x", "path": "/cli/*", "operations": ["read"]});
    let made = api.post("/api/v2/permissions", &permission).await;
    assert_eq!(made.status, 201);
    assert_eq!(api.get(query).await.ok(), made.json(), "get-permission");
    let path = format!(
        "/api/v2/permissions/{}",
        made.json()["uuid"].as_str().unwrap()
    );
    let more = json!({"actor": "uaa-client:x", "path": "/cli/*", "operations": ["read", "write"]});
    assert_eq!(
        api.put(&path, &more).await.ok()["operations"],
        json!(["read", "write"])
    );
    assert_eq!(api.delete(&path).await.status, 200, "delete-permission");
    assert_eq!(
        api.delete("/api/v1/data?name=/cli/pw").await.status,
        204,
        "delete"
    );
}
