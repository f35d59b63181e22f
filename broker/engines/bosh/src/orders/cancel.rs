//! Cancels an operation for the operator. Its reconciler ends the running task and begins no further one; the operation
//! record is written first, so that another process does not continue the operation.

use std::time::Duration;

use odb_api_types::{
    code::Code,
    ids::{InstanceId, RequestId},
    management::{StageName, StageState, StageStatus},
};
use odb_clients::{FailureKind, director::TaskId, http::Call};
use odb_core::engine::{Cancelled, EngineError, EngineErrorKind};
use odb_redaction::Chain;
use tokio::time::{Instant, timeout_at};

use crate::{
    BoshEngine,
    deployment::deployment,
    error::Error,
    reconciler::{
        operation::{Operation, Plea},
        reconcilers::Known,
    },
    records::{
        in_flight,
        operation_records::{StoredRecord, WriteRecordError},
        unfinished,
    },
};

/// How often it is tried when the operation takes a turn in between.
const ATTEMPTS: u32 = 3;

/// How long the Director's answer is waited for.
const ANSWER_AWAITED: Duration = Duration::from_secs(3);

/// Why an operation is not cancelled.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CancelError {
    /// There is nothing to cancel.
    #[error("no operation on the service instance is in progress")]
    NothingInProgress,
    /// The deployment is deleted: it cannot be restored.
    #[error("the deployment is already deleted, and its other resources are being deleted")]
    TooLate,
    /// Another process works on it, or the operation has no record.
    #[error(
        "the Director's task {task} locks the deployment, and no recorded operation of this broker started it"
    )]
    Unremembered {
        /// The task.
        task: TaskId,
    },
    /// It changes its state each time that it is to be cancelled.
    #[error("another request changed the operation each time it was to be cancelled")]
    Unsteady,
    /// Something went wrong.
    #[error(transparent)]
    Instance(#[from] Error),
}

impl From<CancelError> for EngineError {
    fn from(error: CancelError) -> Self {
        let kind = match error {
            CancelError::Instance(error) => return error.into(),
            CancelError::NothingInProgress => EngineErrorKind::NothingInProgress,
            CancelError::TooLate => EngineErrorKind::NotCancellable(
                "The operation can no longer be cancelled: the deployment is already deleted, and its other resources are being deleted."
                    .to_owned(),
            ),
            CancelError::Unremembered { task } => EngineErrorKind::NotCancellable(format!(
                "Task {task} of the Director locks the service instance, and no recorded operation of the broker started it. If \
                 that task is not needed, cancel it at the Director: bosh cancel-task {task}."
            )),
            CancelError::Unsteady => EngineErrorKind::NotCancellable(
                "Another request changed the operation each time it was to be cancelled. Try again in a moment."
                    .to_owned(),
            ),
        };
        Self::new(kind, error)
    }
}

/// Cancels the operation in progress: no further stage starts. Its reconciler ends the running stage and records a
/// failure, or a success if no stage is left. Safe to repeat.
///
/// No other operation may start on the instance meanwhile.
pub(crate) async fn cancel(
    engine: &BoshEngine,
    call: &Call,
    instance: &InstanceId,
    request: &RequestId,
) -> Result<Cancelled, CancelError> {
    begin_to_cancel(engine, call, instance, request).await?;
    Ok(answer_of_the_director(engine, call, instance).await)
}

/// Waits briefly for the Director's answer to the reconciler's cancellation of a task.
async fn answer_of_the_director(
    engine: &BoshEngine,
    call: &Call,
    instance: &InstanceId,
) -> Cancelled {
    let Some(mut snapshots) = engine.reconcilers.watch(instance) else {
        return Cancelled::AsSoonAsPossible;
    };
    if snapshots.borrow().first_task.is_none() {
        return Cancelled::AsSoonAsPossible;
    }
    let answered =
        snapshots.wait_for(|snapshot| snapshot.plea.is_some() || !snapshot.is_in_progress());
    let deadline = call.deadline.instant().min(Instant::now() + ANSWER_AWAITED);
    match timeout_at(deadline, answered).await {
        Ok(Ok(snapshot)) if snapshot.plea == Some(Plea::Refused) => Cancelled::AfterThisStep,
        Ok(_) | Err(_) => Cancelled::AsSoonAsPossible,
    }
}

