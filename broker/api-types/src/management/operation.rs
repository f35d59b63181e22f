//! `GET /mgmt/v1/service_instances/{id}/operation`: the latest operation on a service instance, with its stages.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::OperationState;
use crate::{
    ids::{InstanceId, RequestId},
    kind::OperationKind,
};

/// The latest operation on a service instance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperationStatus {
    /// The service instance.
    pub service_instance_id: InstanceId,
    /// The kind of the operation; absent without a record, when the Director's tasks decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<OperationKind>,
    /// The state.
    pub state: OperationState,
    /// An operator has cancelled it: the broker starts no further steps.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cancelled: bool,
    /// When it began; unknown in records of older brokers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<Timestamp>,
    /// The request that began it, for the log; absent without a record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestId>,
    /// How far it is, or how it ended, in the platform user's words.
    pub description: String,
    /// While the operation is in progress: the answer to its request, for polling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<Map<String, Value>>,
    /// Its stages, in order.
    pub stages: Vec<StageStatus>,
}

/// A stage of an operation, and how far it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageStatus {
    /// The name.
    pub name: StageName,
    /// How far it is.
    pub state: StageState,
    /// The Director's task that does it, or did; the latest, where it took several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<u64>,
    /// The steps of the task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepStatus>,
    /// Why it failed, in the Director's words, with likely secrets masked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The name of a stage. In JSON one word, for an errand `errand NAME`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum StageName {
    /// Stops everything that an interrupted operation has started.
    Stop,
    /// It deploys.
    Deploy,
    /// It makes new VMs.
    Recreate,
    /// It runs a lifecycle errand.
    Errand(String),
    /// It deletes the deployment.
    Delete,
    /// Removes the residual resources of the deployment.
    CleanUp,
    /// Something that this version does not know.
    Other(String),
}

/// How far a stage is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StageState {
    /// Its turn has not come.
    Waiting,
    /// It is at work.
    Running,
    /// It has ended well.
    Done,
    /// It has ended badly.
    Failed,
}

/// The steps of a task under one heading of the Director, such as `Updating instance redis-server`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepStatus {
    /// The heading.
    pub stage: String,
    /// How many steps have ended well.
    pub done: u64,
    /// The number of steps, as far as the Director has reported it.
    pub total: u64,
    /// The latest of the steps in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<String>,
}

const ERRAND: &str = "errand ";

impl fmt::Display for StageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stop => f.write_str("stop"),
            Self::Deploy => f.write_str("deploy"),
            Self::Recreate => f.write_str("recreate"),
            Self::Errand(name) => write!(f, "{ERRAND}{name}"),
            Self::Delete => f.write_str("delete"),
            Self::CleanUp => f.write_str("clean-up"),
            Self::Other(name) => f.write_str(name),
        }
    }
}

impl From<StageName> for String {
    fn from(name: StageName) -> Self {
        name.to_string()
    }
}

impl From<String> for StageName {
    fn from(name: String) -> Self {
        match name.as_str() {
            "stop" => Self::Stop,
            "deploy" => Self::Deploy,
            "recreate" => Self::Recreate,
            "delete" => Self::Delete,
            "clean-up" => Self::CleanUp,
            _ => match name.strip_prefix(ERRAND) {
                Some(errand) => Self::Errand(errand.to_owned()),
                None => Self::Other(name),
            },
        }
    }
}

impl fmt::Display for StageState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
        })
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks for a reference"
)]
fn is_false(value: &bool) -> bool {
    !value
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_operation_is_read_as_it_is_reported() {
        let reported = json!({
            "service_instance_id": "i1",
            "kind": "force-delete",
            "state": "in progress",
            "cancelled": true,
            "began": "2026-11-21T17:00:00Z",
            "request": "6a7b8c9d-0000-4000-8000-000000000000",
            "description": "Instance forced deletion in progress",
            "token": { "BoshTaskID": 42 },
            "stages": [
                { "name": "errand cleanup-data", "state": "failed", "task": 42, "error": "no host" },
                { "name": "delete", "state": "running", "task": 43, "steps": [
                    { "stage": "Deleting instances", "done": 0, "total": 1, "current": "redis-server/0" }
                ]},
                { "name": "clean-up", "state": "waiting" },
            ],
        });
        let read: OperationStatus = serde_json::from_value(reported.clone()).unwrap();
        assert_eq!(
            read.stages[0].name,
            StageName::Errand("cleanup-data".to_owned())
        );
        assert_eq!(serde_json::to_value(&read).unwrap(), reported);
    }
}
