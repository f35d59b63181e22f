//! The moment at which a prepared operation becomes the Director's: operation record, secrets, configs, submission,
//! reconciler.

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
    error::Error,
    orders::{
        client,
        preparation::{self, Prepared},
        submission,
    },
    reconciler::{
        abandoned_writes,
        operation::{Begun, Operation},
        residual_resources::CleanupError,
    },
    records::{
        operation_record::OperationRecord,
        operation_records::{StoredRecord, WriteRecordError},
    },
};

/// How often an operation record is written whose id is taken by an unneeded one.
const ATTEMPTS: usize = 3;

/// Writes operation record, secrets and configs, submits the work and starts the reconciler. If it fails before the
/// submission, everything written is rolled back. `before` is the previous operation record, which is then the latest
/// again.
pub(crate) async fn submit_order(
    engine: &BoshEngine,
    order: &Order,
    prepared: Prepared,
    before: Option<&StoredRecord>,
) -> Result<Started, Error> {
    let Prepared { record, client, .. } = &prepared;
    let stored = match write_down(engine, order, record, before).await {
        Ok(stored) => stored,
        Err(error) => {
            Box::pin(client::undo_client(engine, order, client.as_ref())).await;
            return Err(error);
        }
    };
    let mut operation = Operation {
        begun: Begun::Here,
        client: client.clone(),
        ..Operation::new(&order.instance, record.clone(), stored)
    };
    engine
        .reconcilers
        .register(&engine.upstreams.timings, operation.clone());
    let context = &record.context;
    match Box::pin(write_and_submit(engine, order, &prepared)).await {
        Ok(task) => {
            tracing::info!(bosh.task.id = task.number(), %context, "submitted to the Director");
            operation.first_task = Some(task);
        }
        // The request may be under way: the reconciler continues to search for its task. If it does not appear, nothing
        // has changed, and the last operation reports that.
        Err(Error::Submit(error @ SubmitError::LostAnswer { .. })) => {
            tracing::warn!(
                code = %Code::Director,
                error = %Chain(&error),
                %context,
                "submitted, and not known yet whether it has arrived"
            );
        }
        Err(error) => {
            engine.reconcilers.unregister(&order.instance);
            // Side by side: the platform does not wait much longer.
            Box::pin(async {
                tokio::join!(
                    roll_back(engine, order, &operation, &error),
                    client::undo_client(engine, order, client.as_ref())
                )
            })
            .await;
            return Err(error);
        }
    }
    let started = operation.started(operation.first_task);
    engine
        .reconcilers
        .start(&engine.upstreams, operation, Some(started.clone()));
    Ok(started)
}

/// Writes the operation record, as long as there is time for all the rest.
async fn write_down(
    engine: &BoshEngine,
    order: &Order,
    record: &OperationRecord,
    before: Option<&StoredRecord>,
) -> Result<Option<ConfigId>, Error> {
    check_reserve(engine, order)?;
    let call = preparation::call_of_preparation(engine, order);
    match store_record(engine, &call, order, record, before).await {
        Err(Error::OperationRecord(WriteRecordError::Overtaken)) => Err(Error::Busy),
        recorded => recorded,
    }
}

fn check_reserve(engine: &BoshEngine, order: &Order) -> Result<(), Error> {
    if order.deadline.remaining() < engine.upstreams.timings.submission_reserve {
        return Err(Error::OutOfTime);
    }
    Ok(())
}

