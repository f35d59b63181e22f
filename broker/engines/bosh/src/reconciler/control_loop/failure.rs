//! Why an operation cannot continue: the operator reads the cause, the user reads the contact.

use std::sync::Arc;

use odb_api_types::{code::Code, kind::OperationKind, management::StageState};
use odb_clients::{
    ServiceError,
    director::{Event, TaskId},
};
use odb_core::{
    engine::Condition,
    metrics::{FollowedOperation, OperationOutcome},
    user_message::{IN_OUTCOME, with_cause},
};
use odb_redaction::{Chain, redact};

use super::Reconciler;
use crate::{
    reconciler::narrative,
    records::{
        condition,
        operation_record::Outcome,
        progress::{self, StepLog},
    },
    wait::Backoff,
};

/// How often the event log of a failed task is requested.
const ATTEMPTS: u32 = 3;

const TASKS_DROPPED: &str = "the Director has no tasks of the operation (any more)";

/// Why an operation cannot continue: the operator's text, and the task with the details.
pub(super) struct OperationFailure {
    task: Option<TaskId>,
    cause: String,
    condition: Option<Condition>,
    end: Ending,
}

/// The party that caused the failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// Something went wrong.
    Failure,
    /// An operator had enough of it.
    Cancellation,
    /// The deployment is deleted, and something else of the instance is not.
    Unclean,
    /// The Director has dropped the tasks of a deletion, and the deployment exists.
    StillThere,
    /// The Director has dropped the tasks, and the deployment does not exist.
    Gone,
    /// The Director has dropped the tasks, and their outcome is unknown.
    Unknown,
}

impl Reconciler {
    /// The event log has the full error; the task's own result is cut.
    pub(super) async fn operation_failure(&mut self, task: Option<TaskId>) -> OperationFailure {
        let end = if self.context.is_cancelled() {
            Ending::Cancellation
        } else {
            Ending::Failure
        };
        let Some(id) = task else {
            return OperationFailure {
                condition: Some(Condition::Intact),
                end,
                ..OperationFailure::new("the deployment was locked by another task".to_owned())
            };
        };
        if let Some(error) = self.history.error_of(id) {
            return OperationFailure {
                task: Some(id),
                end,
                ..OperationFailure::new(format!("task {id}: {}", redact(error)))
            };
        }
        let mut condition = None;
        let events = self.failed_events(id).await;
        if let Some(events) = &events {
            let mut log = StepLog::default();
            log.absorb(events);
            self.steps.insert(id, log);
            let task_kind = self.seen.iter().find(|task| task.id == id);
            condition = task_kind.map(|task| condition::left_by(&task.task_kind, events));
        }
        let end_of_task = self.observer.bad_end(id);
        OperationFailure {
            task: Some(id),
            cause: end_of_task.map_or_else(
                || format!("task {id} did not do what it should"),
                |end_of_task| end_of_task.describe(id, events.as_deref().unwrap_or_default()),
            ),
            condition,
            end,
        }
    }

    /// The event log of the failed task. The failure is known without it, so the wait for it is limited.
    async fn failed_events(&self, task: TaskId) -> Option<Vec<Event>> {
        let mut backoff = Backoff::between_attempts(&self.context.upstreams.timings);
        let mut attempt = 1;
        loop {
            let error = match self
                .context
                .upstreams
                .director
                .events(&self.context.call(), task, 0)
                .await
            {
                Ok(chunk) => return Some(chunk.events),
                Err(error) => error,
            };
            tracing::warn!(
                code = %Code::Follow,
                bosh.task.id = task.number(),
                error = %Chain(&error),
                "could not read why the task failed"
            );
            if attempt == ATTEMPTS || !error.is_transient() {
                return None;
            }
            attempt += 1;
            backoff.pause().await;
        }
    }

