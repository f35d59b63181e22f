//! The latest operation on an instance as operators see it: from its reconciler's memory, else from its operation
//! record and its tasks, else from the tasks of the deployment.

use std::{collections::BTreeMap, sync::Arc};

use futures_util::{StreamExt, TryStreamExt, stream};
use jiff::Timestamp;
use odb_api_types::{
    ids::InstanceId,
    management::{OperationStatus, StageName, StageState, StageStatus},
};
use odb_clients::{
    director::{Deployment, ErrandResult, Task, TaskFilter, TaskId, TaskState},
    http::Call,
};
use odb_core::engine::{LastOperation, OperationView};

use crate::{
    BoshEngine,
    deployment::{deployment, of_context},
    error::Error,
    reconciler::{
        narrative::failure::BadEnd,
        next_step::{Previous, Progress, TaskKind, TaskOutcome, next_step},
        operation::Operation,
    },
    records::{
        in_flight,
        instance_record::view,
        last_operation,
        progress::{self, StepLog},
        reading::LATEST_TASKS,
        unfinished,
    },
};

/// How many tasks are read concurrently. The complete event log of each is read.
const TASKS_AT_ONCE: usize = 4;

/// The knowledge about tasks without a reconciler.
#[derive(Default)]
struct TaskHistory {
    outcomes: Vec<TaskOutcome>,
    logs: BTreeMap<TaskId, StepLog>,
    /// Why the last one that failed did.
    error: Option<(TaskId, String)>,
}

/// The latest operation on an instance. `None` where there is no such instance, or none that has ever been worked on.
pub(crate) async fn operation_details(
    engine: &BoshEngine,
    call: &Call,
    instance: &InstanceId,
) -> Result<Option<OperationStatus>, Error> {
    if let Some(known) = engine.reconcilers.known(instance) {
        return Ok(Some(known.view().status(instance.clone())));
    }
    match engine.upstreams.records.read(call, instance).await? {
        Some(stored) if in_flight::never_began(engine, instance, &stored.record) => {
            details_of_tasks(engine, call, instance).await
        }
        Some(stored) if stored.record.outcome.is_some() => {
            let operation = Operation::of_stored(instance, stored);
            details_of_ended(engine, call, &operation).await.map(Some)
        }
        Some(stored) => {
            let known = in_flight::take_over(engine, instance, stored);
            Ok(Some(known.view().status(instance.clone())))
        }
        None => details_of_tasks(engine, call, instance).await,
    }
}

/// The operation of a record, with the tasks that the Director still has.
async fn details_of_ended(
    engine: &BoshEngine,
    call: &Call,
    operation: &Operation,
) -> Result<OperationStatus, Error> {
    let filter = TaskFilter {
        limit: Some(LATEST_TASKS),
        ..of_context(&operation.record.context)
    };
    let director = &engine.upstreams.director;
    let tasks = director
        .tasks(call, &filter)
        .await
        .map_err(Error::director("list the operation's tasks"))?;
    let TaskHistory {
        outcomes,
        logs,
        error,
    } = look_back(engine, call, &tasks).await?;
    let (kind, stages, view) = (operation.kind(), operation.stages(), view(operation, None));
    let plan = next_step(kind, &stages, &outcomes, Previous::AtRest);
    let mut reports = progress::reports(kind, &stages, &plan.stages, &logs);
    if let (Some((task, error)), false) = (error, view.is_success()) {
        progress::note_error(&mut reports, Some(task), &error);
    }
    progress::end(&mut reports, view.is_success());
    let ended = OperationView {
        began: view.began.or_else(|| tasks.first().and_then(began)),
        stages: Arc::new(reports),
        ..view
    };
    Ok(ended.status(operation.instance.clone()))
}

