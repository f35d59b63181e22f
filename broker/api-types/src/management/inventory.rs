//! `GET /mgmt/v1/service_instances` and `GET /mgmt/v1/service_instances/{id}`.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    ids::{InstanceId, PlanId, RequestId},
    kind::OperationKind,
};

/// All service instances of the platform that match the request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inventory {
    /// One entry each, in the order of the platform.
    pub service_instances: Vec<InventoryEntry>,
    /// The last member of the answer: nothing is missing. An answer without it was cut off.
    #[serde(default)]
    pub complete: bool,
}

/// The inventory entry of a service instance. Absent values are unknown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InventoryEntry {
    /// The service instance.
    pub service_instance_id: InstanceId,
    /// The plan that the platform takes it to be on, by its id in the catalog. Of an instance that only the Director
    /// knows it is the operation record's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<PlanId>,
    /// The plan's name, as long as the catalog has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_name: Option<String>,
    /// The space that the instance is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space_guid: Option<String>,
    /// The space's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space_name: Option<String>,
    /// The organization of the space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organization_guid: Option<String>,
    /// The organization's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organization_name: Option<String>,
    /// The platform's last operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform_operation: Option<PlatformOperation>,
    /// Whether the Director has its deployment.
    pub deployment: DeploymentPresence,
    /// The owner of its operation record.
    pub owner: Owner,
    /// The broker's last operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<InventoryOperation>,
    /// The last create, update or upgrade that has succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployed: Option<Deployed>,
    /// When the last recreation that has succeeded began: every VM is younger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recreated: Option<Timestamp>,
    /// Whether the deployment matches the current definition of its plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_to_date: Option<bool>,
}

/// The platform's last operation on an instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlatformOperation {
    /// What.
    pub kind: PlatformOperationKind,
    /// How far it is.
    pub state: PlatformOperationState,
}

/// The kind of a platform's operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlatformOperationKind {
    /// It was ordered.
    Create,
    /// It was changed.
    Update,
    /// It was given up.
    Delete,
    /// Something that this broker does not know.
    #[serde(untagged)]
    Other(String),
}

/// The state of a platform operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlatformOperationState {
    /// The platform has not called the broker yet, or the broker has not answered.
    Initial,
    /// The broker is at it.
    #[serde(rename = "in progress")]
    InProgress,
    /// It ended well.
    Succeeded,
    /// It failed.
    Failed,
    /// Something that this broker does not know.
    #[serde(untagged)]
    Other(String),
}

/// Whether the Director has the deployment of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeploymentPresence {
    /// It has, deployed or not.
    Present,
    /// It has not, or does not show it to us.
    Absent,
}

/// The owner of an instance's operation record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    /// One of this broker's offering.
    ThisBroker,
    /// One of another offering.
    AnotherBroker,
    /// None, or one that cannot be read.
    Unknown,
}

/// A recorded operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InventoryOperation {
    /// The kind.
    pub kind: OperationKind,
    /// How far it is.
    pub state: OperationState,
    /// When it began; unknown in records of older brokers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<Timestamp>,
    /// The request that began it, for the log. Unknown without an operation record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestId>,
    /// How far it is, or how it ended, in the platform user's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// While the operation is in progress: the answer of `PATCH /mgmt/service_instances/{id}`, for polling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<Map<String, Value>>,
}

/// How far an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperationState {
    /// It is in progress.
    #[serde(rename = "in progress")]
    InProgress,
    /// All is as ordered.
    Succeeded,
    /// It is not.
    Failed,
}

/// What was deployed, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deployed {
    /// The plan's target at that time.
    pub target: Target,
    /// When it was done, or last found to be as it should be.
    pub at: Timestamp,
}

/// The target of a plan, or of all plans together: a digest that changes when the plan, releases, stemcells or the
/// adapter change.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Target(String);

impl Target {
    /// The word.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for Target {
    fn from(digest: String) -> Self {
        Self(digest)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_known_is_left_out_and_read_as_unknown() {
        let short = json!({
            "service_instance_id": "i1", "plan_id": "p1", "deployment": "absent", "owner": "unknown"
        });
        let entry: InventoryEntry = serde_json::from_value(short.clone()).unwrap();
        assert_eq!(entry.up_to_date, None);
        assert_eq!(serde_json::to_value(&entry).unwrap(), short);
    }

    #[test]
    fn an_answer_that_was_cut_off_is_not_complete() {
        let cut: Inventory = serde_json::from_value(json!({ "service_instances": [] })).unwrap();
        assert!(!cut.complete);
    }

    #[test]
    fn states_have_the_words_of_the_platform_and_unknown_ones_are_kept() {
        let operation = |kind: &str, state: &str| {
            let reported = json!({ "kind": kind, "state": state });
            let read: PlatformOperation = serde_json::from_value(reported.clone()).unwrap();
            assert_eq!(serde_json::to_value(&read).unwrap(), reported);
            read
        };
        assert_eq!(
            operation("update", "in progress").state,
            PlatformOperationState::InProgress
        );
        assert_eq!(
            operation("share", "waiting").kind,
            PlatformOperationKind::Other("share".to_owned())
        );
    }
}
