//! The latest operation on an instance as operators see it: its stages, each with its task and the steps of that task.
//! From its reconciler's memory, else from its operation record and its tasks, else from the tasks of the deployment.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use futures_util::{StreamExt, TryStreamExt, stream};
use jiff::Timestamp;
use odb_api_types::{
    kind::OperationKind,
    management::{OperationStatus, StageName, StageState, StageStatus, StepStatus},
};
use odb_clients::director::{Deployment, Event, Step, StepState, Task, TaskFilter, TaskId};
use odb_core::engine::{LastOperation, OperationView};

use crate::{
    error::Error,
    instance::{Instance, of_context, takes_the_lock},
    reconciler::{
        failure::BadEnd,
        narrative::InstanceNames,
        next_step::{Previous, Progress, Stage, StageProgress, TaskKind, TaskOutcome, next_step},
        observer,
        operation::Operation,
    },
    records::{last_operation, reading::LATEST_TASKS, view},
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
    let mut reports = reports(kind, &stages, &plan.stages, &history.logs);
    if let (Some((task, error)), false) = (history.error, view.is_success()) {
        note_error(&mut reports, Some(task), &error);
    }
    end(&mut reports, view.is_success());
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
        note_error(&mut reports, Some(task), &error);
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

/// How many headings of one task are reported; a real Director has about a dozen.
const HEADINGS: usize = 64;

/// What the event log of one task shows.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepLog {
    names: InstanceNames,
    headings: Vec<Heading>,
    pub(crate) latest: Option<String>,
    /// The error that ended the task, in the Director's words: for the operator.
    pub(crate) failure: Option<String>,
    pub(crate) is_queued: bool,
}

#[derive(Clone, Debug)]
struct Heading {
    name: String,
    total: u64,
    finished: BTreeSet<u64>,
    /// The steps in progress, by index; the latest to begin is the last.
    going_on: Vec<(u64, String)>,
    is_complete: bool,
}

impl StepLog {
    pub(crate) fn absorb(&mut self, events: &[Event]) {
        for event in self.names.report_events(events) {
            match event {
                Event::Step(step) => {
                    self.absorb_step(&step);
                    self.latest = Some(text_of(step));
                }
                Event::Failure(failure) => self.failure = Some(failure.message),
            }
        }
    }

    /// A text of the Director, with instances as people read them.
    pub(crate) fn name_instances(&mut self, text: &str) -> String {
        self.names.replace_in(text)
    }

    /// The task has ended well, and with it each of its steps.
    pub(crate) fn complete(&mut self) {
        for heading in &mut self.headings {
            heading.going_on.clear();
            heading.is_complete = true;
        }
    }

    /// The steps by heading, in the order in which headings appeared.
    pub(crate) fn reports(&self) -> Vec<StepStatus> {
        let reported = self.headings.iter().map(|heading| StepStatus {
            stage: heading.name.clone(),
            done: if heading.is_complete {
                heading.total
            } else {
                heading.finished.len() as u64
            },
            total: heading.total,
            current: heading.going_on.last().map(|(_, step)| step.clone()),
        });
        reported.collect()
    }

    fn absorb_step(&mut self, step: &Step) {
        let Some(heading) = self.heading(step) else {
            return;
        };
        heading.going_on.retain(|(index, _)| *index != step.index);
        match &step.state {
            StepState::Finished => {
                heading.finished.insert(step.index);
            }
            StepState::Failed => {}
            StepState::Started | StepState::InProgress | StepState::Unknown(_) => {
                let mut text = step.task.clone();
                if let Some(status) = &step.status {
                    text.push_str(" - ");
                    text.push_str(status);
                }
                heading.going_on.push((step.index, text));
            }
        }
        // A Director may name fewer than there are.
        heading.total = heading
            .total
            .max(step.total)
            .max(step.index)
            .max(heading.finished.len() as u64);
    }

    fn heading(&mut self, step: &Step) -> Option<&mut Heading> {
        let name = if step.tags.is_empty() {
            step.stage.clone()
        } else {
            format!("{} {}", step.stage, step.tags.join(", "))
        };
        let known = self.headings.iter().position(|known| known.name == name);
        let location = match known {
            Some(location) => location,
            None if self.headings.len() < HEADINGS => {
                self.headings.push(Heading {
                    name,
                    total: 0,
                    finished: BTreeSet::new(),
                    going_on: Vec::new(),
                    is_complete: false,
                });
                self.headings.len() - 1
            }
            None => return None,
        };
        self.headings.get_mut(location)
    }
}

fn text_of(step: Step) -> String {
    let mut text = if step.task.is_empty() {
        step.stage
    } else {
        format!("{}: {}", step.stage, step.task)
    };
    match (&step.state, &step.status) {
        (StepState::InProgress, Some(status)) => {
            text.push_str(" - ");
            text.push_str(status);
        }
        (StepState::Finished, _) => text.push_str(" - done"),
        (StepState::Failed, _) => text.push_str(" - failed"),
        (StepState::InProgress | StepState::Started | StepState::Unknown(_), _) => {}
    }
    text
}

