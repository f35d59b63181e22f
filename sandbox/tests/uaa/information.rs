//! Public information.

use reqwest::Method;
use serde_json::json;

use crate::server::{Response, Server};

#[tokio::test]
async fn login_prompts_are_public() {
    let server = Server::start();
    let login = |accept: &'static str| {
        Response::to(
            server
                .request(Method::GET, "/login")
                .header("Accept", accept),
        )
    };

    let info = Response::to(server.request(Method::GET, "/info")).await;
    let json = login("application/json").await;
    let page = login("text/html,application/xhtml+xml").await;

    assert_eq!(info.body, json.body);
    assert_eq!(
        info.body["prompts"],
        json!({"username": ["text", "Email"], "password": ["password", "Password"]})
    );
    assert_eq!(info.body["links"]["login"], server.url);
    assert!(page.header("Content-Type").starts_with("text/html"));
}

#[tokio::test]
async fn a_client_with_the_keys_does_not_get_them_again() {
    let server = Server::start();
    let keys = |tag: String| {
        Response::to(
            server
                .request(Method::GET, "/token_keys")
                .header("If-None-Match", tag),
        )
    };

    let first = keys(String::new()).await;
    let tag = first.header("ETag").to_owned();
    let same = keys(tag.clone()).await;
    server.uaa.rotate_key().unwrap();
    let changed = keys(tag).await;

    assert_eq!(first.body["keys"][0]["kid"], "key-1");
    assert_eq!((same.status.as_u16(), same.text.as_str()), (304, ""));
    let ids: Vec<_> = changed.body["keys"]
        .as_array()
        .unwrap()
        .iter()
        .map(|key| &key["kid"])
        .collect();
    assert_eq!(ids, ["key-1", "key-2"]);
}
