//! Which tokens the Cloud Controller accepts.

use serde_json::json;

use crate::platform::Platform;

#[tokio::test]
async fn a_refreshed_token_is_accepted_and_the_refresh_token_itself_is_not() {
    let platform = Platform::start().await;
    let ask = async |form: &[(&str, &str)]| platform.token(Some(("cf", "")), form).await.body;
    let first = ask(&[
        ("grant_type", "password"),
        ("username", "developer"),
        ("password", "password"),
    ])
    .await;
    let refresh = first["refresh_token"].as_str().unwrap();
    let again = ask(&[("grant_type", "refresh_token"), ("refresh_token", refresh)]).await;
    let get = async |token: &str| {
        let api = platform.with_token(token);
        api.get("/v3/organizations").await
    };

    let renewed = get(again["access_token"].as_str().unwrap()).await;
    let misused = get(refresh).await;

    assert_eq!(renewed.status, 200);
    assert_eq!(misused.rejection().1, 1000);
}

#[tokio::test]
async fn the_cloud_controller_reports_a_missing_token_from_a_bad_one_and_from_one_that_may_not() {
    let platform = Platform::start().await;
    let no_user = platform
        .token(
            Some(("nobody", "n")),
            &[("grant_type", "client_credentials")],
        )
        .await;
    let no_user = platform.with_token(no_user.body["access_token"].as_str().unwrap());
    let path = "/v3/service_instances";

    let missing = platform.anonymous().get(path).await;
    let bad = platform.with_token("abc").get(path).await;
    let for_others = no_user.get(path).await;
    let not_admin = platform
        .developer
        .post("/v3/service_brokers", &json!({}))
        .await;

    assert_eq!(
        missing.rejection(),
        (401, 10002, "CF-NotAuthenticated", "Authentication error")
    );
    assert_eq!(
        bad.rejection(),
        (401, 1000, "CF-InvalidAuthToken", "Invalid Auth Token")
    );
    assert_eq!(for_others.rejection().1, 1000);
    assert_eq!(not_admin.rejection().1, 10003);
}

#[tokio::test]
async fn endpoints_are_public() {
    let platform = Platform::start().await;

    let root = platform.anonymous().get("/").await;
    let info = platform.anonymous().get("/v3/info").await;
    let v2 = platform.developer.get("/v2/services").await;

    assert_eq!(root.body["links"]["uaa"]["href"], platform.uaa_url);
    assert_eq!(root.body["links"]["login"]["href"], platform.uaa_url);
    assert!(root.body["links"]["cloud_controller_v3"]["meta"]["version"].is_string());
    assert_eq!(info.body["osbapi_version"], "2.15");
    assert_eq!(
        (v2.status.as_u16(), v2.body),
        (404, json!("V2 endpoints disabled"))
    );
}
