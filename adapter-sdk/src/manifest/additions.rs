use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FreeMap, Job};
use crate::redaction::shows_only;

/// A value that the Director has generated.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Variable {
    /// Name, referred to as `((name))`.
    pub name: String,
    /// Type, such as `password` or `certificate`.
    #[serde(rename = "type", default)]
    pub variable_type: String,
    /// When a new value is generated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_mode: Option<UpdateMode>,
    /// Options of the type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<FreeMap>,
    /// Links that a certificate takes its names from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumes: Option<VariableConsumes>,
    /// When instances see a new value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update: Option<VariableUpdate>,
    /// Keys that the model does not know.
    #[serde(flatten)]
    pub other: FreeMap,
}

impl Variable {
    /// A variable of that name and type.
    pub fn new(name: impl Into<String>, variable_type: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            variable_type: variable_type.into(),
            ..Self::default()
        }
    }
}

/// When a variable gets a new value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "String", into = "String")]
#[schemars(extend("examples" = ["no-overwrite", "overwrite", "converge"]))]
pub enum UpdateMode {
    /// `no-overwrite`: never.
    NoOverwrite,
    /// `overwrite`: at each deployment.
    Overwrite,
    /// `converge`: when its options change.
    Converge,
    /// Something that the model does not know.
    Unknown(String),
}

words!(UpdateMode { NoOverwrite = "no-overwrite", Overwrite = "overwrite", Converge = "converge" });

/// Links that a certificate takes its names from.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct VariableConsumes {
    /// Link for its alternative names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alternative_name: Option<VariableLink>,
    /// Link for its common name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub common_name: Option<VariableLink>,
    /// Keys that the model does not know.
    #[serde(flatten)]
    pub other: FreeMap,
}

/// A link that a variable takes a name from.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct VariableLink {
    /// Name of the provider.
    pub from: String,
    /// Type of the link, where it is not `address`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_type: Option<String>,
    /// Options of the name, such as `wildcard: true`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub properties: Option<FreeMap>,
    /// Keys that the model does not know.
    #[serde(flatten)]
    pub other: FreeMap,
}

impl VariableLink {
    /// The link of that provider.
    pub fn from(provider: impl Into<String>) -> Self {
        Self {
            from: provider.into(),
            ..Self::default()
        }
    }
}

/// When instances see the new value of a variable.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct VariableUpdate {
    /// `on-deploy` or `on-stemcell-change`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<String>,
    /// Keys that the model does not know.
    #[serde(flatten)]
    pub other: FreeMap,
}

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
