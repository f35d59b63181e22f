//! The latest operation on an instance as operators see it: from its driver's memory, else from its marker and its tasks,
//! else from the tasks of the deployment.

use std::collections::BTreeMap;

use futures_util::{StreamExt, TryStreamExt, stream};
use jiff::Timestamp;
use odb_api_types::{
    ids::InstanceId,
    management::{OperationState, OperationStatus, StageName, StageState, StageStatus},
};
use odb_platform::{
    director::{Deployment, ErrandResult, Task, TaskFilter, TaskId, TaskState},
    http::Call,
};

use super::{
    Fault, Instances, Marker, Outcome, Standing, StoredMarker,
    course::{self, StepLog},
    deployed::LATEST_TASKS,
    deployment,
    driver::all_stages,
    drivers::Known,
    failure::BadEnd,
    in_flight::UNKNOWN_TASK,
    narrative,
    next_step::{Doing, Judged, Progress},
    of_context,
    operation::{Operation, SnapshotState},
    token, unfinished,
};

/// Tasks that are looked at at the same time. Of each there is an event log, which is read whole.
const TASKS_AT_ONCE: usize = 4;

/// What is known of tasks that nobody follows.
#[derive(Default)]
struct Hindsight {
    judged: Vec<Judged>,
    logs: BTreeMap<TaskId, StepLog>,
    /// Why the last one that failed did.
    error: Option<(TaskId, String)>,
}

impl Instances {
    /// The latest operation on an instance. `None` where there is no such instance, or none that has ever been worked on.
    pub async fn review(
        &self,
        call: &Call,
        instance: &InstanceId,
    ) -> Result<Option<OperationStatus>, Fault> {
        if let Some(known) = self.drivers.known(instance) {
            return Ok(Some(told(instance, known)));
        }
        match self.neighbours.markers.read(call, instance).await? {
            Some(stored) if self.never_began(instance, &stored.marker) => {
                self.review_tasks(call, instance).await
            }
            Some(stored) => {
                if let Some(outcome) = stored.marker.outcome.clone() {
                    let ended = self.review_ended(call, instance, stored, outcome).await;
                    return ended.map(Some);
                }
                self.take_over(instance, stored);
                let known = self.drivers.known(instance);
                Ok(known.map(|known| told(instance, known)))
            }
            None => self.review_tasks(call, instance).await,
        }
    }

    /// What a marker remembers, with the tasks that the Director still has.
    async fn review_ended(
        &self,
        call: &Call,
        instance: &InstanceId,
        stored: StoredMarker,
        outcome: Outcome,
    ) -> Result<OperationStatus, Fault> {
        let marker = stored.marker;
        let operation = Operation::of_marker(instance, &marker, None, None);
        let filter = TaskFilter {
            limit: Some(LATEST_TASKS),
            ..of_context(&marker.context)
        };
        let director = &self.neighbours.director;
        let tasks = director
            .tasks(call, &filter)
            .await
            .map_err(Fault::director("list the operation's tasks"))?;
        let Hindsight {
            judged,
            logs,
            error,
        } = self.look_back(call, &tasks).await?;
        let stages = all_stages(&operation);
        let mut reports = course::reports(marker.operation, &stages, &judged, &logs);
        if let (Some((task, error)), false) = (error, outcome.is_success()) {
            course::note_error(&mut reports, Some(task), &error);
        }
        course::end(&mut reports, outcome.is_success());
        let (state, description) = ended(outcome);
        Ok(OperationStatus {
            service_instance_id: instance.clone(),
            kind: Some(marker.operation),
            state,
            cancelled: marker.cancelled_by.is_some(),
            began: marker.began.or_else(|| tasks.first().and_then(began)),
            request: Some(marker.request),
            description,
            token: None,
            stages: reports,
        })
    }

    /// Nobody remembers an operation: the tasks that have held the deployment last, and belong together, have to do.
    async fn review_tasks(
        &self,
        call: &Call,
        instance: &InstanceId,
    ) -> Result<Option<OperationStatus>, Fault> {
        let name = deployment(instance);
        let director = &self.neighbours.director;
        let filter = TaskFilter {
            deployment: Some(name.clone()),
            limit: Some(LATEST_TASKS),
            ..TaskFilter::default()
        };
        let (standing, deployed, tasks) = tokio::join!(
            self.guess(call, instance),
            director.deployment(call, &name),
            director.tasks(call, &filter)
        );
        let deployed = deployed.map_err(Fault::director("look the deployment up"))?;
        let mut tasks = tasks.map_err(Fault::director("list the deployment's tasks"))?;
        if matches!(deployed, Deployment::Absent | Deployment::ForeignTeam) {
            return Ok(None);
        }
        tasks.retain(unfinished::takes_the_lock);
        if let Some(newest) = tasks.last().cloned() {
            tasks.retain(|task| {
                task.id == newest.id || (task.context.is_some() && task.context == newest.context)
            });
        }
        let (state, description) = match standing? {
            Standing::InProgress { description, .. } => (OperationState::InProgress, description),
            Standing::Ended { outcome, .. } => ended(outcome),
            Standing::NeverSubmitted(_) | Standing::Gone | Standing::Unknown => return Ok(None),
        };
        let Hindsight {
            judged,
            logs,
            error,
        } = self.look_back(call, &tasks).await?;
        let mut reports: Vec<StageStatus> = judged
            .iter()
            .filter_map(|task| stage_of(task, &logs))
            .collect();
        if let Some((task, error)) = error {
            course::note_error(&mut reports, Some(task), &error);
        }
        Ok(Some(OperationStatus {
            service_instance_id: instance.clone(),
            kind: None,
            state,
            cancelled: false,
            began: tasks.first().and_then(began),
            request: None,
            description,
            token: None,
            stages: reports,
        }))
    }

