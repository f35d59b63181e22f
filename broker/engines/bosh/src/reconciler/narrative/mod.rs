//! The progress that platform users read, from the Director's event log.

pub(crate) mod failure;
pub(crate) mod instance_names;

use std::fmt::Display;

use odb_api_types::kind::OperationKind;
use odb_clients::director::{Event, StepState, TaskState};

use crate::reconciler::{narrative::instance_names::InstanceNames, next_step::Stage};

/// The longest description. Platforms cut at 10,000 characters.
const MAX_DESCRIPTION: usize = 512;

/// The latest step of one task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LatestStep {
    names: InstanceNames,
    text: Option<String>,
    failure: Option<String>,
    queued: bool,
}

impl LatestStep {
    /// Takes in new lines of the event log.
    pub(crate) fn absorb(&mut self, events: &[Event]) {
        for event in self.names.report_events(events) {
            match event {
                Event::Step(step) => {
                    let mut text = if step.task.is_empty() {
                        step.stage
                    } else {
                        format!("{}: {}", step.stage, step.task)
                    };
                    match &step.state {
                        StepState::InProgress => {
                            if let Some(status) = &step.status {
                                text.push_str(" - ");
                                text.push_str(status);
                            }
                        }
                        StepState::Finished => text.push_str(" - done"),
                        StepState::Failed => text.push_str(" - failed"),
                        StepState::Started | StepState::Unknown(_) => {}
                    }
                    self.text = Some(text);
                }
                Event::Failure(failure) => self.failure = Some(failure.message),
            }
        }
    }

    /// Takes in how far the task is.
    pub(crate) fn note(&mut self, state: &TaskState) {
        self.queued = *state == TaskState::Queued;
    }

    /// The last step of the task.
    pub(crate) fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// The error that ended the task, in the Director's words: for the operator.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }
}

/// What to report: the operation and its progress.
pub(crate) struct Scene<'a> {
    pub(crate) kind: OperationKind,
    pub(crate) stages: &'a [Stage],
    /// The stage at work, by index.
    pub(crate) stage: usize,
    pub(crate) latest: &'a LatestStep,
    pub(crate) cancelling: Cancelling,
}

/// Whether something is being cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cancelling {
    /// It is not.
    No,
    /// An operator has cancelled the operation.
    ByOperator,
    /// The same, and the Director does not allow it.
    Refused,
    /// A deletion is to cut a creation short, and the Director does not allow it.
    RefusedToDeletion,
}

/// For example: `Instance provisioning in progress (step 1 of 2, deploying): Updating instance: redis-server/0 -
/// starting jobs`.
pub(crate) fn in_progress(scene: &Scene<'_>) -> String {
    let Scene {
        kind,
        stages,
        stage,
        latest,
        cancelling,
    } = scene;
    let activity = match stages.get(*stage) {
        Some(Stage::Stop) => "stopping what runs".to_owned(),
        Some(Stage::Deploy) => "deploying".to_owned(),
        Some(Stage::Errand(errand)) => format!("running {}", errand.name),
        Some(Stage::Delete) => "deleting".to_owned(),
        None => "cleaning up".to_owned(),
    };
    let number = (stage + 1).min(stages.len());
    let mut text = format!(
        "Instance {} in progress (step {number} of {}, {activity})",
        kind.noun(),
        stages.len()
    );
    text.push_str(match cancelling {
        Cancelling::ByOperator => ", being cancelled by the operator",
        Cancelling::Refused => {
            ", being cancelled by the operator: the Director did not allow the broker to cancel the task; the operation ends after \
             this step"
        }
        // It holds for the first step only.
        Cancelling::RefusedToDeletion if *stage == 0 => {
            ": the Director did not allow the broker to cancel the task; the deletion continues after this step"
        }
        Cancelling::No | Cancelling::RefusedToDeletion => "",
    });
    match &latest.text {
        Some(step) => {
            text.push_str(": ");
            text.push_str(step);
        }
        None if latest.queued => text.push_str(": waiting for a worker"),
        None => {}
    }
    cut(text)
}

/// An operation of which nothing new can be learned for the time being.
pub(crate) fn without_news(latest: &str) -> String {
    let news = "The platform's servers are not available at the moment; last known state: ";
    cut(format!("{news}{latest}"))
}

/// The end of an operation that went well.
pub(crate) fn completed(kind: OperationKind) -> String {
    format!("Instance {} completed", kind.noun())
}

/// The end of an operation of which nothing was submitted.
pub(crate) fn never_submitted(kind: OperationKind) -> String {
    format!(
        "Instance {} failed: the work never began, nothing has changed. Try again.",
        kind.noun()
    )
}

/// The end of a deletion whose deployment is deleted, while another resource of the instance could not be removed.
pub(crate) fn unclean(kind: OperationKind, message: &impl Display) -> String {
    format!(
        "Instance {} failed: the instance is deleted, but something that belongs to it could not be removed. Delete it again; if \
         that does not help: {message}",
        kind.noun()
    )
}

/// The end of an operation that an operator has cancelled.
pub(crate) fn cancelled(kind: OperationKind) -> String {
    format!("Instance {} failed: cancelled by the operator", kind.noun())
}

/// The end of an operation whose instance was deleted meanwhile.
pub(crate) fn cut_short(kind: OperationKind) -> String {
    format!(
        "Instance {} failed: the instance was deleted meanwhile",
        kind.noun()
    )
}

