//! The operation in progress as server-sent events.

use odb_stories::{Foundation, Platform, eventually, new_id};
use reqwest::{Method, Response};

use super::with_everything;
use crate::{
    TIMEOUT,
    cancelling::{hold, task_is_held},
};

async fn stream(operator: &Platform, instance: &str) -> Response {
    let path = format!("/ui/instances/{instance}/events");
    let request = operator.management_request(Method::GET, &path);
    request.send().await.expect("the broker answers")
}

/// Reads on until the text is there, or the stream ends.
async fn read_until(stream: &mut Response, text: &str) -> String {
    let mut read = String::new();
    while let Ok(Ok(Some(part))) = tokio::time::timeout(TIMEOUT, stream.chunk()).await {
        read.push_str(&String::from_utf8_lossy(&part));
        if read.contains(text) {
            break;
        }
    }
    assert!(read.contains(text), "there is no `{text}` in: {read}");
    read
}

#[tokio::test]
async fn each_stage_is_an_event_until_the_operation_ends() {
    let foundation = Foundation::setup().start().await;
    let (broker, operator) = with_everything(&foundation).await;
    let instance = new_id();
    hold(&foundation, "Updating instance").await;
    let token = broker.platform().order(&instance).await;
    task_is_held(&foundation, "create deployment").await;

    let mut events = stream(&operator, &instance).await;
    assert_eq!(events.status(), 200);
    assert_eq!(events.headers()["content-type"], "text/event-stream");
    let first = read_until(&mut events, "Cancel the operation").await;
    let first = first.trim_start_matches(":\n\n");
    assert!(first.starts_with("event: operation\ndata: "), "{first}");
    assert!(
        first.contains("Deploy") && first.contains("running"),
        "{first}"
    );

    foundation.control().clear_task_faults().await;
    let mut rest = String::new();
    while let Some(part) = events.chunk().await.expect("the stream ends in good order") {
        rest.push_str(&String::from_utf8_lossy(&part));
    }
    let (_, end) = rest
        .split_once("event: end")
        .expect("the last event is the end");
    assert!(
        end.contains("health-check") && end.contains("succeeded"),
        "{end}"
    );
    broker.platform().succeeds(&instance, &token).await;
}

#[tokio::test]
async fn a_stop_of_the_broker_does_not_wait_for_open_streams() {
    let foundation = Foundation::setup().start().await;
    let configuration = foundation.broker().with("/ui", super::everything());
    let mut broker = configuration
        .with("/broker/shutdown_timeout_in_seconds", 3600.into())
        .start()
        .await;
    let operator = super::operator(&foundation, &broker);
    let instance = new_id();
    hold(&foundation, "Updating instance").await;
    broker.platform().order(&instance).await;
    let mut events = stream(&operator, &instance).await;
    read_until(&mut events, "\n\n").await;

    let status = broker.stop().await;

    assert_eq!(status.code(), Some(0));
    while let Ok(Some(_)) = events.chunk().await {}
}

#[tokio::test]
async fn there_is_a_limit_of_open_streams_and_closed_ones_do_not_count() {
    let foundation = Foundation::setup().start().await;
    let (broker, operator) = with_everything(&foundation).await;
    let instance = new_id();
    hold(&foundation, "Updating instance").await;
    broker.platform().order(&instance).await;
    let mut open = Vec::new();
    for _ in 0..16 {
        let mut events = stream(&operator, &instance).await;
        read_until(&mut events, "\n\n").await;
        open.push(events);
    }
    let refused = stream(&operator, &instance).await;
    assert_eq!(refused.status(), 503);
    drop(open);

    eventually("another one is admitted", TIMEOUT, async || {
        let status = stream(&operator, &instance).await.status();
        (status == 200).then_some(()).ok_or(status.to_string())
    })
    .await;
}
