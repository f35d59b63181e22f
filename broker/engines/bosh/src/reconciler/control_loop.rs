//! Carries one operation from its submission to its end (`docs/contributing/architecture.md`, "Reconcilers"): follows
//! the task and its event log, starts the next lifecycle errand, cleans up after a delete, records the outcome. Polls
//! read its snapshot and have no side effects.

mod cancelling;
mod cleanup;
mod context;
mod failure;
mod history;
mod outcome;
mod rollback;
mod stopping;

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use odb_api_types::{
    code::Code,
    management::{StageState, StageStatus},
};
use odb_clients::{
    ServiceError,
    director::{SubmitError, TaskId, TaskState},
    http::StatusCode,
};
use odb_core::metrics::{FollowedOperation, OperationOrigin, OperationOutcome, Queue, metrics};
use odb_redaction::Chain;
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};
use tracing::Instrument;

use crate::{
    Upstreams,
    deployment::force,
    orders::submission::{self, Work},
    reconciler::{
        narrative::{self, Cancelling, LatestStep, Scene},
        next_step::{Previous, Progress, Stage, Step, TaskKind, TaskOutcome, next_step},
        observer::Observer,
        operation::{Begun, Operation, Plea, Snapshot, SnapshotState},
        retry::{self, Retrier},
        traces::Assessment,
    },
    records::{
        operation_record::Outcome,
        progress::{self, StepLog},
    },
    wait::{Absence, Backoff},
};
use cancelling::Repeats;
use context::Context;
use failure::OperationFailure;
use history::{History, has_lost_newest};
use outcome::{Record, write_outcome};
use stopping::{Stopping, Unconfirmed, is_over};

/// Carries one operation to its end.
pub(crate) struct Reconciler {
    context: Context,
    stages: Vec<Stage>,
    observer: Observer,
    latest: LatestStep,
    /// The tasks as they were last seen, and the steps of those that were followed.
    seen: Vec<TaskOutcome>,
    steps: BTreeMap<TaskId, StepLog>,
    snapshot: watch::Sender<Snapshot>,
    stopping: Stopping,
    /// The last request that was sent.
    unconfirmed: Unconfirmed,
    history: History,
    /// While a task is followed that is to be cancelled.
    repeats: Option<Repeats>,
}

/// The outcome of an operation.
enum End {
    Succeeded,
    NeverSubmitted,
}

/// The attempts to start a stage. The pauses between them grow, and are short again at the next stage.
struct Attempts {
    stage: Option<usize>,
    failed: u32,
    backoff: Backoff,
}

impl Attempts {
    fn turn_to(&mut self, stage: usize) {
        if self.stage.replace(stage) != Some(stage) {
            self.failed = 0;
            self.backoff.reset();
        }
    }
}

/// The snapshot for polls before the reconciler's first look.
pub(crate) fn first_snapshot(operation: &Operation) -> Snapshot {
    let stages = operation.stages();
    let description = narrative::in_progress(&Scene {
        kind: operation.kind(),
        stages: &stages,
        stage: 0,
        latest: &LatestStep::default(),
        cancelling: cancelling_of(operation, None),
    });
    Snapshot {
        first_task: operation.first_task,
        since: Instant::now(),
        is_without_news: false,
        plea: None,
        stages: Arc::new(progress::reports(
            operation.kind(),
            &stages,
            &[],
            &BTreeMap::new(),
        )),
        state: SnapshotState::InProgress(description),
    }
}

/// The cancellation as users read it. A delete that cuts another operation short cancels it, too.
fn cancelling_of(operation: &Operation, plea: Option<Plea>) -> Cancelling {
    match plea {
        Some(Plea::Refused) if operation.record.cancelled_by.is_none() => {
            Cancelling::RefusedToDeletion
        }
        Some(Plea::Refused) => Cancelling::Refused,
        Some(Plea::Granted) | None if operation.record.cancelled_by.is_some() => {
            Cancelling::ByOperator
        }
        Some(Plea::Granted) | None => Cancelling::No,
    }
}

impl Reconciler {
    /// A reconciler that reports to `snapshot`.
    pub(crate) fn new(
        upstreams: Arc<Upstreams>,
        operation: Operation,
        snapshot: watch::Sender<Snapshot>,
    ) -> Self {
        let retrier = Retrier::new(
            &upstreams.timings,
            operation.record.request.clone(),
            snapshot.clone(),
        );
        Self {
            observer: Observer::new(upstreams.clone(), &operation, retrier.clone()),
            unconfirmed: Unconfirmed::of(&operation),
            seen: Vec::new(),
            steps: BTreeMap::new(),
            stages: operation.stages(),
            context: Context {
                upstreams,
                operation,
                retrier,
            },
            latest: LatestStep::default(),
            snapshot,
            stopping: Stopping::default(),
            history: History::default(),
            repeats: None,
        }
    }

