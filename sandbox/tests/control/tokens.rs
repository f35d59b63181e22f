//! Tokens that are withdrawn.

use reqwest::{Method, StatusCode};

use crate::{client::send, foundation::Sandbox};

async fn status(sandbox: &Sandbox, token: &str) -> StatusCode {
    let client = sandbox.client();
    let request = client.request(Method::GET, &sandbox.director("/deployments"));
    send(request.bearer_auth(token)).await.unwrap().status
}

#[tokio::test]
async fn tokens_that_are_withdrawn_open_nothing_and_new_ones_do() {
    let sandbox = Sandbox::start().await;
    let client = sandbox.client();
    let director = &sandbox.description().director;
    let before = client.token(director).await;
    assert_eq!(status(&sandbox, &before).await, StatusCode::OK);

    let withdrawn = client.delete(&sandbox.control("/tokens/bosh-uaa")).await;

    assert_eq!(withdrawn.status, StatusCode::OK);
    assert_eq!(status(&sandbox, &before).await, StatusCode::UNAUTHORIZED);
    let after = client.token(director).await;
    assert_eq!(status(&sandbox, &after).await, StatusCode::OK);
}

#[tokio::test]
async fn only_a_uaa_has_tokens() {
    let sandbox = Sandbox::start().await;

    let refused = sandbox
        .client()
        .delete(&sandbox.control("/tokens/director"))
        .await;

    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
}
