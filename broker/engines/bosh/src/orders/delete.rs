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
    fault::Fault,
    orders::{hand_over, preparation::Prepared, submission::Work},
    reconciler::{
        operation::{Begun, Operation, UNKNOWN_TASK},
        residual_resources,
    },
    records::{
        in_flight::{self, InFlight},
        marker::{ClientRole, CutShort, Marker, NewMarker},
        markers::{StoredMarker, WriteMarkerError},
        unfinished,
    },
};

/// Which delete is begun.
#[derive(Clone, Copy, Debug)]
struct Wish {
    kind: OperationKind,
    origin: Origin,
}

/// What is there to be deleted.
enum Deployed {
    /// A deployment that has been deployed.
    Yes,
    /// A deployment none of whose deploys has succeeded.
    Never,
    /// None.
    Absent,
}

/// Runs the plan's errands and deletes the instance, then whatever it leaves behind. What is being created is stopped
/// first.
///
/// Of an instance on a plan that nobody knows no errands are run. `origin` stays with it if it stays itself.
pub(crate) async fn delete(
    engine: &BoshEngine,
    order: &Order,
    deletion: Deletion,
    origin: Origin,
) -> Result<Deleted, Fault> {
    let wish = Wish {
        kind: deletion.kind(),
        origin,
    };
    match try_to_delete(engine, order, wish).await {
        // What was to be cut short has just ended.
        Err(Fault::Marker(WriteMarkerError::Overtaken)) => {
            match try_to_delete(engine, order, wish).await {
                Err(Fault::Marker(WriteMarkerError::Overtaken)) => Err(Fault::Busy),
                deleted => deleted,
            }
        }
        deleted => deleted,
    }
}

async fn try_to_delete(engine: &BoshEngine, order: &Order, wish: Wish) -> Result<Deleted, Fault> {
    let call = order.call();
    let name = deployment(&order.instance);
    let (stored, unfinished) = tokio::join!(
        engine.upstreams.markers.read(&call, &order.instance),
        unfinished::of(&engine.upstreams.director, &call, &name)
    );
    let stored = stored?;
    let unfinished = unfinished.map_err(Fault::director("look for tasks in progress"))?;

    if let Some(stored) = &stored
        && stored.marker.outcome.is_none()
        && stored.marker.operation == OperationKind::Create
        && !in_flight::never_began(engine, &order.instance, &stored.marker)
    {
        let context = stored.marker.context.clone();
        let started = cut_short(engine, order, wish, context, &unfinished, Some(stored));
        return started.await.map(Deleted::Started);
    }
    let stored = match in_flight::in_flight(engine, &call, &order.instance, stored).await? {
        InFlight::OnItsWay { stored, started } if stored.marker.operation.deletes() => {
            return Ok(Deleted::Started(started));
        }
        InFlight::OnItsWay { .. } => return Err(Fault::Busy),
        InFlight::AtRest(stored) => stored,
    };
    if let Some(known) = engine.drivers.in_progress(&order.instance) {
        let kind = known.operation.kind();
        return match known.started {
            _ if kind == OperationKind::Create => {
                let context = known.operation.record.context.clone();
                let before = stored.as_ref();
                let started = cut_short(engine, order, wish, context, &unfinished, before);
                started.await.map(Deleted::Started)
            }
            Some(started) if kind.deletes() => Ok(Deleted::Started(started)),
            Some(_) | None => Err(Fault::Busy),
        };
    }
    if !unfinished.is_empty() {
        return Err(Fault::Busy);
    }
    let errands = match deployed(engine, &call, &name, stored.as_ref()).await? {
        Deployed::Yes => errands_before_delete(engine, &order.plan),
        Deployed::Never => Vec::new(),
        Deployed::Absent => return remove_residual_resources(engine, order, stored.as_ref()).await,
    };
    match start_delete(engine, order, wish, errands, stored.as_ref()).await {
        Err(
            fault @ Fault::Submit(SubmitError::Refused {
                status: StatusCode::NOT_FOUND,
                ..
            }),
        ) if is_gone(engine, &call, &name).await? => {
            tracing::debug!(error = %Chain(&fault), "somebody else has deleted it");
            remove_residual_resources(engine, order, stored.as_ref()).await
        }
        Err(Fault::Submit(SubmitError::Refused {
            status: StatusCode::UNAUTHORIZED,
            code: Some(_),
            ..
        })) => Err(Fault::Foreign),
        started => started.map(Deleted::Started),
    }
}

