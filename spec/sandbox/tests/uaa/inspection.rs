//! Asking the UAA about tokens, opaque ones in particular.

use serde_json::json;

use crate::server::{ADMIN, BROKER, CF, Server};

const RESOURCE: (&str, &str) = ("resource", "r");
const CREDENTIALS: (&str, &str) = ("grant_type", "client_credentials");

#[tokio::test]
async fn a_server_may_ask_what_a_token_says() {
    let server = Server::start();
    let token = server.client_token(BROKER).await;

    let checked = server
        .form("/check_token", Some(RESOURCE), &[("token", &token)])
        .await;
    let with_scope = [
        ("token", token.as_str()),
        ("scopes", "clients.read,nothing.here"),
    ];
    let missing = server
        .form("/check_token", Some(RESOURCE), &with_scope)
        .await;
    let bad = server
        .form("/check_token", Some(RESOURCE), &[("token", "a.b.c")])
        .await;
    let by_others = server
        .form("/check_token", Some(BROKER), &[("token", &token)])
        .await;

    assert_eq!(checked.body["client_id"], "odb");
    assert!(checked.body["exp"].is_i64() && checked.body["rev_sig"].is_string());
    assert_eq!(missing.refusal(), (400, "invalid_scope"));
    assert_eq!(bad.refusal(), (400, "invalid_token"));
    assert_eq!(by_others.refusal(), (403, "access_denied"));
}

#[tokio::test]
async fn introspection_tells_only_whether_a_bad_token_is_active() {
    let server = Server::start();
    let token = server.client_token(BROKER).await;

    let good = server
        .form("/introspect", Some(RESOURCE), &[("token", &token)])
        .await;
    let bad = server
        .form("/introspect", Some(RESOURCE), &[("token", "x")])
        .await;

    assert_eq!(
        (&good.body["active"], &good.body["sub"]),
        (&json!(true), &json!("odb"))
    );
    assert_eq!(bad.text, r#"{"active":false}"#);
}

#[tokio::test]
async fn an_opaque_token_stands_for_a_jwt_until_it_is_revoked() {
    let server = Server::start();
    let form = [CREDENTIALS, ("token_format", "opaque")];

    let opaque = server.token(Some(ADMIN), &form).await;
    let token = opaque.access_token();
    assert_eq!(token, opaque.body["jti"]);
    assert!(!token.contains('.'));
    let checked = server
        .form("/check_token", Some(RESOURCE), &[("token", &token)])
        .await;
    assert_eq!(
        (&checked.body["client_id"], &checked.body["revocable"]),
        (&json!("admin"), &json!(true))
    );
    assert_eq!(server.get("/oauth/clients", &token).await.status, 200);

    let path = format!("/oauth/token/revoke/{token}");
    let admin = server.client_token(ADMIN).await;
    let delete = || server.send(reqwest::Method::DELETE, &path, &admin, &json!(null));
    assert_eq!(delete().await.status, 200);
    assert_eq!(
        delete().await.text,
        r#"{"error":"invalid_token","error_description":"Resource not found"}"#
    );
    assert_eq!(
        server.get("/oauth/clients", &token).await.refusal(),
        (401, "invalid_token")
    );
}

#[tokio::test]
async fn an_opaque_refresh_token_refreshes() {
    let server = Server::start();
    let form = [
        ("grant_type", "password"),
        ("username", "developer"),
        ("password", "password"),
        ("token_format", "opaque"),
    ];

    let first = server.token(Some(CF), &form).await;
    let refresh = first.body["refresh_token"].as_str().unwrap();
    let form = [("grant_type", "refresh_token"), ("refresh_token", refresh)];
    let again = server.token(Some(CF), &form).await;

    assert!(refresh.ends_with("-r") && !refresh.contains('.'));
    assert_eq!(again.body["refresh_token"], refresh);
    assert!(again.access_token().contains('.'), "a JWT this time");
}