async fn begin_to_cancel(
    engine: &BoshEngine,
    call: &Call,
    instance: &InstanceId,
    request: &RequestId,
) -> Result<(), CancelError> {
    for _ in 0..ATTEMPTS {
        let stored = engine.upstreams.records.read(call, instance).await;
        let stored = stored.map_err(Error::from)?;
        let known = engine.reconcilers.known(instance);
        if let (Some(stored), Some(known)) = (&stored, &known)
            && known.is_of(&stored.record)
            && (stored.record.outcome.is_some() || !known.is_in_progress())
        {
            // The operation has ended or is about to end.
            return Err(nothing_to_cancel(engine, call, instance).await);
        }
        let known = known.filter(Known::is_in_progress);
        let open = stored.filter(|stored| {
            stored.record.outcome.is_none()
                && !in_flight::never_began(engine, instance, &stored.record)
        });
        if known
            .as_ref()
            .is_some_and(|known| is_cleaning_up(&known.snapshot.stages))
        {
            return Err(CancelError::TooLate);
        }
        match (open, known) {
            (Some(stored), known) => {
                match cancel_marked(engine, call, instance, request, stored, known).await {
                    // It has ended, or something else of it was written down.
                    Err(Error::OperationRecord(WriteRecordError::Overtaken)) => {}
                    cancelled => return Ok(cancelled?),
                }
            }
            (None, Some(known)) => {
                cancel_unmarked(engine, &known, request);
                return Ok(());
            }
            (None, None) => return Err(nothing_to_cancel(engine, call, instance).await),
        }
    }
    Err(CancelError::Unsteady)
}

async fn cancel_marked(
    engine: &BoshEngine,
    call: &Call,
    instance: &InstanceId,
    request: &RequestId,
    stored: StoredRecord,
    known: Option<Known>,
) -> Result<(), Error> {
    if stored.record.cancelled_by.is_some() {
        in_flight::take_over(engine, instance, stored);
        return Ok(());
    }
    let mut record = stored.record;
    record.cancelled_by = Some(request.clone());
    let records = &engine.upstreams.records;
    let written = records
        .write(call, instance, record.clone(), Some(&stored.id))
        .await;
    let stored = match written {
        Ok(written) => written.map(|written| written.id),
        Err(WriteRecordError::Director(error))
            if matches!(error.kind, FailureKind::NotAllowed { .. }) =>
        {
            tracing::warn!(
                code = %Code::Director,
                error = %Chain(&error),
                "the operation record may not be written; should the broker be stopped now, the operation is carried on"
            );
            Some(stored.id)
        }
        Err(error) => return Err(error.into()),
    };
    let known = known.filter(|known| known.is_of(&record));
    let operation = Operation {
        first_task: known.as_ref().and_then(Known::first_task),
        ..Operation::new(instance, record, stored)
    };
    let started = known.and_then(|known| known.started);
    engine
        .reconcilers
        .redirect(&engine.upstreams, operation, started);
    tracing::info!("the operation is being cancelled");
    Ok(())
}

/// There is no record for a later process.
fn cancel_unmarked(engine: &BoshEngine, known: &Known, request: &RequestId) {
    let mut operation = Operation::clone(&known.operation);
    if operation.record.cancelled_by.is_some() {
        return;
    }
    operation.first_task = known.first_task();
    operation.record.cancelled_by = Some(request.clone());
    engine
        .reconcilers
        .redirect(&engine.upstreams, operation, known.started.clone());
    tracing::info!("the operation is being cancelled");
}

async fn nothing_to_cancel(engine: &BoshEngine, call: &Call, instance: &InstanceId) -> CancelError {
    let name = deployment(instance);
    match unfinished::of(&engine.upstreams.director, call, &name).await {
        Ok(tasks) => match tasks.first() {
            Some(task) => CancelError::Unremembered { task: task.id },
            None => CancelError::NothingInProgress,
        },
        Err(error) => Error::director("look for tasks in progress")(error).into(),
    }
}

fn is_cleaning_up(stages: &[StageStatus]) -> bool {
    stages
        .iter()
        .any(|report| report.name == StageName::CleanUp && report.state == StageState::Running)
}
