//! Where the Go broker is known to answer otherwise: what `docs/operators/reference/differences.md` promises and no
//! other story shows. The numbers are those of `spec/contracts/broker-behaviour.md` §9.

mod adapters;
mod operations;
mod requests;

use odb_stories::{BrokerConfiguration, Foundation, Order, Platform, Response, new_id};
use reqwest::Method;
use serde_json::Value;

fn exposing(foundation: &Foundation) -> BrokerConfiguration<'_> {
    let configuration = foundation.broker();
    configuration.with("/broker/expose_operational_errors", true.into())
}

fn small() -> Value {
    Order::small().body
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn waiting(instance: &str) -> String {
    format!("/v2/service_instances/{instance}?accepts_incomplete=true")
}

fn binding(instance: &str) -> String {
    format!(
        "/v2/service_instances/{instance}/service_bindings/{}",
        new_id()
    )
}

async fn send(platform: &Platform, method: Method, path: &str, body: &Value) -> Response {
    let request = platform.request(method, path);
    platform.send(request.body(body.to_string())).await
}
