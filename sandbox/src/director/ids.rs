//! The Director's ids and names.

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::cpi::text_types;

text_types! {
    pub(super) struct DeploymentName;
    /// Names a team, whose members share their deployments and configs.
    pub(super) struct TeamName;
    /// A client's context id of its request, `""` without one (header `X-Bosh-Context-Id`).
    pub(super) struct ContextId;
    pub(super) struct GroupName;
}

/// Numbers a task. Ids rise by one per task of the Director.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct TaskId(u64);

/// Numbers one version of a config. On the wire it is text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct ConfigId(u64);

/// Numbers a record of the audit. On the wire it is text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct EventId(u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct InstanceId(Uuid);

impl TaskId {
    /// The id before that of the first task.
    pub(super) const NONE: Self = Self(0);

    pub(super) fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// Parses the id in a path. Text that is no number is no task id.
    pub(super) fn parse(text: &str) -> Option<Self> {
        text.parse().ok().map(Self)
    }

    /// The id as a number.
    pub(super) fn number(self) -> u64 {
        self.0
    }
}

impl EventId {
    /// The id before that of the first record.
    pub(super) const NONE: Self = Self(0);

    pub(super) fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// Reads an id as Ruby does: what is no number counts as 0.
    pub(super) fn parse(text: &str) -> Self {
        Self(text.parse().unwrap_or(0))
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl ConfigId {
    /// The id before that of the first config.
    pub(super) const NONE: Self = Self(0);

    pub(super) fn next(self) -> Self {
        Self(self.0 + 1)
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        text.parse().ok().map(Self)
    }
}

impl InstanceId {
    /// An id that no instance has.
    pub(super) fn random() -> Self {
        Self(Uuid::new_v4())
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for ConfigId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for InstanceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