    /// Runs the operation to its end. May be dropped at any moment; a later reconciler continues from the Director's
    /// state.
    ///
    /// There is one for each operation in progress, for hours, so state that is short-lived is on the heap.
    pub(crate) fn run(self) -> impl Future<Output = ()> + Send {
        let operation = &self.context.operation;
        let span = tracing::info_span!(
            "driver",
            request.id = %operation.record.request,
            instance.id = %operation.instance,
            operation = %operation.kind(),
        );
        // A reconciler that an async function owns is in its future twice.
        let mut reconciler = Box::new(self);
        async move { reconciler.run_to_the_end().await }.instrument(span)
    }

    async fn run_to_the_end(&mut self) {
        tracing::info!("following the operation");
        let origin = match self.context.operation.begun {
            Begun::Here => OperationOrigin::Here,
            Begun::Redirected(since) => OperationOrigin::Redirected {
                since: since.into_std(),
            },
            Begun::Elsewhere => OperationOrigin::Elsewhere,
        };
        let upstreams = self.context.upstreams.clone();
        let record = &self.context.operation.record;
        let plan = upstreams.offering.plan(&record.plan);
        let plan = plan.map(|plan| plan.name.as_str());
        let began = record.began.unwrap_or_else(Timestamp::now);
        let counted = metrics().follow_operation(record.operation, plan, origin, began);
        let driven = self.drive().await;
        Box::pin(self.conclude(driven, &counted)).await;
    }

