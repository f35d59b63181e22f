//! Orders that deploy: a new instance, or changes of an existing one.

use async_trait::async_trait;
use jiff::Timestamp;
use odb_adapter_sdk::protocol::{ManifestText, RequestParameters};
use odb_api_types::{code::Code, ids::PlanId, kind::OperationKind, management::DryRun};
use odb_clients::{
    director::{Deployment, SubmitError},
    http::StatusCode,
};
use odb_config::Plan;
use odb_core::engine::{EngineError, Found, Order, Started, Upgraded, Vacancy};
use odb_redaction::Chain;
use serde_json::Map;

use crate::{
    BoshEngine,
    adapter::plan_for_adapter,
    configs::CurrentConfigs,
    error::Error,
    instance::{InFlight, Instance, manifest_of},
    instance_clients::{CfContext, ClientError},
    manifest::{
        difference::ManifestDifference,
        planned::{PlannedClient, foresee},
    },
    orders::{
        self, Prepared, Previous,
        submission::{Work, submit_order},
    },
    records::operation_record::{ClientRole, OperationRecord, Outcome, RecordError, StoredRecord},
    secrets::Unanswered,
};

enum Current {
    AtRest(AtRest),
    /// This very request, in progress.
    SameInProgress(Started),
}

/// An instance on which nothing is in progress.
pub(crate) struct AtRest {
    pub(crate) manifest: ManifestText,
    pub(crate) stored: Option<Box<StoredRecord>>,
    pub(crate) configs: Option<CurrentConfigs>,
}

async fn look_at_current(
    engine: &BoshEngine,
    order: &Order,
    kind: OperationKind,
) -> Result<Current, Error> {
    let call = order.call();
    let instance = Instance::new(engine, &call, &order.instance);
    let (deployed, stored, unfinished, configs) = tokio::join!(
        instance.deployment(),
        instance.stored(),
        instance.unfinished(),
        CurrentConfigs::read(instance)
    );
    let (deployed, stored) = (deployed?, stored?);
    let (unfinished, configs) = (unfinished?, configs?);
    if matches!(deployed, Deployment::NeverDeployed) && !unfinished.is_empty() {
        return Err(Error::Busy);
    }
    let manifest = manifest_of(deployed)?;
    let stored = match instance.in_flight(stored).await? {
        InFlight::OnItsWay { stored, started } => {
            let record = &stored.record;
            let is_same = record.operation == kind && record.digest.matches(order.identity());
            return if is_same {
                Ok(Current::SameInProgress(started))
            } else {
                Err(Error::Busy)
            };
        }
        InFlight::AtRest(stored) => stored.map(Box::new),
    };
    if !unfinished.is_empty() || instance.in_progress().is_some() {
        return Err(Error::Busy);
    }
    Ok(Current::AtRest(AtRest {
        manifest,
        stored,
        configs,
    }))
}

/// Deploys the instance with the order's changes. `from` is its previous plan.
pub(crate) async fn update(
    engine: &BoshEngine,
    order: &Order,
    from: &PlanId,
) -> Result<Started, Error> {
    let current = match look_at_current(engine, order, OperationKind::Update).await? {
        Current::AtRest(current) => current,
        Current::SameInProgress(started) => return Ok(started),
    };
    let plan = engine.offering.plan(from);
    let mut previous = current.as_previous(engine, plan);
    // An adapter that misses a value behind a reference would make a new secret of it, so that an update waits until
    // all that is there can be read.
    let call = orders::call_of_preparation(engine, order);
    let instance = Instance::new(engine, &call, &order.instance);
    let secrets = &engine.upstreams.secrets;
    let resolved = secrets.resolve(instance, current.manifest.as_str(), Unanswered::IsFatal);
    previous.secrets = resolved.await?;
    if !engine.skips_pending_changes_check {
        check_pending_changes(engine, order, plan, previous.clone()).await?;
    }
    let kind = OperationKind::Update;
    let mut prepared = orders::prepare(engine, order, kind, Some(previous)).await?;
    prepared.record.previous_plan = Some(from.clone()).filter(|from| *from != order.plan);
    redeploy(engine, order, &current, prepared).await
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
    let seen = plan_for_adapter(&engine.offering, plan);
    let regenerated =
        orders::generate_manifest(engine, order, seen, nothing, Some(previous), None).await?;
    let difference = ManifestDifference::between(deployed.as_str(), regenerated.manifest.as_str())?;
    if difference.is_empty() {
        Ok(())
    } else {
        Err(Error::PendingChanges { difference })
    }
}

