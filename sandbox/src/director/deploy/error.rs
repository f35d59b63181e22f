//! Errors in a manifest or in the options of a deploy, with the Director's numbers and texts.

use std::net::Ipv4Addr;

use serde_json::Value;

use crate::{
    cpi::JobName,
    director::{
        ids::{DeploymentName, GroupName, InstanceId},
        ruby,
    },
};

/// A manifest that cannot be deployed, or a deploy that is not allowed. The texts are a real
/// Director's, which clients read and show.
#[derive(Debug, thiserror::Error)]
pub(in crate::director) enum ManifestError {
    #[error(
        "Deployment manifest contains '{0}' section, but this can only be set in a cloud-config."
    )]
    SectionOfCloudConfig(&'static str),
    #[error("{0} value should be integer or percent")]
    NotANumberOrPercent(&'static str),
    #[error("cannot be calculated")]
    AmountNotCalculable,
    #[error("Watch time should be an integer or a range of two integers")]
    WatchTimeUnreadable,
    #[error("Min watch time cannot be greater than max watch time")]
    WatchTimeReversed,
    #[error("Properties 'os' and 'name' are both specified for stemcell, choose one. ({})", ruby::inspect(.0))]
    StemcellBothNameAndOs(Value),
    #[error("Required property 'os' or 'name' was not specified in object ({})", ruby::inspect(.0))]
    StemcellNeitherNameNorOs(Value),
    #[error("Duplicate stemcell alias '{0}'")]
    DuplicateStemcellAlias(String),
    #[error("Duplicate release name '{0}'")]
    DuplicateRelease(String),
    #[error("Invalid instance group name '{0}', canonical name already taken")]
    DuplicateGroup(GroupName),
    #[error("Instance group '{0}' does not specify jobs key")]
    NoJobs(GroupName),
    #[error("Colocated job '{job}' is already added to the instance group '{group}'")]
    DuplicateJob { group: GroupName, job: JobName },
    #[error(
        "Cannot tell what release template '{job}' (instance group '{group}') is supposed to use, please explicitly specify one"
    )]
    ReleaseNotSpecified { group: GroupName, job: JobName },
    #[error(
        "Instance group '{0}' specifies more than one of the following keys: 'persistent_disk', 'persistent_disk_type', 'persistent_disk_pool' and 'persistent_disks'. Choose one."
    )]
    SeveralDisks(GroupName),
    #[error("Instance group '{group}' references an invalid persistent disk size '{size}'")]
    InvalidDiskSize { group: GroupName, size: i64 },
    #[error("Instance group '{0}' is missing either 'vm_type' or 'vm_resources' section.")]
    NoVmType(GroupName),
    #[error("Instance group '{0}' can only specify 'vm_type' or 'vm_resources' keys.")]
    SeveralVmTypes(GroupName),
    #[error("Instance group '{0}' must specify at least one network")]
    NoNetworks(GroupName),
    #[error(
        "Instance group '{group}' specified an invalid default network property '{property}', valid properties are: dns, gateway"
    )]
    InvalidNetworkDefault { group: GroupName, property: String },
    #[error(
        "Instance group '{group}' specified more than one network to contain default. {}",
        .defaults.join(" ")
    )]
    SeveralNetworkDefaults {
        group: GroupName,
        /// One text per property.
        defaults: Vec<String>,
    },
    #[error(
        "Instance group '{group}' must specify which network is default for {}, since it has more than one network configured",
        .properties.join(", ")
    )]
    NoNetworkDefault {
        group: GroupName,
        properties: Vec<&'static str>,
    },
    #[error(
        "Instance group '{group}' must specify availability zone that matches availability zones of network '{network}'"
    )]
    NetworkOfOtherZones { group: GroupName, network: String },
    #[error("Instance group '{0}' has empty availability zones")]
    NoZones(GroupName),
    #[error(
        "Instance group '{group}' has {instances} instances but was allocated {addresses} static IPs in network '{network}'"
    )]
    StaticAddressCount {
        group: GroupName,
        network: String,
        instances: u32,
        addresses: usize,
    },
    #[error("Instance group '{group}' specifies static IP '{address}' more than once")]
    RepeatedStaticAddress { group: GroupName, address: Ipv4Addr },
    #[error("Invalid static IP '{0}'")]
    UnreadableAddress(String),
    #[error(
        "Instance group '{group}' with network '{network}' declares static ip '{address}', which belongs to no subnet"
    )]
    StaticAddressOutside {
        group: GroupName,
        network: String,
        address: Ipv4Addr,
    },
    #[error(
        "Instance group '{group}' declares static ip '{address}' which does not belong to any of the instance group's availability zones."
    )]
    StaticAddressOfOtherZone { group: GroupName, address: Ipv4Addr },
    #[error(
        "Failed to reserve IP '{address}' for instance '{instance}': already reserved by another instance"
    )]
    StaticAddressTaken { address: Ipv4Addr, instance: String },
    #[error("Duplicate {what} name '{name}'")]
    DuplicateInCloudConfig { what: CloudThing, name: String },
    #[error("Invalid network type '{0}'")]
    InvalidNetworkType(String),
    #[error("No networks specified")]
    NoNetworksInCloudConfig,
    #[error(
        "Invalid state '{state}' for '{group}', valid states are: started, stopped, detached, recreate, restart"
    )]
    InvalidGroupState { group: GroupName, state: String },
    #[error(
        "Invalid state '{state}' for '{group}/{index}', valid states are: started, stopped, detached, recreate, restart"
    )]
    InvalidInstanceState {
        group: GroupName,
        index: u32,
        state: String,
    },
    #[error(
        "You are trying to change the state of the ignored instance '{group}/{id}'. This operation is not allowed. You need to unignore it first."
    )]
    StateOfIgnored { group: GroupName, id: InstanceId },
    #[error(
        "Instance Group '{group}' has {ignored} ignored instance(s). {wanted} instance(s) of that instance group were requested. Deleting ignored instances is not allowed."
    )]
    DeletesIgnoredInstances {
        group: GroupName,
        ignored: usize,
        wanted: u32,
    },
    #[error(
        "You are trying to delete instance group '{0}', which contains ignored instance(s). Operation not allowed."
    )]
    DeletesIgnoredGroup(GroupName),
    #[error(
        "You are trying to delete deployment '{0}', which contains ignored instance(s). Operation not allowed."
    )]
    DeletesIgnoredDeployment(DeploymentName),
    #[error(
        "Failed to migrate instance group '{from}' to '{to}'. A deployment can not migrate an instance group and also specify it. Please remove instance group '{from}'."
    )]
    MigratesAndSpecifies { from: GroupName, to: GroupName },
    #[error(
        "Failed to migrate instance group '{from}' to '{to}'. An instance group may be migrated to only one instance group."
    )]
    MigratesTwice { from: GroupName, to: GroupName },
    #[error("Instance(s) '{}' is stopped, unable to run errand. Maybe start vm?", .0.join(", "))]
    StoppedInstances(Vec<String>),
    #[error("Filtering by instances is not supported when running errand by instance group name")]
    FilterOnErrandGroup,
    #[error(
        "Instance group '{0}' is not an errand. To mark an instance group as an errand set its lifecycle to 'errand' in the deployment manifest."
    )]
    NotAnErrand(GroupName),
    #[error("Instance '{deployment}/{errand}/0' doesn't exist")]
    NoErrandInstance {
        deployment: DeploymentName,
        errand: String,
    },
    /// Ruby's message when there is no manifest.
    #[error("no implicit conversion of nil into String")]
    NoManifest,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::director) enum CloudThing {
    AvailabilityZone,
    VmType,
    VmExtension,
    DiskType,
    Network,
}

