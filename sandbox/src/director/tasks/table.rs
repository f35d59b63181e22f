//! All tasks with their outputs.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::{
    CancelSelector, Task, TaskFailure, TaskFilter, TaskKind, TaskState, Work, summary::summary,
};
use crate::{
    director::ids::{ContextId, DeploymentName, TaskId, TeamName},
    store::{Rows, Store, StoreError},
};

/// So many finished tasks of each kind are kept.
const KEPT_PER_KIND: usize = 2000;

/// All tasks, finished ones included.
pub(in crate::director) struct Tasks {
    table: Mutex<Table>,
    /// A task whose worker has been silent for longer is given up.
    checkpoint_timeout: Duration,
}

struct Table {
    records: Rows<TaskId, Record>,
    lines: Rows<LineKey, String>,
    /// How those that have not ended are asked to end.
    cancels: HashMap<TaskId, CancellationToken>,
}

/// A line of an output; lines count from 0.
type LineKey = (TaskId, OutputType, u32);

#[derive(Serialize, Deserialize)]
struct Record {
    task: Task,
    /// The work, until a worker takes it.
    work: Option<Work>,
    /// When its worker gave its last sign of life.
    checkpoint: Timestamp,
}

pub(in crate::director) struct NewTask {
    pub(in crate::director) kind: TaskKind,
    pub(in crate::director) description: String,
    pub(in crate::director) user: String,
    pub(in crate::director) deployment: DeploymentName,
    pub(in crate::director) context_id: ContextId,
    pub(in crate::director) teams: Vec<TeamName>,
}

pub(in crate::director) struct Begun {
    pub(in crate::director) work: Work,
    pub(in crate::director) cancel: CancellationToken,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::director) enum OutputType {
    Event,
    Result,
    Debug,
    Cpi,
}

