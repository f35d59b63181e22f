//! The moment at which a prepared operation becomes the Director's: marker, secrets, configs, submission, driver.

use odb_api_types::{code::Code, kind::OperationKind};
use odb_clients::{
    FailureKind, ServiceError,
    director::{ConfigId, SubmitError, TaskId},
    http::{Call, Deadline},
};
use odb_core::{
    engine::{Order, Started},
    metrics::{Queue, metrics},
};
use odb_redaction::Chain;

use crate::{
    BoshEngine, Upstreams, configs,
    deployment::deployment,
    fault::Fault,
    orders::{
        client,
        preparation::{self, Prepared},
        submission,
    },
    reconciler::{
        operation::{Begun, Operation},
        residual_resources::CleanupError,
        sweeps,
    },
    records::{
        marker::Marker,
        markers::{StoredMarker, WriteMarkerError},
    },
};

/// How often a marker is written whose place was taken by one that nobody needs.
const ATTEMPTS: usize = 3;

/// Writes marker, secrets and configs, hands the work over and starts the driver. When it fails before that, what has been
/// written is taken back. `before` is the marker that was there, which is then the latest again.
pub(crate) async fn hand_over(
    engine: &BoshEngine,
    order: &Order,
    prepared: Prepared,
    before: Option<&StoredMarker>,
) -> Result<Started, Fault> {
    let Prepared { record, client, .. } = &prepared;
    let stored = match write_down(engine, order, record, before).await {
        Ok(stored) => stored,
        Err(fault) => {
            Box::pin(client::undo_client(engine, order, client.as_ref())).await;
            return Err(fault);
        }
    };
    let mut operation = Operation {
        begun: Begun::Here,
        client: client.clone(),
        ..Operation::new(&order.instance, record.clone(), stored)
    };
    engine
        .drivers
        .announce(&engine.upstreams.timings, operation.clone());
    let context = &record.context;
    match Box::pin(write_and_submit(engine, order, &prepared)).await {
        Ok(task) => {
            tracing::info!(bosh.task.id = task.number(), %context, "handed over to the Director");
            operation.first_task = Some(task);
        }
        // It may be under way: the driver goes on looking. If it does not turn up, nothing has changed, and the last
        // operation says so.
        Err(Fault::Submit(error @ SubmitError::LostAnswer { .. })) => {
            tracing::warn!(
                code = %Code::Director,
                error = %Chain(&error),
                %context,
                "handed over, and not known yet whether it has arrived"
            );
        }
        Err(fault) => {
            engine.drivers.withdraw(&order.instance);
            // Side by side: the platform does not wait much longer.
            Box::pin(async {
                tokio::join!(
                    take_back(engine, order, &operation, &fault),
                    client::undo_client(engine, order, client.as_ref())
                )
            })
            .await;
            return Err(fault);
        }
    }
    let started = operation.started(operation.first_task);
    engine
        .drivers
        .start(&engine.upstreams, operation, Some(started.clone()));
    Ok(started)
}

/// Writes the marker, as long as there is time for all the rest.
async fn write_down(
    engine: &BoshEngine,
    order: &Order,
    record: &Marker,
    before: Option<&StoredMarker>,
) -> Result<Option<ConfigId>, Fault> {
    check_reserve(engine, order)?;
    let call = preparation::call_of_preparation(engine, order);
    match remember(engine, &call, order, record, before).await {
        Err(Fault::Marker(WriteMarkerError::Overtaken)) => Err(Fault::Busy),
        remembered => remembered,
    }
}

fn check_reserve(engine: &BoshEngine, order: &Order) -> Result<(), Fault> {
    if order.deadline.remaining() < engine.upstreams.timings.submission_reserve {
        return Err(Fault::OutOfTime);
    }
    Ok(())
}

async fn write_and_submit(
    engine: &BoshEngine,
    order: &Order,
    prepared: &Prepared,
) -> Result<TaskId, Fault> {
    let Upstreams {
        director, secrets, ..
    } = &*engine.upstreams;
    let name = deployment(&order.instance);
    // Later than this nothing is submitted: who waits longer misses the time to take back.
    let call = preparation::call_of_preparation(engine, order);
    secrets.write(&call, &prepared.secrets).await?;
    configs::write(director, &call, &name, &prepared.configs).await?;
    let waiting = metrics().queues.wait(Queue::Submission);
    let place = tokio::time::timeout_at(
        call.deadline.instant(),
        engine.upstreams.submissions.acquire(),
    );
    let Ok(Ok(_place)) = place.await else {
        return Err(Fault::OutOfTime);
    };
    drop(waiting);
    check_reserve(engine, order)?;
    let context = &prepared.record.context;
    submission::submit(
        director,
        &order.call(),
        context,
        None,
        engine.upstreams.timings.lost_answer,
        |call| prepared.work.send(director, call, &name, context),
    )
    .await
    .map_err(Fault::Submit)
}

