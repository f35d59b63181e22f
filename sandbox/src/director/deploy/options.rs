//! The options of a call beside the manifest (`spec/contracts/director-api.md`, "Deploying").

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{states::StateChange, update_spec::UpdateOverrides};
use crate::director::ids::{ConfigId, GroupName};

/// How a manifest is to be deployed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(in crate::director) struct DeployOptions {
    #[serde(default)]
    pub(in crate::director) action: UpdateAction,
    pub(in crate::director) extent: Extent,
    pub(in crate::director) vms: VmRequest,
    pub(in crate::director) disks: DiskRequest,
    pub(in crate::director) silent_agents: SilentAgents,
    pub(in crate::director) skip_drain: SkipDrain,
    pub(in crate::director) overrides: UpdateOverrides,
    pub(in crate::director) state: Option<StateChange>,
    /// The cloud configs that apply, as they were when the call came in or as it says.
    pub(in crate::director) cloud_configs: Vec<ConfigId>,
    /// The runtime configs, which are recorded but not applied.
    pub(in crate::director) runtime_configs: Vec<ConfigId>,
}

/// The kind of an update. Both kinds have the same kind of task, but only a deploy resolves links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::director) enum UpdateAction {
    /// `POST /deployments`.
    #[default]
    Deploy,
    /// `PUT /deployments/NAME/jobs/…`.
    ChangeStates,
}

/// How far a deploy goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::director) enum Extent {
    #[default]
    Whole,
    /// Preparation only (`dry_run`).
    DryRun,
}

/// Which VMs are replaced although nothing else calls for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::director) enum VmRequest {
    #[default]
    Keep,
    /// `recreate`.
    Recreate,
    /// `recreate` together with `recreate_vms_created_before`.
    RecreateOlderThan(Timestamp),
}

/// How persistent disks are treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::director) enum DiskRequest {
    #[default]
    Keep,
    /// Their data moves to new disks (`recreate_persistent_disks`).
    Recreate,
}

/// How VMs with unresponsive agents are treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::director) enum SilentAgents {
    #[default]
    Fail,
    /// They are replaced (`fix`).
    Replace,
}

/// The instances whose jobs are stopped without drain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::director) enum SkipDrain {
    #[default]
    None,
    All,
    Groups(BTreeSet<GroupName>),
}

impl VmRequest {
    /// Whether a VM of this age is to be replaced.
    pub(super) fn replaces(self, created_at: Timestamp) -> bool {
        match self {
            Self::Keep => false,
            Self::Recreate => true,
            Self::RecreateOlderThan(limit) => created_at < limit,
        }
    }
}

impl SkipDrain {
    /// Reads `*` or a list of groups.
    pub(in crate::director) fn read(text: &str) -> Self {
        if text == "*" {
            return Self::All;
        }
        let groups = text.split(',').filter(|name| !name.is_empty());
        Self::Groups(groups.map(|name| name.to_owned().into()).collect())
    }

    /// Whether the jobs of this group are stopped without a warning.
    pub(super) fn applies_to(&self, group: &GroupName) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Groups(groups) => groups.contains(group),
        }
    }
}
