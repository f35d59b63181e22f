//! The records of one, some or all instances, and the Director's running tasks.
//!
//! Reconcilers are read first: the operations that they report as ended are recorded by then, so that the operation
//! records that are read afterwards are not older.

use std::{
    collections::{BTreeSet, HashMap},
    future::ready,
    sync::Once,
};

use futures_util::{StreamExt, TryStreamExt, stream};
use odb_api_types::{
    code::Code,
    ids::{InstanceId, PlanId},
    kind::OperationKind,
    management::{DeploymentPresence, OperationState, Owner},
};
use odb_clients::{
    ServiceError,
    director::{Deployment, TaskFilter, TaskState},
    http::Call,
};
use odb_config::BoshConfigs;
use odb_core::engine::{
    InstanceRecord, InstanceRecords, Occupancy, OccupancyKind, OperationView, Ownership,
};
use odb_redaction::Chain;

use crate::{
    BoshEngine,
    error::{Error, is_not_allowed},
    instance::{Instance, instance_of, manifest_of, takes_the_lock},
    reconciler::{Known, operation::SnapshotState},
    records::{
        last_operation::{self, has_succeeded},
        newer,
        operation_record::{FoundRecord, Outcome, StoredRecord},
        record_of, view_of_task, without_record,
    },
};

/// How many of a deployment's latest tasks are read. One of them changes something, unless clients query the VMs all
/// the time.
pub(crate) const LATEST_TASKS: u32 = 50;

/// Up to this many operation records are read one by one; for more all are read.
const FEW: usize = 32;

const LOOKS_AT_ONCE: usize = 8;

/// The records of all instances: one list of deployments, one of operation records.
pub(crate) async fn records(engine: &BoshEngine, call: &Call) -> Result<InstanceRecords, Error> {
    let mut known = engine.reconcilers.all_known();
    let keep = |instance: InstanceId, found| {
        let looked_at = Instance::new(engine, call, &instance);
        let record = record_with(looked_at, Some(found), known.remove(&instance).as_ref());
        // There may be thousands: no more is kept of each than lists show.
        let record = InstanceRecord {
            dashboard_url: None,
            labels: serde_json::Map::new(),
            ..record
        };
        Some((instance, record))
    };
    let (deployed, records) = tokio::join!(
        engine.upstreams.director.deployments(call),
        engine.upstreams.records.all_with(call, keep)
    );
    let deployed = deployed.map_err(Error::director("list the deployments"))?;
    let mut records: HashMap<_, _> = none_if_unreadable(records)?;
    for (instance, known) in known {
        let record = without_record(Owner::Unknown, Some(&known));
        records.insert(instance, record);
    }
    let deployed = deployed
        .iter()
        .filter_map(|name| instance_of(name.as_str()));
    Ok(InstanceRecords {
        deployed: deployed.collect(),
        records,
    })
}

pub(crate) async fn record(instance: Instance<'_>) -> Result<InstanceRecord, Error> {
    let known = instance.known();
    let records = &instance.engine.upstreams.records;
    let (deployed, found) = tokio::join!(
        instance.deployment(),
        records.find(instance.call, instance.id)
    );
    let deployment = match deployed? {
        Deployment::Deployed(_) | Deployment::NeverDeployed => DeploymentPresence::Present,
        Deployment::Absent | Deployment::ForeignTeam => DeploymentPresence::Absent,
    };
    let found = match found {
        Err(error) if is_not_allowed(&error) => None,
        found => found.map_err(Error::director("read the operation record of the instance"))?,
    };
    Ok(InstanceRecord {
        deployment,
        ..record_with(instance, found, known.as_ref())
    })
}

/// The record of an instance at rest. One that is being made is not there yet; one that is being changed or deleted is
/// busy.
pub(crate) async fn record_at_rest(instance: Instance<'_>) -> Result<InstanceRecord, Error> {
    let known = instance.known();
    let (deployed, stored, unfinished) = tokio::join!(
        instance.deployment(),
        instance.stored(),
        instance.unfinished()
    );
    if !matches!(deployed?, Deployment::Deployed(_)) {
        return Err(Error::NotFound);
    }
    let found = stored?.map(|stored| FoundRecord::Own(Box::new(stored)));
    let unfinished = unfinished?;
    let record = record_with(instance, found, known.as_ref());
    match record.in_progress().map(|operation| operation.kind) {
        Some(Some(OperationKind::Create)) => Err(Error::NotFound),
        Some(_) => Err(Error::Busy),
        None if !unfinished.is_empty() => Err(Error::Busy),
        None => Ok(record),
    }
}

