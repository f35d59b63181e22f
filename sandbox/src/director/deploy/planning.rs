//! From the text of a manifest to a plan: with the configs that a call pins, or those of the last deploy.

use std::sync::Arc;

use odb_adapter_sdk::yaml;
use serde_json::Value;

use super::{
    cloud::CloudConfig,
    manifest::Manifest,
    plan::{Dependencies, Plan},
    spec::DeployOptions,
};
use crate::director::{
    Director,
    configs::Config,
    deployments::Deployment,
    ids::{ConfigId, TeamName},
    tasks::TaskFailure,
};

/// Reads a manifest and checks it against what this Director has.
pub(super) fn planned(
    director: &Director,
    document: &Value,
    options: &DeployOptions,
) -> Result<Plan, TaskFailure> {
    let manifest = Manifest::read(document, &options.overrides, options.state.as_ref())?;
    let configs: Vec<Config> = options
        .cloud_configs
        .iter()
        .filter_map(|id| Some(director.inner.configs.find(*id)?.0))
        .collect();
    let (uploads, catalog) = (director.uploads(), director.inner.cpi.catalog());
    let dependencies = Dependencies {
        uploads: &uploads,
        catalog: &catalog,
        cloud: Arc::new(CloudConfig::merged(&configs)?),
    };
    Plan::new(manifest, &dependencies)
}

/// The plan of a deployment as it was deployed last, if it ever was.
pub(super) fn plan_as_deployed(
    director: &Director,
    row: &Deployment,
) -> Result<Option<Plan>, TaskFailure> {
    let Some(manifest) = &row.manifest else {
        return Ok(None);
    };
    let document: Value =
        yaml::from_str(manifest).map_err(|error| TaskFailure::Unexpected(error.to_string()))?;
    let options = DeployOptions {
        cloud_configs: still_there(director, &row.cloud_configs, &row.teams),
        ..DeployOptions::default()
    };
    planned(director, &document, &options).map(Some)
}

/// These configs, or those in force now where one of them has been deleted.
fn still_there(director: &Director, ids: &[ConfigId], teams: &[TeamName]) -> Vec<ConfigId> {
    let is_there = |id: &ConfigId| director.inner.configs.find(*id).is_some();
    if ids.iter().all(is_there) {
        ids.to_vec()
    } else {
        director.inner.config_ids("cloud", teams)
    }
}
