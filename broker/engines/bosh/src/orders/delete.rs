//! The end of a service instance.

use odb_adapter_sdk::protocol::LifecycleErrand;
use odb_api_types::{ids::PlanId, kind::OperationKind};
use odb_clients::{
    director::{ContextId, Deployment, DeploymentName, SubmitError, Task, TaskId},
    http::{Call, StatusCode},
};
use odb_core::engine::{Deleted, Deletion, Order, Origin, Started};
use odb_redaction::Chain;

use crate::{
    BoshEngine,
    deployment::{deployment, force, of_context},
    error::Error,
    orders::{preparation::Prepared, submission::Work, submit_order},
    reconciler::{
        operation::{Begun, Operation, UNKNOWN_TASK},
        residual_resources,
    },
    records::{
        in_flight::{self, InFlight},
        operation_record::{ClientRole, CutShort, NewRecord, OperationRecord},
        operation_records::{StoredRecord, WriteRecordError},
        unfinished,
    },
};

/// Which delete is begun.
#[derive(Clone, Copy, Debug)]
struct DeleteRequest {
    kind: OperationKind,
    origin: Origin,
}

/// The state to delete.
enum Deployed {
    /// A deployment that has been deployed.
    Yes,
    /// No deploy of the deployment has succeeded.
    Never,
    /// None.
    Absent,
}

/// Runs the plan's errands and deletes the instance, then its residual resources. A creation in progress is stopped
/// first.
///
/// Without a known plan no errands are run. `origin` is kept in the operation record.
pub(crate) async fn delete(
    engine: &BoshEngine,
    order: &Order,
    deletion: Deletion,
    origin: Origin,
) -> Result<Deleted, Error> {
    let request = DeleteRequest {
        kind: deletion.kind(),
        origin,
    };
    match try_to_delete(engine, order, request).await {
        // The operation to cut short has just ended.
        Err(Error::OperationRecord(WriteRecordError::Overtaken)) => {
            match try_to_delete(engine, order, request).await {
                Err(Error::OperationRecord(WriteRecordError::Overtaken)) => Err(Error::Busy),
                deleted => deleted,
            }
        }
        deleted => deleted,
    }
}

async fn try_to_delete(
    engine: &BoshEngine,
    order: &Order,
    request: DeleteRequest,
) -> Result<Deleted, Error> {
    let call = order.call();
    let name = deployment(&order.instance);
    let (stored, unfinished) = tokio::join!(
        engine.upstreams.records.read(&call, &order.instance),
        unfinished::of(&engine.upstreams.director, &call, &name)
    );
    let stored = stored?;
    let unfinished = unfinished.map_err(Error::director("look for tasks in progress"))?;

    if let Some(stored) = &stored
        && stored.record.outcome.is_none()
        && stored.record.operation == OperationKind::Create
        && !in_flight::never_began(engine, &order.instance, &stored.record)
    {
        let context = stored.record.context.clone();
        let started = cut_short(engine, order, request, context, &unfinished, Some(stored));
        return started.await.map(Deleted::Started);
    }
    let stored = match in_flight::in_flight(engine, &call, &order.instance, stored).await? {
        InFlight::OnItsWay { stored, started } if stored.record.operation.deletes() => {
            return Ok(Deleted::Started(started));
        }
        InFlight::OnItsWay { .. } => return Err(Error::Busy),
        InFlight::AtRest(stored) => stored,
    };
    if let Some(known) = engine.reconcilers.in_progress(&order.instance) {
        let kind = known.operation.kind();
        return match known.started {
            _ if kind == OperationKind::Create => {
                let context = known.operation.record.context.clone();
                let before = stored.as_ref();
                let started = cut_short(engine, order, request, context, &unfinished, before);
                started.await.map(Deleted::Started)
            }
            Some(started) if kind.deletes() => Ok(Deleted::Started(started)),
            Some(_) | None => Err(Error::Busy),
        };
    }
    if !unfinished.is_empty() {
        return Err(Error::Busy);
    }
    let errands = match deployed(engine, &call, &name, stored.as_ref()).await? {
        Deployed::Yes => errands_before_delete(engine, &order.plan),
        Deployed::Never => Vec::new(),
        Deployed::Absent => return remove_residual_resources(engine, order, stored.as_ref()).await,
    };
    match start_delete(engine, order, request, errands, stored.as_ref()).await {
        Err(
            error @ Error::Submit(SubmitError::Refused {
                status: StatusCode::NOT_FOUND,
                ..
            }),
        ) if is_gone(engine, &call, &name).await? => {
            tracing::debug!(error = %Chain(&error), "another client has deleted it");
            remove_residual_resources(engine, order, stored.as_ref()).await
        }
        Err(Error::Submit(SubmitError::Refused {
            status: StatusCode::UNAUTHORIZED,
            code: Some(_),
            ..
        })) => Err(Error::Foreign),
        started => started.map(Deleted::Started),
    }
}

