//! The last steps when all tasks have ended: removes what outlives the deployment of a service instance, what an
//! operation has made obsolete, and what was written for an operation that was not submitted.

use odb_api_types::{code::Code, ids::InstanceId, kind::OperationKind};
use odb_clients::{
    ServiceError,
    director::{ConfigType, Deployment},
    http::Call,
};
use odb_config::BoshConfigs;
use odb_redaction::Chain;
use secrecy::ExposeSecret;

use crate::{
    Upstreams, configs,
    error::is_not_allowed,
    instance::{config_name, deployment},
    instance_clients::ClientError,
    reconciler::{
        failure::OperationFailure,
        operation::{Context, Transient, is_absent},
    },
    records::operation_record::ClientRole,
    secrets::PreviousSecret,
};

#[derive(Debug, thiserror::Error)]
pub(crate) enum CleanupError {
    #[error(transparent)]
    Service(#[from] ServiceError),
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
async fn remove_without_record(
    upstreams: &Upstreams,
    call: &Call,
    instance: &InstanceId,
    client: ClientRole,
) -> Result<(), CleanupError> {
    let director = &upstreams.director;
    if upstreams.configs == BoshConfigs::Enabled {
        let name = &config_name(&deployment(instance));
        let removed = async {
            for config in director.configs_named(call, name).await? {
                director.delete_config(call, &config.kind, name).await?;
            }
            Ok(())
        };
        tolerate_missing_rights(removed.await)?;
    }
    upstreams
        .secrets
        .remove_all(call, director, instance)
        .await?;
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
    let call = call_about_client(upstreams, call);
    match clients.delete(&call, instance).await {
        Err(error) if error.is_missing_right() => {
            tracing::warn!(code = %Code::CleanUp, error = %Chain(&error), "the UAA client of the instance remains");
            Ok(())
        }
        deleted => deleted,
    }
}

/// Where clients are not defined an instance is unlikely to have one, and the UAA need not be there: it gets little
/// time.
fn call_about_client(upstreams: &Upstreams, call: &Call) -> Call {
    if upstreams.clients.are_defined() {
        return call.clone();
    }
    Call {
        deadline: call.deadline.within(upstreams.timings.undefined_client),
        ..call.clone()
    }
}

/// A client without the right to change configs was warned when the operation began; the instance is deleted in any
/// case.
fn tolerate_missing_rights(removed: Result<(), ServiceError>) -> Result<(), ServiceError> {
    match removed {
        Err(error) if is_not_allowed(&error) => {
            tracing::warn!(code = %Code::CleanUp, error = %Chain(&error), "some resources remain: the broker has no permission to delete them");
            Ok(())
        }
        removed => removed,
    }
}

/// Deletes the residual resources of an instance; the operation record is last. A server that fails for long ends the
/// operation: its deployment is deleted, and a repeated delete removes the rest.
pub(super) async fn remove_instance(context: &Context) -> Result<(), OperationFailure> {
    let retrier = context.retrier.within(context.upstreams.timings.clean_up);
    let found = context.look_up(&retrier).await;
    if !is_absent(&found.map_err(OperationFailure::unclean)?) {
        return Err(OperationFailure::new(
            "the deployment is still there".to_owned(),
        ));
    }
    let (upstreams, instance) = (&context.upstreams, &context.operation.instance);
    let client = context.operation.record.client;
    let removing = |call| async move { remove(upstreams, &call, instance, client).await };
    let what = "remove what the instance leaves behind";
    let removed = retrier.retry(what, removing).await;
    removed.map_err(OperationFailure::unclean)
}

/// Removes what the operation has made obsolete, and settles the instance's UAA client.
///
/// The outcome is published afterwards: the next operation may be ordered at once, with a config of the same name. What
/// a few attempts do not remove is found obsolete again at the next operation.
pub(super) async fn after_success(context: &Context) {
    delete_obsolete_configs(context).await;
    prune_secrets(context).await;
    settle_client(context).await;
}

/// Deletes the configs that the adapter no longer returns: the deployed manifest does not need them.
async fn delete_obsolete_configs(context: &Context) {
    let (director, name) = (&context.upstreams.director, &context.operation.deployment());
    for (kind, version) in &context.operation.record.obsolete_configs {
        let Ok(kind) = ConfigType::try_from(kind.clone()) else {
            continue;
        };
        let warn = |error: &ServiceError| tracing::warn!(code = %Code::CleanUp, config.r#type = %kind, error = %Chain(error), "could not delete an obsolete config");
        let kind = &kind;
        let delete = || async move {
            configs::delete_obsolete(director, &context.call(), name, kind, version).await
        };
        context.try_often(delete, warn).await;
    }
}

/// Deletes the secrets that the deployed manifest does not refer to. It tries as long as for configs; the next update
/// or the delete removes the rest.
async fn prune_secrets(context: &Context) {
    let deploys = matches!(
        context.operation.kind(),
        OperationKind::Update | OperationKind::Upgrade
    );
    if !deploys || !context.upstreams.secrets.are_kept() {
        return;
    }
    let warn = |error: &CleanupError| tracing::warn!(code = %Code::CleanUp, error = %Chain(error), "could not delete unused secrets");
    context
        .try_often(|| try_to_prune_secrets(context), warn)
        .await;
}

async fn try_to_prune_secrets(context: &Context) -> Result<(), CleanupError> {
    let Upstreams {
        director,
        secrets,
        configs,
        ..
    } = &*context.upstreams;
    let (call, operation) = (context.call(), &context.operation);
    let name = operation.deployment();
    let deployed = director.deployment(&call, &name).await?;
    let Deployment::Deployed(manifest) = deployed else {
        return Ok(());
    };
    let manifest = manifest.expose_secret();
    let unused = secrets.unused(&call, &operation.instance, manifest).await?;
    if unused.is_empty() {
        return Ok(());
    }
    let configs = match configs {
        BoshConfigs::Enabled => director.configs_named(&call, &config_name(&name)).await?,
        BoshConfigs::Disabled => Vec::new(),
    };
    Ok(secrets.prune(&call, &unused, &configs).await?)
}

/// The order is deployed: the secret that the operation gave to a client is in use, and a client that is no longer
/// defined is deleted. Retried as often as configs.
pub(super) async fn settle_client(context: &Context) {
    // The next operation creates another secret for a client whose creation is not known to have succeeded.
    let warn = |error: &ClientError| tracing::warn!(code = %Code::CleanUp, error = %Chain(error), "the UAA client of the instance could not be seen to");
    context
        .try_often(|| try_to_settle_client(context), warn)
        .await;
}

async fn try_to_settle_client(context: &Context) -> Result<(), ClientError> {
    let (clients, operation) = (&context.upstreams.clients, &context.operation);
    let (call, instance) = (context.call(), &operation.instance);
    let redeployed = matches!(
        operation.kind(),
        OperationKind::Update | OperationKind::Upgrade
    );
    let record = &operation.record;
    match record.client {
        ClientRole::Made | ClientRole::Renewed => {
            let is_renewed = record.client == ClientRole::Renewed;
            clients
                .settle(&call, instance, &record.context, is_renewed)
                .await
        }
        ClientRole::Kept if redeployed && !clients.are_defined() => {
            let call = call_about_client(&context.upstreams, &call);
            clients.delete(&call, instance).await
        }
        ClientRole::None | ClientRole::Kept => Ok(()),
    }
}

/// Rolls back an operation of which nothing was submitted: its writes are removed, and the previous record is restored.
pub(super) async fn roll_back(context: &Context) {
    if let Err(error) = try_to_roll_back(context).await {
        tracing::warn!(code = %Code::CleanUp, error = %Chain(&error), "what was written for the operation could not be rolled back");
    }
}

async fn try_to_roll_back(context: &Context) -> Result<(), CleanupError> {
    let (upstreams, operation) = (&context.upstreams, &context.operation);
    if !context.is_latest().await? {
        return Ok(());
    }
    if operation.kind() != OperationKind::Create {
        let restore = |call| async move {
            let (director, name) = (&upstreams.director, &operation.deployment());
            configs::restore(director, &call, name, &operation.record.replaced_configs).await
        };
        context.retrier.retry("take configs back", restore).await?;
        put_secrets_back(context).await?;
        undo_client(context).await;
    } else if is_absent(&context.deployment().await?) {
        let remove = |call| async move {
            let (instance, client) = (&operation.instance, operation.record.client);
            remove_without_record(upstreams, &call, instance, client).await
        };
        let what = "take configs and secrets back";
        context.retrier.retry(what, remove).await?;
    }
    Ok(take_records_back(context).await?)
}

/// Restores the operation record from before the operation. A cancelled operation has two writes.
async fn take_records_back(context: &Context) -> Result<(), ServiceError> {
    let (records, operation) = (&context.upstreams.records, &context.operation);
    let mut latest = operation.stored.clone();
    while let Some(written) = latest {
        let written = &written;
        let roll_back = |call| async move { records.roll_back(&call, written).await };
        context
            .retrier
            .retry("take the operation record back", roll_back)
            .await?;
        let before = context.latest_record().await?.filter(|before| {
            operation.record.context == before.record.context && before.id != *written
        });
        latest = before.map(|before| before.id);
    }
    Ok(())
}

/// Restores secrets, except those in use: if the Director has dropped the tasks of a submitted operation, its secrets
/// stay.
async fn put_secrets_back(context: &Context) -> Result<(), CleanupError> {
    let (secrets, operation) = (&context.upstreams.secrets, &context.operation);
    let mut previous = operation.record.previous_secrets.clone();
    if previous.is_empty() {
        return Ok(());
    }
    if let Deployment::Deployed(manifest) = context.deployment().await? {
        previous = PreviousSecret::not_in_use(&previous, manifest.expose_secret());
    }
    let previous = &previous;
    let put_back =
        |call| async move { secrets.put_back(&call, &operation.instance, previous).await };
    Ok(context.retrier.retry("put secrets back", put_back).await?)
}

/// Undoes the operation's change of the instance's UAA client. A later process only knows whether the client was
/// created: a changed client stays, and the next operation brings it to its definition.
async fn undo_client(context: &Context) {
    let (clients, operation) = (&context.upstreams.clients, &context.operation);
    let (instance, record) = (&operation.instance, &operation.record);
    let undo = async |call: Call| match &operation.client {
        Some(client) => clients.undo(&call, client).await,
        None if record.client == ClientRole::Made => {
            let unmade = clients.unmake(&call, instance, &record.context).await;
            unmade.map(|_| ())
        }
        None => Ok(()),
    };
    if let Err(error) = undo(context.call()).await {
        tracing::warn!(code = %Code::CleanUp, error = %Chain(&error), "what was done to the UAA client of the instance could not be undone");
    }
}
