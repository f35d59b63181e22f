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
