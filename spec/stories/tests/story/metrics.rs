//! The operator's monitoring reads what the broker counts.

use std::collections::BTreeMap;

use odb_stories::{Broker, Fault, Foundation, Order, eventually, new_id};
use reqwest::Method;
use serde_json::json;

use crate::TIMEOUT;

const GUIDE: &str = include_str!("../../../../docs/operators/reference/metrics.md");

#[tokio::test]
async fn the_guide_lists_every_metric_with_its_type_and_labels_and_no_other() {
    let foundation = Foundation::bare().start().await;
    let broker = foundation.broker().with_plan_limit(2).start().await;
    let platform = broker.platform();
    platform.created().await;
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
    let (_foundation, broker, instance) = Foundation::bare().start_with_instance().await;
    let platform = broker.platform();
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
        "odb_operations_ended_total{operation=\"create\",outcome=\"succeeded\",plan=\"small\"} 1",
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
        "odb_operations_started_total{operation=\"create\",plan=\"small\"} 1",
        "odb_operations_ended_total{operation=\"create\",outcome=\"failed\",plan=\"small\"} 0",
        "odb_operations_ended_total{operation=\"create\",outcome=\"succeeded\",plan=\"large\"} 0",
        "odb_operations_in_flight{operation=\"create\",plan=\"small\"} 0",
        "odb_operation_duration_seconds_count{operation=\"create\",outcome=\"succeeded\",plan=\"small\"} 1",
        "odb_adapter_calls_total{call=\"generate-manifest\",outcome=\"answered\"} 1",
        "odb_adapter_calls_running 0",
        "odb_adapter_calls_waiting 0",
        "odb_queue_waiting{queue=\"instance\"} 0",
        "odb_queue_waiting{queue=\"submission\"} 0",
        "odb_upstream_call_retries_total{upstream=\"director\"} 0",
    ] {
        assert!(
            text.lines().any(|shown| shown == line),
            "no `{line}` in\n{text}"
        );
    }
    assert!(
        text.contains("odb_upstream_calls_total{status=\"2xx\",upstream=\"director\"}"),
        "{text}"
    );
    assert!(
        text.contains("odb_upstream_calls_total{status=\"2xx\",upstream=\"uaa\"}"),
        "{text}"
    );
    // No label grows with what clients ask for.
    assert!(!text.contains(&instance), "{text}");
}

#[tokio::test]
async fn what_there_is_and_what_the_quotas_leave_is_reported_as_the_platform_lists_it() {
    let foundation = Foundation::bare().start().await;
    let costs = json!({ "memory": { "limit": 40, "cost": 8 } });
    let broker = foundation
        .broker()
        .with_quotas(
            json!({ "service_instance_limit": 9, "resources": { "memory": { "limit": 100 } } }),
            json!({ "service_instance_limit": 3, "resources": costs }),
            json!({ "resources": { "memory": { "cost": 30 } } }),
        )
        .start()
        .await;
    let cf = foundation.cf();
    cf.register(&broker).await;
    for (plan, name) in [("small", "one"), ("small", "two"), ("large", "three")] {
        cf.run(&["create-service", "redis", plan, name, "--wait"])
            .await
            .succeeded();
    }

    let text = broker.metrics().await.text;

    for line in [
        "odb_service_instances{plan=\"small\",state=\"settled\"} 2",
        "odb_service_instances{plan=\"large\",state=\"settled\"} 1",
        "odb_service_instances{plan=\"large\",state=\"updating\"} 0",
        "odb_service_instances{plan=\"other\",state=\"settled\"} 0",
        "odb_quota_limit{plan=\"\",resource=\"service_instances\",scope=\"global\"} 9",
        "odb_quota_used{plan=\"\",resource=\"service_instances\",scope=\"global\"} 3",
        "odb_quota_limit{plan=\"\",resource=\"memory\",scope=\"global\"} 100",
        "odb_quota_used{plan=\"\",resource=\"memory\",scope=\"global\"} 46",
        "odb_quota_limit{plan=\"small\",resource=\"service_instances\",scope=\"plan\"} 3",
        "odb_quota_used{plan=\"small\",resource=\"service_instances\",scope=\"plan\"} 2",
        "odb_quota_limit{plan=\"small\",resource=\"memory\",scope=\"plan\"} 40",
        "odb_quota_used{plan=\"small\",resource=\"memory\",scope=\"plan\"} 16",
    ] {
        assert!(
            text.lines().any(|shown| shown == line),
            "no `{line}` in\n{text}"
        );
    }
    // Of the large plan memory has a cost and no limit: no quota.
    assert!(!text.contains("odb_quota_limit{plan=\"large\""), "{text}");
}

#[tokio::test]
async fn frequent_scrapes_do_not_list_the_instances_each_time() {
    let (foundation, broker) = Foundation::bare().start_with_broker().await;
    foundation.cf().register(&broker).await;
    let control = foundation.control();
    broker.metrics().await;
    let listings = async || {
        let calls = control.broker_calls(0).await;
        let listings = calls
            .iter()
            .filter(|call| call.path == "/v3/service_instances");
        listings.count()
    };
    let after_one = listings().await;

    for _ in 0..5 {
        broker.metrics().await;
    }

    assert_eq!(listings().await, after_one);
}

#[tokio::test]
async fn metrics_are_reported_when_the_instances_cannot_be_counted() {
    let (foundation, broker) = Foundation::bare().start_with_broker().await;
    foundation
        .control()
        .set(Fault::of("cloud-controller", "/v3/service_offerings").answers(500))
        .await;

    let reported = broker.metrics().await;

    reported.expect_status(200);
    assert!(
        reported
            .text
            .contains("odb_service_instances_counted_timestamp_seconds 0"),
        "{}",
        reported.text
    );
    let counted = "could not count the service instances for the metrics";
    assert!(broker.log().iter().any(|line| line.mentions(counted)));
}

#[tokio::test]
async fn metrics_are_for_those_who_know_the_credentials() {
    let (_foundation, broker) = Foundation::bare().start_with_broker().await;
    let platform = broker.platform();

    let anonymous = platform.anonymous_request(Method::GET, "/metrics");
    platform.send(anonymous).await.expect_status(401);
    let unauthenticated_client = platform.with_wrong_password();
    let strange = unauthenticated_client.request(Method::GET, "/metrics");
    unauthenticated_client
        .send(strange)
        .await
        .expect_status(401);
    platform
        .send(platform.request(Method::POST, "/metrics"))
        .await
        .expect_status(405);

    let reported = broker.metrics().await;
    reported.expect_status(200);
    assert_eq!(reported.header("content-type"), "text/plain; version=0.0.4");
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
    eventually("it is counted", TIMEOUT, async || {
        let text = broker.metrics().await.text;
        if text.lines().any(|shown| shown == line) {
            Ok(())
        } else {
            Err(text)
        }
    })
    .await;
}