/// Without a record, the details come from the last related tasks of the deployment.
async fn details_of_tasks(
    engine: &BoshEngine,
    call: &Call,
    instance: &InstanceId,
) -> Result<Option<OperationStatus>, Error> {
    let name = deployment(instance);
    let director = &engine.upstreams.director;
    let filter = TaskFilter {
        deployment: Some(name.clone()),
        limit: Some(LATEST_TASKS),
        ..TaskFilter::default()
    };
    let (latest, deployed, tasks) = tokio::join!(
        last_operation::guess(engine, call, instance),
        director.deployment(call, &name),
        director.tasks(call, &filter)
    );
    let deployed = deployed.map_err(Error::director("look the deployment up"))?;
    let mut tasks = tasks.map_err(Error::director("list the deployment's tasks"))?;
    if matches!(deployed, Deployment::Absent | Deployment::ForeignTeam) {
        return Ok(None);
    }
    tasks.retain(unfinished::takes_the_lock);
    if let Some(newest) = tasks.last().cloned() {
        tasks.retain(|task| {
            task.id == newest.id || (task.context.is_some() && task.context == newest.context)
        });
    }
    let LastOperation::Known(view, _) = latest? else {
        return Ok(None);
    };
    let TaskHistory {
        outcomes,
        logs,
        error,
    } = look_back(engine, call, &tasks).await?;
    let mut reports: Vec<StageStatus> = outcomes
        .iter()
        .filter_map(|task| stage_of(task, &logs))
        .collect();
    if let Some((task, error)) = error {
        progress::note_error(&mut reports, Some(task), &error);
    }
    let seen = OperationView {
        began: tasks.first().and_then(began),
        stages: Arc::new(reports),
        ..view
    };
    Ok(Some(seen.status(instance.clone())))
}

/// The outcomes of tasks, their steps, and why the last one failed. What the Director does not return is left out.
async fn look_back(engine: &BoshEngine, call: &Call, tasks: &[Task]) -> Result<TaskHistory, Error> {
    let looks: Vec<_> = tasks
        .iter()
        .map(|task| look_back_at(engine, call, task))
        .collect();
    let looks = stream::iter(looks).buffered(TASKS_AT_ONCE);
    looks
        .try_fold(
            TaskHistory::default(),
            async |mut all, (outcomes, log, error)| {
                all.logs.insert(outcomes.id, log);
                all.error = error.map(|error| (outcomes.id, error)).or(all.error);
                all.outcomes.push(outcomes);
                Ok(all)
            },
        )
        .await
}

async fn look_back_at(
    engine: &BoshEngine,
    call: &Call,
    task: &Task,
) -> Result<(TaskOutcome, StepLog, Option<String>), Error> {
    let director = &engine.upstreams.director;
    let task_kind = TaskKind::of(&task.description);
    let mut results = Vec::new();
    let progress = match (&task.state, &task_kind) {
        (state, _) if !state.is_finished() => Progress::Running,
        (TaskState::Done, TaskKind::Errand(_)) => {
            results = director
                .errand_results(call, task.id)
                .await
                .map_err(Error::director("read the results of a lifecycle errand"))?;
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
        .map_err(Error::director("read the event log of a task"))?;
    let mut log = StepLog::default();
    log.absorb(&chunk.events);
    if progress == Progress::Done {
        log.complete();
    }
    let error = (progress == Progress::Failed)
        .then(|| BadEnd::of(task, &results).describe(task.id, &chunk.events));
    let outcomes = TaskOutcome {
        id: task.id,
        task_kind,
        progress,
    };
    Ok((outcomes, log, error))
}

/// When a worker started a task, according to the Director.
fn began(task: &Task) -> Option<Timestamp> {
    Timestamp::try_from(task.started_at?).ok()
}

/// The stage of a task when the operation is unknown.
fn stage_of(task: &TaskOutcome, logs: &BTreeMap<TaskId, StepLog>) -> Option<StageStatus> {
    let name = match &task.task_kind {
        TaskKind::Deploy => StageName::Deploy,
        TaskKind::Errand(name) => StageName::Errand(name.clone()),
        TaskKind::Delete => StageName::Delete,
        TaskKind::Other => return None,
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
