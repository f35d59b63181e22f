use serde::Deserialize;
use serde_json::{Map, Value};

use super::file::DeploymentKeys;
use super::plan::CatalogPlan;

/// The part of a broker's configuration that adapters see. The broker itself checks the rest.
#[derive(Debug, Deserialize)]
pub(super) struct BrokerConfig {
    pub(super) service_deployment: DeploymentKeys,
    pub(super) service_catalog: Catalog,
    #[serde(default)]
    pub(super) broker: Settings,
}

#[derive(Debug, Deserialize)]
pub(super) struct Catalog {
    #[serde(default)]
    pub(super) global_properties: Option<Map<String, Value>>,
    pub(super) plans: Vec<CatalogPlan>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Settings {
    pub(super) use_stdin: Option<bool>,
    pub(super) enable_secure_manifests: Option<bool>,
}
