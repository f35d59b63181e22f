//! New keys, and who notices.

use odb_sandbox::uaa::{RevokeKeyError, SigningAlgorithm, TokenError};

use crate::server::{BROKER, Server, decoded};

#[tokio::test]
async fn a_new_key_is_noticed_by_servers_that_look_keys_up_and_by_no_other() {
    let server = Server::start();
    let (director, controller) = (server.uaa.configured_verifier(), server.uaa.verifier());
    let old = server.client_token(BROKER).await;

    let id = server.uaa.rotate_key(SigningAlgorithm::Rs256).unwrap();
    let new = server.client_token(BROKER).await;

    assert_eq!(decoded(&new, 0)["kid"], id);
    assert!(controller.verify(&old).is_ok() && controller.verify(&new).is_ok());
    assert!(director.verify(&old).is_ok());
    assert_eq!(director.verify(&new), Err(TokenError::BadSignature));
    let redeployed = server.uaa.configured_verifier();
    assert!(redeployed.verify(&new).is_ok());
}

#[tokio::test]
async fn a_withdrawn_keys_tokens_are_good_only_for_servers_that_keep_the_key() {
    let server = Server::start();
    let (director, controller) = (server.uaa.configured_verifier(), server.uaa.verifier());
    let old = server.client_token(BROKER).await;
    let id = server.uaa.rotate_key(SigningAlgorithm::Rs256).unwrap();

    server.uaa.revoke_key("key-1").unwrap();

    assert_eq!(controller.verify(&old), Err(TokenError::BadSignature));
    assert!(director.verify(&old).is_ok());
    assert_eq!(
        server.get("/oauth/clients", &old).await.rejection(),
        (401, "invalid_token")
    );
    assert_eq!(server.uaa.revoke_key(&id), Err(RevokeKeyError::Active(id)));
    assert_eq!(
        server.uaa.revoke_key("key-1"),
        Err(RevokeKeyError::Unknown("key-1".to_owned()))
    );
}
