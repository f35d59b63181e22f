//! The deployments that the Director knows, with their instances.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, PoisonError},
};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::ids::{ConfigId, DeploymentName, GroupName, InstanceId, TeamName};
use crate::cpi::{DiskCid, Vm};

/// All deployments, by name.
#[derive(Default)]
pub(super) struct Deployments {
    rows: Mutex<BTreeMap<DeploymentName, Deployment>>,
}

/// A deployment. It exists from the first call to deploy it, so "exists" does not mean "was deployed".
#[derive(Clone, Debug, Default)]
pub(super) struct Deployment {
    /// The teams that it belongs to.
    pub(super) teams: Vec<TeamName>,
    /// The manifest of the last deploy that succeeded as a whole, as it was sent.
    pub(super) manifest: Option<String>,
    pub(super) releases: Vec<NameVersion>,
    pub(super) stemcells: Vec<NameVersion>,
    /// The cloud configs that it was last deployed with.
    pub(super) cloud_configs: Vec<ConfigId>,
    pub(super) instances: Vec<Instance>,
    /// The variables that it uses: absolute name ⇒ the id of the value in use.
    pub(super) variables: BTreeMap<String, Uuid>,
    /// What each errand last succeeded with.
    pub(super) errand_successes: BTreeMap<String, Digest>,
}

/// A release or stemcell in use.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct NameVersion {
    pub(super) name: String,
    pub(super) version: String,
}

/// One instance of an instance group. Its id stays the same over updates and new VMs.
#[derive(Clone, Debug)]
pub(super) struct Instance {
    pub(super) id: InstanceId,
    pub(super) group: GroupName,
    pub(super) index: u32,
    pub(super) az: Option<String>,
    pub(super) lifecycle: Lifecycle,
    pub(super) vm: Option<Vm>,
    pub(super) disk: Option<DiskCid>,
    /// What the VM was last updated to, or nothing when that failed.
    pub(super) applied: Option<Digest>,
}

/// What an instance group is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lifecycle {
    /// Its instances have VMs all the time.
    Service,
    /// Its instances have VMs while an errand runs.
    Errand,
}

/// Tells one set of rendered jobs and VM settings from another (SHA-256).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Digest(Vec<u8>);

impl Deployments {
    /// Makes sure that a deployment exists. A new one belongs to these teams.
    pub(super) fn ensure(
        &self,
        name: &DeploymentName,
        teams: &[TeamName],
        cloud_configs: &[ConfigId],
    ) {
        self.with(|rows| {
            rows.entry(name.clone()).or_insert_with(|| Deployment {
                teams: teams.to_vec(),
                cloud_configs: cloud_configs.to_vec(),
                ..Deployment::default()
            });
        });
    }

    /// The deployment of this name.
    pub(super) fn find(&self, name: &str) -> Option<Deployment> {
        self.with(|rows| rows.get(name).cloned())
    }

    /// Looks at every deployment, in the order of their names.
    pub(super) fn map<T>(
        &self,
        mut look: impl FnMut(&DeploymentName, &Deployment) -> Option<T>,
    ) -> Vec<T> {
        self.with(|rows| {
            rows.iter()
                .filter_map(|(name, row)| look(name, row))
                .collect()
        })
    }

    /// Changes a deployment, if it is still there.
    pub(super) fn update(&self, name: &DeploymentName, change: impl FnOnce(&mut Deployment)) {
        self.with(|rows| rows.get_mut(name).map(change));
    }

    /// Changes one instance, if it is still there.
    pub(super) fn update_instance(
        &self,
        name: &DeploymentName,
        id: InstanceId,
        change: impl FnOnce(&mut Instance),
    ) {
        self.update(name, |row| {
            if let Some(instance) = row.instances.iter_mut().find(|instance| instance.id == id) {
                change(instance);
            }
        });
    }

    /// Forgets an instance.
    pub(super) fn remove_instance(&self, name: &DeploymentName, id: InstanceId) {
        self.update(name, |row| {
            row.instances.retain(|instance| instance.id != id);
        });
    }

    /// Forgets a deployment.
    pub(super) fn remove(&self, name: &DeploymentName) {
        self.with(|rows| rows.remove(name));
    }

    fn with<T>(&self, use_them: impl FnOnce(&mut BTreeMap<DeploymentName, Deployment>) -> T) -> T {
        use_them(&mut self.rows.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Deployment {
    /// The instances of one group, in the order of their indexes.
    pub(super) fn group(&self, name: &GroupName) -> Vec<Instance> {
        let mut group: Vec<Instance> = self
            .instances
            .iter()
            .filter(|instance| instance.group == *name)
            .cloned()
            .collect();
        group.sort_by_key(|instance| instance.index);
        group
    }

    /// Whether one of these teams owns it.
    pub(super) fn belongs_to(&self, teams: &BTreeSet<TeamName>) -> bool {
        self.teams.iter().any(|team| teams.contains(team))
    }
}

impl Instance {
    /// How event logs and errors name it: `group/id (index)`.
    pub(super) fn label(&self) -> String {
        format!("{}/{} ({})", self.group, self.id, self.index)
    }
}

impl Digest {
    /// The digest itself, to be part of another.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl From<aws_lc_rs::digest::Digest> for Digest {
    fn from(digest: aws_lc_rs::digest::Digest) -> Self {
        Self(digest.as_ref().to_vec())
    }
}
