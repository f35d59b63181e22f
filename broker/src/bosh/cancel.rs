//! The end of an operation that an operator has had enough of. Its driver ends what runs and begins nothing more; the marker
//! says so before, so that another process does not go on with it either.

use std::time::Duration;

use odb_api_types::{
    code::Code,
    ids::{InstanceId, RequestId},
    management::{StageName, StageState, StageStatus},
};
use odb_clients::{FailureKind, ServiceError, director::TaskId, http::Call};
use tokio::time::{Instant, timeout_at};

use super::{
    Fault, Instances, StoredMarker, WriteMarkerError, deployment,
    drivers::Known,
    operation::{Operation, Plea},
    unfinished,
};
use crate::telemetry::Chain;

/// How often it is tried when the operation takes a turn in between.
const ATTEMPTS: u32 = 3;

/// How long the Director's answer is waited for.
const ANSWER_AWAITED: Duration = Duration::from_secs(3);

/// When an operation ends that is being cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// When its task comes to a checkpoint.
    AsSoonAsPossible,
    /// When its task has come to its own end: the Director does not let us cancel it.
    AfterThisStep,
}

/// Why an operation is not cancelled.
#[derive(Debug, thiserror::Error)]
pub enum CancelFault {
    /// There is nothing to cancel.
    #[error("no operation on the service instance is in progress")]
    NothingInProgress,
    /// The deployment is gone: there is nothing to go back to.
    #[error("the deployment is gone already, and what it leaves behind is being removed")]
    TooLate,
    /// Somebody else is at it, or an operation that nobody remembers.
    #[error(
        "the Director's task {task} holds the deployment, and no operation that this broker remembers has begun it"
    )]
    Unremembered {
        /// The task.
        task: TaskId,
    },
    /// It changes its state each time that it is to be cancelled.
    #[error("the operation was changed by somebody else each time that it was to be cancelled")]
    Unsteady,
    /// Something went wrong.
    #[error(transparent)]
    Instance(#[from] Fault),
}

impl Instances {
    /// Cancels the operation in progress: from now on nothing more of it is begun. Its driver ends what runs and records that
    /// it has failed; where nothing was left to do by then, it has succeeded. Safe to repeat.
    ///
    /// Nothing else may be begun on the instance meanwhile.
    pub async fn cancel(
        &self,
        call: &Call,
        instance: &InstanceId,
        request: &RequestId,
    ) -> Result<Cancelled, CancelFault> {
        self.begin_to_cancel(call, instance, request).await?;
        Ok(self.answer_of_the_director(call, instance).await)
    }

    /// Waits a moment for what the Director answers to the driver, where there is a task to be cancelled.
    async fn answer_of_the_director(&self, call: &Call, instance: &InstanceId) -> Cancelled {
        let Some(mut snapshots) = self.drivers.watch(instance) else {
            return Cancelled::AsSoonAsPossible;
        };
        if snapshots.borrow().first_task.is_none() {
            return Cancelled::AsSoonAsPossible;
        }
        let answered =
            snapshots.wait_for(|snapshot| snapshot.plea.is_some() || !snapshot.is_in_progress());
        let patience = call.deadline.instant().min(Instant::now() + ANSWER_AWAITED);
        match timeout_at(patience, answered).await {
            Ok(Ok(snapshot)) if snapshot.plea == Some(Plea::Refused) => Cancelled::AfterThisStep,
            Ok(_) | Err(_) => Cancelled::AsSoonAsPossible,
        }
    }

    async fn begin_to_cancel(
        &self,
        call: &Call,
        instance: &InstanceId,
        request: &RequestId,
    ) -> Result<(), CancelFault> {
        for _ in 0..ATTEMPTS {
            let stored = self.neighbours.markers.read(call, instance).await;
            let stored = stored.map_err(Fault::from)?;
            let known = self.drivers.known(instance);
            if let (Some(stored), Some(known)) = (&stored, &known)
                && known.is_of(&stored.marker)
                && (stored.marker.outcome.is_some() || !known.is_in_progress())
            {
                // What one of both says the other is about to.
                return Err(self.nothing_to_cancel(call, instance).await);
            }
            let known = known.filter(Known::is_in_progress);
            let open = stored.filter(|stored| {
                stored.marker.outcome.is_none() && !self.never_began(instance, &stored.marker)
            });
            if known
                .as_ref()
                .is_some_and(|known| is_cleaning_up(&known.snapshot.stages))
            {
                return Err(CancelFault::TooLate);
            }
            match (open, known) {
                (Some(stored), known) => {
                    match self
                        .cancel_marked(call, instance, request, stored, known)
                        .await
                    {
                        // It has ended, or something else of it was written down.
                        Err(Fault::Marker(WriteMarkerError::Overtaken)) => {}
                        cancelled => return Ok(cancelled?),
                    }
                }
                (None, Some(known)) => {
                    self.cancel_unmarked(&known, request);
                    return Ok(());
                }
                (None, None) => return Err(self.nothing_to_cancel(call, instance).await),
            }
        }
        Err(CancelFault::Unsteady)
    }

    async fn cancel_marked(
        &self,
        call: &Call,
        instance: &InstanceId,
        request: &RequestId,
        stored: StoredMarker,
        known: Option<Known>,
    ) -> Result<(), Fault> {
        if stored.marker.cancelled_by.is_some() {
            self.take_over(instance, stored);
            return Ok(());
        }
        let mut record = stored.marker;
        record.cancelled_by = Some(request.clone());
        let markers = &self.neighbours.markers;
        let written = markers
            .write(call, instance, record.clone(), Some(&stored.id))
            .await;
        let stored = match written {
            Ok(written) => written.map(|written| written.id),
            Err(WriteMarkerError::Director(
                error @ ServiceError {
                    kind: FailureKind::NotAllowed { .. },
                    ..
                },
            )) => {
                tracing::warn!(
                    code = %Code::Director,
                    error = %Chain(&error),
                    "the marker may not be written; should the broker be stopped now, the operation is carried on"
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
        self.drivers.redirect(&self.neighbours, operation, started);
        tracing::info!("the operation is being cancelled");
        Ok(())
    }

    /// Nothing tells a later process.
    fn cancel_unmarked(&self, known: &Known, request: &RequestId) {
        let mut operation = Operation::clone(&known.operation);
        if operation.record.cancelled_by.is_some() {
            return;
        }
        operation.first_task = known.first_task();
        operation.record.cancelled_by = Some(request.clone());
        self.drivers
            .redirect(&self.neighbours, operation, known.started.clone());
        tracing::info!("the operation is being cancelled");
    }

    async fn nothing_to_cancel(&self, call: &Call, instance: &InstanceId) -> CancelFault {
        let name = deployment(instance);
        match unfinished::of(&self.neighbours.director, call, &name).await {
            Ok(tasks) => match tasks.first() {
                Some(task) => CancelFault::Unremembered { task: task.id },
                None => CancelFault::NothingInProgress,
            },
            Err(error) => Fault::director("look for tasks in progress")(error).into(),
        }
    }
}

fn is_cleaning_up(stages: &[StageStatus]) -> bool {
    stages
        .iter()
        .any(|report| report.name == StageName::CleanUp && report.state == StageState::Running)
}
