//! Registering brokers with the Cloud Controller, by both versions of its API.

use std::sync::atomic::{AtomicBool, Ordering};

use odb_clients::{
    FailureKind,
    cloud_controller::{Accepted, BrokerRegistration, CfBroker},
};
use serde_json::{Value, json};

use crate::{
    cloud_controller::{cloud_controller, lines, page},
    cloud_controller_v2::{lines as v2_lines, old_foundation, page as v2_page, resource},
    foundation::{Reply, call, everything, uaa},
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

fn v3_rejection(code: u64, detail: &str) -> String {
    format!(r#"{{"errors":[{{"code":{code},"title":"CF-Title","detail":"{detail}"}}]}}"#)
}

fn v2_rejection(code: u64, title: &str) -> String {
    format!(r#"{{"description":"no","error_code":"{title}","code":{code}}}"#)
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
    let uaa = uaa(1199).await;
    let (server, client) = cloud_controller(&uaa, |_| {
        let brokers = [
            v3_broker("b-1", "Redis, & co"),
            v3_broker("b-2", "redis, & co"),
        ];
        page(None, 2, &brokers.join(","))
    })
    .await;

    let broker = client.broker_named(&call(), "redis, & co").await.unwrap();

    assert_eq!(broker, Some(found("b-2", "redis, & co")));
    // A comma within a name is encoded twice.
    assert_eq!(
        lines(&server),
        ["GET /v3/service_brokers?names=redis%252C%2520%2526%2520co&per_page=5000"]
    );
}

#[tokio::test]
async fn a_broker_of_an_old_foundation_is_found_by_its_whole_name_on_any_page() {
    let uaa = uaa(1199).await;
    let (server, client) = old_foundation(&uaa, |request| match request.target.as_str() {
        "/v2/service_brokers?results-per-page=100" => v2_page(
            Some("/v2/service_brokers?page=2&results-per-page=100"),
            2,
            &v2_broker("b-1", "redis;one"),
        ),
        _ => v2_page(None, 2, &v2_broker("b-2", "redis")),
    })
    .await;

    let broker = client.broker_named(&call(), "redis").await.unwrap();

    assert_eq!(broker, Some(found("b-2", "redis")));
    assert_eq!(v2_lines(&server).len(), 2);
    assert_eq!(client.broker_named(&call(), "red").await.unwrap(), None);
}

#[tokio::test]
async fn a_broker_is_created_with_whatever_is_in_its_name_and_password() {
    let uaa = uaa(1199).await;
    let (server, client) = cloud_controller(&uaa, |_| job_accepted()).await;

    let accepted = client.create_broker(&call(), &registration()).await;

    assert_eq!(accepted.unwrap(), job_1());
    assert_eq!(lines(&server), ["POST /v3/service_brokers"]);
    let request = server.seen().pop().unwrap();
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
    let uaa = uaa(1199).await;
    let (server, client) = old_foundation(&uaa, |request| {
        let broker = v2_broker("b-1", "redis");
        match request.method.as_str() {
            "POST" => Reply::status(201, broker),
            _ => Reply::ok(broker).with("X-Cf-Warnings", "one%2C%20two,three+four"),
        }
    })
    .await;

    let (call, registration) = (call(), registration());
    let created = client.create_broker(&call, &registration).await.unwrap();
    let guid = "b-1".parse().unwrap();
    let updated = client.update_broker(&call, &guid, &registration).await;

    assert_eq!(created, done());
    let warnings = vec!["one, two".to_owned(), "three four".to_owned()];
    assert_eq!(updated.unwrap(), Accepted::Done { warnings });
    assert_eq!(
        v2_lines(&server),
        ["POST /v2/service_brokers", "PUT /v2/service_brokers/b-1"]
    );
    for request in server.seen().iter().filter(|seen| seen.method != "GET") {
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
    let uaa = uaa(1199).await;
    for reply in [
        || Reply::HangUp,
        || Reply::status(502, "<html>bad gateway</html>"),
    ] {
        let (server, client) = cloud_controller(&uaa, move |_| reply()).await;

        let created = client.create_broker(&call(), &registration()).await;
        let error = created.unwrap_err();

        assert!(error.may_have_taken_effect(), "{error:?}");
        assert!(error.is_transient(), "{error:?}");
        let text = error.to_string();
        assert!(text.contains("`POST /v3/service_brokers`"), "{text}");
        assert!(!everything(&error).contains(PASSWORD), "{error:?}");
        assert_eq!(lines(&server).len(), 1);
    }
}

#[tokio::test]
async fn a_rejection_has_not_taken_effect() {
    let uaa = uaa(1199).await;
    let (_server, client) = cloud_controller(&uaa, |_| {
        Reply::status(422, v3_rejection(10008, "Name must be unique"))
    })
    .await;

    let created = client.create_broker(&call(), &registration()).await;
    let error = created.unwrap_err();

    assert!(!error.may_have_taken_effect() && !error.is_busy() && !error.is_transient());
    assert_eq!(error.code(), Some(10008));
}

#[tokio::test]
async fn a_broker_that_is_being_changed_is_busy() {
    let uaa = uaa(1199).await;
    let (_server, client) = cloud_controller(&uaa, |_| {
        let detail = "Cannot update a broker when other operation is already in progress";
        Reply::status(422, v3_rejection(10008, detail))
    })
    .await;

    let guid = "b-1".parse().unwrap();
    let updated = client.update_broker(&call(), &guid, &registration()).await;

    assert!(updated.unwrap_err().is_busy());
}

#[tokio::test]
async fn a_catalog_that_is_wrong_does_not_pass_for_failures_on_the_way() {
    let uaa = uaa(1199).await;
    for (status, code, title, is_transient) in [
        (502, 270_012, "CF-ServiceBrokerCatalogInvalid", false),
        (502, 10001, "CF-ServiceBrokerApiAuthenticationFailed", false),
        (502, 10001, "CF-ServiceBrokerApiUnreachable", true),
        (504, 10001, "CF-HttpClientTimeout", true),
    ] {
        let (server, client) = old_foundation(&uaa, move |_| {
            Reply::status(status, v2_rejection(code, title))
        })
        .await;

        let created = client.create_broker(&call(), &registration()).await;
        let error = created.unwrap_err();

        assert_eq!(error.is_transient(), is_transient, "{error}");
        assert_eq!(v2_lines(&server).len(), 1, "each has the catalog read");
    }
}

#[tokio::test]
async fn a_deletion_is_repeated_and_one_that_finds_nothing_has_succeeded() {
    let uaa = uaa(1199).await;
    let guid = "b-1".parse().unwrap();
    let (server, client) = cloud_controller(&uaa, |_| job_accepted()).await;
    let accepted = client.delete_broker(&call(), &guid).await;
    assert_eq!(accepted.unwrap(), job_1());
    assert_eq!(lines(&server), ["DELETE /v3/service_brokers/b-1"]);

    let (server, client) = cloud_controller(&uaa, {
        let first = AtomicBool::new(true);
        move |_| {
            if first.swap(false, Ordering::Relaxed) {
                return Reply::HangUp;
            }
            Reply::status(404, v3_rejection(10010, "Service broker not found"))
        }
    })
    .await;
    assert_eq!(client.delete_broker(&call(), &guid).await.unwrap(), done());
    assert_eq!(lines(&server).len(), 2);
}

#[tokio::test]
async fn a_cloud_controller_without_that_api_has_deleted_nothing() {
    let uaa = uaa(1199).await;
    let (_server, client) =
        old_foundation(&uaa, |_| Reply::status(404, "V2 endpoints disabled")).await;

    let guid = "b-1".parse().unwrap();
    let error = client.delete_broker(&call(), &guid).await.unwrap_err();

    let is_rejection = matches!(error.kind, FailureKind::Refused { .. });
    assert!(is_rejection && !error.is_not_found(), "{error:?}");
}

#[tokio::test]
async fn a_broker_with_instances_is_distinguished_in_both_versions() {
    let uaa = uaa(1199).await;
    let guid = "b-1".parse().unwrap();
    let (_server, client) = cloud_controller(&uaa, |_| {
        Reply::status(422, v3_rejection(270_010, "Can not remove brokers"))
    })
    .await;
    let error = client.delete_broker(&call(), &guid).await.unwrap_err();
    assert!(error.is_broker_in_use(), "{error:?}");

    let (_server, client) = old_foundation(&uaa, |_| {
        Reply::status(400, v2_rejection(270_010, "CF-ServiceBrokerNotRemovable"))
    })
    .await;
    let error = client.delete_broker(&call(), &guid).await.unwrap_err();
    assert!(error.is_broker_in_use(), "{error:?}");
}

#[tokio::test]
async fn an_answer_that_names_no_job_is_not_taken_for_one() {
    let uaa = uaa(1199).await;
    for location in [None, Some("https://api.example/v3/service_brokers/b-1")] {
        let (_server, client) = cloud_controller(&uaa, move |_| {
            let reply = Reply::status(202, "");
            match location {
                Some(location) => reply.with("Location", location),
                None => reply,
            }
        })
        .await;

        let created = client.create_broker(&call(), &registration()).await;
        let error = created.unwrap_err();

        assert!(
            matches!(error.kind, FailureKind::NotUnderstood { .. }),
            "{error:?}"
        );
        assert!(error.may_have_taken_effect());
    }
}