/// The end of an operation of which nothing is left, not even the instance.
pub(crate) fn nothing_there(kind: OperationKind) -> String {
    format!("Instance {} failed: there is no such instance", kind.noun())
}

/// The end of a delete whose tasks are dropped while the instance exists.
pub(crate) fn still_there(kind: OperationKind) -> String {
    format!(
        "Instance {} failed: the instance is still there. Delete it again.",
        kind.noun()
    )
}

/// The end of an operation with unknown outcome.
pub(crate) fn unknown_end(kind: OperationKind, message: &impl Display) -> String {
    let remedy = if kind == OperationKind::Create {
        "Delete the instance and create it again"
    } else {
        "Try again"
    };
    format!(
        "Instance {} failed: it is not known how it ended, and something may have changed. {remedy}; if that does not help: \
         {message}",
        kind.noun()
    )
}

/// The end of an operation that failed before another owner began another one, which went well.
pub(crate) fn followed_by_another(kind: OperationKind) -> String {
    format!(
        "Instance {} failed; another operation has followed it.",
        kind.noun()
    )
}

fn cut(text: String) -> String {
    if text.chars().count() <= MAX_DESCRIPTION {
        return text;
    }
    let mut cut: String = text.chars().take(MAX_DESCRIPTION - 1).collect();
    cut.push('…');
    cut
}

#[cfg(test)]
mod tests {
    use odb_adapter_sdk::protocol::LifecycleErrand;
    use odb_clients::director::{Failure, Step};

    use super::*;
    use crate::reconciler::next_step::stages;

    fn step(heading: &str, task: &str, state: StepState, activity: Option<&str>) -> Event {
        Event::Step(Step {
            stage: heading.to_owned(),
            tags: Vec::new(),
            task: task.to_owned(),
            index: 1,
            total: 1,
            state,
            status: activity.map(str::to_owned),
        })
    }

    fn reported(events: &[Event], stage: usize) -> String {
        let stages = stages(
            OperationKind::Create,
            &[LifecycleErrand::new("health-check")],
        );
        let mut latest = LatestStep::default();
        latest.absorb(events);
        in_progress(&Scene {
            kind: OperationKind::Create,
            stages: &stages,
            stage,
            latest: &latest,
            cancelling: Cancelling::No,
        })
    }

    #[test]
    fn a_user_reads_which_step_and_which_instance() {
        let updating = step(
            "Updating instance",
            "redis-server/d9de9ef9-8587-4d5c-bf92-d2d98c5582db (0) (canary)",
            StepState::InProgress,
            Some("starting jobs"),
        );
        assert_eq!(
            reported(&[updating], 0),
            "Instance provisioning in progress (step 1 of 2, deploying): Updating instance: redis-server/0 (canary) - starting jobs"
        );
    }

    #[test]
    fn the_latest_step_counts() {
        let events = [
            step(
                "Preparing deployment",
                "Preparing deployment",
                StepState::Finished,
                None,
            ),
            step("Running errand", "health-check/0", StepState::Started, None),
        ];
        assert_eq!(
            reported(&events, 1),
            "Instance provisioning in progress (step 2 of 2, running health-check): Running errand: health-check/0"
        );
    }

    #[test]
    fn before_the_first_step_only_a_queued_task_waits_for_a_worker() {
        let stages = stages(OperationKind::Delete, &[]);
        for (state, ending) in [
            (TaskState::Queued, ": waiting for a worker"),
            (TaskState::Processing, ""),
        ] {
            let mut latest = LatestStep::default();
            latest.note(&state);
            let scene = Scene {
                kind: OperationKind::Delete,
                stages: &stages,
                stage: 0,
                latest: &latest,
                cancelling: Cancelling::No,
            };
            assert_eq!(
                in_progress(&scene),
                format!("Instance deletion in progress (step 1 of 1, deleting){ending}")
            );
        }
    }

    #[test]
    fn the_directors_error_is_not_for_users() {
        let failure = Event::Failure(Failure {
            code: 100,
            message: "secret things".to_owned(),
        });
        assert!(!reported(&[failure], 0).contains("secret"));
    }

    #[test]
    fn a_user_reads_that_the_director_does_not_allow_to_cancel() {
        for (kind, cancelling, stage, reported) in [
            (
                OperationKind::Create,
                Cancelling::Refused,
                0,
                "the operation ends after this step",
            ),
            (
                OperationKind::Delete,
                Cancelling::RefusedToDeletion,
                0,
                "the deletion continues after this step",
            ),
            (
                OperationKind::Delete,
                Cancelling::RefusedToDeletion,
                1,
                "(step 2 of 2, deleting)",
            ),
        ] {
            let text = in_progress(&Scene {
                kind,
                stages: &[Stage::Stop, Stage::Delete],
                stage,
                latest: &LatestStep::default(),
                cancelling,
            });
            assert!(text.ends_with(reported), "{text}");
        }
    }

    #[test]
    fn a_long_step_is_cut_between_characters() {
        let long = step("é".repeat(2000).as_str(), "", StepState::Started, None);
        let text = reported(&[long], 0);
        assert_eq!(text.chars().count(), MAX_DESCRIPTION);
        assert!(text.ends_with('…'));
    }
}
