//! Tokens that end before their time.

use odb_sandbox::uaa::{TokenFault, Tokens};
use reqwest::Method;
use serde_json::json;

use crate::server::{ADMIN, BROKER, CF, Server, decoded};

#[tokio::test]
async fn what_is_revoked_at_once_is_refused_everywhere_and_a_new_token_is_not() {
    let server = Server::start();
    let verifiers = [server.uaa.verifier(), server.uaa.configured_verifier()];
    let old = server.client_token(BROKER).await;
    let admin = server.client_token(ADMIN).await;

    server
        .uaa
        .revoke_tokens(&Tokens::OfClient("odb".to_owned()));
    let new = server.client_token(BROKER).await;

    for verifier in &verifiers {
        assert_eq!(verifier.verify(&old), Err(TokenFault::Revoked));
        assert!(verifier.verify(&new).is_ok() && verifier.verify(&admin).is_ok());
    }
    assert_eq!(
        server.get("/oauth/clients", &old).await.refusal(),
        (401, "invalid_token")
    );

    server.uaa.revoke_tokens(&Tokens::All);
    for token in [&new, &admin] {
        assert_eq!(verifiers[0].verify(token), Err(TokenFault::Revoked));
    }
    assert!(
        verifiers[0]
            .verify(&server.client_token(BROKER).await)
            .is_ok()
    );
}

#[tokio::test]
async fn revoking_a_users_tokens_ends_refreshing_but_not_what_servers_take() {
    let server = Server::start();
    let login = server.log_in("developer", "password").await;
    let token = login.access_token();
    let refresh = login.body["refresh_token"].as_str().unwrap();
    let admin = server.client_token(ADMIN).await;
    let user = decoded(&token, 1)["user_id"].as_str().unwrap().to_owned();

    let path = format!("/oauth/token/revoke/user/{user}");
    let by_stranger = server.get(&path, &server.client_token(BROKER).await).await;
    let revoked = server.get(&path, &admin).await;
    let form = [("grant_type", "refresh_token"), ("refresh_token", refresh)];
    let refreshed = server.token(Some(CF), &form).await;

    assert_eq!(by_stranger.refusal(), (403, "insufficient_scope"));
    assert_eq!((revoked.status.as_u16(), revoked.text.as_str()), (200, ""));
    assert_eq!(refreshed.refusal(), (401, "invalid_token"));
    assert!(
        server.uaa.verifier().verify(&token).is_ok(),
        "JWTs are not asked about"
    );
    assert_eq!(server.log_in("developer", "password").await.status, 200);
}

#[tokio::test]
async fn revoking_a_clients_tokens_ends_them_at_the_uaa() {
    let server = Server::start();
    let admin = server.client_token(ADMIN).await;
    let token = server.client_token(BROKER).await;
    assert_eq!(server.get("/oauth/clients", &token).await.status, 200);

    let path = "/oauth/token/revoke/client/odb";
    assert_eq!(server.get(path, &admin).await.status, 200);

    assert_eq!(
        server.get("/oauth/clients", &token).await.refusal(),
        (401, "invalid_token")
    );
    let shown = server.get("/oauth/clients/odb", &admin).await;
    assert_eq!(shown.body["token_salt"].as_str().unwrap().len(), 8);
    let missing = server
        .get("/oauth/token/revoke/client/nobody", &admin)
        .await;
    assert_eq!(missing.refusal(), (404, "invalid_token"));
}

#[tokio::test]
async fn a_new_secret_ends_the_old_ones_tokens() {
    let server = Server::start();
    let admin = server.client_token(ADMIN).await;
    let token = server.client_token(BROKER).await;

    let body = json!({"clientId": "odb", "secret": "new"});
    server
        .send(Method::PUT, "/oauth/clients/odb/secret", &admin, &body)
        .await;

    assert_eq!(
        server.get("/oauth/clients", &token).await.refusal(),
        (401, "invalid_token")
    );
    assert!(!server.client_token(("odb", "new")).await.is_empty());
}
