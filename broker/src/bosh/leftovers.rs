//! What a service instance leaves behind beside its deployment. Whatever is made for an instance and outlives its
//! deployment is removed here, the marker last: with it the instance is forgotten.

use odb_platform::{director::DirectorError, http::Call};

use super::{Neighbours, config_name, deployment};
use crate::{code::Code, config::BoshConfigs, ids::InstanceId, telemetry::Chain};

/// Removes everything that an instance leaves behind. Safe to repeat.
pub(super) async fn remove(
    neighbours: &Neighbours,
    call: &Call,
    instance: &InstanceId,
) -> Result<(), DirectorError> {
    remove_without_marker(neighbours, call, instance).await?;
    tolerate_missing_rights(neighbours.markers.delete(call, instance).await)
}

/// The same but for what is remembered of the instance.
pub(super) async fn remove_without_marker(
    neighbours: &Neighbours,
    call: &Call,
    instance: &InstanceId,
) -> Result<(), DirectorError> {
    match neighbours.configs {
        BoshConfigs::Enabled => {
            tolerate_missing_rights(delete_configs(neighbours, call, instance).await)
        }
        BoshConfigs::Disabled => Ok(()),
    }
}

/// Deletes the configs that the adapter asked for; they carry the deployment's name.
async fn delete_configs(
    neighbours: &Neighbours,
    call: &Call,
    instance: &InstanceId,
) -> Result<(), DirectorError> {
    let (director, name) = (&neighbours.director, config_name(&deployment(instance)));
    for config in director.configs_named(call, &name).await? {
        director.delete_config(call, &config.kind, &name).await?;
    }
    Ok(())
}

/// A client that may not touch configs was warned when the operation began; the instance is gone all the same.
fn tolerate_missing_rights(removed: Result<(), DirectorError>) -> Result<(), DirectorError> {
    match removed {
        Err(error @ DirectorError::NotAllowed { .. }) => {
            tracing::warn!(code = %Code::CleanUp, error = %Chain(&error), "something is left behind that may not be deleted");
            Ok(())
        }
        removed => removed,
    }
}
