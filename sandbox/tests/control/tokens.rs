//! Tokens that are withdrawn, and those that do not live long.

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
async fn tokens_live_as_long_as_was_set() {
    let sandbox = Sandbox::start().await;
    let client = sandbox.client();
    let lives = r#"{"access": "7s", "refresh": "1h"}"#;
    let request = client
        .request(Method::PUT, &sandbox.control("/tokens/bosh-uaa/lives"))
        .header("Content-Type", "application/json")
        .body(lives);
    assert_eq!(send(request).await.unwrap().status, StatusCode::OK);

    let reported = client.grant(&sandbox.description().director).await;

    let seconds = reported["expires_in"].as_u64().unwrap();
    assert!((6..=7).contains(&seconds), "{reported}");
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
