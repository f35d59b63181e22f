//! The latest operation on an instance as operators see it: from its reconciler's memory, else from its operation
//! record and its tasks, else from the tasks of the deployment.

use std::{collections::BTreeMap, sync::Arc};

use futures_util::{StreamExt, TryStreamExt, stream};
use jiff::Timestamp;
use odb_api_types::management::{OperationStatus, StageName, StageState, StageStatus};
use odb_clients::director::{Deployment, Task, TaskFilter, TaskId};
use odb_core::engine::{LastOperation, OperationView};

use crate::{
    error::Error,
    instance::{Instance, of_context, takes_the_lock},
    reconciler::{
        failure::BadEnd,
        next_step::{Previous, Progress, TaskKind, TaskOutcome, next_step},
        observer,
        operation::Operation,
    },
    records::{
        instance_record::view,
        last_operation,
        progress::{self, StepLog},
        reading::LATEST_TASKS,
    },
};

/// How many tasks are read concurrently. The complete event log of each is read.
const TASKS_AT_ONCE: usize = 4;

#[derive(Default)]
struct TaskHistory {
    outcomes: Vec<TaskOutcome>,
    logs: BTreeMap<TaskId, StepLog>,
    /// Why the last one that failed did.
    error: Option<(TaskId, String)>,
}

/// The latest operation on an instance. `None` where there is no such instance, or none that has ever been worked on.
pub(crate) async fn operation_details(
    instance: Instance<'_>,
) -> Result<Option<OperationStatus>, Error> {
    let known = match instance.known() {
        Some(known) => known,
        None => match instance.stored().await? {
            Some(stored) if instance.never_began(&stored.record) => {
                return details_of_tasks(instance).await;
            }
            Some(stored) if stored.record.outcome.is_some() => {
                let operation = Operation::of_stored(instance.id, stored);
                return details_of_ended(instance, &operation).await.map(Some);
            }
            Some(stored) => instance.take_over(stored),
            None => return details_of_tasks(instance).await,
        },
    };
    Ok(Some(known.view().status(instance.id.clone())))
}

/// The operation of a record, with the tasks that the Director still has.
async fn details_of_ended(
    instance: Instance<'_>,
    operation: &Operation,
) -> Result<OperationStatus, Error> {
    let filter = TaskFilter {
        limit: Some(LATEST_TASKS),
        ..of_context(&operation.record.context)
    };
    let tasks = instance.director().tasks(instance.call, &filter).await;
    let tasks = tasks.map_err(Error::director("list the operation's tasks"))?;
    let history = look_back(instance, &tasks).await?;
    let (kind, stages, view) = (operation.kind(), operation.stages(), view(operation, None));
    let plan = next_step(kind, &stages, &history.outcomes, Previous::AtRest);
    let mut reports = progress::reports(kind, &stages, &plan.stages, &history.logs);
    if let (Some((task, error)), false) = (history.error, view.is_success()) {
        progress::note_error(&mut reports, Some(task), &error);
    }
    progress::end(&mut reports, view.is_success());
    let ended = OperationView {
        began: view.began.or_else(|| tasks.first().and_then(began)),
        stages: Arc::new(reports),
        ..view
    };
    Ok(ended.status(instance.id.clone()))
}

/// Without a record, the details come from the last related tasks of the deployment.
async fn details_of_tasks(instance: Instance<'_>) -> Result<Option<OperationStatus>, Error> {
    let (latest, deployed, tasks) = tokio::join!(
        last_operation::guess(instance),
        instance.deployment(),
        instance.tasks(Some(LATEST_TASKS))
    );
    let (deployed, mut tasks) = (deployed?, tasks?);
    if matches!(deployed, Deployment::Absent | Deployment::ForeignTeam) {
        return Ok(None);
    }
    tasks.retain(takes_the_lock);
    if let Some(newest) = tasks.last().cloned() {
        tasks.retain(|task| {
            task.id == newest.id || (task.context.is_some() && task.context == newest.context)
        });
    }
    let LastOperation::Known(view, _) = latest? else {
        return Ok(None);
    };
    let history = look_back(instance, &tasks).await?;
    let stages = history.outcomes.iter();
    let mut reports: Vec<StageStatus> = stages
        .filter_map(|task| stage_of(task, &history.logs))
        .collect();
    if let Some((task, error)) = history.error {
        progress::note_error(&mut reports, Some(task), &error);
    }
    let seen = OperationView {
        began: tasks.first().and_then(began),
        stages: Arc::new(reports),
        ..view
    };
    Ok(Some(seen.status(instance.id.clone())))
}

/// The outcomes of tasks, their steps, and why the last one failed. What the Director does not return is left out.
async fn look_back(instance: Instance<'_>, tasks: &[Task]) -> Result<TaskHistory, Error> {
    let looks: Vec<_> = tasks
        .iter()
        .map(|task| look_back_at(instance, task))
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
    instance: Instance<'_>,
    task: &Task,
) -> Result<(TaskOutcome, StepLog, Option<String>), Error> {
    let (director, call) = (instance.director(), instance.call);
    let task_kind = TaskKind::of(&task.description);
    let results = if observer::has_results(task) {
        let results = director.errand_results(call, task.id).await;
        results.map_err(Error::director("read the results of a lifecycle errand"))?
    } else {
        Vec::new()
    };
    let progress = match observer::judge(task, &results) {
        // Nothing but this task is known of the operation.
        Progress::LockTimeout => Progress::Failed,
        progress => progress,
    };
    let events = director.events(call, task.id, 0).await;
    let events = events
        .map_err(Error::director("read the event log of a task"))?
        .events;
    let mut log = StepLog::default();
    log.absorb(&events);
    if progress == Progress::Done {
        log.complete();
    }
    let error = (progress == Progress::Failed)
        .then(|| BadEnd::of(task, &results).describe(task.id, &events));
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
        Progress::Failed | Progress::LockTimeout => StageState::Failed,
    };
    Some(StageStatus {
        name,
        state,
        task: Some(task.id.number()),
        steps: logs.get(&task.id).map(StepLog::reports).unwrap_or_default(),
        error: None,
    })
}
