//! Which tokens the Cloud Controller accepts.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use crate::platform::Platform;

fn decoded(token: &str, part: usize) -> Value {
    let part = token.split('.').nth(part).unwrap();
    serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

#[tokio::test]
async fn a_user_gets_a_token_and_refreshes_it() {
    let platform = Platform::start().await;
    let form = [
        ("grant_type", "password"),
        ("username", "developer"),
        ("password", "password"),
    ];

    let answer = platform.token(Some(("cf", "")), &form).await;
    let claims = decoded(answer.body["access_token"].as_str().unwrap(), 1);
    let refresh = answer.body["refresh_token"].as_str().unwrap();
    let again = platform
        .token(
            Some(("cf", "")),
            &[("grant_type", "refresh_token"), ("refresh_token", refresh)],
        )
        .await;

    assert_eq!(
        (&claims["user_name"], &claims["origin"]),
        (&json!("developer"), &json!("uaa"))
    );
    assert_eq!(claims["sub"], claims["user_id"]);
    assert_eq!(
        claims["scope"],
        json!(["cloud_controller.read", "cloud_controller.write", "openid"])
    );
    assert!(decoded(refresh, 1)["jti"].as_str().unwrap().ends_with("-r"));
    assert_eq!(
        (again.status.as_u16(), again.body["refresh_token"].as_str()),
        (200, Some(refresh))
    );
    let renewed = platform.with_token(again.body["access_token"].as_str().unwrap());
    assert_eq!(renewed.get("/v3/organizations").await.status, 200);
    assert_eq!(
        platform
            .with_token(refresh)
            .get("/v3/organizations")
            .await
            .rejection()
            .1,
        1000
    );
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
    let login = platform
        .http
        .get(format!("{}/login", platform.uaa_url))
        .send()
        .await
        .unwrap();
    let v2 = platform.developer.get("/v2/services").await;

    assert_eq!(root.body["links"]["uaa"]["href"], platform.uaa_url);
    assert_eq!(root.body["links"]["login"]["href"], platform.uaa_url);
    assert!(root.body["links"]["cloud_controller_v3"]["meta"]["version"].is_string());
    assert_eq!(info.body["osbapi_version"], "2.15");
    let login: Value = serde_json::from_str(&login.text().await.unwrap()).unwrap();
    assert_eq!(
        login["prompts"]["password"],
        json!(["password", "Password"])
    );
    assert_eq!(
        (v2.status.as_u16(), v2.body),
        (404, json!("V2 endpoints disabled"))
    );
}
