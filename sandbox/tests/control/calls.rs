//! The recorded calls of a foundation.

use std::time::Duration;

use odb_sandbox::{
    calls::{Call, CallNumber, Outcome},
    faults::{Effect, Fault, Moment, Requests, ServerName},
};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    client::{Client, send},
    foundation::Sandbox,
};

#[tokio::test]
async fn a_call_is_reported_with_its_caller_and_its_answer() {
    let sandbox = Sandbox::start().await;
    let client = sandbox.client();
    let token = client.token(&sandbox.description().director).await;
    let request = client
        .request(
            Method::GET,
            &sandbox.director("/tasks?state=queued&verbose=2"),
        )
        .bearer_auth(token)
        .header("User-Agent", "a-client/1")
        .header("X-Bosh-Context-Id", "c6ef2af7-3f3c-4d2e-9d5e-0d4b7a9d6a51");
    send(request).await.unwrap();
    client.get(&sandbox.director("/nothing")).await.unwrap();

    let mut reported = list(&sandbox, &client, "?server=director").await;
    for call in &mut reported {
        assert!(call["at"].as_str().is_some_and(|at| at.ends_with('Z')));
        call.as_object_mut().unwrap().remove("at");
    }
    assert_eq!(
        reported,
        [
            json!({
                "number": 2, "server": "director",
                "method": "GET", "path": "/tasks", "query": "state=queued&verbose=2",
                "client": "director-admin", "user_agent": "a-client/1",
                "context_id": "c6ef2af7-3f3c-4d2e-9d5e-0d4b7a9d6a51",
                "outcome": "answered", "status": 200,
            }),
            json!({
                "number": 3, "server": "director",
                "method": "GET", "path": "/nothing", "query": "",
                "outcome": "answered", "status": 404,
            }),
        ]
    );
    let all = list(&sandbox, &client, "").await;
    assert_eq!(all[0]["server"], "bosh-uaa");
    assert_eq!(all[0]["path"], "/oauth/token");
    assert_eq!(all[0]["client"], "director-admin");
    assert_eq!(list(&sandbox, &client, "?after=2").await, [all[2].clone()]);
}

#[tokio::test]
async fn the_user_of_a_call_is_reported() {
    let sandbox = Sandbox::start().await;
    let client = sandbox.client();
    let cloud_controller = &sandbox.description().cloud_controller;
    let token = client.admin_token(cloud_controller).await;
    sandbox
        .get(&sandbox.cloud_controller("/v3/service_instances"), &token)
        .await;

    let reported = list(&sandbox, &client, "?server=cloud-controller").await;

    assert_eq!(
        (&reported[0]["client"], &reported[0]["user"]),
        (&json!("cf"), &json!("admin"))
    );
}

#[tokio::test]
async fn no_secret_of_a_query_is_reported() {
    let sandbox = Sandbox::start().await;
    let client = sandbox.client();
    let uaa = &sandbox.description().director.uaa_url;
    let url = format!("{uaa}/oauth/token?grant_type=password&password=hush&token");
    client.get(&url).await.unwrap();

    let reported = list(&sandbox, &client, "").await;

    assert_eq!(
        reported[0]["query"],
        "grant_type=password&password=REDACTED&token=REDACTED"
    );
}

#[tokio::test]
async fn a_call_shows_that_a_fault_cut_it_off() {
    let sandbox = Sandbox::start().await;
    let client = sandbox.client();
    for moment in [Moment::Before, Moment::After] {
        let drop = Fault::new(ServerName::Director, Effect::Drop { moment }).times(1);
        sandbox.inject(drop);
        assert!(client.get(&sandbox.director("/info")).await.is_err());
    }
    client.get(&sandbox.director("/info")).await.unwrap();

    // A client may notice the lost connection before the call is recorded.
    while outcomes(&sandbox).contains(&Outcome::Pending) {
        tokio::task::yield_now().await;
    }
    let fine = Outcome::Answered { status: 200 };
    assert_eq!(
        outcomes(&sandbox),
        [Outcome::Dropped, Outcome::Dropped, fine]
    );
}

#[tokio::test]
async fn a_call_that_is_being_worked_on_is_reported_without_an_answer() {
    let sandbox = Sandbox::start().await;
    let client = sandbox.client();
    let requests = Requests::to("GET".parse().unwrap(), "/info".parse().unwrap());
    let delay = Effect::Delay {
        duration: Duration::from_mins(10),
        moment: Moment::Before,
    };
    let fault = Fault::new(ServerName::Director, delay).on(requests);
    sandbox.inject(fault);
    let url = sandbox.director("/info");

    let waiting = tokio::spawn(async move { client.get(&url).await.map(|answer| answer.status) });
    while outcomes(&sandbox).is_empty() {
        tokio::task::yield_now().await;
    }

    assert_eq!(outcomes(&sandbox), [Outcome::Pending]);
    waiting.abort();
}

fn outcomes(sandbox: &Sandbox) -> Vec<Outcome> {
    let calls = sandbox.foundation().calls();
    let calls: Vec<Call> = calls.list(CallNumber::default(), None);
    calls.into_iter().map(|call| call.outcome).collect()
}

async fn list(sandbox: &Sandbox, client: &Client, query: &str) -> Vec<Value> {
    let url = sandbox.control(&format!("/calls{query}"));
    let reported = client.get(&url).await.unwrap().json();
    reported.as_array().unwrap().clone()
}
