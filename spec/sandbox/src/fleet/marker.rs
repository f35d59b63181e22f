//! Markers as an on-demand broker leaves them (`docs/architecture.md`, "Markers and tokens").

use serde_json::{Value, json};

use super::draw::{Condition, Drawn};

/// The type of the config that holds a marker.
pub(super) const CONFIG_TYPE: &str = "odb-operation";

const NAME_PREFIX: &str = "odb-";

/// The name of the config that holds the marker of an instance.
pub(super) fn config_name(drawn: &Drawn) -> String {
    format!("{NAME_PREFIX}{}", drawn.guid)
}

/// The plan and the deployment of which a config is the marker, if it is one.
pub(super) fn read(name: &str, content: &str) -> Option<(String, String)> {
    let instance = name.strip_prefix(NAME_PREFIX)?;
    let marker: Value = serde_json::from_str(content).ok()?;
    let plan = marker["plan"].as_str()?.to_owned();
    Some((plan, format!("service-instance_{instance}")))
}

/// The marker of the last operation on an instance.
pub(super) fn marker(drawn: &Drawn, offering: &str, plan: &str) -> Value {
    let (operation, outcome) = match drawn.condition {
        Condition::Well => ("create", succeeded()),
        Condition::CreateFailed => ("create", failed("Instance provisioning failed")),
        Condition::UpdateFailed => ("update", failed("Instance update failed")),
        Condition::DeleteFailed => ("delete", failed("Instance deletion failed")),
        Condition::Updating => ("update", Value::Null),
    };
    let mut marker = json!({
        "format": 1,
        "offering": offering,
        "plan": plan,
        "operation": operation,
        "context": drawn.context,
        "request": drawn.context,
        // Of no request that will be repeated.
        "digest": {"salt": drawn.guid.simple().to_string(), "hash": drawn.context.simple().to_string()},
    });
    if !outcome.is_null() {
        marker["outcome"] = outcome;
    }
    marker
}

fn succeeded() -> Value {
    json!({"state": "succeeded", "description": "Instance provisioning completed"})
}

fn failed(description: &str) -> Value {
    json!({"state": "failed", "description": description})
}