/// Whether there is something to run errands on. The Director is asked only where the marker does not tell: it refuses
/// what it is asked to do with a deployment that somebody has removed.
async fn deployed(
    engine: &BoshEngine,
    call: &Call,
    name: &DeploymentName,
    stored: Option<&StoredMarker>,
) -> Result<Deployed, Fault> {
    let told = stored.map(|stored| (stored.marker.operation, &stored.marker.outcome));
    match told {
        Some((kind, Some(_))) if !kind.deletes() && kind != OperationKind::Create => {
            return Ok(Deployed::Yes);
        }
        Some((OperationKind::Create, Some(outcome))) if outcome.is_success() => {
            return Ok(Deployed::Yes);
        }
        Some(_) | None => {}
    }
    let found = engine.upstreams.director.deployment(call, name).await;
    match found.map_err(Fault::director("look the deployment up"))? {
        Deployment::Deployed(_) => Ok(Deployed::Yes),
        Deployment::NeverDeployed => Ok(Deployed::Never),
        Deployment::Absent => Ok(Deployed::Absent),
        Deployment::ForeignTeam => Err(Fault::Foreign),
    }
}

/// Whether the Director itself says so: a path that somebody on the way does not know is no missing deployment.
async fn is_gone(engine: &BoshEngine, call: &Call, name: &DeploymentName) -> Result<bool, Fault> {
    let found = engine.upstreams.director.deployment(call, name).await;
    let found = found.map_err(Fault::director("look the deployment up"))?;
    Ok(matches!(found, Deployment::Absent))
}

/// Remembers the delete in place of the create and has its driver do all the rest: cancel what runs, wait for its end,
/// delete what is there then. From here on a restart resumes the delete.
async fn cut_short(
    engine: &BoshEngine,
    order: &Order,
    wish: Wish,
    context: ContextId,
    unfinished: &[Task],
    before: Option<&StoredMarker>,
) -> Result<Started, Fault> {
    let call = order.call();
    let first_task = first_task(engine, &call, order, &context, unfinished).await?;
    let errands = errands_before_delete(engine, &order.plan);
    let mut marker = delete_marker(engine, order, wish, errands, before);
    marker.cuts_short = Some(CutShort {
        context,
        first_task,
    });
    let stored = hand_over::remember(engine, &call, order, &marker, before).await?;
    tracing::info!(
        bosh.task.id = first_task.number(),
        "the creation is cut short"
    );
    let operation = Operation {
        begun: Begun::Here,
        ..Operation::new(&order.instance, marker, stored)
    };
    let started = operation.started(None);
    engine
        .drivers
        .start(&engine.upstreams, operation, Some(started.clone()));
    Ok(started)
}

/// The task that an operation began with, as far as anybody knows.
async fn first_task(
    engine: &BoshEngine,
    call: &Call,
    order: &Order,
    context: &ContextId,
    unfinished: &[Task],
) -> Result<TaskId, Fault> {
    if let Some(known) = engine.drivers.known(&order.instance)
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
        .map_err(Fault::director("list the tasks of an operation"))?;
    Ok(tasks.first().map_or(UNKNOWN_TASK, |task| task.id))
}

/// A plan that is gone from the configuration has no errands any more.
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
    wish: Wish,
    errands: Vec<LifecycleErrand>,
    before: Option<&StoredMarker>,
) -> Result<Started, Fault> {
    let work = match errands.first() {
        Some(errand) => Work::Errand(errand.clone()),
        None => Work::Delete(force(wish.kind)),
    };
    let record = delete_marker(engine, order, wish, errands, before);
    hand_over::hand_over(engine, order, Prepared::new(record, work), before).await
}

fn delete_marker(
    engine: &BoshEngine,
    order: &Order,
    wish: Wish,
    errands: Vec<LifecycleErrand>,
    before: Option<&StoredMarker>,
) -> Marker {
    // Should the delete fail, the instance stays what it is: so does what is known of it.
    let known = before.map(|stored| &stored.marker);
    let mut marker = Marker::new(NewMarker {
        offering: engine.offering.id.clone(),
        plan: order.plan.clone(),
        operation: wish.kind,
        context: ContextId::random(),
        request: order.request.clone(),
        target: None,
        errands,
        digest: order.digest(),
        dashboard_url: known.and_then(|marker| marker.dashboard_url.clone()),
        labels: known
            .map(|marker| marker.labels.clone())
            .unwrap_or_default(),
    });
    marker.origin = wish.origin;
    marker.client = ClientRole::after(before);
    marker.carry_over(known);
    marker
}

/// The deployment is not there; nothing else of the instance shall be, either.
async fn remove_residual_resources(
    engine: &BoshEngine,
    order: &Order,
    stored: Option<&StoredMarker>,
) -> Result<Deleted, Fault> {
    let client = ClientRole::after(stored);
    residual_resources::remove(&engine.upstreams, &order.call(), &order.instance, client)
        .await
        .map_err(|source| Fault::Leftovers { source })?;
    engine.drivers.forget(&order.instance);
    Ok(Deleted::WasAbsent)
}
