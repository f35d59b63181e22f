//! Ambiguous requests, and requests beyond the limits.

use odb_stories::{Broker, Foundation, RawClient};
use reqwest::Method;

use super::{Watched, head};

#[tokio::test]
async fn a_path_with_a_trick_leads_nowhere() {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;

    for (path, unauthenticated_client, known) in [
        ("//v2/catalog", 401, 404),
        ("/v2//catalog", 401, 404),
        ("/v2/../health", 401, 404),
        ("/health/../v2/catalog", 401, 404),
        ("/health/", 401, 404),
        ("/health;x", 401, 404),
        ("/%68ealth%2f", 401, 404),
        ("/v2/catalog;x=y", 401, 404),
        ("/v2/catalog%00", 401, 404),
        ("/v2%2fcatalog", 401, 404),
        ("/V2/catalog", 401, 404),
        ("*", 401, 404),
        ("/v2/service_instances/..", 401, 400),
        ("/v2/service_instances/%2e%2e", 401, 400),
        ("/v2/service_instances/a%2Fb", 401, 400),
        ("/v2/service_instances/a%252Fb", 401, 400),
        ("/v2/service_instances/a%00", 401, 400),
        ("/v2/service_instances/a;b", 401, 400),
        ("/v2/service_instances/a%ff", 401, 400),
        ("/v2/service_instances/a%0d%0aset-cookie:b", 401, 400),
        ("http://elsewhere.example/v2/nothing", 401, 404),
        ("http://elsewhere.example/health", 200, 200),
    ] {
        let said = answer_to(&broker, &format!("GET {path} HTTP/1.1\r\nhost: b\r\n")).await;
        expect(&said, unauthenticated_client, path);
        // Fetching is not offered, so that an id that travels would be 404.
        let said = answer_to(&broker, &head(&broker, "DELETE", path)).await;
        let known = if path.ends_with("/health") && known == 200 {
            404
        } else {
            known
        };
        expect(&said, known, path);
    }
    foundation.director().expect_untouched().await;
}

#[tokio::test]
async fn a_request_that_can_be_read_in_two_ways_is_read_in_none() {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;
    let hidden = head(&broker, "GET", "/v2/catalog");
    let order = head(
        &broker,
        "PUT",
        "/v2/service_instances/i?accepts_incomplete=true",
    );

    for trick in [
        "content-length: 4\r\ntransfer-encoding: chunked\r\n",
        "transfer-encoding: chunked\r\ncontent-length: 4\r\n",
        "content-length: 4\r\ncontent-length: 5\r\n",
        "content-length: 4\r\ncontent-length: 4\r\n",
        "content-length: +4\r\n",
        "content-length: 0x4\r\n",
        "content-length: 4, 4\r\n",
        "transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n",
        "transfer-encoding: gzip, chunked\r\n",
        "transfer-encoding: chunked, identity\r\n",
        "transfer-encoding : chunked\r\n",
        "x: y\r\n z: folded\r\n",
        "x\0y: z\r\n",
        "host: c\r\n",
    ] {
        let bytes = format!("{order}{trick}\r\n0\r\n\r\n{hidden}\r\n");
        let said = broker.answer_to_bytes(bytes.as_bytes()).await;
        assert!(said.starts_with("HTTP/1.1 400"), "{trick:?}: {said}");
        assert_eq!(said.matches("HTTP/1.1").count(), 1, "{trick:?}: {said}");
    }
    foundation.director().expect_untouched().await;
}