/// Verifies that the instance exists and has no operation in progress.
pub(crate) async fn require_at_rest(instance: Instance<'_>) -> Result<(), Error> {
    if instance.operation_in_progress().await?.is_some() {
        return Err(Error::Busy);
    }
    let (deployed, unfinished) = tokio::join!(instance.deployment(), instance.unfinished());
    if !unfinished?.is_empty() {
        return Err(Error::Busy);
    }
    manifest_of(deployed?).map(|_| ())
}

/// Whether the latest operation on the instance has succeeded, as far as is known.
pub(crate) async fn is_as_ordered(instance: Instance<'_>) -> Result<bool, Error> {
    match instance.known().map(|known| known.snapshot.state) {
        Some(SnapshotState::Ended { outcome, .. }) => return Ok(outcome.is_success()),
        Some(SnapshotState::InProgress(_)) => return Ok(false),
        Some(SnapshotState::NeverSubmitted) | None => {}
    }
    if let Some(stored) = instance.stored().await?
        && !instance.never_began(&stored.record)
    {
        let outcome = stored.record.outcome.as_ref();
        return Ok(outcome.is_some_and(Outcome::is_success));
    }
    Ok(has_succeeded(&last_operation::guess(instance).await?))
}

fn record_with(
    instance: Instance<'_>,
    found: Option<FoundRecord>,
    known: Option<&Known>,
) -> InstanceRecord {
    let abandoned = &instance.engine.upstreams.abandoned;
    let is_abandoned = matches!(&found, Some(FoundRecord::Own(stored)) if abandoned.includes(&stored.record.context));
    record_of(instance.id, found, known, is_abandoned)
}

/// The occupancy of all instances, from their operation records. Unreadable records show nothing.
pub(crate) async fn recorded_occupancies(
    engine: &BoshEngine,
    call: &Call,
) -> Result<Vec<(InstanceId, Occupancy)>, Error> {
    let keep = |instance: InstanceId, stored: StoredRecord| {
        let looked_at = Instance::new(engine, call, &instance);
        let never_began = looked_at.never_began(&stored.record);
        let record = stored.record;
        let state = match &record.outcome {
            _ if never_began => OperationState::Failed,
            None => OperationState::InProgress,
            Some(outcome) if outcome.is_success() => OperationState::Succeeded,
            Some(_) => OperationState::Failed,
        };
        let plan = if never_began {
            record.settled_plan().cloned()
        } else {
            Some(record.plan).filter(PlanId::is_known)
        };
        let occupancy = Occupancy {
            plan,
            kind: OccupancyKind::of(record.operation, state),
            since: None,
        };
        Some((instance, occupancy))
    };
    none_if_unreadable(engine.upstreams.records.own_with(call, keep).await)
}

/// Where operation records cannot be read, there are none.
fn none_if_unreadable<C: Default>(records: Result<C, ServiceError>) -> Result<C, Error> {
    match records {
        Err(error) if is_not_allowed(&error) => Ok(C::default()),
        records => records.map_err(Error::director("list the operation records")),
    }
}

/// The instances of which the Director has a deployment that we may see, whichever broker made it.
pub(crate) async fn deployed_instances(
    engine: &BoshEngine,
    call: &Call,
) -> Result<BTreeSet<InstanceId>, Error> {
    let deployments = engine.upstreams.director.deployments(call).await;
    let deployments = deployments.map_err(Error::director("list the deployments"))?;
    Ok(deployments
        .iter()
        .filter_map(|name| instance_of(name.as_str()))
        .collect())
}

/// The records of these instances, of any broker, as far as they have one. Where none can be read, the result is empty.
pub(crate) async fn records_of(
    engine: &BoshEngine,
    call: &Call,
    instances: &BTreeSet<InstanceId>,
) -> Result<HashMap<InstanceId, InstanceRecord>, Error> {
    if instances.len() <= FEW {
        let read = instances.clone().into_iter().map(async |instance| {
            Ok(
                match ownership(Instance::new(engine, call, &instance)).await? {
                    Ownership::Recorded(record) => Some((instance, *record)),
                    Ownership::Unrecorded | Ownership::Unreadable => None,
                },
            )
        });
        return stream::iter(read)
            .buffered(LOOKS_AT_ONCE)
            .try_filter_map(|found| ready(Ok(found)))
            .try_collect()
            .await;
    }
    let keep = |instance: InstanceId, found| {
        instances.contains(&instance).then(|| {
            let record = owned_record(Instance::new(engine, call, &instance), found);
            (instance, record)
        })
    };
    let records = engine.upstreams.records.all_with(call, keep).await;
    if let Err(error) = &records
        && is_not_allowed(error)
    {
        warn_unreadable(error);
    }
    none_if_unreadable(records)
}

