//! The changes of an upgrade, computed as an upgrade would do it and without changing anything. The Director is only
//! read: its own dry run leaves deployments behind (`spec/contracts/director-api.md`, "Deploying").

use odb_adapter_sdk::protocol::ManifestText;
use odb_api_types::{code::Code, kind::OperationKind, management::DryRun};
use odb_clients::director::Deployment;
use odb_core::engine::Order;
use odb_redaction::Chain;
use secrecy::ExposeSecret;

use crate::{
    BoshEngine,
    configs::CurrentConfigs,
    deployment::deployment,
    error::Error,
    instance_clients::{CfContext, ClientError, ClientPreview},
    manifest::planned::{Assessment, Planned, PlannedClient},
    orders::{
        current::AtRest,
        preparation::{self, Previous},
        update,
    },
};

/// Returns what an upgrade to the plan would change. An instance with an operation in progress is compared as it was
/// deployed last.
pub(crate) async fn dry_run(engine: &BoshEngine, order: &Order) -> Result<DryRun, Error> {
    let current = deployed_now(engine, order).await?;
    let plan = preparation::plan(engine, &order.plan)?;
    let previous = update::previous(engine, Some(plan), &current);
    let role = previous.client;
    let preview = preview_client(engine, order, &previous).await?;
    let client = match &preview {
        Some(preview) => PlannedClient::of_change(preview.change),
        None => PlannedClient::not_in_hand(role, engine.upstreams.clients.are_defined()),
    };
    let reported = preview.map(|preview| preview.reported);
    let seen = preparation::adapter_plan(engine, plan);
    let generated = preparation::generate(engine, order, &seen, Some(previous), reported).await?;
    let planned = Planned {
        plan: &order.plan,
        manifest: generated.manifest.as_str(),
        configs: &generated.configs.written,
        obsolete_configs: &generated.configs.obsolete,
        secrets: &generated.secrets,
        client,
    };
    let foreseen = planned.compared_with(&current)?;
    Ok(DryRun {
        service_instance_id: order.instance.clone(),
        plan_id: order.plan.clone(),
        needs_deploy: foreseen.assess == Assessment::ToBeDeployed,
        changes: foreseen.changes,
        risks: foreseen.risks,
    })
}

async fn deployed_now(engine: &BoshEngine, order: &Order) -> Result<AtRest, Error> {
    let call = &order.call();
    let director = &engine.upstreams.director;
    let name = deployment(&order.instance);
    let (deployed, stored, configs) = tokio::join!(
        director.deployment(call, &name),
        engine.upstreams.records.read(call, &order.instance),
        CurrentConfigs::read(director, call, &name, engine.upstreams.configs)
    );
    let deployed = deployed.map_err(Error::director("look the deployment up"))?;
    let manifest = match deployed {
        Deployment::Deployed(manifest) => ManifestText::from(manifest.expose_secret()),
        Deployment::ForeignTeam => return Err(Error::Foreign),
        Deployment::Absent | Deployment::NeverDeployed => return Err(Error::NotFound),
    };
    Ok(AtRest {
        manifest,
        stored: stored?.map(Box::new),
        configs: configs.map_err(Error::director("read the instance's configs"))?,
    })
}

/// The client as an upgrade would have it, without touching it.
async fn preview_client(
    engine: &BoshEngine,
    order: &Order,
    previous: &Previous,
) -> Result<Option<ClientPreview>, Error> {
    let (call, clients) = (
        preparation::call_of_preparation(engine, order),
        &engine.upstreams.clients,
    );
    let location = CfContext::of(&order.parameters);
    let preview = clients
        .preview(
            &call,
            &order.instance,
            &location,
            previous.succeeded.as_ref(),
        )
        .await;
    match preview {
        Err(error @ ClientError::SpaceUnknown) => {
            tracing::warn!(code = %Code::InstanceClient, operation = %OperationKind::Upgrade, error = %Chain(&error), "an upgrade would not make a UAA client");
            Ok(None)
        }
        preview => Ok(preview?),
    }
}