    /// Logs the cause, records it, and gives the user the contact.
    pub(super) async fn fail(
        &self,
        operation_failure: &OperationFailure,
        counted: &FollowedOperation<'_>,
    ) {
        let OperationFailure {
            task,
            cause,
            condition,
            end,
        } = operation_failure;
        self.note_error(*task, cause);
        let description = match end {
            Ending::Cancellation => {
                tracing::warn!(code = %Code::Cancelled, bosh.task.id = task.map(TaskId::number), cause, "the operation has been cancelled by the operator");
                narrative::cancelled(self.context.operation.kind())
            }
            Ending::Failure => {
                tracing::error!(code = %Code::TaskFailed, bosh.task.id = task.map(TaskId::number), cause, "the operation has failed");
                self.failure_for_user(*task)
            }
            Ending::Unclean => {
                tracing::error!(
                    code = %Code::CleanUp,
                    cause,
                    "the deployment is deleted, but what belongs to the instance could not be removed; the deletion can be repeated"
                );
                narrative::unclean(
                    self.context.operation.kind(),
                    &self.context.user_message(None),
                )
            }
            Ending::StillThere => {
                tracing::error!(code = %Code::TaskFailed, cause, "the deletion has failed, and can be repeated");
                narrative::still_there(self.context.operation.kind())
            }
            Ending::Gone => {
                tracing::error!(code = %Code::TaskFailed, cause, "the operation has failed");
                narrative::nothing_there(self.context.operation.kind())
            }
            Ending::Unknown => {
                tracing::error!(code = %Code::TaskFailed, cause, "it is not known how the operation ended; it counts as failed, and can be repeated");
                narrative::unknown_end(
                    self.context.operation.kind(),
                    &self.context.user_message(None),
                )
            }
        };
        let failed = |description| Outcome::Failed {
            description,
            condition: *condition,
        };
        let detail = self.context.upstreams.error_detail;
        let reported = match end {
            Ending::Cancellation => description.clone(),
            Ending::Failure
            | Ending::Unclean
            | Ending::StillThere
            | Ending::Gone
            | Ending::Unknown => with_cause(description.clone(), IN_OUTCOME, cause, detail),
        };
        let outcome = match end {
            Ending::Cancellation => OperationOutcome::Cancelled,
            Ending::Failure
            | Ending::Unclean
            | Ending::StillThere
            | Ending::Gone
            | Ending::Unknown => OperationOutcome::Failed,
        };
        self.end(&failed(description), failed(reported), counted, outcome)
            .await;
    }

    /// Operators read why at the stage that has failed.
    fn note_error(&self, task: Option<TaskId>, cause: &str) {
        let mut reports = self.reports();
        // Work without a task, such as the clean-up.
        let reported = self.snapshot.borrow().stages.clone();
        for (report, reported) in reports.iter_mut().zip(reported.iter()) {
            if report.state == StageState::Waiting && reported.state == StageState::Running {
                report.state = reported.state;
            }
        }
        progress::note_error(&mut reports, task, &redact(cause));
        self.snapshot
            .send_modify(|snapshot| snapshot.stages = Arc::new(reports));
    }

    fn failure_for_user(&self, task: Option<TaskId>) -> String {
        let kind = self.context.operation.kind();
        // The upgrade errand's log is read by machines that look for this.
        if let (OperationKind::Upgrade, Some(task)) = (kind, task) {
            return format!("Failed for bosh task: {task}");
        }
        let message = self.context.user_message(task);
        format!("Instance {} failed: {message}", kind.noun())
    }
}

impl OperationFailure {
    pub(super) fn new(cause: String) -> Self {
        Self {
            task: None,
            cause,
            condition: None,
            end: Ending::Failure,
        }
    }

    /// Residual resources beside the deployment were not removed.
    pub(super) fn unclean(error: impl std::error::Error + 'static) -> Self {
        Self {
            end: Ending::Unclean,
            ..Self::new(Chain(&error).to_string())
        }
    }

    /// The tasks of a deletion are dropped, and the deployment exists.
    pub(super) fn still_there() -> Self {
        Self {
            end: Ending::StillThere,
            ..Self::new(format!("{TASKS_DROPPED}, and the deployment is there"))
        }
    }

    /// The tasks are dropped, and the deployment does not exist.
    pub(super) fn gone() -> Self {
        Self {
            end: Ending::Gone,
            ..Self::new(format!("{TASKS_DROPPED}, and the deployment is gone"))
        }
    }

    /// The tasks are dropped, and their outcome is unknown.
    pub(super) fn unknown() -> Self {
        Self {
            end: Ending::Unknown,
            ..Self::new(format!(
                "{TASKS_DROPPED}, and its audit does not record their results"
            ))
        }
    }

    /// An operator has cancelled the remaining stages, and no task was running.
    pub(super) fn cancelled() -> Self {
        Self {
            condition: Some(Condition::Intact),
            end: Ending::Cancellation,
            ..Self::new("there was more to do, which is not begun".to_owned())
        }
    }
}

impl From<ServiceError> for OperationFailure {
    fn from(error: ServiceError) -> Self {
        Self::new(Chain(&error).to_string())
    }
}
