//! Rolls back what was written for an operation that was not submitted.

use odb_api_types::{code::Code, kind::OperationKind};
use odb_clients::{ServiceError, director::Deployment, http::Call};
use odb_redaction::Chain;
use secrecy::ExposeSecret;

use super::context::{Context, is_absent};
use crate::{
    configs,
    reconciler::{
        operation::Operation,
        residual_resources::{self, CleanupError},
    },
    records::operation_record::ClientRole,
    secrets::PreviousSecret,
};

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
            residual_resources::remove_without_record(upstreams, &call, instance, client).await
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
    let Operation {
        instance, record, ..
    } = operation;
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
