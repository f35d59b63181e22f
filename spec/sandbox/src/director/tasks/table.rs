//! All tasks with their outputs.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use super::{Task, TaskFailure, TaskKind, TaskState};
use crate::director::ids::{ContextId, DeploymentName, TaskId, TeamName};

/// So many finished tasks of each kind are kept.
const KEPT_PER_KIND: usize = 2000;
const SUMMARY_LIMIT: usize = 128;

/// All tasks, finished ones included.
#[derive(Default)]
pub(in crate::director) struct Tasks {
    table: Mutex<Table>,
}

struct Table {
    last: TaskId,
    tasks: BTreeMap<TaskId, Entry>,
}

struct Entry {
    task: Task,
    cancel: CancellationToken,
    events: Vec<u8>,
    result: Vec<u8>,
    debug: Vec<u8>,
}

/// A task to be.
pub(in crate::director) struct NewTask {
    pub(in crate::director) kind: TaskKind,
    pub(in crate::director) description: String,
    pub(in crate::director) user: String,
    pub(in crate::director) deployment: DeploymentName,
    pub(in crate::director) context_id: ContextId,
    pub(in crate::director) teams: Vec<TeamName>,
}

/// Which tasks a list shows.
#[derive(Default)]
pub(in crate::director) struct TaskFilter {
    /// Names of states; none means all. A name that no state has matches nothing.
    pub(in crate::director) states: Vec<String>,
    pub(in crate::director) deployment: Option<String>,
    pub(in crate::director) context_id: Option<String>,
    /// Only tasks that all these teams may see, or all tasks.
    pub(in crate::director) teams: Option<Vec<TeamName>>,
    pub(in crate::director) limit: Option<usize>,
}

/// An output of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::director) enum OutputType {
    /// The event log.
    Event,
    /// What the task yields.
    Result,
    /// The log.
    Debug,
}

/// A task that has ended, or is asked to end already, cannot be cancelled.
#[derive(Debug, thiserror::Error)]
#[error("Cannot cancel task {task}: invalid state ({})", .state.name())]
pub(in crate::director) struct CannotCancel {
    task: TaskId,
    state: TaskState,
}

impl Default for Table {
    fn default() -> Self {
        Self {
            last: TaskId::NONE,
            tasks: BTreeMap::new(),
        }
    }
}

impl Tasks {
    /// Adds a task to those that wait for a worker.
    pub(in crate::director) fn create(&self, new: NewTask) -> TaskId {
        self.with(|table| {
            let id = table.last.next();
            table.last = id;
            let task = Task {
                id,
                kind: new.kind,
                state: TaskState::Queued,
                description: new.description,
                changed_at: now(),
                timestamp: None,
                started_at: None,
                result: None,
                user: new.user,
                deployment: new.deployment,
                context_id: new.context_id,
                teams: new.teams,
            };
            let entry = Entry {
                task,
                cancel: CancellationToken::new(),
                events: Vec::new(),
                result: Vec::new(),
                debug: Vec::new(),
            };
            table.tasks.insert(id, entry);
            id
        })
    }

    /// A worker takes the task on. `None` when it was cancelled while it waited.
    pub(in crate::director) fn begin(&self, id: TaskId) -> Option<CancellationToken> {
        self.with_entry(id, |entry| {
            if entry.task.state != TaskState::Queued {
                return None;
            }
            entry.move_to(TaskState::Processing);
            entry.task.started_at = Some(entry.task.changed_at);
            Some(entry.cancel.clone())
        })
        .flatten()
    }

    /// The task has ended, with the summary of what came of it or with why it failed.
    pub(in crate::director) fn finish(&self, id: TaskId, end: Result<String, TaskFailure>) {
        let (state, result) = match end {
            Ok(summary) => (TaskState::Done, summary),
            Err(TaskFailure::Cancelled(_)) => (TaskState::Cancelled, "task cancelled".to_owned()),
            Err(failure) => (TaskState::Error, failure.to_string()),
        };
        self.with(|table| {
            let Some(entry) = table.tasks.get_mut(&id) else {
                return;
            };
            entry.move_to(state);
            entry.task.timestamp = Some(entry.task.changed_at);
            entry.task.result = Some(summary(&result));
            let kind = entry.task.kind;
            table.forget_oldest(kind);
        });
    }

    /// Asks a task to end.
    pub(in crate::director) fn cancel(&self, id: TaskId) -> Result<(), CannotCancel> {
        self.with_entry(id, |entry| {
            let state = entry.task.state;
            if !state.can_be_cancelled() {
                return Err(CannotCancel { task: id, state });
            }
            entry.move_to(TaskState::Cancelling);
            entry.task.timestamp = Some(entry.task.changed_at);
            entry.cancel.cancel();
            Ok(())
        })
        .unwrap_or(Ok(()))
    }

