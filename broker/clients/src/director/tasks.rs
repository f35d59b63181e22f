//! Tasks: one, many, cancel, result.

use std::{
    fmt,
    time::{Duration, SystemTime},
};

use reqwest::header::RANGE;
use serde::{Deserialize, de::DeserializeOwned};

use super::{
    ContextId, DeploymentName, Director, TaskId,
    error::{code, is_missing},
};
use crate::{
    connection::Answered,
    http::{Call, Method, Repeat, Request, StatusCode, UnreadableAnswer},
    service_error::ServiceError,
};

/// A piece of work of the Director (`spec/contracts/director-api.md`, "Tasks").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The task.
    pub id: TaskId,
    /// How far it is.
    pub state: TaskState,
    /// Fixed text of the Director. It does not distinguish a create from an update.
    pub description: String,
    /// When a worker began with it, to the second.
    pub started_at: Option<SystemTime>,
    /// A short summary once it is finished, cut by the Director at about 128 characters. The [events](Director::events)
    /// have the full text of an error.
    pub result: Option<String>,
    /// The user who started it.
    pub user: Option<String>,
    /// The deployment that it is about, if it is about one.
    pub deployment: Option<DeploymentName>,
    /// Its context id, if it has the form of the broker's.
    pub context: Option<ContextId>,
}

/// How far a task is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TaskState {
    /// It waits for a free worker.
    Queued,
    /// A worker has it, though it may wait for the deployment's lock.
    Processing,
    /// It ends at its next checkpoint.
    Cancelling,
    /// It ended. An errand may have failed nevertheless.
    Done,
    /// It failed.
    Error,
    /// It was cancelled.
    Cancelled,
    /// Its worker died.
    Timeout,
    /// A state that this client does not know. Treated as unfinished.
    Unknown(String),
}

/// A filter of tasks; all of them by default.
#[derive(Clone, Debug, Default)]
pub struct TaskFilter {
    /// Those that were started for this deployment's name.
    pub deployment: Option<DeploymentName>,
    /// Those in one of these states; in any, if it is empty.
    pub states: Vec<TaskState>,
    /// Those of this context id.
    pub context: Option<ContextId>,
    /// At most this many, the latest to change their state.
    pub limit: Option<u32>,
}

/// The result of a cancellation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancellation {
    /// It ends at its next checkpoint.
    Requested,
    /// It had ended already.
    TooLate,
}

