//! Carries one operation from its submission to its end (`docs/contributing/architecture.md`, "Reconcilers"): follows
//! the task and its event log, starts the next lifecycle errand, cleans up after a delete, records the outcome. Polls
//! read its snapshot and have no side effects.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use odb_api_types::management::{StageState, StageStatus};
use odb_clients::{
    ServiceError,
    director::{SubmitError, TaskId, TaskState},
    http::{StatusCode, trace},
};
use odb_core::metrics::{OperationOrigin, Queue, metrics};
use odb_redaction::Chain;
use tokio::sync::watch;
use tracing::{Instrument, Span, field};

use crate::{
    Upstreams,
    instance::force,
    orders::submission::{Work, submit},
    reconciler::{
        cleanup,
        failure::{Ending, OperationFailure},
        history::{Assessment, History, has_lost_newest},
        narrative::{self, Scene},
        next_step::{Previous, Progress, Stage, Step, TaskKind, TaskOutcome, next_step},
        observer::Observer,
        operation::{self, Begun, Context, Operation, Retrier, Snapshot, SnapshotState},
        spans,
        stopping::{Repeats, is_over},
    },
    records::operation_details::{self, StepLog},
    wait::{Absence, Backoff, pause},
};

pub(crate) struct Reconciler {
    pub(super) context: Context,
    pub(super) stages: Vec<Stage>,
    pub(super) observer: Observer,
    followed: Option<TaskId>,
    /// The tasks as they were last seen, and the steps of those that were followed.
    pub(super) seen: Vec<TaskOutcome>,
    pub(super) steps: BTreeMap<TaskId, StepLog>,
    pub(super) snapshot: watch::Sender<Snapshot>,
    /// The operation that is cut short never came to a task.
    pub(super) never_came: bool,
    /// The resources to delete are known.
    pub(super) surveyed: bool,
    /// A request that may still arrive, and since when the Director has shown no sign of it.
    pub(super) unconfirmed: Option<Absence>,
    pub(super) history: History,
    /// While a task is followed that is to be cancelled.
    pub(super) repeats: Option<Repeats>,
    /// The latest stage in the trace.
    stage_span: Option<(usize, Span)>,
}

/// How an operation ends that does not fail.
pub(super) enum End {
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

impl Reconciler {
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
        // The reconciler of an interrupted operation may be stopped at any moment, perhaps during the submission of an
        // errand.
        let is_alone = operation.begun == Begun::Here && operation.record.cuts_short.is_none();
        Self {
            observer: Observer::new(&operation),
            unconfirmed: (!is_alone).then(Absence::default),
            seen: Vec::new(),
            steps: BTreeMap::new(),
            stages: operation.stages(),
            context: Context {
                upstreams,
                operation,
                retrier,
            },
            followed: None,
            snapshot,
            never_came: false,
            surveyed: false,
            history: History::default(),
            repeats: None,
            stage_span: None,
        }
    }

    /// Runs the operation to its end. May be dropped at any moment; a later reconciler continues from the Director's
    /// state.
    ///
    /// There is one for each operation in progress, for hours, so state that is short-lived is on the heap.
    pub(crate) fn run(self) -> impl Future<Output = ()> + Send {
        let operation = &self.context.operation;
        let exported = spans::of_operation(operation);
        let (span, _) = trace::entered(&exported, operation.trace, || {
            tracing::info_span!(
                "reconciler",
                request.id = %operation.record.request,
                operation.id = %operation.record.request,
                instance.id = %operation.instance,
                operation = %operation.kind(),
                trace.id = field::Empty,
            )
        });
        // A reconciler that an async function owns is in its future twice.
        let mut reconciler = Box::new(self);
        async move { reconciler.run_to_the_end(&exported).await }.instrument(span)
    }

    async fn run_to_the_end(&mut self, exported: &Span) {
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
        self.stage_span = None;
        if driven.is_err() {
            exported.record("otel.status_code", "ERROR");
        }
        let concluding = Box::pin(self.conclude(driven, &counted));
        concluding
            .instrument(spans::of_step("record the outcome"))
            .await;
    }

