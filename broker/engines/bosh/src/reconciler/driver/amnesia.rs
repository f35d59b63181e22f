//! An operation whose tasks the Director does not have: either nothing was handed over, or they have been dropped since, as
//! old tasks are. The Director's audit outlives them, and so does the deployment.

use std::time::SystemTime;

use odb_api_types::kind::OperationKind;
use odb_clients::{
    ServiceError,
    director::{AuditRecord, TaskFilter, TaskId},
};
use odb_redaction::Chain;

use super::{Driver, End, obstacle::Obstacle};
use crate::reconciler::{
    next_step::{Doing, Judged},
    traces::{self, Footprint, Trace, Traces, Untraced, Verdict},
};

/// What the audit has told.
pub(super) struct Recalled {
    traces: Traces,
    /// The newest task at that time.
    newest: Option<TaskId>,
}

impl Driver {
    /// The Director has dropped the newest task.
    pub(super) fn has_lost_sight(&self, tasks: &[Judged]) -> bool {
        let newest = self.observer.newest();
        newest.is_some_and(|newest| tasks.last().is_none_or(|last| last.id < newest))
    }

    /// The audit has been asked since the newest task began.
    pub(super) fn has_recalled(&self) -> bool {
        let newest = self.observer.newest();
        let recalled = self.recalled.as_ref();
        recalled.is_some_and(|recalled| recalled.newest == newest)
    }

    /// Why a task has failed that the Director has dropped.
    pub(super) fn traced_error(&self, task: TaskId) -> Option<&str> {
        let mut traced = self.traced();
        let trace = traced.find(|trace| trace.judged.id == task)?;
        trace.error.as_deref()
    }

    fn traced(&self) -> impl Iterator<Item = &Trace> {
        let recalled = self.recalled.iter();
        recalled.flat_map(|recalled| &recalled.traces.tasks)
    }

    /// Adds what the audit tells of tasks that are not listed any more.
    pub(super) fn add_traces(&self, tasks: &mut Vec<Judged>) {
        let dropped: Vec<Judged> = self
            .traced()
            .filter(|trace| tasks.iter().all(|task| task.id != trace.judged.id))
            .map(|trace| trace.judged.clone())
            .collect();
        tasks.extend(dropped);
        tasks.sort_by_key(|task| task.id);
    }

    /// Reads in the audit what the operation's tasks came to. A Director that does not tell knows nothing.
    pub(super) async fn recall(&mut self) {
        let traces = self.try_to_recall().await.unwrap_or_else(|error| {
            tracing::debug!(error = %Chain(&error), "the Director does not tell of its audit");
            Traces::default()
        });
        if !traces.tasks.is_empty() {
            tracing::info!(
                tasks = traces.tasks.len(),
                "the Director has dropped tasks of the operation; its audit tells what they came to"
            );
        }
        self.recalled = Some(Recalled {
            traces,
            newest: self.observer.newest(),
        });
    }

    async fn try_to_recall(&self) -> Result<Traces, ServiceError> {
        let written = self.write_of_marker().await?;
        let known: Vec<u64> = self.observer.known().collect();
        let footprint = match &written {
            Some(written) => Footprint::Since(written),
            None if known.is_empty() => return Ok(Traces::default()),
            None => Footprint::Tasks(&known),
        };
        let (director, name) = (&self.neighbours.director, &self.operation.deployment());
        let read = |call| async move { traces::of(director, &call, name, footprint).await };
        self.inquirer.insist("read the audit", read).await
    }

    /// The record of the operation's marker: what it did is later. A cancellation has written the marker once more.
    async fn write_of_marker(&self) -> Result<Option<AuditRecord>, ServiceError> {
        let (markers, operation) = (&self.neighbours.markers, &self.operation);
        if operation.stored.is_none() {
            return Ok(None);
        }
        let read = |call| async move { markers.writes(&call, &operation.instance).await };
        let writes = self
            .inquirer
            .insist("read the audit of the marker", read)
            .await?;
        let later_writes = usize::from(self.is_cancelled());
        Ok(writes.into_iter().nth(later_writes))
    }

    /// Judges by what is there. That nothing has changed is said only where it is known.
    pub(super) async fn without_tasks(&self) -> Result<End, Obstacle> {
        let operation = &self.operation;
        let are_complete = self
            .recalled
            .as_ref()
            .is_some_and(|recalled| recalled.traces.are_complete);
        let untraced = Untraced {
            kind: operation.kind(),
            has_errands: !operation.record.errands.is_empty(),
            began: self.observer.newest().is_some(),
            is_known_in_full: are_complete || self.has_older_tasks().await?,
        };
        match untraced.verdict(&self.deployment().await?) {
            Verdict::NeverBegan => Ok(End::NeverSubmitted),
            Verdict::Succeeded => {
                if operation.kind().deletes() {
                    self.clean_up().await?;
                }
                Ok(End::Succeeded)
            }
            Verdict::Failed => Err(Obstacle::new(
                "the Director has no tasks of the operation any more, and no deploy of the deployment has succeeded"
                    .to_owned(),
            )),
            Verdict::StillThere => Err(Obstacle::still_there()),
            Verdict::Gone => Err(Obstacle::gone()),
            Verdict::Unknown => Err(Obstacle::unknown()),
        }
    }

    /// The Director drops its oldest tasks first, each kind for itself: where it has one from before that deployed the same,
    /// it would have that of this operation.
    async fn has_older_tasks(&self) -> Result<bool, ServiceError> {
        let operation = &self.operation;
        if operation.kind() == OperationKind::Create || operation.kind().deletes() {
            return Ok(false);
        }
        let director = &self.neighbours.director;
        let filter = &TaskFilter {
            deployment: Some(operation.deployment()),
            ..TaskFilter::default()
        };
        let list = |call| async move { director.tasks(&call, filter).await };
        let tasks = self
            .inquirer
            .insist("list the deployment's tasks", list)
            .await?;
        let Some(began) = operation.record.began.map(SystemTime::from) else {
            return Ok(false);
        };
        Ok(tasks.iter().any(|task| {
            Doing::of(&task.description) == Doing::Deploy
                && task.started_at.is_some_and(|started| started < began)
        }))
    }
}
