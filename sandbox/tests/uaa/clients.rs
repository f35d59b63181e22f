//! Administering clients.

use serde_json::{Value, json};

use crate::server::{ADMIN, Server};

fn instance(id: &str) -> Value {
    json!({
        "client_id": id, "client_secret": "secret", "name": "cache",
        "authorized_grant_types": ["client_credentials", "password"], "scope": "openid, cloud_controller.read",
        "authorities": ["clients.read"], "resource_ids": ["whatever"], "autoapprove": true,
        "allowpublic": true, "created_for": {"instance": id},
    })
}

async fn admin(server: &Server) -> String {
    server.client_token(ADMIN).await
}

#[tokio::test]
async fn a_client_is_kept_with_what_was_sent_but_its_secret() {
    let server = Server::start();
    let admin = admin(&server).await;

    let created = server.post("/oauth/clients", &admin, &instance("a")).await;
    let read = server.get("/oauth/clients/a", &admin).await;

    assert_eq!(created.status, 201, "{}", created.text);
    assert_eq!(created.body, read.body);
    let modified = read.body["lastModified"].as_i64().unwrap();
    assert!(modified > 1_600_000_000_000, "milliseconds");
    let mut expected = json!({
        "scope": ["cloud_controller.read", "openid"],
        "client_id": "a",
        "resource_ids": ["none"],
        "authorized_grant_types": ["client_credentials", "password", "refresh_token"],
        "autoapprove": ["true"],
        "authorities": ["clients.read"],
        "name": "cache",
        "allowpublic": true,
        "created_for": {"instance": "a"},
    });
    expected["lastModified"] = modified.into();
    assert_eq!(read.body, expected);
}

#[tokio::test]
async fn an_update_merges_and_leaves_the_secret_alone() {
    let server = Server::start();
    let admin = admin(&server).await;
    server.post("/oauth/clients", &admin, &instance("a")).await;
    let body = json!({
        "client_id": "a", "scope": [], "authorities": ["uaa.none"], "redirect_uri": ["https://a.example/*"],
        "allowpublic": false, "name": null,
    });

    let updated = server.put("/oauth/clients/a", &admin, &body).await;

    assert_eq!(updated.status, 200, "{}", updated.text);
    assert_eq!(
        updated.body["scope"],
        json!(["cloud_controller.read", "openid"])
    );
    assert_eq!(updated.body["authorities"], json!(["uaa.none"]));
    assert_eq!(updated.body["redirect_uri"], json!(["https://a.example/*"]));
    assert!(updated.body.get("allowpublic").is_none() && updated.body.get("name").is_none());
    assert!(!server.client_token(("a", "secret")).await.is_empty());
}

#[tokio::test]
async fn what_is_not_there_is_answered_without_a_body() {
    let server = Server::start();
    let admin = admin(&server).await;
    let body = json!({"client_id": "x"});

    for answer in [
        server.get("/oauth/clients/x", &admin).await,
        server.put("/oauth/clients/x", &admin, &body).await,
        server.delete("/oauth/clients/x", &admin).await,
        server
            .put("/oauth/clients/x/secret", &admin, &json!({"secret": "s"}))
            .await,
    ] {
        assert_eq!((answer.status.as_u16(), answer.text.as_str()), (404, ""));
    }
}

#[tokio::test]
async fn a_deleted_client_gets_no_tokens_and_its_tokens_are_good_for_nothing_here() {
    let server = Server::start();
    let admin = admin(&server).await;
    server.post("/oauth/clients", &admin, &instance("a")).await;
    let token = server.client_token(("a", "secret")).await;

    let deleted = server.delete("/oauth/clients/a", &admin).await;

    assert_eq!(deleted.body["approvals_deleted"], true);
    assert_eq!(deleted.body["client_id"], "a");
    let form = [("grant_type", "client_credentials")];
    assert_eq!(
        server.token(Some(("a", "secret")), &form).await.rejection(),
        (401, "invalid_client")
    );
    assert_eq!(
        server.get("/oauth/clients", &token).await.rejection(),
        (401, "invalid_token")
    );
}

/// A client that would be registered, with some members changed, or left out where they are null.
fn changed(changes: &Value) -> Value {
    let mut client = json!({
        "client_id": "a", "client_secret": "s", "authorized_grant_types": ["client_credentials"],
    });
    for (name, value) in changes.as_object().unwrap() {
        client[name] = value.clone();
    }
    client
        .as_object_mut()
        .unwrap()
        .retain(|_, value| !value.is_null());
    client
}

#[tokio::test]
async fn broken_rules_are_refused() {
    let server = Server::start();
    let admin = admin(&server).await;
    // What is changed of a client that would be registered, and the status.
    let table = [
        (json!({"client_id": "odb"}), 409),
        (json!({"client_id": "a/b"}), 400),
        (json!({"client_id": "uaa"}), 400),
        (json!({"client_id": null}), 400),
        (json!({"client_secret": null}), 400),
        (json!({"authorized_grant_types": null}), 400),
        (json!({"authorized_grant_types": ["magic"]}), 400),
        (
            json!({"authorized_grant_types": ["authorization_code"]}),
            400,
        ),
        (
            json!({"authorized_grant_types": ["implicit"], "redirect_uri": ["https://a.example"]}),
            400,
        ),
        (
            json!({"authorized_grant_types": ["authorization_code"], "redirect_uri": ["a"]}),
            400,
        ),
    ];
    for (changes, status) in table {
        let body = changed(&changes);
        let answer = server.post("/oauth/clients", &admin, &body).await;
        assert_eq!(
            answer.rejection(),
            (status, "invalid_client"),
            "{body} {}",
            answer.text
        );
    }

    let other = json!({"client_id": "b"});
    let other = server.put("/oauth/clients/odb", &admin, &other).await;
    let exists = changed(&json!({"client_id": "odb"}));
    let exists = server.post("/oauth/clients", &admin, &exists).await;
    assert_eq!(other.status, 400);
    assert_eq!(
        exists.text,
        r#"{"error":"invalid_client","error_description":"Client already exists: odb"}"#
    );
}

#[tokio::test]
async fn a_client_has_two_secrets_at_most_so_that_they_can_be_rotated() {
    let server = Server::start();
    let admin = admin(&server).await;
    let change = async |mode: &str, secret: &str| {
        let body = json!({"secret": secret, "changeMode": mode});
        server.put("/oauth/clients/odb/secret", &admin, &body).await
    };
    let works = async |secret: &str| {
        let form = [("grant_type", "client_credentials")];
        server.token(Some(("odb", secret)), &form).await.status == 200
    };

    let added = change("ADD", "second").await;
    assert_eq!(added.text, r#"{"status":"ok","message":"Secret is added"}"#);
    assert!(works("s3cr%25t%2B").await && works("second").await);
    assert_eq!(
        change("ADD", "third").await.rejection(),
        (400, "invalid_client")
    );
    assert_eq!(
        change("DELETE", "").await.body["message"],
        "Secret is deleted"
    );
    assert!(!works("s3cr%25t%2B").await && works("second").await);
    assert_eq!(
        change("DELETE", "").await.rejection(),
        (400, "invalid_client")
    );
    assert_eq!(
        change("UPDATE", "new").await.body["message"],
        "secret updated"
    );
    assert!(!works("second").await && works("new").await);
}
