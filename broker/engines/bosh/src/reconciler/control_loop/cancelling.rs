//! An operation that an operator has cancelled: its running task is cancelled, and no further step begins. A task that
//! ends before the cancellation counts, so that an operation without remaining steps has succeeded.

use odb_api_types::code::Code;
use odb_clients::{
    FailureKind, ServiceError,
    director::{Cancellation, TaskId, TaskState},
    http::StatusCode,
};
use odb_config::Timings;
use odb_redaction::Chain;
use tokio::time::Instant;

use super::{Reconciler, failure::OperationFailure};
use crate::{reconciler::operation::Plea, wait::Backoff};

/// When the Director is asked again to cancel a task: it may accept the request and lose it. The pauses grow.
pub(super) struct Repeats {
    next: Instant,
    backoff: Backoff,
}

impl Repeats {
    fn new(timings: &Timings) -> Self {
        let mut backoff = Backoff::new(timings.longest_look, timings.longest_retry, 2.0);
        Self {
            next: Instant::now() + backoff.next(),
            backoff,
        }
    }

    /// It is time to ask again a task in this state. One that says that it is being cancelled needs no reminder.
    fn are_due(&mut self, state: &TaskState, now: Instant) -> bool {
        let is_forgotten = matches!(state, TaskState::Queued | TaskState::Processing);
        if now < self.next || !is_forgotten {
            return false;
        }
        self.next = now + self.backoff.next();
        true
    }
}

impl Reconciler {
    /// Cancels a task and waits for its end. The task may end well before it notices, and one whose worker has died
    /// ends when the Director gives it up. If the Director rejects the cancellation, the task runs to its own end.
    pub(super) async fn cancel(
        &mut self,
        task: TaskId,
        stage: usize,
    ) -> Result<(), OperationFailure> {
        self.report_stage(stage);
        let director = &self.context.upstreams.director;
        let cancel = |call| async move { director.cancel(&call, task).await };
        match self.context.retrier.retry("cancel a task", cancel).await {
            Ok(Cancellation::Requested) => {
                tracing::info!(bosh.task.id = task.number(), "the task is being cancelled");
                self.note_plea(Plea::Granted);
            }
            Ok(Cancellation::TooLate) => self.note_plea(Plea::Granted),
            // Dropped in between: the next look does not show it.
            Err(ServiceError {
                kind:
                    FailureKind::Refused {
                        status: StatusCode::NOT_FOUND,
                        ..
                    },
                ..
            }) => return Ok(()),
            // The task is still running, so the operation must not be reported as ended.
            Err(
                error @ ServiceError {
                    kind: FailureKind::NotAllowed { .. },
                    ..
                },
            ) => {
                tracing::error!(
                    code = %Code::Director,
                    bosh.task.id = task.number(),
                    error = %Chain(&error),
                    "the Director does not let us cancel the task; waiting for its end"
                );
                self.note_plea(Plea::Refused);
            }
            Err(error) => return Err(error.into()),
        }
        self.repeats = (self.plea() == Some(Plea::Granted))
            .then(|| Repeats::new(&self.context.upstreams.timings));
        let followed = self.follow(task, stage).await;
        self.repeats = None;
        Ok(followed?)
    }

    /// Cancels the current task again, in case the Director has lost the cancellation. The answer does not matter: the
    /// next look shows the state.
    pub(super) async fn cancel_again(&mut self, task: TaskId, state: &TaskState) {
        let repeats = self.repeats.as_mut();
        if !repeats.is_some_and(|repeats| repeats.are_due(state, Instant::now())) {
            return;
        }
        tracing::warn!(
            code = %Code::Cancelled,
            bosh.task.id = task.number(),
            "the task is still running although it was cancelled; cancelling it again"
        );
        if let Err(error) = self
            .context
            .upstreams
            .director
            .cancel(&self.context.call(), task)
            .await
        {
            tracing::warn!(code = %Code::Director, bosh.task.id = task.number(), error = %Chain(&error), "could not cancel the task again");
        }
    }

    /// The Director's answer to the cancellation.
    pub(super) fn plea(&self) -> Option<Plea> {
        self.snapshot.borrow().plea
    }

    fn note_plea(&self, plea: Plea) {
        self.snapshot
            .send_modify(|snapshot| snapshot.plea = Some(plea));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_task_is_cancelled_again_at_growing_intervals_as_long_as_it_does_not_say_that_it_is() {
        let timings = Timings::default();
        let mut repeats = Repeats::new(&timings);
        let start = repeats.next - timings.longest_look;
        let mut due = |seconds, state| {
            let now = start + Duration::from_secs(seconds);
            repeats.are_due(&state, now)
        };

        assert!(!due(6, TaskState::Cancelling));
        let times: Vec<u64> = (1..120)
            .filter(|second| due(*second, TaskState::Processing))
            .collect();
        assert_eq!(times, [5, 15, 35, 65, 95]);
    }
}
