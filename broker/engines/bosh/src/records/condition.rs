//! The condition of an instance after a failed operation, from the Director's event log.

use std::collections::BTreeMap;

use odb_clients::director::{Event, StepState};
use odb_core::engine::Condition;

use crate::reconciler::next_step::TaskKind;

/// The stages of a task that do not touch an instance's VMs (`spec/contracts/director-api.md`, "Event lines").
const HARMLESS: &[&str] = &[
    "Preparing deployment",
    "Preparing package compilation",
    "Compiling packages",
];

/// Judges by the events of the task that failed. An errand touches no VM of the service.
pub(crate) fn left_by(task_kind: &TaskKind, events: &[Event]) -> Condition {
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

#[cfg(test)]
mod tests {
    use odb_clients::director::{Failure, Step};

    use super::*;

    fn step(heading: &str, index: u64, state: StepState) -> Event {
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

    fn failure() -> Event {
        Event::Failure(Failure {
            code: 100,
            message: "no".to_owned(),
        })
    }

    #[test]
    fn a_deploy_that_fails_before_it_gets_to_a_vm_leaves_the_instance_intact() {
        let prepared = step("Preparing deployment", 1, StepState::Failed);
        for events in [vec![failure()], vec![prepared, failure()], Vec::new()] {
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
                step("Updating instance", 1, Started),
                step("Updating instance", 1, Finished),
            ];
            events.extend(
                second
                    .into_iter()
                    .map(|state| step("Updating instance", 2, state)),
            );
            events.push(failure());
            assert_eq!(left_by(&TaskKind::Deploy, &events), left, "{events:?}");
        }
    }

    #[test]
    fn a_deletion_that_got_to_a_vm_leaves_the_instance_damaged() {
        let deleted = step("Deleting instances", 1, StepState::Finished);
        assert_eq!(
            left_by(&TaskKind::Delete, &[deleted, failure()]),
            Condition::Damaged
        );
        assert_eq!(left_by(&TaskKind::Delete, &[failure()]), Condition::Intact);
    }

    #[test]
    fn an_errand_on_vms_of_its_own_leaves_the_instance_intact() {
        let errand = TaskKind::of("run errand health-check from deployment d");
        let events = [
            step("Creating missing vms", 1, StepState::Failed),
            failure(),
        ];
        assert_eq!(left_by(&errand, &events), Condition::Intact);
    }
}
