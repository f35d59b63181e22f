//! Administration of a UAA's clients.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use odb_clients::{
    http::{Call, StatusCode},
    uaa::{
        ClientAdministration, ClientId, ClientRegistration, Grant, NewClient, SecretChange,
        TokenSource,
    },
};
use serde_json::{Value, json};

use crate::foundation::{PASSWORD, Reply, Request, Server, call, everything, limits};

const SECRET: &str = "s3cretOfTheInstance";

/// A client as UAA returns it: without empty members, with members of its own.
const SHOWN: &str = r#"{"scope":["openid"],"client_id":"i-1","resource_ids":["none"],"authorized_grant_types":["refresh_token","authorization_code"],"redirect_uri":["https://placeholder.example.com"],"authorities":["uaa.none"],"name":"cache","allowpublic":"true","odb_offering":"o","lastModified":1700000000000}"#;

/// A UAA that gives tokens, and a client of it.
async fn administration(
    answer: impl Fn(&Request) -> Reply + Send + Sync + 'static,
) -> (Server, ClientAdministration) {
    let server = Server::start(move |request| match request.path() {
        "/oauth/token" => Reply::ok(
            r#"{"access_token":"t","token_type":"bearer","expires_in":43199,"scope":"clients.admin","jti":"j"}"#,
        ),
        _ => answer(request),
    })
    .await;
    let grant = Grant::ClientCredentials {
        client_id: "broker".to_owned(),
        client_secret: PASSWORD.into(),
    };
    let tokens = TokenSource::connect(&server.url, &server.trust(), grant, limits()).unwrap();
    let clients =
        ClientAdministration::connect(&server.url, &server.trust(), tokens, limits()).unwrap();
    (server, clients)
}

fn id(text: &str) -> ClientId {
    text.parse().unwrap()
}

