//! How an operation ends. The outcome is recorded, published for polls, logged and counted. The operator reads the cause
//! in one line, with the task, the Director's words or the errand's, and the last event; the user reads the contact.

use std::{collections::BTreeMap, fmt::Write as _, sync::Arc};

use jiff::Timestamp;
use odb_api_types::{code::Code, kind::OperationKind, management::StageState};
use odb_clients::{
    ServiceError,
    director::{ErrandResult, Event, StepState, Task, TaskId, TaskState},
};
use odb_core::{
    engine::Condition,
    metrics::{FollowedOperation, OperationOutcome},
    user_message::{IN_OUTCOME, with_cause},
};
use odb_redaction::{Chain, Redaction, redact};

use crate::{
    reconciler::{
        cleanup,
        control_loop::{End, Reconciler},
        narrative,
        next_step::TaskKind,
        operation::{self, Context, SnapshotState},
    },
    records::{
        operation_details::{self, StepLog},
        operation_record::{Outcome, RecordError},
    },
    wait::Backoff,
};

const ATTEMPTS: u32 = 3;

/// Why an operation cannot continue: the operator's text, and the task with the details.
pub(super) struct OperationFailure {
    pub(super) task: Option<TaskId>,
    pub(super) cause: String,
    pub(super) condition: Option<Condition>,
    pub(super) end: Ending,
}

