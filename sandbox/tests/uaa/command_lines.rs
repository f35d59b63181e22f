//! The requests of the `uaa` and `cf` command lines, header by header (`spec/contracts/platform-apis.md`, "What the
//! `uaa` CLI sends" and "Calls per command, in order").

use reqwest::{Method, RequestBuilder};
use serde_json::json;

use crate::server::{ADMIN, Response, Server, decoded};

const FORM: &str = "application/x-www-form-urlencoded";

/// A request as the `uaa` command line sends it.
fn uaa(server: &Server, method: Method, path: &str, token: &str) -> RequestBuilder {
    server
        .request(method, path)
        .header("Accept", "application/json")
        .header("Content-Type", "application/json")
        .header("Authorization", format!("bearer {token}"))
        .header("X-Identity-Zone-Id", "")
}

/// A token request as the `cf` command line sends it.
fn cf(server: &Server, body: &str) -> RequestBuilder {
    server
        .request(Method::POST, "/oauth/token")
        .header("User-Agent", "cf/8.18.4 (go1.24; amd64 linux)")
        .header("Accept", "application/json")
        .header("Content-Type", FORM)
        .header("X-B3-TraceId", "0123456789abcdef0123456789abcdef")
        .header("X-B3-SpanId", "0123456789abcdef")
        .body(body.to_owned())
}

#[tokio::test]
async fn the_uaa_command_line_administers_a_client() {
    let server = Server::start();

    let target = Response::to(
        server
            .request(Method::GET, "/info")
            .header("Accept", "application/json"),
    );
    assert_eq!(target.await.body["app"]["version"], "77.20.0");
    let token = server
        .request(Method::POST, "/oauth/token")
        .basic_auth(ADMIN.0, Some(ADMIN.1))
        .header("Content-Type", FORM)
        .body("grant_type=client_credentials&token_format=jwt");
    let token = Response::to(token).await.access_token();

    let body = json!({
        "client_id": "cache", "client_secret": "c", "authorized_grant_types": ["client_credentials"],
        "authorities": ["cloud_controller.read"],
    });
    let create = uaa(&server, Method::POST, "/oauth/clients", &token).body(body.to_string());
    assert_eq!(Response::to(create).await.status, 201);
    let body =
        json!({"client_id": "cache", "authorities": ["cloud_controller.read", "clients.read"]});
    let update = uaa(&server, Method::PUT, "/oauth/clients/cache", &token).body(body.to_string());
    let updated = Response::to(update).await;
    assert_eq!(
        updated.body["authorities"],
        json!(["clients.read", "cloud_controller.read"])
    );
    let read = Response::to(uaa(&server, Method::GET, "/oauth/clients/cache", &token)).await;
    assert_eq!(read.body, updated.body);
    let list = "/oauth/clients?count=100&sortOrder=ascending&startIndex=1";
    let list = Response::to(uaa(&server, Method::GET, list, &token)).await;
    assert!(
        list.body["resources"]
            .as_array()
            .unwrap()
            .contains(&read.body)
    );
    let body = json!({"clientId": "cache", "secret": "new"});
    let secret = uaa(&server, Method::PUT, "/oauth/clients/cache/secret", &token);
    let secret = Response::to(secret.body(body.to_string())).await;
    assert_eq!(secret.text, r#"{"status":"ok","message":"secret updated"}"#);
    let delete = Response::to(uaa(&server, Method::DELETE, "/oauth/clients/cache", &token)).await;
    assert_eq!(delete.body["approvals_deleted"], true);
    let gone = Response::to(uaa(&server, Method::GET, "/oauth/clients/cache", &token)).await;
    assert_eq!((gone.status.as_u16(), gone.text.as_str()), (404, ""));
}

#[tokio::test]
async fn cf_login_asks_for_prompts_and_then_for_a_token() {
    let server = Server::start();

    let login = server
        .request(Method::GET, "/login")
        .header("Accept", "application/json")
        .header("Content-Type", "application/json");
    let prompts = Response::to(login).await.body["prompts"].clone();
    assert_eq!(prompts.as_object().unwrap().len(), 2);
    let login = cf(
        &server,
        "grant_type=password&password=password&username=developer",
    );
    let answer = Response::to(login.header("Authorization", "Basic Y2Y6")).await;

    let claims = decoded(&answer.access_token(), 1);
    for claim in ["user_name", "user_id", "origin"] {
        assert!(
            claims[claim].is_string(),
            "the cf command line needs `{claim}`"
        );
    }
    assert_eq!(answer.body["token_type"], "bearer");
    let refresh = answer.body["refresh_token"].as_str().unwrap();
    let refresh = cf(
        &server,
        &format!("grant_type=refresh_token&refresh_token={refresh}"),
    );
    let refreshed = Response::to(refresh.header("Authorization", "Basic Y2Y6")).await;
    assert_eq!(
        refreshed.body["refresh_token"],
        answer.body["refresh_token"]
    );
}

#[tokio::test]
async fn cf_auth_with_client_credentials_sends_no_basic_header() {
    let server = Server::start();
    let body = "client_id=odb&client_secret=s3cr%25t%2B&grant_type=client_credentials";

    let answer = Response::to(cf(&server, body)).await;

    assert_eq!(decoded(&answer.access_token(), 1)["client_id"], "odb");
}

#[tokio::test]
async fn cf_auth_with_a_wrong_password_is_reported_so_in_the_words_that_it_looks_for() {
    let server = Server::start();
    let body = "grant_type=password&password=wrong&username=developer";

    let answer = Response::to(cf(&server, body).header("Authorization", "Basic Y2Y6")).await;

    assert_eq!(
        answer.text,
        r#"{"error":"invalid_client","error_description":"Bad credentials"}"#
    );
    assert_eq!(answer.status, 401);
}