    /// Records the outcome of the operation.
    async fn conclude(
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
                rollback::roll_back(&self.context).await;
                counted.ended(OperationOutcome::NeverSubmitted);
                self.publish(SnapshotState::NeverSubmitted);
            }
            Err(operation_failure) => {
                self.fail(&operation_failure, counted).await;
            }
        }
    }

    async fn drive(&mut self) -> Result<End, OperationFailure> {
        let mut attempts = Attempts {
            stage: None,
            failed: 0,
            backoff: Backoff::between_attempts(&self.context.upstreams.timings),
        };
        let mut empty = Absence::default();
        loop {
            let mut tasks = self
                .observer
                .look(&self.context.operation.record.context)
                .await?;
            self.history.complete(&mut tasks);
            self.note_first(&tasks);
            self.seen.clone_from(&tasks);
            let previous = self
                .stopping
                .tasks_of_previous(&self.context, &mut self.observer, &tasks)
                .await?;
            let plan = next_step(
                self.context.operation.kind(),
                &self.stages,
                &tasks,
                self.stopping.previous(&previous),
            );
            match plan.step {
                Step::Cancel(task) => {
                    self.unconfirmed.clear();
                    Box::pin(self.cancel(task, 0)).await?;
                }
                Step::AwaitPrevious => self.await_previous().await,
                Step::Wait(task, stage) => {
                    self.unconfirmed.clear();
                    if self.context.is_cancelled() {
                        Box::pin(self.cancel(task, stage)).await?;
                    } else {
                        self.follow(task, stage).await?;
                    }
                }
                Step::Start(_) if self.is_unconfirmed() => {
                    sleep(self.context.upstreams.timings.first_retry).await;
                }
                // The last request has not shown up in the list of tasks: it is not repeated before its outcome is
                // known.
                Step::Start(_) if has_lost_newest(&self.observer, &tasks) => {
                    if self.history.is_known(&self.observer) {
                        return Err(OperationFailure::unknown());
                    }
                    Box::pin(self.history.read_history(&self.context, &self.observer)).await;
                }
                Step::Start(_) if self.context.is_cancelled() => {
                    if has_deployed(&tasks) {
                        Box::pin(cleanup::settle_client(&self.context)).await;
                    }
                    return Err(OperationFailure::cancelled());
                }
                Step::Start(_)
                    if tasks.is_empty() && self.stopping.is_to_be_surveyed(&self.context) =>
                {
                    Box::pin(self.stopping.survey(&self.context, &mut self.stages)).await?;
                }
                Step::Start(stage) => {
                    Box::pin(self.begin(stage, &tasks, &mut attempts)).await?;
                }
                Step::CleanUp => {
                    Box::pin(self.clean_up()).await?;
                    return Ok(End::Succeeded);
                }
                Step::Succeed => return Ok(End::Succeeded),
                Step::NeverSubmitted if self.is_to_be_awaited(&mut empty) => {
                    sleep(self.context.upstreams.timings.first_look).await;
                }
                Step::NeverSubmitted | Step::Fail(None)
                    if !self.history.is_known(&self.observer) =>
                {
                    Box::pin(self.history.read_history(&self.context, &self.observer)).await;
                }
                Step::NeverSubmitted => return Box::pin(self.without_tasks()).await,
                Step::Fail(None) if !tasks.iter().any(was_shut) => {
                    return Box::pin(self.without_tasks()).await;
                }
                Step::Fail(task) => {
                    if has_deployed(&tasks) {
                        Box::pin(cleanup::settle_client(&self.context)).await;
                    }
                    return Err(Box::pin(self.operation_failure(task)).await);
                }
            }
        }
    }

    /// Begins the next stage, unless a transient error prevents it: then the next look decides again.
    async fn begin(
        &mut self,
        stage: usize,
        tasks: &[TaskOutcome],
        attempts: &mut Attempts,
    ) -> Result<(), OperationFailure> {
        attempts.turn_to(stage);
        if tasks.last().is_some_and(was_shut) {
            attempts.backoff.pause().await;
        }
        match self.start(stage).await {
            Ok(()) => {}
            Err(error) if is_gone(&error) && self.stages[stage] == Stage::Delete => {
                self.stages.truncate(stage);
            }
            Err(error) if passes(&error) => {
                if matches!(error, SubmitError::LostAnswer { .. }) {
                    self.unconfirmed.begin();
                }
                attempts.failed = attempts.failed.saturating_add(1);
                retry::log(attempts.failed, &error, "start the next step");
                attempts.backoff.pause().await;
            }
            Err(error) => {
                return Err(OperationFailure::new(format!(
                    "the next step was refused: {}",
                    Chain(&error)
                )));
            }
        }
        Ok(())
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

    /// The first task may still be on its way, as long as none is known.
    fn is_to_be_awaited(&self, absence: &mut Absence) -> bool {
        let timings = &self.context.upstreams.timings;
        self.observer.newest().is_none() && !is_over(absence, &self.observer, timings)
    }

    /// Called after each read of the Director that found no running task.
    fn is_unconfirmed(&mut self) -> bool {
        let timings = &self.context.upstreams.timings;
        self.unconfirmed.remains(&self.observer, timings)
    }

    /// The first task of the operation that is cut short may still be on its way.
    async fn await_previous(&mut self) {
        self.report_stage(0);
        if self.is_unconfirmed() {
            sleep(self.context.upstreams.timings.first_retry).await;
        } else {
            self.stopping.note_never_came();
        }
    }

    /// Deletes residual resources of an instance.
    async fn clean_up(&self) -> Result<(), OperationFailure> {
        self.report_stage(self.stages.len());
        cleanup::remove_instance(&self.context).await
    }

    /// Decides by the current state. The outcome reports that nothing has changed only if that is known.
    async fn without_tasks(&self) -> Result<End, OperationFailure> {
        let (context, observer) = (&self.context, &self.observer);
        match self.history.assess(context, observer).await? {
            Assessment::NeverBegan => Ok(End::NeverSubmitted),
            Assessment::Succeeded => {
                if context.operation.kind().deletes() {
                    self.clean_up().await?;
                }
                Ok(End::Succeeded)
            }
            Assessment::Failed => Err(OperationFailure::new(
                "the Director has no tasks of the operation any more, and no deploy of the deployment has succeeded"
                    .to_owned(),
            )),
            Assessment::StillThere => Err(OperationFailure::still_there()),
            Assessment::Gone => Err(OperationFailure::gone()),
            Assessment::Unknown => Err(OperationFailure::unknown()),
        }
    }

    fn note_first(&mut self, tasks: &[TaskOutcome]) {
        if self.context.operation.first_task.is_none()
            && let Some(first) = tasks.first()
        {
            self.context.operation.first_task = Some(first.id);
            self.snapshot
                .send_modify(|snapshot| snapshot.first_task = Some(first.id));
        }
    }

    /// Tails a task until it ends.
    async fn follow(&mut self, task: TaskId, stage: usize) -> Result<(), ServiceError> {
        self.latest = LatestStep::default();
        // The log is read from its beginning.
        self.steps.remove(&task);
        self.report_stage(stage);
        let timings = self.context.upstreams.timings;
        let mut offset = 0;
        let mut backoff = Backoff::between_looks(&timings);
        loop {
            backoff.pause().await;
            let director = &self.context.upstreams.director;
            let read = |call| async move { director.task(&call, task).await };
            let seen = self.context.retrier.retry("read the task", read).await?;
            let seen = seen.map_or(TaskState::Done, |seen| seen.state);
            if seen.is_finished() {
                tracing::info!(bosh.task.id = task.number(), "the task has ended");
                if seen == TaskState::Done {
                    self.steps.entry(task).or_default().complete();
                }
                return Ok(());
            }
            self.latest.note(&seen);
            Box::pin(self.cancel_again(task, &seen)).await;
            let director = &self.context.upstreams.director;
            // Only the task's state decides; without its event log users read the previous progress.
            match Box::pin(director.events(&self.context.call(), task, offset)).await {
                Ok(chunk) => {
                    offset = chunk.next;
                    self.latest.absorb(&chunk.events);
                    self.steps.entry(task).or_default().absorb(&chunk.events);
                }
                Err(error) => tracing::debug!(
                    bosh.task.id = task.number(),
                    error = %Chain(&error),
                    "could not read the event log"
                ),
            }
            self.report_stage(stage);
        }
    }

    async fn start(&mut self, stage: usize) -> Result<(), SubmitError> {
        self.latest = LatestStep::default();
        self.report_stage(stage);
        let upstreams = &self.context.upstreams;
        let (director, context) = (&upstreams.director, &self.context.operation.record.context);
        let work = match &self.stages[stage] {
            Stage::Errand(errand) => Work::Errand(errand.clone()),
            Stage::Delete => Work::Delete(force(self.context.operation.kind())),
            Stage::Stop | Stage::Deploy => {
                return Err(SubmitError::Refused {
                    asked: "POST /deployments".to_owned(),
                    status: StatusCode::BAD_REQUEST,
                    code: None,
                    description: "only a request can submit a deployment".to_owned(),
                });
            }
        };
        let name = self.context.operation.deployment();
        let waiting = metrics().wait(Queue::Submission);
        let _location = upstreams.submissions.acquire().await;
        drop(waiting);
        let call = self.context.call();
        let task = submission::submit(
            director,
            &call,
            context,
            self.observer.newest(),
            upstreams.timings.lost_answer,
            |call| work.send(director, call, &name, context),
        )
        .await?;
        tracing::info!(bosh.task.id = task.number(), "the next step has begun");
        self.observer.note(task);
        Ok(())
    }

    fn report_stage(&self, stage: usize) {
        let description = narrative::in_progress(&Scene {
            kind: self.context.operation.kind(),
            stages: &self.stages,
            stage,
            latest: &self.latest,
            cancelling: cancelling_of(&self.context.operation, self.plea()),
        });
        let mut reports = self.reports();
        if let Some(report) = reports
            .get_mut(stage)
            .filter(|report| report.state == StageState::Waiting)
        {
            report.state = StageState::Running;
        }
        self.snapshot.send_modify(|snapshot| {
            snapshot.stages = Arc::new(reports);
            snapshot.state = SnapshotState::InProgress(description);
        });
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
            let _ = self
                .context
                .upstreams
                .ends
                .send(self.context.operation.kind());
        }
    }

    fn reports(&self) -> Vec<StageStatus> {
        let kind = self.context.operation.kind();
        let plan = next_step(kind, &self.stages, &self.seen, Previous::AtRest);
        progress::reports(kind, &self.stages, &plan.stages, &self.steps)
    }
}

/// It never got the deployment's lock.
fn was_shut(task: &TaskOutcome) -> bool {
    task.progress == Progress::Shut
}

/// Whether the Director has completed the submitted work, whatever happened to the errands.
fn has_deployed(tasks: &[TaskOutcome]) -> bool {
    tasks
        .iter()
        .any(|task| task.task_kind == TaskKind::Deploy && task.progress == Progress::Done)
}

/// A later attempt to submit may succeed. The tasks are listed again before it.
fn passes(error: &SubmitError) -> bool {
    match error {
        SubmitError::NotSent { .. } | SubmitError::LostAnswer { .. } => true,
        SubmitError::Refused { status, code, .. } => {
            *status == StatusCode::TOO_MANY_REQUESTS
                || (*status == StatusCode::UNAUTHORIZED && code.is_none())
        }
    }
}

fn is_gone(error: &SubmitError) -> bool {
    matches!(error, SubmitError::Refused { status, .. } if *status == StatusCode::NOT_FOUND)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size_of_future<A, F>(_: impl Fn(A) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn a_reconciler_that_follows_a_task_is_small() {
        let size = size_of_future(Reconciler::run);
        assert!(size < 4096, "{size} bytes");
    }
}
