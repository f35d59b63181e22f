//! Trust, limits, deadlines, repeats.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use odb_clients::{
    ConnectError, FailureKind, ServiceError,
    cloud_controller::CloudController,
    director::{Config, Director, Force, TaskFilter, TaskId},
    http::{Call, Deadline, Limits, TransportError, Trust, TrustError},
    uaa::TokenSource,
};

use crate::foundation::{BASIC_INFO, Reply, Server, basic, call, director, director_with, limits};

async fn info_with(server: &Server, trust: &Trust) -> Result<Director, ConnectError> {
    Director::connect(&call(), &server.url, trust, basic(), limits()).await
}

fn transport_error(error: &ServiceError) -> &TransportError {
    match error {
        ServiceError {
            kind: FailureKind::NoResponse { source, .. },
            ..
        } => source,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_certificate_of_another_authority_is_refused_at_once() {
    let server = Server::start(|_| Reply::ok(BASIC_INFO)).await;
    let other = Server::start(|_| Reply::ok(BASIC_INFO)).await;

    let error = info_with(&server, &other.trust()).await.unwrap_err();

    let ConnectError::Info { source, .. } = error else {
        panic!("{error:?}")
    };
    assert!(
        matches!(transport_error(&source), TransportError::Handshake { .. }),
        "{source:?}"
    );
    assert!(!transport_error(&source).is_transient());
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn a_server_is_trusted_by_its_own_authority_by_the_systems_or_without_verification() {
    let server = Server::start(|_| Reply::ok(BASIC_INFO)).await;

    for trust in [
        Trust::only(&server.certificate).unwrap(),
        Trust::system_and(&server.certificate).unwrap(),
        Trust::unverified().unwrap(),
    ] {
        info_with(&server, &trust).await.unwrap();
    }
}

#[test]
fn a_certificate_authority_that_is_none_is_refused_with_the_reason() {
    assert!(matches!(Trust::only(""), Err(TrustError::NoCertificate)));
    assert!(matches!(
        Trust::only("hello"),
        Err(TrustError::NoCertificate)
    ));
    let garbled = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    assert!(matches!(
        Trust::only(garbled),
        Err(TrustError::Certificate { position: 1, .. })
    ));
}

#[tokio::test]
async fn a_read_is_tried_again_after_failures_on_the_way() {
    for failures in [
        || Reply::HangUp,
        || Reply::CutShort,
        || Reply::status(502, "<html>Bad Gateway</html>"),
        || Reply::status(503, ""),
        || Reply::status(504, ""),
    ] {
        let calls = AtomicUsize::new(0);
        let (server, director) = director(move |_| match calls.fetch_add(1, Ordering::Relaxed) {
            0 => failures(),
            _ => Reply::ok("[]"),
        })
        .await;

        assert!(
            director
                .tasks(&call(), &TaskFilter::default())
                .await
                .unwrap()
                .is_empty()
        );
        assert_eq!(server.seen().len(), 2);
    }
}

#[tokio::test]
async fn a_read_is_abandoned_after_the_last_attempt_and_reports_the_last_failures() {
    let (server, director) = director(|_| Reply::status(503, "no workers")).await;

    let error = director.task(&call(), TaskId::new(8)).await.unwrap_err();

    assert_eq!(server.seen().len(), limits().attempts);
    assert!(error.is_transient());
    assert!(error.to_string().contains("no workers"), "{error}");
}

#[tokio::test]
async fn a_rejection_is_not_tried_again() {
    let (server, director) = director(|_| Reply::status(500, "")).await;

    director.task(&call(), TaskId::new(8)).await.unwrap_err();

    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_server_that_never_answers_costs_one_attempts_time_per_attempt() {
    let impatient = Limits {
        attempt: Duration::from_millis(100),
        attempts: 2,
        ..limits()
    };
    let (server, director) = director_with(impatient, |_| Reply::Silence).await;

    let error = director.task(&call(), TaskId::new(8)).await.unwrap_err();

    assert!(matches!(
        transport_error(&error),
        TransportError::TooSlow { limit_ms: 100 }
    ));
    assert!(server.seen().len() <= 2);
}

#[tokio::test]
async fn the_deadline_of_the_call_ends_it_before_an_attempts_own_limit() {
    let (server, director) = director(|_| Reply::Silence).await;
    let short = Call::within(Duration::from_millis(100));

    let error = director.task(&short, TaskId::new(8)).await.unwrap_err();

    assert!(
        matches!(error.kind, FailureKind::OutOfTime { sent: true, .. }),
        "{error:?}"
    );
    assert!(server.seen().len() <= 1);
}

#[tokio::test]
async fn nothing_is_sent_once_the_deadline_has_passed() {
    let (server, director) = director(|_| Reply::ok("[]")).await;
    let late = Call::until(Deadline::after(Duration::ZERO));

    let error = director.task(&late, TaskId::new(8)).await.unwrap_err();

    assert!(
        matches!(error.kind, FailureKind::OutOfTime { sent: false, .. }),
        "{error:?}"
    );
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn an_answer_beyond_the_limit_is_refused() {
    let small = Limits {
        answer: 1000,
        ..limits()
    };
    let (server, director) = director_with(small, |_| Reply::ok("x".repeat(1001))).await;

    let error = director
        .errand_results(&call(), TaskId::new(8))
        .await
        .unwrap_err();

    assert!(matches!(
        transport_error(&error),
        TransportError::TooLong { limit: 1000 }
    ));
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_long_error_is_cut() {
    let (_server, director) = director(|_| Reply::status(400, "ü".repeat(100_000))).await;

    let error = director.task(&call(), TaskId::new(8)).await.unwrap_err();

    assert!(error.to_string().len() < 3000);
}

#[tokio::test]
async fn a_director_that_is_not_there_is_distinguished_from_one_that_does_not_answer() {
    // Nothing listens on the first port.
    let trust = Trust::unverified().unwrap();

    let error = Director::connect(&call(), "127.0.0.1:1", &trust, basic(), limits())
        .await
        .unwrap_err();

    let ConnectError::Info { source, .. } = error else {
        panic!("{error:?}")
    };
    assert!(matches!(
        transport_error(&source),
        TransportError::NotConnected { .. }
    ));
    assert!(source.is_transient());
}

#[tokio::test]
async fn connections_are_used_again() {
    let (server, director) = director(|_| Reply::ok("[]")).await;

    for _ in 0..5 {
        director
            .tasks(&call(), &TaskFilter::default())
            .await
            .unwrap();
    }

    assert_eq!(server.seen().len(), 5);
    assert_eq!(server.connections(), 1);
}

/// The broker runs its operations as tasks, so the future of a call must be `Send`.
#[test]
fn every_call_can_be_part_of_a_spawned_task() {
    fn spawnable<F: Future + Send>(_: impl FnOnce() -> F) {}
    fn made<T>() -> &'static T {
        unreachable!("it is only compiled")
    }

    spawnable(|| Director::connect(made(), "", made(), basic(), limits()));
    spawnable(|| made::<Director>().info(made()));
    spawnable(|| made::<Director>().authenticated_info(made()));
    spawnable(|| made::<Director>().deployments(made()));
    spawnable(|| made::<Director>().deployment(made(), made()));
    spawnable(|| made::<Director>().deploy(made(), "", made()));
    spawnable(|| made::<Director>().delete(made(), made(), Force::No, made()));
    spawnable(|| made::<Director>().run_errand(made(), made(), made(), &[], made()));
    spawnable(|| made::<Director>().errand_results(made(), TaskId::new(1)));
    spawnable(|| made::<Director>().task(made(), TaskId::new(1)));
    spawnable(|| made::<Director>().tasks(made(), made()));
    spawnable(|| made::<Director>().cancel(made(), TaskId::new(1)));
    spawnable(|| made::<Director>().errand_results(made(), TaskId::new(1)));
    spawnable(|| made::<Director>().events(made(), TaskId::new(1), 0));
    spawnable(|| made::<Director>().vms(made(), made()));
    spawnable(|| made::<Director>().instance_states(made(), made()));
    spawnable(|| made::<Director>().config_latest(made(), made(), made()));
    spawnable(|| made::<Director>().configs_of_type::<Config, Vec<_>>(made(), made(), Some));
    spawnable(|| made::<Director>().configs_named(made(), made()));
    spawnable(|| made::<Director>().put_config(made(), made(), made(), "", made()));
    spawnable(|| made::<Director>().delete_config(made(), made(), made()));
    spawnable(|| made::<TokenSource>().token(made()));
    spawnable(|| made::<CloudController>().api_versions(made()));
    spawnable(|| made::<CloudController>().plans_of_offering(made(), ""));
    spawnable(|| made::<CloudController>().count_instances(made(), &[]));
    spawnable(|| made::<CloudController>().known_instances(made(), &[]));
}
