//! `/mgmt/v1/runs`: an errand's way through a fleet, from its begin to its end.

use std::{fmt, str::FromStr};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::Target;

/// One way of an errand through all service instances.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Names it.
    pub id: RunId,
    /// The operation on each instance.
    pub kind: RunKind,
    /// When it began, by the broker's clock, which also says when operations began and ended.
    pub began: Timestamp,
    /// The common target of all plans when it began.
    pub target: Target,
    /// How it ended; absent until it has. A run that has failed can be continued and succeed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<RunOutcome>,
}

/// The answer to `GET /mgmt/v1/runs/latest`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatestRun {
    /// The run.
    #[serde(flatten)]
    pub run: Run,
    /// Whether its target is still the current one. Results for another target say nothing about the current one.
    pub is_current: bool,
}

/// The body of `POST /mgmt/v1/runs`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeginRun {
    /// The operation on each instance.
    pub kind: RunKind,
}

/// The body of `PATCH /mgmt/v1/runs/{id}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndRun {
    /// How the run has ended.
    pub outcome: RunOutcome,
}

/// The operation of a run on each instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunKind {
    /// Upgrades the instance to the current offering.
    Upgrade,
    /// It puts it onto new VMs.
    Recreate,
}

impl RunKind {
    /// Every kind.
    pub const ALL: [Self; 2] = [Self::Upgrade, Self::Recreate];
}

impl fmt::Display for RunKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Upgrade => "upgrade",
            Self::Recreate => "recreate",
        })
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// For every instance as it should.
    Succeeded,
    /// Not for every instance.
    Failed,
}

/// Names a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(Uuid);

/// The text names no run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the id of a run is a UUID")]
pub struct InvalidRunId;

impl RunId {
    /// A new one, unlike any other.
    pub fn random() -> Self {
        Self(Uuid::new_v4())
    }
}

impl FromStr for RunId {
    type Err = InvalidRunId;

    fn from_str(text: &str) -> Result<Self, InvalidRunId> {
        text.parse().map(Self).map_err(|_| InvalidRunId)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