/// Whether there is a deployment to run errands on. The Director is asked only if the operation record does not show
/// it: it rejects tasks for a removed deployment.
async fn deployed(
    engine: &BoshEngine,
    call: &Call,
    name: &DeploymentName,
    stored: Option<&StoredRecord>,
) -> Result<Deployed, Error> {
    let reported = stored.map(|stored| (stored.record.operation, &stored.record.outcome));
    match reported {
        Some((kind, Some(_))) if !kind.deletes() && kind != OperationKind::Create => {
            return Ok(Deployed::Yes);
        }
        Some((OperationKind::Create, Some(outcome))) if outcome.is_success() => {
            return Ok(Deployed::Yes);
        }
        Some(_) | None => {}
    }
    let found = engine.upstreams.director.deployment(call, name).await;
    match found.map_err(Error::director("look the deployment up"))? {
        Deployment::Deployed(_) => Ok(Deployed::Yes),
        Deployment::NeverDeployed => Ok(Deployed::Never),
        Deployment::Absent => Ok(Deployed::Absent),
        Deployment::ForeignTeam => Err(Error::Foreign),
    }
}

/// Whether the Director itself reports it: a 404 from a proxy does not mean that the deployment is missing.
async fn is_gone(engine: &BoshEngine, call: &Call, name: &DeploymentName) -> Result<bool, Error> {
    let found = engine.upstreams.director.deployment(call, name).await;
    let found = found.map_err(Error::director("look the deployment up"))?;
    Ok(matches!(found, Deployment::Absent))
}

/// Records the delete in place of the create. Its reconciler does the rest: cancels the running task, waits for its
/// end, and deletes what exists then. From here on a restart resumes the delete.
async fn cut_short(
    engine: &BoshEngine,
    order: &Order,
    request: DeleteRequest,
    context: ContextId,
    unfinished: &[Task],
    before: Option<&StoredRecord>,
) -> Result<Started, Error> {
    let call = order.call();
    let first_task = first_task(engine, &call, order, &context, unfinished).await?;
    let errands = errands_before_delete(engine, &order.plan);
    let mut record = delete_record(engine, order, request, errands, before);
    record.cuts_short = Some(CutShort {
        context,
        first_task,
    });
    let stored = submit_order::store_record(engine, &call, order, &record, before).await?;
    tracing::info!(
        bosh.task.id = first_task.number(),
        "the creation is cut short"
    );
    let operation = Operation {
        begun: Begun::Here,
        ..Operation::new(&order.instance, record, stored)
    };
    let started = operation.started(None);
    engine
        .reconcilers
        .start(&engine.upstreams, operation, Some(started.clone()));
    Ok(started)
}

/// The first task of an operation, as far as it is known.
async fn first_task(
    engine: &BoshEngine,
    call: &Call,
    order: &Order,
    context: &ContextId,
    unfinished: &[Task],
) -> Result<TaskId, Error> {
    if let Some(known) = engine.reconcilers.known(&order.instance)
        && known.operation.record.context == *context
        && let Some(task) = known.first_task()
    {
        return Ok(task);
    }
    let here = |task: &&Task| task.context.as_ref() == Some(context);
    if let Some(task) = unfinished.iter().find(here) {
        return Ok(task.id);
    }
    let tasks = engine
        .upstreams
        .director
        .tasks(call, &of_context(context))
        .await
        .map_err(Error::director("list the tasks of an operation"))?;
    Ok(tasks.first().map_or(UNKNOWN_TASK, |task| task.id))
}

/// A plan that is no longer in the configuration has no errands.
fn errands_before_delete(engine: &BoshEngine, plan: &PlanId) -> Vec<LifecycleErrand> {
    engine
        .offering
        .plan(plan)
        .map(|plan| plan.lifecycle_errands.pre_delete.clone())
        .unwrap_or_default()
}

async fn start_delete(
    engine: &BoshEngine,
    order: &Order,
    request: DeleteRequest,
    errands: Vec<LifecycleErrand>,
    before: Option<&StoredRecord>,
) -> Result<Started, Error> {
    let work = match errands.first() {
        Some(errand) => Work::Errand(errand.clone()),
        None => Work::Delete(force(request.kind)),
    };
    let record = delete_record(engine, order, request, errands, before);
    submit_order::submit_order(engine, order, Prepared::new(record, work), before).await
}

fn delete_record(
    engine: &BoshEngine,
    order: &Order,
    request: DeleteRequest,
    errands: Vec<LifecycleErrand>,
    before: Option<&StoredRecord>,
) -> OperationRecord {
    // If the delete fails, the instance keeps its record.
    let known = before.map(|stored| &stored.record);
    let mut record = OperationRecord::new(NewRecord {
        offering: engine.offering.id.clone(),
        plan: order.plan.clone(),
        operation: request.kind,
        context: ContextId::random(),
        request: order.request.clone(),
        target: None,
        errands,
        digest: order.digest(),
        dashboard_url: known.and_then(|record| record.dashboard_url.clone()),
        labels: known
            .map(|record| record.labels.clone())
            .unwrap_or_default(),
    });
    record.origin = request.origin;
    record.client = ClientRole::after(before);
    record.carry_over(known);
    record
}

/// The deployment is not there; nothing else of the instance shall be, either.
async fn remove_residual_resources(
    engine: &BoshEngine,
    order: &Order,
    stored: Option<&StoredRecord>,
) -> Result<Deleted, Error> {
    let client = ClientRole::after(stored);
    residual_resources::remove(&engine.upstreams, &order.call(), &order.instance, client)
        .await
        .map_err(|source| Error::Residues { source })?;
    engine.reconcilers.forget(&order.instance);
    Ok(Deleted::WasAbsent)
}
