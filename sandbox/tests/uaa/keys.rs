//! New keys, and who notices.

use odb_sandbox::uaa::TokenError;

use crate::server::{BROKER, Server, decoded};

#[tokio::test]
async fn a_new_key_is_noticed_by_servers_that_look_keys_up_and_by_no_other() {
    let server = Server::start();
    let (director, controller) = (server.uaa.configured_verifier(), server.uaa.verifier());
    let old = server.client_token(BROKER).await;

    let id = server.uaa.rotate_key().unwrap();
    let new = server.client_token(BROKER).await;

    assert_eq!(decoded(&new, 0)["kid"], id);
    assert!(controller.verify(&old).is_ok() && controller.verify(&new).is_ok());
    assert!(director.verify(&old).is_ok());
    assert_eq!(director.verify(&new), Err(TokenError::BadSignature));
    let redeployed = server.uaa.configured_verifier();
    assert!(redeployed.verify(&new).is_ok());
}
