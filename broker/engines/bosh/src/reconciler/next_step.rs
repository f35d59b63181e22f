//! Decides the next step of an operation. Pure: no clock, no network, no log.

use odb_adapter_sdk::protocol::LifecycleErrand;
use odb_api_types::{kind::OperationKind, management::StageState};
use odb_clients::director::TaskId;

/// One of the steps that an operation consists of: a task each, but for the first of a delete that cuts another
/// operation short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Cancels everything that another operation has started.
    Stop,
    /// The deployment of a manifest, or new VMs for it. Always first, and submitted by the request itself.
    Deploy,
    Errand(LifecycleErrand),
    Delete,
}

pub(crate) fn stages(kind: OperationKind, errands: &[LifecycleErrand]) -> Vec<Stage> {
    let errands = errands.iter().cloned().map(Stage::Errand);
    if kind.deletes() {
        errands.chain([Stage::Delete]).collect()
    } else {
        [Stage::Deploy].into_iter().chain(errands).collect()
    }
}

/// The kind of a task, as the Director describes it (`spec/contracts/director-api.md`, "Tasks").
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TaskKind {
    Deploy,
    Errand(String),
    Delete,
    /// It does something else, such as reading the state of VMs.
    Other,
}

impl TaskKind {
    /// Understands a task's description. The Director's texts are fixed.
    pub(crate) fn of(description: &str) -> Self {
        if description.starts_with("create deployment") {
            Self::Deploy
        } else if description.starts_with("delete deployment ") {
            Self::Delete
        } else {
            description
                .strip_prefix("run errand ")
                .and_then(|rest| rest.split_once(" from deployment "))
                .map_or(Self::Other, |(errand, _)| Self::Errand(errand.to_owned()))
        }
    }

