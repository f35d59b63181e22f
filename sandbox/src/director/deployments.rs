//! The deployments that the Director knows, with their instances.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::Ipv4Addr,
    sync::{Arc, Mutex, PoisonError},
};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};
use uuid::Uuid;

use super::ids::{ConfigId, DeploymentName, GroupName, InstanceId, TeamName};
use crate::{
    cpi::{DiskCid, Vm},
    store::{Rows, Store, StoreError},
};

pub(super) struct Deployments {
    rows: Mutex<Rows<DeploymentName, Row>>,
}

/// Readers share a row; a change copies it if there are readers.
struct Row(Arc<Deployment>);

/// A deployment. It exists from the first call to deploy it, so "exists" does not mean "was deployed".
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Deployment {
    pub(super) teams: Vec<TeamName>,
    /// The manifest of the last complete and successful deploy, unchanged.
    pub(super) manifest: Option<String>,
    pub(super) releases: Vec<NameVersion>,
    pub(super) stemcells: Vec<NameVersion>,
    /// The cloud configs that it was last deployed with.
    pub(super) cloud_configs: Vec<ConfigId>,
    /// The runtime configs that it was last deployed with.
    pub(super) runtime_configs: Vec<ConfigId>,
    pub(super) instances: Vec<Instance>,
    /// The variables that it uses: absolute name ⇒ the id of the value in use.
    pub(super) variables: BTreeMap<String, Uuid>,
    /// The digest with which each errand last succeeded.
    pub(super) errand_successes: BTreeMap<String, Digest>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct NameVersion {
    pub(super) name: String,
    pub(super) version: String,
}

/// One instance of an instance group. Its id stays the same over updates and new VMs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Instance {
    pub(super) id: InstanceId,
    pub(super) group: GroupName,
    pub(super) index: u32,
    pub(super) az: Option<String>,
    pub(super) lifecycle: Lifecycle,
    pub(super) state: InstanceState,
    pub(super) attention: Attention,
    pub(super) vm: Option<Vm>,
    /// Addresses beside that of the VM (networks of type `vip`).
    pub(super) vips: Vec<Ipv4Addr>,
    pub(super) disk: Option<PersistentDisk>,
    /// The specification of its VM. `None` until it has had one.
    pub(super) spec: Option<InstanceSpec>,
    /// The machine of its VM; another one needs a new VM.
    pub(super) machine: Option<Digest>,
    /// The jobs that the VM was last updated to, or nothing when that failed.
    pub(super) applied: Option<Digest>,
    /// The address of its last VM, which the next one gets if it can.
    pub(super) address: Option<Ipv4Addr>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Lifecycle {
    /// Its instances have VMs all the time.
    Service,
    /// Its instances have VMs while an errand runs.
    Errand,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum InstanceState {
    Started,
    /// Its jobs are stopped, its VM is kept.
    Stopped,
    /// Its jobs are stopped, its VM is gone.
    Detached,
}

/// Whether deploys touch an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Attention {
    Managed,
    /// An operator repairs it by hand (`bosh ignore`).
    Ignored,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct PersistentDisk {
    pub(super) cid: DiskCid,
    /// In MiB.
    pub(super) size: u64,
    pub(super) cloud_properties: Value,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct InstanceSpec {
    pub(super) vm_type: Option<String>,
    pub(super) cloud_properties: Value,
    pub(super) stemcell: Option<NameVersion>,
}

/// Identifies a set of rendered jobs or VM settings (SHA-256).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Digest(Vec<u8>);

impl Deployments {
    pub(super) fn open(store: &Store) -> Result<Self, StoreError> {
        Ok(Self {
            rows: Mutex::new(Rows::open(store, "director_deployments")?),
        })
    }

    /// Makes sure that a deployment exists. A new one belongs to these teams.
    pub(super) fn ensure(
        &self,
        name: &DeploymentName,
        teams: &[TeamName],
        cloud_configs: &[ConfigId],
    ) {
        self.with(|rows| {
            if !rows.contains_key(name) {
                let new = Deployment {
                    teams: teams.to_vec(),
                    cloud_configs: cloud_configs.to_vec(),
                    ..Deployment::default()
                };
                rows.insert(name.clone(), Row(Arc::new(new)));
            }
        });
    }

    /// Adds a deployment unless its name exists. Returns whether it was added.
    pub(super) fn add(&self, name: DeploymentName, deployment: Deployment) -> bool {
        self.with(|rows| {
            let is_free = !rows.contains_key(&name);
            if is_free {
                rows.insert(name, Row(Arc::new(deployment)));
            }
            is_free
        })
    }

    pub(super) fn find(&self, name: &str) -> Option<Arc<Deployment>> {
        self.read(|rows| rows.get(name).map(|row| Arc::clone(&row.0)))
    }

    /// Every deployment as it is now, in the order of their names.
    pub(super) fn all(&self) -> Vec<(DeploymentName, Arc<Deployment>)> {
        self.read(|rows| {
            let rows = rows.iter();
            rows.map(|(name, row)| (name.clone(), Arc::clone(&row.0)))
                .collect()
        })
    }

    /// Looks at every deployment, in the order of their names.
    pub(super) fn map<T>(
        &self,
        mut look: impl FnMut(&DeploymentName, &Deployment) -> Option<T>,
    ) -> Vec<T> {
        let all = self.all();
        all.iter()
            .filter_map(|(name, row)| look(name, row))
            .collect()
    }

    /// Changes a deployment, if it is still there.
    pub(super) fn update(&self, name: &DeploymentName, change: impl FnOnce(&mut Deployment)) {
        self.with(|rows| {
            if let Some(row) = rows.get_mut(name) {
                change(Arc::make_mut(&mut row.0));
            }
        });
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

    pub(super) fn remove_instance(&self, name: &DeploymentName, id: InstanceId) {
        self.update(name, |row| {
            row.instances.retain(|instance| instance.id != id);
        });
    }

    pub(super) fn remove(&self, name: &DeploymentName) {
        self.with(|rows| rows.remove(name));
    }

    fn read<T>(&self, look: impl FnOnce(&BTreeMap<DeploymentName, Row>) -> T) -> T {
        look(&self.rows.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn with<T>(&self, use_them: impl FnOnce(&mut Rows<DeploymentName, Row>) -> T) -> T {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let used = use_them(&mut rows);
        rows.save();
        used
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

    /// Whether an instance is the one of its group on which things are done that are done once.
    pub(super) fn is_bootstrap(&self, instance: &Instance) -> bool {
        let mut group = self
            .instances
            .iter()
            .filter(|other| other.group == instance.group);
        group.all(|other| other.index >= instance.index)
    }
}

impl Instance {
    /// Its name in records and errors: `group/id`.
    pub(super) fn name(&self) -> String {
        format!("{}/{}", self.group, self.id)
    }

    /// How event logs name it: `group/id (index)`.
    pub(super) fn label(&self) -> String {
        format!("{}/{} ({})", self.group, self.id, self.index)
    }

    /// Whether deploys leave it alone.
    pub(super) fn is_ignored(&self) -> bool {
        self.attention == Attention::Ignored
    }

    pub(super) fn ips(&self) -> Vec<Ipv4Addr> {
        match &self.vm {
            None => Vec::new(),
            Some(vm) => {
                let own = std::iter::once(vm.address());
                own.chain(self.vips.iter().copied()).collect()
            }
        }
    }

    /// Whether it should have a VM. One that never had any is not expected to.
    pub(super) fn expects_vm(&self) -> bool {
        self.lifecycle == Lifecycle::Service
            && self.state != InstanceState::Detached
            && self.spec.is_some()
    }
}

impl InstanceState {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Stopped => "stopped",
            Self::Detached => "detached",
        }
    }
}

impl NameVersion {
    /// As audit records have it: `name/version`.
    pub(super) fn joined(&self) -> String {
        format!("{}/{}", self.name, self.version)
    }
}

impl InstanceSpec {
    /// The view of an instance that never had a VM.
    pub(super) fn nothing() -> Self {
        Self {
            vm_type: None,
            cloud_properties: json!({}),
            stemcell: None,
        }
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

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Row {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Deployment::deserialize(deserializer).map(|row| Self(Arc::new(row)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deployments_and_their_instances_survive_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let name = DeploymentName::from("d".to_owned());
        let deployments = Deployments::open(&store).unwrap();
        deployments.ensure(&name, &[], &[]);
        let seen_before = deployments.find("d").unwrap();
        deployments.update(&name, |row| {
            row.manifest = Some("name: d".to_owned());
            row.instances.push(Instance {
                id: InstanceId::random(),
                group: "srv".to_owned().into(),
                index: 3,
                az: None,
                lifecycle: Lifecycle::Service,
                state: InstanceState::Stopped,
                attention: Attention::Ignored,
                vm: None,
                vips: Vec::new(),
                disk: None,
                spec: Some(InstanceSpec::nothing()),
                machine: None,
                applied: None,
                address: None,
            });
        });
        assert!(seen_before.manifest.is_none());
        drop(deployments);
        store.close();

        let store = Store::open(folder.path()).unwrap();
        let deployments = Deployments::open(&store).unwrap();
        let row = deployments.find("d").unwrap();
        assert_eq!(row.manifest.as_deref(), Some("name: d"));
        let instance = &row.instances[0];
        assert_eq!(
            (instance.index, instance.state),
            (3, InstanceState::Stopped)
        );
        assert!(instance.is_ignored() && instance.expects_vm());
    }
}