fn registration() -> ClientRegistration {
    serde_json::from_str(r#"{"client_id":"i-1","scope":["openid"]}"#).unwrap()
}

fn new_client() -> NewClient {
    NewClient {
        registration: registration(),
        secret: Some(SECRET.into()),
    }
}

/// The requests that are not for a token.
fn about_clients(server: &Server) -> Vec<Request> {
    let mut seen = server.seen();
    seen.retain(|request| request.path() != "/oauth/token");
    seen
}

#[tokio::test]
async fn a_client_is_sent_with_its_secret_and_read_as_the_uaa_shows_it() {
    let (server, clients) = administration(|_| Reply::status(201, SHOWN)).await;

    let made = clients.create(&call(), &new_client()).await.unwrap();

    assert_eq!(made.client_id, id("i-1"));
    assert_eq!(
        made.authorized_grant_types,
        ["refresh_token", "authorization_code"]
    );
    assert_eq!(made.name.as_deref(), Some("cache"));
    assert!(made.allow_public, "a flag may be text");
    assert_eq!(made.additional["odb_offering"], "o");
    let seen = about_clients(&server);
    assert_eq!(seen[0].line(), "POST /oauth/clients");
    assert_eq!(seen[0].header("authorization"), "Bearer t");
    assert_eq!(seen[0].header("content-type"), "application/json");
    assert_eq!(seen[0].header("x-vcap-request-id"), "req-1");
    let body: Value = serde_json::from_str(&seen[0].body).unwrap();
    let expected = json!({
        "client_id": "i-1", "scope": ["openid"], "allowpublic": false, "client_secret": SECRET,
    });
    assert_eq!(body, expected);
}

#[tokio::test]
async fn a_client_that_exists_is_distinguished_from_one_that_is_refused() {
    for (status, body) in [
        (
            409,
            r#"{"error":"invalid_client","error_description":"Client already exists: i-1"}"#,
        ),
        (
            400,
            r#"{"error":"invalid_client","error_description":"An authorized grant type must be provided."}"#,
        ),
    ] {
        let (_server, clients) = administration(move |_| Reply::status(status, body)).await;

        let error = clients.create(&call(), &new_client()).await.unwrap_err();

        if status == 400 {
            assert_eq!(
                error.to_string(),
                "UAA refused `POST /oauth/clients` with status 400 Bad Request, `invalid_client`: `An authorized grant type must be provided.`"
            );
        }
        assert_eq!(error.status().unwrap().as_u16(), status);
        assert!(!error.may_have_taken_effect());
        assert!(!error.is_transient());
    }
}

#[tokio::test]
async fn a_lost_answer_to_a_create_is_reported_and_nothing_is_sent_again() {
    let replies: [fn() -> Reply; 2] = [|| Reply::HangUp, || Reply::status(502, "bad gateway")];
    for reply in replies {
        let (server, clients) = administration(move |_| reply()).await;

        let error = clients.create(&call(), &new_client()).await.unwrap_err();
        assert!(error.may_have_taken_effect(), "{error:?}");
        assert!(error.is_transient());
        assert!(!everything(&error).contains(SECRET));
        assert_eq!(about_clients(&server).len(), 1);
    }
}

#[tokio::test]
async fn looking_up_changing_and_deleting_are_tried_again_after_failures_on_the_way() {
    let failures = Arc::new(AtomicUsize::new(0));
    let count = failures.clone();
    let (server, clients) = administration(move |_| {
        if count.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) {
            Reply::status(503, "")
        } else {
            Reply::ok(SHOWN)
        }
    })
    .await;

    assert!(clients.client(&call(), &id("i-1")).await.unwrap().is_some());
    clients.update(&call(), &registration()).await.unwrap();
    clients.delete(&call(), &id("i-1")).await.unwrap();

    let lines: Vec<String> = about_clients(&server).iter().map(Request::line).collect();
    let twice = |line: &str| vec![line.to_owned(); 2];
    let expected = [
        twice("GET /oauth/clients/i-1"),
        twice("PUT /oauth/clients/i-1"),
        twice("DELETE /oauth/clients/i-1"),
    ]
    .concat();
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn secrets_are_added_replaced_and_deleted_by_their_own_call() {
    let (server, clients) =
        administration(|_| Reply::ok(r#"{"status":"ok","message":"Secret is added"}"#)).await;

    for change in [
        SecretChange::Add(SECRET.into()),
        SecretChange::Replace(SECRET.into()),
        SecretChange::DeleteOlder,
    ] {
        clients
            .change_secret(&call(), &id("i-1"), &change)
            .await
            .unwrap();
        assert!(!format!("{change:?}").contains(SECRET));
    }

    let seen = about_clients(&server);
    for (request, body) in seen.iter().zip([
        json!({ "clientId": "i-1", "secret": SECRET, "changeMode": "ADD" }),
        json!({ "clientId": "i-1", "secret": SECRET, "changeMode": "UPDATE" }),
        json!({ "clientId": "i-1", "changeMode": "DELETE" }),
    ]) {
        assert_eq!(request.line(), "PUT /oauth/clients/i-1/secret");
        let sent: Value = serde_json::from_str(&request.body).unwrap();
        assert_eq!(sent, body);
    }
    assert_eq!(seen.len(), 3);
}

#[tokio::test]
async fn a_client_that_is_not_there_is_no_failures_to_look_up_or_to_delete() {
    let (_server, clients) = administration(|_| Reply::status(404, "")).await;

    assert_eq!(clients.client(&call(), &id("i-1")).await.unwrap(), None);
    clients.delete(&call(), &id("i-1")).await.unwrap();
    let error = clients.update(&call(), &registration()).await.unwrap_err();
    assert!(error.status() == Some(StatusCode::NOT_FOUND));
}

#[tokio::test]
async fn a_missing_right_is_reported_as_one() {
    let (_server, clients) = administration(|_| {
        Reply::status(403, r#"{"error":"insufficient_scope","error_description":"Insufficient scope for this resource","scope":"clients.read clients.admin"}"#)
    })
    .await;

    let error = clients.client(&call(), &id("i-1")).await.unwrap_err();

    assert_eq!(error.status(), Some(StatusCode::FORBIDDEN));
    assert!(!error.is_transient());
}

#[tokio::test]
async fn an_id_cannot_break_out_of_its_location_in_the_address() {
    let (server, clients) = administration(|_| Reply::status(404, "")).await;

    clients.delete(&call(), &id("a/b?c=d#e")).await.unwrap();

    let seen = about_clients(&server);
    assert_eq!(seen[0].line(), "DELETE /oauth/clients/a%2Fb%3Fc=d%23e");
    for swallowed in ["", ".", ".."] {
        assert!(swallowed.parse::<ClientId>().is_err());
    }
}

#[tokio::test]
async fn a_refused_token_is_replaced_once() {
    let refused = AtomicUsize::new(0);
    let (server, clients) = administration(move |_| {
        if refused.fetch_add(1, Ordering::Relaxed) == 0 {
            Reply::status(
                401,
                r#"{"error":"invalid_token","error_description":"expired"}"#,
            )
        } else {
            Reply::ok(SHOWN)
        }
    })
    .await;

    assert!(clients.client(&call(), &id("i-1")).await.unwrap().is_some());

    let tokens = server.seen();
    let tokens = tokens
        .iter()
        .filter(|request| request.path() == "/oauth/token");
    assert_eq!(tokens.count(), 2);
}

#[tokio::test]
async fn the_deadline_of_a_call_ends_it_and_reports_whether_it_was_sent() {
    let (_server, clients) = administration(|_| Reply::Silence).await;
    clients.rights(&call()).await.unwrap();
    let short = Call::within(std::time::Duration::from_millis(200));

    let error = clients.create(&short, &new_client()).await.unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
    assert!(error.may_have_taken_effect());
}
