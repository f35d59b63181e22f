//! A task and its states.

use serde::Serialize;

use crate::director::ids::{ContextId, DeploymentName, TaskId, TeamName};

/// How far a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::director) enum TaskState {
    /// Waits for a worker.
    Queued,
    /// A worker works on it, or waits for its deployment's lock.
    Processing,
    /// Was asked to end and has not ended yet.
    Cancelling,
    /// Ended well.
    Done,
    /// Failed.
    Error,
    /// Ended because it was asked to.
    Cancelled,
}

/// What a task is about. All of these are shown to who asks for the main kinds only (`verbose=1`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::director) enum TaskKind {
    /// Creates or updates a deployment.
    UpdateDeployment,
    /// Deletes a deployment.
    DeleteDeployment,
    /// Runs an errand.
    RunErrand,
}

/// A task, without its outputs.
#[derive(Clone, Debug)]
pub(in crate::director) struct Task {
    pub(in crate::director) id: TaskId,
    pub(in crate::director) kind: TaskKind,
    pub(in crate::director) state: TaskState,
    pub(in crate::director) description: String,
    /// When the state last changed, for the order of lists. Whole seconds, as all times here.
    pub(in crate::director) changed_at: i64,
    /// When it ended or was asked to.
    pub(in crate::director) timestamp: Option<i64>,
    pub(in crate::director) started_at: Option<i64>,
    pub(in crate::director) result: Option<String>,
    pub(in crate::director) user: String,
    pub(in crate::director) deployment: DeploymentName,
    pub(in crate::director) context_id: ContextId,
    /// The teams whose members may see it.
    pub(in crate::director) teams: Vec<TeamName>,
}

/// A task as the API shows it.
#[derive(Serialize)]
pub(in crate::director) struct TaskView<'a> {
    id: TaskId,
    state: &'static str,
    description: &'a str,
    timestamp: Option<i64>,
    started_at: Option<i64>,
    result: Option<&'a str>,
    user: &'a str,
    deployment: &'a DeploymentName,
    context_id: &'a ContextId,
}

impl Task {
    /// The task as the API shows it.
    pub(in crate::director) fn view(&self) -> TaskView<'_> {
        TaskView {
            id: self.id,
            state: self.state.name(),
            description: &self.description,
            timestamp: self.timestamp,
            started_at: self.started_at,
            result: self.result.as_deref(),
            user: &self.user,
            deployment: &self.deployment,
            context_id: &self.context_id,
        }
    }
}

impl TaskState {
    /// The state's name on the wire.
    pub(in crate::director) fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Processing => "processing",
            Self::Cancelling => "cancelling",
            Self::Done => "done",
            Self::Error => "error",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether a task in this state can still be asked to end.
    pub(in crate::director) fn can_be_cancelled(self) -> bool {
        matches!(self, Self::Queued | Self::Processing)
    }

    /// Whether a task in this state has ended.
    pub(in crate::director) fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Error | Self::Cancelled)
    }
}