    /// The task of this id.
    pub(in crate::director) fn find(&self, id: TaskId) -> Option<Task> {
        self.with_entry(id, |entry| entry.task.clone())
    }

    /// Tasks that pass the filter, the one whose state changed last first.
    pub(in crate::director) fn list(&self, filter: &TaskFilter) -> Vec<Task> {
        let mut tasks: Vec<Task> = self.with(|table| {
            let passing = table
                .tasks
                .values()
                .filter(|entry| filter.passes(&entry.task));
            passing.map(|entry| entry.task.clone()).collect()
        });
        tasks.sort_by_key(|task| std::cmp::Reverse((task.changed_at, task.id)));
        tasks.truncate(filter.limit.unwrap_or(usize::MAX));
        tasks
    }

    /// An output as far as it has been written.
    pub(in crate::director) fn output(&self, id: TaskId, kind: OutputType) -> Vec<u8> {
        self.with_entry(id, |entry| entry.output(kind).clone())
            .unwrap_or_default()
    }

    /// Appends one line to an output.
    pub(in crate::director) fn write_line(&self, id: TaskId, kind: OutputType, line: &str) {
        self.with_entry(id, |entry| {
            let output = entry.output(kind);
            output.extend_from_slice(line.as_bytes());
            output.push(b'\n');
        });
    }

    fn with<T>(&self, use_it: impl FnOnce(&mut Table) -> T) -> T {
        use_it(&mut self.table.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn with_entry<T>(&self, id: TaskId, use_it: impl FnOnce(&mut Entry) -> T) -> Option<T> {
        self.with(|table| table.tasks.get_mut(&id).map(use_it))
    }
}

impl Table {
    fn forget_oldest(&mut self, kind: TaskKind) {
        let finished: Vec<TaskId> = self
            .tasks
            .values()
            .filter(|entry| entry.task.kind == kind && entry.task.state.is_final())
            .map(|entry| entry.task.id)
            .collect();
        let surplus = finished.len().saturating_sub(KEPT_PER_KIND);
        for id in &finished[..surplus] {
            self.tasks.remove(id);
        }
    }
}

impl Entry {
    fn move_to(&mut self, state: TaskState) {
        self.task.state = state;
        self.task.changed_at = now();
    }

    fn output(&mut self, kind: OutputType) -> &mut Vec<u8> {
        match kind {
            OutputType::Event => &mut self.events,
            OutputType::Result => &mut self.result,
            OutputType::Debug => &mut self.debug,
        }
    }
}

impl TaskFilter {
    fn passes(&self, task: &Task) -> bool {
        let state =
            self.states.is_empty() || self.states.iter().any(|name| name == task.state.name());
        let deployment = self
            .deployment
            .as_ref()
            .is_none_or(|name| name == task.deployment.as_ref());
        let context = self
            .context_id
            .as_ref()
            .is_none_or(|id| id == task.context_id.as_ref());
        let team = self
            .teams
            .as_ref()
            .is_none_or(|teams| task.teams.iter().any(|team| teams.contains(team)));
        state && deployment && context && team
    }
}

/// Cuts a result to one that is shown with the task: at a word's end, and every line loses its last word.
fn summary(result: &str) -> String {
    let stripped = result.trim();
    if stripped.chars().count() <= SUMMARY_LIMIT {
        return stripped.to_owned();
    }
    let cut: String = stripped.chars().take(SUMMARY_LIMIT + 1).collect();
    let lines: Vec<&str> = cut.split('\n').map(without_last_word).collect();
    format!("{}...", lines.join("\n").trim_end())
}

fn without_last_word(line: &str) -> &str {
    let rest = line.trim_end_matches(|letter: char| !letter.is_whitespace());
    if rest.is_empty() {
        line
    } else {
        rest.trim_end()
    }
}

fn now() -> i64 {
    Timestamp::now().as_second()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_result_is_cut_as_a_director_cuts_it() {
        let error = "Unable to render instance groups for deployment. Errors are:\n  - Unable to render jobs for instance group 'srv'. Errors are:\n    - Unable to render templates for job 'tiny'.";
        assert_eq!(
            summary(error),
            "Unable to render instance groups for deployment. Errors\n  - Unable to render jobs for instance group 'srv'. Errors..."
        );
        let lock = "Failed to acquire lock for lock:deployment:service-instance_c3 uid: dddda479-9144-40b4-b597-85b80988bb09. Locking task id is 28, description: 'run errand smoke from deployment service-instance_c3'";
        assert_eq!(
            summary(lock),
            "Failed to acquire lock for lock:deployment:service-instance_c3 uid: dddda479-9144-40b4-b597-85b80988bb09. Locking task id is 28,..."
        );
        assert_eq!(summary("/deployments/a\n"), "/deployments/a");
    }
}
