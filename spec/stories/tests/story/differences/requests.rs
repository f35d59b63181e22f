//! Requests and their answers.

use std::fs;

use odb_stories::{Foundation, Order, eventually, new_id};
use reqwest::Method;
use serde_json::{Value, json};

use super::{binding, send, small, text, waiting};
use crate::{TIMEOUT, history_of_an_order};

/// 18: each of these ended in a panic.
#[tokio::test]
async fn a_context_that_is_null_or_unexpected_is_no_error() {
    let (_foundation, broker) = Foundation::setup().start_with_broker().await;
    let platform = broker.platform();

    for context in [
        Value::Null,
        json!({}),
        json!({ "instance_name": 5, "space_guid": [] }),
    ] {
        let order = Order::small().with("context", context);
        platform.provision_to_the_end(&new_id(), &order).await;
    }
}

/// 27: only a provision was held against the catalog.
#[tokio::test]
async fn a_request_for_another_brokers_service_or_plan_is_rejected() {
    let (foundation, broker, instance) = Foundation::setup().start_with_instance().await;
    let platform = broker.platform();
    let (path, foreign) = (waiting(&instance), new_id());
    let plan = text(&small()["plan_id"]);
    let mut elsewhere = small();
    elsewhere["service_id"] = json!(foreign);
    let mut nowhere = small();
    nowhere["plan_id"] = json!(foreign);
    let nothing = Value::Null;

    let query = format!("service_id={foreign}&plan_id={plan}");
    let deletion = format!("{path}&{query}");
    let unbinding = format!("{}?{query}", binding(&instance));
    for (method, path, body) in [
        (Method::PATCH, &path, &elsewhere),
        (Method::PATCH, &path, &nowhere),
        (Method::PUT, &binding(&instance), &elsewhere),
        (Method::PUT, &binding(&instance), &nowhere),
        (Method::DELETE, &deletion, &nothing),
        (Method::DELETE, &unbinding, &nothing),
    ] {
        let answer = send(platform, method.clone(), path, body).await;
        assert_eq!(answer.status, 400, "{method} {path} {body}: {answer:?}");
        assert!(answer.description().contains("not in the catalog"));
    }
    let history = foundation.director().history().await;
    assert_eq!(history, history_of_an_order(&instance));
}

/// 30: files in `public` below the working directory were public.
#[tokio::test]
async fn no_file_is_served_and_no_path_answers_unauthenticated_clients() {
    let foundation = Foundation::start().await;
    // The broker runs in this folder.
    let public = foundation.folder().join("public");
    fs::create_dir(&public).unwrap();
    fs::write(public.join("note.txt"), "hunter2").unwrap();
    let broker = foundation.broker().start().await;
    let platform = broker.platform();

    for path in ["/note.txt", "/public/note.txt", "/mgmt/nothing"] {
        for method in [Method::GET, Method::HEAD, Method::POST] {
            let request = platform.anonymous_request(method.clone(), path);
            let refused = platform.send(request).await;
            assert_eq!(refused.status, 401, "{method} {path}: {refused:?}");
            let request = platform.request(method.clone(), path);
            let missing = platform.send(request).await;
            assert_eq!(missing.status, 404, "{method} {path}: {missing:?}");
            assert!(!missing.text.contains("hunter2"));
        }
    }
}

/// 43: the platform's ids of a request and the one that users quote stood in lines that nothing joined.
#[tokio::test]
async fn every_line_of_a_request_has_the_platforms_ids_and_the_one_that_users_quote() {
    let (_foundation, broker) = Foundation::setup().start_with_broker().await;
    let platform = broker.platform();
    let (correlation, identity) = (new_id(), new_id());
    let request = platform.provision_request(&new_id(), &Order::small());
    let request = request
        .header("X-Vcap-Request-Id", &correlation)
        .header("X-Broker-API-Request-Identity", &identity);

    let answer = platform.send(request).await;
    answer.expect_status(202);

    let is_answered = "request answered";
    let lines = eventually("the request is logged", TIMEOUT, async || {
        let lines = broker.log_of_request(&answer.request_id());
        let whole = lines.iter().any(|line| line.mentions(is_answered));
        whole.then_some(lines).ok_or_else(String::new)
    })
    .await;
    for id in [&correlation, &identity] {
        let joined = lines.iter().filter(|line| line.mentions(id)).count();
        assert!(joined >= 2, "{id}: {lines:#?}");
    }
    for line in &lines {
        let line: Value = serde_json::from_str(&line.text()).unwrap();
        assert!(text(&line["timestamp"]).ends_with('Z'), "{line}");
    }
}

/// 2: a client could keep a connection for as long as it liked.
#[tokio::test]
async fn a_client_that_never_ends_its_request_is_hung_up_on() {
    let foundation = Foundation::start().await;
    let broker = foundation.broker().with_request_budget(1).start().await;
    let mut slow_to_ask = broker.raw_client().await;
    let mut slow_to_report = broker.raw_client().await;

    slow_to_ask
        .send_bytes(b"PUT /v2/service_instances/i HTTP/1.1\r\nhost: b")
        .await;
    let whole = broker.platform().request(Method::PUT, &waiting("i"));
    let whole = whole.build().unwrap();
    let authorization = whole.headers()["authorization"].to_str().unwrap();
    let head = format!(
        "PUT /v2/service_instances/i?accepts_incomplete=true HTTP/1.1\r\nhost: b\r\n\
         authorization: {authorization}\r\nx-broker-api-version: 2.17\r\ncontent-length: 1000\r\n\r\n{{"
    );
    slow_to_report.send_bytes(head.as_bytes()).await;

    for client in [slow_to_ask, slow_to_report] {
        let said = client.last_words().await;
        assert!(
            said.is_empty() || said.starts_with("HTTP/1.1 408"),
            "{said}"
        );
    }
    broker.platform().catalog().await.expect_status(200);
}
