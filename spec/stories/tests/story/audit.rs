//! The audit lines of changes.

use odb_stories::{Foundation, LogLine, Order, eventually, new_id};
use reqwest::Method;
use serde_json::Value;

use crate::TIMEOUT;

/// `{"user_id":"u-1"}` of Cloud Foundry.
const DUKE: &str = "cloudfoundry eyJ1c2VyX2lkIjoidS0xIn0=";

#[tokio::test]
async fn every_change_leaves_one_line_that_says_who_what_and_what_came_of_it() {
    let (_foundation, broker) = Foundation::setup().start_with_broker().await;
    let (platform, instance, binding) = (broker.platform(), new_id(), new_id());
    let order = Order::small();
    let text = |name: &str| order.member(name).as_str().unwrap().to_owned();
    let query = format!(
        "service_id={}&plan_id={}",
        text("service_id"),
        text("plan_id")
    );
    let path = format!("/v2/service_instances/{instance}");
    let bound = format!("{path}/service_bindings/{binding}");

    for (method, path, operation, result, status) in [
        (
            Method::PUT,
            format!("{path}?accepts_incomplete=true"),
            "provision",
            "accepted",
            202,
        ),
        (Method::PUT, path.clone(), "provision", "refused", 422),
        (
            Method::PATCH,
            format!("{path}?accepts_incomplete=true"),
            "update",
            "",
            0,
        ),
        (Method::PUT, bound.clone(), "bind", "", 0),
        (Method::DELETE, format!("{bound}?{query}"), "unbind", "", 0),
        (
            Method::DELETE,
            format!("{path}?{query}"),
            "deprovision",
            "refused",
            422,
        ),
        (
            Method::PATCH,
            format!("/mgmt/service_instances/{instance}?operation_type=upgrade"),
            "upgrade",
            "",
            0,
        ),
    ] {
        let request = platform.request(method.clone(), &path);
        let request = request.header("X-Broker-API-Originating-Identity", DUKE);
        let answer = platform.send(request.body(order.body.to_string())).await;
        let line = entry(&broker, &answer.request_id()).await;
        let line: Value = serde_json::from_str(&line.text()).unwrap();
        let what = format!("{method} {path}: {answer:?} {line}");
        assert_eq!(line["operation"], operation, "{what}");
        assert_eq!(line["http.status"], answer.status, "{what}");
        if status != 0 {
            assert_eq!(
                (answer.status, line["result"].as_str()),
                (status, Some(result)),
                "{what}"
            );
        }
        assert_eq!(line["instance.id"], instance, "{what}");
        let names_binding = path.contains("service_bindings");
        assert_eq!(line["binding.id"] == binding, names_binding, "{what}");
        assert_eq!(line["originator.platform"], "cloudfoundry", "{what}");
        assert_eq!(line["originator.user"], "u-1", "{what}");
        assert_eq!(line["client.address"], "127.0.0.1", "{what}");
        assert_eq!(line["message"], "change requested", "{what}");
    }
    let read = platform.catalog().await;
    assert!(entries(&broker.log_of_request(&read.request_id())).is_empty());
}

#[tokio::test]
async fn an_unauthenticated_client_names_no_user_in_the_audit_lines() {
    let foundation = Foundation::start().await;
    let broker = foundation
        .broker()
        .with_command_line("--log off serve --config FILE")
        .start()
        .await;
    let unauthenticated_client = broker.platform().with_wrong_password();

    let request = unauthenticated_client.request(Method::DELETE, "/v2/service_instances/i");
    let request = request.header("X-Broker-API-Originating-Identity", DUKE);
    let answer = unauthenticated_client.send(request).await;

    // It is there at any level.
    let line = entry(&broker, &answer.request_id()).await;
    assert_eq!(line.field("result"), Some("refused"));
    assert_eq!(line.field("originator.user"), None);
}

async fn entry(broker: &odb_stories::Broker, request: &str) -> LogLine {
    let found = eventually("the change is in the log", TIMEOUT, async || {
        let found = entries(&broker.log_of_request(request));
        (!found.is_empty()).then_some(found).ok_or_else(String::new)
    })
    .await;
    assert_eq!(found.len(), 1, "{found:?}");
    found.into_iter().next().unwrap()
}

fn entries(lines: &[LogLine]) -> Vec<LogLine> {
    let is_entry = |line: &&LogLine| line.field("target") == Some("audit");
    lines.iter().filter(is_entry).cloned().collect()
}
