//! Bodies that are too long, too deep, too slow, or mean two things at once.

use odb_stories::{Foundation, Order, new_id};
use serde_json::json;

use super::{Watched, head, order_with, with_parameters};

#[tokio::test]
async fn a_body_of_a_gigabyte_is_not_read() {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;
    let watched = Watched::of(&broker).await;
    let order = head(
        &broker,
        "PUT",
        "/v2/service_instances/i?accepts_incomplete=true",
    );

    let announced = format!("{order}content-length: 1000000000\r\n\r\n");
    let said = broker.answer_to_bytes(announced.as_bytes()).await;
    assert!(said.starts_with("HTTP/1.1 413"), "{said}");
    assert!(said.contains("larger than"), "{said}");

    // Nor is one of unknown length, or of an unauthenticated client.
    let unauthenticated_client = "PUT /v2/service_instances/i HTTP/1.1\r\nhost: b\r\n";
    for order in [order.as_str(), unauthenticated_client] {
        let mut pouring = broker.raw_client().await;
        let chunked = format!("{order}transfer-encoding: chunked\r\n\r\n");
        pouring.send_bytes(chunked.as_bytes()).await;
        let chunk = [b"10000\r\n".to_vec(), vec![b' '; 0x10000], b"\r\n".to_vec()].concat();
        let sent = pouring.flood(std::iter::repeat(chunk), 1_000_000_000).await;
        assert!(sent < 1_000_000_000, "it was read to the end");
    }
    watched.expect_unhurt().await;
    foundation.director().expect_untouched().await;
}

#[tokio::test]
async fn a_body_that_trickles_in_is_abandoned_with_an_answer() {
    let (foundation, broker) = Foundation::setup()
        .start_with_timing("slow_client_in_seconds", 1)
        .await;
    let order = head(
        &broker,
        "PUT",
        "/v2/service_instances/i?accepts_incomplete=true",
    );
    let order =
        format!("{order}x-broker-api-request-identity: who-asks\r\ncontent-length: 1000\r\n\r\n{{");

    let said = broker
        .answer_to_bytes(order.as_bytes())
        .await
        .to_ascii_lowercase();

    assert!(said.starts_with("http/1.1 408"), "{said}");
    assert!(said.contains("\r\nx-request-id: "), "{said}");
    assert!(
        said.contains("\r\nx-broker-api-request-identity: who-asks"),
        "{said}"
    );
    assert!(said.contains("did not arrive in time"), "{said}");
    foundation.director().expect_untouched().await;
}

/// Otherwise a router would send the next request on a connection that is no longer read.
#[tokio::test]
async fn a_client_whose_body_is_not_read_learns_that_the_connection_ends() {
    let (foundation, broker) = Foundation::setup()
        .start_with_timing("slow_client_in_seconds", 1)
        .await;
    let path = "/v2/service_instances/i?accepts_incomplete=true";
    let order = head(&broker, "PUT", path);
    let chunk = [b"10000\r\n".to_vec(), vec![b' '; 0x10000], b"\r\n".to_vec()].concat();

    for (asking, chunks, status) in [
        (order.as_str(), 17, 413),
        (order.as_str(), 1, 408),
        ("PUT /v2 HTTP/1.1\r\nhost: b\r\n", 1, 401),
        (&format!("{order}expect: a miracle\r\n"), 1, 417),
    ] {
        let mut client = broker.raw_client().await;
        let chunked = format!("{asking}transfer-encoding: chunked\r\n\r\n");
        let bytes = [chunked.into_bytes(), chunk.repeat(chunks)].concat();
        client.send_bytes(&bytes).await;
        let said = client.last_words().await.to_ascii_lowercase();
        let wanted = format!("http/1.1 {status} ");
        assert!(said.starts_with(&wanted), "{status}: {said}");
        assert!(said.contains("\r\nconnection: close\r\n"), "{said}");
    }
    foundation.director().expect_untouched().await;
}

#[tokio::test]
async fn json_that_is_made_to_hurt_its_reader_is_refused() {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;
    let watched = Watched::of(&broker).await;
    let nested = |open: &str, close: &str, depth: usize| open.repeat(depth) + &close.repeat(depth);

    for (body, reason) in [
        (nested("[", "]", 200_000), "not JSON"),
        (
            with_parameters(&nested("{\"a\":[", "]}", 50_000)),
            "not JSON",
        ),
        (with_parameters("{\"a\":1e999}"), "not JSON"),
        (
            with_parameters("{\"maxclients\":1,\"maxclients\":2}"),
            "twice",
        ),
        (
            with_parameters("{}").replacen('{', "{\"plan_id\":\"x\",", 1),
            "twice",
        ),
        (with_parameters("{\"a\":\"\\ud800\"}"), "not JSON"),
        (with_parameters("{\"a\":NaN}"), "not JSON"),
    ] {
        let answer = order_with(&broker, body).await;
        assert_eq!(answer.status, 400, "{answer:?}");
        assert!(answer.description().contains(reason), "{answer:?}");
    }
    // As many values as fit into a body.
    let answer = order_with(
        &broker,
        with_parameters(&format!("[{}1]", "[],".repeat(300_000))),
    )
    .await;
    answer.expect_status(400);
    watched.expect_unhurt().await;
    foundation.director().expect_untouched().await;
}

#[tokio::test]
async fn a_body_that_says_it_is_something_else_is_refused() {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;
    let platform = broker.platform();
    let path = "/v2/service_instances/i?accepts_incomplete=true";

    for kind in [
        "text/xml",
        "application/x-www-form-urlencoded",
        "application/jsonp",
    ] {
        let request = platform.request(reqwest::Method::PUT, path);
        let request = request
            .header("Content-Type", kind)
            .body(with_parameters("{}"));
        let answer = platform.send(request).await;
        assert_eq!(answer.status, 400, "{kind}: {answer:?}");
        assert!(answer.description().contains("Content-Type"), "{answer:?}");
    }
    // `curl -d` sends this content type with every body, and operators do not override it.
    let plan = json!({ "plan_id": Order::small().member("plan_id") });
    let request = platform
        .operate_request(&new_id(), "recreate", &plan)
        .header("Content-Type", "application/x-www-form-urlencoded");
    platform.send(request).await.expect_status(410);
    foundation.director().expect_untouched().await;
}