impl Director {
    /// One task; `None` if there is none, or if it is so old that the Director has dropped it.
    /// Safe to repeat.
    #[tracing::instrument(name = "director.task", skip_all, fields(bosh.task.id = %id))]
    pub async fn task(&self, call: &Call, id: TaskId) -> Result<Option<Task>, ServiceError> {
        match self
            .read::<WireTask>(call, &["tasks", &id.to_string()], &[])
            .await
        {
            Ok(wire) => Ok(Some(wire.into())),
            Err(error) if is_missing(&error, code::NO_SUCH_TASK) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The tasks that a filter lets through, of every kind, by rising id. Safe to repeat.
    #[tracing::instrument(name = "director.tasks", skip_all)]
    pub async fn tasks(&self, call: &Call, filter: &TaskFilter) -> Result<Vec<Task>, ServiceError> {
        let states: Vec<_> = filter.states.iter().map(TaskState::as_str).collect();
        let states = states.join(",");
        let limit = filter.limit.map(|limit| limit.to_string());
        // Without it retrieving VMs and the like are left out.
        let mut query = vec![("verbose", "2")];
        if let Some(deployment) = &filter.deployment {
            query.push(("deployment", deployment.as_str()));
        }
        if !states.is_empty() {
            query.push(("state", &states));
        }
        if let Some(context) = &filter.context {
            query.push(("context_id", context.as_str()));
        }
        if let Some(limit) = &limit {
            query.push(("limit", limit));
        }
        let wire: Vec<WireTask> = self.read(call, &["tasks"], &query).await?;
        let mut tasks: Vec<Task> = wire.into_iter().map(Task::from).collect();
        // The Director sorts by the last change of state, which says nothing of the order of starts.
        tasks.sort_by_key(|task| task.id);
        Ok(tasks)
    }

    /// Cancels a task. Safe to repeat.
    #[tracing::instrument(name = "director.cancel", skip_all, fields(bosh.task.id = %id))]
    pub async fn cancel(&self, call: &Call, id: TaskId) -> Result<Cancellation, ServiceError> {
        // The plural path does not know DELETE.
        let url = self.address(&["task", &id.to_string()], &[]);
        let request = Request::new(Method::DELETE, url, Repeat::WhenTransient);
        match self.send(call, request).await {
            Ok(_) => Ok(Cancellation::Requested),
            Err(error)
                if error.status() == Some(StatusCode::BAD_REQUEST) && error.code().is_none() =>
            {
                Ok(Cancellation::TooLate)
            }
            Err(error) => Err(error),
        }
    }

    /// The result output of a task: lines of errand results, empty for deploys and deletes. Safe to repeat.
    #[tracing::instrument(name = "director.result_output", skip_all, fields(bosh.task.id = %task))]
    pub async fn result_output(&self, call: &Call, task: TaskId) -> Result<String, ServiceError> {
        Ok(self.result(call, task).await?.text())
    }

    pub(super) async fn result(&self, call: &Call, task: TaskId) -> Result<Answered, ServiceError> {
        self.send(call, self.output(task, "result")).await
    }

    /// The result of a task that has a JSON text in each of its lines.
    pub(super) async fn result_lines<T: DeserializeOwned>(
        &self,
        call: &Call,
        task: TaskId,
    ) -> Result<Vec<T>, ServiceError> {
        let answer = self.result(call, task).await?;
        let text = answer.text();
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let read: Result<_, serde_json::Error> = lines.map(serde_json::from_str).collect();
        answer.understood(read.map_err(UnreadableAnswer::from))
    }

    /// A part of the event output; `None` if there is nothing from that byte on.
    pub(super) async fn event_output(
        &self,
        call: &Call,
        task: TaskId,
        from_byte: u64,
    ) -> Result<Option<Answered>, ServiceError> {
        let range = format!("bytes={from_byte}-")
            .try_into()
            .expect("digits are fit for a header");
        let request = self.output(task, "event").header(RANGE, range);
        match self.send(call, request).await {
            Err(error) if error.status() == Some(StatusCode::RANGE_NOT_SATISFIABLE) => Ok(None),
            answer => answer.map(Some),
        }
    }

    fn output(&self, task: TaskId, kind: &str) -> Request {
        Request::get(self.address(&["tasks", &task.to_string(), "output"], &[("type", kind)]))
    }
}

impl TaskState {
    /// Whether the state is one that a task does not leave.
    pub fn is_finished(&self) -> bool {
        match self {
            Self::Done | Self::Error | Self::Cancelled | Self::Timeout => true,
            Self::Queued | Self::Processing | Self::Cancelling | Self::Unknown(_) => false,
        }
    }

    /// The states of a task that still holds its deployment, or will.
    pub fn unfinished() -> Vec<Self> {
        vec![Self::Queued, Self::Processing, Self::Cancelling]
    }

    /// The state as sent.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Queued => "queued",
            Self::Processing => "processing",
            Self::Cancelling => "cancelling",
            Self::Done => "done",
            Self::Error => "error",
            Self::Cancelled => "cancelled",
            Self::Timeout => "timeout",
            Self::Unknown(state) => state,
        }
    }
}

impl From<String> for TaskState {
    fn from(state: String) -> Self {
        match state.as_str() {
            "queued" => Self::Queued,
            "processing" => Self::Processing,
            "cancelling" => Self::Cancelling,
            "done" => Self::Done,
            "error" => Self::Error,
            "cancelled" => Self::Cancelled,
            "timeout" => Self::Timeout,
            _ => Self::Unknown(state),
        }
    }
}

impl fmt::Display for TaskState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[derive(Deserialize)]
struct WireTask {
    id: TaskId,
    state: String,
    #[serde(default)]
    description: Option<String>,
    started_at: Option<u64>,
    result: Option<String>,
    user: Option<String>,
    deployment: Option<String>,
    /// Empty if there is none.
    #[serde(default)]
    context_id: Option<String>,
}

impl From<WireTask> for Task {
    fn from(wire: WireTask) -> Self {
        let at = |seconds| SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
        Self {
            id: wire.id,
            state: wire.state.into(),
            description: wire.description.unwrap_or_default(),
            started_at: wire.started_at.and_then(at),
            result: wire.result,
            user: wire.user,
            deployment: wire.deployment.and_then(|name| name.try_into().ok()),
            context: wire.context_id.and_then(|context| context.try_into().ok()),
        }
    }
}
