//! The last steps when all tasks have ended.

use odb_api_types::{code::Code, kind::OperationKind};
use odb_clients::{
    ServiceError,
    director::{ConfigType, Deployment},
};
use odb_config::BoshConfigs;
use odb_redaction::Chain;
use secrecy::ExposeSecret;

use super::{
    context::{Context, is_absent},
    failure::OperationFailure,
};
use crate::{
    Upstreams, configs,
    deployment::config_name,
    instance_clients::{ClientError, Making},
    reconciler::residual_resources::{self, CleanupError},
    records::operation_record::ClientRole,
};

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
    let remove =
        |call| async move { residual_resources::remove(upstreams, &call, instance, client).await };
    let what = "remove what the instance leaves behind";
    let removed = retrier.retry(what, remove).await;
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
        ClientRole::Made => {
            let making = Making::New;
            clients
                .settle(&call, instance, &record.context, making)
                .await
        }
        ClientRole::Renewed => {
            let making = Making::Renewed;
            clients
                .settle(&call, instance, &record.context, making)
                .await
        }
        ClientRole::Kept if redeployed && !clients.are_defined() => {
            let call = residual_resources::call_about_client(&context.upstreams, &call);
            clients.delete(&call, instance).await
        }
        ClientRole::None | ClientRole::Kept => Ok(()),
    }
}
