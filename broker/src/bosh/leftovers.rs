//! What a service instance leaves behind on the Director beside its deployment.

use odb_platform::{
    director::{DeploymentName, Director, DirectorError},
    http::Call,
};

use super::config_name;

/// Deletes the configs that the adapter asked for; they carry the deployment's name.
pub(super) async fn delete_configs(
    director: &Director,
    call: &Call,
    deployment: &DeploymentName,
) -> Result<(), DirectorError> {
    let name = config_name(deployment);
    for config in director.configs_named(call, &name).await? {
        director.delete_config(call, &config.kind, &name).await?;
    }
    Ok(())
}