/// The party that caused the failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Failure,
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
            condition = task_kind.map(|task| left_by(&task.task_kind, events));
        }
        let end_of_task = self.observer.bad_ends.get(&id);
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
            let director = &self.context.upstreams.director;
            let error = match director.events(&self.context.call(), task, 0).await {
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

    /// The tasks are dropped, and with them what would show the end that was wanted.
    pub(super) fn dropped(end: Ending) -> Self {
        let found = match end {
            Ending::StillThere => "the deployment is there",
            Ending::Gone => "the deployment is gone",
            _ => "its audit does not record their results",
        };
        let cause = "the Director has no tasks of the operation (any more), and";
        Self {
            end,
            ..Self::new(format!("{cause} {found}"))
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

/// The stages of a task that do not touch an instance's VMs (`spec/contracts/director-api.md`, "Event lines").
const HARMLESS: &[&str] = &[
    "Preparing deployment",
    "Preparing package compilation",
    "Compiling packages",
];

/// Judges by the events of the task that failed. An errand touches no VM of the service.
fn left_by(task_kind: &TaskKind, events: &[Event]) -> Condition {
    match task_kind {
        TaskKind::Deploy | TaskKind::Delete => {}
        TaskKind::Errand(_) | TaskKind::Other => return Condition::Intact,
    }
    let mut unfinished = BTreeMap::new();
    for event in events {
        if let Event::Step(step) = event
            && !HARMLESS.contains(&step.stage.as_str())
        {
            let key = (&step.stage, &step.tags, step.index);
            unfinished.insert(key, step.state != StepState::Finished);
        }
    }
    // A deletion that got as far as a VM does not leave an instance behind, however well that step went.
    let harmed = match task_kind {
        TaskKind::Delete => !unfinished.is_empty(),
        _ => unfinished.into_values().any(|unfinished| unfinished),
    };
    if harmed {
        Condition::Damaged
    } else {
        Condition::Intact
    }
}

/// The longest last line of an errand's output that is reported.
const LONGEST_LINE: usize = 500;

#[derive(Clone, Debug)]
pub(crate) struct BadEnd {
    state: TaskState,
    result: Option<String>,
    /// Those that failed, with the last line of each output.
    errands: Vec<ErrandResult>,
}

impl BadEnd {
    pub(crate) fn of(task: &Task, results: &[ErrandResult]) -> Self {
        let failed = results.iter().filter(|result| !result.succeeded());
        let errands = failed.map(|result| ErrandResult {
            group: result.group.clone(),
            instance: result.instance.clone(),
            errand: result.errand.clone(),
            exit_code: result.exit_code,
            stdout: String::new(),
            stderr: last_line(&result.stderr),
        });
        Self {
            state: task.state.clone(),
            result: task.result.clone(),
            errands: errands.collect(),
        }
    }

    /// For example: `task 12: the errand health-check exited with 1 on redis-server/0: no route to host; last event:
    /// Running errand: redis-server/0 - done`. Of the event log nothing may be known.
    pub(crate) fn describe(&self, task: TaskId, events: &[Event]) -> String {
        let mut log = StepLog::default();
        log.absorb(events);
        let mut reported = format!("task {task}");
        if let Some(failure) = &log.failure {
            let _ = write!(reported, ": {}", redact(failure));
        } else if self.errands.is_empty() {
            let _ = write!(reported, " ended in the state `{}`", self.state);
            match &self.result {
                Some(result) => {
                    let _ = write!(reported, ": {}", redact(&log.name_instances(result)));
                }
                None => reported.push_str(" and does not say why"),
            }
        }
        for (location, failed) in self.errands.iter().enumerate() {
            let instance = log.name_instances(&format!("{}/{}", failed.group, failed.instance));
            let _ = write!(
                reported,
                "{} the errand {} exited with {} on {instance}",
                if location == 0 { ":" } else { ";" },
                failed.errand,
                failed.exit_code
            );
            if !failed.stderr.is_empty() {
                let _ = write!(reported, ": {}", failed.stderr);
            }
        }
        if let Some(event) = &log.latest {
            let _ = write!(reported, "; last event: {}", redact(event));
        }
        reported
    }
}

/// The last line with text, masked. All lines before are read: a secret may span several.
fn last_line(output: &str) -> String {
    let mut redaction = Redaction::default();
    let lines = output.lines().map(|line| redaction.line(line).into_owned());
    let last = lines.filter(|line| !line.trim().is_empty()).last();
    let last = last.unwrap_or_default();
    last.trim().chars().take(LONGEST_LINE).collect()
}

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
        operation_details::note_error(&mut reports, task, &redact(cause));
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
        operation_details::end(&mut reports, is_success);
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
            operation::log(attempt, &error, "record the outcome");
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

#[cfg(test)]
mod tests {
    use odb_clients::director::{Failure, Step, StepState};

    use super::*;

    const UUID: &str = "d9de9ef9-8587-4d5c-bf92-d2d98c5582db";

    fn task(state: TaskState, result: Option<&str>) -> Task {
        Task {
            id: TaskId::new(12),
            state,
            description: "create deployment".to_owned(),
            started_at: None,
            result: result.map(str::to_owned),
            user: None,
            deployment: None,
            context: None,
        }
    }

    fn step(stage: &str) -> Event {
        Event::Step(Step {
            stage: stage.to_owned(),
            tags: Vec::new(),
            task: format!("redis-server/{UUID} (0)"),
            index: 1,
            total: 1,
            state: StepState::InProgress,
            status: Some("starting jobs".to_owned()),
        })
    }

    fn reported(task: &Task, results: &[ErrandResult], events: &[Event]) -> String {
        BadEnd::of(task, results).describe(task.id, events)
    }

    #[test]
    fn of_a_task_whose_process_was_killed_the_last_event_is_reported() {
        let killed = task(TaskState::Error, None);
        assert_eq!(
            reported(&killed, &[], &[step("Updating instance")]),
            "task 12 ended in the state `error` and does not say why; last event: Updating instance: redis-server/0 - starting jobs"
        );
        assert_eq!(
            reported(&task(TaskState::Timeout, None), &[], &[]),
            "task 12 ended in the state `timeout` and does not say why"
        );
    }

    #[test]
    fn the_directors_words_come_first_and_without_secrets() {
        let failure = Event::Failure(Failure {
            code: 450_001,
            message: format!("'redis-server/{UUID} (0)' refused password=hunter2"),
        });
        let reported = reported(
            &task(TaskState::Error, Some("cut…")),
            &[],
            &[step("Updating instance"), failure],
        );
        assert!(
            reported.starts_with("task 12: 'redis-server/0' refused"),
            "{reported}"
        );
        assert!(!reported.contains("hunter2"), "{reported}");
        assert!(
            reported.contains("; last event: Updating instance"),
            "{reported}"
        );
    }

    #[test]
    fn of_an_errand_exit_code_and_last_line_are_reported() {
        let result = |exit_code, stderr: &str| ErrandResult {
            group: "redis-server".to_owned(),
            instance: UUID.to_owned(),
            errand: "health-check".to_owned(),
            exit_code,
            stdout: "not this".to_owned(),
            stderr: stderr.to_owned(),
        };
        let done = task(TaskState::Done, Some("0 succeeded, 1 errored, 0 canceled"));
        let results = [
            result(0, "fine"),
            result(7, "connecting\npassword: hunter2\nno route to host\n\n"),
        ];
        assert_eq!(
            reported(&done, &results, &[step("Running errand")]),
            "task 12: the errand health-check exited with 7 on redis-server/0: no route to host; last event: Running errand: \
             redis-server/0 - starting jobs"
        );
        let secret = reported(&done, &[result(1, "password: hunter2")], &[]);
        assert!(!secret.contains("hunter2"), "{secret}");
        // No text has its index.
        assert!(secret.contains("on redis-server:"), "{secret}");
    }

    fn step_of_vm(heading: &str, index: u64, state: StepState) -> Event {
        Event::Step(Step {
            stage: heading.to_owned(),
            tags: vec!["redis".to_owned()],
            task: format!("redis/{index}"),
            index,
            total: 2,
            state,
            status: None,
        })
    }

    fn failed_task() -> Event {
        Event::Failure(Failure {
            code: 100,
            message: "no".to_owned(),
        })
    }

    #[test]
    fn a_deploy_that_fails_before_it_gets_to_a_vm_leaves_the_instance_intact() {
        let prepared = step_of_vm("Preparing deployment", 1, StepState::Failed);
        for events in [
            vec![failed_task()],
            vec![prepared, failed_task()],
            Vec::new(),
        ] {
            let left = left_by(&TaskKind::Deploy, &events);
            assert_eq!(left, Condition::Intact, "{events:?}");
        }
    }

    #[test]
    fn a_deploy_that_fails_at_a_vm_leaves_the_instance_damaged() {
        use StepState::{Failed, Finished, InProgress, Started};
        for (second, left) in [
            (vec![], Condition::Intact),
            (vec![Started, Finished], Condition::Intact),
            (vec![Started, InProgress], Condition::Damaged),
            (vec![Started, Failed], Condition::Damaged),
        ] {
            let mut events = vec![
                step_of_vm("Updating instance", 1, Started),
                step_of_vm("Updating instance", 1, Finished),
            ];
            events.extend(
                second
                    .into_iter()
                    .map(|state| step_of_vm("Updating instance", 2, state)),
            );
            events.push(failed_task());
            assert_eq!(left_by(&TaskKind::Deploy, &events), left, "{events:?}");
        }
    }

    #[test]
    fn a_deletion_that_got_to_a_vm_leaves_the_instance_damaged() {
        let deleted = step_of_vm("Deleting instances", 1, StepState::Finished);
        assert_eq!(
            left_by(&TaskKind::Delete, &[deleted, failed_task()]),
            Condition::Damaged
        );
        assert_eq!(
            left_by(&TaskKind::Delete, &[failed_task()]),
            Condition::Intact
        );
    }

    #[test]
    fn an_errand_on_vms_of_its_own_leaves_the_instance_intact() {
        let errand = TaskKind::of("run errand health-check from deployment d");
        let events = [
            step_of_vm("Creating missing vms", 1, StepState::Failed),
            failed_task(),
        ];
        assert_eq!(left_by(&errand, &events), Condition::Intact);
    }
}
