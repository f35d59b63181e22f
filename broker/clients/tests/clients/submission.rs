//! Requests that start work: sent once, with errors that say whether they may have taken effect.

use std::time::Duration;

use odb_clients::{
    director::{
        ContextId, DeploymentName, Director, ErrandName, Force, InstanceSelector, SubmitError,
        TaskId,
    },
    http::{Call, Deadline, StatusCode},
};

use crate::foundation::{
    BASIC_INFO, Reply, Server, basic, call, director, everything, limits, uaa, uaa_director,
};

const MANIFEST: &str = "name: service-instance_a\nproperties:\n  password: s3cret\n";

fn context() -> ContextId {
    "0b5b5f0e-7e0b-4b8f-9e51-0123456789ab".parse().unwrap()
}

fn name() -> DeploymentName {
    "service-instance_a".parse().unwrap()
}

fn started(status: u16, location: &str) -> Reply {
    Reply::status(status, "").with("Location", location)
}

#[tokio::test]
async fn the_task_is_read_from_the_redirect_which_is_not_followed() {
    for (status, location) in [
        (302, "https://director.example:25555/tasks/8"),
        (303, "http://director.example:25555/tasks/8"),
        (302, "/tasks/8"),
    ] {
        let (server, director) = director(move |_| started(status, location)).await;

        let task = director
            .deploy(&call(), MANIFEST, &context())
            .await
            .unwrap();

        assert_eq!(task, TaskId::new(8));
        assert_eq!(server.lines(), ["POST /deployments"]);
    }
}

#[tokio::test]
async fn a_deploy_sends_the_manifest_as_it_is_with_context_and_request_id() {
    let (server, director) = director(|_| started(302, "/tasks/8")).await;

    director
        .deploy(&call(), MANIFEST, &context())
        .await
        .unwrap();

    let request = &server.seen()[0];
    assert_eq!(request.body, MANIFEST);
    assert_eq!(request.header("content-type"), "text/yaml");
    assert_eq!(request.header("x-bosh-context-id"), context().as_str());
    assert_eq!(request.header("x-request-id"), "req-1");
    assert!(request.header("authorization").starts_with("Basic "));
}

#[tokio::test]
async fn a_delete_is_forced_only_if_wanted() {
    let (server, director) = director(|_| started(302, "/tasks/8")).await;

    director
        .delete(&call(), &name(), Force::No, &context())
        .await
        .unwrap();
    director
        .delete(&call(), &name(), Force::Yes, &context())
        .await
        .unwrap();

    assert_eq!(
        server.lines(),
        [
            "DELETE /deployments/service-instance_a",
            "DELETE /deployments/service-instance_a?force=true",
        ]
    );
    assert_eq!(
        server.seen()[0].header("x-bosh-context-id"),
        context().as_str()
    );
}

#[tokio::test]
async fn all_vms_are_recreated_without_a_manifest() {
    let (server, director) = director(|_| started(302, "/tasks/51")).await;

    let task = director
        .recreate(&call(), &name(), &context())
        .await
        .unwrap();

    assert_eq!(task, TaskId::new(51));
    let request = &server.seen()[0];
    assert_eq!(
        request.line(),
        "PUT /deployments/service-instance_a/jobs/*?fix=true&state=recreate"
    );
    assert_eq!(request.header("content-type"), "text/yaml");
    assert_eq!(request.header("x-bosh-context-id"), context().as_str());
    assert_eq!(request.body, "");
}

#[tokio::test]
async fn an_errand_runs_on_the_instances_that_are_named() {
    let (server, director) = director(|_| started(302, "/tasks/21")).await;
    let errand: ErrandName = "health-check".parse().unwrap();
    let one = InstanceSelector {
        group: "redis".to_owned(),
        id: Some("0".to_owned()),
    };
    let all = InstanceSelector {
        group: "redis".to_owned(),
        id: None,
    };

    director
        .run_errand(&call(), &name(), &errand, &[one, all], &context())
        .await
        .unwrap();

    let request = &server.seen()[0];
    assert_eq!(
        request.line(),
        "POST /deployments/service-instance_a/errands/health-check/runs"
    );
    assert_eq!(request.header("content-type"), "application/json");
    assert_eq!(
        request.body,
        r#"{"keep-alive":false,"when-changed":false,"instances":[{"group":"redis","id":"0"},{"group":"redis"}]}"#
    );
}