/// The stages of an operation for operators. Those without progress wait.
pub(crate) fn reports(
    kind: OperationKind,
    stages: &[Stage],
    progress: &[StageProgress],
    logs: &BTreeMap<TaskId, StepLog>,
) -> Vec<StageStatus> {
    let clean_up = kind.deletes().then_some(StageName::CleanUp);
    let names = stages
        .iter()
        .map(|stage| name_of(kind, stage))
        .chain(clean_up);
    names
        .enumerate()
        .map(|(stage, name)| {
            let progress = progress.get(stage);
            let task = progress.and_then(|progress| progress.task);
            let log = task.and_then(|task| logs.get(&task));
            StageStatus {
                name,
                state: progress.map_or(StageState::Waiting, |progress| progress.state),
                task: task.map(TaskId::number),
                steps: log.map(StepLog::reports).unwrap_or_default(),
                error: None,
            }
        })
        .collect()
}

/// A successful operation has finished all stages; in a failed one, the running stage has failed.
pub(crate) fn end(reports: &mut [StageStatus], is_success: bool) {
    for report in reports {
        report.state = match (report.state, is_success) {
            (StageState::Waiting | StageState::Running, true) => StageState::Done,
            (StageState::Running, false) => StageState::Failed,
            (state, _) => state,
        };
    }
}

/// Records why an operation has failed: at the stage of the task, else at the running one.
pub(crate) fn note_error(reports: &mut [StageStatus], task: Option<TaskId>, error: &str) {
    let of_task = |report: &StageStatus| task.is_some() && report.task == task.map(TaskId::number);
    let location = reports.iter().position(of_task).or_else(|| {
        reports
            .iter()
            .position(|report| matches!(report.state, StageState::Running | StageState::Failed))
    });
    if let Some(location) = location {
        reports[location].error = Some(error.to_owned());
    }
}

fn name_of(kind: OperationKind, stage: &Stage) -> StageName {
    match stage {
        Stage::Stop => StageName::Stop,
        Stage::Deploy if kind == OperationKind::Recreate => StageName::Recreate,
        Stage::Deploy => StageName::Deploy,
        Stage::Errand(errand) => StageName::Errand(errand.name.clone()),
        Stage::Delete => StageName::Delete,
    }
}

#[cfg(test)]
mod tests {
    use odb_adapter_sdk::protocol::LifecycleErrand;

    use super::*;
    use crate::reconciler::next_step::stages;

    fn step(heading: &str, tags: &[&str], task: &str, index: u64, state: StepState) -> Event {
        Event::Step(Step {
            stage: heading.to_owned(),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            task: task.to_owned(),
            index,
            total: 2,
            state,
            status: None,
        })
    }

    #[test]
    fn an_operator_sees_how_many_steps_are_done_and_which_goes_on() {
        use StepState::{Finished, Started};
        let uuid = "d9de9ef9-8587-4d5c-bf92-d2d98c5582db";
        let mut log = StepLog::default();
        log.absorb(&[
            step("Preparing deployment", &[], "Rendering", 1, Started),
            step("Preparing deployment", &[], "Rendering", 1, Finished),
            step(
                "Updating instance",
                &["redis"],
                &format!("redis/{uuid} (0) (canary)"),
                1,
                Started,
            ),
            step(
                "Updating instance",
                &["redis"],
                &format!("redis/{uuid} (0) (canary)"),
                1,
                Finished,
            ),
            step(
                "Updating instance",
                &["redis"],
                &format!("redis/{uuid} (1)"),
                2,
                Started,
            ),
            step(
                "Updating instance",
                &["redis"],
                &format!("redis/{uuid} (2)"),
                3,
                Started,
            ),
        ]);
        let reported: Vec<_> = log
            .reports()
            .into_iter()
            .map(|steps| (steps.stage, steps.done, steps.total, steps.current))
            .collect();
        assert_eq!(
            reported,
            [
                ("Preparing deployment".to_owned(), 1, 2, None),
                (
                    "Updating instance redis".to_owned(),
                    1,
                    3,
                    Some("redis/2".to_owned())
                ),
            ]
        );
    }

    #[test]
    fn a_task_without_end_of_headings_is_not_kept_whole() {
        let mut log = StepLog::default();
        for number in 0..200 {
            log.absorb(&[step(
                &format!("Stage {number}"),
                &[],
                "a",
                1,
                StepState::Started,
            )]);
        }
        assert_eq!(log.reports().len(), HEADINGS);
    }

    fn states(reports: &[StageStatus]) -> Vec<StageState> {
        reports.iter().map(|report| report.state).collect()
    }

    #[test]
    fn what_has_ended_shows_nothing_that_goes_on() {
        use StageState::{Done, Failed, Running, Waiting};
        for (is_success, states_after) in
            [(true, [Done, Done, Done]), (false, [Done, Failed, Waiting])]
        {
            let kind = OperationKind::Delete;
            let stages = stages(kind, &[LifecycleErrand::new("cleanup-data")]);
            let mut reports = reports(kind, &stages, &[], &BTreeMap::new());
            reports[0].state = Done;
            reports[1].state = Running;
            end(&mut reports, is_success);
            assert_eq!(states(&reports), states_after);
        }
    }
}
