//! Traces: an order is one tree of spans, without secrets; upstreams, adapters and logs have its id.

use std::fs;

use odb_stories::{
    Broker, Collector, Document, ExportedSpan, Foundation, Order, SpanTree, eventually, new_id,
};
use reqwest::Method;
use serde_json::json;

use crate::TIMEOUT;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";

/// Keeps what the adapter gets of a trace.
const ADAPTER: &str =
    r#"read_input; echo "$call ${TRACEPARENT-none}" >>"$folder/parents"; as_redis"#;

fn traceparent(flags: &str) -> String {
    format!("00-{TRACE}-{CALLER}-{flags}")
}

async fn traced(foundation: &Foundation, script: &str) -> Broker {
    let adapter = foundation.adapters().script(ADAPTER);
    foundation
        .broker()
        .with_lifecycle_errands(&json!({ "post_deploy": [{ "name": "health-check" }] }))
        .with("/service_adapter/path", json!(adapter))
        .with_start_script(script)
        .start()
        .await
}

/// Orders an instance with this `traceparent`, and waits for it.
async fn order(broker: &Broker, parent: &str) -> String {
    let (platform, instance) = (broker.platform(), new_id());
    let request = platform
        .provision_request(&instance, &Order::small())
        .header("traceparent", parent);
    let token = platform.send(request).await.accepted();
    let ended = platform.end_of_operation(&instance, &token).await;
    assert_eq!(ended.state, "succeeded", "{ended:?}");
    instance
}

/// The spans of the trace, once the last one is there.
async fn spans(collector: &Collector, last: &str) -> Vec<ExportedSpan> {
    eventually("the trace is exported", TIMEOUT, async || {
        let spans = collector.spans_of(TRACE);
        let is_complete = spans.iter().any(|span| span.name() == last);
        is_complete
            .then_some(spans.clone())
            .ok_or(format!("{spans:?}"))
    })
    .await
}

#[tokio::test]
async fn an_order_is_the_trace_that_the_guide_shows_and_holds_no_secret() {
    let foundation = Foundation::start().await;
    let collector = Collector::start().await;
    let broker = traced(&foundation, &collector.start_script()).await;

    let instance = order(&broker, &traceparent("01")).await;

    let spans = spans(&collector, "operation create").await;
    let guide = Document::open("docs/operators/monitor.md");
    let shown = guide.fences();
    let shown = shown.iter().find(|fence| fence.text.starts_with("PUT /v2"));
    let shown = SpanTree::read(&shown.expect("the guide shows a trace").text);
    // A token lives for many requests, and the event log of a task that has ended is not read.
    let mut regular = spans.clone();
    regular.retain(|span| !span.name().starts_with("uaa ") && !span.name().ends_with("/output"));
    assert_eq!(SpanTree::of(&regular, CALLER), shown, "{spans:#?}");

    let span = |name: &str| spans.iter().find(|span| span.name() == name).unwrap();
    let request = span("PUT /v2/service_instances/{instance}");
    assert_eq!(
        request.attribute("instance.id").as_deref(),
        Some(&*instance)
    );
    assert_eq!(
        request.attribute("http.response.status_code").as_deref(),
        Some("202")
    );
    let adapter = span("adapter generate-manifest");
    assert_eq!(adapter.attribute("process.exit.code").as_deref(), Some("0"));
    let deployment = span("director POST /deployments");
    assert_eq!(
        deployment.attribute("peer.service").as_deref(),
        Some("director")
    );
    assert_eq!(deployment.attribute("attempt").as_deref(), Some("1"));
    assert!(
        span("errand health-check")
            .attribute("bosh.task.id")
            .is_some()
    );

    // The adapter and the log have the ids.
    let parents = fs::read_to_string(foundation.folder().join("parents")).unwrap();
    let id = adapter.text("spanId");
    assert!(
        parents.contains(&format!("generate-manifest 00-{TRACE}-{id}-01")),
        "{parents}"
    );
    let id = request.attribute("request.id").unwrap();
    let lines = broker.log_of_request(&id);
    assert!(
        lines
            .iter()
            .any(|line| line.text().contains("the task has ended"))
    );
    for line in lines
        .iter()
        .filter(|line| line.field("target") != Some("audit"))
    {
        assert_eq!(line.field("trace.id"), Some(TRACE), "{line:?}");
    }

    assert!(collector.heads().iter().all(|head| {
        head.starts_with("post /v1/traces ") && head.contains("authorization: recorded")
    }));
    let resource = collector.resource().to_string();
    assert!(
        resource.contains("on-demand-broker") && resource.contains("deployment"),
        "{resource}"
    );
    let exported = format!("{:?}", collector.spans());
    let secrets = foundation.secrets().await;
    secrets.expect_none_in("the exported spans", &exported);
    broker
        .secrets()
        .expect_none_in("the exported spans", &exported);
}

#[tokio::test]
async fn a_caller_that_does_not_record_is_respected_and_its_trace_is_passed_on() {
    let foundation = Foundation::start().await;
    let collector = Collector::start().await;
    let broker = traced(&foundation, &collector.start_script()).await;

    order(&broker, &traceparent("00")).await;

    // The spans of this request come after those of the order.
    let (platform, path) = (broker.platform(), "/mgmt/v1/service_instances/unknown");
    let request = platform.management_request(Method::GET, path);
    let answer = platform.send(request).await;
    answer.expect_status(404);
    let trace = answer.json()["trace_id"].as_str().unwrap().to_owned();
    eventually("the request is exported", TIMEOUT, async || {
        let spans = collector.spans_of(&trace);
        let is_exported = spans
            .iter()
            .any(|span| span.name().starts_with("GET /mgmt"));
        is_exported.then_some(()).ok_or(format!("{spans:?}"))
    })
    .await;
    assert_eq!(collector.spans_of(TRACE).len(), 0);
    let parents = fs::read_to_string(foundation.folder().join("parents")).unwrap();
    assert!(
        parents.contains(&format!("generate-manifest 00-{TRACE}-")),
        "{parents}"
    );
    assert!(!parents.contains(CALLER), "{parents}");
}

#[tokio::test]
async fn without_an_endpoint_a_trace_is_only_passed_on_and_an_invalid_one_is_ignored() {
    let foundation = Foundation::start().await;
    let broker = traced(&foundation, "exec \"$@\"").await;

    order(&broker, &traceparent("01")).await;
    order(&broker, &traceparent("1")).await;

    let parents = fs::read_to_string(foundation.folder().join("parents")).unwrap();
    let manifests = parents
        .lines()
        .filter(|line| line.starts_with("generate-manifest"));
    assert_eq!(
        manifests.collect::<Vec<_>>(),
        [
            &*format!("generate-manifest {}", traceparent("01")),
            "generate-manifest none",
        ]
    );
    let log = broker.log();
    let traced = log
        .iter()
        .filter(|line| line.field("trace.id") == Some(TRACE));
    assert!(traced.count() > 2);
}

#[tokio::test]
async fn a_collector_that_does_not_answer_costs_a_line_a_minute_and_no_order() {
    let foundation = Foundation::start().await;
    let script = "export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1 OTEL_BSP_SCHEDULE_DELAY=50\nexec \"$@\"";
    let mut broker = traced(&foundation, script).await;

    order(&broker, &traceparent("01")).await;
    let ended = broker.stop().await;

    assert!(ended.success());
    let log = broker.log();
    // Spans that end just before the stop add the last flush's own line.
    let reports = log
        .iter()
        .filter(|line| line.mentions("spans could not be exported and are dropped"));
    assert_eq!(reports.count(), 1, "{log:#?}");
}
