//! Faults from the view of the servers' clients.

use std::time::{Duration, Instant};

use odb_sandbox::faults::{CertificateFlaw, Effect, Fault, Moment, Requests, ServerName};
use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::{
    client::{Client, chain, send},
    foundation::Sandbox,
};

/// Configs show whether a request has taken effect.
async fn post_config(
    sandbox: &Sandbox,
    client: &Client,
    token: &str,
) -> Result<StatusCode, String> {
    let request = client
        .request(Method::POST, &sandbox.director("/configs"))
        .bearer_auth(token)
        .header("Content-Type", "application/json")
        .body(json!({"type": "cloud", "name": "other", "content": "azs: []"}).to_string());
    send(request)
        .await
        .map(|answer| answer.status)
        .map_err(|error| chain(&error))
}

async fn configs(sandbox: &Sandbox, client: &Client, token: &str) -> usize {
    let request = client
        .request(
            Method::GET,
            &sandbox.director("/configs?name=other&latest=true"),
        )
        .bearer_auth(token);
    let answer = send(request).await.unwrap();
    answer.json().as_array().unwrap().len()
}

fn to_configs(moment: Moment) -> Fault {
    let requests = Requests::to("POST".parse().unwrap(), "/configs".parse().unwrap());
    Fault::new(ServerName::Director, Effect::Drop { moment })
        .on(requests)
        .times(1)
}

#[tokio::test]
async fn a_connection_dropped_before_the_effect_leaves_nothing_done_and_after_it_all() {
    for (moment, done) in [(Moment::Before, 0), (Moment::After, 1)] {
        let sandbox = Sandbox::start().await;
        let client = sandbox.client();
        let token = client.token(&sandbox.description().director).await;
        let set = sandbox.inject(to_configs(moment));

        let lost = post_config(&sandbox, &client, &token).await;

        assert!(lost.is_err(), "{moment:?}: {lost:?}");
        assert_eq!(configs(&sandbox, &client, &token).await, done, "{moment:?}");
        let fault = sandbox.foundation().faults().get(set.id).unwrap();
        assert_eq!((fault.met, fault.struck), (1, 1), "{moment:?}");
        let repeat = post_config(&sandbox, &client, &token).await;
        assert_eq!(repeat, Ok(StatusCode::CREATED), "{moment:?} strikes once");
    }
}

#[tokio::test]
async fn an_answer_in_the_servers_location_has_status_headers_and_body() {
    let sandbox = Sandbox::start().await;
    let client = sandbox.client();
    let fault = json!({
        "server": "cloud-controller",
        "requests": {"method": "GET", "path": "/v3/**"},
        "effect": {
            "kind": "answer",
            "status": 503,
            "headers": {"Retry-After": "7", "Content-Type": "text/plain"},
            "body": "no backend",
        },
    });
    let set = client.post(&sandbox.control("/faults"), &fault).await;
    assert_eq!(set.status, StatusCode::CREATED, "{}", set.body);
    let url = &sandbox.description().cloud_controller.url;

    let answer = client.get(&format!("{url}/v3/info")).await.unwrap();

    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(answer.headers["retry-after"], "7");
    assert_eq!(answer.body, "no backend");
    let root = client.get(&format!("{url}/")).await.unwrap();
    assert_eq!(root.status, StatusCode::OK, "other paths are not struck");
    let cleared = client.delete(&sandbox.control("/faults/1")).await;
    assert_eq!(cleared.json()["struck"], 1);
    let answer = client.get(&format!("{url}/v3/info")).await.unwrap();
    assert_eq!(answer.status, StatusCode::OK);
}

#[tokio::test]
async fn a_truncated_body_begins_as_the_whole_one_and_ends_in_an_error() {
    let sandbox = Sandbox::start().await;
    let client = sandbox.client();
    let whole = client.get(&sandbox.director("/info")).await.unwrap().body;
    sandbox.inject(Fault::new(
        ServerName::Director,
        Effect::Truncate { bytes: 10 },
    ));

    let request = client.request(Method::GET, &sandbox.director("/info"));
    let mut response = request.send().await.unwrap();
    assert_eq!(response.content_length(), Some(whole.len() as u64));
    let mut arrived = Vec::new();
    let end = loop {
        match response.chunk().await {
            Ok(Some(chunk)) => arrived.extend(chunk),
            end => break end,
        }
    };

    assert_eq!(arrived, whole.as_bytes()[..10]);
    assert!(end.is_err(), "{end:?}");
}

#[tokio::test]
async fn a_slow_body_arrives_whole() {
    let sandbox = Sandbox::start().await;
    let client = sandbox.client();
    let whole = client.get(&sandbox.director("/info")).await.unwrap().body;
    let rate = u32::try_from(whole.len() * 5).unwrap().try_into().unwrap();
    sandbox.inject(Fault::new(
        ServerName::Director,
        Effect::Slow {
            bytes_per_second: rate,
        },
    ));

    let request = client.request(Method::GET, &sandbox.director("/info"));
    let mut response = request.send().await.unwrap();
    let mut chunks = Vec::new();
    while let Some(chunk) = response.chunk().await.unwrap() {
        chunks.push(chunk);
    }

    assert_eq!(chunks.concat(), whole.as_bytes());
    assert!(chunks.len() > 1, "it came in pieces");
}

