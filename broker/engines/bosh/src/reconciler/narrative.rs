//! The texts that platform users read: the progress, from the Director's event log, and the end. Instances are named
//! `GROUP/INDEX`, while the Director's texts have a UUID instead of the index or beside it.

use std::{collections::BTreeMap, fmt::Display};

use odb_api_types::kind::OperationKind;
use odb_clients::director::{Event, Step};

use crate::{reconciler::next_step::Stage, records::operation_details::StepLog};

/// The longest description. Platforms cut at 10,000 characters.
const MAX_DESCRIPTION: usize = 512;

/// What to report: the operation and its progress.
pub(crate) struct Scene<'a> {
    pub(crate) kind: OperationKind,
    pub(crate) stages: &'a [Stage],
    /// The stage at work, by index.
    pub(crate) stage: usize,
    pub(crate) log: &'a StepLog,
    pub(crate) cancelling: Cancelling,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cancelling {
    No,
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
        log,
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
    match &log.latest {
        Some(step) => {
            text.push_str(": ");
            text.push_str(step);
        }
        None if log.is_queued => text.push_str(": waiting for a worker"),
        None => {}
    }
    cut(text)
}

/// An operation of which nothing new can be learned for the time being.
pub(crate) fn without_news(latest: &str) -> String {
    let news = "The platform's servers are not available at the moment; last known state: ";
    cut(format!("{news}{latest}"))
}

pub(crate) fn completed(kind: OperationKind) -> String {
    format!("Instance {} completed", kind.noun())
}

/// Why an operation has failed of which nothing was submitted.
pub(crate) const NEVER_SUBMITTED: &str =
    "failed: the work never began, nothing has changed. Try again.";

/// Why an operation has failed whose instance was deleted meanwhile.
pub(crate) const CUT_SHORT: &str = "failed: the instance was deleted meanwhile";

/// Why an operation has failed of which nothing is left, not even the instance.
pub(crate) const NOTHING_THERE: &str = "failed: there is no such instance";

/// Why a delete has failed whose tasks are dropped while the instance exists.
pub(crate) const STILL_THERE: &str = "failed: the instance is still there. Delete it again.";

pub(crate) const CANCELLED: &str = "failed: cancelled by the operator";

pub(crate) fn failed(kind: OperationKind, how: impl Display) -> String {
    format!("Instance {} {how}", kind.noun())
}

/// How an operation has ended before another owner began another one, which went well.
pub(crate) const FOLLOWED: &str = "failed; another operation has followed it.";

/// The end of a deletion whose deployment is deleted, while another resource of the instance could not be removed.
pub(crate) fn unclean(kind: OperationKind, message: &impl Display) -> String {
    let how = "failed: the instance is deleted, but something that belongs to it could not be removed. Delete it again; if that does \
               not help:";
    failed(kind, format!("{how} {message}"))
}

