//! The state of a UAA after a restart.

use std::net::TcpListener;

use odb_sandbox::{store::Store, uaa::Tokens};
use secrecy::ExposeSecret;
use serde_json::json;

use crate::server::{ADMIN, BROKER, CF, Server};

#[tokio::test]
async fn clients_users_and_tokens_outlive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let again = listener.try_clone().unwrap();
    let server = Server::at(listener, &store);
    let admin = server.client_token(ADMIN).await;
    let body = json!({
        "client_id": "instance-1", "client_secret": "i", "authorized_grant_types": ["client_credentials"],
    });
    server.post("/oauth/clients", &admin, &body).await;
    let secret = json!({"secret": "rotated"});
    server
        .put("/oauth/clients/odb/secret", &admin, &secret)
        .await;
    let refresh = server.log_in("developer", "password").await;
    let refresh = refresh.body["refresh_token"].as_str().unwrap().to_owned();
    server.stop().await;
    store.close();
    drop(store);

    let store = Store::open(folder.path()).unwrap();
    let server = Server::at(again, &store);

    assert!(server.uaa.verifier().verify(&admin).is_ok());
    assert_eq!(
        server.get("/oauth/clients/instance-1", &admin).await.status,
        200
    );
    assert_eq!(
        server.uaa.client_secret("odb").unwrap().expose_secret(),
        "rotated"
    );
    let old = server
        .token(Some(BROKER), &[("grant_type", "client_credentials")])
        .await;
    assert_eq!(old.rejection(), (401, "invalid_client"));
    let form = [
        ("grant_type", "refresh_token"),
        ("refresh_token", refresh.as_str()),
    ];
    assert_eq!(server.token(Some(CF), &form).await.status, 200);
    server.uaa.revoke_tokens(&Tokens::All);
    server.stop().await;
    store.close();
}
