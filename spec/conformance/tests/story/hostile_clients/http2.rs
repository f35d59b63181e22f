//! Frames of HTTP/2 that ask for more than there is.

use odb_conformance::{Broker, Foundation, RawClient, eventually};
use reqwest::Method;

use super::Watched;
use crate::PATIENCE;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// More than any of these attacks may be let send.
const TOO_MUCH: usize = 200_000_000;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

#[tokio::test]
async fn streams_that_are_opened_and_taken_back_end_the_connection() {
    expect_the_end_of(|n| {
        let stream = 2 * n + 1;
        let open = frame(HEADERS, END_HEADERS | END_STREAM, stream, &request(&[]));
        [open, frame(RST_STREAM, 0, stream, &[0, 0, 0, 8])].concat()
    })
    .await;
}

#[tokio::test]
async fn streams_whose_answers_nobody_takes_end_the_connection() {
    expect_the_end_of(|n| frame(HEADERS, END_HEADERS | END_STREAM, 2 * n + 1, &request(&[]))).await;
}

#[tokio::test]
async fn streams_whose_bodies_never_end_end_the_connection() {
    expect_the_end_of(|n| frame(HEADERS, END_HEADERS, 2 * n + 1, &request(&[]))).await;
}

#[tokio::test]
async fn a_header_block_without_end_ends_the_connection() {
    let more = [literal("x", "y"), literal("z", &"z".repeat(100))].concat();
    expect_the_end_of(move |n| match n {
        0 => frame(HEADERS, END_STREAM, 1, &request(&[])),
        _ => frame(CONTINUATION, 0, 1, &more),
    })
    .await;
}

#[tokio::test]
async fn a_header_block_that_stands_for_a_much_larger_one_costs_little() {
    let foundation = Foundation::start().await;
    let broker = foundation.broker().start().await;
    let watched = Watched::of(&broker).await;
    let large = [&[0x40, 1, b'x'][..], &text(&"y".repeat(3_900))].concat();

    // One header of 4 kB that is put into the table, then named again and again: more than the library keeps, and less.
    for named in [10_000, 4_000] {
        let mut client = begin(&broker).await;
        let bomb = request(&[large.clone(), vec![0xbe; named]].concat());
        let bombs = (0..500).map(|n| frame(HEADERS, END_HEADERS | END_STREAM, 2 * n + 1, &bomb));
        client.flood(bombs, TOO_MUCH).await;
        watched.expect_unhurt().await;
    }
}

#[tokio::test]
async fn frames_that_carry_nothing_end_the_connection() {
    expect_the_end_of(|_| frame(PING, 0, 0, &[0; 8])).await;
    expect_the_end_of(|_| frame(SETTINGS, 0, 0, &[])).await;
    expect_the_end_of(|n| match n {
        0 => frame(HEADERS, END_HEADERS, 1, &request(&[])),
        _ => frame(DATA, 0, 1, &[]),
    })
    .await;
}

#[tokio::test]
async fn a_hundred_thousand_headers_over_http2_are_not_read() {
    let foundation = Foundation::start().await;
    let broker = foundation.broker().start().await;
    let watched = Watched::of(&broker).await;

    let mut client = begin(&broker).await;
    let headers = (0..100_000).flat_map(|n| literal(&format!("x-{n}"), "y"));
    let block: Vec<u8> = request(&[]).into_iter().chain(headers).collect();
    let mut pieces = block.chunks(16_000);
    let first = frame(HEADERS, END_STREAM, 1, pieces.next().unwrap_or_default());
    let rest = pieces.map(|piece| frame(CONTINUATION, 0, 1, piece));
    client
        .flood(std::iter::once(first).chain(rest), TOO_MUCH)
        .await;
    client.last_words().await;

    watched.expect_unhurt().await;
}

#[tokio::test]
async fn a_head_that_is_never_sent_to_its_end_ends_the_connection() {
    let foundation = Foundation::start().await;
    let broker = foundation
        .broker()
        .with_timing("slow_client_in_seconds", 1)
        .start()
        .await;

    for unfinished in [
        frame(HEADERS, END_STREAM, 1, &request(&[])),
        frame(HEADERS, END_STREAM | END_HEADERS, 1, &request(&[]))[..12].to_vec(),
        vec![0, 0],
    ] {
        let mut client = begin(&broker).await;
        client.send_bytes(&unfinished).await;
        client.last_words().await;
    }
    broker.platform().catalog().await.expect_status(200);
}