impl OutputType {
    /// Whether it is a log, which may hold secrets.
    pub(in crate::director) fn is_log(self) -> bool {
        match self {
            Self::Event | Self::Result => false,
            Self::Debug | Self::Cpi => true,
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[error("Cannot cancel task {task}: invalid state ({})", .state.name())]
pub(in crate::director) struct CannotCancel {
    task: TaskId,
    state: TaskState,
}

impl Tasks {
    /// The tasks in this store. Their workers are given up after `checkpoint_timeout` without a sign of life.
    pub(in crate::director) fn open(
        store: &Store,
        checkpoint_timeout: Duration,
    ) -> Result<Self, StoreError> {
        let records: Rows<TaskId, Record> = Rows::open(store, "director_tasks")?;
        let open = records
            .iter()
            .filter(|(_, record)| !record.task.state.is_final());
        let cancels = open
            .map(|(id, record)| (*id, cancel_token(record.task.state)))
            .collect();
        Ok(Self {
            table: Mutex::new(Table {
                cancels,
                records,
                lines: Rows::open(store, "director_task_outputs")?,
            }),
            checkpoint_timeout,
        })
    }

    /// Adds a task to those that wait for a worker, with what it will have to do.
    pub(in crate::director) fn create(&self, new: NewTask, work: Work) -> TaskId {
        let mut table = self.lock();
        let last = table.records.keys().next_back();
        let id = last.copied().unwrap_or(TaskId::NONE).next();
        let task = Task {
            id,
            kind: new.kind,
            state: TaskState::Queued,
            description: new.description,
            timestamp: Timestamp::now(),
            started_at: None,
            result: None,
            user: new.user,
            deployment: new.deployment,
            context_id: new.context_id,
            teams: new.teams,
        };
        let record = Record {
            checkpoint: task.timestamp,
            task,
            work: Some(work),
        };
        table.records.insert(id, record);
        table.cancels.insert(id, CancellationToken::new());
        table.records.save();
        id
    }

    /// The tasks that wait for a worker, the oldest first. Those cancelled meanwhile wait as well.
    pub(in crate::director) fn waiting(&self) -> Vec<TaskId> {
        let table = self.lock();
        let waiting = table
            .records
            .iter()
            .filter(|(_, record)| record.work.is_some() && !record.task.state.is_final());
        waiting.map(|(id, _)| *id).collect()
    }

    /// A worker begins a task. There is nothing to begin when it was cancelled before.
    pub(in crate::director) fn begin(&self, id: TaskId) -> Option<Begun> {
        let mut table = self.lock();
        let cancel = table.cancels.get(&id).cloned()?;
        let record = table.records.get_mut(&id)?;
        let work = record.work.take()?;
        if record.task.state != TaskState::Queued {
            return None;
        }
        let now = Timestamp::now();
        record.task.state = TaskState::Processing;
        record.task.timestamp = now;
        record.task.started_at = Some(now);
        record.checkpoint = now;
        table.records.save();
        Some(Begun { work, cancel })
    }

    /// The worker of a task gives a sign of life.
    pub(in crate::director) fn check_in(&self, id: TaskId) {
        self.change(id, |record| record.checkpoint = Timestamp::now());
    }

    /// Ends a task, with the summary of what came of it or with why it failed.
    pub(in crate::director) fn finish(&self, id: TaskId, end: Result<String, TaskFailure>) {
        let (state, result) = match end {
            Ok(summary) => (TaskState::Done, summary),
            Err(TaskFailure::Cancelled(_)) => (TaskState::Cancelled, "task cancelled".to_owned()),
            Err(failure) => (TaskState::Error, failure.to_string()),
        };
        let mut table = self.lock();
        table.cancels.remove(&id);
        let Some(record) = table.records.get_mut(&id) else {
            return;
        };
        // A task that was given up stays so, even if its worker comes back.
        if record.task.state != TaskState::Timeout {
            record.task.state = state;
            record.task.timestamp = Timestamp::now();
            record.task.result = Some(summary(&result));
        }
        let kind = record.task.kind;
        table.forget_oldest(kind);
        table.records.save();
        table.lines.save();
    }

    /// The process of a task was killed. The worker changes the state of the task and nothing else (cloudfoundry/bosh,
    /// `jobs/db_job.rb`, `fail_task`).
    pub(in crate::director) fn mark_killed(&self, id: TaskId) {
        let mut table = self.lock();
        table.cancels.remove(&id);
        table.set_state(id, TaskState::Error);
    }

    pub(in crate::director) fn cancel(&self, id: TaskId) -> Result<(), CannotCancel> {
        let mut table = self.lock();
        let Some(state) = table.records.get(&id).map(|record| record.task.state) else {
            return Ok(());
        };
        if !state.can_be_cancelled() {
            return Err(CannotCancel { task: id, state });
        }
        table.set_state(id, TaskState::Cancelling);
        if let Some(cancel) = table.cancels.get(&id) {
            cancel.cancel();
        }
        Ok(())
    }

    /// Asks all tasks that are selected to end.
    pub(in crate::director) fn cancel_all(&self, selector: &CancelSelector) {
        let selected: Vec<TaskId> = {
            let table = self.lock();
            let tasks = table.records.values().map(|record| &record.task);
            tasks
                .filter(|task| selector.selects(task))
                .map(|task| task.id)
                .collect()
        };
        for id in selected {
            // One that has ended since then needs no end.
            let _ = self.cancel(id);
        }
    }

    pub(in crate::director) fn find(&self, id: TaskId) -> Option<Task> {
        let mut table = self.lock();
        table.abandon(id, self.checkpoint_timeout);
        table.records.get(&id).map(|record| record.task.clone())
    }

    /// Tasks that pass the filter, the one whose state changed last first.
    pub(in crate::director) fn list(&self, filter: &TaskFilter) -> Vec<Task> {
        let mut table = self.lock();
        let mut passing: Vec<(Timestamp, TaskId)> = table
            .records
            .values()
            .filter(|record| filter.passes(&record.task))
            .map(|record| (record.task.timestamp, record.task.id))
            .collect();
        passing.sort_unstable_by(|one, other| other.cmp(one));
        passing.truncate(filter.limit.unwrap_or(usize::MAX));
        let shown = passing.into_iter().filter_map(|(_, id)| {
            table.abandon(id, self.checkpoint_timeout);
            table.records.get(&id).map(|record| record.task.clone())
        });
        shown.collect()
    }

    /// An output as far as it has been written.
    pub(in crate::director) fn output(&self, id: TaskId, kind: OutputType) -> Vec<u8> {
        let table = self.lock();
        let lines = table.lines.range((id, kind, 0)..=(id, kind, u32::MAX));
        lines.fold(Vec::new(), |mut output, (_, line)| {
            output.extend_from_slice(line.as_bytes());
            output.push(b'\n');
            output
        })
    }

    pub(in crate::director) fn write_line(&self, id: TaskId, kind: OutputType, line: &str) {
        let mut table = self.lock();
        let mut last = table.lines.range((id, kind, 0)..=(id, kind, u32::MAX));
        let number = last.next_back().map_or(0, |((_, _, last), _)| last + 1);
        table.lines.insert((id, kind, number), line.to_owned());
        table.lines.save();
    }

    fn change(&self, id: TaskId, change: impl FnOnce(&mut Record)) {
        let mut table = self.lock();
        if let Some(record) = table.records.get_mut(&id) {
            change(record);
        }
        table.records.save();
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn set_state(&mut self, id: TaskId, state: TaskState) {
        if let Some(record) = self.records.get_mut(&id) {
            record.task.state = state;
        }
        self.records.save();
    }

    /// A read of a task whose worker has been silent for too long ends the task.
    fn abandon(&mut self, id: TaskId, after: Duration) {
        let is_silent = self.records.get(&id).is_some_and(|record| {
            let is_worked_on = record.task.started_at.is_some()
                && matches!(
                    record.task.state,
                    TaskState::Processing | TaskState::Cancelling
                );
            is_worked_on && record.checkpoint + after < Timestamp::now()
        });
        if is_silent {
            self.set_state(id, TaskState::Timeout);
        }
    }

    fn forget_oldest(&mut self, kind: TaskKind) {
        let finished: Vec<TaskId> = self
            .records
            .values()
            .map(|record| &record.task)
            .filter(|task| task.kind == kind && task.state.is_final())
            .map(|task| task.id)
            .collect();
        let surplus = finished.len().saturating_sub(KEPT_PER_KIND);
        for id in &finished[..surplus] {
            self.records.remove(id);
            let first = (*id, OutputType::Event, 0);
            let lines = self.lines.range(first..(id.next(), OutputType::Event, 0));
            let lines: Vec<LineKey> = lines.map(|(key, _)| *key).collect();
            for line in lines {
                self.lines.remove(&line);
            }
        }
    }
}

/// How a task that was in this state when it was stored is asked to end.
fn cancel_token(state: TaskState) -> CancellationToken {
    let token = CancellationToken::new();
    if state == TaskState::Cancelling {
        token.cancel();
    }
    token
}
