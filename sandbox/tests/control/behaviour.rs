//! How long the Director waits for agents, changed while it runs.

use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::{client::send, foundation::Sandbox};

#[tokio::test]
async fn what_was_changed_of_agents_is_reported_again() {
    let sandbox = Sandbox::start().await;
    let client = sandbox.client();
    let url = sandbox.control("/behaviour/agents");
    let mut behaviour = client.get(&url).await.unwrap().json();
    assert_ne!(behaviour["call"], "3s");
    behaviour["call"] = json!("3s");

    let request = client
        .request(Method::PUT, &url)
        .header("Content-Type", "application/json")
        .body(behaviour.to_string());
    let changed = send(request).await.unwrap();

    assert_eq!(changed.status, StatusCode::OK);
    assert_eq!(client.get(&url).await.unwrap().json(), behaviour);
}