#[tokio::test]
async fn a_delay_lets_the_answer_arrive_later_than_a_hasty_caller_waits() {
    let sandbox = Sandbox::start().await;
    let client = sandbox.client();
    let delay = Fault::new(
        ServerName::BoshUaa,
        Effect::Delay {
            duration: Duration::from_mins(1),
            moment: Moment::Before,
        },
    );
    sandbox.inject(delay);
    let url = format!("{}/info", sandbox.description().director.uaa_url);

    let began = Instant::now();
    let hasty = client
        .request(Method::GET, &url)
        .timeout(Duration::from_millis(100));
    let end = send(hasty).await.err().expect("nothing arrives in time");

    assert!(end.is_timeout(), "{end:?}");
    assert!(began.elapsed() < Duration::from_mins(1));
}

#[tokio::test]
async fn a_wrong_content_type_leaves_the_rest_as_it_is() {
    let sandbox = Sandbox::start().await;
    let client = sandbox.client();
    let whole = client.get(&sandbox.director("/info")).await.unwrap();
    let value = "text/html".parse().unwrap();
    sandbox.inject(Fault::new(
        ServerName::Director,
        Effect::ContentType { value },
    ));

    let answer = client.get(&sandbox.director("/info")).await.unwrap();

    assert_eq!(answer.headers["content-type"], "text/html");
    assert_eq!((answer.status, answer.body), (whole.status, whole.body));
}

#[tokio::test]
async fn flawed_certificates_are_met_by_new_connections_only() {
    let sandbox = Sandbox::start().await;
    let before = sandbox.client();
    let url = sandbox.director("/info");
    before.get(&url).await.unwrap();
    for (flaw, message) in [
        (CertificateFlaw::OtherHost, "NotValidForName"),
        (CertificateFlaw::Expired, "Expired"),
        (CertificateFlaw::UnknownAuthority, "BadSignature"),
    ] {
        let fault = Fault::new(ServerName::Director, Effect::Certificate { flaw });
        let set = sandbox.inject(fault);

        let error = sandbox
            .client()
            .get(&url)
            .await
            .err()
            .expect("it is refused");

        assert!(format!("{error:?}").contains(message), "{error:?}");
        assert!(before.get(&url).await.is_ok(), "its connection stands");
        sandbox.foundation().faults().clear(set.id).unwrap();
        assert!(sandbox.client().get(&url).await.is_ok());
    }
}

#[tokio::test]
async fn faults_are_injected_only_at_the_server_that_they_name() {
    let sandbox = Sandbox::start().await;
    let client = sandbox.client();
    let fault = json!({"server": "bosh-uaa", "effect": {"kind": "drop"}});
    client.post(&sandbox.control("/faults"), &fault).await;
    let description = sandbox.description();

    let struck = client
        .get(&format!("{}/info", description.director.uaa_url))
        .await;
    let spared = client
        .get(&format!("{}/info", description.cloud_controller.uaa_url))
        .await;

    assert!(struck.is_err());
    assert_eq!(spared.unwrap().status, StatusCode::OK);
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_with_the_reason() {
    let sandbox = Sandbox::start().await;
    let client = sandbox.client();
    for (fault, message) in [
        (
            json!({"server": "nats", "effect": {"kind": "drop"}}),
            "unknown variant `nats`",
        ),
        (
            json!({"server": "director", "effect": {"kind": "answer", "status": 99}}),
            "`99` is not a status from 200 to 599",
        ),
        (
            json!({"server": "director", "effect": {"kind": "delay", "duration": "5"}}),
            "not a duration with a unit",
        ),
        (
            json!({"server": "director", "requests": {"path": "info"}, "effect": {"kind": "drop"}}),
            "`info` is not a path that begins with `/`",
        ),
        (
            json!({
                "server": "director",
                "requests": {"path": "/info"},
                "effect": {"kind": "certificate", "flaw": "expired"},
            }),
            "a certificate is chosen before there is a request",
        ),
    ] {
        let refused = client.post(&sandbox.control("/faults"), &fault).await;

        assert_eq!(refused.status, StatusCode::BAD_REQUEST);
        let error = refused.json()["error"].to_string();
        assert!(error.contains(message), "{error}");
    }
    let none = client.get(&sandbox.control("/faults")).await.unwrap();
    assert_eq!(none.json(), json!([]));
    let missing = client.delete(&sandbox.control("/faults/7")).await;
    assert_eq!(missing.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_held_request_continues_when_the_fault_is_cleared() {
    for (moment, meanwhile) in [(Moment::Before, 0), (Moment::After, 1)] {
        let sandbox = Sandbox::start().await;
        let director = &sandbox.description().director;
        let token = sandbox.client().token(director).await;
        let faults = sandbox.foundation().faults();
        let requests = Requests::to("POST".parse().unwrap(), "/configs".parse().unwrap());
        let hold = Fault::new(ServerName::Director, Effect::Hold { moment }).on(requests);
        let set = faults.add(hold).unwrap();
        let client = sandbox.client();

        let posted = post_config(&sandbox, &client, &token);
        let in_between = async {
            while faults.get(set.id).unwrap().holds == 0 {
                tokio::task::yield_now().await;
            }
            let seen = configs(&sandbox, &sandbox.client(), &token).await;
            (seen, faults.clear(set.id).unwrap())
        };
        let (posted, (seen, cleared)) = tokio::join!(posted, in_between);

        assert_eq!(posted, Ok(StatusCode::CREATED));
        assert_eq!((cleared.struck, cleared.holds), (1, 1));
        assert_eq!(seen, meanwhile);
        assert_eq!(configs(&sandbox, &sandbox.client(), &token).await, 1);
    }
}
