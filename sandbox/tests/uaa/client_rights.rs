//! The rights to administer clients.

use reqwest::Method;
use serde_json::{Value, json};

use crate::server::{BROKER, Response, Server};

const WRITER: (&str, &str) = ("writer", "w");

#[tokio::test]
async fn callers_without_a_good_token_or_the_scope_are_reported_so() {
    let server = Server::start();
    let broker = server.client_token(BROKER).await;
    let developer = server.log_in("developer", "password").await;
    let refresh = developer.body["refresh_token"].as_str().unwrap();

    let anonymous = Response::to(server.request(Method::GET, "/oauth/clients")).await;
    let bad = server.get("/oauth/clients", "a.b.c").await;
    let with_refresh = server.get("/oauth/clients", refresh).await;
    let reader = server.post("/oauth/clients", &broker, &json!({})).await;

    assert_eq!(anonymous.rejection(), (401, "unauthorized"));
    assert_eq!(
        anonymous.header("WWW-Authenticate"),
        r#"Bearer realm="UAA/oauth", error="unauthorized", error_description="Full authentication is required to access this resource""#
    );
    assert_eq!(bad.rejection(), (401, "invalid_token"));
    assert!(
        bad.header("WWW-Authenticate")
            .starts_with(r#"Bearer realm="UAA/oauth", error="invalid_token""#)
    );
    assert_eq!(with_refresh.rejection(), (401, "invalid_token"));
    assert_eq!(reader.rejection(), (403, "insufficient_scope"));
    assert_eq!(
        reader.body["scope"],
        "uaa.admin zones.uaa.admin clients.admin clients.write"
    );
}

#[tokio::test]
async fn a_writer_gives_away_no_more_than_it_has() {
    let server = Server::start();
    let writer = server.client_token(WRITER).await;
    let create = async |body: Value| server.post("/oauth/clients", &writer, &body).await;
    let client = |grants: &[&str], scopes: &[&str], authorities: &[&str]| {
        json!({
            "client_id": "a", "client_secret": "s", "authorized_grant_types": grants, "scope": scopes,
            "authorities": authorities, "redirect_uri": ["https://a.example"],
        })
    };

    for body in [
        client(&["client_credentials", "password"], &[], &[]),
        client(&["client_credentials"], &["cloud_controller.read"], &[]),
        client(&["client_credentials"], &[], &["clients.read"]),
        client(&["implicit", "authorization_code"], &[], &[]),
    ] {
        assert_eq!(
            create(body.clone()).await.rejection(),
            (400, "invalid_client"),
            "{body}"
        );
    }
    let allowed = client(
        &["client_credentials"],
        &["writer.x", "a.y", "uaa.none"],
        &["uaa.resource"],
    );
    assert_eq!(create(allowed).await.status, 201);
}

#[tokio::test]
async fn a_client_changes_its_own_secret_with_the_old_one() {
    let server = Server::start();
    let writer = server.client_token(WRITER).await;
    let change = async |client: &str, old: &str| {
        let body = json!({"clientId": client, "secret": "new", "oldSecret": old});
        let path = format!("/oauth/clients/{client}/secret");
        server.put(&path, &writer, &body).await
    };

    assert_eq!(
        change("odb", "s3cr%t+").await.rejection(),
        (400, "invalid_client")
    );
    assert_eq!(
        change("writer", "wrong").await.rejection(),
        (400, "invalid_client")
    );
    assert_eq!(
        change("writer", "w").await.text,
        r#"{"status":"ok","message":"secret updated"}"#
    );
    assert!(!server.client_token(("writer", "new")).await.is_empty());
}
