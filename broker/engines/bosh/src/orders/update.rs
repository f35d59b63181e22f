//! An instance with other parameters, or on another plan.

use odb_adapter_sdk::protocol::{RequestParameters, Secrets};
use odb_api_types::{ids::PlanId, kind::OperationKind};
use odb_config::Plan;
use odb_core::engine::{Order, Started};
use serde_json::Map;

use crate::{
    BoshEngine, Upstreams,
    configs::CurrentConfigs,
    deployment::deployment,
    error::Error,
    manifest::difference::ManifestDifference,
    orders::{
        current::{self, AtRest, Current},
        preparation::{self, Previous},
        upgrade,
    },
    records::operation_record::{ClientRole, Outcome},
    secrets::Unanswered,
};

/// Deploys the instance with the order's changes. `from` is its previous plan.
pub(crate) async fn update(
    engine: &BoshEngine,
    order: &Order,
    from: &PlanId,
) -> Result<Started, Error> {
    let current = match current::look_at_current(engine, order, OperationKind::Update).await? {
        Current::AtRest(current) => current,
        Current::SameInProgress(started) => return Ok(started),
    };
    let plan = engine.offering.plan(from);
    let previous = Previous {
        secrets: secrets_of(engine, order, &current).await?,
        ..previous(engine, plan, &current)
    };
    if !engine.skips_pending_changes_check {
        check_pending_changes(engine, order, plan, previous.clone()).await?;
    }
    let mut prepared =
        preparation::prepare(engine, order, OperationKind::Update, Some(previous)).await?;
    prepared.record.previous_plan = Some(from.clone()).filter(|from| *from != order.plan);
    upgrade::redeploy(engine, order, current, prepared).await
}

/// Verifies that the adapter would generate the deployed manifest, so that the user changes only what the request names
/// (`spec/contracts/broker-behaviour.md` §3.7).
async fn check_pending_changes(
    engine: &BoshEngine,
    order: &Order,
    plan: Option<&Plan>,
    previous: Previous,
) -> Result<(), Error> {
    let Some(plan) = plan else {
        tracing::warn!(
            "the instance's plan is not in the configuration: cannot find pending changes"
        );
        return Ok(());
    };
    let nothing = RequestParameters::from_fields(Map::new());
    let deployed = previous.manifest.clone();
    let regenerated = preparation::generate_manifest(
        engine,
        order,
        &preparation::adapter_plan(engine, plan),
        nothing,
        Some(previous),
        None,
    )
    .await?;
    let difference = ManifestDifference::between(deployed.as_str(), regenerated.manifest.as_str())?;
    if difference.is_empty() {
        Ok(())
    } else {
        Err(Error::PendingChanges { difference })
    }
}

/// The adapter's input about the existing instance.
pub(crate) fn previous(engine: &BoshEngine, plan: Option<&Plan>, current: &AtRest) -> Previous {
    let stored = current.stored.as_deref();
    let succeeded = stored.filter(|stored| {
        let outcome = stored.record.outcome.as_ref();
        outcome.is_some_and(Outcome::is_success)
    });
    Previous {
        client: ClientRole::after(stored),
        succeeded: succeeded.map(|stored| stored.record.context.clone()),
        manifest: current.manifest.clone(),
        plan: plan.map(|plan| preparation::adapter_plan(engine, plan)),
        configs: current.configs.as_ref().map(CurrentConfigs::contents),
        secrets: None,
    }
}

/// The values behind the references of the deployed manifest. An adapter that misses one would make a new secret of it,
/// so that an update waits until all that is there can be read.
async fn secrets_of(
    engine: &BoshEngine,
    order: &Order,
    current: &AtRest,
) -> Result<Option<Secrets>, Error> {
    let Upstreams {
        director, secrets, ..
    } = &*engine.upstreams;
    let (call, name) = (
        preparation::call_of_preparation(engine, order),
        deployment(&order.instance),
    );
    let manifest = current.manifest.as_str();
    let resolved = secrets.resolve(&call, director, &name, manifest, Unanswered::IsFatal);
    Ok(resolved.await?)
}
