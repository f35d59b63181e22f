//! Public information.

use odb_sandbox::uaa::SigningAlgorithm;
use reqwest::Method;
use serde_json::json;

use crate::server::{Answer, BROKER, Server};

#[tokio::test]
async fn login_prompts_are_public() {
    let server = Server::start();
    let login = |accept: &'static str| {
        Answer::to(
            server
                .request(Method::GET, "/login")
                .header("Accept", accept),
        )
    };

    let info = Answer::to(server.request(Method::GET, "/info")).await;
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
        Answer::to(
            server
                .request(Method::GET, "/token_keys")
                .header("If-None-Match", tag),
        )
    };

    let first = keys(String::new()).await;
    let tag = first.header("ETag").to_owned();
    let same = keys(tag.clone()).await;
    server.uaa.rotate_key(SigningAlgorithm::Rs256).unwrap();
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

#[tokio::test]
async fn a_shared_secret_is_shown_to_resource_servers_alone() {
    let server = Server::start();
    server.uaa.rotate_key(SigningAlgorithm::Hs256).unwrap();
    let as_client = |path: &str, client: Option<(&str, &str)>| {
        let mut request = server.request(Method::GET, path);
        if let Some((id, secret)) = client {
            request = request.basic_auth(id, Some(secret));
        }
        Answer::to(request)
    };

    let anonymous = as_client("/token_key", None).await;
    let resource = as_client("/token_key", Some(("resource", "r"))).await;
    let keys_of_any_client = as_client("/token_keys", None).await;
    let keys_of_resource = as_client("/token_keys", Some(("resource", "r"))).await;
    let liar = as_client("/token_keys", Some(("resource", "wrong"))).await;

    assert_eq!(anonymous.status, 403);
    assert_eq!(
        (&resource.body["kty"], &resource.body["alg"]),
        (&json!("MAC"), &json!("HS256"))
    );
    assert_eq!(keys_of_any_client.body["keys"].as_array().unwrap().len(), 1);
    assert_eq!(keys_of_resource.body["keys"].as_array().unwrap().len(), 2);
    assert_eq!(liar.status, 401);
    let token = server.client_token(BROKER).await;
    assert!(server.uaa.verifier().verify(&token).is_ok());
}
