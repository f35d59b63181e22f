//! An operation whose tasks the Director does not have: either nothing was submitted, or the Director has dropped old
//! tasks. The Director's audit outlives them, and so does the deployment.

use std::time::SystemTime;

use odb_api_types::kind::OperationKind;
use odb_clients::{
    ServiceError,
    director::{AuditRecord, TaskFilter, TaskId},
};
use odb_redaction::Chain;

use super::context::Context;
use crate::reconciler::{
    next_step::{TaskKind, TaskOutcome},
    observer::Observer,
    traces::{self, Assessment, Footprint, Trace, Traces, Untraced},
};

/// The operation's part of the audit, which is read when tasks are missing.
#[derive(Default)]
pub(super) struct History(Option<Recalled>);

struct Recalled {
    traces: Traces,
    /// The newest task at that time.
    newest: Option<TaskId>,
}

impl History {
    /// The audit was read after the newest task started.
    pub(super) fn is_known(&self, observer: &Observer) -> bool {
        let newest = observer.newest();
        let recalled = self.0.as_ref();
        recalled.is_some_and(|recalled| recalled.newest == newest)
    }

    /// Why a task has failed that the Director has dropped.
    pub(super) fn error_of(&self, task: TaskId) -> Option<&str> {
        let mut traced = self.traced();
        let trace = traced.find(|trace| trace.outcomes.id == task)?;
        trace.error.as_deref()
    }

    fn traced(&self) -> impl Iterator<Item = &Trace> {
        let recalled = self.0.iter();
        recalled.flat_map(|recalled| &recalled.traces.tasks)
    }

    /// Adds the audit's records of tasks that are no longer listed.
    pub(super) fn complete(&self, tasks: &mut Vec<TaskOutcome>) {
        let dropped: Vec<TaskOutcome> = self
            .traced()
            .filter(|trace| tasks.iter().all(|task| task.id != trace.outcomes.id))
            .map(|trace| trace.outcomes.clone())
            .collect();
        tasks.extend(dropped);
        tasks.sort_by_key(|task| task.id);
    }

    /// Reads the outcome of the operation's tasks from the audit. A Director without an answer has no records.
    pub(super) async fn read_history(&mut self, context: &Context, observer: &Observer) {
        let traces = read(context, observer).await.unwrap_or_else(|error| {
            tracing::debug!(error = %Chain(&error), "the Director does not give access to its audit");
            Traces::default()
        });
        if !traces.tasks.is_empty() {
            tracing::info!(
                tasks = traces.tasks.len(),
                "the Director has dropped tasks of the operation; its audit records their results"
            );
        }
        self.0 = Some(Recalled {
            traces,
            newest: observer.newest(),
        });
    }

    /// Decides by the current state. The outcome reports that nothing has changed only if that is known.
    pub(super) async fn assess(
        &self,
        context: &Context,
        observer: &Observer,
    ) -> Result<Assessment, ServiceError> {
        let operation = &context.operation;
        let are_complete = self
            .0
            .as_ref()
            .is_some_and(|recalled| recalled.traces.are_complete);
        let untraced = Untraced {
            kind: operation.kind(),
            has_errands: !operation.record.errands.is_empty(),
            began: observer.newest().is_some(),
            is_known_in_full: are_complete || has_older_tasks(context).await?,
        };
        Ok(untraced.assess(&context.deployment().await?))
    }
}

/// Reads the audit.
async fn read(context: &Context, observer: &Observer) -> Result<Traces, ServiceError> {
    let written = write_of_record(context).await?;
    let known: Vec<u64> = observer.known().collect();
    let footprint = match &written {
        Some(written) => Footprint::Since(written),
        None if known.is_empty() => return Ok(Traces::default()),
        None => Footprint::Tasks(&known),
    };
    let (director, name) = (&context.upstreams.director, &context.operation.deployment());
    let read = |call| async move { traces::of(director, &call, name, footprint).await };
    context.retrier.retry("read the audit", read).await
}

/// When the operation record was written: the operation's actions are later. A cancellation has written the operation
/// record once more.
async fn write_of_record(context: &Context) -> Result<Option<AuditRecord>, ServiceError> {
    let (records, operation) = (&context.upstreams.records, &context.operation);
    if operation.stored.is_none() {
        return Ok(None);
    }
    let read = |call| async move { records.writes(&call, &operation.instance).await };
    let writes = context
        .retrier
        .retry("read the audit of the operation record", read)
        .await?;
    let later_writes = usize::from(context.is_cancelled());
    Ok(writes.into_iter().nth(later_writes))
}

/// The Director drops its oldest tasks first, each kind for itself: where it has one from before that deployed the
/// same, it would have that of this operation.
async fn has_older_tasks(context: &Context) -> Result<bool, ServiceError> {
    let operation = &context.operation;
    if operation.kind() == OperationKind::Create || operation.kind().deletes() {
        return Ok(false);
    }
    let director = &context.upstreams.director;
    let filter = &TaskFilter {
        deployment: Some(operation.deployment()),
        ..TaskFilter::default()
    };
    let list = |call| async move { director.tasks(&call, filter).await };
    let tasks = context
        .retrier
        .retry("list the deployment's tasks", list)
        .await?;
    let Some(began) = operation.record.began.map(SystemTime::from) else {
        return Ok(false);
    };
    Ok(tasks.iter().any(|task| {
        TaskKind::of(&task.description) == TaskKind::Deploy
            && task.started_at.is_some_and(|started| started < began)
    }))
}

/// The Director has dropped the newest task.
pub(super) fn has_lost_newest(observer: &Observer, tasks: &[TaskOutcome]) -> bool {
    let newest = observer.newest();
    newest.is_some_and(|newest| tasks.last().is_none_or(|last| last.id < newest))
}
