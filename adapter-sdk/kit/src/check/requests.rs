//! Requests as the broker hands them to adapters (`spec/contracts/adapter-protocol.md`, "Request
//! parameters").

use serde_json::{Map, Value, json};

/// The one instance that is ordered, changed and bound.
pub(super) const INSTANCE_ID: &str = "0db0c4ec-0000-4000-8000-000000000001";

/// Id of the offering, which is in the paths of secrets.
pub(super) const OFFERING_ID: &str = "odb-adapter-check-offering";

const ORGANIZATION: &str = "0db0c4ec-0000-4000-8000-00000000000a";
const SPACE: &str = "0db0c4ec-0000-4000-8000-00000000000b";

/// The deployment of the instance.
pub(super) fn deployment_name() -> String {
    format!("service-instance_{INSTANCE_ID}")
}

/// Body of an order.
pub(super) fn order(plan: &str, parameters: &Map<String, Value>) -> Value {
    json!({
        "service_id": OFFERING_ID,
        "plan_id": plan_id(plan),
        "organization_guid": ORGANIZATION,
        "space_guid": SPACE,
        "context": context(),
        "parameters": parameters,
    })
}

/// Body of an update.
pub(super) fn update(plan: &str, previous: &str, parameters: &Map<String, Value>) -> Value {
    json!({
        "service_id": OFFERING_ID,
        "plan_id": plan_id(plan),
        "previous_values": {
            "plan_id": plan_id(previous),
            "service_id": OFFERING_ID,
            "organization_id": ORGANIZATION,
            "space_id": SPACE,
        },
        "context": context(),
        "parameters": parameters,
    })
}

/// The request parameters of an upgrade.
pub(super) fn upgrade() -> Value {
    json!({ "context": context() })
}

/// The request parameters of a check for pending changes.
pub(super) fn pending_changes() -> Value {
    json!({})
}

/// Body of a bind.
pub(super) fn bind(plan: &str, app_guid: &str, parameters: &Map<String, Value>) -> Value {
    let mut request = json!({
        "app_guid": app_guid,
        "service_id": OFFERING_ID,
        "plan_id": plan_id(plan),
        "context": context(),
        "parameters": parameters,
    });
    if !app_guid.is_empty() {
        request["bind_resource"] = json!({ "app_guid": app_guid, "space_guid": SPACE });
    }
    request
}

/// The request parameters of an unbind.
pub(super) fn unbind(plan: &str) -> Value {
    json!({ "plan_id": plan_id(plan), "service_id": OFFERING_ID })
}

/// A UAA client of the instance. Its secret comes only when it is new.
pub(super) fn uaa_client(secret: &str) -> Value {
    json!({
        "client_id": INSTANCE_ID,
        "client_secret": secret,
        "name": "odb-adapter-check",
        "scopes": "openid",
        "resource_ids": "",
        "authorities": "uaa.resource",
        "authorized_grant_types": "client_credentials",
    })
}

fn plan_id(plan: &str) -> String {
    format!("odb-adapter-check-{plan}")
}

fn context() -> Value {
    json!({
        "platform": "cloudfoundry",
        "organization_guid": ORGANIZATION,
        "organization_name": "check",
        "space_guid": SPACE,
        "space_name": "check",
        "instance_name": "checked <&> instance",
    })
}
