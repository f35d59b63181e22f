//! How an operation ends: the outcome is recorded, published for polls, logged and counted. The operator reads the cause,
//! the user reads the contact.

use std::sync::Arc;

use jiff::Timestamp;
use odb_api_types::{code::Code, kind::OperationKind, management::StageState};
use odb_clients::director::TaskId;
use odb_core::{
    metrics::{FollowedOperation, OperationOutcome},
    user_message::{IN_OUTCOME, with_cause},
};
use odb_redaction::{Chain, redact};

use crate::{
    reconciler::{
        cleanup,
        context::{self, Context},
        control_loop::{End, Reconciler},
        failure::{Ending, OperationFailure},
        narrative,
        operation::SnapshotState,
    },
    records::{operation_record::Outcome, operation_records::RecordError, progress},
    wait::Backoff,
};

impl Reconciler {
    pub(super) async fn conclude(
        &mut self,
        driven: Result<End, OperationFailure>,
        counted: &FollowedOperation<'_>,
    ) {
        match driven {
            Ok(End::Succeeded) => {
                tracing::info!("the operation has succeeded");
                cleanup::after_success(&self.context).await;
                let outcome = Outcome::Succeeded {
                    description: narrative::completed(self.context.operation.kind()),
                };
                if self.context.operation.kind().deletes() {
                    // The operation record was the last resource to delete.
                    counted.ended(OperationOutcome::Succeeded);
                    let at = Timestamp::now();
                    self.publish(SnapshotState::Ended { outcome, at });
                } else {
                    let reported = outcome.clone();
                    self.end(&outcome, reported, counted, OperationOutcome::Succeeded)
                        .await;
                }
            }
            Ok(End::NeverSubmitted) => {
                tracing::warn!(code = %Code::NeverSubmitted, "the operation was never submitted to the Director");
                cleanup::roll_back(&self.context).await;
                counted.ended(OperationOutcome::NeverSubmitted);
                self.publish(SnapshotState::NeverSubmitted);
            }
            Err(operation_failure) => {
                self.fail(&operation_failure, counted).await;
            }
        }
    }

    /// Publishes the outcome for polls, and records it for later ones.
    ///
    /// One attempt to record it comes first: a client that reads the outcome may order the next operation at once,
    /// which reads the operation record. If the attempt fails, the outcome is still published. Metrics count the
    /// operation once no other process can have taken it over.
    async fn end(
        &self,
        recorded: &Outcome,
        reported: Outcome,
        counted: &FollowedOperation<'_>,
        outcome: OperationOutcome,
    ) {
        let mut backoff = Backoff::between_attempts(&self.context.upstreams.timings);
        let mut attempt = 1;
        // The same text at each attempt: a write whose answer was lost is then recognised.
        let now = Timestamp::now();
        let mut record = write_outcome(&self.context, recorded, now, attempt).await;
        if record != Record::Overtaken {
            counted.ended(outcome);
        }
        let ended = SnapshotState::Ended {
            outcome: reported,
            at: now,
        };
        self.publish(ended);
        while record == Record::NotYet {
            backoff.pause().await;
            attempt += 1;
            record = write_outcome(&self.context, recorded, now, attempt).await;
        }
    }

    /// Logs the cause, records it, and gives the user the contact.
    async fn fail(&self, operation_failure: &OperationFailure, counted: &FollowedOperation<'_>) {
        let OperationFailure {
            task,
            cause,
            condition,
            end,
        } = operation_failure;
        let kind = self.context.operation.kind();
        self.note_error(*task, cause);
        let description = match end {
            Ending::Cancellation => {
                tracing::warn!(code = %Code::Cancelled, bosh.task.id = task.map(TaskId::number), cause, "the operation has been cancelled by the operator");
                narrative::failed(kind, narrative::CANCELLED)
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
                narrative::unclean(kind, &self.context.user_message(None))
            }
            Ending::StillThere => {
                tracing::error!(code = %Code::TaskFailed, cause, "the deletion has failed, and can be repeated");
                narrative::failed(kind, narrative::STILL_THERE)
            }
            Ending::Gone => {
                tracing::error!(code = %Code::TaskFailed, cause, "the operation has failed");
                narrative::failed(kind, narrative::NOTHING_THERE)
            }
            Ending::Unknown => {
                tracing::error!(code = %Code::TaskFailed, cause, "it is not known how the operation ended; it counts as failed, and can be repeated");
                narrative::unknown_end(kind, &self.context.user_message(None))
            }
        };
        let failed = |description| Outcome::Failed {
            description,
            condition: *condition,
        };
        let detail = self.context.upstreams.error_detail;
        let (reported, outcome) = if *end == Ending::Cancellation {
            (description.clone(), OperationOutcome::Cancelled)
        } else {
            let reported = with_cause(description.clone(), IN_OUTCOME, cause, detail);
            (reported, OperationOutcome::Failed)
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
        narrative::failed(kind, format!("failed: {message}"))
    }

    fn publish(&self, state: SnapshotState) {
        let has_ended = matches!(state, SnapshotState::Ended { .. });
        let is_success =
            matches!(&state, SnapshotState::Ended { outcome, .. } if outcome.is_success());
        let mut reports = if is_success {
            self.reports()
        } else {
            self.snapshot.borrow().stages.to_vec()
        };
        progress::end(&mut reports, is_success);
        self.snapshot.send_modify(|snapshot| {
            snapshot.stages = Arc::new(reports);
            snapshot.state = state;
        });
        if has_ended {
            // There may be no receiver.
            let ends = &self.context.upstreams.ends;
            let _ = ends.send(self.context.operation.kind());
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Record {
    NotYet,
    /// It has been, or there is nothing to write it into.
    Closed,
    /// Another process wrote in between: it continues the operation, or knows its outcome.
    Overtaken,
}

/// The second write of the operation record. A write by another process in between is newer and stays.
async fn write_outcome(
    context: &Context,
    outcome: &Outcome,
    now: Timestamp,
    attempt: u32,
) -> Record {
    let Some(stored) = &context.operation.stored else {
        return Record::Closed;
    };
    let record = context.operation.record.clone().ended(outcome.clone(), now);
    let (records, instance) = (&context.upstreams.records, &context.operation.instance);
    let call = context.call();
    match records.write(&call, instance, record, Some(stored)).await {
        Ok(_) => Record::Closed,
        Err(RecordError::Write(error)) if error.is_transient() => {
            context::log(attempt, &error, "record the outcome");
            Record::NotYet
        }
        Err(error) => {
            tracing::warn!(code = %Code::Follow, error = %Chain(&error), "the outcome is known, its operation record was not written");
            match error {
                RecordError::Overtaken => Record::Overtaken,
                _ => Record::Closed,
            }
        }
    }
}