#[tokio::test]
async fn an_answer_that_is_lost_is_reported_and_nothing_is_sent_again() {
    for failures in [
        || Reply::HangUp,
        || Reply::CutShort,
        || Reply::status(502, ""),
        || Reply::status(504, ""),
        || Reply::status(500, ""),
        || Reply::status(200, "{}"),
        || Reply::status(302, ""),
        || started(302, "/somewhere/else"),
    ] {
        let (server, director) = director(move |_| failures()).await;

        let error = director
            .deploy(&call(), MANIFEST, &context())
            .await
            .unwrap_err();

        assert!(matches!(error, SubmitError::LostAnswer { .. }), "{error:?}");
        assert!(!everything(&error).contains("s3cret"));
        assert_eq!(server.seen().len(), 1);
    }
}

#[tokio::test]
async fn a_deadline_reports_whether_it_passed_before_or_after_the_request_was_sent() {
    let (server, director) = director(|_| Reply::Silence).await;

    let late = Call::until(Deadline::after(Duration::ZERO));
    let before = director
        .deploy(&late, MANIFEST, &context())
        .await
        .unwrap_err();
    let short = Call::within(Duration::from_millis(100));
    let after = director
        .deploy(&short, MANIFEST, &context())
        .await
        .unwrap_err();

    assert!(matches!(before, SubmitError::NotSent { .. }), "{before:?}");
    assert!(matches!(after, SubmitError::LostAnswer { .. }), "{after:?}");
    assert!(server.seen().len() <= 1);
}

#[tokio::test]
async fn a_director_that_is_gone_has_got_nothing() {
    let server = Server::start(|_| Reply::ok(BASIC_INFO).with("Connection", "close")).await;
    let director = Director::connect(&call(), &server.url, &server.trust(), basic(), limits())
        .await
        .unwrap();
    server.stop().await;

    let error = director
        .deploy(&call(), MANIFEST, &context())
        .await
        .unwrap_err();

    assert!(matches!(error, SubmitError::NotSent { .. }), "{error:?}");
}

#[tokio::test]
async fn a_rejection_is_reported_with_code_and_words() {
    let body = r#"{"code":440001,"description":"Manifest should be a hash"}"#;
    let (server, director) = director(move |_| Reply::status(400, body)).await;

    let error = director
        .deploy(&call(), MANIFEST, &context())
        .await
        .unwrap_err();

    assert!(
        matches!(&error, SubmitError::Refused { asked, status: StatusCode::BAD_REQUEST, code: Some(440_001), description }
            if asked == "POST /deployments" && description == "Manifest should be a hash"),
        "{error:?}"
    );
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn an_expired_token_is_replaced_since_nothing_has_taken_effect() {
    let uaa = uaa(43199).await;
    let (server, director) = uaa_director(&uaa, |request| match request.header("authorization") {
        "Bearer token-1" => Reply::status(401, "Not authorized: '/deployments'\n"),
        _ => started(302, "/tasks/9"),
    })
    .await;

    let task = director
        .deploy(&call(), MANIFEST, &context())
        .await
        .unwrap();

    assert_eq!(task, TaskId::new(9));
    let bodies: Vec<_> = server
        .seen()
        .into_iter()
        .map(|request| request.body)
        .collect();
    assert_eq!(bodies, [MANIFEST, MANIFEST]);
}

#[tokio::test]
async fn work_on_another_teams_deployment_is_refused_not_lost() {
    let uaa = uaa(43199).await;
    let body = r#"{"code":600000,"description":"Require one of the scopes: bosh.admin"}"#;
    let (_server, director) = uaa_director(&uaa, move |_| Reply::status(401, body)).await;

    let error = director
        .delete(&call(), &name(), Force::No, &context())
        .await
        .unwrap_err();

    assert!(
        matches!(
            error,
            SubmitError::Refused {
                status: StatusCode::UNAUTHORIZED,
                code: Some(600_000),
                ..
            }
        ),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_token_that_cannot_be_had_means_that_nothing_was_sent() {
    let uaa = Server::start(|_| Reply::HangUp).await;
    let (server, director) = uaa_director(&uaa, |_| started(302, "/tasks/9")).await;

    let error = director
        .deploy(&call(), MANIFEST, &context())
        .await
        .unwrap_err();

    assert!(matches!(error, SubmitError::NotSent { .. }), "{error:?}");
    assert!(server.seen().is_empty());
}
