//! The lists and the metrics of the management API as in the Go broker, `spec/contracts/broker-behaviour.md` §6, from
//! the Cloud Controller in both versions of its API and from a service instances API.
//!
//! | file | contents |
//! | --- | --- |
//! | `instances` | all service instances, or some |
//! | `orphans` | orphan deployments |
//! | `metrics` | the use of the offering |
//! | `fleet` | the same for thousands of instances, with its costs |
//! | `changes` | the list changes, or breaks off |

mod changes;
mod fleet;
mod instances;
mod metrics;
mod orphans;

use odb_stories::{Broker, BrokerCall, Foundation, FoundationSetup, Response};
use serde_json::Value;

const PATHS: [&str; 3] = [
    "/mgmt/service_instances",
    "/mgmt/orphan_deployments",
    "/mgmt/metrics",
];

/// A foundation of today, and one of yesterday.
fn both() -> [FoundationSetup; 2] {
    [
        Foundation::setup(),
        Foundation::setup().with_old_cloud_controller(),
    ]
}

/// A broker that is registered.
async fn registered(foundation: &Foundation) -> Broker {
    let broker = foundation.broker().without_quotas().start().await;
    foundation.cf().register(&broker).await;
    broker
}

/// Orders an instance at the Cloud Controller and gives its id.
async fn order(foundation: &Foundation, plan: &str, name: &str) -> String {
    let cf = foundation.cf();
    let order = ["create-service", "redis", plan, name, "--wait"];
    cf.run(&order).await.succeeded();
    let path = format!("/v3/service_instances?names={name}");
    let listed = cf.run(&["curl", &path]).await.succeeded();
    let listed: Value = serde_json::from_str(&listed).unwrap();
    listed["resources"][0]["guid"].as_str().unwrap().to_owned()
}

/// Fails the test unless an answer has a status and nothing else, and the log the reason under this code.
fn expect_status_alone(broker: &Broker, answer: &Response, status: u16, code: &str) {
    assert_eq!(answer.expect_status(status).text, "");
    let log = broker.log_of_request(&answer.request_id());
    assert!(
        log.iter().any(|line| line.mentions(code)),
        "the log has no `{code}`: {log:#?}"
    );
}

/// The broker's requests to the Cloud Controller after a call.
async fn asked(foundation: &Foundation, after: u64) -> Vec<String> {
    let calls = foundation.control().broker_calls(after).await;
    let asked = calls
        .iter()
        .filter(|call| call.server == "cloud-controller");
    asked
        .map(|call| format!("{} {}?{}", call.method, call.path, call.query))
        .collect()
}

/// The number of the latest call.
async fn latest_call(foundation: &Foundation) -> u64 {
    let calls = foundation.control().broker_calls(0).await;
    calls.last().map_or(0, |call: &BrokerCall| call.number)
}
