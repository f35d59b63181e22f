//! An operation that has been handed over, and what is known of how it is doing.

use odb_adapter_sdk::protocol::LifecycleErrand;
use odb_platform::director::{ContextId, DeploymentName, TaskId};

use super::{Marker, OperationKind, Outcome, StoredMarker, deployment};
use crate::ids::{InstanceId, PlanId, RequestId};

/// An operation that has been handed over.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub(super) instance: InstanceId,
    pub(super) deployment: DeploymentName,
    pub(super) kind: OperationKind,
    /// The plan that the instance is on, or is brought to; a token does not tell.
    pub(super) plan: Option<PlanId>,
    /// Joins the tasks. Tokens of a Go broker may lack it; then the first task is the only one.
    pub(super) context: Option<ContextId>,
    pub(super) first_task: Option<TaskId>,
    pub(super) errands: Vec<LifecycleErrand>,
    /// The request that began it.
    pub(super) request: RequestId,
    pub(super) stored: Option<StoredMarker>,
}

impl Operation {
    /// The operation that a marker remembers. `stored` is absent where markers cannot be written.
    pub(super) fn of_marker(
        instance: &InstanceId,
        marker: &Marker,
        stored: Option<StoredMarker>,
        first_task: Option<TaskId>,
    ) -> Self {
        Self {
            instance: instance.clone(),
            deployment: deployment(instance),
            kind: marker.operation,
            plan: Some(marker.plan.clone()),
            context: Some(marker.context.clone()),
            first_task,
            errands: marker.errands.clone(),
            request: marker.request.clone(),
            stored,
        }
    }
}

/// What a poll reads.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    pub(super) kind: OperationKind,
    pub(super) context: Option<ContextId>,
    pub(super) first_task: Option<TaskId>,
    pub(super) state: SnapshotState,
}

/// How far an operation is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SnapshotState {
    InProgress(String),
    Ended(Outcome),
    /// The process that began it ended before anything was handed over.
    NeverSubmitted,
}

impl Snapshot {
    pub(super) fn is_in_progress(&self) -> bool {
        matches!(self.state, SnapshotState::InProgress(_))
    }

    /// The instance takes up a place: it is there, or on its way, or on its way out.
    pub(super) fn leaves_an_instance(&self) -> bool {
        match &self.state {
            SnapshotState::InProgress(_) => true,
            SnapshotState::Ended(Outcome::Succeeded(_)) => !self.kind.deletes(),
            SnapshotState::Ended(Outcome::Failed(_)) => self.kind != OperationKind::Create,
            SnapshotState::NeverSubmitted => false,
        }
    }
}
