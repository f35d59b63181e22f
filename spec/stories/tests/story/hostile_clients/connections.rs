//! Connections that are slow, many, or not what they should be.

use odb_stories::{Broker, Foundation, LogLine, Order, eventually, new_id};
use reqwest::Method;
use tokio::task::JoinSet;

use super::{Watched, head};
use crate::TIMEOUT;

const UNAUTHENTICATED: &[u8] = b"GET /v2/catalog HTTP/1.1\r\nhost: b\r\n\r\n";

#[tokio::test]
async fn clients_that_dribble_their_heads_are_hung_up_on_and_others_are_served() {
    let (_foundation, broker) = Foundation::setup()
        .start_with_timing("slow_client_in_seconds", 1)
        .await;
    let watched = Watched::of(&broker).await;

    let mut slow = Vec::new();
    for _ in 0..100 {
        let mut client = broker.raw_client().await;
        client
            .send_bytes(b"GET /v2/catalog HTTP/1.1\r\nhost: b\r\nx: ")
            .await;
        slow.push(client);
    }
    // The head of a later request is no better.
    let catalog = head(&broker, "GET", "/v2/catalog") + "\r\n";
    for _ in 0..10 {
        let mut client = broker.raw_client().await;
        client.send_bytes(catalog.as_bytes()).await;
        client.read_until("HTTP/1.1 200").await;
        client
            .send_bytes(b"GET /v2/catalog HTTP/1.1\r\nhost: b\r\nx: ")
            .await;
        slow.push(client);
    }
    watched.expect_unhurt().await;

    for client in slow {
        let said = client.last_words().await;
        assert!(!said.contains("HTTP/1.1 200 OK\r\n\r\n"), "{said}");
    }
    watched.expect_unhurt().await;
}

#[tokio::test]
async fn a_client_that_takes_no_answers_is_hung_up_on() {
    let (_foundation, broker) = Foundation::setup()
        .start_with_timing("slow_client_in_seconds", 1)
        .await;
    let watched = Watched::of(&broker).await;
    let catalog = head(&broker, "GET", "/v2/catalog") + "\r\n";
    let mut client = broker.raw_client().await;

    // More answers than the buffers in between can hold.
    let sent = client
        .flood(std::iter::repeat(catalog.repeat(64).into_bytes()), 1 << 30)
        .await;

    assert!(
        sent < 1 << 30,
        "it reads requests whose answers are not read"
    );
    watched.expect_unhurt().await;
}

#[tokio::test]
async fn one_client_cannot_take_all_connections() {
    let (_foundation, broker) = Foundation::setup()
        .start_with_timing("connections", 16)
        .await;

    // Half of the places are his, and he keeps them busy.
    let mut greedy = Vec::new();
    for _ in 0..16 {
        if let Some(mut client) = broker.raw_client_at("127.0.0.77").await {
            client.send_bytes(b"GET /v2").await;
            greedy.push(client);
        }
    }
    assert_eq!(greedy.len(), 8, "connections of one client");
    broker.platform().catalog().await.expect_status(200);
    let reported = broker.log();
    let reported = reported
        .iter()
        .find(|line| line.field("code") == Some("ODB-2020"));
    assert!(reported.is_some_and(LogLine::is_warning_or_worse));

    // A client that disconnects makes room.
    greedy.clear();
    eventually("there is room again", TIMEOUT, async || {
        let client = broker.raw_client_at("127.0.0.77").await;
        client.map(drop).ok_or_else(String::new)
    })
    .await;
}

#[tokio::test]
async fn what_is_no_tls_is_hung_up_on() {
    let (_foundation, broker) = Foundation::setup()
        .start_with_timing("slow_client_in_seconds", 1)
        .await;
    let watched = Watched::of(&broker).await;
    let mut hello = vec![22, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3];
    hello.extend([0; 50]);

    for garbage in [
        vec![0; 10_000],
        vec![22, 3, 1, 0xff, 0xff],
        [vec![22, 3, 1, 0x40, 0], vec![1; 0x4000]]
            .concat()
            .repeat(20),
        vec![22, 3, 1, 0, 0],
        vec![21, 3, 3, 0, 2, 2, 40],
        vec![23, 3, 3, 0, 4, 1, 2, 3, 4],
        hello,
        Vec::new(),
    ] {
        let mut client = broker.raw_tcp_client().await;
        client
            .flood(std::iter::once(garbage.clone()), usize::MAX)
            .await;
        let said = client.last_words().await;
        assert!(!said.contains("HTTP"), "{garbage:?}: {said}");
    }
    // The client used the wrong scheme.
    let mut client = broker.raw_tcp_client().await;
    let request = head(&broker, "GET", "/v2/catalog") + "\r\n";
    client.send_bytes(request.as_bytes()).await;
    let said = client.last_words().await;
    assert!(said.starts_with("HTTP/1.1 400"), "{said}");
    assert!(said.contains("https://"), "{said}");
    watched.expect_unhurt().await;
}

