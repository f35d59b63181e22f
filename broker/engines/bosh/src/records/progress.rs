//! The course of an operation as operators watch it: its stages, each with its task and the steps of that task. Pure.

use std::collections::{BTreeMap, BTreeSet};

use odb_api_types::{
    kind::OperationKind,
    management::{StageName, StageState, StageStatus, StepStatus},
};
use odb_clients::director::{Event, Step, StepState, TaskId};

use crate::reconciler::{
    narrative::InstanceNames,
    next_step::{Stage, StageProgress},
};

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
