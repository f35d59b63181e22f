//! A task and its states.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::director::ids::{ContextId, DeploymentName, TaskId, TeamName};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::director) enum TaskState {
    /// Waits for a worker.
    Queued,
    /// A worker works on it, or waits for its deployment's lock.
    Processing,
    /// Was asked to end and has not ended yet.
    Cancelling,
    Done,
    Error,
    /// Ended because it was asked to.
    Cancelled,
    /// Its worker has been silent for too long. It is not run again.
    Timeout,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::director) enum TaskKind {
    /// Creates or updates a deployment, or changes the state of its instances.
    UpdateDeployment,
    DeleteDeployment,
    RunErrand,
    /// Asks the agents of VMs how they are.
    Vms,
}

/// A task, without its outputs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::director) struct Task {
    pub(in crate::director) id: TaskId,
    pub(in crate::director) kind: TaskKind,
    pub(in crate::director) state: TaskState,
    pub(in crate::director) description: String,
    /// When it was made, then when it was begun, then when it ended. Lists are in this order.
    pub(in crate::director) timestamp: Timestamp,
    pub(in crate::director) started_at: Option<Timestamp>,
    pub(in crate::director) result: Option<String>,
    pub(in crate::director) user: String,
    pub(in crate::director) deployment: DeploymentName,
    pub(in crate::director) context_id: ContextId,
    /// The teams whose members may see it.
    pub(in crate::director) teams: Vec<TeamName>,
}

/// A task as the API shows it. Times are in Unix seconds.
#[derive(Serialize)]
pub(in crate::director) struct TaskView<'a> {
    id: TaskId,
    state: TaskState,
    description: &'a str,
    timestamp: Option<i64>,
    started_at: Option<i64>,
    result: Option<&'a str>,
    user: &'a str,
    deployment: &'a DeploymentName,
    context_id: &'a ContextId,
}

impl Task {
    /// The task as the API shows it. While it waits or is worked on it has no timestamp.
    pub(in crate::director) fn view(&self) -> TaskView<'_> {
        let is_open = matches!(self.state, TaskState::Queued | TaskState::Processing);
        TaskView {
            id: self.id,
            state: self.state,
            description: &self.description,
            timestamp: (!is_open).then(|| self.timestamp.as_second()),
            started_at: self.started_at.map(Timestamp::as_second),
            result: self.result.as_deref(),
            user: &self.user,
            deployment: &self.deployment,
            context_id: &self.context_id,
        }
    }
}

impl TaskState {
    pub(in crate::director) fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Processing => "processing",
            Self::Cancelling => "cancelling",
            Self::Done => "done",
            Self::Error => "error",
            Self::Cancelled => "cancelled",
            Self::Timeout => "timeout",
        }
    }

    pub(in crate::director) fn of_name(name: &str) -> Option<Self> {
        [
            Self::Queued,
            Self::Processing,
            Self::Cancelling,
            Self::Done,
            Self::Error,
            Self::Cancelled,
            Self::Timeout,
        ]
        .into_iter()
        .find(|state| state.name() == name)
    }

    /// Whether a task in this state can still be asked to end.
    pub(in crate::director) fn can_be_cancelled(self) -> bool {
        matches!(self, Self::Queued | Self::Processing)
    }

    /// Whether a task in this state has ended.
    pub(in crate::director) fn is_final(self) -> bool {
        matches!(
            self,
            Self::Done | Self::Error | Self::Cancelled | Self::Timeout
        )
    }
}

impl TaskKind {
    /// The kind's name, by which tasks are cancelled together.
    pub(in crate::director) fn name(self) -> &'static str {
        match self {
            Self::UpdateDeployment => "update_deployment",
            Self::DeleteDeployment => "delete_deployment",
            Self::RunErrand => "run_errand",
            Self::Vms => "vms",
        }
    }

    /// Whether lists show it to who asks for the main kinds only (`verbose=1`).
    pub(in crate::director) fn is_main(self) -> bool {
        match self {
            Self::UpdateDeployment | Self::DeleteDeployment | Self::RunErrand => true,
            Self::Vms => false,
        }
    }
}
