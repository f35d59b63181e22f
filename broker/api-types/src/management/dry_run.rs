//! `POST /mgmt/v1/service_instances/{id}/dry_run`: what an upgrade would change.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{InstanceId, PlanId};

/// The changes that an upgrade of a service instance would make. Computing them changes nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DryRun {
    pub service_instance_id: InstanceId,
    pub plan_id: PlanId,
    /// Whether an upgrade would change something. Also true if the state of the instance is unknown.
    pub needs_deploy: bool,
    pub changes: Changes,
    pub risks: Risks,
}

/// The changes by kind. Kinds without changes are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Changes(BTreeMap<ChangeKind, Vec<PlannedChange>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    Releases,
    Stemcells,
    InstanceGroups,
    Networks,
    Jobs,
    Properties,
    Secrets,
    Configs,
    Client,
    Update,
    Errands,
    Other,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedChange {
    /// Where, such as `instance_groups[redis-server].vm_type`.
    pub path: String,
    pub change: ChangeSort,
    /// Both values are left out for maps and lists, and for possible secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeSort {
    Added,
    Removed,
    Changed,
}

/// The effect of a deployment on the VMs of a service, by instance groups. A group whose VMs are recreated is not among
/// those whose jobs are restarted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Risks {
    /// The groups whose VMs are, or may be, recreated: a different stemcell, VM type, network or cloud config.
    pub recreates_vms: Vec<String>,
    /// The groups whose jobs are, or may be, restarted: a different release, job or property.
    pub restarts_jobs: Vec<String>,
    pub deletes_instances: Vec<String>,
}

impl Changes {
    pub fn add(&mut self, kind: ChangeKind, change: PlannedChange) {
        self.0.entry(kind).or_default().push(change);
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn kinds(&self) -> impl Iterator<Item = (ChangeKind, &[PlannedChange])> {
        self.0
            .iter()
            .map(|(kind, changes)| (*kind, changes.as_slice()))
    }
}

impl Risks {
    pub fn are_none(&self) -> bool {
        *self == Self::default()
    }
}

impl PlannedChange {
    pub fn hidden(path: String, change: ChangeSort) -> Self {
        Self {
            path,
            change,
            from: None,
            to: None,
        }
    }
}

impl fmt::Display for ChangeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InstanceGroups => f.write_str("instance groups"),
            Self::Client => f.write_str("UAA client"),
            other => other.serialize(f),
        }
    }
}

impl fmt::Display for PlannedChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        match (self.change, &self.from, &self.to) {
            (ChangeSort::Added, _, Some(to)) => write!(f, " is new: {to}"),
            (ChangeSort::Added, _, None) => f.write_str(" is new"),
            (ChangeSort::Removed, Some(from), _) => write!(f, " is gone: {from}"),
            (ChangeSort::Removed, None, _) => f.write_str(" is gone"),
            (ChangeSort::Changed, Some(from), Some(to)) => {
                write!(f, " changes from {from} to {to}")
            }
            (ChangeSort::Changed, _, _) => f.write_str(" changes"),
        }
    }
}
