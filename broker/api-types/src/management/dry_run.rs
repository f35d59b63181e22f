//! `POST /mgmt/v1/service_instances/{id}/dry_run`: what an upgrade would change.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{InstanceId, PlanId};

/// The changes that an upgrade of a service instance would make. Computing them changes nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DryRun {
    /// The service instance.
    pub service_instance_id: InstanceId,
    /// The plan that the upgrade would be to.
    pub plan_id: PlanId,
    /// Whether an upgrade would change something. Also true if the state of the instance is unknown.
    pub needs_deploy: bool,
    /// The changes by kind.
    pub changes: Changes,
    /// The effect on VMs.
    pub risks: Risks,
}

/// The changes by kind. Kinds without changes are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Changes(BTreeMap<ChangeKind, Vec<PlannedChange>>);

/// The subject of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// Releases and their versions.
    Releases,
    /// Stemcells, and which groups use them.
    Stemcells,
    /// Instance groups: that they are, VM types, disks, numbers of instances.
    InstanceGroups,
    /// Networks and availability zones.
    Networks,
    /// Jobs and their sources.
    Jobs,
    /// Properties of jobs, and the environment of VMs.
    Properties,
    /// Secrets that the manifest refers to.
    Secrets,
    /// BOSH configs of the instance.
    Configs,
    /// The UAA client of the instance.
    Client,
    /// How a deployment proceeds.
    Update,
    /// Groups that run errands.
    Errands,
    /// Everything else.
    Other,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedChange {
    /// Where, such as `instance_groups[redis-server].vm_type`.
    pub path: String,
    /// The sort of the change.
    pub change: ChangeSort,
    /// The current value. Left out for maps and lists, and for possible secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Value>,
    /// The new value. Left out likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Value>,
}

/// The sort of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeSort {
    /// It is new.
    Added,
    /// It goes.
    Removed,
    /// It becomes something else.
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
    /// The groups that lose instances or are removed.
    pub deletes_instances: Vec<String>,
}

impl Changes {
    /// Notes a change.
    pub fn add(&mut self, kind: ChangeKind, change: PlannedChange) {
        self.0.entry(kind).or_default().push(change);
    }

    /// Nothing would change.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The kinds of change that occur, each with its changes.
    pub fn kinds(&self) -> impl Iterator<Item = (ChangeKind, &[PlannedChange])> {
        self.0
            .iter()
            .map(|(kind, changes)| (*kind, changes.as_slice()))
    }
}

impl Risks {
    /// Nothing is done to VMs.
    pub fn are_none(&self) -> bool {
        self.recreates_vms.is_empty()
            && self.restarts_jobs.is_empty()
            && self.deletes_instances.is_empty()
    }
}

impl PlannedChange {
    /// A change of which only the path is shown.
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
        f.write_str(match self {
            Self::Releases => "releases",
            Self::Stemcells => "stemcells",
            Self::InstanceGroups => "instance groups",
            Self::Networks => "networks",
            Self::Jobs => "jobs",
            Self::Properties => "properties",
            Self::Secrets => "secrets",
            Self::Configs => "configs",
            Self::Client => "UAA client",
            Self::Update => "update",
            Self::Errands => "errands",
            Self::Other => "other",
        })
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
