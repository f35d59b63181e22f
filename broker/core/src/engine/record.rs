//! The instance record: the one read model of a service instance. Polls, inventory, orphans, operation details, fetches
//! and quotas read its fields.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use jiff::Timestamp;
use odb_api_types::{
    ids::{InstanceId, PlanId, RequestId},
    kind::OperationKind,
    management::{
        Deployed, DeploymentPresence, InventoryOperation, OperationState, OperationStatus, Owner,
        StageStatus,
    },
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::time::Instant;

#[derive(Clone, Debug, PartialEq)]
pub struct InstanceRecord {
    pub owner: Owner,
    pub deployment: DeploymentPresence,
    /// The plan that it is on; a move counts once it has succeeded.
    pub plan: Option<PlanId>,
    pub operation: Option<OperationView>,
    pub deployed: Option<Deployed>,
    pub recreated: Option<Timestamp>,
    pub dashboard_url: Option<String>,
    pub labels: Map<String, Value>,
}

/// The state or outcome of an operation. Absent values are unknown.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationView {
    /// The kind of the operation; an engine's tasks do not always show it.
    pub kind: Option<OperationKind>,
    pub state: OperationState,
    pub description: Option<String>,
    /// The condition of the instance after a failure.
    pub condition: Option<Condition>,
    pub began: Option<Timestamp>,
    pub request: Option<RequestId>,
    pub cancelled: bool,
    pub token: Option<Map<String, Value>>,
    /// Its stages, if they are known without a request.
    pub stages: Arc<Vec<StageStatus>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    Intact,
    /// A change of a VM was started and not finished.
    Damaged,
}

#[derive(Clone, Debug, PartialEq)]
pub enum LastOperation {
    /// The state, and the time until the next poll.
    Known(OperationView, Duration),
    Gone,
    Unknown,
}

#[derive(Clone, Debug)]
pub enum Ownership {
    Recorded(Box<InstanceRecord>),
    Unrecorded,
    Unreadable,
}

#[derive(Debug)]
pub struct InstanceRecords {
    pub deployed: HashSet<InstanceId>,
    pub records: HashMap<InstanceId, InstanceRecord>,
}

impl InstanceRecord {
    /// The record of an instance of which only the owner is known.
    pub fn of(owner: Owner) -> Self {
        Self {
            owner,
            deployment: DeploymentPresence::Absent,
            plan: None,
            operation: None,
            deployed: None,
            recreated: None,
            dashboard_url: None,
            labels: Map::new(),
        }
    }

    pub fn in_progress(&self) -> Option<&OperationView> {
        let operation = self.operation.as_ref();
        operation.filter(|operation| operation.is_in_progress())
    }
}

impl InstanceRecords {
    /// Takes out the record of an instance: a list may be long, and each is read once.
    pub fn take(&mut self, instance: &InstanceId) -> InstanceRecord {
        let record = self.records.remove(instance);
        InstanceRecord {
            deployment: if self.deployed.remove(instance) {
                DeploymentPresence::Present
            } else {
                DeploymentPresence::Absent
            },
            ..record.unwrap_or_else(|| InstanceRecord::of(Owner::Unknown))
        }
    }
}

impl OperationView {
    pub fn new(kind: Option<OperationKind>, state: OperationState, description: String) -> Self {
        Self {
            kind,
            state,
            description: Some(description),
            condition: None,
            began: None,
            request: None,
            cancelled: false,
            token: None,
            stages: Arc::default(),
        }
    }

    pub fn is_in_progress(&self) -> bool {
        self.state == OperationState::InProgress
    }

    pub fn is_success(&self) -> bool {
        self.state == OperationState::Succeeded
    }

    pub fn deletes(&self) -> bool {
        self.kind.is_some_and(OperationKind::deletes)
    }

    /// As the inventory has it. One of an unknown kind is not listed.
    pub fn listed(self) -> Option<InventoryOperation> {
        Some(InventoryOperation {
            kind: self.kind?,
            state: self.state,
            began: self.began,
            request: self.request,
            description: self.description,
            token: self.token,
        })
    }

    pub fn status(self, instance: InstanceId) -> OperationStatus {
        OperationStatus {
            service_instance_id: instance,
            kind: self.kind,
            state: self.state,
            cancelled: self.cancelled,
            began: self.began,
            request: self.request,
            description: self.description.unwrap_or_default(),
            token: self.token,
            stages: Arc::unwrap_or_clone(self.stages),
        }
    }
}

/// The occupancy of an instance: what its latest operation means for its quota slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// The plan that the latest operation is about; a token of a Go broker does not name it.
    pub plan: Option<PlanId>,
    pub kind: OccupancyKind,
    /// When this process started the operation; absent for operations of an operation record.
    pub since: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OccupancyKind {
    Changing,
    Settled,
    /// An update or delete has failed: the instance exists, and the platform has its previous plan.
    Unchanged,
    Deleting,
    /// It has been deleted, or never came about.
    Absent,
}

impl OccupancyKind {
    pub fn of(operation: OperationKind, state: OperationState) -> Self {
        match state {
            OperationState::InProgress if operation.deletes() => Self::Deleting,
            OperationState::InProgress => Self::Changing,
            OperationState::Succeeded if operation.deletes() => Self::Absent,
            OperationState::Succeeded => Self::Settled,
            OperationState::Failed if operation == OperationKind::Create => Self::Absent,
            OperationState::Failed => Self::Unchanged,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_order_takes_no_slot_and_a_failed_move_leaves_the_instance_where_it_was() {
        for (operation, kind) in [
            (OperationKind::Create, OccupancyKind::Absent),
            (OperationKind::Update, OccupancyKind::Unchanged),
            (OperationKind::Delete, OccupancyKind::Unchanged),
        ] {
            assert_eq!(OccupancyKind::of(operation, OperationState::Failed), kind);
        }
    }
}
