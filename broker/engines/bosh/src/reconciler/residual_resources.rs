//! Removes what outlives the deployment of a service instance: credentials, secrets, configs, the UAA client, and last
//! the operation record, without which the broker no longer knows the instance.

use odb_api_types::{code::Code, ids::InstanceId};
use odb_clients::{FailureKind, ServiceError, http::Call};
use odb_config::BoshConfigs;
use odb_redaction::Chain;

use crate::{
    Upstreams,
    deployment::{config_name, deployment},
    instance_clients::ClientError,
    reconciler::retry::Transient,
    records::operation_record::ClientRole,
};

/// A resource could not be removed.
#[derive(Debug, thiserror::Error)]
pub enum CleanupError {
    /// A call to the Director or to a CredHub failed.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// The UAA client of the instance could not be deleted.
    #[error(transparent)]
    Client(#[from] ClientError),
}

impl Transient for CleanupError {
    fn is_transient(&self) -> bool {
        match self {
            Self::Service(error) => error.is_transient(),
            Self::Client(error) => error.is_transient(),
        }
    }
}

/// Removes all residual resources of an instance. Idempotent.
pub(crate) async fn remove(
    upstreams: &Upstreams,
    call: &Call,
    instance: &InstanceId,
    client: ClientRole,
) -> Result<(), CleanupError> {
    if let Some(bindings) = &upstreams.bindings {
        bindings.remove_all(call, instance).await?;
    }
    remove_without_record(upstreams, call, instance, client).await?;
    tolerate_missing_rights(upstreams.records.delete(call, instance).await)?;
    Ok(())
}

/// The same without bindings and without the operation record.
pub(crate) async fn remove_without_record(
    upstreams: &Upstreams,
    call: &Call,
    instance: &InstanceId,
    client: ClientRole,
) -> Result<(), CleanupError> {
    match upstreams.configs {
        BoshConfigs::Enabled => {
            tolerate_missing_rights(delete_configs(upstreams, call, instance).await)?;
        }
        BoshConfigs::Disabled => {}
    }
    let Upstreams {
        director, secrets, ..
    } = upstreams;
    secrets.remove_all(call, director, instance).await?;
    Ok(delete_client(upstreams, call, instance, client).await?)
}

/// Deletes the UAA client of the instance, unless none exists. It is the last one, so that other servers need not wait
/// for an unresponsive UAA.
async fn delete_client(
    upstreams: &Upstreams,
    call: &Call,
    instance: &InstanceId,
    client: ClientRole,
) -> Result<(), ClientError> {
    let clients = &upstreams.clients;
    if client == ClientRole::None && !clients.are_defined() {
        return Ok(());
    }
    match clients
        .delete(&call_about_client(upstreams, call), instance)
        .await
    {
        Err(error) if error.is_missing_right() => {
            tracing::warn!(code = %Code::CleanUp, error = %Chain(&error), "the UAA client of the instance remains");
            Ok(())
        }
        deleted => deleted,
    }
}

/// Where clients are not defined an instance is unlikely to have one, and the UAA need not be there: it gets little
/// time.
pub(crate) fn call_about_client(upstreams: &Upstreams, call: &Call) -> Call {
    if upstreams.clients.are_defined() {
        return call.clone();
    }
    Call {
        deadline: call.deadline.within(upstreams.timings.undefined_client),
        ..call.clone()
    }
}

/// Deletes the adapter's configs, which have the deployment's name.
async fn delete_configs(
    upstreams: &Upstreams,
    call: &Call,
    instance: &InstanceId,
) -> Result<(), ServiceError> {
    let (director, name) = (&upstreams.director, config_name(&deployment(instance)));
    for config in director.configs_named(call, &name).await? {
        director.delete_config(call, &config.kind, &name).await?;
    }
    Ok(())
}

/// A client without the right to change configs was warned when the operation began; the instance is deleted in any
/// case.
fn tolerate_missing_rights(removed: Result<(), ServiceError>) -> Result<(), ServiceError> {
    match removed {
        Err(
            error @ ServiceError {
                kind: FailureKind::NotAllowed { .. },
                ..
            },
        ) => {
            tracing::warn!(code = %Code::CleanUp, error = %Chain(&error), "some resources remain: the broker has no permission to delete them");
            Ok(())
        }
        removed => removed,
    }
}
