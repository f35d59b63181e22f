//! Deployments without a service instance in the platform: they are found, explained and deleted, and no healthy one is
//! reported.
//!
//! | file | contents |
//! | --- | --- |
//! | `management_api` | the management API |
//! | `errand` | an operator with `orphan-deployments` |

mod errand;
mod management_api;

use odb_stories::{Broker, Ended, Foundation, Platform, Response, eventually};
use reqwest::Method;
use serde_json::{Value, json};

use crate::TIMEOUT;

/// Orders an instance at the Cloud Controller and gives its id.
async fn order(foundation: &Foundation, name: &str) -> String {
    let cf = foundation.cf();
    cf.run(&["create-service", "redis", "small", name, "--wait"])
        .await
        .succeeded();
    id_of(foundation, name).await
}

async fn id_of(foundation: &Foundation, name: &str) -> String {
    let path = format!("/v3/service_instances?names={name}");
    let listed = foundation.cf().run(&["curl", &path]).await.succeeded();
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let id = listed["resources"][0]["guid"].as_str();
    id.unwrap_or_else(|| panic!("there is no `{name}`: {listed}"))
        .to_owned()
}

/// Purges an instance at the Cloud Controller without calling the broker.
async fn purge(foundation: &Foundation, name: &str) {
    let purge = ["--as", "admin", "purge-service-instance", name];
    foundation.cf().run(&purge).await.succeeded();
}

fn deployment(instance: &str) -> String {
    format!("service-instance_{instance}")
}

async fn ask(platform: &Platform, path: &str) -> Response {
    platform.send(platform.request(Method::GET, path)).await
}

/// The answer of `GET /mgmt/v1/orphan_deployments`.
async fn orphans(broker: &Broker) -> Vec<Value> {
    let answer = ask(broker.platform(), "/mgmt/v1/orphan_deployments").await;
    let list = answer.expect_status(200).json();
    list.as_array().expect("it is a list").clone()
}

/// `DELETE /mgmt/v1/orphan_deployments/{name}`.
async fn delete(platform: &Platform, instance: &str, query: &str) -> Response {
    let path = format!(
        "/mgmt/v1/orphan_deployments/{}?{query}",
        deployment(instance)
    );
    platform.send(platform.request(Method::DELETE, &path)).await
}

async fn end_of(platform: &Platform, instance: &str, deletion: &Response) -> Ended {
    let token = deletion.operation_data().to_string();
    platform.end_of_operation(instance, &token).await
}

/// A deployment as a Go broker leaves it.
async fn made_without_a_record(foundation: &Foundation, instance: &str) {
    let silent = foundation.broker();
    let silent = silent.with("/broker/disable_bosh_configs", true.into());
    let mut broker = silent.start().await;
    let platform = broker.platform();
    platform.create(instance).await;
    broker.stop().await;
}

async fn hold(foundation: &Foundation, instance: &str, stage: &str) {
    set_task_fault(foundation, instance, stage, &json!({ "kind": "hold" })).await;
}

async fn fail(foundation: &Foundation, instance: &str, stage: &str) {
    let effect = json!({ "kind": "fail", "code": 100, "message": "no such VM" });
    set_task_fault(foundation, instance, stage, &effect).await;
}

async fn set_task_fault(foundation: &Foundation, instance: &str, stage: &str, effect: &Value) {
    let fault = json!({
        "deployment": deployment(instance),
        "at": { "place": "step", "stage": stage },
        "effect": effect,
    });
    foundation.control().set_task_fault(&fault).await;
}

/// Waits until the Director is at its latest task, which does this.
async fn is_at_work(foundation: &Foundation, activity: &str) {
    let director = foundation.director();
    eventually("the Director is at it", TIMEOUT, async || {
        let tasks = director.tasks().await;
        let latest = tasks.last().ok_or_else(|| "there is no task".to_owned())?;
        let text = latest["description"].as_str().unwrap_or_default();
        let is_so = text.starts_with(activity) && latest["state"] == "processing";
        is_so.then_some(()).ok_or_else(|| format!("{latest}"))
    })
    .await;
}
