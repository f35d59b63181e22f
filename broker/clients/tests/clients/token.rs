//! Tokens: one request for many callers, renewal, rejection.

use std::time::Duration;

use odb_clients::{
    ConnectError, FailureKind,
    director::{Credentials, DeploymentName, Director, TaskFilter},
    http::Call,
    uaa::{Grant, TokenSource},
};

use crate::foundation::{
    BASIC_INFO, PASSWORD, Reply, Server, call, everything, limits, uaa, uaa_director, uaa_info,
};

fn client_grant() -> Grant {
    Grant::ClientCredentials {
        client_id: "broker".to_owned(),
        client_secret: PASSWORD.into(),
    }
}

fn source(uaa: &Server) -> TokenSource {
    TokenSource::connect(&uaa.url, &uaa.trust(), client_grant(), limits()).unwrap()
}

const NOT_AUTHORIZED: &str = "Not authorized: '/tasks'\n";
const NOT_ALLOWED: &str =
    r#"{"code":600000,"description":"Require one of the scopes: bosh.admin, bosh.u.admin"}"#;

#[tokio::test]
async fn many_callers_at_once_share_one_token_request() {
    let uaa = uaa(43199).await;
    let source = source(&uaa);

    let callers: Vec<_> = (0..50)
        .map(|_| {
            let source = source.clone();
            tokio::spawn(async move { source.token(&call()).await })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap().unwrap();
    }

    assert_eq!(uaa.lines(), ["POST /oauth/token"]);
}

#[tokio::test]
async fn a_client_asks_with_encoded_basic_credentials_and_a_form() {
    let uaa = uaa(43199).await;

    source(&uaa).token(&call()).await.unwrap();

    let request = &uaa.seen()[0];
    assert_eq!(request.header("x-cf-encoded-credentials"), "true");
    assert_eq!(
        request.header("content-type"),
        "application/x-www-form-urlencoded"
    );
    // broker:pAssw0rd%2F%2B%3A%25
    assert_eq!(
        request.header("authorization"),
        "Basic YnJva2VyOnBBc3N3MHJkJTJGJTJCJTNBJTI1"
    );
    assert_eq!(request.body, "grant_type=client_credentials");
}

#[tokio::test]
async fn a_user_asks_through_the_client_cf_with_an_encoded_form() {
    let uaa = uaa(1199).await;
    let grant = Grant::Password {
        username: "admin".to_owned(),
        password: "a&b c".into(),
    };
    let source = TokenSource::connect(&uaa.url, &uaa.trust(), grant, limits()).unwrap();

    source.token(&call()).await.unwrap();

    let request = &uaa.seen()[0];
    assert_eq!(request.header("authorization"), "Basic Y2Y6");
    assert_eq!(
        request.body,
        "grant_type=password&username=admin&password=a%26b+c"
    );
}

#[tokio::test]
async fn a_token_without_a_life_is_not_kept_and_one_that_lives_is() {
    for (expires_in, requests) in [(0, 2), (43199, 1)] {
        let uaa = uaa(expires_in).await;
        let source = source(&uaa);

        source.token(&call()).await.unwrap();
        source.token(&call()).await.unwrap();

        assert_eq!(uaa.seen().len(), requests, "{expires_in}");
    }
}

#[tokio::test]
async fn a_refused_token_is_replaced_but_its_replacement_is_not() {
    let uaa = uaa(43199).await;
    let source = source(&uaa);
    let first = source.token(&call()).await.unwrap();

    source.invalidate(&first);
    source.token(&call()).await.unwrap();
    source.invalidate(&first);
    source.token(&call()).await.unwrap();

    assert_eq!(uaa.seen().len(), 2);
}

#[tokio::test]
async fn wrong_credentials_are_reported_as_uaa_reports_them_and_never_shown() {
    let body = r#"{"error":"invalid_client","error_description":"Bad credentials"}"#;
    let uaa = Server::start(move |_| Reply::status(401, body)).await;
    let source = source(&uaa);

    let error = source.token(&call()).await.unwrap_err();

    assert!(
        matches!(&error.kind, FailureKind::Refused { name, description, .. }
            if name == "invalid_client" && description == "Bad credentials"),
        "{error:?}"
    );
    let shown = format!("{}{source:?}{:?}", everything(&error), client_grant());
    assert!(!shown.contains("pAssw0rd"), "{shown}");
}

#[tokio::test]
async fn an_answer_without_a_token_is_no_token_and_its_text_is_not_shown() {
    for body in [
        "",
        "{}",
        r#"{"access_token":""}"#,
        r#"{"access_token":["s3cret"]}"#,
        "s3cret",
    ] {
        let uaa = Server::start(move |_| Reply::ok(body)).await;

        let error = source(&uaa).token(&call()).await.unwrap_err();

        assert!(
            matches!(error.kind, FailureKind::NotUnderstood { .. }),
            "{error:?}"
        );
        assert!(!everything(&error).contains("s3cret"));
    }
}

#[tokio::test]
async fn a_caller_whose_time_is_over_does_not_wait_for_anothers_token() {
    let uaa = Server::start(|_| Reply::Silence).await;
    let source = source(&uaa);
    let other = tokio::spawn({
        let source = source.clone();
        async move { source.token(&call()).await }
    });
    uaa.wait_for_requests(1).await;

    let error = source
        .token(&Call::within(Duration::from_millis(20)))
        .await
        .unwrap_err();

    assert!(error.is_timeout(), "{error:?}");
    other.abort();
}

#[tokio::test]
async fn an_expired_token_is_replaced_once_and_the_call_succeeds() {
    let uaa = uaa(43199).await;
    let (server, director) = uaa_director(&uaa, |request| match request.header("authorization") {
        "Bearer token-2" => Reply::ok("[]"),
        _ => Reply::status(401, NOT_AUTHORIZED),
    })
    .await;

    director
        .tasks(&call(), &TaskFilter::default())
        .await
        .unwrap();
    director
        .tasks(&call(), &TaskFilter::default())
        .await
        .unwrap();

    let tokens: Vec<_> = server
        .seen()
        .iter()
        .map(|request| request.header("authorization").to_owned())
        .collect();
    assert_eq!(
        tokens,
        ["Bearer token-1", "Bearer token-2", "Bearer token-2"]
    );
}

#[tokio::test]
async fn a_director_that_refuses_the_new_token_too_is_not_asked_a_third_time() {
    let uaa = uaa(43199).await;
    let (server, director) = uaa_director(&uaa, |_| Reply::status(401, NOT_AUTHORIZED)).await;

    let error = director
        .tasks(&call(), &TaskFilter::default())
        .await
        .unwrap_err();

    assert!(
        matches!(error.kind, FailureKind::Unauthenticated),
        "{error:?}"
    );
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn a_missing_scope_is_reported_and_no_new_token_is_asked_for() {
    let uaa = uaa(43199).await;
    let (server, director) = uaa_director(&uaa, |_| Reply::status(401, NOT_ALLOWED)).await;

    let error = director
        .tasks(&call(), &TaskFilter::default())
        .await
        .unwrap_err();

    assert!(
        matches!(&error.kind, FailureKind::NotAllowed { description, .. } if description.contains("bosh.admin")),
        "{error:?}"
    );
    assert_eq!((server.seen().len(), uaa.seen().len()), (1, 1));
}

#[tokio::test]
async fn the_brokers_identity_at_the_director_is_checked_again_with_a_fresh_token() {
    let uaa = uaa(43199).await;
    let url = uaa.url.clone();
    let (_server, director) = uaa_director(&uaa, move |request| {
        let user = (request.header("authorization") == "Bearer token-2").then_some("broker");
        Reply::ok(uaa_info(&url, user))
    })
    .await;

    let info = director.authenticated_info(&call()).await.unwrap();

    assert_eq!(info.user.as_deref(), Some("broker"));
    assert_eq!(director.info(&call()).await.unwrap().user, None);
}

#[tokio::test]
async fn a_uaa_that_is_down_is_the_cause_that_is_named() {
    let uaa = Server::start(|_| Reply::status(503, "down")).await;
    let (server, director) = uaa_director(&uaa, |_| Reply::ok("[]")).await;
    let name: DeploymentName = "service-instance_a".parse().unwrap();

    let error = director.deployment(&call(), &name).await.unwrap_err();

    assert!(
        matches!(error.kind, FailureKind::NoToken { .. }),
        "{error:?}"
    );
    assert!(error.is_transient());
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn credentials_of_the_kind_that_the_director_refuses_are_a_clear_error() {
    let server = Server::start(|_| Reply::ok(BASIC_INFO)).await;
    let credentials = Credentials::Uaa {
        client_id: "broker".to_owned(),
        client_secret: PASSWORD.into(),
    };
    assert!(!format!("{credentials:?}").contains("pAssw0rd"));

    let error = Director::connect(&call(), &server.url, &server.trust(), credentials, limits())
        .await
        .unwrap_err();

    assert!(
        matches!(error, ConnectError::OtherAuthentication { .. }),
        "{error:?}"
    );
    assert_eq!(
        error.to_string(),
        "the Director's users are in `basic`, but the credentials are for `uaa`"
    );
}
