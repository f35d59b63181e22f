//! Operation records as an on-demand broker leaves them (`docs/contributing/architecture.md`, "Operation records and
//! tokens").

use jiff::Timestamp;
use serde_json::{Value, json};

use super::generate::{Condition, Generated};

pub(super) const CONFIG_TYPE: &str = "odb-operation";

const NAME_PREFIX: &str = "odb-";

/// The name of the config that holds the operation record of an instance.
pub(super) fn config_name(generated: &Generated) -> String {
    format!("{NAME_PREFIX}{}", generated.guid)
}

/// The parts of a deployed instance's operation record that others of its plan share.
pub(super) struct Example {
    pub(super) plan: String,
    pub(super) deployment: String,
    pub(super) target: Option<String>,
}

/// When an instance was ordered, and when its last operation began.
#[derive(Clone, Copy)]
pub(super) struct Moments {
    pub(super) ordered: Timestamp,
    pub(super) began: Timestamp,
}

/// Parses a config as an operation record, if it is one.
pub(super) fn read(name: &str, content: &str) -> Option<Example> {
    let instance = name.strip_prefix(NAME_PREFIX)?;
    let record: Value = serde_json::from_str(content).ok()?;
    Some(Example {
        plan: record["plan"].as_str()?.to_owned(),
        deployment: format!("service-instance_{instance}"),
        target: record["deployed"]["target"].as_str().map(str::to_owned),
    })
}

/// The record of an instance's last operation. One in progress follows the record of the creation.
pub(super) fn records(
    generated: &Generated,
    offering: &str,
    plan: &str,
    target: Option<&str>,
    moments: Moments,
) -> Vec<Value> {
    let (operation, outcome) = match generated.condition {
        Condition::Well => ("create", succeeded()),
        Condition::CreateFailed => ("create", failed("Instance provisioning failed")),
        Condition::UpdateFailed => ("update", failed("Instance update failed")),
        Condition::DeleteFailed => ("delete", failed("Instance deletion failed")),
        Condition::Updating => ("update", Value::Null),
    };
    let mut record = json!({
        "format": 1,
        "offering": offering,
        "plan": plan,
        "operation": operation,
        "context": generated.context,
        "request": generated.context,
        "began": moments.began,
        // Of no request that will be repeated.
        "digest": {"salt": generated.guid.simple().to_string(), "hash": generated.context.simple().to_string()},
    });
    if operation != "delete"
        && let Some(target) = target
    {
        record["target"] = target.into();
    }
    if generated.condition != Condition::CreateFailed
        && let Some(target) = target
    {
        record["deployed"] = json!({"target": target, "at": moments.ordered});
    }
    if !outcome.is_null() {
        record["outcome"] = outcome;
        return vec![record];
    }
    let mut creation = record.clone();
    creation["operation"] = "create".into();
    creation["context"] = generated.guid.to_string().into();
    creation["began"] = json!(moments.ordered);
    creation["outcome"] = succeeded();
    vec![creation, record]
}

fn succeeded() -> Value {
    json!({"state": "succeeded", "description": "Instance provisioning completed"})
}

fn failed(description: &str) -> Value {
    json!({"state": "failed", "description": description})
}
