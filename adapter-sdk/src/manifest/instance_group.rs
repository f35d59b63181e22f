use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FreeMap, Job, Update};
use crate::redaction::shows_only;

/// Instances that run the same jobs.
#[derive(Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct InstanceGroup {
    /// Name.
    pub name: String,
    /// `service`, which is the default, or `errand`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifecycle: Option<String>,
    /// Number of instances.
    pub instances: u32,
    /// Jobs that run on each instance.
    #[serde(default)]
    pub jobs: Vec<Job>,
    /// VM type of the cloud config.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vm_type: Option<String>,
    /// The resources of a VM, in place of a type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vm_resources: Option<VmResources>,
    /// VM extensions of the cloud config.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vm_extensions: Option<Vec<String>>,
    /// Alias of the stemcell.
    #[serde(default)]
    pub stemcell: String,
    /// Size of the persistent disk in MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persistent_disk: Option<u64>,
    /// Disk type of the cloud config.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persistent_disk_type: Option<String>,
    /// Several persistent disks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persistent_disks: Option<Vec<PersistentDisk>>,
    /// Availability zones of the cloud config.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub azs: Option<Vec<String>>,
    /// Networks of the cloud config.
    #[serde(default)]
    pub networks: Vec<Network>,
    /// Properties for jobs that have no properties of their own, deprecated in BOSH.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub properties: Option<FreeMap>,
    /// Earlier names of the group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migrated_from: Option<Vec<MigratedFrom>>,
    /// Settings for the agents of the group's VMs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<FreeMap>,
    /// How instances of this group are updated, over the manifest's own block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update: Option<Update>,
    /// Tags for the group's VMs and disks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<FreeMap>,
    /// Keys that the model does not know.
    #[serde(flatten)]
    pub other: FreeMap,
}

// Properties may hold secrets and are not shown.
shows_only!(InstanceGroup { name, jobs });

impl InstanceGroup {
    /// A group of that name and size.
    pub fn new(name: impl Into<String>, instances: u32) -> Self {
        Self {
            name: name.into(),
            instances,
            ..Self::default()
        }
    }

    /// The job of that name.
    pub fn job(&self, name: &str) -> Option<&Job> {
        self.jobs.iter().find(|job| job.name == name)
    }

    /// The job of that name, to change it.
    pub fn job_mut(&mut self, name: &str) -> Option<&mut Job> {
        self.jobs.iter_mut().find(|job| job.name == name)
    }
}

/// The resources of a VM; the Director selects a VM type for them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct VmResources {
    /// Number of processors.
    pub cpu: u32,
    /// Memory in MiB.
    pub ram: u64,
    /// Size of the ephemeral disk in MiB.
    pub ephemeral_disk_size: u64,
    /// Keys that the model does not know.
    #[serde(flatten)]
    pub other: FreeMap,
}

/// One of several persistent disks.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct PersistentDisk {
    /// Name of the disk in this group.
    pub name: String,
    /// Disk type of the cloud config.
    #[serde(rename = "type", default)]
    pub disk_type: String,
    /// Keys that the model does not know.
    #[serde(flatten)]
    pub other: FreeMap,
}

/// A network that a group is on.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Network {
    /// Name of the network in the cloud config.
    pub name: String,
    /// Addresses to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub static_ips: Option<Vec<String>>,
    /// The defaults of the network: `dns`, `gateway`, `addressable`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Vec<String>>,
    /// Keys that the model does not know.
    #[serde(flatten)]
    pub other: FreeMap,
}

impl Network {
    /// The network of that name.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }
}

/// An earlier name of a group.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct MigratedFrom {
    /// The name.
    pub name: String,
    /// Availability zone that the group was in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub az: Option<String>,
    /// Keys that the model does not know.
    #[serde(flatten)]
    pub other: FreeMap,
}
