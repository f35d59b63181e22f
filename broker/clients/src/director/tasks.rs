//! Tasks: one, many, cancel, result.

use std::{
    fmt,
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Deserializer, de::DeserializeOwned};

use super::{
    ContextId, DeploymentName, Director, TaskId,
    connection::{code, unless_missing},
};
use crate::{
    connection::Answered,
    http::{Call, Method, Repeat, Request, StatusCode, UnreadableResponse},
    service_error::Result,
};

/// A piece of work of the Director (`spec/contracts/director-api.md`, "Tasks").
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Task {
    pub id: TaskId,
    pub state: TaskState,
    /// Fixed text of the Director. It does not distinguish a create from an update.
    #[serde(default, deserialize_with = "text_or_nothing")]
    pub description: String,
    /// When a worker began with it, to the second.
    #[serde(default, deserialize_with = "moment")]
    pub started_at: Option<SystemTime>,
    /// A short summary once it is finished, cut by the Director at about 128 characters. The [events](Director::events)
    /// have the full text of an error.
    pub result: Option<String>,
    /// Who started it.
    pub user: Option<String>,
    /// The deployment that it is about, if it is about one.
    #[serde(default, deserialize_with = "valid")]
    pub deployment: Option<DeploymentName>,
    /// Its context id, if it has the form of the broker's.
    #[serde(default, rename = "context_id", deserialize_with = "valid")]
    pub context: Option<ContextId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskState {
    /// It waits for a free worker.
    Queued,
    /// A worker has it, though it may wait for the deployment's lock.
    Processing,
    /// It ends at its next checkpoint.
    Cancelling,
    /// It ended. An errand may have failed nevertheless.
    Done,
    Error,
    Cancelled,
    /// Its worker died.
    Timeout,
    /// A state that this client does not know. Treated as unfinished.
    #[serde(untagged)]
    Unknown(String),
}

/// A filter of tasks; all of them by default.
#[derive(Clone, Debug, Default)]
pub struct TaskFilter {
    pub deployment: Option<DeploymentName>,
    /// In any, if it is empty.
    pub states: Vec<TaskState>,
    pub context: Option<ContextId>,
    /// At most this many, the latest to change their state.
    pub limit: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancellation {
    /// It ends at its next checkpoint.
    Requested,
    TooLate,
}

impl Director {
    /// One task; `None` if there is none, or if it is so old that the Director has dropped it.
    #[tracing::instrument(name = "director.task", skip_all, fields(bosh.task.id = id.number()))]
    pub async fn task(&self, call: &Call, id: TaskId) -> Result<Option<Task>> {
        let found = self.0.read(call, &["tasks", &id.to_string()], &[]).await;
        unless_missing(found, code::NO_SUCH_TASK)
    }

    /// The tasks that a filter lets through, of every kind, by rising id.
    #[tracing::instrument(name = "director.tasks", skip_all)]
    pub async fn tasks(&self, call: &Call, filter: &TaskFilter) -> Result<Vec<Task>> {
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
        let mut tasks: Vec<Task> = self.0.read(call, &["tasks"], &query).await?;
        // The Director sorts by the last change of state, which says nothing of the order of starts.
        tasks.sort_by_key(|task| task.id);
        Ok(tasks)
    }

    #[tracing::instrument(name = "director.cancel", skip_all, fields(bosh.task.id = id.number()))]
    pub async fn cancel(&self, call: &Call, id: TaskId) -> Result<Cancellation> {
        // The plural path does not know DELETE.
        let url = self.0.address(&["task", &id.to_string()], &[]);
        let request = Request::new(Method::DELETE, url, Repeat::WhenTransient);
        match self.0.send(call, request).await {
            Ok(_) => Ok(Cancellation::Requested),
            Err(error)
                if error.status() == Some(StatusCode::BAD_REQUEST) && error.code().is_none() =>
            {
                Ok(Cancellation::TooLate)
            }
            Err(error) => Err(error),
        }
    }

    pub(super) async fn result(&self, call: &Call, task: TaskId) -> Result<Answered> {
        self.0.send(call, self.output(task, "result")).await
    }

    /// The result of a task that has a JSON text in each of its lines.
    pub(super) async fn result_lines<T: DeserializeOwned>(
        &self,
        call: &Call,
        task: TaskId,
    ) -> Result<Vec<T>> {
        let answer = self.result(call, task).await?;
        let text = answer.text();
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let read: Result<_, serde_json::Error> = lines.map(serde_json::from_str).collect();
        answer.understood(read.map_err(UnreadableResponse::from))
    }

    pub(super) fn output(&self, task: TaskId, kind: &str) -> Request {
        Request::get(
            self.0
                .address(&["tasks", &task.to_string(), "output"], &[("type", kind)]),
        )
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

impl fmt::Display for TaskState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

fn text_or_nothing<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

fn moment<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SystemTime>, D::Error> {
    let seconds = Option::deserialize(deserializer)?.map(Duration::from_secs);
    Ok(seconds.and_then(|seconds| SystemTime::UNIX_EPOCH.checked_add(seconds)))
}

/// Nothing for a text that is empty or of another form.
fn valid<'de, D: Deserializer<'de>, T: TryFrom<String>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.and_then(|text| text.try_into().ok()))
}
