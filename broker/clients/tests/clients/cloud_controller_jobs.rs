//! Waiting for asynchronous jobs of the Cloud Controller.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use odb_clients::{
    FailureKind,
    cloud_controller::{Accepted, JobState},
    http::Call,
};

use crate::{
    cf::v3,
    foundation::{Reply, call},
};

fn job(state: &str, errors: &str, warnings: &str) -> Reply {
    Reply::ok(format!(
        r#"{{"guid":"job-1","created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z","operation":"service_broker.update","state":"{state}","errors":[{errors}],"warnings":[{warnings}],"links":{{"self":{{"href":"https://api.example/v3/jobs/job-1"}}}}}}"#
    ))
}

fn job_1() -> Accepted {
    Accepted::Job("job-1".parse().unwrap())
}

/// The answers of a job, one after the other; the last one for ever.
fn in_turn(replies: Vec<fn() -> Reply>) -> impl Fn() -> Reply + Send + Sync {
    let asked = AtomicUsize::new(0);
    move || {
        let number = asked.fetch_add(1, Ordering::Relaxed);
        replies[number.min(replies.len() - 1)]()
    }
}

#[tokio::test]
async fn a_job_is_followed_through_all_states_to_its_end_and_its_warnings_are_reported() {
    let replies = in_turn(vec![
        || job("PROCESSING", "", ""),
        || job("POLLING", "", ""),
        || job("RESTING", "", ""),
        || job("COMPLETE", "", r#"{"detail":"plans are gone"}"#),
    ]);
    let cf = v3(move |_| replies()).await;

    let warnings = cf.finished(&call(), job_1()).await.unwrap();

    assert_eq!(warnings, ["plans are gone"]);
    // This needs no version.
    assert_eq!(cf.server.lines(), vec!["GET /v3/jobs/job-1"; 4]);
}

#[tokio::test]
async fn a_job_that_fails_reports_why() {
    let cf = v3(|_| {
        job(
            "FAILED",
            r#"{"code":270012,"title":"CF-ServiceBrokerCatalogInvalid","detail":"no services"}"#,
            "",
        )
    })
    .await;

    let error = cf.finished(&call(), job_1()).await.unwrap_err();

    assert!(
        matches!(&error.kind, FailureKind::JobFailed { operation, .. } if operation == "service_broker.update"),
        "{error:?}"
    );
    assert_eq!(error.code(), Some(270_012));
    assert!(error.to_string().contains("`no services`"), "{error}");
    assert!(!error.is_transient(), "the catalog stays as it is");
}

#[tokio::test]
async fn a_broker_that_was_not_there_may_be_there_later_and_wrong_credentials_stay_wrong() {
    for (code, title, detail, is_transient) in [
        (
            10001,
            "CF-ServiceBrokerError",
            "The service broker could not be reached",
            true,
        ),
        (
            270_020,
            "CF-ServiceBrokerRequestRejected",
            "404 Not Found",
            true,
        ),
        (270_022, "CF-ServiceBrokerSyncFailed", "oops", true),
        (290_006, "CF-JobTimeout", "too long", true),
        (270_019, "CF-ServiceBrokerCatalogIncompatible", "no", false),
        (
            10001,
            "CF-ServiceBrokerError",
            "Authentication with the service broker failed. Double-check that the username and password are correct.",
            false,
        ),
    ] {
        let cf = v3(move |_| {
            let error = format!(r#"{{"code":{code},"title":"{title}","detail":"{detail}"}}"#);
            job("FAILED", &error, "")
        })
        .await;

        let error = cf.finished(&call(), job_1()).await.unwrap_err();

        assert_eq!(error.is_transient(), is_transient, "{error}");
    }
}

#[tokio::test]
async fn a_cloud_controller_that_fails_for_a_while_does_not_end_the_waiting() {
    // More often than one look is repeated.
    let mut replies: Vec<fn() -> Reply> = vec![|| Reply::status(503, "oops"); 8];
    replies.push(|| job("COMPLETE", "", ""));
    let replies = in_turn(replies);
    let cf = v3(move |_| replies()).await;

    assert!(cf.finished(&call(), job_1()).await.unwrap().is_empty());
}

#[tokio::test]
async fn the_waiting_ends_with_its_deadline_and_says_so() {
    let cf = v3(|_| job("PROCESSING", "", "")).await;

    let short = Call::within(Duration::from_millis(200));
    let error = cf.finished(&short, job_1()).await.unwrap_err();

    assert!(error.is_timeout(), "{error:?}");
    assert!(error.to_string().contains("/v3/jobs/job-1"), "{error}");
}

#[tokio::test]
async fn an_unknown_job_ends_the_wait() {
    let cf = v3(|_| {
        Reply::status(
            404,
            r#"{"errors":[{"code":10010,"title":"CF-ResourceNotFound","detail":"Job not found"}]}"#,
        )
    })
    .await;

    let error = cf.finished(&call(), job_1()).await.unwrap_err();

    assert!(error.is_not_found(), "{error:?}");
}

#[tokio::test]
async fn one_look_reports_the_state_of_a_job() {
    let cf = v3(|_| job("POLLING", "", "")).await;

    let job = cf.job(&call(), &"job-1".parse().unwrap()).await.unwrap();

    assert_eq!(job.state, JobState::Polling);
    assert_eq!(job.operation, "service_broker.update");
}
