//! An operation that an operator has cancelled: what runs of it is ended, and nothing more of it is begun. What has come to
//! its end before anybody noticed stays, so that an operation of which nothing was left to do has succeeded.

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

/// When the Director is asked again to cancel a task: it may say yes and forget it. The pauses grow.
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
    /// Cancels a task and waits for its end. It may end well before it notices, and one whose worker has died ends when the
    /// Director has given that up. One that the Director does not let us cancel goes on to its own end.
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
            // It goes on: to say that it had ended would be wrong.
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

    /// Cancels the task again that is followed, should the Director have forgotten that it was cancelled. Nothing hangs on
    /// the answer: the next look tells.
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

    /// What the Director has answered.
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