impl AtRest {
    /// The adapter's input about the existing instance, without secrets.
    fn as_previous(&self, engine: &BoshEngine, plan: Option<&Plan>) -> Previous {
        let stored = self.stored.as_deref();
        let succeeded = stored.filter(|stored| {
            let outcome = stored.record.outcome.as_ref();
            outcome.is_some_and(Outcome::is_success)
        });
        Previous {
            client: ClientRole::after(stored),
            succeeded: succeeded.map(|stored| stored.record.context.clone()),
            manifest: self.manifest.clone(),
            plan: plan.map(|plan| plan_for_adapter(&engine.offering, plan)),
            configs: self.configs.as_ref().map(CurrentConfigs::contents),
            secrets: None,
        }
    }
}

/// Deploys the instance again on its plan. Adapters get no secrets (`spec/contracts/adapter-protocol.md` §1.8). The
/// user's earlier choices are in the deployed manifest, from which the adapter takes them; an upgrade applies pending
/// changes (`spec/contracts/broker-behaviour.md` §3.6).
pub(crate) async fn upgrade(engine: &BoshEngine, order: &Order) -> Result<Upgraded, Error> {
    let kind = OperationKind::Upgrade;
    let current = match look_at_current(engine, order, kind).await? {
        Current::AtRest(current) => current,
        Current::SameInProgress(started) => return Ok(Upgraded::Started(started)),
    };
    let plan = orders::plan(engine, &order.plan)?;
    let previous = current.as_previous(engine, Some(plan));
    let prepared = orders::prepare(engine, order, kind, Some(previous)).await?;
    if engine.skips_unchanged_upgrades
        && let Some(stored) = current.stored.as_deref()
        && !needs_deploy(&current, &prepared)
    {
        note_unchanged(engine, order, stored, &prepared.record).await?;
        return Ok(Upgraded::NothingToDo);
    }
    let started = redeploy(engine, order, &current, prepared).await?;
    Ok(Upgraded::Started(started))
}

/// Whether a prepared upgrade changes something. An unreadable manifest is to be replaced.
fn needs_deploy(current: &AtRest, prepared: &Prepared) -> bool {
    let Work::Deploy(generated) = &prepared.work else {
        return true;
    };
    let plan = &prepared.record.plan;
    foresee(plan, generated, prepared.client_change, current)
        .map_or(true, |foreseen| foreseen.needs_deploy)
}

/// Records that the deployed state equals the current target, in one write: the previous operation stays the last one.
/// A recorded target is not written again, although a continued run returns to such an instance.
async fn note_unchanged(
    engine: &BoshEngine,
    order: &Order,
    stored: &StoredRecord,
    prepared: &OperationRecord,
) -> Result<(), Error> {
    tracing::info!("the upgrade would change nothing: nothing is submitted");
    let Some(record) = stored.record.confirmed(prepared, Timestamp::now()) else {
        return Ok(());
    };
    let call = order.call();
    let records = &engine.upstreams.records;
    let written = records.write(&call, &order.instance, record, Some(&stored.id));
    match written.await {
        Ok(_) => Ok(()),
        Err(RecordError::Overtaken) => Err(Error::Busy),
        Err(error) => {
            tracing::warn!(code = %Code::Director, error = %Chain(&error), "could not record that the instance is up to date: the next upgrade checks it again");
            Ok(())
        }
    }
}

async fn redeploy(
    engine: &BoshEngine,
    order: &Order,
    current: &AtRest,
    mut prepared: Prepared,
) -> Result<Started, Error> {
    let stored = current.stored.as_deref();
    let record = &mut prepared.record;
    record.carry_over(stored.map(|stored| &stored.record));
    prepared.note_configs(current.configs.as_ref());
    submit_order(engine, order, prepared, stored).await
}

/// Recreates every VM of the instance with the Director's manifest; the adapter is not called. Post-deploy errands run,
/// too (`spec/contracts/broker-behaviour.md` §6).
pub(crate) async fn recreate(engine: &BoshEngine, order: &Order) -> Result<Started, Error> {
    let plan = orders::plan(engine, &order.plan)?;
    let kind = OperationKind::Recreate;
    let current = match look_at_current(engine, order, kind).await? {
        Current::AtRest(current) => current,
        Current::SameInProgress(started) => return Ok(started),
    };
    let stored = current.stored.as_deref();
    let mut record = OperationRecord::of_order(&engine.offering.id, order, kind);
    record
        .errands
        .clone_from(&plan.lifecycle_errands.post_deploy);
    record.keep(stored);
    let prepared = Prepared::new(record, Work::Recreate);
    match submit_order(engine, order, prepared, stored).await {
        // Another client has deleted it in between.
        Err(
            error @ Error::Submit(SubmitError::Refused {
                status: StatusCode::NOT_FOUND,
                ..
            }),
        ) => {
            let call = order.call();
            let instance = Instance::new(engine, &call, &order.instance);
            manifest_of(instance.deployment().await?).and(Err(error))
        }
        submitted => submitted,
    }
}