async fn write_and_submit(
    engine: &BoshEngine,
    order: &Order,
    prepared: &Prepared,
) -> Result<TaskId, Error> {
    let Upstreams {
        director, secrets, ..
    } = &*engine.upstreams;
    let name = deployment(&order.instance);
    // Nothing is submitted after this deadline, because no time for a rollback would be left.
    let call = preparation::call_of_preparation(engine, order);
    secrets.write(&call, &prepared.secrets).await?;
    configs::write(director, &call, &name, &prepared.configs).await?;
    let waiting = metrics().wait(Queue::Submission);
    let permit = tokio::time::timeout_at(
        call.deadline.instant(),
        engine.upstreams.submissions.acquire(),
    );
    let Ok(Ok(_permit)) = permit.await else {
        return Err(Error::OutOfTime);
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
    .map_err(Error::Submit)
}

/// Writes the operation record. Without permission for configs there is none; the log lists the consequences.
pub(crate) async fn store_record(
    engine: &BoshEngine,
    call: &Call,
    order: &Order,
    record: &OperationRecord,
    before: Option<&StoredRecord>,
) -> Result<Option<ConfigId>, Error> {
    let instance = &order.instance;
    let records = &engine.upstreams.records;
    let mut before = before.map(|stored| stored.id.clone());
    for _ in 0..ATTEMPTS {
        let written = records
            .write(call, instance, record.clone(), before.as_ref())
            .await;
        match written {
            Ok(stored) => return Ok(stored.map(|stored| stored.id)),
            Err(WriteRecordError::Director(error))
                if matches!(error.kind, FailureKind::NotAllowed { .. }) =>
            {
                tracing::warn!(
                    code = %Code::Director,
                    error = %Chain(&error),
                    "the operation record may not be written; should the broker be stopped now, polls have to carry the operation on"
                );
                return Ok(None);
            }
            // An abandoned operation record was written in between, or was removed.
            Err(WriteRecordError::Overtaken) => {
                before = match records.read(call, instance).await? {
                    None => None,
                    Some(found) if engine.upstreams.abandoned.includes(&found.record.context) => {
                        Some(found.id)
                    }
                    Some(_) => return Err(WriteRecordError::Overtaken.into()),
                };
            }
            Err(error @ WriteRecordError::Director(_)) => {
                // The record may still arrive.
                abandoned_writes::abandon(engine, instance, &record.context, &order.request);
                return Err(error.into());
            }
        }
    }
    Err(WriteRecordError::Overtaken.into())
}

/// Rolls back an operation that was not submitted: secrets, configs and operation record are restored. What cannot be
/// rolled back at once, or may still arrive, is left to a reconciler: it finds that nothing was submitted and retries,
/// and the operation record lets a later process continue.
async fn roll_back(engine: &BoshEngine, order: &Order, operation: &Operation, error: &Error) {
    let call = Call::until(Deadline::after(engine.upstreams.timings.rollback))
        .with_request_id(order.request.as_str());
    if error.may_have_written() {
        tracing::warn!(code = %Code::CleanUp, "what was written for the operation may still arrive: it is rolled back later");
    } else if restore(engine, &call, operation).await {
        return;
    }
    let operation = Operation {
        begun: Begun::Elsewhere,
        client: None,
        ..operation.clone()
    };
    engine.reconcilers.start(&engine.upstreams, operation, None);
}

/// Whether everything was restored.
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
        tracing::warn!(code = %Code::CleanUp, error = %Chain(error), "configs could not be rolled back yet");
    }
    if let Err(error) = &secrets {
        tracing::warn!(code = %Code::CleanUp, error = %Chain(error), "secrets could not be put back yet");
    }
    if secrets.is_err() || configs.is_err() {
        return false;
    }
    if let Some(stored) = stored
        && let Err(error) = engine.upstreams.records.roll_back(call, stored).await
    {
        tracing::warn!(code = %Code::CleanUp, error = %Chain(&error), "the operation record could not be rolled back yet");
        abandoned_writes::abandon(engine, instance, &record.context, &record.request);
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
    let (instance, previous) = (&operation.instance, &operation.record.previous_secrets);
    if operation.kind() == OperationKind::Create && !previous.is_empty() {
        // There is no deployment that could use one.
        return secrets.remove_all(call, director, instance).await;
    }
    Ok(secrets.put_back(call, instance, previous).await?)
}

async fn restore_configs(
    engine: &BoshEngine,
    call: &Call,
    operation: &Operation,
) -> Result<(), ServiceError> {
    let (name, replaced) = (operation.deployment(), &operation.record.replaced_configs);
    configs::restore(&engine.upstreams.director, call, &name, replaced).await
}
