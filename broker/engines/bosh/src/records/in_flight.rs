//! Whether what is remembered as begun and not ended is on its way.

use std::sync::atomic::Ordering;

use odb_api_types::{ids::InstanceId, kind::OperationKind};
use odb_clients::{FailureKind, ServiceError, http::Call};
use odb_core::engine::Started;

use crate::{
    BoshEngine,
    fault::Fault,
    reconciler::{
        drivers::Known,
        operation::{Operation, SnapshotState},
    },
    records::{
        marker::Marker,
        markers::{ReadMarkerError, StoredMarker},
    },
};

/// What is under way on an instance.
pub(crate) enum InFlight {
    /// An operation, which has been handed over.
    OnItsWay {
        stored: StoredMarker,
        /// The answer that its request got, or should have got.
        started: Started,
    },
    /// Nothing. A marker without outcome is left of an operation that never began.
    AtRest(Option<StoredMarker>),
}

/// Tells whether the operation of a marker is on its way. Where that is not known yet, for example because its process
/// was killed in the middle of the hand-over, it is waited for its driver to find out.
pub(crate) async fn in_flight(
    engine: &BoshEngine,
    call: &Call,
    instance: &InstanceId,
    stored: Option<StoredMarker>,
) -> Result<InFlight, Fault> {
    let stored = match stored {
        Some(stored) if stored.marker.outcome.is_none() => stored,
        at_rest => return Ok(InFlight::AtRest(at_rest)),
    };
    if never_began(engine, instance, &stored.marker) {
        return Ok(InFlight::AtRest(Some(stored)));
    }
    if let Some(known) = engine.drivers.in_progress(instance)
        && known.is_of(&stored.marker)
        && let Some(started) = known.started
    {
        return Ok(InFlight::OnItsWay { stored, started });
    }
    match started(engine, call, instance, &stored).await? {
        Some(started) => Ok(InFlight::OnItsWay { stored, started }),
        // The driver has taken the marker back, as far as it could.
        None => Ok(InFlight::AtRest(
            engine.upstreams.markers.read(call, instance).await?,
        )),
    }
}

/// Whether it is known here that nothing of the operation was ever handed over.
pub(crate) fn never_began(engine: &BoshEngine, instance: &InstanceId, marker: &Marker) -> bool {
    engine.upstreams.given_up.includes(&marker.context)
        || engine.drivers.known(instance).is_some_and(|known| {
            known.is_of(marker) && known.snapshot.state == SnapshotState::NeverSubmitted
        })
}

/// The operation that is in progress on an instance, as this process knows. Until everything of an earlier process has
/// been picked up, the marker is read where nothing is known: an open operation in it is picked up here.
pub(crate) async fn operation_in_progress(
    engine: &BoshEngine,
    call: &Call,
    instance: &InstanceId,
) -> Result<Option<OperationKind>, Fault> {
    let kind_of = |known: Known| known.is_in_progress().then(|| known.operation.kind());
    if let Some(known) = engine.drivers.known(instance) {
        return Ok(kind_of(known));
    }
    if engine.is_resumed.load(Ordering::Acquire) {
        return Ok(None);
    }
    let stored = match engine.upstreams.markers.read(call, instance).await {
        Ok(stored) => stored,
        // What cannot be read is not picked up either.
        Err(
            ReadMarkerError::Director(ServiceError {
                kind: FailureKind::NotAllowed { .. },
                ..
            })
            | ReadMarkerError::NotUnderstood { .. },
        ) => None,
        Err(error) => return Err(error.into()),
    };
    let open = stored.filter(|stored| {
        stored.marker.outcome.is_none() && !never_began(engine, instance, &stored.marker)
    });
    Ok(open.and_then(|stored| kind_of(take_over(engine, instance, stored))))
}

/// Follows the operation of a marker to its end, unless that is done already.
pub(crate) fn take_over(engine: &BoshEngine, instance: &InstanceId, stored: StoredMarker) -> Known {
    let operation = Operation::of_stored(instance, stored);
    engine.drivers.take_over(&engine.upstreams, operation)
}

/// The answer to the request that began an operation, as soon as its driver knows the first task. `None`: there is none.
async fn started(
    engine: &BoshEngine,
    call: &Call,
    instance: &InstanceId,
    stored: &StoredMarker,
) -> Result<Option<Started>, Fault> {
    let operation = Operation::of_stored(instance, stored.clone());
    engine
        .drivers
        .start(&engine.upstreams, operation.clone(), None);
    if stored.marker.cuts_short.is_some() {
        return Ok(Some(operation.started(None)));
    }
    let mut snapshots = engine.drivers.watch(instance).ok_or(Fault::OutOfTime)?;
    let found =
        snapshots.wait_for(|snapshot| snapshot.first_task.is_some() || !snapshot.is_in_progress());
    let found = tokio::time::timeout_at(call.deadline.instant(), found).await;
    // Out of time, or the process is stopping and its drivers have.
    let Ok(Ok(snapshot)) = found else {
        return Err(Fault::OutOfTime);
    };
    let began = snapshot.state != SnapshotState::NeverSubmitted;
    Ok(began.then(|| operation.started(snapshot.first_task)))
}