    pub(crate) fn fits(&self, stage: &Stage) -> bool {
        match (self, stage) {
            (Self::Deploy, Stage::Deploy) | (Self::Delete, Stage::Delete) => true,
            (Self::Errand(name), Stage::Errand(errand)) => *name == errand.name,
            _ => false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Waiting for a worker, at work, or being cancelled.
    Running,
    /// Ended well; an errand on all of its instances.
    Done,
    Failed,
    /// Ended while it waited for the deployment's lock, without having done anything.
    LockTimeout,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TaskOutcome {
    pub(crate) id: TaskId,
    pub(crate) task_kind: TaskKind,
    pub(crate) progress: Progress,
}

/// The tasks of the operation that is cut short.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Previous<'a> {
    /// Those that the Director has; none may mean that the first one is still on its way.
    Tasks(&'a [PreviousTask]),
    /// There is nothing to stop, or nothing any more.
    AtRest,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PreviousTask {
    pub(crate) id: TaskId,
    pub(crate) has_ended: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Cancel this task of the operation that is cut short, and wait for its end.
    Cancel(TaskId),
    /// Look whether the operation that is cut short has a task after all.
    AwaitPrevious,
    /// Look at this task again later; it does the stage of this index.
    Wait(TaskId, usize),
    Start(usize),
    CleanUp,
    Succeed,
    /// The operation cannot continue; the task has the reason.
    Fail(Option<TaskId>),
    NeverSubmitted,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) stages: Vec<StageProgress>,
    pub(crate) step: Step,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StageProgress {
    pub(crate) state: StageState,
    /// The task that does it, or did.
    pub(crate) task: Option<TaskId>,
}

impl StageProgress {
    const WAITING: Self = Self {
        state: StageState::Waiting,
        task: None,
    };
}

/// Decides from the tasks of one operation, in the order of their ids.
///
/// A task counts for the stage whose work it does. A task of another stage, such as an errand that started twice, and
/// one that never got the lock count for none: no stage is skipped and no deletion is assumed. Only a deletion counts
/// at any position, because the stages before were complete when it started.
pub(crate) fn next_step(
    kind: OperationKind,
    stages: &[Stage],
    tasks: &[TaskOutcome],
    previous: Previous<'_>,
) -> Plan {
    let mut reached = vec![StageProgress::WAITING; stages.len()];
    let stops_first = stages.first() == Some(&Stage::Stop);
    if tasks.is_empty() {
        return Plan {
            stages: reached,
            step: if stops_first {
                stop(kind, stages, previous)
            } else {
                Step::NeverSubmitted
            },
        };
    }
    let mut done = usize::from(stops_first);
    let mut step = None;
    for task in tasks {
        if kind.deletes() && task.task_kind == TaskKind::Delete {
            done = done.max(stages.len().saturating_sub(1));
        }
        let fits = stages
            .get(done)
            .is_some_and(|stage| task.task_kind.fits(stage));
        let state = match task.progress {
            Progress::Running => StageState::Running,
            Progress::Done if fits => StageState::Done,
            Progress::Failed if fits => StageState::Failed,
            Progress::LockTimeout | Progress::Done | Progress::Failed => continue,
        };
        if let Some(stage) = reached.get_mut(done) {
            *stage = StageProgress {
                state,
                task: Some(task.id),
            };
        }
        // Forced means that errands may fail; the deletion itself may not.
        let may_fail = kind == OperationKind::ForceDelete && task.task_kind != TaskKind::Delete;
        step = match state {
            StageState::Running => Some(Step::Wait(task.id, done)),
            StageState::Failed if !may_fail => Some(Step::Fail(Some(task.id))),
            StageState::Waiting | StageState::Done | StageState::Failed => None,
        };
        if step.is_some() {
            break;
        }
        done += 1;
    }
    for passed_over in reached.iter_mut().take(done) {
        if passed_over.state == StageState::Waiting {
            passed_over.state = StageState::Done;
        }
    }
    Plan {
        stages: reached,
        step: step.unwrap_or_else(|| after(kind, stages, done)),
    }
}

/// The step of a delete that cuts an operation short and has no task of its own.
fn stop(kind: OperationKind, stages: &[Stage], previous: Previous<'_>) -> Step {
    match previous {
        Previous::Tasks([]) => Step::AwaitPrevious,
        Previous::Tasks(tasks) => match tasks.iter().find(|task| !task.has_ended) {
            Some(task) => Step::Cancel(task.id),
            None => after(kind, stages, 1),
        },
        Previous::AtRest => after(kind, stages, 1),
    }
}

/// The step after this number of finished stages, when no task is running.
fn after(kind: OperationKind, stages: &[Stage], done: usize) -> Step {
    match stages.get(done) {
        // Only the request has the manifest.
        Some(Stage::Deploy) => Step::Fail(None),
        Some(Stage::Stop | Stage::Errand(_) | Stage::Delete) => Step::Start(done),
        None if kind.deletes() => Step::CleanUp,
        None => Step::Succeed,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn next_step(
        kind: OperationKind,
        stages: &[Stage],
        tasks: &[TaskOutcome],
        previous: Previous<'_>,
    ) -> Step {
        super::next_step(kind, stages, tasks, previous).step
    }

    fn errands(count: usize) -> Vec<LifecycleErrand> {
        (0..count)
            .map(|n| LifecycleErrand::new(format!("errand-{n}")))
            .collect()
    }

    fn kinds() -> impl Strategy<Value = OperationKind> {
        prop::sample::select(vec![
            OperationKind::Create,
            OperationKind::Update,
            OperationKind::Upgrade,
            OperationKind::Recreate,
            OperationKind::Delete,
            OperationKind::ForceDelete,
        ])
    }

    /// Events between two stages.
    #[derive(Clone, Copy, Debug)]
    enum Noise {
        None,
        LockTimeout,
        Twice,
    }

    fn noises() -> impl Strategy<Value = Noise> {
        prop::sample::select(vec![Noise::None, Noise::LockTimeout, Noise::Twice])
    }

    /// The Director's word for a task that does a stage.
    fn description(stage: &Stage) -> String {
        match stage {
            Stage::Stop => "no task of its own".to_owned(),
            Stage::Deploy => "create deployment".to_owned(),
            Stage::Errand(errand) => format!("run errand {} from deployment d", errand.name),
            Stage::Delete => "delete deployment d".to_owned(),
        }
    }

    fn task(id: u64, stage: &Stage, progress: Progress) -> TaskOutcome {
        TaskOutcome {
            id: TaskId::new(id),
            task_kind: TaskKind::of(&description(stage)),
            progress,
        }
    }

    proptest! {
        #[test]
        fn every_stage_is_begun_once_and_in_order(
            kind in kinds(),
            count in 0_usize..5,
            noise in prop::collection::vec(noises(), 12),
        ) {
            let stages = stages(kind, &errands(count));
            // The request submits the first stage.
            let mut tasks = vec![task(1, &stages[0], Progress::Done)];
            let mut begun = vec![0];
            let mut noise = noise.into_iter();
            loop {
                let id = tasks.len() as u64 + 1;
                match next_step(kind, &stages, &tasks, Previous::AtRest) {
                    Step::Start(stage) => {
                        // Sometimes a task fails to get the lock, or an earlier task exists twice.
                        match noise.next() {
                            Some(Noise::LockTimeout) => tasks.push(task(id, &stages[stage], Progress::LockTimeout)),
                            Some(Noise::Twice) => tasks.push(task(id, &stages[stage - 1], Progress::Done)),
                            Some(Noise::None) | None => {
                                begun.push(stage);
                                tasks.push(task(id, &stages[stage], Progress::Done));
                            }
                        }
                    }
                    end => {
                        let expected = if kind.deletes() { Step::CleanUp } else { Step::Succeed };
                        prop_assert_eq!(end, expected);
                        break;
                    }
                }
            }
            prop_assert_eq!(begun, (0..stages.len()).collect::<Vec<_>>());
        }

        #[test]
        fn what_operators_see_of_the_stages_is_what_follows(
            kind in kinds(),
            count in 0_usize..4,
            picks in prop::collection::vec((0_usize..5, progresses()), 1..8),
        ) {
            let stages = stages(kind, &errands(count));
            let tasks = tasks_of(&stages, &picks);
            let Plan { stages: seen, step } = super::next_step(kind, &stages, &tasks, Previous::AtRest);
            let is_waiting = |stage: &StageProgress| stage.state == StageState::Waiting;
            match step {
                // A task of none of its stages, after the last one.
                Step::Wait(_, stage) if stage == stages.len() => {}
                Step::Wait(task, stage) => {
                    let running = StageProgress { state: StageState::Running, task: Some(task) };
                    prop_assert_eq!(seen[stage], running);
                    prop_assert!(seen[stage + 1..].iter().all(is_waiting));
                }
                Step::Start(stage) => {
                    prop_assert!(seen[stage..].iter().all(is_waiting));
                    prop_assert!(!seen[..stage].iter().any(is_waiting));
                }
                Step::Fail(Some(task)) => {
                    let failed = seen.iter().find(|stage| stage.task == Some(task));
                    prop_assert_eq!(failed.map(|stage| stage.state), Some(StageState::Failed));
                }
                Step::Succeed => {
                    prop_assert!(seen.iter().all(|stage| stage.state == StageState::Done));
                }
                _ => {}
            }
        }

        #[test]
        fn nothing_is_begun_beside_a_running_task(kind in kinds(), count in 0_usize..5, done in 0_usize..5) {
            let stages = stages(kind, &errands(count));
            let done = done.min(stages.len() - 1);
            let mut tasks: Vec<TaskOutcome> = (0..done)
                .map(|n| task(n as u64 + 1, &stages[n], Progress::Done))
                .collect();
            tasks.push(task(9, &stages[done], Progress::Running));
            prop_assert_eq!(next_step(kind, &stages, &tasks, Previous::AtRest), Step::Wait(TaskId::new(9), done));
        }

        #[test]
        fn a_delete_that_cuts_short_begins_when_all_before_it_has_ended(
            kind in prop::sample::select(vec![OperationKind::Delete, OperationKind::ForceDelete]),
            count in 0_usize..4,
            mut running in prop::collection::vec(any::<bool>(), 1..4),
        ) {
            let stages = cutting_short(kind, count);
            let mut cancelled = Vec::new();
            loop {
                let previous: Vec<_> = running
                    .iter()
                    .enumerate()
                    .map(|(n, running)| previous(n as u64, !running))
                    .collect();
                match next_step(kind, &stages, &[], Previous::Tasks(&previous)) {
                    Step::Cancel(task) => {
                        cancelled.push(task);
                        let location = usize::try_from(task.number()).unwrap();
                        prop_assert!(running[location], "it had ended");
                        running[location] = false;
                    }
                    begun => {
                        prop_assert_eq!(begun, Step::Start(1));
                        break;
                    }
                }
            }
            prop_assert!(running.iter().all(|running| !running));
            cancelled.dedup();
            prop_assert_eq!(cancelled.len(), cancelled.iter().collect::<std::collections::BTreeSet<_>>().len());
        }

        #[test]
        fn a_delete_that_has_begun_stops_nothing_more(
            count in 0_usize..4,
            done in 0_usize..4,
            ended in any::<bool>(),
        ) {
            let stages = cutting_short(OperationKind::Delete, count);
            let done = done.min(stages.len() - 2);
            let mut tasks: Vec<TaskOutcome> = (1..=done)
                .map(|n| task(n as u64, &stages[n], Progress::Done))
                .collect();
            tasks.push(task(9, &stages[done + 1], Progress::Running));
            let step = next_step(OperationKind::Delete, &stages, &tasks, Previous::Tasks(&[previous(0, ended)]));
            prop_assert_eq!(step, Step::Wait(TaskId::new(9), done + 1));
        }
    }

    fn progresses() -> impl Strategy<Value = Progress> {
        prop::sample::select(vec![
            Progress::Running,
            Progress::Done,
            Progress::Done,
            Progress::Done,
            Progress::Failed,
            Progress::LockTimeout,
        ])
    }

    fn tasks_of(stages: &[Stage], picks: &[(usize, Progress)]) -> Vec<TaskOutcome> {
        let mut next = 0;
        let mut tasks = Vec::new();
        for (number, (pick, progress)) in picks.iter().enumerate() {
            // Usually the next stage, sometimes another.
            let index = if *pick == 0 { next } else { *pick };
            if *progress == Progress::Done {
                next += 1;
            }
            let stage = &stages[index % stages.len()];
            tasks.push(task(number as u64 + 1, stage, *progress));
        }
        tasks
    }

    fn cutting_short(kind: OperationKind, count: usize) -> Vec<Stage> {
        let mut stages = stages(kind, &errands(count));
        stages.insert(0, Stage::Stop);
        stages
    }

    fn previous(id: u64, has_ended: bool) -> PreviousTask {
        PreviousTask {
            id: TaskId::new(id),
            has_ended,
        }
    }

    #[test]
    fn what_is_cut_short_may_still_be_on_its_way() {
        let delete = cutting_short(OperationKind::Delete, 1);
        let step = |previous| next_step(OperationKind::Delete, &delete, &[], previous);
        assert_eq!(step(Previous::Tasks(&[])), Step::AwaitPrevious);
        assert_eq!(step(Previous::AtRest), Step::Start(1));
    }

    #[test]
    fn a_deletion_that_was_begun_without_errands_is_not_preceded_by_them_later() {
        let delete = cutting_short(OperationKind::Delete, 2);
        let deletion = &delete[3];
        for (progress, next) in [
            (Progress::Running, Step::Wait(TaskId::new(7), 3)),
            (Progress::Done, Step::CleanUp),
            (Progress::Failed, Step::Fail(Some(TaskId::new(7)))),
            (Progress::LockTimeout, Step::Start(3)),
        ] {
            let tasks = [task(7, deletion, progress)];
            let step = next_step(OperationKind::Delete, &delete, &tasks, Previous::AtRest);
            assert_eq!(step, next);
        }
    }

    #[test]
    fn a_second_deletion_that_found_nothing_left_does_no_harm() {
        let delete = stages(OperationKind::Delete, &[]);
        let tasks = [
            task(1, &delete[0], Progress::Done),
            task(2, &delete[0], Progress::Failed),
        ];
        assert_eq!(
            next_step(OperationKind::Delete, &delete, &tasks, Previous::AtRest),
            Step::CleanUp
        );
    }

    #[test]
    fn an_errand_that_ran_twice_does_not_pass_for_the_deletion() {
        let delete = stages(OperationKind::Delete, &errands(1));
        let tasks = [
            task(1, &delete[0], Progress::Done),
            task(2, &delete[0], Progress::Done),
        ];
        assert_eq!(
            next_step(OperationKind::Delete, &delete, &tasks, Previous::AtRest),
            Step::Start(1)
        );
    }

    #[test]
    fn a_failing_errand_ends_a_delete_but_not_a_forced_one() {
        let delete = stages(OperationKind::Delete, &errands(1));
        let tasks = [task(3, &delete[0], Progress::Failed)];
        assert_eq!(
            next_step(OperationKind::Delete, &delete, &tasks, Previous::AtRest),
            Step::Fail(Some(TaskId::new(3)))
        );
        assert_eq!(
            next_step(
                OperationKind::ForceDelete,
                &delete,
                &tasks,
                Previous::AtRest
            ),
            Step::Start(1)
        );
    }

    #[test]
    fn a_forced_delete_whose_deletion_fails_has_failed() {
        let delete = stages(OperationKind::ForceDelete, &errands(1));
        let tasks = [
            task(3, &delete[0], Progress::Done),
            task(4, &delete[1], Progress::Failed),
        ];
        assert_eq!(
            next_step(
                OperationKind::ForceDelete,
                &delete,
                &tasks,
                Previous::AtRest
            ),
            Step::Fail(Some(TaskId::new(4)))
        );
    }

    #[test]
    fn without_tasks_nothing_was_submitted() {
        for kind in [OperationKind::Create, OperationKind::Delete] {
            assert_eq!(
                next_step(kind, &stages(kind, &errands(1)), &[], Previous::AtRest),
                Step::NeverSubmitted
            );
        }
    }

    #[test]
    fn a_deployment_that_never_got_the_lock_has_failed() {
        let create = stages(OperationKind::Create, &[]);
        let tasks = [task(1, &create[0], Progress::LockTimeout)];
        assert_eq!(
            next_step(OperationKind::Create, &create, &tasks, Previous::AtRest),
            Step::Fail(None)
        );
    }
}
