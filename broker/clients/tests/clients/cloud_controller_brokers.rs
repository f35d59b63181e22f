//! Registering brokers with the Cloud Controller, by both versions of its API.

use std::sync::atomic::{AtomicBool, Ordering};

use odb_clients::{
    FailureKind,
    cloud_controller::{Accepted, BrokerRegistration, CfBroker},
};
use serde_json::{Value, json};

use crate::{
    cf::{Cf, V2, V3, resource, v2, v3},
    foundation::{Reply, call, everything},
};

/// Characters that break JSON which is concatenated.
const PASSWORD: &str = r#"p"a\s&s: {}"#;

fn registration() -> BrokerRegistration {
    BrokerRegistration {
        name: r#"redis "one""#.to_owned(),
        url: "https://redis.example:8443".to_owned(),
        username: "admin".to_owned(),
        password: PASSWORD.into(),
    }
}

fn job_accepted() -> Reply {
    // The external domain is none that can be reached from here.
    Reply::status(202, "").with("Location", "https://api.example/v3/jobs/job-1")
}

fn v3_broker(guid: &str, name: &str) -> String {
    format!(
        r#"{{"guid":"{guid}","name":"{name}","url":"https://redis.example","relationships":{{}},"metadata":{{}}}}"#
    )
}

fn v2_broker(guid: &str, name: &str) -> String {
    resource(
        guid,
        &format!(
            r#""name":"{name}","broker_url":"https://redis.example","auth_username":"admin","space_guid":null"#
        ),
    )
}

fn job_1() -> Accepted {
    Accepted::Job("job-1".parse().unwrap())
}

fn done() -> Accepted {
    Accepted::Done {
        warnings: Vec::new(),
    }
}

fn found(guid: &str, name: &str) -> CfBroker {
    CfBroker {
        guid: guid.parse().unwrap(),
        name: name.to_owned(),
        url: "https://redis.example".to_owned(),
    }
}

#[tokio::test]
async fn a_broker_is_found_by_its_whole_name_however_it_is_written() {
    let cf = v3(|_| {
        let brokers = [
            v3_broker("b-1", "Redis, & co"),
            v3_broker("b-2", "redis, & co"),
        ];
        V3.page(None, 2, &brokers.join(","))
    })
    .await;

    let broker = cf.broker_named(&call(), "redis, & co").await.unwrap();

    assert_eq!(broker, Some(found("b-2", "redis, & co")));
    // A comma within a name is encoded twice.
    assert_eq!(
        cf.lines(),
        ["GET /v3/service_brokers?names=redis%252C%2520%2526%2520co&per_page=5000"]
    );
}

#[tokio::test]
async fn a_broker_of_an_old_foundation_is_found_by_its_whole_name_on_any_page() {
    let cf = v2(|request| match request.target.as_str() {
        "/v2/service_brokers?results-per-page=100" => V2.page(
            Some("/v2/service_brokers?page=2&results-per-page=100"),
            2,
            &v2_broker("b-1", "redis;one"),
        ),
        _ => V2.page(None, 2, &v2_broker("b-2", "redis")),
    })
    .await;

    let broker = cf.broker_named(&call(), "redis").await.unwrap();

    assert_eq!(broker, Some(found("b-2", "redis")));
    assert_eq!(cf.lines().len(), 2);
    assert_eq!(cf.broker_named(&call(), "red").await.unwrap(), None);
}

#[tokio::test]
async fn a_broker_is_created_with_whatever_is_in_its_name_and_password() {
    let cf = v3(|_| job_accepted()).await;

    let accepted = cf.create_broker(&call(), &registration()).await;

    assert_eq!(accepted.unwrap(), job_1());
    assert_eq!(cf.lines(), ["POST /v3/service_brokers"]);
    let request = cf.server.seen().pop().unwrap();
    assert_eq!(request.header("content-type"), "application/json");
    let body: Value = serde_json::from_str(&request.body).unwrap();
    assert_eq!(
        body,
        json!({
            "name": r#"redis "one""#,
            "url": "https://redis.example:8443",
            "authentication": {
                "type": "basic",
                "credentials": {"username": "admin", "password": PASSWORD},
            },
        })
    );
}

#[tokio::test]
async fn an_old_foundation_creates_and_changes_a_broker_while_the_request_waits() {
    let cf = v2(|request| {
        let broker = v2_broker("b-1", "redis");
        match request.method.as_str() {
            "POST" => Reply::status(201, broker),
            _ => Reply::ok(broker).with("X-Cf-Warnings", "one%2C%20two,three+four"),
        }
    })
    .await;

    let (call, registration) = (call(), registration());
    let created = cf.create_broker(&call, &registration).await.unwrap();
    let guid = "b-1".parse().unwrap();
    let updated = cf.update_broker(&call, &guid, &registration).await;

    assert_eq!(created, done());
    let warnings = vec!["one, two".to_owned(), "three four".to_owned()];
    assert_eq!(updated.unwrap(), Accepted::Done { warnings });
    assert_eq!(
        cf.lines(),
        ["POST /v2/service_brokers", "PUT /v2/service_brokers/b-1"]
    );
    for request in cf.server.seen().iter().filter(|seen| seen.method != "GET") {
        assert_eq!(request.header("content-type"), "application/json");
        let body: Value = serde_json::from_str(&request.body).unwrap();
        assert_eq!(
            body,
            json!({
                "name": r#"redis "one""#,
                "broker_url": "https://redis.example:8443",
                "auth_username": "admin",
                "auth_password": PASSWORD,
            })
        );
    }
}

