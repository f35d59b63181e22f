//! The records of instances and of operations; here the instance record, joined from reconciler, operation record and
//! tasks. Pure.
//!
//! | file | contents |
//! | --- | --- |
//! | `operation_record` | the operation record, and its storage at the Director |
//! | `token` | the operation token of the platform |
//! | `reading` | the instance record of one, some or all instances |
//! | `last_operation` | the answer to a poll |
//! | `operation_details` | the same for operators: stages, tasks and steps |

pub(crate) mod last_operation;
pub(crate) mod operation_details;
pub(crate) mod operation_record;
pub(crate) mod reading;
pub(crate) mod token;

use jiff::Timestamp;
use odb_api_types::{
    ids::InstanceId,
    kind::OperationKind,
    management::{OperationState, Owner},
};
use odb_clients::director::{Task, TaskState};
use odb_core::engine::{Condition, InstanceRecord, OperationView};

use crate::{
    reconciler::{
        Known, narrative,
        next_step::TaskKind,
        operation::{Operation, Snapshot, SnapshotState},
    },
    records::operation_record::{FoundRecord, Outcome},
};

/// The record of an instance. `is_abandoned`: its request was abandoned, and its writes are still to be removed.
pub(crate) fn record_of(
    instance: &InstanceId,
    found: Option<FoundRecord>,
    known: Option<&Known>,
    is_abandoned: bool,
) -> InstanceRecord {
    let stored = match found {
        Some(FoundRecord::Own(stored)) => *stored,
        Some(FoundRecord::Foreign(owner)) => return without_record(owner, known),
        None => return without_record(Owner::Unknown, known),
    };
    let (same, other) = match known {
        Some(known) if known.is_of(&stored.record) => (Some(known), None),
        known => (None, known.filter(|known| known.is_in_progress())),
    };
    let mut operation = Operation::of_stored(instance, stored);
    if operation.record.outcome.is_none()
        && let Some(SnapshotState::Ended { outcome, at }) = same.map(|known| &known.snapshot.state)
    {
        // Known to the reconciler, and not written down yet.
        operation.record = operation.record.ended(outcome.clone(), *at);
    }
    // An operation of a Go broker has no operation record, and is newer.
    let mut view = other.map_or_else(|| view(&operation, same), Known::view);
    if operation.record.outcome.is_none() && is_abandoned {
        view = OperationView {
            token: None,
            ..ended(&never_submitted(operation.kind()), view)
        };
    }
    let record = operation.record;
    InstanceRecord {
        plan: record.settled_plan().cloned(),
        operation: Some(view),
        deployed: record.deployed.clone(),
        recreated: record.recreated,
        dashboard_url: record.dashboard_url.clone(),
        labels: record.labels.clone(),
        ..InstanceRecord::of(record.owner())
    }
}

pub(crate) fn without_record(owner: Owner, known: Option<&Known>) -> InstanceRecord {
    InstanceRecord {
        operation: known.map(Known::view),
        ..InstanceRecord::of(owner)
    }
}

pub(crate) fn view(operation: &Operation, known: Option<&Known>) -> OperationView {
    let record = &operation.record;
    let snapshot = known.map(|known| &known.snapshot);
    // An operation adopted from a Go broker is known only from a poll.
    let is_recorded = operation.stored.is_some();
    let is_own = is_recorded || known.is_some_and(|known| known.operation.is_begun_here());
    let going_on = OperationView {
        kind: Some(record.operation),
        state: OperationState::InProgress,
        description: None,
        condition: None,
        began: record.began.filter(|_| is_own),
        request: Some(record.request.clone()).filter(|_| is_own),
        cancelled: record.cancelled_by.is_some(),
        token: None,
        stages: snapshot
            .map(|snapshot| snapshot.stages.clone())
            .unwrap_or_default(),
    };
    let state = snapshot.map(|snapshot| &snapshot.state);
    match (&record.outcome, state) {
        (Some(outcome), _) | (None, Some(SnapshotState::Ended { outcome, .. })) => {
            ended(outcome, going_on)
        }
        (None, Some(SnapshotState::NeverSubmitted)) => {
            ended(&never_submitted(record.operation), going_on)
        }
        (None, Some(SnapshotState::InProgress(_)) | None) => {
            let answered = known.and_then(|known| known.operation.started.as_ref());
            let token = match answered {
                Some(started) => Some(started.token.clone()),
                None => is_recorded
                    .then(|| operation.token(snapshot.and_then(|snapshot| snapshot.first_task))),
            };
            OperationView {
                description: snapshot.and_then(Snapshot::description),
                token: token.and_then(|token| serde_json::from_str(&token).ok()),
                ..going_on
            }
        }
    }
}

fn never_submitted(kind: OperationKind) -> Outcome {
    Outcome::Failed {
        description: narrative::failed(kind, narrative::NEVER_SUBMITTED),
        condition: Some(Condition::Intact),
    }
}

pub(crate) fn ended(outcome: &Outcome, view: OperationView) -> OperationView {
    let (state, description, condition) = match outcome {
        Outcome::Succeeded { description } => (OperationState::Succeeded, description, None),
        Outcome::Failed {
            description,
            condition,
        } => (OperationState::Failed, description, *condition),
    };
    OperationView {
        state,
        description: Some(description.clone()),
        condition,
        ..view
    }
}

impl Known {
    pub(crate) fn view(&self) -> OperationView {
        view(&self.operation, Some(self))
    }
}

