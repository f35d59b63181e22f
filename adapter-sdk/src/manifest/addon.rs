use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FreeMap, Job};
use crate::redaction::shows_only;

/// Jobs that are put on VMs across instance groups.
#[derive(Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Addon {
    /// Name.
    pub name: String,
    /// The jobs.
    #[serde(default)]
    pub jobs: Vec<Job>,
    /// Properties for jobs that have no properties of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub properties: Option<FreeMap>,
    /// Where the jobs are put.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include: Option<PlacementRule>,
    /// Where they are not put.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclude: Option<PlacementRule>,
    /// Keys that the model does not know.
    #[serde(flatten)]
    pub other: FreeMap,
}

// Properties may hold secrets and are not shown.
shows_only!(Addon { name, jobs });

/// Which VMs an addon is for.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct PlacementRule {
    /// Those of these operating systems.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stemcell: Option<Vec<PlacementStemcell>>,
    /// Those of these deployments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployments: Option<Vec<String>>,
    /// Those that run these jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jobs: Option<Vec<FreeMap>>,
    /// Those of these instance groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_groups: Option<Vec<String>>,
    /// Those on these networks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub networks: Option<Vec<String>>,
    /// Those of these teams' deployments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub teams: Option<Vec<String>>,
    /// Those in these availability zones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub azs: Option<Vec<String>>,
    /// Those of instance groups with this lifecycle: `service` or `errand`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifecycle: Option<String>,
    /// Keys that the model does not know.
    #[serde(flatten)]
    pub other: FreeMap,
}

/// The operating system of a stemcell.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct PlacementStemcell {
    /// Its name, such as `ubuntu-jammy`.
    pub os: String,
    /// Keys that the model does not know.
    #[serde(flatten)]
    pub other: FreeMap,
}
