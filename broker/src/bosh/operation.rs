//! An operation that has been handed over, and what is known of how it is doing.

use std::sync::Arc;

use jiff::Timestamp;
use odb_adapter_sdk::protocol::LifecycleErrand;
use odb_api_types::{
    ids::{InstanceId, PlanId, RequestId},
    management::StageStatus,
};
use odb_platform::director::{ContextId, DeploymentName, TaskId};
use tokio::time::Instant;

use super::{
    Marker, OperationKind, Outcome, StoredMarker,
    configs::{ObsoleteConfigs, ReplacedConfigs},
    deployment,
    marker::{ClientRole, CutShort},
    secrets::FormerSecret,
};
use crate::instance_clients::InstanceClient;

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
    /// What is to be stopped before anything of this operation begins.
    pub(super) cuts_short: Option<CutShort>,
    /// What its secrets were before.
    pub(super) former_secrets: Vec<FormerSecret>,
    /// The configs that go when it has succeeded.
    pub(super) obsolete_configs: ObsoleteConfigs,
    /// What its own configs have replaced, in case that nothing is handed over.
    pub(super) replaced_configs: ReplacedConfigs,
    /// What it has to do with the instance's UAA client.
    pub(super) client: ClientRole,
    /// What it did to the client, as far as this process knows: undone should nothing have been handed over. A driver has it
    /// without the secret.
    pub(super) client_in_hand: Option<InstanceClient>,
    pub(super) begun: Begun,
    /// When it began, for metrics; without a record of that, when this process first saw it.
    pub(super) began: Timestamp,
    /// The request by which an operator has cancelled it: nothing more of it is begun, and what runs is ended.
    pub(super) cancelled_by: Option<RequestId>,
}

/// Where an operation was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begun {
    /// In this process, which knows what it has sent.
    Here,
    /// In this process, at this time. Its driver was stopped at any moment for another one: what it sent last may not have
    /// arrived yet.
    Redirected(Instant),
    /// By an earlier process, or another broker: what it sent last may not have arrived yet.
    Elsewhere,
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
            cuts_short: marker.cuts_short.clone(),
            former_secrets: marker.former_secrets.clone(),
            obsolete_configs: marker.obsolete_configs.clone(),
            replaced_configs: marker.replaced_configs.clone(),
            client: marker.client,
            client_in_hand: None,
            begun: Begun::Elsewhere,
            began: marker.began.unwrap_or_else(Timestamp::now),
            cancelled_by: marker.cancelled_by.clone(),
        }
    }
}

/// What a poll reads.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    pub(super) kind: OperationKind,
    pub(super) context: Option<ContextId>,
    pub(super) first_task: Option<TaskId>,
    /// When this process began to follow it.
    pub(super) since: Instant,
    /// A server that the operation needs, mostly the Director, has not answered for a while.
    pub(super) is_without_news: bool,
    /// What the Director has answered when it was to cancel a task, if it was and has.
    pub(super) plea: Option<Plea>,
    /// For operators: its stages and how far each is.
    pub(super) stages: Arc<Vec<StageStatus>>,
    pub(super) state: SnapshotState,
}

/// What the Director answers when it is to cancel a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plea {
    /// The task ends at its next checkpoint.
    Granted,
    /// Only an administrator of the Director may cancel tasks: it goes on to its own end.
    Refused,
}

/// How far an operation is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SnapshotState {
    InProgress(String),
    Ended {
        outcome: Outcome,
        /// When; a marker that tells the end tells the same.
        at: Timestamp,
    },
    /// Nothing was ever handed over: its process ended before, or what it sent did not arrive.
    NeverSubmitted,
}

impl Snapshot {
    pub(super) fn is_in_progress(&self) -> bool {
        matches!(self.state, SnapshotState::InProgress(_))
    }
}