#[tokio::test]
async fn headers_beyond_the_limit_are_not_read() {
    let (_foundation, broker) = Foundation::setup().start_with_broker().await;
    let watched = Watched::of(&broker).await;

    let mut many = broker.raw_client().await;
    let headers = (0..100_000).map(|n| format!("x-{n}: y\r\n").into_bytes());
    let begin = b"GET /v2/catalog HTTP/1.1\r\n".to_vec();
    many.flood(std::iter::once(begin).chain(headers), usize::MAX)
        .await;
    let said = many.last_words().await;
    assert!(
        said.is_empty() || said.starts_with("HTTP/1.1 431"),
        "{said}"
    );

    for (trick, status) in [
        (format!("x: {}\r\n", "y".repeat(100_000)), 431),
        ("x: y\r\n".repeat(97), 431),
    ] {
        let said = answer_to(&broker, &format!("GET / HTTP/1.1\r\nhost: b\r\n{trick}")).await;
        expect_status(&said, status, &trick[..8]);
    }
    let long = format!("/v2/{}", "x".repeat(20_000));
    let said = answer_to(&broker, &head(&broker, "GET", &long)).await;
    expect(&said, 414, "a long path");
    let said = answer_to(
        &broker,
        &(head(&broker, "GET", "/v2/catalog") + "expect: a miracle\r\n"),
    )
    .await;
    expect(&said, 417, "a miracle");
    watched.expect_unhurt().await;
}

#[tokio::test]
async fn requests_one_behind_the_other_are_answered_in_their_order() {
    let (_foundation, broker) = Foundation::setup().start_with_broker().await;
    let mut client = broker.raw_client().await;

    let request = |n| {
        let head = head(&broker, "GET", &format!("/nothing?{n}"));
        format!("{head}x-broker-api-request-identity: n-{n}-\r\n\r\n")
    };
    let all = (0..100).map(request).collect::<Vec<_>>().concat();
    client.send_bytes(all.as_bytes()).await;
    let said = client.read_until("n-99-").await;

    let found: Vec<usize> = (0..100)
        .map(|n| said.find(&format!("n-{n}-")).unwrap())
        .collect();
    assert!(found.is_sorted(), "{found:?}");
}

#[tokio::test]
async fn what_unauthenticated_clients_make_up_stays_short_in_the_log() {
    let (_foundation, broker) = Foundation::setup().start_with_broker().await;
    let platform = broker.platform();
    let long = "x".repeat(10_000);
    let identity = "A".repeat(8_000);

    let request = platform
        .anonymous_request(
            Method::PUT,
            &format!("/v2/service_instances/{}", &long[..5_000]),
        )
        .header("X-Correlation-ID", &long)
        .header("X-Broker-API-Request-Identity", &long)
        .header(
            "X-Broker-API-Originating-Identity",
            format!("{long} {identity}"),
        );
    let in_headers = platform.send(request).await;
    let method = Method::from_bytes(&long.as_bytes()[..5_000]).unwrap();
    let in_the_method = platform.anonymous_request(method, "/v2/catalog");
    let in_the_method = platform.send(in_the_method).await;

    for answer in [in_headers, in_the_method] {
        answer.expect_status(401);
        let reported = broker.log_of_request(&answer.request_id());
        assert!(
            reported
                .iter()
                .any(|line| line.mentions("request answered"))
        );
        for line in reported {
            let text = line.text();
            assert!(text.len() < 4_000, "{text}");
        }
    }
}

async fn answer_to(broker: &Broker, head: &str) -> String {
    let mut client: RawClient = broker.raw_client().await;
    let bytes = format!("{head}connection: close\r\n\r\n");
    // It may hang up before it has read all.
    client
        .flood(std::iter::once(bytes.into_bytes()), usize::MAX)
        .await;
    client.last_words().await
}

fn expect_status(said: &str, status: u16, what: &str) {
    let wanted = format!("HTTP/1.1 {status} ");
    assert!(said.starts_with(&wanted), "{what}: {said}");
}

/// In JSON, and with the id that users quote.
fn expect(said: &str, status: u16, what: &str) {
    expect_status(said, status, what);
    let said = said.to_ascii_lowercase();
    assert!(
        said.contains("content-type: application/json"),
        "{what}: {said}"
    );
    assert!(said.contains("x-request-id: "), "{what}: {said}");
}
