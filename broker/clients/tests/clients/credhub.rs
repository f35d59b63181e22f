//! CredHub: credentials, permissions, versions and tokens.

use odb_clients::{
    ConnectError, FailureKind, ServiceError,
    credhub::{
        Actor, CredHub, CredHubClient, CredentialName, CredentialValue, PermittedOperation,
        Removed, SecretJson,
    },
    http::Trust,
};
use secrecy::ExposeSecret;

use crate::foundation::{PASSWORD, Reply, Request, Server, call, everything, limits, uaa};

const SECRET: &str = "hunter2-value";

fn client() -> CredHubClient {
    CredHubClient {
        client_id: "broker".to_owned(),
        client_secret: PASSWORD.into(),
    }
}

fn name(text: &str) -> CredentialName {
    text.parse().unwrap()
}

fn text(value: &str) -> CredentialValue {
    CredentialValue::Text(value.into())
}

fn credential(name: &str, value: &str) -> String {
    format!(
        r#"{{"type":"value","version_created_at":"2024-11-05T10:15:30Z","id":"v-1","name":"{name}","metadata":null,"value":{value}}}"#
    )
}

/// A CredHub of a version that accepts tokens of its own UAA, and a client of it.
async fn credhub_of(
    version: &'static str,
    answer: impl Fn(&Request) -> Reply + Send + Sync + 'static,
) -> (Server, Server, CredHub) {
    let uaa = uaa(43199).await;
    let reported = if version.starts_with('1') {
        format!(r#","version":"{version}""#)
    } else {
        String::new()
    };
    let info = format!(
        r#"{{"auth-server":{{"url":"{}"}},"app":{{"name":"CredHub"{reported}}}}}"#,
        uaa.url
    );
    let server = Server::start(move |request| match request.path() {
        "/info" => Reply::ok(info.clone()),
        "/version" => Reply::ok(format!(r#"{{"version":"{version}"}}"#)),
        _ => answer(request),
    })
    .await;
    let trust = Trust::only(&format!("{}{}", server.certificate, uaa.certificate)).unwrap();
    let credhub = CredHub::connect(&call(), &server.url, &trust, client(), limits())
        .await
        .unwrap();
    (server, uaa, credhub)
}

async fn credhub(
    answer: impl Fn(&Request) -> Reply + Send + Sync + 'static,
) -> (Server, Server, CredHub) {
    credhub_of("2.15.20", answer).await
}

fn asked(server: &Server) -> Vec<String> {
    let about_itself = |line: &String| !line.ends_with(" /info") && !line.ends_with(" /version");
    server.lines().into_iter().filter(about_itself).collect()
}

fn bodies(server: &Server) -> Vec<String> {
    let bodies = server.seen().into_iter().map(|request| request.body);
    bodies.filter(|body| !body.is_empty()).collect()
}

#[tokio::test]
async fn a_text_is_put_as_value_and_all_else_as_json() {
    let (server, _uaa, credhub) = credhub(|_| Reply::ok(credential("/a/b", "\"x\""))).await;
    let json = SecretJson::try_from(r#"{"n":1.50}"#.to_owned()).unwrap();

    credhub
        .put(&call(), &name("/a/b"), &text(SECRET))
        .await
        .unwrap();
    let written = credhub
        .put(&call(), &name("/a/b"), &CredentialValue::Json(json))
        .await
        .unwrap();

    assert_eq!(written.id.as_str(), "v-1");
    assert_eq!(
        bodies(&server),
        [
            r#"{"name":"/a/b","type":"value","value":"hunter2-value"}"#,
            r#"{"name":"/a/b","type":"json","value":{"n":1.50}}"#
        ]
    );
    let put = server.seen().pop().unwrap();
    assert_eq!(put.line(), "PUT /api/v1/data");
    assert_eq!(put.header("authorization"), "Bearer token-1");
    assert_eq!(put.header("content-type"), "application/json");
    assert_eq!(put.header("x-vcap-request-id"), "req-1");
}

#[tokio::test]
async fn an_old_server_is_asked_to_overwrite_and_is_not_asked_for_its_version() {
    let (server, _uaa, credhub) =
        credhub_of("1.9.3", |_| Reply::ok(credential("/a", "\"x\""))).await;

    credhub.put(&call(), &name("/a"), &text("x")).await.unwrap();

    assert_eq!(server.lines(), ["GET /info", "PUT /api/v1/data"]);
    assert_eq!(
        bodies(&server),
        [r#"{"name":"/a","type":"value","value":"x","mode":"overwrite"}"#]
    );
}

#[tokio::test]
async fn a_credential_is_read_by_name_and_by_version() {
    let (server, _uaa, credhub) = credhub(|request| {
        let one = credential("/a.b", r#"{"user":"u","port":1}"#);
        if request.path() == "/api/v1/data" {
            Reply::ok(format!(r#"{{"data":[{one}]}}"#))
        } else {
            Reply::ok(one)
        }
    })
    .await;

    let latest = credhub
        .latest(&call(), &name("/a.b"))
        .await
        .unwrap()
        .unwrap();
    let id = "x/../y?z".parse().unwrap();
    let version = credhub.version_of(&call(), &id).await.unwrap().unwrap();
    credhub.newest(&call(), &name("/a.b"), 2).await.unwrap();

    assert_eq!(
        latest
            .value
            .member("user")
            .unwrap()
            .as_text()
            .expose_secret(),
        "u"
    );
    assert_eq!(
        version.value.as_text().expose_secret(),
        r#"{"user":"u","port":1}"#
    );
    assert_eq!(
        asked(&server),
        [
            "GET /api/v1/data?current=true&name=%2Fa.b",
            "GET /api/v1/data/x%2F..%2Fy%3Fz",
            "GET /api/v1/data?name=%2Fa.b&versions=2"
        ]
    );
}

#[tokio::test]
async fn what_is_not_there_is_nothing_and_no_error() {
    let (_server, _uaa, credhub) =
        credhub(|_| Reply::status(404, r#"{"error":"The request could not be completed"}"#)).await;

    assert!(
        credhub
            .latest(&call(), &name("/a"))
            .await
            .unwrap()
            .is_none()
    );
    assert!(
        credhub
            .newest(&call(), &name("/a"), 2)
            .await
            .unwrap()
            .is_empty()
    );
    let id = "v".parse().unwrap();
    assert!(credhub.version_of(&call(), &id).await.unwrap().is_none());
    assert_eq!(
        credhub.delete(&call(), &name("/a")).await.unwrap(),
        Removed::WasAbsent
    );
}

#[tokio::test]
async fn a_proxy_that_finds_no_credhub_does_not_pass_for_one_that_finds_no_credential() {
    let (_server, _uaa, credhub) =
        credhub(|_| Reply::status(404, "404 Not Found: Requested route does not exist.")).await;

    let error = credhub.latest(&call(), &name("/a")).await.unwrap_err();

    assert!(
        matches!(error.kind, FailureKind::NotUnderstood { .. }),
        "{error:?}"
    );
    assert!(credhub.delete(&call(), &name("/a")).await.is_err());
}

#[tokio::test]
async fn names_are_found_in_a_folder_and_nowhere_else_whatever_the_server_says() {
    let (server, _uaa, credhub) = credhub(|_| {
        Reply::ok(
            r#"{"credentials":[{"version_created_at":"t","name":"/odb/x/y"},{"version_created_at":"t","name":"/odb/xx/y"},{"version_created_at":"t","name":"/odb/x"}]}"#,
        )
    })
    .await;

    let below = credhub.names_below(&call(), &name("/odb/x")).await.unwrap();
    let like = credhub.names_like(&call(), "x&path=/").await.unwrap();

    assert_eq!(below, [name("/odb/x/y")]);
    assert_eq!(like.len(), 3);
    assert_eq!(
        asked(&server),
        [
            "GET /api/v1/data?path=%2Fodb%2Fx",
            "GET /api/v1/data?name-like=x%26path%3D%2F"
        ]
    );
}

#[tokio::test]
async fn a_credential_is_deleted_by_its_name() {
    let (server, _uaa, credhub) = credhub(|_| Reply::status(204, "")).await;

    let removed = credhub.delete(&call(), &name("/a/b")).await.unwrap();

    assert_eq!(removed, Removed::Yes);
    assert_eq!(asked(&server), ["DELETE /api/v1/data?name=%2Fa%2Fb"]);
}

#[tokio::test]
async fn an_expired_token_is_replaced_once() {
    let (server, _uaa, credhub) = credhub(|request| match request.header("authorization") {
        "Bearer token-2" => Reply::status(204, ""),
        _ => Reply::status(
            401,
            r#"{"error":"access_token_expired","error_description":"Access token expired"}"#,
        ),
    })
    .await;

    let removed = credhub.delete(&call(), &name("/a")).await.unwrap();

    assert_eq!(removed, Removed::Yes);
    assert_eq!(asked(&server).len(), 2);
}

#[tokio::test]
async fn a_rejection_names_the_credential_and_neither_its_value_nor_the_client_s_secret() {
    let (_server, _uaa, credhub) = credhub(|_| {
        Reply::status(
            400,
            r#"{"error":"The credential type cannot be modified."}"#,
        )
    })
    .await;

    let error = credhub
        .put(&call(), &name("/a/b"), &text(SECRET))
        .await
        .unwrap_err();

    assert!(!error.may_have_taken_effect() && !error.is_transient());
    let reported = format!("{}{credhub:?}{:?}", everything(&error), client());
    assert!(reported.contains("type cannot be modified"), "{reported}");
    assert!(
        !reported.contains(SECRET) && !reported.contains(PASSWORD),
        "{reported}"
    );
    let error = credhub.delete(&call(), &name("/a/b")).await.unwrap_err();
    assert!(
        error.to_string().contains("DELETE /api/v1/data?name=/a/b"),
        "{error}"
    );
}

#[tokio::test]
async fn a_credhub_in_read_only_mode_is_tried_again_and_then_reported() {
    let (server, _uaa, credhub) = credhub(|_| Reply::status(503, r#"{"error":"read only"}"#)).await;

    let error = credhub
        .put(&call(), &name("/a"), &text("x"))
        .await
        .unwrap_err();

    assert!(error.is_transient() && error.may_have_taken_effect());
    assert_eq!(asked(&server).len(), limits().attempts);
}

#[tokio::test]
async fn a_value_in_an_answer_that_makes_no_sense_is_not_shown() {
    let (_server, _uaa, credhub) =
        credhub(|_| Reply::ok(format!(r#"{{"data":["{SECRET}"]}}"#))).await;

    let error = credhub.latest(&call(), &name("/a")).await.unwrap_err();

    assert!(
        matches!(error.kind, FailureKind::NotUnderstood { .. }),
        "{error:?}"
    );
    assert!(!everything(&error).contains(SECRET));
}

#[tokio::test]
async fn a_server_that_is_no_credhub_is_reported_when_it_is_connected_to() {
    let server = Server::start(|_| Reply::ok("<html>")).await;

    let error = CredHub::connect(&call(), &server.url, &server.trust(), client(), limits())
        .await
        .unwrap_err();

    assert!(matches!(
        error,
        ConnectError::Info {
            source: ServiceError {
                kind: FailureKind::NotUnderstood { .. },
                ..
            },
            ..
        }
    ));
}

#[tokio::test]
async fn an_app_is_permitted_to_read_one_credential() {
    let (server, _uaa, credhub) = credhub(|_| {
        Reply::status(
            201,
            r#"{"path":"/c/s/i/b/credentials","operations":["read"],"actor":"mtls-app:g","uuid":"p-1"}"#,
        )
    })
    .await;

    credhub
        .grant(
            &call(),
            &name("/c/s/i/b/credentials"),
            &Actor::App("g".to_owned()),
            &[PermittedOperation::Read],
        )
        .await
        .unwrap();

    assert_eq!(asked(&server), ["POST /api/v2/permissions"]);
    assert_eq!(
        bodies(&server),
        [r#"{"path":"/c/s/i/b/credentials","actor":"mtls-app:g","operations":["read"]}"#]
    );
}

#[tokio::test]
async fn a_permission_that_is_there_is_extended_only_by_what_it_lacks() {
    for (held, requests) in [("read", 2), ("write", 3)] {
        let (server, _uaa, credhub) = credhub(move |request| {
            let permission = format!(
                r#"{{"path":"/a","operations":["{held}"],"actor":"uaa-client:c","uuid":"p-1"}}"#
            );
            match request.method.as_str() {
                "POST" => Reply::status(409, r#"{"error":"exists"}"#),
                _ => Reply::ok(permission),
            }
        })
        .await;

        let actor = Actor::UaaClient("c".to_owned());
        credhub
            .grant(&call(), &name("/a"), &actor, &[PermittedOperation::Read])
            .await
            .unwrap();

        let asked = asked(&server);
        assert_eq!(asked.len(), requests, "{asked:?}");
        if let Some(patch) = asked.get(2) {
            assert_eq!(patch, "PATCH /api/v2/permissions/p-1");
            assert_eq!(bodies(&server)[1], r#"{"operations":["read","write"]}"#);
        }
    }
}

#[tokio::test]
async fn a_client_that_may_grant_but_not_read_treats_a_conflict_as_a_grant() {
    let (server, _uaa, credhub) = credhub(|request| match request.method.as_str() {
        "POST" => Reply::status(409, r#"{"error":"exists"}"#),
        _ => Reply::status(404, r#"{"error":"no"}"#),
    })
    .await;
    let actor = Actor::App("g".to_owned());

    credhub
        .grant(&call(), &name("/a"), &actor, &[PermittedOperation::Read])
        .await
        .unwrap();
    credhub.revoke(&call(), &name("/a"), &actor).await.unwrap();

    assert!(
        asked(&server)
            .iter()
            .all(|line| !line.starts_with("DELETE"))
    );
}

#[tokio::test]
async fn a_permission_is_found_and_rolled_back_by_its_id() {
    let (server, _uaa, credhub) = credhub(|_| {
        Reply::ok(r#"{"path":"/a","operations":["read"],"actor":"mtls-app:g","uuid":"p-1"}"#)
    })
    .await;

    credhub
        .revoke(&call(), &name("/a"), &Actor::App("g".to_owned()))
        .await
        .unwrap();

    assert_eq!(
        asked(&server),
        [
            "GET /api/v2/permissions?path=%2Fa&actor=mtls-app%3Ag",
            "DELETE /api/v2/permissions/p-1"
        ]
    );
}

#[tokio::test]
async fn an_old_server_is_asked_for_permissions_in_its_own_way() {
    let (server, _uaa, credhub) = credhub_of("1.9.3", |request| match request.method.as_str() {
        "POST" => Reply::status(201, ""),
        _ => Reply::status(204, ""),
    })
    .await;
    let actor = Actor::App("g".to_owned());

    credhub
        .grant(&call(), &name("/a"), &actor, &[PermittedOperation::Read])
        .await
        .unwrap();
    credhub.revoke(&call(), &name("/a"), &actor).await.unwrap();

    assert_eq!(
        asked(&server),
        [
            "POST /api/v1/permissions",
            "DELETE /api/v1/permissions?credential_name=%2Fa&actor=mtls-app%3Ag"
        ]
    );
    assert_eq!(
        bodies(&server),
        [
            r#"{"credential_name":"/a","permissions":[{"actor":"mtls-app:g","operations":["read"]}]}"#
        ]
    );
}
