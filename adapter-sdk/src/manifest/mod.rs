//! The BOSH manifest (`spec/contracts/adapter-protocol.md`, "The SDK's BOSH manifest type", with the Director's further
//! members).
//!
//! Reading a manifest and writing it again loses nothing: unknown keys are kept at every level, in `other`, and free
//! maps such as `properties` keep the order of their keys. Known keys are written in the order of their fields here. If
//! a missing list and an empty one differ for the Director or for the broker's check for pending changes, the field is
//! an `Option`. A known key that is explicitly null counts as missing.
//!
//! | file | contents |
//! | --- | --- |
//! | here | the manifest, releases, stemcells, features, update blocks |
//! | `instance_group` | instance groups, their networks and disks |
//! | `job` | jobs and their links |
//! | `additions` | variables and addons |
//! | `mapping` | from a plan's instance groups and releases to those of a manifest |
//! | `builder` | from a call to a complete manifest |
//! | `job_property` | one property of a job: its location, for writing and reading |

/// Reads and writes words of the Director, known or not.
macro_rules! words {
    ($type:ident { $($variant:ident = $word:literal),+ }) => {
        impl From<String> for $type {
            fn from(word: String) -> Self {
                match word.as_str() {
                    $($word => Self::$variant,)+
                    _ => Self::Unknown(word),
                }
            }
        }

        impl From<$type> for String {
            fn from(word: $type) -> Self {
                match word {
                    $($type::$variant => $word.to_owned(),)+
                    $type::Unknown(word) => word,
                }
            }
        }
    };
}

mod additions;
mod builder;
mod instance_group;
mod job;
mod job_property;
mod mapping;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::protocol::{self, MaxInFlight, PlanUpdate, ServiceRelease};
use crate::redaction::shows_only;

pub use self::additions::{
    Addon, PlacementRule, PlacementStemcell, UpdateMode, Variable, VariableConsumes, VariableLink,
    VariableUpdate,
};
pub use self::builder::{JobBuilder, ManifestBuilder, ManifestBuilderError, StemcellChoice};
pub use self::instance_group::{InstanceGroup, MigratedFrom, Network, PersistentDisk, VmResources};
pub use self::job::{
    ConsumedLink, CustomProviderDefinition, Job, Link, LinkAlias, LinkInstance, ProvidedLink,
};
pub(crate) use self::job_property::decoded;
pub use self::job_property::{JobProperty, JobPropertyError, SetPropertyError};
pub use self::mapping::{
    JobReleaseError, JobsByGroup, MapInstanceGroupsError, find_release_for_job, map_instance_groups,
};

/// Keys that the model does not know, or maps of no fixed shape.
pub type FreeMap = Map<String, Value>;

/// A deployment manifest.
#[derive(Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Manifest {
    /// Jobs that are put on VMs across instance groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub addons: Option<Vec<Addon>>,
    /// Name of the deployment.
    pub name: String,
    /// Releases to take jobs from.
    #[serde(default)]
    pub releases: Vec<Release>,
    /// Stemcells to make VMs of.
    #[serde(default)]
    pub stemcells: Vec<Stemcell>,
    /// The instance groups.
    #[serde(default)]
    pub instance_groups: Vec<InstanceGroup>,
    /// How instances are updated. The Director refuses a manifest without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update: Option<Update>,
    /// Global properties, deprecated in BOSH.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub properties: Option<FreeMap>,
    /// Values that the Director has generated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variables: Option<Vec<Variable>>,
    /// Tags for every VM and disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<FreeMap>,
    /// The features of the Director for this deployment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<Features>,
    /// Keys that the model does not know.
    #[serde(flatten)]
    pub other: FreeMap,
}

// Properties may hold secrets and are not shown.
shows_only!(Manifest {
    name,
    instance_groups
});

impl Manifest {
    /// The instance group of that name.
    pub fn instance_group(&self, name: &str) -> Option<&InstanceGroup> {
        self.instance_groups.iter().find(|group| group.name == name)
    }
}

/// A release in a manifest.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Release {
    /// Name.
    pub name: String,
    /// Exact version.
    #[serde(default)]
    pub version: String,
    /// Keys that the model does not know, such as the command line's `url`, `sha1` and `stemcell`.
    #[serde(flatten)]
    pub other: FreeMap,
}

