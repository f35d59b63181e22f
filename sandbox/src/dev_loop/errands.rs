//! The configuration of the operator's errands for this broker: an author who has changed the adapter upgrades with it
//! (`spec/contracts/errands.md`).

use serde_json::{Map, Value, json};

/// One file for every errand, out of what the broker reads. The address is the one that others reach the broker at.
pub(super) fn configuration(broker: &Value, name: &str, url: &str) -> Value {
    let credentials = &broker["broker"];
    let (username, password) = (&credentials["username"], &credentials["password"]);
    let offering = &broker["service_catalog"]["id"];
    // Nothing is asked of the Cloud Controller here that would need the other keys.
    let platform: Map<String, Value> = ["url", "root_ca_cert", "uaa"]
        .into_iter()
        .map(|key| (key.to_owned(), broker["cf"][key].clone()))
        .collect();
    json!({
        "broker_api": {
            "url": url,
            "authentication": { "basic": { "username": username, "password": password } },
            "tls": { "ca_cert": broker["cf"]["root_ca_cert"] },
        },
        "cf": platform,
        "broker_name": name,
        "broker_url": url,
        "broker_username": username,
        "broker_password": password,
        "service_offering_id": offering,
        "plans": plans(&broker["service_catalog"]["plans"]),
        "service_catalog": { "id": offering },
        "polling_interval": 1,
        "max_in_flight": 2,
        "attempt_interval": 10,
        "attempt_limit": 5,
        "request_timeout": 60,
        "canaries": 1,
        "maintenance_info_present": false,
    })
}

fn plans(plans: &Value) -> Vec<Value> {
    let each = plans.as_array().into_iter().flatten();
    each.map(|plan| {
        let access = plan["cf_service_access"].as_str().unwrap_or("enable");
        json!({ "name": plan["name"], "cf_service_access": access })
    })
    .collect()
}