/// The view of an operation from a task, which does not show whether the operation creates or changes the instance.
pub(crate) fn view_of_task(task: &Task) -> OperationView {
    let deletes = TaskKind::of(&task.description) == TaskKind::Delete;
    let state = match task.state {
        TaskState::Done => OperationState::Succeeded,
        TaskState::Error | TaskState::Cancelled | TaskState::Timeout => OperationState::Failed,
        TaskState::Queued
        | TaskState::Processing
        | TaskState::Cancelling
        | TaskState::Unknown(_) => OperationState::InProgress,
    };
    let kind = deletes.then_some(OperationKind::Delete);
    OperationView {
        began: task.started_at.and_then(|at| Timestamp::try_from(at).ok()),
        ..OperationView::new(kind, state, task.description.clone())
    }
}

/// A task in progress is newer than a recorded outcome.
pub(crate) fn newer(
    recorded: Option<OperationView>,
    by_task: Option<OperationView>,
) -> Option<OperationView> {
    match (recorded, by_task) {
        (Some(recorded), Some(task)) if !recorded.is_in_progress() && task.is_in_progress() => {
            Some(task)
        }
        (Some(latest), _) | (None, Some(latest)) => Some(latest),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use odb_clients::director::{ConfigId, TaskId};

    use super::*;
    use crate::records::operation_record;
    use crate::records::operation_record::OperationRecord;
    use crate::records::operation_record::StoredRecord;

    fn instance() -> InstanceId {
        InstanceId::try_from("i1".to_owned()).unwrap()
    }

    fn record_with(record: OperationRecord, known: &Known) -> InstanceRecord {
        let id = ConfigId::try_from("1".to_owned()).unwrap();
        let mark = FoundRecord::Own(Box::new(StoredRecord { id, record }));
        record_of(&instance(), Some(mark), Some(known), false)
    }

    fn known(record: &OperationRecord, state: SnapshotState) -> Known {
        let operation = Operation::new(&instance(), record.clone(), None);
        Known {
            snapshot: Snapshot {
                first_task: Some(TaskId::new(7)),
                state,
                ..operation.first_snapshot()
            },
            operation: Arc::new(operation),
        }
    }

    fn succeeded() -> Outcome {
        Outcome::Succeeded {
            description: "done".to_owned(),
        }
    }

    #[test]
    fn an_operation_in_progress_has_the_token_that_its_request_was_answered_with() {
        let record = operation_record::example(OperationKind::Upgrade);
        let driven = known(&record, SnapshotState::InProgress("half way".to_owned()));
        let found = record_with(record.clone(), &driven);
        let operation = found.operation.unwrap();
        assert_eq!(operation.state, OperationState::InProgress);
        assert_eq!(operation.description.as_deref(), Some("half way"));
        let token = operation.token.unwrap();
        assert_eq!(token["BoshTaskID"], 7);
        assert_eq!(token["BoshContextID"], record.context.as_str());
        assert_eq!(found.deployed, None);
    }

    #[test]
    fn what_a_reconciler_knows_to_have_succeeded_counts_before_it_is_written_down() {
        let record = operation_record::example(OperationKind::Upgrade);
        let at = Timestamp::UNIX_EPOCH;
        let ended = SnapshotState::Ended {
            outcome: succeeded(),
            at,
        };
        let driven = known(&record, ended);
        let record = record_with(record, &driven);
        let operation = record.operation.unwrap();
        assert_eq!(operation.state, OperationState::Succeeded);
        assert_eq!(operation.token, None);
        let deployed = record.deployed.unwrap();
        assert_eq!(deployed.target.as_str(), "new");
        assert_eq!(deployed.at, at, "however often and late it is asked");
    }

    #[test]
    fn an_operation_that_left_no_record_counts_while_it_goes_on_and_not_afterwards() {
        let record =
            operation_record::example(OperationKind::Upgrade).ended(succeeded(), Timestamp::now());
        let other = operation_record::example(OperationKind::Update);
        let state = |state| {
            let record = record_with(record.clone(), &known(&other, state));
            record.operation.unwrap().state
        };
        let going_on = SnapshotState::InProgress(String::new());
        assert_eq!(state(going_on), OperationState::InProgress);
        let failed = SnapshotState::NeverSubmitted;
        assert_eq!(state(failed), OperationState::Succeeded);
    }

    #[test]
    fn an_order_that_was_abandoned_has_failed() {
        let id = ConfigId::try_from("1".to_owned()).unwrap();
        let record = operation_record::example(OperationKind::Create);
        let mark = FoundRecord::Own(Box::new(StoredRecord { id, record }));
        let record = record_of(&instance(), Some(mark), None, true);
        let operation = record.operation.unwrap();
        assert_eq!(operation.state, OperationState::Failed);
        assert_eq!(operation.condition, Some(Condition::Intact));
        assert_eq!(operation.token, None);
    }

    fn task(description: &str, state: TaskState) -> Task {
        Task {
            id: TaskId::new(1),
            state,
            description: description.to_owned(),
            started_at: None,
            result: None,
            user: None,
            deployment: None,
            context: None,
        }
    }

    #[test]
    fn a_task_shows_whether_the_instance_goes_and_nothing_else() {
        use OperationState::{Failed, InProgress, Succeeded};
        for (description, state, kind, expected) in [
            (
                "delete deployment service-instance_1",
                TaskState::Processing,
                Some(OperationKind::Delete),
                InProgress,
            ),
            ("create deployment", TaskState::Queued, None, InProgress),
            ("create deployment", TaskState::Timeout, None, Failed),
            (
                "run errand smoke from deployment service-instance_1",
                TaskState::Done,
                None,
                Succeeded,
            ),
        ] {
            let latest = view_of_task(&task(description, state));
            assert_eq!((latest.kind, latest.state), (kind, expected));
        }
    }
}
