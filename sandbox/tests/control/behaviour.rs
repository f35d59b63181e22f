//! How servers behave, changed while they run.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::{client::send, foundation::Sandbox};

async fn change(sandbox: &Sandbox, method: Method, path: &str, body: &Value) -> StatusCode {
    let client = sandbox.client();
    let request = client
        .request(method, &sandbox.control(path))
        .header("Content-Type", "application/json")
        .body(body.to_string());
    send(request).await.unwrap().status
}

#[tokio::test]
async fn what_was_changed_of_the_cloud_controller_and_of_agents_is_reported_again() {
    let sandbox = Sandbox::start().await;
    let client = sandbox.client();
    for (path, member, value) in [
        ("/behaviour/cloud-controller", "polling_interval", "2s"),
        ("/behaviour/cloud-controller", "instance_row", "after_call"),
        ("/behaviour/agents", "call", "3s"),
    ] {
        let url = sandbox.control(path);
        let mut behaviour = client.get(&url).await.unwrap().json();
        assert_ne!(behaviour[member], value);
        behaviour[member] = json!(value);

        let changed = change(&sandbox, Method::PUT, path, &behaviour).await;

        assert_eq!(changed, StatusCode::OK);
        assert_eq!(client.get(&url).await.unwrap().json(), behaviour);
    }
}

#[tokio::test]
async fn a_credhub_that_refuses_to_write_refuses_until_it_is_allowed_again() {
    let sandbox = Sandbox::start().await;
    let client = sandbox.client();
    let credhub = sandbox.description().director.credhub.as_ref().unwrap();
    let url = format!("{}/api/v1/data", credhub.url);
    let token = client
        .client_token(&credhub.uaa_url, &credhub.admin_client)
        .await;
    let set = async || {
        let body = json!({"name": "/one", "type": "value", "value": "1"});
        let request = client.request(Method::PUT, &url).bearer_auth(&token);
        let request = request.header("Content-Type", "application/json");
        send(request.body(body.to_string())).await.unwrap().status
    };
    let path = "/behaviour/credhubs/credhub";

    let refuse = json!({"writing": "refused"});
    change(&sandbox, Method::PATCH, path, &refuse).await;
    assert_eq!(set().await, StatusCode::SERVICE_UNAVAILABLE);

    let allow = json!({"writing": "allowed"});
    change(&sandbox, Method::PATCH, path, &allow).await;
    assert_eq!(set().await, StatusCode::OK);
    let other = change(
        &sandbox,
        Method::PATCH,
        "/behaviour/credhubs/director",
        &allow,
    )
    .await;
    assert_eq!(other, StatusCode::BAD_REQUEST);
}
