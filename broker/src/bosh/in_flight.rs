//! Whether what is remembered as begun and not ended is on its way.

use std::sync::atomic::Ordering;

use odb_api_types::ids::InstanceId;
use odb_platform::{
    director::{DirectorError, TaskId},
    http::Call,
};

use super::{
    Fault, Instances, Marker, OperationKind, ReadMarkerError, Started, StoredMarker,
    operation::{Operation, Snapshot, SnapshotState},
    token,
};

/// The task of an operation whose task is not known. No Director has one of this number.
pub(super) const UNKNOWN_TASK: u64 = 0;

/// What is under way on an instance.
pub(super) enum InFlight {
    /// An operation, which has been handed over.
    OnItsWay {
        stored: StoredMarker,
        /// The answer that its request got, or should have got.
        started: Started,
    },
    /// Nothing. A marker without outcome is left of an operation that never began.
    AtRest(Option<StoredMarker>),
}

impl Instances {
    /// Tells whether the operation of a marker is on its way. Where that is not known yet, for example because its process
    /// was killed in the middle of the hand-over, it is waited for its driver to find out.
    pub(super) async fn in_flight(
        &self,
        call: &Call,
        instance: &InstanceId,
        stored: Option<StoredMarker>,
    ) -> Result<InFlight, Fault> {
        let stored = match stored {
            Some(stored) if stored.marker.outcome.is_none() => stored,
            at_rest => return Ok(InFlight::AtRest(at_rest)),
        };
        if self.never_began(instance, &stored.marker) {
            return Ok(InFlight::AtRest(Some(stored)));
        }
        if let Some(known) = self.drivers.known(instance)
            && known.snapshot.context.as_ref() == Some(&stored.marker.context)
            && known.snapshot.is_in_progress()
            && let Some(started) = known.started
        {
            return Ok(InFlight::OnItsWay { stored, started });
        }
        match self.first_task_found(call, instance, &stored).await? {
            Some(task) => Ok(InFlight::OnItsWay {
                started: started(instance, &stored.marker, task),
                stored,
            }),
            // The driver has taken the marker back, as far as it could.
            None => Ok(InFlight::AtRest(
                self.neighbours.markers.read(call, instance).await?,
            )),
        }
    }

    /// Whether it is known here that nothing of the operation was ever handed over.
    pub(super) fn never_began(&self, instance: &InstanceId, marker: &Marker) -> bool {
        self.neighbours.given_up.includes(&marker.context)
            || self.drivers.known(instance).is_some_and(|known| {
                known.snapshot.context.as_ref() == Some(&marker.context)
                    && known.snapshot.state == SnapshotState::NeverSubmitted
            })
    }

    /// An operation of this process is in progress, which matters where no marker tells.
    pub(super) fn is_in_progress_here(&self, instance: &InstanceId) -> bool {
        self.drivers
            .known(instance)
            .is_some_and(|known| known.snapshot.is_in_progress())
    }

    /// The operation that is in progress on an instance, as this process knows. Until everything of an earlier process has
    /// been picked up, the marker is read where nothing is known: an open operation in it is picked up here.
    pub(super) async fn operation_in_progress(
        &self,
        call: &Call,
        instance: &InstanceId,
    ) -> Result<Option<OperationKind>, Fault> {
        let kind_of = |snapshot: Snapshot| snapshot.is_in_progress().then_some(snapshot.kind);
        if let Some(known) = self.drivers.known(instance) {
            return Ok(kind_of(known.snapshot));
        }
        if self.is_resumed.load(Ordering::Acquire) {
            return Ok(None);
        }
        let stored = match self.neighbours.markers.read(call, instance).await {
            Ok(stored) => stored,
            // What cannot be read is not picked up either.
            Err(
                ReadMarkerError::Director(DirectorError::NotAllowed { .. })
                | ReadMarkerError::NotUnderstood { .. },
            ) => None,
            Err(error) => return Err(error.into()),
        };
        let open = stored.filter(|stored| {
            stored.marker.outcome.is_none() && !self.never_began(instance, &stored.marker)
        });
        Ok(open.and_then(|stored| kind_of(self.take_over(instance, stored))))
    }

    /// Follows the operation of a marker to its end.
    pub(super) fn drive(&self, instance: &InstanceId, stored: StoredMarker) -> Snapshot {
        let marker = stored.marker.clone();
        let operation = Operation::of_marker(instance, &marker, Some(stored), None);
        self.drivers.start(&self.neighbours, operation, None)
    }

    /// The same for whoever does not hold the instance's lock: what is at work here stays at work.
    pub(super) fn take_over(&self, instance: &InstanceId, stored: StoredMarker) -> Snapshot {
        let marker = stored.marker.clone();
        let operation = Operation::of_marker(instance, &marker, Some(stored), None);
        self.drivers.take_over(&self.neighbours, operation)
    }

    /// The task that an operation began with, as soon as its driver knows. `None`: there is none.
    async fn first_task_found(
        &self,
        call: &Call,
        instance: &InstanceId,
        stored: &StoredMarker,
    ) -> Result<Option<TaskId>, Fault> {
        self.drive(instance, stored.clone());
        if let Some(cut) = &stored.marker.cuts_short {
            return Ok(Some(cut.first_task));
        }
        let mut snapshots = self.drivers.watch(instance).ok_or(Fault::OutOfTime)?;
        let found = snapshots
            .wait_for(|snapshot| snapshot.first_task.is_some() || !snapshot.is_in_progress());
        let found = tokio::time::timeout_at(call.deadline.instant(), found).await;
        // Out of time, or the process is stopping and its drivers have.
        let Ok(Ok(snapshot)) = found else {
            return Err(Fault::OutOfTime);
        };
        Ok(match snapshot.state {
            SnapshotState::NeverSubmitted => None,
            SnapshotState::InProgress(_) | SnapshotState::Ended { .. } => Some(
                snapshot
                    .first_task
                    .unwrap_or_else(|| TaskId::new(UNKNOWN_TASK)),
            ),
        })
    }
}

/// The answer to the request that began an operation.
pub(super) fn started(instance: &InstanceId, marker: &Marker, task: TaskId) -> Started {
    Started {
        token: token(instance, marker, task),
        dashboard_url: marker.dashboard_url.clone(),
        labels: marker.labels.clone(),
    }
}