/// Writes the marker. A client that may not write configs does without: what shrinks is said in the log.
pub(crate) async fn remember(
    engine: &BoshEngine,
    call: &Call,
    order: &Order,
    marker: &Marker,
    before: Option<&StoredMarker>,
) -> Result<Option<ConfigId>, Fault> {
    let instance = &order.instance;
    let markers = &engine.upstreams.markers;
    let mut before = before.map(|stored| stored.id.clone());
    for _ in 0..ATTEMPTS {
        let written = markers
            .write(call, instance, marker.clone(), before.as_ref())
            .await;
        match written {
            Ok(stored) => return Ok(stored.map(|stored| stored.id)),
            Err(WriteMarkerError::Director(error))
                if matches!(error.kind, FailureKind::NotAllowed { .. }) =>
            {
                tracing::warn!(
                    code = %Code::Director,
                    error = %Chain(&error),
                    "the marker may not be written; should the broker be stopped now, polls have to carry the operation on"
                );
                return Ok(None);
            }
            // A marker that was given up has come in between, or has been swept away.
            Err(WriteMarkerError::Overtaken) => {
                before = match markers.read(call, instance).await? {
                    None => None,
                    Some(found) if engine.upstreams.given_up.includes(&found.marker.context) => {
                        Some(found.id)
                    }
                    Some(_) => return Err(WriteMarkerError::Overtaken.into()),
                };
            }
            Err(error @ WriteMarkerError::Director(_)) => {
                // It may arrive all the same.
                sweeps::give_up(engine, instance, &marker.context, &order.request);
                return Err(error.into());
            }
        }
    }
    Err(WriteMarkerError::Overtaken.into())
}

/// Undoes what was written for an operation that is not handed over: secrets, configs and marker are again what they
/// were. What cannot be undone at once, or may still arrive, a driver undoes: it finds that nothing was handed over, does
/// not give up, and its marker tells a later process.
async fn take_back(engine: &BoshEngine, order: &Order, operation: &Operation, fault: &Fault) {
    let call = Call::until(Deadline::after(engine.upstreams.timings.taking_back))
        .with_request_id(order.request.as_str());
    if fault.may_have_written() {
        tracing::warn!(code = %Code::CleanUp, "what was written for the operation may still arrive: it is taken back later");
    } else if restore(engine, &call, operation).await {
        return;
    }
    let operation = Operation {
        begun: Begun::Elsewhere,
        client: None,
        ..operation.clone()
    };
    engine.drivers.start(&engine.upstreams, operation, None);
}

/// Whether everything is again what it was.
async fn restore(engine: &BoshEngine, call: &Call, operation: &Operation) -> bool {
    let Operation {
        instance,
        record,
        stored,
        ..
    } = operation;
    let (secrets, configs) = tokio::join!(
        put_secrets_back(engine, call, operation),
        restore_configs(engine, call, operation)
    );
    if let Err(error) = &configs {
        tracing::warn!(code = %Code::CleanUp, error = %Chain(error), "configs could not be taken back yet");
    }
    if let Err(error) = &secrets {
        tracing::warn!(code = %Code::CleanUp, error = %Chain(error), "secrets could not be put back yet");
    }
    if secrets.is_err() || configs.is_err() {
        return false;
    }
    if let Some(stored) = stored
        && let Err(error) = engine.upstreams.markers.take_back(call, stored).await
    {
        tracing::warn!(code = %Code::CleanUp, error = %Chain(&error), "the marker could not be taken back yet");
        sweeps::give_up(engine, instance, &record.context, &record.request);
    }
    true
}

async fn put_secrets_back(
    engine: &BoshEngine,
    call: &Call,
    operation: &Operation,
) -> Result<(), CleanupError> {
    let Upstreams {
        director, secrets, ..
    } = &*engine.upstreams;
    let (instance, former) = (&operation.instance, &operation.record.former_secrets);
    if operation.kind() == OperationKind::Create && !former.is_empty() {
        // There is no deployment that could use one.
        return secrets.remove_all(call, director, instance).await;
    }
    Ok(secrets.put_back(call, instance, former).await?)
}

async fn restore_configs(
    engine: &BoshEngine,
    call: &Call,
    operation: &Operation,
) -> Result<(), ServiceError> {
    let (name, replaced) = (operation.deployment(), &operation.record.replaced_configs);
    configs::restore(&engine.upstreams.director, call, &name, replaced).await
}
