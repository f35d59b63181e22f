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

/// The instance record.
#[derive(Clone, Debug, PartialEq)]
pub struct InstanceRecord {
    /// The owner of its operation record.
    pub owner: Owner,
    /// Whether it is deployed.
    pub deployment: DeploymentPresence,
    /// The plan that it is on; a move counts once it has succeeded.
    pub plan: Option<PlanId>,
    /// Its last operation, ended or in progress.
    pub operation: Option<OperationView>,
    /// The last create, update or upgrade that has succeeded.
    pub deployed: Option<Deployed>,
    /// When the last recreation began that has succeeded.
    pub recreated: Option<Timestamp>,
    /// Where users manage it.
    pub dashboard_url: Option<String>,
    /// The adapter's labels.
    pub labels: Map<String, Value>,
}

/// The state or outcome of an operation. Absent values are unknown.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationView {
    /// The kind of the operation; an engine's tasks do not always show it.
    pub kind: Option<OperationKind>,
    /// How far it is.
    pub state: OperationState,
    /// How far it is, or how it ended, in the platform user's words.
    pub description: Option<String>,
    /// The condition of the instance after a failure.
    pub condition: Option<Condition>,
    /// When it began.
    pub began: Option<Timestamp>,
    /// The request that began it.
    pub request: Option<RequestId>,
    /// An operator has cancelled it.
    pub cancelled: bool,
    /// While it is in progress: the answer to its request.
    pub token: Option<Map<String, Value>>,
    /// Its stages, if they are known without a request.
    pub stages: Arc<Vec<StageStatus>>,
}

/// The condition of an instance after a failed operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// Each VM has its old or its new state.
    Intact,
    /// A change of a VM was started and not finished.
    Damaged,
}

/// The answer to a poll of the last operation.
#[derive(Clone, Debug, PartialEq)]
pub enum LastOperation {
    /// The state, and the time until the next poll.
    Known(OperationView, Duration),
    /// The instance was deleted by a delete operation.
    Gone,
    /// There is no such instance.
    Unknown,
}

/// The owner of an instance, as far as operation records can be read.
#[derive(Clone, Debug)]
pub enum Ownership {
    /// It has an operation record.
    Recorded(Box<InstanceRecord>),
    /// It has none.
    Unrecorded,
    /// Operation records cannot be read.
    Unreadable,
}

/// The records of all instances, at one moment.
#[derive(Debug)]
pub struct InstanceRecords {
    /// The instances that are deployed.
    pub deployed: HashSet<InstanceId>,
    /// The record of each instance.
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

    /// The operation in progress on the instance, if there is one.
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
    /// An operation of which nothing else is known.
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

    /// Whether the operation is in progress.
    pub fn is_in_progress(&self) -> bool {
        self.state == OperationState::InProgress
    }

    /// All is as ordered.
    pub fn is_success(&self) -> bool {
        self.state == OperationState::Succeeded
    }

    /// The instance is going, or was to go.
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

    /// As operators see it.
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