impl ManifestError {
    /// The error's number in the event log. Errors without a number have 100.
    pub(in crate::director) fn code(&self) -> u32 {
        match self {
            Self::NotANumberOrPercent(_) | Self::AmountNotCalculable | Self::NoManifest => 100,
            Self::StemcellNeitherNameNorOs(_) | Self::NoJobs(_) => 40001,
            Self::DuplicateStemcellAlias(_) => 50005,
            Self::StemcellBothNameAndOs(_) => 50006,
            Self::NoErrandInstance { .. } => 70001,
            Self::UnreadableAddress(_) => 130_001,
            Self::StaticAddressTaken { .. } => 130_008,
            Self::ReleaseNotSpecified { .. } => 140_001,
            Self::InvalidInstanceState { .. } => 140_007,
            Self::InvalidGroupState { .. } => 140_008,
            Self::NoNetworks(_) => 140_009,
            Self::DuplicateJob { .. } => 140_010,
            Self::SeveralDisks(_) | Self::InvalidDiskSize { .. } => 140_013,
            Self::NoZones(_) => 140_017,
            Self::StateOfIgnored { .. } => 140_021,
            Self::NoVmType(_) | Self::SeveralVmTypes(_) => 140_022,
            Self::StaticAddressCount { .. } | Self::StaticAddressOutside { .. } => 150_002,
            Self::InvalidNetworkDefault { .. } => 150_003,
            Self::SeveralNetworkDefaults { .. } => 150_004,
            Self::NoNetworkDefault { .. } => 150_005,
            Self::NetworkOfOtherZones { .. } => 150_006,
            Self::StaticAddressOfOtherZone { .. } => 150_007,
            Self::RepeatedStaticAddress { .. } => 150_009,
            Self::WatchTimeUnreadable | Self::WatchTimeReversed => 180_001,
            Self::DuplicateRelease(_) => 190_002,
            Self::DuplicateInCloudConfig { what, .. } => what.duplicate_code(),
            Self::DuplicateGroup(_) => 190_006,
            Self::NoNetworksInCloudConfig => 190_008,
            Self::InvalidNetworkType(_) => 190_010,
            Self::SectionOfCloudConfig(_) => 190_014,
            Self::MigratesAndSpecifies { .. } | Self::MigratesTwice { .. } => 190_018,
            Self::DeletesIgnoredInstances { .. } => 190_020,
            Self::DeletesIgnoredGroup(_) | Self::DeletesIgnoredDeployment(_) => 190_021,
            Self::StoppedInstances(_) | Self::FilterOnErrandGroup | Self::NotAnErrand(_) => 510_000,
        }
    }
}

impl CloudThing {
    fn duplicate_code(self) -> u32 {
        match self {
            Self::VmType => 190_004,
            Self::VmExtension => 190_005,
            Self::Network => 190_007,
            Self::DiskType => 190_013,
            Self::AvailabilityZone => 190_017,
        }
    }
}

impl std::fmt::Display for CloudThing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::AvailabilityZone => "az",
            Self::VmType => "vm type",
            Self::VmExtension => "vm extension",
            Self::DiskType => "disk type",
            Self::Network => "network",
        })
    }
}