/// Returns what an upgrade to the plan would change, computed as an upgrade would do it and without changing anything.
/// The Director is only read: its own dry run leaves deployments behind (`spec/contracts/director-api.md`,
/// "Deploying"). An instance with an operation in progress is compared as it was deployed last.
pub(crate) async fn preview(engine: &BoshEngine, order: &Order) -> Result<DryRun, Error> {
    let call = order.call();
    let instance = Instance::new(engine, &call, &order.instance);
    let (deployed, stored, configs) = tokio::join!(
        instance.deployment(),
        instance.stored(),
        CurrentConfigs::read(instance)
    );
    let current = AtRest {
        manifest: manifest_of(deployed?)?,
        stored: stored?.map(Box::new),
        configs: configs?,
    };
    let plan = orders::plan(engine, &order.plan)?;
    let previous = current.as_previous(engine, Some(plan));
    let clients = &engine.upstreams.clients;
    let location = CfContext::of(&order.parameters);
    let call = orders::call_of_preparation(engine, order);
    let succeeded = previous.succeeded.as_ref();
    let client = match clients
        .preview(&call, instance.id, &location, succeeded)
        .await
    {
        Err(error @ ClientError::SpaceUnknown) => {
            tracing::warn!(code = %Code::InstanceClient, operation = %OperationKind::Upgrade, error = %Chain(&error), "an upgrade would not make a UAA client");
            None
        }
        client => client?,
    };
    let change = PlannedClient::of(client.as_ref(), previous.client, clients.are_defined());
    let reported = client.map(|client| client.for_adapter());
    let seen = plan_for_adapter(&engine.offering, plan);
    let generated = orders::generate(engine, order, seen, Some(previous), reported).await?;
    let foreseen = foresee(&order.plan, &generated, change, &current)?;
    Ok(DryRun {
        service_instance_id: order.instance.clone(),
        plan_id: order.plan.clone(),
        needs_deploy: foreseen.needs_deploy,
        changes: foreseen.changes,
        risks: foreseen.risks,
    })
}

/// An id under which nothing is, or only the operation record of a request that never got to the Director.
#[derive(Debug)]
struct VacantDeployment {
    engine: BoshEngine,
    before: Option<Box<StoredRecord>>,
}

#[async_trait]
impl Vacancy for VacantDeployment {
    async fn create(self: Box<Self>, order: &Order) -> Result<Started, EngineError> {
        let created = create(&self.engine, order, self.before.as_deref()).await;
        created.map_err(Error::of_creation)
    }
}

/// Finds the existing state under the ordered id. An instance with other attributes is an error.
pub(crate) async fn find(engine: &BoshEngine, order: &Order) -> Result<Found, Error> {
    let vacant = |before: Option<StoredRecord>| {
        Found::Vacant(Box::new(VacantDeployment {
            engine: engine.clone(),
            before: before.map(Box::new),
        }))
    };
    let call = order.call();
    let instance = Instance::new(engine, &call, &order.instance);
    let (deployed, stored) = tokio::join!(instance.deployment(), instance.stored());
    let deployed = deployed?;
    if matches!(deployed, Deployment::ForeignTeam) {
        return Err(Error::Foreign);
    }
    let is_absent = matches!(deployed, Deployment::Absent);
    let is_same = |record: &OperationRecord| {
        record.operation == OperationKind::Create && record.digest.matches(order.identity())
    };
    let stored = match instance.in_flight(stored?).await? {
        InFlight::OnItsWay { stored, started } if is_same(&stored.record) => {
            return Ok(Found::InProgress(started));
        }
        InFlight::OnItsWay { stored, .. } if stored.record.operation.deletes() => {
            return Err(Error::Busy);
        }
        InFlight::OnItsWay { .. } => return Err(Error::Taken),
        InFlight::AtRest(stored) => stored,
    };
    match stored {
        None if !is_absent => Err(Error::Taken),
        None if instance.in_progress().is_some() => Err(Error::Busy),
        Some(StoredRecord { record, .. }) if !is_absent => match &record.outcome {
            Some(outcome) if outcome.is_success() && is_same(&record) => Ok(Found::Completed {
                dashboard_url: record.dashboard_url,
                labels: record.labels,
            }),
            Some(_) | None => Err(Error::Taken),
        },
        // An operation record without a deployment belongs to an instance that was removed outside of the broker, or
        // that never existed.
        stored => Ok(vacant(stored)),
    }
}

/// Creates a new instance. Everything that can fail comes before the submission; afterwards a reconciler completes the
/// operation.
async fn create(
    engine: &BoshEngine,
    order: &Order,
    before: Option<&StoredRecord>,
) -> Result<Started, Error> {
    let mut prepared = orders::prepare(engine, order, OperationKind::Create, None).await?;
    prepared.note_configs(Some(&CurrentConfigs::default()));
    submit_order(engine, order, prepared, before).await
}
