//! Carries one operation from its hand-over to its end (`docs/architecture.md`, "Drivers"): follows the task and its event log,
//! starts the next lifecycle errand, cleans up after a delete, records the outcome. Polls read its snapshot and have no
//! side effects of their own.

use std::sync::Arc;

use odb_platform::{
    director::{ContextId, Deployment, DirectorError, SubmitError, TaskId},
    http::{Call, StatusCode},
};
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use super::{
    Neighbours, OperationKind, Outcome, errands, force,
    insistence::{Pauses, insist},
    leftovers,
    narrative::{self, LatestStep, Scene},
    next_step::{Judged, Progress, Stage, Step, next_step, stages},
    observer::Observer,
    operation::{Operation, Snapshot, SnapshotState},
    submission,
};
use crate::{
    code::Code,
    complaint::{Asked, Complaint},
    config::{BoshConfigs, ErrorDetail},
    telemetry::{Chain, redact},
};

/// The longest cause that is told to users, where they are told any. Platforms cut at 10,000 characters.
const MAX_CAUSE: usize = 2000;

/// Carries one operation to its end.
pub(super) struct Driver {
    neighbours: Arc<Neighbours>,
    operation: Operation,
    stages: Vec<Stage>,
    observer: Observer,
    latest: LatestStep,
    snapshot: watch::Sender<Snapshot>,
}

/// Why an operation cannot go on: what the operator reads, and the task that tells more.
struct Obstacle {
    task: Option<TaskId>,
    cause: String,
}

/// What an operation came to.
enum End {
    Succeeded,
    NeverSubmitted,
}

impl Driver {
    pub(super) fn new(
        neighbours: Arc<Neighbours>,
        operation: Operation,
    ) -> (Self, watch::Receiver<Snapshot>) {
        let stages = stages(operation.kind, &operation.errands);
        let latest = LatestStep::default();
        let description = narrative::in_progress(&Scene {
            kind: operation.kind,
            stages: &stages,
            stage: 0,
            latest: &latest,
        });
        let (snapshot, reader) = watch::channel(Snapshot {
            kind: operation.kind,
            context: operation.context.clone(),
            first_task: operation.first_task,
            state: SnapshotState::InProgress(description),
        });
        let driver = Self {
            observer: Observer::new(neighbours.clone(), &operation),
            neighbours,
            operation,
            stages,
            latest,
            snapshot,
        };
        (driver, reader)
    }

