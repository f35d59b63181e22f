//! Tokens that end before their time.

use odb_sandbox::uaa::{TokenError, Tokens};
use serde_json::json;

use crate::server::{ADMIN, BROKER, Server};

#[tokio::test]
async fn what_is_revoked_at_once_is_refused_everywhere_and_a_new_token_is_not() {
    let server = Server::start();
    let verifiers = [server.uaa.verifier()];
    let old = server.client_token(BROKER).await;
    let admin = server.client_token(ADMIN).await;

    server
        .uaa
        .revoke_tokens(&Tokens::OfClient("odb".to_owned()));
    let new = server.client_token(BROKER).await;

    for verifier in &verifiers {
        assert_eq!(verifier.verify(&old), Err(TokenError::Revoked));
        assert!(verifier.verify(&new).is_ok() && verifier.verify(&admin).is_ok());
    }
    assert_eq!(
        server.get("/oauth/clients", &old).await.rejection(),
        (401, "invalid_token")
    );

    server.uaa.revoke_tokens(&Tokens::All);
    for token in [&new, &admin] {
        assert_eq!(verifiers[0].verify(token), Err(TokenError::Revoked));
    }
    assert!(
        verifiers[0]
            .verify(&server.client_token(BROKER).await)
            .is_ok()
    );
}

#[tokio::test]
async fn a_new_secret_ends_the_old_ones_tokens() {
    let server = Server::start();
    let admin = server.client_token(ADMIN).await;
    let token = server.client_token(BROKER).await;

    let body = json!({"clientId": "odb", "secret": "new"});
    server.put("/oauth/clients/odb/secret", &admin, &body).await;

    assert_eq!(
        server.get("/oauth/clients", &token).await.rejection(),
        (401, "invalid_token")
    );
    assert!(!server.client_token(("odb", "new")).await.is_empty());
}