impl Release {
    /// A release of that name and version.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            other: FreeMap::new(),
        }
    }
}

impl From<&ServiceRelease> for Release {
    fn from(release: &ServiceRelease) -> Self {
        Self::new(&release.name, &release.version)
    }
}

/// A stemcell in a manifest, by operating system or by name.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Stemcell {
    /// The alias for instance groups.
    pub alias: String,
    /// Operating system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub os: Option<String>,
    /// Exact version.
    #[serde(default)]
    pub version: String,
    /// Name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Keys that the model does not know.
    #[serde(flatten)]
    pub other: FreeMap,
}

impl Stemcell {
    /// A stemcell of a service deployment under an alias: by its name if it has one, because a Director rejects a
    /// stemcell with both, otherwise by its operating system.
    pub fn of(alias: impl Into<String>, stemcell: &protocol::Stemcell) -> Self {
        Self {
            alias: alias.into(),
            os: Some(stemcell.os.clone()).filter(|os| !os.is_empty() && stemcell.name.is_none()),
            version: stemcell.version.clone(),
            name: stemcell.name.clone(),
            other: FreeMap::new(),
        }
    }
}

/// The features of the Director for a deployment.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Features {
    /// Whether links hold DNS addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub use_dns_addresses: Option<bool>,
    /// Whether instances are placed on availability zones at random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub randomize_az_placement: Option<bool>,
    /// Whether DNS addresses in links are short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub use_short_dns_addresses: Option<bool>,
    /// Any further feature.
    #[serde(flatten)]
    pub other: FreeMap,
}

/// How instances are updated. Inside an instance group each key may be left out, in the manifest's
/// own block the first four must be there.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Update {
    /// How many instances are updated before all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canaries: Option<u32>,
    /// How long the Director watches canaries, in milliseconds, as `from-to`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary_watch_time: Option<String>,
    /// How long the Director watches the others, in milliseconds, as `from-to`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_watch_time: Option<String>,
    /// How many instances are updated at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_in_flight: Option<MaxInFlight>,
    /// Whether instance groups are updated one after the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<bool>,
    /// In which order VMs are replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vm_strategy: Option<VmStrategy>,
    /// How availability zones take part in the first deployment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_deploy_az_update_strategy: Option<InitialDeployAzUpdateStrategy>,
    /// Keys that the model does not know.
    #[serde(flatten)]
    pub other: FreeMap,
}

impl From<&PlanUpdate> for Update {
    fn from(update: &PlanUpdate) -> Self {
        let stated = |time: &String| Some(time.clone()).filter(|time| !time.is_empty());
        Self {
            canaries: Some(update.canaries),
            canary_watch_time: stated(&update.canary_watch_time),
            update_watch_time: stated(&update.update_watch_time),
            max_in_flight: Some(update.max_in_flight.clone()),
            serial: update.serial,
            vm_strategy: None,
            initial_deploy_az_update_strategy: update
                .initial_deploy_az_update_strategy
                .clone()
                .map(InitialDeployAzUpdateStrategy::from),
            other: FreeMap::new(),
        }
    }
}

/// In which order a VM is replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "String", into = "String")]
#[schemars(extend("examples" = ["delete-create", "create-swap-delete"]))]
pub enum VmStrategy {
    /// `delete-create`: the Director deletes the old VM first.
    DeleteCreate,
    /// `create-swap-delete`: the new one comes first.
    CreateSwapDelete,
    /// Something that the model does not know.
    Unknown(String),
}

words!(VmStrategy { DeleteCreate = "delete-create", CreateSwapDelete = "create-swap-delete" });

/// How availability zones take part in the first deployment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "String", into = "String")]
#[schemars(extend("examples" = ["serial", "parallel"]))]
pub enum InitialDeployAzUpdateStrategy {
    /// `serial`: one after the other.
    Serial,
    /// `parallel`: all at once.
    Parallel,
    /// Something that the model does not know.
    Unknown(String),
}

words!(InitialDeployAzUpdateStrategy { Serial = "serial", Parallel = "parallel" });
