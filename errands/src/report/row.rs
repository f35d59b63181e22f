//! The row of one instance.

use std::{fmt, time::Duration};

use odb_api_types::ids::InstanceId;
use serde::{Serialize, Serializer};

/// The outcome of an instance with what is known of it. Unknown values are absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Which one.
    #[serde(rename = "service_instance_id")]
    pub instance: InstanceId,
    /// Its plan: the name, else the id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// Its organization: the name, else the guid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub organization: Option<String>,
    /// Its space: the name, else the guid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub space: Option<String>,
    /// The outcome.
    pub outcome: Outcome,
    /// Why, where that is not plain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// The Director's task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<u64>,
    /// From the request to the end, in seconds.
    #[serde(
        rename = "duration_in_seconds",
        skip_serializing_if = "Option::is_none",
        serialize_with = "in_seconds"
    )]
    pub duration: Option<Duration>,
}

/// The outcome of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The operation succeeded.
    Succeeded,
    /// There was nothing to do.
    Skipped,
    /// Nothing about it would change, and nothing was done.
    Unchanged,
    /// There would be something to do, and nothing was done.
    WouldChange,
    /// The platform does not know it any more.
    Gone,
    /// The instance was purged from the platform because its deletion failed. Parts of it may remain.
    Purged,
    /// The platform knows it, and it has no deployment.
    DeploymentMissing,
    /// Another operation was in progress each time it was tried.
    Busy,
    /// The operation succeeded, but the instance did not become healthy.
    Unhealthy,
    /// It has failed.
    Failed,
    /// It was started, and its outcome is unknown.
    InProgress,
    /// Its turn has not come.
    NotReached,
}

impl Row {
    /// Only the outcome of an instance.
    pub fn of(instance: InstanceId, outcome: Outcome) -> Self {
        Self {
            instance,
            plan: None,
            organization: None,
            space: None,
            outcome,
            cause: None,
            task: None,
            duration: None,
        }
    }
}

impl Outcome {
    /// Whether the instance needs the operator's attention.
    pub fn is_attended(self) -> bool {
        self == Self::Purged || !self.is_success()
    }

    /// It is as requested.
    pub fn is_success(self) -> bool {
        match self {
            Self::Succeeded | Self::Skipped | Self::Unchanged | Self::Gone | Self::Purged => true,
            Self::WouldChange
            | Self::DeploymentMissing
            | Self::Busy
            | Self::Unhealthy
            | Self::Failed
            | Self::InProgress
            | Self::NotReached => false,
        }
    }
}

/// In words for people.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Succeeded => "succeeded",
            Self::Skipped => "skipped",
            Self::Unchanged => "unchanged",
            Self::WouldChange => "would change",
            Self::Gone => "gone",
            Self::Purged => "purged",
            Self::DeploymentMissing => "deployment missing",
            Self::Busy => "busy",
            Self::Unhealthy => "unhealthy",
            Self::Failed => "failed",
            Self::InProgress => "in progress",
            Self::NotReached => "not reached",
        })
    }
}

#[expect(
    clippy::ref_option,
    reason = "serde hands the field to it by reference"
)]
fn in_seconds<S: Serializer>(
    duration: &Option<Duration>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match duration {
        Some(duration) => serializer.serialize_u64(duration.as_secs()),
        None => serializer.serialize_none(),
    }
}
