//! The end of a service instance.

use odb_adapter_sdk::protocol::LifecycleErrand;
use odb_api_types::{ids::PlanId, kind::OperationKind};
use odb_clients::{
    director::{ContextId, Deployment, SubmitError, Task, TaskId},
    http::{StatusCode, trace},
};
use odb_core::engine::{Deleted, Deletion, Order, Origin, Started};
use odb_redaction::Chain;

use crate::{
    BoshEngine,
    error::Error,
    instance::{InFlight, Instance, force, of_context},
    orders::{
        Prepared,
        submission::{Work, store_record, submit_order},
    },
    reconciler::{
        cleanup,
        operation::{Begun, Operation, UNKNOWN_TASK},
    },
    records::operation_record::{ClientRole, CutShort, OperationRecord, RecordError, StoredRecord},
};

#[derive(Clone, Copy)]
struct DeleteRequest {
    kind: OperationKind,
    origin: Origin,
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
    let kind = deletion.kind();
    let request = DeleteRequest { kind, origin };
    match try_to_delete(engine, order, request).await {
        // The operation to cut short has just ended.
        Err(Error::Record(RecordError::Overtaken)) => {
            match try_to_delete(engine, order, request).await {
                Err(Error::Record(RecordError::Overtaken)) => Err(Error::Busy),
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
    let instance = Instance::new(engine, &call, &order.instance);
    let (stored, unfinished) = tokio::join!(instance.stored(), instance.unfinished());
    let (stored, unfinished) = (stored?, unfinished?);

    if let Some(stored) = &stored
        && stored.record.outcome.is_none()
        && stored.record.operation == OperationKind::Create
        && !instance.never_began(&stored.record)
    {
        let context = stored.record.context.clone();
        let started = cut_short(instance, order, request, context, &unfinished, Some(stored));
        return started.await.map(Deleted::Started);
    }
    let stored = match instance.in_flight(stored).await? {
        InFlight::OnItsWay { stored, started } if stored.record.operation.deletes() => {
            return Ok(Deleted::Started(started));
        }
        InFlight::OnItsWay { .. } => return Err(Error::Busy),
        InFlight::AtRest(stored) => stored,
    };
    let stored = stored.as_ref();
    if let Some(known) = instance.in_progress() {
        let kind = known.operation.kind();
        return match &known.operation.started {
            _ if kind == OperationKind::Create => {
                let context = known.operation.record.context.clone();
                let started = cut_short(instance, order, request, context, &unfinished, stored);
                started.await.map(Deleted::Started)
            }
            Some(started) if kind.deletes() => Ok(Deleted::Started(started.clone())),
            Some(_) | None => Err(Error::Busy),
        };
    }
    if !unfinished.is_empty() {
        return Err(Error::Busy);
    }
    let errands = if stored.is_some_and(shows_deployment) {
        errands_before_delete(engine, &order.plan)
    } else {
        match instance.deployment().await? {
            Deployment::Deployed(_) => errands_before_delete(engine, &order.plan),
            Deployment::NeverDeployed => Vec::new(),
            Deployment::Absent => return remove_residual_resources(instance, stored).await,
            Deployment::ForeignTeam => return Err(Error::Foreign),
        }
    };
    let work = match errands.first() {
        Some(errand) => Work::Errand(errand.clone()),
        None => Work::Delete(force(request.kind)),
    };
    let record = delete_record(engine, order, request, errands, stored);
    match submit_order(engine, order, Prepared::new(record, work), stored).await {
        // The Director itself must report it: a 404 from a proxy does not mean that the deployment is missing.
        Err(
            error @ Error::Submit(SubmitError::Refused {
                status: StatusCode::NOT_FOUND,
                ..
            }),
        ) if matches!(instance.deployment().await?, Deployment::Absent) => {
            tracing::debug!(error = %Chain(&error), "another client has deleted it");
            remove_residual_resources(instance, stored).await
        }
        Err(Error::Submit(SubmitError::Refused {
            status: StatusCode::UNAUTHORIZED,
            code: Some(_),
            ..
        })) => Err(Error::Foreign),
        started => started.map(Deleted::Started),
    }
}

/// Whether the operation record shows that there is a deployment to run errands on, so that the Director is not asked.
fn shows_deployment(stored: &StoredRecord) -> bool {
    let outcome = stored.record.outcome.as_ref();
    outcome.is_some_and(|outcome| match stored.record.operation {
        OperationKind::Create => outcome.is_success(),
        kind => !kind.deletes(),
    })
}

/// Records the delete in place of the create. Its reconciler does the rest: cancels the running task, waits for its
/// end, and deletes what exists then. From here on a restart resumes the delete.
async fn cut_short(
    instance: Instance<'_>,
    order: &Order,
    request: DeleteRequest,
    context: ContextId,
    unfinished: &[Task],
    before: Option<&StoredRecord>,
) -> Result<Started, Error> {
    let engine = instance.engine;
    let first_task = first_task(instance, &context, unfinished).await?;
    let errands = errands_before_delete(engine, &order.plan);
    let mut record = delete_record(engine, order, request, errands, before);
    record.cuts_short = Some(CutShort {
        context,
        first_task,
    });
    let stored = store_record(engine, instance.call, order, &record, before).await?;
    tracing::info!(
        bosh.task.id = first_task.number(),
        "the creation is cut short"
    );
    let mut operation = Operation {
        begun: Begun::Here,
        trace: trace::current(),
        ..Operation::new(&order.instance, record, stored)
    };
    let started = operation.answer(None);
    operation.started = Some(started.clone());
    engine.reconcilers.start(&engine.upstreams, operation);
    Ok(started)
}

async fn first_task(
    instance: Instance<'_>,
    context: &ContextId,
    unfinished: &[Task],
) -> Result<TaskId, Error> {
    if let Some(known) = instance.known()
        && known.operation.record.context == *context
        && let Some(task) = known.snapshot.first_task
    {
        return Ok(task);
    }
    let is_here = |task: &&Task| task.context.as_ref() == Some(context);
    if let Some(task) = unfinished.iter().find(is_here) {
        return Ok(task.id);
    }
    let filter = of_context(context);
    let tasks = instance.director().tasks(instance.call, &filter).await;
    let tasks = tasks.map_err(Error::director("list the tasks of an operation"))?;
    Ok(tasks.first().map_or(UNKNOWN_TASK, |task| task.id))
}

/// A plan that is no longer in the configuration has no errands.
fn errands_before_delete(engine: &BoshEngine, plan: &PlanId) -> Vec<LifecycleErrand> {
    let plan = engine.offering.plan(plan);
    plan.map(|plan| plan.lifecycle_errands.pre_delete.clone())
        .unwrap_or_default()
}

/// If the delete fails, the instance keeps its record.
fn delete_record(
    engine: &BoshEngine,
    order: &Order,
    request: DeleteRequest,
    errands: Vec<LifecycleErrand>,
    before: Option<&StoredRecord>,
) -> OperationRecord {
    let mut record = OperationRecord::of_order(&engine.offering.id, order, request.kind);
    record.origin = request.origin;
    record.errands = errands;
    record.keep(before);
    record
}

/// The deployment is not there; nothing else of the instance shall be, either.
async fn remove_residual_resources(
    instance: Instance<'_>,
    stored: Option<&StoredRecord>,
) -> Result<Deleted, Error> {
    let Instance { engine, call, id } = instance;
    let client = ClientRole::after(stored);
    let removed = cleanup::remove(&engine.upstreams, call, id, client).await;
    removed.map_err(|source| Error::Residues { source })?;
    engine.reconcilers.forget(id);
    Ok(Deleted::WasAbsent)
}