#[tokio::test]
async fn more_requests_than_are_worked_on_are_turned_away() {
    let foundation = Foundation::start().await;
    let broker = foundation.broker().start().await;
    let platform = broker.platform();
    let request = request(&authorization(&broker));

    // Their bodies do not come.
    let mut clients = Vec::new();
    for _ in 0..5 {
        let mut client = begin(&broker).await;
        let open = |n: u32| frame(HEADERS, END_HEADERS, 2 * n + 1, &request);
        let open: Vec<u8> = (0..250).flat_map(open).collect();
        client.send_bytes(&open).await;
        clients.push(client);
    }
    let refused = eventually("others are turned away", PATIENCE, async || {
        let answer = platform.catalog().await;
        let is_refused = answer.status == 503;
        is_refused.then_some(answer).ok_or_else(String::new)
    })
    .await;
    assert!(refused.description().contains("Too many"), "{refused:?}");
    assert_eq!(refused.header("retry-after"), "30");
    let told = broker.log_of_request(&refused.request_id());
    assert!(
        told.iter()
            .any(|line| line.field("code") == Some("ODB-2019")),
        "{told:#?}"
    );
    let health = platform.anonymous_request(Method::GET, "/health");
    platform.send(health).await.expect_status(200);

    drop(clients);
    eventually("there is room again", PATIENCE, async || {
        let status = platform.catalog().await.status;
        (status == 200).then_some(()).ok_or(status.to_string())
    })
    .await;
}

#[tokio::test]
async fn header_blocks_of_many_short_fields_from_many_clients_cost_little() {
    let foundation = Foundation::start().await;
    let broker = foundation.broker().start().await;
    let watched = Watched::of(&broker).await;
    // `accept-encoding: gzip, deflate`, a byte each.
    let bomb = request(&[0x90; 8_000]);
    let open = |n: u32| frame(HEADERS, END_HEADERS | END_STREAM, 2 * n + 1, &bomb);
    let bombs: Vec<u8> = (0..12).flat_map(open).collect();

    let mut clients = Vec::new();
    for _ in 0..32 {
        clients.push(begin(&broker).await);
    }
    for client in &mut clients {
        client.send_bytes(&bombs).await;
    }
    eventually("all are refused", PATIENCE, async || {
        let log = broker.log();
        let refused = log
            .iter()
            .filter(|line| line.field("code") == Some("ODB-2013"));
        let refused = refused.count();
        (refused == 32 * 12)
            .then_some(())
            .ok_or_else(|| format!("{refused} were refused"))
    })
    .await;

    watched.expect_unhurt().await;
}

#[tokio::test]
async fn clients_are_told_how_many_streams_there_may_be() {
    let foundation = Foundation::start().await;
    let broker = foundation.broker().start().await;
    let mut client = broker.raw_http2_client().await;
    client.send_bytes(PREFACE).await;
    // SETTINGS_MAX_CONCURRENT_STREAMS is 3, and 128 of them are allowed.
    client.hear("\0\u{3}\0\0\0\u{fffd}").await;
}

/// Sends frames until the broker hangs up, which it has to; others are served, and memory is bounded.
async fn expect_the_end_of(frame: impl Fn(u32) -> Vec<u8>) {
    let foundation = Foundation::start().await;
    let broker = foundation.broker().start().await;
    let watched = Watched::of(&broker).await;

    let mut client = begin(&broker).await;
    let sent = client.flood((0..).map(frame), TOO_MUCH).await;

    assert!(sent < TOO_MUCH, "nobody has stopped it");
    watched.expect_unhurt().await;
    assert!(broker.log().iter().all(|line| !line.mentions("panicked")));
}

/// A connection whose client takes no bodies: its windows are closed.
async fn begin(broker: &Broker) -> RawClient {
    let mut client = broker.raw_http2_client().await;
    let no_window = [0, 4, 0, 0, 0, 0];
    let settings = frame(SETTINGS, 0, 0, &no_window);
    client.send_bytes(&[PREFACE, &settings].concat()).await;
    client
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
    [&head, payload].concat()
}

/// `GET /` of a stranger (RFC 7541, appendix A), and more headers.
fn request(more: &[u8]) -> Vec<u8> {
    [&[0x82, 0x84, 0x87, 0x01][..], &text("b"), more].concat()
}

fn authorization(broker: &Broker) -> Vec<u8> {
    let request = broker.platform().request(Method::GET, "/").build();
    let request = request.expect("the request is complete");
    let value = request.headers()["authorization"].to_str();
    literal("authorization", value.expect("it is text"))
}

fn literal(name: &str, value: &str) -> Vec<u8> {
    [vec![0], text(name), text(value)].concat()
}

/// A text without Huffman's code, its length before it (RFC 7541 §5.1, §5.2).
fn text(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut length = text.len();
    if length < 127 {
        bytes.push(u8::try_from(length).unwrap());
    } else {
        bytes.push(127);
        length -= 127;
        while length >= 128 {
            bytes.push(u8::try_from(length % 128 + 128).unwrap());
            length /= 128;
        }
        bytes.push(u8::try_from(length).unwrap());
    }
    bytes.extend(text.as_bytes());
    bytes
}