/// The owner of an instance, with its record.
pub(crate) async fn ownership(instance: Instance<'_>) -> Result<Ownership, Error> {
    let Instance { engine, call, id } = instance;
    if engine.upstreams.configs == BoshConfigs::Disabled {
        return Ok(Ownership::Unreadable);
    }
    match engine.upstreams.records.find(call, id).await {
        Err(error) if is_not_allowed(&error) => {
            warn_unreadable(&error);
            Ok(Ownership::Unreadable)
        }
        Err(error) => Err(Error::director("read the operation record of the instance")(error)),
        Ok(None) => Ok(Ownership::Unrecorded),
        Ok(Some(found)) => {
            let record = owned_record(instance, found);
            Ok(Ownership::Recorded(Box::new(record)))
        }
    }
}

/// The record of an instance that only its owner may change.
fn owned_record(instance: Instance<'_>, found: FoundRecord) -> InstanceRecord {
    let stored = match &found {
        FoundRecord::Own(stored) => stored,
        FoundRecord::Foreign(Owner::AnotherBroker) => {
            return InstanceRecord::of(Owner::AnotherBroker);
        }
        // A record in a newer form, or an unreadable one, must not be acted on.
        FoundRecord::Foreign(Owner::ThisBroker | Owner::Unknown) => {
            return InstanceRecord::of(Owner::Unknown);
        }
    };
    let records = &instance.engine.upstreams.records;
    if records.is_of_another_foundation(&stored.record) {
        return InstanceRecord::of(Owner::AnotherBroker);
    }
    let never_began = stored.record.outcome.is_none() && instance.never_began(&stored.record);
    let mut record = record_with(instance, Some(found), None);
    if never_began {
        record.operation = None;
    }
    record
}

/// The Director's operations in progress, by instance: one call for all.
pub(crate) async fn in_progress(
    engine: &BoshEngine,
    call: &Call,
) -> Result<HashMap<InstanceId, OperationView>, Error> {
    let filter = TaskFilter {
        states: TaskState::unfinished(),
        ..TaskFilter::default()
    };
    let tasks = engine.upstreams.director.tasks(call, &filter).await;
    let tasks = tasks.map_err(Error::director("list the tasks in progress"))?;
    let newest_last = tasks.iter().filter(|task| takes_the_lock(task));
    let operations = newest_last.filter_map(|task| {
        let instance = instance_of(task.deployment.as_ref()?.as_str())?;
        Some((instance, view_of_task(task)))
    });
    Ok(operations.collect())
}

/// The last operation on an instance, ended or in progress, by this broker or another client of the Director.
pub(crate) async fn latest_operation(
    instance: Instance<'_>,
    record: Option<&InstanceRecord>,
) -> Result<Option<OperationView>, Error> {
    let tasks = instance.tasks(Some(LATEST_TASKS)).await?;
    let newest = tasks.iter().rfind(|task| takes_the_lock(task));
    let by_task = newest.map(view_of_task);
    let began = by_task.as_ref().and_then(|task| task.began);
    let recorded = recorded_operation(instance.engine, instance.id, record);
    Ok(newer(recorded, by_task).map(|latest| OperationView {
        began: latest.began.or(began),
        ..latest
    }))
}

/// The last operation on each of these instances, as far as it is known without a call for each.
pub(crate) async fn latest_known(
    engine: &BoshEngine,
    call: &Call,
    instances: &BTreeSet<InstanceId>,
    records: &HashMap<InstanceId, InstanceRecord>,
) -> Result<HashMap<InstanceId, OperationView>, Error> {
    let mut by_task = in_progress(engine, call).await?;
    let latest = instances.iter().filter_map(|instance| {
        let recorded = recorded_operation(engine, instance, records.get(instance));
        let latest = newer(recorded, by_task.remove(instance))?;
        Some((instance.clone(), latest))
    });
    Ok(latest.collect())
}

/// The operation from this process or from an operation record.
fn recorded_operation(
    engine: &BoshEngine,
    instance: &InstanceId,
    record: Option<&InstanceRecord>,
) -> Option<OperationView> {
    if let Some(known) = engine.reconcilers.in_progress(instance) {
        return Some(known.view());
    }
    let mut operation = record?.operation.clone()?;
    if operation.description.is_none() {
        let noun = operation.kind.map(OperationKind::noun);
        operation.description = noun.map(|noun| format!("Instance {noun} in progress"));
    }
    Some(operation)
}

/// Logs once that operation records cannot be read.
fn warn_unreadable(error: &ServiceError) {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        tracing::warn!(
            code = %Code::MarksUnreadable,
            error = %Chain(error),
            "the Director does not permit the broker to read BOSH configs, so that other brokers' deployments cannot be distinguished from unmarked \
             ones; unmarked ones are not deleted until it does"
        );
    });
}