#[tokio::test]
async fn one_unauthenticated_client_too_many_reads_that_the_connection_ends() {
    let (_foundation, broker) = Foundation::setup()
        .start_with_timing("failed_authentication_in_seconds", 60)
        .await;
    // More than may wait.
    let mut waiting = Vec::new();
    for _ in 0..90 {
        let mut client = broker.raw_client().await;
        client.send_bytes(UNAUTHENTICATED).await;
        waiting.push(client);
    }
    expect_failed_authentications(&broker, 90).await;
    // The shortest of the waits may be over by now, and there is room for as many again.
    let mut answers = JoinSet::new();
    for _ in 0..12 {
        let mut client = broker.raw_client().await;
        client.send_bytes(UNAUTHENTICATED).await;
        answers.spawn(client.last_words());
    }

    let said = answers.join_next().await.unwrap().unwrap();
    let said = said.to_ascii_lowercase();
    assert!(said.starts_with("http/1.1 401"), "{said}");
    assert!(said.contains("\r\nconnection: close\r\n"), "{said}");
    // A client that only waits keeps its connection.
    let said = waiting.swap_remove(0).read_until("\r\n\r\n").await;
    assert!(said.starts_with("HTTP/1.1 401"), "{said}");
    assert!(!said.to_ascii_lowercase().contains("connection:"), "{said}");
}

#[tokio::test]
async fn unauthenticated_clients_beyond_a_rate_leave_one_line_in_the_log_and_no_other() {
    let (_foundation, mut broker) = Foundation::setup()
        .start_with_timing("failed_authentication_in_seconds", 0)
        .await;
    let platform = broker.platform().clone();
    let unauthenticated_client = platform.with_wrong_password();

    // Requests that leave a line in the audit, with a header that cannot be understood.
    for _ in 0..60 {
        let order = unauthenticated_client
            .provision_request(&new_id(), &Order::small())
            .header("X-Broker-API-Originating-Identity", "nonsense");
        unauthenticated_client.send(order).await.expect_status(401);
    }
    // Rejected before the password is checked.
    for _ in 0..60 {
        let long = platform
            .request(Method::GET, "/v2/catalog")
            .header("x-long", "x".repeat(70 * 1024));
        platform.send(long).await.expect_status(431);
    }
    assert_eq!(broker.stop().await.code(), Some(0));

    let log = broker.log();
    let count = |wanted: fn(&LogLine) -> bool| log.iter().filter(|line| wanted(line)).count();
    assert_eq!(count(|line| line.mentions("request refused")), 20);
    assert_eq!(count(|line| line.mentions("change requested")), 20);
    assert_eq!(count(|line| line.mentions("originating identity")), 20);
    let summary: Vec<_> = log
        .iter()
        .filter(|line| line.mentions("without valid credentials"))
        .collect();
    let [summary] = summary.as_slice() else {
        panic!("{summary:#?}");
    };
    assert_eq!(summary.field("code"), Some("ODB-2001"));
    assert!(summary.is_warning_or_worse());
    assert!(
        summary.text().contains("\"requests\":100"),
        "{}",
        summary.text()
    );
    assert!(
        summary.text().contains("127.0.0.1 (100)"),
        "{}",
        summary.text()
    );
}

/// So many have been refused, whether or not they have their answers.
async fn expect_failed_authentications(broker: &Broker, wanted: usize) {
    let counted = format!("odb_http_failed_authentications_total {wanted}");
    eventually("all are refused", TIMEOUT, async || {
        let text = broker.metrics().await.text;
        text.lines()
            .any(|line| line == counted)
            .then_some(())
            .ok_or(text)
    })
    .await;
}

#[tokio::test]
async fn a_client_that_fails_to_authenticate_waits_and_others_never() {
    let (_foundation, broker) = Foundation::setup()
        .start_with_timing("failed_authentication_in_seconds", 60)
        .await;
    let platform = broker.platform();
    let unauthenticated_client = platform.with_wrong_password();

    // All from the same address, as behind a router; the waits soon are longer than this test.
    let mut attempts = Vec::new();
    for _ in 0..20 {
        let unauthenticated_client = unauthenticated_client.clone();
        attempts.push(tokio::spawn(async move {
            unauthenticated_client.catalog().await
        }));
    }
    expect_failed_authentications(&broker, 20).await;
    platform.catalog().await.expect_status(200);
    let health = platform.anonymous_request(Method::GET, "/health");
    platform.send(health).await.expect_status(200);

    let waiting = attempts
        .iter()
        .filter(|attempt| !attempt.is_finished())
        .count();
    assert!(waiting >= 5, "only {waiting} of 20 wait");
    for attempt in attempts {
        if attempt.is_finished() {
            attempt.await.unwrap().expect_status(401);
        } else {
            attempt.abort();
        }
    }
}
