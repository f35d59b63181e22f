//! A submitted operation with its run-time state.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use odb_api_types::{
    ids::InstanceId,
    kind::OperationKind,
    management::{OperationState, StageStatus},
};
use odb_clients::director::{ConfigId, DeploymentName, TaskId};
use odb_core::engine::Started;
use tokio::time::Instant;

use crate::{
    instance::deployment,
    instance_clients::InstanceClient,
    reconciler::{
        narrative::{self, Cancelling, Scene},
        next_step::{Stage, stages},
    },
    records::{
        operation_record::{OperationRecord, Outcome},
        operation_records::StoredRecord,
        progress::{self, StepLog},
        token::OperationToken,
    },
};

/// The task id of an operation whose task is unknown. No Director uses this number.
pub(crate) const UNKNOWN_TASK: TaskId = TaskId::new(0);

/// A submitted operation: its record, and the state that only this process has.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub(crate) instance: InstanceId,
    /// Made from the token where the operation has none, as one of a Go broker has.
    pub(crate) record: OperationRecord,
    /// The version of the record that the Director has; none where records cannot be written.
    pub(crate) stored: Option<ConfigId>,
    pub(crate) first_task: Option<TaskId>,
    pub(crate) begun: Begun,
    /// Its change of the instance's UAA client, as far as this process knows it: undone if nothing was submitted. A
    /// reconciler has it without the secret.
    pub(crate) client: Option<InstanceClient>,
    /// The answer that the request got, for its identical repeat.
    pub(crate) started: Option<Started>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begun {
    /// In this process, which knows its requests.
    Here,
    /// In this process, at this time. Its reconciler was stopped for another one, so its last request may not have
    /// arrived yet.
    Redirected(Instant),
    /// By an earlier process or another broker: its last request may not have arrived yet.
    Elsewhere,
}

impl Operation {
    /// An operation that this process has not started.
    pub(crate) fn new(
        instance: &InstanceId,
        record: OperationRecord,
        stored: Option<ConfigId>,
    ) -> Self {
        Self {
            instance: instance.clone(),
            record,
            stored,
            first_task: None,
            begun: Begun::Elsewhere,
            client: None,
            started: None,
        }
    }

    pub(crate) fn of_stored(instance: &InstanceId, stored: StoredRecord) -> Self {
        Self::new(instance, stored.record, Some(stored.id))
    }

    pub(crate) fn is_begun_here(&self) -> bool {
        matches!(self.begun, Begun::Here | Begun::Redirected(_))
    }

    pub(crate) fn kind(&self) -> OperationKind {
        self.record.operation
    }

    pub(crate) fn deployment(&self) -> DeploymentName {
        deployment(&self.instance)
    }

    /// Its stages, if none is known to be left out.
    pub(crate) fn stages(&self) -> Vec<Stage> {
        let mut stages = stages(self.kind(), &self.record.errands);
        if self.record.cuts_short.is_some() {
            stages.insert(0, Stage::Stop);
        }
        stages
    }

    /// The token of the operation. Of a delete that cuts an operation short it names the first task of that operation.
    pub(crate) fn token(&self, first_task: Option<TaskId>) -> String {
        let record = &self.record;
        let cut = record.cuts_short.as_ref().map(|cut| cut.first_task);
        OperationToken::new(
            self.instance.clone(),
            record.operation,
            cut.or(first_task).unwrap_or(UNKNOWN_TASK),
            record.context.clone(),
            &record.errands,
            record.digest.as_str().to_owned(),
        )
        .to_text()
    }

    pub(crate) fn answer(&self, first_task: Option<TaskId>) -> Started {
        Started {
            token: self.token(first_task),
            dashboard_url: self.record.dashboard_url.clone(),
            labels: self.record.labels.clone(),
        }
    }

    /// The cancellation as users read it. A delete that cuts another operation short cancels it, too.
    pub(crate) fn cancelling(&self, plea: Option<Plea>) -> Cancelling {
        match (plea, self.record.cancelled_by.is_some()) {
            (Some(Plea::Refused), false) => Cancelling::RefusedToDeletion,
            (Some(Plea::Refused), true) => Cancelling::Refused,
            (Some(Plea::Granted) | None, true) => Cancelling::ByOperator,
            (Some(Plea::Granted) | None, false) => Cancelling::No,
        }
    }

    /// The snapshot for polls before the reconciler's first look.
    pub(crate) fn first_snapshot(&self) -> Snapshot {
        let (kind, stages) = (self.kind(), self.stages());
        let description = narrative::in_progress(&Scene {
            kind,
            stages: &stages,
            stage: 0,
            log: &StepLog::default(),
            cancelling: self.cancelling(None),
        });
        let reports = progress::reports(kind, &stages, &[], &BTreeMap::new());
        Snapshot {
            first_task: self.first_task,
            since: Instant::now(),
            is_without_news: false,
            plea: None,
            stages: Arc::new(reports),
            state: SnapshotState::InProgress(description),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) first_task: Option<TaskId>,
    /// When this process began to follow it.
    pub(crate) since: Instant,
    /// A server that the operation needs, mostly the Director, has not answered for a while.
    pub(crate) is_without_news: bool,
    /// The Director's answer to the cancellation of a task, if there is one.
    pub(crate) plea: Option<Plea>,
    /// For operators: its stages and how far each is.
    pub(crate) stages: Arc<Vec<StageStatus>>,
    pub(crate) state: SnapshotState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plea {
    /// The task ends at its next checkpoint.
    Granted,
    /// Only an administrator of the Director may cancel tasks: the task runs to its own end.
    Refused,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SnapshotState {
    InProgress(String),
    Ended {
        outcome: Outcome,
        /// The time, which the operation record with the outcome has, too.
        at: Timestamp,
    },
    /// Nothing was ever submitted: its process ended before, or the submission did not arrive.
    NeverSubmitted,
}

impl Snapshot {
    /// The message for users while the operation is in progress.
    pub(crate) fn description(&self) -> Option<String> {
        match &self.state {
            SnapshotState::InProgress(description) if self.is_without_news => {
                Some(narrative::without_news(description))
            }
            SnapshotState::InProgress(description) => Some(description.clone()),
            SnapshotState::Ended { .. } | SnapshotState::NeverSubmitted => None,
        }
    }

    pub(crate) fn operation_state(&self) -> OperationState {
        match &self.state {
            SnapshotState::InProgress(_) => OperationState::InProgress,
            SnapshotState::Ended { outcome, .. } if outcome.is_success() => {
                OperationState::Succeeded
            }
            SnapshotState::Ended { .. } | SnapshotState::NeverSubmitted => OperationState::Failed,
        }
    }

    pub(crate) fn is_in_progress(&self) -> bool {
        matches!(self.state, SnapshotState::InProgress(_))
    }
}
