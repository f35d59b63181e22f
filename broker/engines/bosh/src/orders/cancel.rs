//! Cancels an operation for the operator. Its reconciler ends the running task and begins no further one; the operation
//! record is written first, so that another process does not continue the operation.

use std::time::Duration;

use odb_api_types::{
    code::Code,
    ids::RequestId,
    management::{StageName, StageState, StageStatus},
};
use odb_core::engine::Cancelled;
use odb_redaction::Chain;
use tokio::time::{Instant, timeout_at};

use crate::{
    error::{Error, is_not_allowed},
    instance::Instance,
    reconciler::{
        Known,
        operation::{Operation, Plea},
    },
    records::operation_record::{RecordError, StoredRecord},
};

/// How often it is tried when the operation takes a turn in between.
const ATTEMPTS: u32 = 3;

const ANSWER_AWAITED: Duration = Duration::from_secs(3);

/// Cancels the operation in progress: no further stage starts. Its reconciler ends the running stage and records a
/// failure, or a success if no stage is left. Safe to repeat.
///
/// No other operation may start on the instance meanwhile.
pub(crate) async fn cancel(
    instance: Instance<'_>,
    request: &RequestId,
) -> Result<Cancelled, Error> {
    for _ in 0..ATTEMPTS {
        match begin_to_cancel(instance, request).await {
            // It has ended, or something else of it was written down.
            Err(Error::Record(RecordError::Overtaken)) => {}
            begun => {
                begun?;
                return Ok(answer_of_the_director(instance).await);
            }
        }
    }
    Err(Error::Unsteady)
}

/// Waits briefly for the Director's answer to the reconciler's cancellation of a task.
async fn answer_of_the_director(instance: Instance<'_>) -> Cancelled {
    let Some(mut snapshots) = instance.engine.reconcilers.watch(instance.id) else {
        return Cancelled::AsSoonAsPossible;
    };
    if snapshots.borrow().first_task.is_none() {
        return Cancelled::AsSoonAsPossible;
    }
    let answered =
        snapshots.wait_for(|snapshot| snapshot.plea.is_some() || !snapshot.is_in_progress());
    let deadline = instance
        .call
        .deadline
        .instant()
        .min(Instant::now() + ANSWER_AWAITED);
    match timeout_at(deadline, answered).await {
        Ok(Ok(snapshot)) if snapshot.plea == Some(Plea::Refused) => Cancelled::AfterThisStep,
        Ok(_) | Err(_) => Cancelled::AsSoonAsPossible,
    }
}

async fn begin_to_cancel(instance: Instance<'_>, request: &RequestId) -> Result<(), Error> {
    let stored = instance.stored().await?;
    let known = instance.known();
    if let (Some(stored), Some(known)) = (&stored, &known)
        && known.is_of(&stored.record)
        && (stored.record.outcome.is_some() || !known.is_in_progress())
    {
        // The operation has ended or is about to end.
        return Err(nothing_to_cancel(instance).await);
    }
    let known = known.filter(Known::is_in_progress);
    let open = stored
        .filter(|stored| stored.record.outcome.is_none() && !instance.never_began(&stored.record));
    match (open, known) {
        (_, Some(known)) if is_cleaning_up(&known.snapshot.stages) => Err(Error::TooLateToCancel),
        (Some(stored), known) => cancel_recorded(instance, request, stored, known).await,
        (None, Some(known)) => {
            cancel_unrecorded(instance, &known, request);
            Ok(())
        }
        (None, None) => Err(nothing_to_cancel(instance).await),
    }
}

async fn cancel_recorded(
    instance: Instance<'_>,
    request: &RequestId,
    stored: StoredRecord,
    known: Option<Known>,
) -> Result<(), Error> {
    let Instance { engine, call, id } = instance;
    if stored.record.cancelled_by.is_some() {
        instance.take_over(stored);
        return Ok(());
    }
    let mut record = stored.record;
    record.cancelled_by = Some(request.clone());
    let records = &engine.upstreams.records;
    let written = records
        .write(call, id, record.clone(), Some(&stored.id))
        .await;
    let stored = match written {
        Ok(written) => written.map(|written| written.id),
        Err(RecordError::Write(error)) if is_not_allowed(&error) => {
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
    let known = known.as_ref();
    let operation = Operation {
        first_task: known.and_then(|known| known.snapshot.first_task),
        started: known.and_then(|known| known.operation.started.clone()),
        ..Operation::new(id, record, stored)
    };
    engine.reconcilers.redirect(&engine.upstreams, operation);
    tracing::info!("the operation is being cancelled");
    Ok(())
}

/// There is no record for a later process.
fn cancel_unrecorded(instance: Instance<'_>, known: &Known, request: &RequestId) {
    let mut operation = Operation::clone(&known.operation);
    if operation.record.cancelled_by.is_some() {
        return;
    }
    operation.first_task = known.snapshot.first_task;
    operation.record.cancelled_by = Some(request.clone());
    let engine = instance.engine;
    engine.reconcilers.redirect(&engine.upstreams, operation);
    tracing::info!("the operation is being cancelled");
}

async fn nothing_to_cancel(instance: Instance<'_>) -> Error {
    match instance.unfinished().await {
        Ok(tasks) => tasks
            .first()
            .map_or(Error::NothingInProgress, |task| Error::Unrecorded {
                task: task.id,
            }),
        Err(error) => error,
    }
}

fn is_cleaning_up(stages: &[StageStatus]) -> bool {
    let is_running = |report: &StageStatus| report.state == StageState::Running;
    let mut clean_ups = stages
        .iter()
        .filter(|report| report.name == StageName::CleanUp);
    clean_ups.any(is_running)
}