    /// What tasks came to, what they have told of their steps, and why the last one failed, if it did. What the Director does
    /// not tell is left out.
    async fn look_back(&self, call: &Call, tasks: &[Task]) -> Result<Hindsight, Fault> {
        let looks: Vec<_> = tasks
            .iter()
            .map(|task| self.look_back_at(call, task))
            .collect();
        let looks = stream::iter(looks).buffered(TASKS_AT_ONCE);
        looks
            .try_fold(
                Hindsight::default(),
                async |mut all, (judged, log, error)| {
                    all.logs.insert(judged.id, log);
                    all.error = error.map(|error| (judged.id, error)).or(all.error);
                    all.judged.push(judged);
                    Ok(all)
                },
            )
            .await
    }

    async fn look_back_at(
        &self,
        call: &Call,
        task: &Task,
    ) -> Result<(Judged, StepLog, Option<String>), Fault> {
        let director = &self.neighbours.director;
        let doing = Doing::of(&task.description);
        let mut results = Vec::new();
        let progress = match (&task.state, &doing) {
            (state, _) if !state.is_finished() => Progress::Running,
            (TaskState::Done, Doing::Errand(_)) => {
                results = director
                    .errand_results(call, task.id)
                    .await
                    .map_err(Fault::director("read the results of a lifecycle errand"))?;
                if results.iter().all(ErrandResult::succeeded) {
                    Progress::Done
                } else {
                    Progress::Failed
                }
            }
            (TaskState::Done, _) => Progress::Done,
            _ => Progress::Failed,
        };
        let chunk = director
            .events(call, task.id, 0)
            .await
            .map_err(Fault::director("read the event log of a task"))?;
        let mut log = StepLog::default();
        log.absorb(&chunk.events);
        if progress == Progress::Done {
            log.complete();
        }
        let error = (progress == Progress::Failed)
            .then(|| BadEnd::of(task, &results).tell(task.id, &chunk.events));
        let judged = Judged {
            id: task.id,
            doing,
            progress,
        };
        Ok((judged, log, error))
    }
}

/// What a driver tells.
fn told(instance: &InstanceId, known: Known) -> OperationStatus {
    let Known {
        operation,
        snapshot,
        started,
    } = known;
    let stages = snapshot.stages.to_vec();
    let (state, description, token) = match snapshot.state {
        SnapshotState::InProgress(description) => {
            let marker = operation.stored.as_ref().map(|stored| &stored.marker);
            let token = started.map(|started| started.token).or_else(|| {
                let marker = marker?;
                Some(token(
                    instance,
                    marker,
                    first_task(marker, snapshot.first_task),
                ))
            });
            let description = if snapshot.is_without_news {
                narrative::without_news(&description)
            } else {
                description
            };
            (OperationState::InProgress, description, token)
        }
        SnapshotState::Ended { outcome, .. } => {
            let (state, description) = ended(outcome);
            (state, description, None)
        }
        SnapshotState::NeverSubmitted => (
            OperationState::Failed,
            narrative::never_submitted(snapshot.kind),
            None,
        ),
    };
    OperationStatus {
        service_instance_id: instance.clone(),
        kind: Some(snapshot.kind),
        state,
        cancelled: operation.cancelled_by.is_some(),
        began: operation
            .stored
            .as_ref()
            .and_then(|stored| stored.marker.began),
        request: Some(operation.request.clone()),
        description,
        token: token.and_then(|token| serde_json::from_str(&token).ok()),
        stages,
    }
}

/// The task that a token names: of a delete that cuts an operation short the first one of that operation.
fn first_task(marker: &Marker, known: Option<TaskId>) -> TaskId {
    let cut = marker.cuts_short.as_ref().map(|cut| cut.first_task);
    cut.or(known).unwrap_or_else(|| TaskId::new(UNKNOWN_TASK))
}

fn ended(outcome: Outcome) -> (OperationState, String) {
    match outcome {
        Outcome::Succeeded { description } => (OperationState::Succeeded, description),
        Outcome::Failed { description, .. } => (OperationState::Failed, description),
    }
}

/// When a worker began with a task, as the Director tells.
fn began(task: &Task) -> Option<Timestamp> {
    Timestamp::try_from(task.started_at?).ok()
}

/// The stage that a task is, where nobody knows the operation.
fn stage_of(task: &Judged, logs: &BTreeMap<TaskId, StepLog>) -> Option<StageStatus> {
    let name = match &task.doing {
        Doing::Deploy => StageName::Deploy,
        Doing::Errand(name) => StageName::Errand(name.clone()),
        Doing::Delete => StageName::Delete,
        Doing::Other => return None,
    };
    let state = match task.progress {
        Progress::Running => StageState::Running,
        Progress::Done => StageState::Done,
        Progress::Failed | Progress::Shut => StageState::Failed,
    };
    Some(StageStatus {
        name,
        state,
        task: Some(task.id.number()),
        steps: logs.get(&task.id).map(StepLog::reports).unwrap_or_default(),
        error: None,
    })
}