    async fn drive(&mut self) -> Result<End, OperationFailure> {
        let mut attempts = Attempts {
            stage: None,
            failed: 0,
            backoff: Backoff::between_attempts(&self.context.upstreams.timings),
        };
        let mut empty = Absence::default();
        loop {
            let mut tasks = self.observer.look(&self.context).await?;
            self.history.complete(&mut tasks);
            self.note_first(&tasks);
            self.seen.clone_from(&tasks);
            let previous = self.tasks_of_previous(&tasks).await?;
            let previous = if self.never_came {
                Previous::AtRest
            } else {
                Previous::Tasks(&previous)
            };
            let kind = self.context.operation.kind();
            let plan = next_step(kind, &self.stages, &tasks, previous);
            match plan.step {
                Step::Cancel(task) => {
                    self.unconfirmed = None;
                    Box::pin(self.cancel(task, 0)).await?;
                }
                Step::AwaitPrevious => self.await_previous().await,
                Step::Wait(task, stage) => {
                    self.unconfirmed = None;
                    if self.context.is_cancelled() {
                        Box::pin(self.cancel(task, stage)).await?;
                    } else {
                        let span = self.span_of(stage);
                        span.record("bosh.task.id", task.number());
                        self.follow(task, stage).instrument(span).await?;
                    }
                }
                Step::Start(_) if self.is_unconfirmed() => {
                    pause(self.context.upstreams.timings.first_retry).await;
                }
                // The last request has not shown up in the list of tasks: it is not repeated before its outcome is
                // known.
                Step::Start(_) if has_lost_newest(&self.observer, &tasks) => {
                    if self.history.is_known(&self.observer) {
                        return Err(OperationFailure::dropped(Ending::Unknown));
                    }
                    Box::pin(self.history.read_history(&self.context, &self.observer)).await;
                }
                Step::Start(_) if self.context.is_cancelled() => {
                    if has_deployed(&tasks) {
                        Box::pin(cleanup::settle_client(&self.context)).await;
                    }
                    return Err(OperationFailure::cancelled());
                }
                Step::Start(_) if self.is_to_be_surveyed(&tasks) => {
                    Box::pin(self.survey()).await?;
                }
                Step::Start(stage) => {
                    let span = self.span_of(stage);
                    let begin = Box::pin(self.begin(stage, &tasks, &mut attempts));
                    begin.instrument(span).await?;
                }
                Step::CleanUp => {
                    self.stage_span = None;
                    let clean_up = Box::pin(self.clean_up());
                    clean_up.instrument(spans::of_step("clean-up")).await?;
                    return Ok(End::Succeeded);
                }
                Step::Succeed => return Ok(End::Succeeded),
                Step::NeverSubmitted if self.is_to_be_awaited(&mut empty) => {
                    pause(self.context.upstreams.timings.first_look).await;
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

    /// One span for all looks and tasks of a stage.
    fn span_of(&mut self, stage: usize) -> Span {
        match &self.stage_span {
            Some((current, span)) if *current == stage => span.clone(),
            _ => {
                // The previous one ends first.
                self.stage_span = None;
                let span = spans::of_stage(self.stages.get(stage));
                self.stage_span.insert((stage, span)).1.clone()
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
                    self.unconfirmed = Some(Absence::default());
                }
                attempts.failed = attempts.failed.saturating_add(1);
                operation::log(attempts.failed, &error, "start the next step");
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

    /// The first task may still be on its way, as long as none is known.
    fn is_to_be_awaited(&self, absence: &mut Absence) -> bool {
        let timings = &self.context.upstreams.timings;
        self.observer.newest().is_none() && !is_over(absence, &self.observer, timings)
    }

    fn is_to_be_surveyed(&self, own: &[TaskOutcome]) -> bool {
        let cuts_short = self.context.operation.record.cuts_short.is_some();
        cuts_short && own.is_empty() && !self.surveyed
    }

    /// The first task of the operation that is cut short may still be on its way.
    async fn await_previous(&mut self) {
        self.report_stage(0);
        if self.is_unconfirmed() {
            pause(self.context.upstreams.timings.first_retry).await;
        } else {
            self.never_came = true;
        }
    }

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
            Assessment::StillThere => Err(OperationFailure::dropped(Ending::StillThere)),
            Assessment::Gone => Err(OperationFailure::dropped(Ending::Gone)),
            Assessment::Unknown => Err(OperationFailure::dropped(Ending::Unknown)),
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

    pub(super) async fn follow(&mut self, task: TaskId, stage: usize) -> Result<(), ServiceError> {
        self.followed = Some(task);
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
            self.steps.entry(task).or_default().is_queued = seen == TaskState::Queued;
            Box::pin(self.cancel_again(task, &seen)).await;
            let director = &self.context.upstreams.director;
            // Only the task's state decides; without its event log users read the previous progress.
            match Box::pin(director.events(&self.context.call(), task, offset)).await {
                Ok(chunk) => {
                    offset = chunk.next;
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
        self.followed = None;
        self.report_stage(stage);
        let upstreams = &self.context.upstreams;
        let context = &self.context.operation.record.context;
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
        let (call, known) = (self.context.call(), self.observer.newest());
        let task = submit(upstreams, &call, &name, &work, context, known).await?;
        tracing::info!(bosh.task.id = task.number(), "the next step has begun");
        self.observer.known.insert(task);
        Ok(())
    }

    pub(super) fn report_stage(&self, stage: usize) {
        let log = self.followed.and_then(|task| self.steps.get(&task));
        let description = narrative::in_progress(&Scene {
            kind: self.context.operation.kind(),
            stages: &self.stages,
            stage,
            log: log.unwrap_or(&StepLog::default()),
            cancelling: self.context.operation.cancelling(self.plea()),
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

    pub(super) fn reports(&self) -> Vec<StageStatus> {
        let kind = self.context.operation.kind();
        let plan = next_step(kind, &self.stages, &self.seen, Previous::AtRest);
        operation_details::reports(kind, &self.stages, &plan.stages, &self.steps)
    }
}

fn was_shut(task: &TaskOutcome) -> bool {
    task.progress == Progress::LockTimeout
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
