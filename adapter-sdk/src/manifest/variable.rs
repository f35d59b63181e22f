use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::FreeMap;

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
