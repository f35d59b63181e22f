//! Stops what runs. An operation that an operator has cancelled: its running task is cancelled, and no further step
//! begins. A task that ends before the cancellation counts, so that an operation without remaining steps has succeeded.
//!
//! Requests that may still be on their way to the Director: until that is settled no further request is sent, so that
//! no errand starts twice. It is also the first stage of a delete that cuts another operation short: all tasks of that
//! operation end before the delete begins.
//!
//! A running task is the last one that the other operation's reconciler has sent. If all have ended, or there is none,
//! one more may be on its way: it is searched for until its absence is certain.

use odb_api_types::code::Code;
use odb_clients::{
    ServiceError,
    director::{Cancellation, Deployment, TaskId, TaskState},
    http::StatusCode,
};
use odb_config::Timings;
use odb_redaction::Chain;
use tokio::time::Instant;

use crate::{
    error::is_not_allowed,
    reconciler::{
        control_loop::Reconciler,
        failure::OperationFailure,
        next_step::{PreviousTask, Stage, TaskOutcome},
        observer::Observer,
        operation::Plea,
    },
    wait::{Absence, Backoff},
};

/// Whether an unseen request will not arrive any more: the Director has answered without error for long enough.
pub(super) fn is_over(absence: &mut Absence, observer: &Observer, timings: &Timings) -> bool {
    absence.note_after(observer.answered_since) >= timings.lost_answer
}

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
    /// Whether a request whose submission got no answer may still arrive. Called after each read of the Director that
    /// found no running task.
    pub(super) fn is_unconfirmed(&mut self) -> bool {
        let Some(mut absence) = self.unconfirmed else {
            return false;
        };
        let timings = &self.context.upstreams.timings;
        let is_over = is_over(&mut absence, &self.observer, timings);
        self.unconfirmed = (!is_over).then_some(absence);
        !is_over
    }

    /// The tasks of the operation that is cut short. They no longer matter when the delete has its own task.
    pub(super) async fn tasks_of_previous(
        &mut self,
        own: &[TaskOutcome],
    ) -> Result<Vec<PreviousTask>, ServiceError> {
        match &self.context.operation.record.cuts_short {
            Some(cut) if own.is_empty() && !self.never_came => {
                let tasks = self.observer.listed(&self.context, &cut.context).await?;
                let previous = tasks.iter().map(|task| PreviousTask {
                    id: task.id,
                    has_ended: task.state.is_finished(),
                });
                Ok(previous.collect())
            }
            Some(_) | None => Ok(Vec::new()),
        }
    }

    /// What must be deleted is known only when every task has ended. Skips stages without effect: errands need a
    /// successful deploy, a deletion an existing deployment.
    pub(super) async fn survey(&mut self) -> Result<(), ServiceError> {
        match self.context.deployment().await? {
            Deployment::Deployed(_) => {}
            Deployment::NeverDeployed => {
                self.stages
                    .retain(|stage| !matches!(stage, Stage::Errand(_)));
            }
            Deployment::Absent | Deployment::ForeignTeam => self.stages.truncate(1),
        }
        self.surveyed = true;
        Ok(())
    }

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
            Err(error) if error.status() == Some(StatusCode::NOT_FOUND) => return Ok(()),
            // The task is still running, so the operation must not be reported as ended.
            Err(error) if is_not_allowed(&error) => {
                tracing::error!(
                    code = %Code::Director,
                    bosh.task.id = task.number(),
                    error = %Chain(&error),
                    "the Director does not permit the broker to cancel the task; waiting for its end"
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
        let director = &self.context.upstreams.director;
        if let Err(error) = director.cancel(&self.context.call(), task).await {
            tracing::warn!(code = %Code::Director, bosh.task.id = task.number(), error = %Chain(&error), "could not cancel the task again");
        }
    }

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
