//! An author's parameters with one of everything.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::num::NonZeroU16;

use odb_adapter_sdk::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};

/// The parameters of a message broker.
#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Parameters {
    /// Shown to people.
    #[schemars(length(min = 2, max = 8), regex(pattern = "^[a-z]+$"))]
    pub(crate) name: String,
    /// How many clients may be connected at once.
    #[schemars(range(min = 1))]
    pub(crate) maxclients: Option<u64>,
    pub(crate) port: Option<NonZeroU16>,
    pub(crate) offset: Option<i32>,
    #[serde(default)]
    pub(crate) persistence: bool,
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    pub(crate) share: Option<f64>,
    pub(crate) eviction: Option<Eviction>,
    pub(crate) retention: Option<Retention>,
    pub(crate) storage: Option<Storage>,
    pub(crate) size: Option<Size>,
    pub(crate) limits: Option<Limits>,
    #[serde(default)]
    #[schemars(length(max = 3))]
    pub(crate) topics: Vec<Topic>,
    #[serde(default)]
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) address: Option<IpAddr>,
    pub(crate) window: Option<(u8, u8)>,
    pub(crate) nested: Option<Box<Tree>>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Eviction {
    Oldest,
    Random,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Retention {
    /// For ever.
    Forever,
    /// So many hours.
    Hours(u8),
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Storage {
    Memory,
    Disk { gigabytes: u16 },
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Size {
    Number(u32),
    Word(Eviction),
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Limits {
    /// In MiB.
    #[schemars(range(min = 16, max = 1024))]
    pub(crate) memory: u32,
    pub(crate) cpu: Option<u8>,
}

/// Other fields are ignored.
#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Topic {
    #[schemars(length(min = 1))]
    pub(crate) name: String,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tree {
    pub(crate) children: Vec<Tree>,
}

/// Parameters of one plan, and those that it shares with others.
#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct WithShared {
    #[serde(flatten)]
    pub(crate) limits: Memory,
    pub(crate) eviction: Eviction,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Memory {
    #[schemars(range(min = 16, max = 1024))]
    pub(crate) memory: u32,
}