pub(crate) fn unknown_end(kind: OperationKind, message: &impl Display) -> String {
    let remedy = if kind == OperationKind::Create {
        "Delete the instance and create it again"
    } else {
        "Try again"
    };
    let how = "failed: it is not known how it ended, and something may have changed.";
    failed(
        kind,
        format!("{how} {remedy}; if that does not help: {message}"),
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

/// A UUID as the Director writes it.
const UUID_LENGTH: usize = 36;

/// The instances whose index occurred in a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct InstanceNames {
    indexes: BTreeMap<String, String>,
}

impl InstanceNames {
    /// The events in words for people.
    pub(crate) fn report_events(&mut self, events: &[Event]) -> Vec<Event> {
        // The index may occur only in a later line.
        for event in events {
            if let Event::Step(step) = event {
                self.replace_in(&step.stage);
                self.replace_in(&step.task);
            }
        }
        events
            .iter()
            .map(|event| self.report_event(event))
            .collect()
    }

    fn report_event(&mut self, event: &Event) -> Event {
        match event {
            Event::Step(step) => Event::Step(Step {
                stage: self.replace_in(&step.stage),
                task: self.replace_in(&step.task),
                status: step.status.as_deref().map(|status| self.replace_in(status)),
                ..step.clone()
            }),
            Event::Failure(failure) => {
                let mut failure = failure.clone();
                failure.message = self.replace_in(&failure.message);
                Event::Failure(failure)
            }
        }
    }

    /// `redis-server/d9de9ef9-… (0) (canary)` becomes `redis-server/0 (canary)`. Without an index, the one of another
    /// text with the same UUID is used; without that, only the group is shown.
    pub(crate) fn replace_in(&mut self, text: &str) -> String {
        let mut reported = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(slash) = rest.find('/') {
            let (before, after) = (&rest[..slash], &rest[slash + 1..]);
            reported.push_str(before);
            let Some(uuid) = uuid_at_start(after).filter(|_| ends_with_a_group(&reported)) else {
                reported.push('/');
                rest = after;
                continue;
            };
            rest = &after[UUID_LENGTH..];
            if let Some((index, behind)) = index_at_start(rest) {
                self.indexes.insert(uuid.to_owned(), index.to_owned());
                rest = behind;
            }
            if let Some(index) = self.indexes.get(uuid) {
                reported.push('/');
                reported.push_str(index);
            }
        }
        reported.push_str(rest);
        reported
    }
}

fn uuid_at_start(text: &str) -> Option<&str> {
    let uuid = text.get(..UUID_LENGTH)?;
    let is_over =
        !text[UUID_LENGTH..].starts_with(|letter: char| letter.is_alphanumeric() || letter == '/');
    (is_over && uuid::Uuid::parse_str(uuid).is_ok()).then_some(uuid)
}

/// ` (0)`, and what follows.
fn index_at_start(text: &str) -> Option<(&str, &str)> {
    let (index, behind) = text.strip_prefix(" (")?.split_once(')')?;
    index.parse::<u32>().is_ok().then_some((index, behind))
}

/// The part before the slash is a name, and no part of a path.
fn ends_with_a_group(text: &str) -> bool {
    let is_of_a_name = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_');
    let before = text.trim_end_matches(is_of_a_name);
    before.len() < text.len() && !before.ends_with('/')
}

#[cfg(test)]
mod tests {
    use odb_adapter_sdk::protocol::LifecycleErrand;
    use odb_clients::director::{Failure, Step, StepState, TaskState};

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
        let mut latest = StepLog::default();
        latest.absorb(events);
        in_progress(&Scene {
            kind: OperationKind::Create,
            stages: &stages,
            stage,
            log: &latest,
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
            let mut latest = StepLog::default();
            latest.is_queued = state == TaskState::Queued;
            let scene = Scene {
                kind: OperationKind::Delete,
                stages: &stages,
                stage: 0,
                log: &latest,
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
                log: &StepLog::default(),
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

    const ONE: &str = "d9de9ef9-8587-4d5c-bf92-d2d98c5582db";
    const OTHER: &str = "0d4504c0-8a5f-4d83-bf4c-e0a326c1b1d4";

    #[test]
    fn people_read_group_and_index_wherever_the_director_names_an_instance() {
        let mut names = InstanceNames::default();
        for (text, reported) in [
            // No text had its index yet.
            (format!("redis-server/{ONE}"), "redis-server"),
            (
                format!("redis-server/{ONE} (0) (canary)"),
                "redis-server/0 (canary)",
            ),
            (format!("redis-server/{ONE}"), "redis-server/0"),
            (
                format!("Fetching logs for redis-server/{ONE} (0)"),
                "Fetching logs for redis-server/0",
            ),
            (
                format!("'redis/{ONE} (1), redis/{OTHER} (2)' are not running"),
                "'redis/1, redis/2' are not running",
            ),
            (format!("'redis/{OTHER}' is silent"), "'redis/2' is silent"),
            (
                format!("/var/vcap/data/{ONE} is full"),
                &format!("/var/vcap/data/{ONE} is full"),
            ),
            ("redis/0 and/or a/b".to_owned(), "redis/0 and/or a/b"),
        ] {
            assert_eq!(names.replace_in(&text), reported, "{text}");
        }
    }

    #[test]
    fn an_index_that_a_later_line_reports_counts_for_the_lines_before() {
        let step = |task: String| {
            Event::Step(Step {
                stage: "Deleting instances".to_owned(),
                tags: Vec::new(),
                task,
                index: 1,
                total: 1,
                state: odb_clients::director::StepState::Started,
                status: None,
            })
        };
        let events = [
            step(format!("redis/{ONE}")),
            step(format!("redis/{ONE} (3)")),
        ];
        let reported = InstanceNames::default().report_events(&events);
        assert_eq!(
            reported,
            [step("redis/3".to_owned()), step("redis/3".to_owned())]
        );
    }
}