#[tokio::test]
async fn what_creates_is_not_sent_again_and_the_error_says_that_it_may_have_arrived() {
    for reply in [
        || Reply::HangUp,
        || Reply::status(502, "<html>bad gateway</html>"),
    ] {
        let cf = v3(move |_| reply()).await;

        let created = cf.create_broker(&call(), &registration()).await;
        let error = created.unwrap_err();

        assert!(error.may_have_taken_effect(), "{error:?}");
        assert!(error.is_transient(), "{error:?}");
        let text = error.to_string();
        assert!(text.contains("`POST /v3/service_brokers`"), "{text}");
        assert!(!everything(&error).contains(PASSWORD), "{error:?}");
        assert_eq!(cf.lines().len(), 1);
    }
}

#[tokio::test]
async fn a_rejection_has_not_taken_effect() {
    let cf = v3(|_| V3.error(422, 10008, "CF-Title", "Name must be unique")).await;

    let created = cf.create_broker(&call(), &registration()).await;
    let error = created.unwrap_err();

    assert!(!error.may_have_taken_effect() && !error.is_busy() && !error.is_transient());
    assert_eq!(error.code(), Some(10008));
}

#[tokio::test]
async fn a_broker_that_is_being_changed_is_busy() {
    let cf = v3(|_| {
        let detail = "Cannot update a broker when other operation is already in progress";
        V3.error(422, 10008, "CF-Title", detail)
    })
    .await;

    let guid = "b-1".parse().unwrap();
    let updated = cf.update_broker(&call(), &guid, &registration()).await;

    assert!(updated.unwrap_err().is_busy());
}

#[tokio::test]
async fn a_catalog_that_is_wrong_does_not_pass_for_failures_on_the_way() {
    for (status, code, title, is_transient) in [
        (502, 270_012, "CF-ServiceBrokerCatalogInvalid", false),
        (502, 10001, "CF-ServiceBrokerApiAuthenticationFailed", false),
        (502, 10001, "CF-ServiceBrokerApiUnreachable", true),
        (504, 10001, "CF-HttpClientTimeout", true),
    ] {
        let cf = v2(move |_| V2.error(status, code, title, "no")).await;

        let created = cf.create_broker(&call(), &registration()).await;
        let error = created.unwrap_err();

        assert_eq!(error.is_transient(), is_transient, "{error}");
        assert_eq!(cf.lines().len(), 1, "each has the catalog read");
    }
}

#[tokio::test]
async fn a_deletion_is_repeated_and_one_that_finds_nothing_has_succeeded() {
    let guid = "b-1".parse().unwrap();
    let cf = v3(|_| job_accepted()).await;
    let accepted = cf.delete_broker(&call(), &guid).await;
    assert_eq!(accepted.unwrap(), job_1());
    assert_eq!(cf.lines(), ["DELETE /v3/service_brokers/b-1"]);

    let cf = v3({
        let first = AtomicBool::new(true);
        move |_| {
            if first.swap(false, Ordering::Relaxed) {
                return Reply::HangUp;
            }
            V3.error(404, 10010, "CF-Title", "Service broker not found")
        }
    })
    .await;
    assert_eq!(cf.delete_broker(&call(), &guid).await.unwrap(), done());
    assert_eq!(cf.lines().len(), 2);
}

#[tokio::test]
async fn a_cloud_controller_without_that_api_has_deleted_nothing() {
    let cf = v2(|_| Reply::status(404, "V2 endpoints disabled")).await;

    let guid = "b-1".parse().unwrap();
    let error = cf.delete_broker(&call(), &guid).await.unwrap_err();

    let is_rejection = matches!(error.kind, FailureKind::Refused { .. });
    assert!(is_rejection && !error.is_not_found(), "{error:?}");
}

#[tokio::test]
async fn a_broker_with_instances_is_distinguished_in_both_versions() {
    for (version, status) in [(V3, 422), (V2, 400)] {
        let title = "CF-ServiceBrokerNotRemovable";
        let cf = Cf::of(version, move |_| {
            version.error(status, 270_010, title, "no")
        })
        .await;

        let deleted = cf.delete_broker(&call(), &"b-1".parse().unwrap()).await;

        let error = deleted.unwrap_err();
        assert!(error.is_broker_in_use(), "{error:?}");
    }
}

#[tokio::test]
async fn an_answer_that_names_no_job_is_not_taken_for_one() {
    for location in [None, Some("https://api.example/v3/service_brokers/b-1")] {
        let cf = v3(move |_| {
            let reply = Reply::status(202, "");
            match location {
                Some(location) => reply.with("Location", location),
                None => reply,
            }
        })
        .await;

        let created = cf.create_broker(&call(), &registration()).await;
        let error = created.unwrap_err();

        assert!(
            matches!(error.kind, FailureKind::NotUnderstood { .. }),
            "{error:?}"
        );
        assert!(error.may_have_taken_effect());
    }
}
