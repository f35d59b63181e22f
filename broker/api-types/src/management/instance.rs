//! One service instance: its latest operation with its stages, and the health of its VMs; the Director behind it.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::OperationState;
use crate::{
    ids::{InstanceId, RequestId},
    kind::OperationKind,
};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperationStatus {
    pub service_instance_id: InstanceId,
    /// The kind of the operation; absent without a record, when the Director's tasks decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<OperationKind>,
    pub state: OperationState,
    /// An operator has cancelled it: the broker starts no further steps.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancelled: bool,
    /// When it began; unknown in records of older brokers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<Timestamp>,
    /// The request that began it, for the log; absent without a record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestId>,
    pub description: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<Map<String, Value>>,
    pub stages: Vec<StageStatus>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageStatus {
    pub name: StageName,
    pub state: StageState,
    /// The Director's task that does it, or did; the latest, where it took several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<u64>,
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
    Stop,
    Deploy,
    Recreate,
    Errand(String),
    Delete,
    CleanUp,
    /// Something that this version does not know.
    Other(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StageState {
    /// Its turn has not come.
    Waiting,
    Running,
    Done,
    Failed,
}

/// The answer to `GET /mgmt/v1/broker`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokerVersion {
    pub version: String,
}

/// The steps of a task under one heading of the Director, such as `Updating instance redis-server`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepStatus {
    pub stage: String,
    pub done: u64,
    pub total: u64,
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
        self.serialize(f)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    pub service_instance_id: InstanceId,
    pub healthy: bool,
    pub instances: Vec<InstanceHealth>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceHealth {
    pub instance_group: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
    pub healthy: bool,
    /// In BOSH's words, such as `running`, `failing` or `unresponsive agent`; `no vm` where there should be one.
    pub state: String,
    pub processes: Vec<ProcessHealth>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessHealth {
    pub name: String,
    pub state: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectorAbilities {
    pub version: String,
    /// It makes new VMs of instances as `recreate-all-service-instances` needs it.
    pub can_recreate: bool,
}

impl DirectorAbilities {
    /// The abilities of a Director of this version (`spec/contracts/errands.md` §4.1).
    pub fn of(version: String) -> Self {
        Self {
            can_recreate: can_recreate(&version),
            version,
        }
    }
}

/// The lines that got the needed change have it from a release on; every line after them has it. A version that cannot
/// be read is older than all.
fn can_recreate(version: &str) -> bool {
    match numbers_of(version) {
        (266, minor, _) => minor >= 15,
        (267, minor, _) => minor >= 9,
        (268, 2, patch) => patch >= 2,
        (268, minor, _) => minor >= 4,
        (major, _, _) => major > 268,
    }
}

/// `277.3.0 (3604d808)`; of the four numbers of the time of stemcells, `1.3262.0.0`, the first says nothing.
fn numbers_of(version: &str) -> (u64, u64, u64) {
    let word = version.split_whitespace().next().unwrap_or_default();
    let core = word.split(['-', '+']).next().unwrap_or_default();
    let numbers: Option<Vec<u64>> = core.split('.').map(|part| part.parse().ok()).collect();
    match numbers.as_deref() {
        Some([_, major, minor, patch] | [major, minor, patch]) => (*major, *minor, *patch),
        Some([major, minor]) => (*major, *minor, 0),
        Some([major]) => (*major, 0, 0),
        _ => (0, 0, 0),
    }
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

    #[test]
    fn the_errand_that_recreates_needs_a_director_of_these_versions() {
        for (version, can) in [
            ("266.14.0 (00000000)", false),
            ("266.15.0 (00000000)", true),
            ("266.16 (00000000)", true),
            ("267.8.9", false),
            ("267.9.0", true),
            ("268.0.0", false),
            ("268.2.1", false),
            ("268.2.2", true),
            ("268.2.9", true),
            ("268.3.0", false),
            ("268.3.9", false),
            ("268.4.0", true),
            ("268.10.0", true),
            ("269.0.0", true),
            ("269.0.0+dev.3 (00000000)", true),
            ("277.3.0 (3604d808)", true),
            ("282", true),
            ("265.99.0", false),
            ("1.3262.0.0 (00000000)", true),
            ("1.3.0.0", false),
            ("0.0.0 (unknown)", false),
            ("latest", false),
            ("", false),
        ] {
            assert_eq!(can_recreate(version), can, "{version}");
        }
    }
}
