//! Jobs: what a 202 points to (`spec/contracts/platform-apis.md`, "Jobs").
//!
//! The last operation of an instance or a binding.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{BindingGuid, BrokerGuid, InstanceGuid, JobGuid, Keyed};
use crate::cloud_controller::rejection::ErrorEntry;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) guid: JobGuid,
    pub(crate) operation: JobOperation,
    pub(crate) state: JobState,
    pub(crate) resource: JobResource,
    pub(crate) errors: Vec<ErrorEntry>,
    pub(crate) warnings: Vec<String>,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum JobState {
    Processing,
    /// The broker works, and is asked how far it is.
    Polling,
    Complete,
    Failed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum JobOperation {
    #[serde(rename = "service_broker.catalog.synchronize")]
    SynchronizeCatalog,
    #[serde(rename = "service_broker.update")]
    UpdateBroker,
    #[serde(rename = "service_broker.delete")]
    DeleteBroker,
    #[serde(rename = "service_instance.create")]
    CreateInstance,
    #[serde(rename = "service_instance.update")]
    UpdateInstance,
    #[serde(rename = "service_instance.delete")]
    DeleteInstance,
    #[serde(rename = "service_bindings.create")]
    CreateBinding,
    #[serde(rename = "service_bindings.delete")]
    DeleteBinding,
    #[serde(rename = "service_keys.create")]
    CreateKey,
    #[serde(rename = "service_keys.delete")]
    DeleteKey,
    #[serde(rename = "service_route_bindings.create")]
    CreateRouteBinding,
    #[serde(rename = "service_route_bindings.delete")]
    DeleteRouteBinding,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum JobResource {
    Broker(BrokerGuid),
    Instance(InstanceGuid),
    Binding(BindingGuid),
    /// Something that no broker knows of, and that is gone when the job is seen.
    Gone,
}

impl Job {
    pub(crate) fn new(operation: JobOperation, resource: JobResource) -> Self {
        let now = Timestamp::now();
        Self {
            guid: JobGuid::random(),
            operation,
            state: JobState::Processing,
            resource,
            errors: Vec::new(),
            warnings: Vec::new(),
            created_at: now,
            updated_at: now,
        }
    }

    pub(crate) fn becomes(&mut self, state: JobState) {
        self.state = state;
        self.updated_at = Timestamp::now();
    }

    pub(crate) fn fails(&mut self, error: ErrorEntry) {
        self.errors = vec![error];
        self.becomes(JobState::Failed);
    }
}

impl Keyed for Job {
    type Key = Timestamp;

    fn keys(&self) -> Vec<Timestamp> {
        vec![self.created_at]
    }
}

/// The last operation on an instance or a binding, and its state.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LastOperation {
    /// Distinguishes this operation from later ones of the same kind: work on an older operation stops when it sees
    /// another id.
    pub(crate) id: u64,
    pub(crate) kind: OperationKind,
    pub(crate) state: OperationState,
    pub(crate) description: Option<String>,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OperationKind {
    Create,
    Update,
    Delete,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum OperationState {
    /// The row exists, and the broker has not answered yet.
    #[serde(rename = "initial")]
    Initial,
    #[serde(rename = "in progress")]
    InProgress,
    #[serde(rename = "succeeded")]
    Succeeded,
    #[serde(rename = "failed")]
    Failed,
}

impl LastOperation {
    pub(crate) fn new(id: u64, kind: OperationKind, state: OperationState) -> Self {
        let now = Timestamp::now();
        Self {
            id,
            kind,
            state,
            description: None,
            created_at: now,
            updated_at: now,
        }
    }

    /// Whether something is being done at the moment.
    pub(crate) fn is_running(&self) -> bool {
        matches!(
            self.state,
            OperationState::Initial | OperationState::InProgress
        )
    }

    /// Whether the resource cannot be deleted now. A create that the broker is at can be given up.
    pub(crate) fn prevents_delete(&self) -> bool {
        self.is_running() && !self.is(OperationKind::Create, OperationState::InProgress)
    }

    /// Whether this kind of operation ended in this state.
    pub(crate) fn is(&self, kind: OperationKind, state: OperationState) -> bool {
        self.kind == kind && self.state == state
    }

    pub(crate) fn becomes(&mut self, state: OperationState, description: Option<String>) {
        self.state = state;
        self.updated_at = Timestamp::now();
        self.description = description;
    }
}
