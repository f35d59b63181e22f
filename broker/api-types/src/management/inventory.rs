//! Lists: `/mgmt/v1/service_instances` and `/mgmt/v1/orphan_deployments`; `/mgmt/service_instances`,
//! `/mgmt/orphan_deployments` and `/mgmt/metrics` as the Go broker has them (`spec/contracts/broker-behaviour.md` §6).

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    ids::{InstanceId, PlanId, RequestId, Target},
    kind::OperationKind,
};

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
    pub service_instance_id: InstanceId,
    /// The user's name for it; names are unique in a space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The plan that the platform takes it to be on, by its id in the catalog. Of an instance that only the Director
    /// knows it is the operation record's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<PlanId>,
    /// The plan's name, as long as the catalog has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space_guid: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organization_guid: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organization_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform_operation: Option<PlatformOperation>,
    pub deployment: DeploymentPresence,
    pub owner: Owner,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<InventoryOperation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployed: Option<Deployed>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recreated: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_to_date: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlatformOperation {
    pub kind: PlatformOperationKind,
    pub state: PlatformOperationState,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlatformOperationKind {
    Create,
    Update,
    Delete,
    #[serde(untagged)]
    Other(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlatformOperationState {
    /// The platform has not called the broker yet, or the broker has not answered.
    Initial,
    #[serde(rename = "in progress")]
    InProgress,
    Succeeded,
    Failed,
    #[serde(untagged)]
    Other(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeploymentPresence {
    /// It has, deployed or not.
    Present,
    /// It has not, or does not show it to us.
    Absent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    ThisBroker,
    AnotherBroker,
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InventoryOperation {
    pub kind: OperationKind,
    pub state: OperationState,
    /// When it began; unknown in records of older brokers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<Timestamp>,
    /// The request that began it, for the log. Unknown without an operation record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// While the operation is in progress: the answer of `PATCH /mgmt/service_instances/{id}`, for polling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<Map<String, Value>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperationState {
    #[serde(rename = "in progress")]
    InProgress,
    Succeeded,
    Failed,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deployed {
    pub target: Target,
    pub at: Timestamp,
}

/// A deployment without a service instance in the platform. Absent values are unknown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrphanDeployment {
    pub deployment_name: String,
    pub service_instance_id: InstanceId,
    /// Its owner: this broker, or none. Deployments of other brokers are not listed.
    pub owner: Owner,
    pub reason: OrphanReason,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age_seconds: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_operation: Option<OrphanOperation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<PlanId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrphanOperation {
    /// The kind of that operation. Without an operation record it may be unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<OperationKind>,
    pub state: OperationState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrphanReason {
    PurgedInPlatform,
    /// Its creation failed, and the platform does not have it.
    CreateFailed,
    /// Its deletion failed, and the platform does not have it.
    DeleteFailed,
    BeingDeleted,
    /// The platform knows no plan of the offering: perhaps it is no orphan at all.
    OfferingUnknownToPlatform,
    /// There is no record.
    Unknown,
}

/// An entry of the Go broker's list of instances, which is `null` if there is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedInstance {
    pub service_instance_id: InstanceId,
    pub plan_id: PlanId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space_guid: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedOrphan {
    /// The deployment's name, `service-instance_` and the id of the instance that it was.
    pub deployment_name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceMetric {
    /// The name of the metric: `/on-demand-broker/SERVICE/…`.
    pub key: String,
    /// The value. The remaining quota is negative if more is used than allowed.
    pub value: i64,
    pub unit: MetricUnit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricUnit {
    Count,
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
