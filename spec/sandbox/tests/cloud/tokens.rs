//! What the UAA gives and refuses, and what the Cloud Controller accepts.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use crate::platform::Platform;

/// Basic credentials, form, status and error.
type Row<'a> = (
    Option<(&'a str, &'a str)>,
    &'a [(&'a str, &'a str)],
    u16,
    &'a str,
);

fn decoded(token: &str, part: usize) -> Value {
    let part = token.split('.').nth(part).unwrap();
    serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

#[tokio::test]
async fn a_client_gets_a_token_for_its_authorities() {
    let platform = Platform::start().await;

    let answer = platform
        .token(
            Some(("odb", "s3cr%25t%2B")),
            &[("grant_type", "client_credentials")],
        )
        .await;

    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.header("Content-Type"),
        "application/json;charset=UTF-8"
    );
    assert_eq!(
        (answer.header("Cache-Control"), answer.header("Pragma")),
        ("no-store", "no-cache")
    );
    let keys: Vec<_> = answer.body.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        ["access_token", "token_type", "expires_in", "scope", "jti"]
    );
    let token = answer.body["access_token"].as_str().unwrap();
    let (header, claims) = (decoded(token, 0), decoded(token, 1));
    assert_eq!(header["jku"], format!("{}/token_keys", platform.uaa_url));
    assert_eq!(
        (&header["alg"], &header["kid"], &header["typ"]),
        (&json!("RS256"), &json!("key-1"), &json!("JWT"))
    );
    for (claim, value) in [
        ("sub", json!("odb")),
        ("client_id", json!("odb")),
        ("grant_type", json!("client_credentials")),
        ("scope", json!(["cloud_controller.admin"])),
        ("authorities", json!(["cloud_controller.admin"])),
        ("aud", json!(["cloud_controller", "odb"])),
        ("iss", json!(format!("{}/oauth/token", platform.uaa_url))),
        ("zid", json!("uaa")),
    ] {
        assert_eq!(claims[claim], value, "{claim}");
    }
    assert!(claims.get("user_name").is_none());
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
            .refusal()
            .1,
        1000
    );
}

#[tokio::test]
async fn a_client_may_send_its_secret_in_the_form() {
    let platform = Platform::start().await;
    let form = [
        ("grant_type", "client_credentials"),
        ("client_id", "odb"),
        ("client_secret", "s3cr%t+"),
    ];

    assert_eq!(platform.token(None, &form).await.status, 200);
}

#[tokio::test]
async fn refused_tokens_say_why() {
    let platform = Platform::start().await;
    let odb = Some(("odb", "s3cr%25t%2B"));
    let credentials = ("grant_type", "client_credentials");
    let table: [Row<'_>; 9] = [
        (
            Some(("odb", "wrong")),
            &[credentials],
            401,
            "invalid_client",
        ),
        (None, &[credentials], 401, "invalid_client"),
        (odb, &[], 400, "invalid_request"),
        (
            odb,
            &[("grant_type", "magic")],
            400,
            "unsupported_grant_type",
        ),
        (
            odb,
            &[
                ("grant_type", "password"),
                ("username", "admin"),
                ("password", "password"),
            ],
            401,
            "invalid_client",
        ),
        (
            odb,
            &[credentials, ("scope", "uaa.admin")],
            400,
            "invalid_scope",
        ),
        (
            odb,
            &[credentials, ("client_id", "cf")],
            401,
            "invalid_client",
        ),
        (
            Some(("cf", "")),
            &[
                ("grant_type", "password"),
                ("username", "admin"),
                ("password", "wrong"),
            ],
            401,
            "invalid_client",
        ),
        (
            Some(("cf", "")),
            &[("grant_type", "refresh_token"), ("refresh_token", "x")],
            401,
            "invalid_token",
        ),
    ];
    for (basic, form, status, error) in table {
        let answer = platform.token(basic, form).await;
        assert_eq!(
            (answer.status.as_u16(), answer.body["error"].as_str()),
            (status, Some(error)),
            "{form:?}"
        );
    }

    let wrong = platform.token(Some(("odb", "wrong")), &[credentials]).await;
    assert_eq!(
        wrong.header("WWW-Authenticate"),
        r#"Basic realm="UAA/client", error="unauthorized", error_description="Bad credentials""#
    );
    assert_eq!(wrong.body["error_description"], "Bad credentials");
}

#[tokio::test]
async fn the_cloud_controller_tells_a_missing_token_from_a_bad_one_and_from_one_that_may_not() {
    let platform = Platform::start().await;
    let nobody = platform
        .token(
            Some(("nobody", "n")),
            &[("grant_type", "client_credentials")],
        )
        .await;
    let nobody = platform.with_token(nobody.body["access_token"].as_str().unwrap());
    let path = "/v3/service_instances";

    let missing = platform.anonymous().get(path).await;
    let bad = platform.with_token("abc").get(path).await;
    let for_others = nobody.get(path).await;
    let not_admin = platform
        .developer
        .post("/v3/service_brokers", &json!({}))
        .await;

    assert_eq!(
        missing.refusal(),
        (401, 10002, "CF-NotAuthenticated", "Authentication error")
    );
    assert_eq!(
        bad.refusal(),
        (401, 1000, "CF-InvalidAuthToken", "Invalid Auth Token")
    );
    assert_eq!(for_others.refusal().1, 1000);
    assert_eq!(not_admin.refusal().1, 10003);
}

#[tokio::test]
async fn anybody_may_read_where_things_are() {
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
