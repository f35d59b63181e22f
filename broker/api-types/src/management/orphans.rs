//! `GET` and `DELETE /mgmt/v1/orphan_deployments`.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{OperationState, Owner};
use crate::{
    ids::{InstanceId, PlanId},
    kind::OperationKind,
};

/// A deployment without a service instance in the platform. Absent values are unknown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrphanDeployment {
    /// Its name at the Director.
    pub deployment_name: String,
    /// The service instance that it was.
    pub service_instance_id: InstanceId,
    /// Its owner: this broker, or none. Deployments of other brokers are not listed.
    pub owner: Owner,
    /// How it came about.
    pub reason: OrphanReason,
    /// The start of the last operation on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// How long ago that was, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age_seconds: Option<u64>,
    /// Its last operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_operation: Option<OrphanOperation>,
    /// The plan that it is on, by its operation record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<PlanId>,
}

/// The last operation of an orphan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrphanOperation {
    /// The kind of that operation. Without an operation record it may be unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<OperationKind>,
    /// How far it is.
    pub state: OperationState,
    /// The state or outcome, in the words for platform users or of the Director.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// How an orphan came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrphanReason {
    /// The platform has forgotten an instance that was there.
    PurgedInPlatform,
    /// Its creation failed, and the platform does not have it.
    CreateFailed,
    /// Its deletion failed, and the platform does not have it.
    DeleteFailed,
    /// It is being deleted.
    BeingDeleted,
    /// The platform knows no plan of the offering: perhaps it is no orphan at all.
    OfferingUnknownToPlatform,
    /// There is no record.
    Unknown,
}
