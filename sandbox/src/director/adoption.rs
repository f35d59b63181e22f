//! Deployments that are there without ever having been deployed here: fleets to try things on.
//!
//! Access to configs for seeding a fleet.

use super::{
    Director,
    configs::NewConfig,
    deployments::{
        Attention, Deployment, Instance, InstanceSpec, InstanceState, Lifecycle, NameVersion,
        PersistentDisk,
    },
    ids::{DeploymentName, InstanceId},
};
use crate::cpi::{CallError, DiskError, StartError, Vm, VmCid, VmError};

#[derive(Clone, Debug)]
pub struct SeededDeployment {
    pub name: String,
    pub teams: Vec<String>,
    /// The text of its manifest; none when its first deploy has failed.
    pub manifest: Option<String>,
    /// Name and version of each release.
    pub releases: Vec<(String, String)>,
    /// Name and version of each stemcell.
    pub stemcells: Vec<(String, String)>,
    pub groups: Vec<SeededGroup>,
}

/// An instance group of a [`SeededDeployment`].
#[derive(Clone, Debug)]
pub struct SeededGroup {
    pub name: String,
    /// Whether its instances have VMs.
    pub kind: SeededGroupKind,
    pub instances: u32,
    /// The availability zone of all of them.
    pub az: Option<String>,
    pub vm_type: Option<String>,
    /// The size of each persistent disk in MiB; none without disks.
    pub disk_size: Option<u64>,
}

/// Whether the instances of a group have VMs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeededGroupKind {
    /// They have, and nothing runs on them yet.
    Service,
    /// They have none, as an errand's between its runs.
    Errand,
    /// They have none, as those of a deploy that failed.
    Failed,
}

/// A deployment cannot be adopted.
#[derive(Debug, thiserror::Error)]
pub enum AdoptError {
    #[error("there is a deployment `{0}` already")]
    Taken(String),
    #[error("could not make a VM of deployment `{deployment}`")]
    Vm {
        deployment: String,
        #[source]
        source: VmError,
    },
    #[error("could not attach a disk of deployment `{deployment}`")]
    Disk {
        deployment: String,
        #[source]
        source: DiskError,
    },
    #[error("could not start a VM of deployment `{deployment}`")]
    Start {
        deployment: String,
        #[source]
        source: CallError<StartError>,
    },
}

impl Director {
    /// Takes on a deployment as if it had been deployed with the configs in force. Its VMs are up and have no
    /// jobs; the next deploy updates all of them.
    pub async fn adopt(&self, seeded: SeededDeployment) -> Result<(), AdoptError> {
        let name = DeploymentName::from(seeded.name.clone());
        if self.inner.deployments.find(name.as_ref()).is_some() {
            return Err(AdoptError::Taken(seeded.name));
        }
        let stemcells = named(&seeded.stemcells);
        let mut instances = Vec::new();
        for group in &seeded.groups {
            for index in 0..group.instances {
                let instance = self.adopted(&seeded.name, group, index, stemcells.first());
                instances.push(instance.await?);
            }
        }
        let teams: Vec<_> = seeded.teams.into_iter().map(Into::into).collect();
        let deployment = Deployment {
            cloud_configs: self.inner.config_ids("cloud", &teams),
            runtime_configs: self.inner.config_ids("runtime", &teams),
            teams,
            manifest: seeded.manifest,
            releases: named(&seeded.releases),
            stemcells,
            instances,
            ..Deployment::default()
        };
        if self.inner.deployments.add(name, deployment) {
            Ok(())
        } else {
            Err(AdoptError::Taken(seeded.name))
        }
    }

    async fn adopted_vm(
        &self,
        deployment: &str,
        group: &SeededGroup,
    ) -> Result<(Vm, Option<PersistentDisk>), AdoptError> {
        let cpi = &self.inner.cpi;
        let vm_failed = |source| AdoptError::Vm {
            deployment: deployment.to_owned(),
            source,
        };
        let vm = cpi.reserve_vm().map_err(vm_failed)?;
        cpi.create_vm(&vm).await.map_err(vm_failed)?;
        let disk = group.disk_size.map(|size| PersistentDisk {
            cid: cpi.create_disk(size),
            size,
            cloud_properties: serde_json::json!({}),
        });
        if let Some(disk) = &disk {
            let attached = cpi.attach_disk(&vm.cid, &disk.cid).await;
            attached.map_err(|source| AdoptError::Disk {
                deployment: deployment.to_owned(),
                source,
            })?;
        }
        let started = cpi.agent(&vm).start().await;
        started.map_err(|source| AdoptError::Start {
            deployment: deployment.to_owned(),
            source,
        })?;
        Ok((vm, disk))
    }

    async fn adopted(
        &self,
        deployment: &str,
        group: &SeededGroup,
        index: u32,
        stemcell: Option<&NameVersion>,
    ) -> Result<Instance, AdoptError> {
        let (vm, disk) = match group.kind {
            SeededGroupKind::Service => {
                let (vm, disk) = self.adopted_vm(deployment, group).await?;
                (Some(vm), disk)
            }
            SeededGroupKind::Errand | SeededGroupKind::Failed => (None, None),
        };
        Ok(Instance {
            id: InstanceId::random(),
            group: group.name.clone().into(),
            index,
            az: group.az.clone(),
            lifecycle: match group.kind {
                SeededGroupKind::Service | SeededGroupKind::Failed => Lifecycle::Service,
                SeededGroupKind::Errand => Lifecycle::Errand,
            },
            state: InstanceState::Started,
            attention: Attention::Managed,
            address: vm.as_ref().map(Vm::address),
            spec: vm.as_ref().map(|_| InstanceSpec {
                vm_type: group.vm_type.clone(),
                cloud_properties: serde_json::json!({}),
                stemcell: stemcell.cloned(),
            }),
            vm,
            vips: Vec::new(),
            disk,
            machine: None,
            applied: None,
        })
    }
}

fn named(all: &[(String, String)]) -> Vec<NameVersion> {
    let all = all.iter().cloned();
    all.map(|(name, version)| NameVersion { name, version })
        .collect()
}

/// A config as a client would post it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeededConfig {
    pub kind: String,
    pub name: String,
    pub content: String,
    pub team: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeployedVm {
    /// The instance: `group/id`.
    pub instance: String,
    pub vm: VmCid,
}

impl Director {
    /// Adds a config, or a version of one.
    pub fn seed_config(&self, seeded: SeededConfig) {
        let new = NewConfig {
            kind: seeded.kind,
            name: seeded.name,
            content: seeded.content,
            team: seeded.team.map(Into::into),
            expected_latest: None,
        };
        // Nothing was expected, so it cannot be stale.
        let _ = self.inner.configs.post(new);
    }

    /// The latest versions of all configs of a type: name and content.
    pub fn configs_of_type(&self, kind: &str) -> Vec<(String, String)> {
        let configs = self.inner.configs.latest_of(kind).into_iter();
        configs
            .map(|config| (config.name, config.content))
            .collect()
    }

    pub fn manifest(&self, deployment: &str) -> Option<String> {
        self.inner.deployments.find(deployment)?.manifest.clone()
    }

    /// The VMs of a deployment, or nothing when there is no such deployment.
    pub fn deployed_vms(&self, deployment: &str) -> Option<Vec<DeployedVm>> {
        let found = self.inner.deployments.find(deployment)?;
        let instances = found.instances.iter();
        Some(
            instances
                .filter_map(|instance| {
                    Some(DeployedVm {
                        instance: instance.name(),
                        vm: instance.vm.as_ref()?.cid.clone(),
                    })
                })
                .collect(),
        )
    }
}
