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
    FailureKind, ServiceError,
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
    deployment::{deployment, instance_of},
    error::Error,
    reconciler::reconcilers::Known,
    records::{
        in_flight,
        instance_record::{newer, record_of, view_of_task, without_record},
        operation_records::{FoundRecord, StoredRecord},
        unfinished,
    },
};

/// How many of a deployment's latest tasks are read. One of them changes something, unless clients query the VMs all
/// the time.
pub(crate) const LATEST_TASKS: u32 = 50;

/// Up to this many operation records are read one by one; for more all are read.
const FEW: usize = 32;

/// How many of them are read at the same time.
const LOOKS_AT_ONCE: usize = 8;

/// The records of all instances: one list of deployments, one of operation records.
pub(crate) async fn records(engine: &BoshEngine, call: &Call) -> Result<InstanceRecords, Error> {
    let mut known = engine.reconcilers.all_known();
    let keep = |instance: InstanceId, found| {
        let record = record_with(
            engine,
            &instance,
            Some(found),
            known.remove(&instance).as_ref(),
        );
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
    let mut records: HashMap<_, _> = match records {
        Ok(records) => records,
        Err(error) if matches!(error.kind, FailureKind::NotAllowed { .. }) => HashMap::new(),
        Err(error) => return Err(Error::director("list the operation records")(error)),
    };
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

/// The record of one instance.
pub(crate) async fn record(
    engine: &BoshEngine,
    call: &Call,
    instance: &InstanceId,
) -> Result<InstanceRecord, Error> {
    let known = engine.reconcilers.known(instance);
    let name = deployment(instance);
    let (deployed, found) = tokio::join!(
        engine.upstreams.director.deployment(call, &name),
        engine.upstreams.records.find(call, instance)
    );
    let deployment = match deployed.map_err(Error::director("look the deployment up"))? {
        Deployment::Deployed(_) | Deployment::NeverDeployed => DeploymentPresence::Present,
        Deployment::Absent | Deployment::ForeignTeam => DeploymentPresence::Absent,
    };
    let found = match found {
        Ok(found) => found,
        Err(error) if matches!(error.kind, FailureKind::NotAllowed { .. }) => None,
        Err(error) => {
            return Err(Error::director("read the operation record of the instance")(error));
        }
    };
    Ok(InstanceRecord {
        deployment,
        ..record_with(engine, instance, found, known.as_ref())
    })
}

/// The record of an instance at rest. One that is being made is not there yet; one that is being changed or deleted is
/// busy.
pub(crate) async fn record_at_rest(
    engine: &BoshEngine,
    call: &Call,
    instance: &InstanceId,
) -> Result<InstanceRecord, Error> {
    let director = &engine.upstreams.director;
    let name = deployment(instance);
    let known = engine.reconcilers.known(instance);
    let (deployed, stored, unfinished) = tokio::join!(
        director.deployment(call, &name),
        engine.upstreams.records.read(call, instance),
        unfinished::of(director, call, &name)
    );
    match deployed.map_err(Error::director("look the deployment up"))? {
        Deployment::Deployed(_) => {}
        Deployment::Absent | Deployment::NeverDeployed | Deployment::ForeignTeam => {
            return Err(Error::NotFound);
        }
    }
    let found = stored?.map(|stored| FoundRecord::Own(Box::new(stored)));
    let unfinished = unfinished.map_err(Error::director("look for tasks in progress"))?;
    let record = record_with(engine, instance, found, known.as_ref());
    match record.in_progress().map(|operation| operation.kind) {
        Some(Some(OperationKind::Create)) => Err(Error::NotFound),
        Some(_) => Err(Error::Busy),
        None if !unfinished.is_empty() => Err(Error::Busy),
        None => Ok(record),
    }
}

/// The plan that the instance is on, as far as its operation record knows.
pub(crate) async fn current_plan(
    engine: &BoshEngine,
    call: &Call,
    instance: &InstanceId,
) -> Result<Option<PlanId>, Error> {
    let stored = engine.upstreams.records.read(call, instance).await?;
    Ok(stored.and_then(|stored| stored.record.settled_plan().cloned()))
}

fn record_with(
    engine: &BoshEngine,
    instance: &InstanceId,
    found: Option<FoundRecord>,
    known: Option<&Known>,
) -> InstanceRecord {
    let is_abandoned = matches!(&found, Some(FoundRecord::Own(stored)) if engine.upstreams.abandoned.includes(&stored.record.context));
    record_of(instance, found, known, is_abandoned)
}

/// The occupancy of the instances that this process works on, or has worked on recently.
pub(crate) fn occupied(engine: &BoshEngine) -> Vec<(InstanceId, Occupancy)> {
    engine.reconcilers.occupied()
}

/// The occupancy of all instances, from their operation records. Unreadable records show nothing.
pub(crate) async fn recorded_occupancies(
    engine: &BoshEngine,
    call: &Call,
) -> Result<Vec<(InstanceId, Occupancy)>, Error> {
    let keep = |instance: InstanceId, stored: StoredRecord| {
        let never_began = in_flight::never_began(engine, &instance, &stored.record);
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
    match engine.upstreams.records.own_with(call, keep).await {
        Err(error) if matches!(error.kind, FailureKind::NotAllowed { .. }) => Ok(Vec::new()),
        occupied => occupied.map_err(Error::director("list the operation records")),
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

/// The instances with a deployment at the Director, or a task that may create one. Tasks are read first: one that ends
/// in between leaves its deployment.
pub(crate) async fn present_at_director(
    engine: &BoshEngine,
    call: &Call,
) -> Result<BTreeSet<InstanceId>, Error> {
    let in_progress = in_progress(engine, call).await?;
    let mut present = deployed_instances(engine, call).await?;
    present.extend(in_progress.into_keys());
    Ok(present)
}

/// Whether the Director has a deployment of the instance.
pub(crate) async fn is_deployed(
    engine: &BoshEngine,
    call: &Call,
    instance: &InstanceId,
) -> Result<bool, Error> {
    let director = &engine.upstreams.director;
    let found = director.deployment(call, &deployment(instance)).await;
    match found.map_err(Error::director("look the deployment up"))? {
        Deployment::Deployed(_) | Deployment::NeverDeployed => Ok(true),
        Deployment::Absent => Ok(false),
        Deployment::ForeignTeam => Err(Error::Foreign),
    }
}

/// The records of these instances, of any broker, as far as they have one. Where none can be read, the result is empty.
pub(crate) async fn records_of(
    engine: &BoshEngine,
    call: &Call,
    instances: &BTreeSet<InstanceId>,
) -> Result<HashMap<InstanceId, InstanceRecord>, Error> {
    if instances.len() <= FEW {
        let read = instances.clone().into_iter().map(async |instance| {
            Ok(match ownership(engine, call, &instance).await? {
                Ownership::Recorded(record) => Some((instance, *record)),
                Ownership::Unrecorded | Ownership::Unreadable => None,
            })
        });
        return stream::iter(read)
            .buffered(LOOKS_AT_ONCE)
            .try_filter_map(|found| ready(Ok(found)))
            .try_collect()
            .await;
    }
    let keep = |instance: InstanceId, found| {
        instances.contains(&instance).then(|| {
            let record = owned_record(engine, &instance, found);
            (instance, record)
        })
    };
    match engine.upstreams.records.all_with(call, keep).await {
        Err(error) if matches!(error.kind, FailureKind::NotAllowed { .. }) => {
            warn_unreadable(&error);
            Ok(HashMap::new())
        }
        records => records.map_err(Error::director("list the operation records")),
    }
}

/// The owner of an instance, with its record.
pub(crate) async fn ownership(
    engine: &BoshEngine,
    call: &Call,
    instance: &InstanceId,
) -> Result<Ownership, Error> {
    if engine.upstreams.configs == BoshConfigs::Disabled {
        return Ok(Ownership::Unreadable);
    }
    match engine.upstreams.records.find(call, instance).await {
        Err(error) if matches!(error.kind, FailureKind::NotAllowed { .. }) => {
            warn_unreadable(&error);
            Ok(Ownership::Unreadable)
        }
        Err(error) => Err(Error::director("read the operation record of the instance")(error)),
        Ok(None) => Ok(Ownership::Unrecorded),
        Ok(Some(found)) => Ok(Ownership::Recorded(Box::new(owned_record(
            engine, instance, found,
        )))),
    }
}

/// The record of an instance that only its owner may change.
fn owned_record(engine: &BoshEngine, instance: &InstanceId, found: FoundRecord) -> InstanceRecord {
    match &found {
        FoundRecord::Foreign(Owner::AnotherBroker) => InstanceRecord::of(Owner::AnotherBroker),
        // A record in a newer form, or an unreadable one, must not be acted on.
        FoundRecord::Foreign(Owner::ThisBroker | Owner::Unknown) => {
            InstanceRecord::of(Owner::Unknown)
        }
        FoundRecord::Own(stored)
            if engine
                .upstreams
                .records
                .is_of_another_foundation(&stored.record) =>
        {
            InstanceRecord::of(Owner::AnotherBroker)
        }
        FoundRecord::Own(stored) => {
            let never_began = stored.record.outcome.is_none()
                && in_flight::never_began(engine, instance, &stored.record);
            let mut record = record_with(engine, instance, Some(found), None);
            if never_began {
                record.operation = None;
            }
            record
        }
    }
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
    let newest_last = tasks.iter().filter(|task| unfinished::takes_the_lock(task));
    let operations = newest_last.filter_map(|task| {
        let instance = instance_of(task.deployment.as_ref()?.as_str())?;
        Some((instance, view_of_task(task)))
    });
    Ok(operations.collect())
}

/// The last operation on an instance, as far as it is known without another call.
pub(crate) fn latest_known(
    engine: &BoshEngine,
    instance: &InstanceId,
    record: Option<&InstanceRecord>,
    in_progress: &HashMap<InstanceId, OperationView>,
) -> Option<OperationView> {
    let recorded = recorded_operation(engine, instance, record);
    newer(recorded, in_progress.get(instance).cloned())
}

/// The last operation on an instance, ended or in progress, by this broker or another client of the Director.
pub(crate) async fn latest_operation(
    engine: &BoshEngine,
    call: &Call,
    instance: &InstanceId,
    record: Option<&InstanceRecord>,
) -> Result<Option<OperationView>, Error> {
    let filter = TaskFilter {
        deployment: Some(deployment(instance)),
        limit: Some(LATEST_TASKS),
        ..TaskFilter::default()
    };
    let tasks = engine.upstreams.director.tasks(call, &filter).await;
    let tasks = tasks.map_err(Error::director("list the deployment's tasks"))?;
    let newest = tasks.iter().rfind(|task| unfinished::takes_the_lock(task));
    let by_task = newest.map(view_of_task);
    let began = by_task.as_ref().and_then(|task| task.began);
    let latest = newer(recorded_operation(engine, instance, record), by_task);
    Ok(latest.map(|latest| OperationView {
        began: latest.began.or(began),
        ..latest
    }))
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
            "the Director does not let us read BOSH configs, so that other brokers' deployments cannot be distinguished from unmarked \
             ones; unmarked ones are not deleted until it does"
        );
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_deployments_of_service_instances_hold_one() {
        let held = |name| instance_of(name).map(String::from);
        assert_eq!(held("service-instance_one"), Some("one".to_owned()));
        for other in [
            "cf",
            "service-instance_",
            "my-service-instance_one",
            "service-instance_a b",
        ] {
            assert_eq!(held(other), None, "{other}");
        }
    }
}
