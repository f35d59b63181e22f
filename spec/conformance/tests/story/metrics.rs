//! The operator's monitoring reads what the broker counts.

use std::collections::BTreeMap;

use odb_conformance::{Broker, Foundation, Order, eventually, new_id};
use reqwest::Method;
use serde_json::json;

use crate::PATIENCE;

const GUIDE: &str = include_str!("../../../../docs/operators/metrics.md");

#[tokio::test]
async fn the_guide_lists_every_metric_with_its_type_and_labels_and_no_other() {
    let foundation = Foundation::setup().without_processes().start().await;
    let broker = foundation.broker().start().await;
    let (platform, instance) = (broker.platform(), new_id());
    platform
        .provision_to_the_end(&instance, &Order::small())
        .await;
    platform.with_wrong_password().catalog().await;

    let shown = shown(&broker.metrics().await.text);

    let listed: BTreeMap<String, String> = GUIDE
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            let name = cells[0].trim_matches('`').to_owned();
            (name, format!("{} {}", cells[1], cells[2].replace('`', "")))
        })
        .collect();
    assert_eq!(shown, listed);
}

#[tokio::test]
async fn what_happens_is_counted() {
    let foundation = Foundation::setup().without_processes().start().await;
    let broker = foundation.broker().start().await;
    let (platform, instance) = (broker.platform(), new_id());
    platform
        .provision_to_the_end(&instance, &Order::small())
        .await;
    platform
        .provision(&new_id(), &Order::small().with_parameters([1].into()))
        .await;
    platform
        .with_wrong_password()
        .catalog()
        .await
        .expect_status(401);
    let path = format!("/v2/{instance}/nonsense");
    platform
        .send(platform.request(Method::GET, &path))
        .await
        .expect_status(404);

    expect(
        &broker,
        "odb_operations_ended_total{operation=\"create\",outcome=\"succeeded\"} 1",
    )
    .await;
    let text = broker.metrics().await.text;

    let order = "route=\"/v2/service_instances/{instance}\"";
    for line in [
        &format!("odb_http_requests_total{{method=\"PUT\",{order},status=\"202\"}} 1"),
        &format!("odb_http_requests_total{{method=\"PUT\",{order},status=\"400\"}} 1"),
        "odb_http_requests_total{method=\"GET\",route=\"/v2/catalog\",status=\"401\"} 1",
        "odb_http_requests_total{method=\"GET\",route=\"other\",status=\"404\"} 1",
        "odb_http_failed_authentications_total 1",
        "odb_operations_started_total{operation=\"create\"} 1",
        "odb_operations_ended_total{operation=\"create\",outcome=\"failed\"} 0",
        "odb_operations_in_flight{operation=\"create\"} 0",
        "odb_operation_duration_seconds_count{operation=\"create\",outcome=\"succeeded\"} 1",
        "odb_adapter_calls_total{call=\"generate-manifest\",outcome=\"answered\"} 1",
        "odb_adapter_calls_running 0",
        "odb_adapter_calls_waiting 0",
        "odb_neighbour_call_retries_total{neighbour=\"director\"} 0",
    ] {
        assert!(
            text.lines().any(|shown| shown == line),
            "no `{line}` in\n{text}"
        );
    }
    assert!(
        text.contains("odb_neighbour_calls_total{neighbour=\"director\",status=\"2xx\"}"),
        "{text}"
    );
    assert!(
        text.contains("odb_neighbour_calls_total{neighbour=\"uaa\",status=\"2xx\"}"),
        "{text}"
    );
    // No label grows with what clients ask for.
    assert!(!text.contains(&instance), "{text}");
}

#[tokio::test]
async fn trouble_with_a_neighbour_is_counted_attempt_by_attempt() {
    let foundation = Foundation::setup().without_processes().start().await;
    let broker = foundation.broker().start().await;
    for effect in [
        json!({ "kind": "answer", "status": 503 }),
        json!({ "kind": "drop" }),
    ] {
        let requests = json!({ "method": "GET", "path": "/configs" });
        let fault =
            json!({ "server": "director", "requests": requests, "times": 1, "effect": effect });
        foundation.control().set_fault(&fault).await;
        let (platform, instance) = (broker.platform(), new_id());
        let answer = platform.provision(&instance, &Order::small()).await;
        answer.accepted();
    }

    let calls = "odb_neighbour_calls_total{neighbour=\"director\"";
    expect(&broker, &format!("{calls},status=\"5xx\"}} 1")).await;
    expect(&broker, &format!("{calls},status=\"none\"}} 1")).await;
    let retries = "odb_neighbour_call_retries_total{neighbour=\"director\"} 2";
    expect(&broker, retries).await;
}

#[tokio::test]
async fn metrics_are_for_those_who_know_the_credentials() {
    let foundation = Foundation::setup().without_processes().start().await;
    let broker = foundation.broker().start().await;
    let platform = broker.platform();

    let anonymous = platform.anonymous_request(Method::GET, "/metrics");
    platform.send(anonymous).await.expect_status(401);
    let stranger = platform.with_wrong_password();
    let strange = stranger.request(Method::GET, "/metrics");
    stranger.send(strange).await.expect_status(401);
    platform
        .send(platform.request(Method::POST, "/metrics"))
        .await
        .expect_status(405);

    let told = broker.metrics().await;
    told.expect_status(200);
    assert_eq!(told.header("content-type"), "text/plain; version=0.0.4");
}

/// Every metric that is shown, with its type and the labels that it has besides those of its type.
fn shown(text: &str) -> BTreeMap<String, String> {
    let types = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let described = types.map(|(name, kind)| {
        let sample = text
            .lines()
            .find(|line| line.starts_with(name))
            .unwrap_or_default();
        let labels = sample
            .split_once('{')
            .and_then(|(_, rest)| rest.split_once('}'));
        let labels = labels.map_or("", |(labels, _)| labels).split(',');
        let labels = labels.filter_map(|label| Some(label.split_once('=')?.0));
        let labels: Vec<&str> = labels.filter(|label| *label != "le").collect();
        (name.to_owned(), format!("{kind} {}", labels.join(", ")))
    });
    described.collect()
}

async fn expect(broker: &Broker, line: &str) {
    eventually("it is counted", PATIENCE, async || {
        let text = broker.metrics().await.text;
        if text.lines().any(|shown| shown == line) {
            Ok(())
        } else {
            Err(text)
        }
    })
    .await;
}
