//! Resources as the Cloud Controller shows them.

use serde_json::{Value, json};

use super::platform::{Response, Route, job, ok, page};

pub(super) const INSTANCE: (&str, &str) = ("service_instances", "/v3/service_instances/i-1");

pub(super) fn instance(state: &str, description: &str) -> Value {
    json!({
        "guid": "i-1", "name": "cache", "type": "managed", "tags": [],
        "last_operation": {"type": "create", "state": state, "description": description},
        "maintenance_info": {}, "upgrade_available": false, "dashboard_url": null,
        "relationships": {"space": {"data": {"guid": "space-1"}}, "service_plan": {"data": {"guid": "p-1"}}}
    })
}

pub(super) fn plan(guid: &str, name: &str) -> Value {
    json!({
        "guid": guid, "name": name, "description": "A small one", "free": true,
        "maintenance_info": {"version": "1.1.0"},
        "relationships": {"service_offering": {"data": {"guid": "o-1"}}}
    })
}

pub(super) fn included() -> Value {
    json!({
        "service_plans": [plan("p-1", "small")],
        "service_offerings": [{
            "guid": "o-1", "name": "redis", "relationships": {"service_broker": {"data": {"guid": "b-1"}}}
        }],
        "service_brokers": [{"guid": "b-1", "name": "odb"}]
    })
}

pub(super) fn page_with_included(resources: &Value) -> Response {
    ok(json!({"pagination": {"next": null}, "resources": resources, "included": included()}))
}

pub(super) fn creating(state: &str) -> Response {
    job("service_instance.create", state, INSTANCE, &json!([]))
}

/// The lookup of the instance, which has ended well.
pub(super) fn found_instance() -> Route {
    let instances = page(&json!([instance("succeeded", "")]));
    ("GET /v3/service_instances", vec![instances])
}

/// The lookup of the plan.
pub(super) fn found_plan() -> Route {
    let plans = page(&json!([plan("p-1", "small")]));
    ("GET /v3/service_plans", vec![plans])
}
