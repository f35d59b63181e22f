//! Whether an operation that is recorded without an outcome is in flight.

use std::sync::atomic::Ordering;

use odb_api_types::{ids::InstanceId, kind::OperationKind};
use odb_clients::{FailureKind, ServiceError, http::Call};
use odb_core::engine::Started;

use crate::{
    BoshEngine,
    error::Error,
    reconciler::{
        operation::{Operation, SnapshotState},
        reconcilers::Known,
    },
    records::{
        operation_record::OperationRecord,
        operation_records::{ReadRecordError, StoredRecord},
    },
};

/// The state of an operation on an instance.
pub(crate) enum InFlight {
    /// An operation, which has been submitted.
    OnItsWay {
        stored: StoredRecord,
        /// The answer that its request got, or should have got.
        started: Started,
    },
    /// Nothing. An operation record without outcome is left of an operation that never began.
    AtRest(Option<StoredRecord>),
}

/// Whether the operation of a record is in flight. If that is unknown, for example because its process was killed
/// during the submission, this waits until its reconciler has found out.
pub(crate) async fn in_flight(
    engine: &BoshEngine,
    call: &Call,
    instance: &InstanceId,
    stored: Option<StoredRecord>,
) -> Result<InFlight, Error> {
    let stored = match stored {
        Some(stored) if stored.record.outcome.is_none() => stored,
        at_rest => return Ok(InFlight::AtRest(at_rest)),
    };
    if never_began(engine, instance, &stored.record) {
        return Ok(InFlight::AtRest(Some(stored)));
    }
    if let Some(known) = engine.reconcilers.in_progress(instance)
        && known.is_of(&stored.record)
        && let Some(started) = known.started
    {
        return Ok(InFlight::OnItsWay { stored, started });
    }
    match started(engine, call, instance, &stored).await? {
        Some(started) => Ok(InFlight::OnItsWay { stored, started }),
        // The reconciler has rolled the operation record back, as far as possible.
        None => Ok(InFlight::AtRest(
            engine.upstreams.records.read(call, instance).await?,
        )),
    }
}

/// Whether it is known here that nothing of the operation was ever submitted.
pub(crate) fn never_began(
    engine: &BoshEngine,
    instance: &InstanceId,
    record: &OperationRecord,
) -> bool {
    engine.upstreams.abandoned.includes(&record.context)
        || engine.reconcilers.known(instance).is_some_and(|known| {
            known.is_of(record) && known.snapshot.state == SnapshotState::NeverSubmitted
        })
}

/// The operation that is in progress on an instance, as this process knows. Until everything of an earlier process has
/// been picked up, the operation record is read where nothing is known: an open operation in it is picked up here.
pub(crate) async fn operation_in_progress(
    engine: &BoshEngine,
    call: &Call,
    instance: &InstanceId,
) -> Result<Option<OperationKind>, Error> {
    let kind_of = |known: Known| known.is_in_progress().then(|| known.operation.kind());
    if let Some(known) = engine.reconcilers.known(instance) {
        return Ok(kind_of(known));
    }
    if engine.is_resumed.load(Ordering::Acquire) {
        return Ok(None);
    }
    let stored = match engine.upstreams.records.read(call, instance).await {
        Ok(stored) => stored,
        // An unreadable record cannot be resumed.
        Err(
            ReadRecordError::Director(ServiceError {
                kind: FailureKind::NotAllowed { .. },
                ..
            })
            | ReadRecordError::NotUnderstood { .. },
        ) => None,
        Err(error) => return Err(error.into()),
    };
    let open = stored.filter(|stored| {
        stored.record.outcome.is_none() && !never_began(engine, instance, &stored.record)
    });
    Ok(open.and_then(|stored| kind_of(take_over(engine, instance, stored))))
}

/// Follows the operation of an operation record to its end, unless that is done already.
pub(crate) fn take_over(engine: &BoshEngine, instance: &InstanceId, stored: StoredRecord) -> Known {
    let operation = Operation::of_stored(instance, stored);
    engine.reconcilers.take_over(&engine.upstreams, operation)
}

/// The answer to the request that began an operation, as soon as its reconciler knows the first task. `None`: there is
/// none.
async fn started(
    engine: &BoshEngine,
    call: &Call,
    instance: &InstanceId,
    stored: &StoredRecord,
) -> Result<Option<Started>, Error> {
    let operation = Operation::of_stored(instance, stored.clone());
    engine
        .reconcilers
        .start(&engine.upstreams, operation.clone(), None);
    if stored.record.cuts_short.is_some() {
        return Ok(Some(operation.started(None)));
    }
    let mut snapshots = engine.reconcilers.watch(instance).ok_or(Error::OutOfTime)?;
    let found =
        snapshots.wait_for(|snapshot| snapshot.first_task.is_some() || !snapshot.is_in_progress());
    let found = tokio::time::timeout_at(call.deadline.instant(), found).await;
    // Out of time, or the process is stopping and its reconcilers have.
    let Ok(Ok(snapshot)) = found else {
        return Err(Error::OutOfTime);
    };
    let began = snapshot.state != SnapshotState::NeverSubmitted;
    Ok(began.then(|| operation.started(snapshot.first_task)))
}