    /// Drives to the end. Can be dropped at any moment; a later driver goes on from what the Director tells.
    #[tracing::instrument(name = "driver", skip_all, fields(
        request.id = %self.operation.request, instance.id = %self.operation.instance, operation = %self.operation.kind
    ))]
    pub(super) async fn run(mut self) {
        tracing::info!("following the operation");
        match self.drive().await {
            Ok(End::Succeeded) => {
                tracing::info!("the operation has succeeded");
                let outcome = Outcome::Succeeded(narrative::completed(self.operation.kind));
                // A delete's marker is gone, and with it the last thing there was to record.
                if !self.operation.kind.deletes() {
                    self.record(&outcome).await;
                }
                self.publish(SnapshotState::Ended(outcome));
            }
            Ok(End::NeverSubmitted) => {
                tracing::warn!(code = %Code::NeverSubmitted, "the operation was never handed over to the Director");
                self.publish(SnapshotState::NeverSubmitted);
            }
            Err(obstacle) => self.fail(&obstacle).await,
        }
    }

    async fn drive(&mut self) -> Result<End, Obstacle> {
        let mut pauses = Pauses::new(&self.neighbours.timings);
        let mut empty_since: Option<Instant> = None;
        loop {
            let tasks = self.observer.look(self.operation.context.as_ref()).await?;
            self.note_first(&tasks);
            match next_step(self.operation.kind, &self.stages, &tasks) {
                Step::Wait(task, stage) => self.follow(task, stage).await?,
                Step::Start(stage) => {
                    if tasks
                        .last()
                        .is_some_and(|task| task.progress == Progress::Shut)
                    {
                        sleep(self.neighbours.timings.longest_look).await;
                    }
                    match self.start(stage).await {
                        Ok(()) => {}
                        Err(error) if is_gone(&error) && self.stages[stage] == Stage::Delete => {
                            self.stages.truncate(stage);
                        }
                        Err(error) if passes(&error) => {
                            tracing::warn!(
                                code = %Code::Follow,
                                error = %Chain(&error),
                                "could not start the next step, looking again"
                            );
                            pauses.pause().await;
                        }
                        Err(error) => {
                            return Err(Obstacle::new(format!(
                                "the next step was refused: {}",
                                Chain(&error)
                            )));
                        }
                    }
                }
                Step::CleanUp => {
                    self.clean_up().await?;
                    return Ok(End::Succeeded);
                }
                Step::Succeed => return Ok(End::Succeeded),
                Step::Fail(task) => return Err(self.obstacle(task).await),
                Step::NeverSubmitted if self.observer.newest().is_some() => {
                    return self.after_amnesia().await;
                }
                Step::NeverSubmitted => {
                    let since = *empty_since.get_or_insert_with(Instant::now);
                    if since.elapsed() >= self.neighbours.timings.lost_answer {
                        return Ok(End::NeverSubmitted);
                    }
                    sleep(self.neighbours.timings.first_look).await;
                }
            }
        }
    }

    fn note_first(&mut self, tasks: &[Judged]) {
        if self.operation.first_task.is_none()
            && let Some(first) = tasks.first()
        {
            self.operation.first_task = Some(first.id);
            self.snapshot
                .send_modify(|snapshot| snapshot.first_task = Some(first.id));
        }
    }

    /// Tails a task until it ends.
    async fn follow(&mut self, task: TaskId, stage: usize) -> Result<(), DirectorError> {
        self.latest = LatestStep::default();
        self.tell(stage);
        let timings = self.neighbours.timings;
        let mut offset = 0;
        let mut pause = timings.first_look;
        loop {
            sleep(pause).await;
            pause = (pause * 3 / 2).min(timings.longest_look);
            let director = &self.neighbours.director;
            let request = &self.operation.request;
            let seen = insist(&timings, request, "read the task", |call| async move {
                director.task(&call, task).await
            })
            .await?;
            let Some(seen) = seen.filter(|seen| !seen.state.is_finished()) else {
                tracing::info!(bosh.task.id = task.number(), "the task has ended");
                return Ok(());
            };
            let chunk = insist(&timings, request, "read the event log", |call| async move {
                director.events(&call, task, offset).await
            })
            .await?;
            offset = chunk.next;
            self.latest.note(&seen.state);
            self.latest.absorb(&chunk.events);
            self.tell(stage);
        }
    }

    async fn start(&mut self, stage: usize) -> Result<(), SubmitError> {
        self.latest = LatestStep::default();
        self.tell(stage);
        // A token of a Go broker whose operation has errands has a context id.
        let context = self
            .operation
            .context
            .get_or_insert_with(ContextId::random)
            .clone();
        let neighbours = self.neighbours.clone();
        let (director, deployment) = (&neighbours.director, &self.operation.deployment);
        let _place = neighbours.submissions.acquire().await;
        let call = self.call();
        let stage = &self.stages[stage];
        let kind = self.operation.kind;
        let task = submission::submit(
            director,
            &call,
            &context,
            self.observer.newest(),
            neighbours.timings.lost_answer,
            || async {
                match stage {
                    Stage::Errand(errand) => {
                        errands::run(director, &call, deployment, errand, &context).await
                    }
                    Stage::Delete => {
                        director
                            .delete(&call, deployment, force(kind), &context)
                            .await
                    }
                    Stage::Deploy => Err(SubmitError::Refused {
                        status: StatusCode::BAD_REQUEST,
                        code: None,
                        description: "only a request can hand over a deployment".to_owned(),
                    }),
                }
            },
        )
        .await?;
        tracing::info!(bosh.task.id = task.number(), "the next step has begun");
        self.observer.note(task);
        Ok(())
    }

    /// Removes what an instance leaves behind; the marker goes last.
    async fn clean_up(&self) -> Result<(), Obstacle> {
        self.tell(self.stages.len());
        let neighbours = &self.neighbours;
        let (timings, request) = (&neighbours.timings, &self.operation.request);
        if !self.is_absent().await? {
            return Err(Obstacle::new("the deployment is still there".to_owned()));
        }
        if neighbours.configs == BoshConfigs::Enabled {
            let deleted = insist(
                timings,
                request,
                "delete the instance's configs",
                |call| async move {
                    leftovers::delete_configs(
                        &neighbours.director,
                        &call,
                        &self.operation.deployment,
                    )
                    .await
                },
            );
            tolerate_missing_rights(deleted.await)?;
        }
        let forgotten = insist(timings, request, "delete the marker", |call| async move {
            neighbours
                .markers
                .delete(&call, &self.operation.instance)
                .await
        });
        tolerate_missing_rights(forgotten.await)
    }

    async fn is_absent(&self) -> Result<bool, DirectorError> {
        let director = &self.neighbours.director;
        let (timings, request) = (&self.neighbours.timings, &self.operation.request);
        let found = insist(
            timings,
            request,
            "look the deployment up",
            |call| async move { director.deployment(&call, &self.operation.deployment).await },
        );
        // A name that another team has by now is not the instance's any more.
        Ok(matches!(
            found.await?,
            Deployment::Absent | Deployment::ForeignTeam
        ))
    }

    /// The Director does not know a task any more that it knew: old tasks are dropped.
    async fn after_amnesia(&self) -> Result<End, Obstacle> {
        if self.operation.kind.deletes() && self.is_absent().await? {
            self.clean_up().await?;
            return Ok(End::Succeeded);
        }
        Err(Obstacle::new(
            "the Director has dropped the operation's tasks".to_owned(),
        ))
    }

    /// The full error stands in the event log; the task's own result is cut.
    async fn obstacle(&self, task: Option<TaskId>) -> Obstacle {
        let Some(id) = task else {
            return Obstacle::new("the deployment was locked by another task".to_owned());
        };
        let director = &self.neighbours.director;
        let (timings, request) = (&self.neighbours.timings, &self.operation.request);
        let chunk = insist(
            timings,
            request,
            "read why the task failed",
            |call| async move { director.events(&call, id, 0).await },
        );
        let mut steps = LatestStep::default();
        if let Ok(chunk) = chunk.await {
            steps.absorb(&chunk.events);
        }
        let told = steps.failure().map(redact);
        Obstacle {
            task: Some(id),
            cause: told.map_or_else(|| "a task did not do what it should".to_owned(), Into::into),
        }
    }

    /// Logs why, records that, and tells the user whom to ask.
    async fn fail(&self, obstacle: &Obstacle) {
        let Obstacle { task, cause } = obstacle;
        tracing::error!(code = %Code::TaskFailed, bosh.task.id = task.map(TaskId::number), cause, "the operation has failed");
        let description = self.failure_for_user(*task);
        self.record(&Outcome::Failed(description.clone())).await;
        let told = if self.neighbours.error_detail == ErrorDetail::Exposed {
            let cause: String = cause.chars().take(MAX_CAUSE).collect();
            format!("{description}, error-message: {cause}")
        } else {
            description
        };
        self.publish(SnapshotState::Ended(Outcome::Failed(told)));
    }

    fn failure_for_user(&self, task: Option<TaskId>) -> String {
        let kind = self.operation.kind;
        // The upgrade errand's log is read by machines that look for this.
        if let (OperationKind::Upgrade, Some(task)) = (kind, task) {
            return format!("Failed for bosh task: {task}");
        }
        let complaint = Complaint {
            service: &self.neighbours.service,
            instance: &self.operation.instance,
            request: &self.operation.request,
            task: task.or(self.operation.first_task),
            operation: Some(Asked::Operation(kind)),
        };
        format!("Instance {} failed: {complaint}", kind.noun())
    }

    /// The second write of the marker. Whoever wrote in between knows something newer.
    async fn record(&self, outcome: &Outcome) {
        let Some(stored) = &self.operation.stored else {
            return;
        };
        let mut marker = stored.marker.clone();
        marker.outcome = Some(outcome.clone());
        let markers = &self.neighbours.markers;
        let written = markers
            .write(
                &self.call(),
                &self.operation.instance,
                marker,
                Some(&stored.id),
            )
            .await;
        if let Err(error) = written {
            tracing::warn!(code = %Code::Follow, error = %Chain(&error), "the outcome is known, its marker was not written");
        }
    }

    fn tell(&self, stage: usize) {
        let description = narrative::in_progress(&Scene {
            kind: self.operation.kind,
            stages: &self.stages,
            stage,
            latest: &self.latest,
        });
        self.publish(SnapshotState::InProgress(description));
    }

    fn publish(&self, state: SnapshotState) {
        self.snapshot.send_modify(|snapshot| snapshot.state = state);
    }

    fn call(&self) -> Call {
        Call::within(self.neighbours.timings.driver_call)
            .with_request_id(self.operation.request.as_str())
    }
}

impl Obstacle {
    fn new(cause: String) -> Self {
        Self { task: None, cause }
    }
}

impl From<DirectorError> for Obstacle {
    fn from(error: DirectorError) -> Self {
        Self::new(Chain(&error).to_string())
    }
}

/// Work that is sent again later may be taken then. Before it is, the tasks are listed again.
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

/// A client that may not touch configs was warned when the operation began; the instance is gone all the same.
fn tolerate_missing_rights(cleaned: Result<(), DirectorError>) -> Result<(), Obstacle> {
    match cleaned {
        Err(error @ DirectorError::NotAllowed { .. }) => {
            tracing::warn!(code = %Code::CleanUp, error = %Chain(&error), "something is left behind that may not be deleted");
            Ok(())
        }
        cleaned => Ok(cleaned?),
    }
}
