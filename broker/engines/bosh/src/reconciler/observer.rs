//! Reads the tasks of an operation and returns their results.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use odb_api_types::code::Code;
use odb_clients::{
    ServiceError,
    director::{ContextId, DeploymentName, ErrandResult, Task, TaskId, TaskState},
};
use odb_redaction::Redaction;
use tokio::time::Instant;

use crate::{
    Upstreams,
    deployment::of_context,
    reconciler::{
        narrative::failure::BadEnd,
        next_step::{PreviousTask, Progress, TaskKind, TaskOutcome},
        operation::Operation,
        retry::Retrier,
    },
};

/// How the Director's lock error begins (`spec/contracts/director-api.md`, "Deploying").
pub(crate) const LOCK_ERROR: &str = "Failed to acquire lock";

/// The longest end of an errand's output that is logged.
const OUTPUT_TAIL: usize = 1000;

/// Reads the tasks of one operation.
pub(crate) struct Observer {
    upstreams: Arc<Upstreams>,
    deployment: DeploymentName,
    retrier: Retrier,
    /// Tasks that were started or found; the Director's list by context might lag behind.
    known: BTreeSet<TaskId>,
    /// The outcomes of ended tasks, which are final.
    outcomes: BTreeMap<TaskId, Progress>,
    /// How the failed tasks ended.
    bad_ends: BTreeMap<TaskId, BadEnd>,
    /// Since when the Director has answered every request for the tasks.
    answered_since: Instant,
}

impl Observer {
    pub(crate) fn new(upstreams: Arc<Upstreams>, operation: &Operation, retrier: Retrier) -> Self {
        Self {
            upstreams,
            deployment: operation.deployment(),
            retrier,
            known: operation.first_task.into_iter().collect(),
            outcomes: BTreeMap::new(),
            bad_ends: BTreeMap::new(),
            answered_since: Instant::now(),
        }
    }

    /// Records a started task.
    pub(crate) fn note(&mut self, task: TaskId) {
        self.known.insert(task);
    }

    /// The newest task so far.
    pub(crate) fn newest(&self) -> Option<TaskId> {
        self.known.last().copied()
    }

    /// The numbers of all tasks that were started or found.
    pub(crate) fn known(&self) -> impl Iterator<Item = u64> {
        self.known.iter().map(|task| task.number())
    }

    /// How a failed task ended.
    pub(crate) fn bad_end(&self, task: TaskId) -> Option<&BadEnd> {
        self.bad_ends.get(&task)
    }

    /// Since when the Director has answered without error. While it does not answer, requests to it may still be
    /// queued.
    pub(crate) fn answered_since(&self) -> Instant {
        self.answered_since
    }

    /// The tasks of the operation in the order of their ids, each with its result.
    pub(crate) async fn look(
        &mut self,
        context: &ContextId,
    ) -> Result<Vec<TaskOutcome>, ServiceError> {
        let mut outcomes = Vec::new();
        for task in self.tasks(context).await? {
            outcomes.push(TaskOutcome {
                id: task.id,
                task_kind: TaskKind::of(&task.description),
                progress: self.judge(&task).await?,
            });
        }
        Ok(outcomes)
    }

    /// The tasks of an operation that is cut short.
    pub(crate) async fn previous(
        &mut self,
        context: &ContextId,
    ) -> Result<Vec<PreviousTask>, ServiceError> {
        let tasks = self.listed(context).await?;
        let previous = tasks.into_iter().map(|task| PreviousTask {
            id: task.id,
            has_ended: task.state.is_finished(),
        });
        Ok(previous.collect())
    }

    async fn listed(&mut self, context: &ContextId) -> Result<Vec<Task>, ServiceError> {
        let director = &self.upstreams.director;
        let filter = &of_context(context);
        let asked = Instant::now();
        let list = |call| async move { director.tasks(&call, filter).await };
        let (mut tasks, unanswered) = self
            .retrier
            .retry_counting("list the tasks of the operation", list)
            .await?;
        self.note_answer(asked, unanswered);
        tasks.retain(|task| task.deployment.as_ref() == Some(&self.deployment));
        Ok(tasks)
    }

    async fn tasks(&mut self, context: &ContextId) -> Result<Vec<Task>, ServiceError> {
        let mut tasks = self.listed(context).await?;
        let listed: BTreeSet<TaskId> = tasks.iter().map(|task| task.id).collect();
        let unlisted: Vec<TaskId> = self.known.difference(&listed).copied().collect();
        for id in unlisted {
            let director = &self.upstreams.director;
            let asked = Instant::now();
            let read = |call| async move { director.task(&call, id).await };
            let (task, unanswered) = self
                .retrier
                .retry_counting("read a task of the operation", read)
                .await?;
            self.note_answer(asked, unanswered);
            tasks.extend(task);
        }
        tasks.sort_by_key(|task| task.id);
        self.known.extend(listed);
        Ok(tasks)
    }

    fn note_answer(&mut self, asked: Instant, unanswered: u32) {
        if unanswered > 0 || asked.elapsed() >= self.upstreams.timings.lost_answer {
            self.answered_since = Instant::now();
        }
    }

    async fn judge(&mut self, task: &Task) -> Result<Progress, ServiceError> {
        if !task.state.is_finished() {
            return Ok(Progress::Running);
        }
        if let Some(outcomes) = self.outcomes.get(&task.id) {
            return Ok(*outcomes);
        }
        let locked_out = || {
            task.result
                .as_deref()
                .is_some_and(|text| text.starts_with(LOCK_ERROR))
        };
        let mut results = Vec::new();
        let outcomes = match (&task.state, TaskKind::of(&task.description)) {
            (TaskState::Done, TaskKind::Errand(_)) => {
                results = self.errand_results(task.id).await?;
                if results.iter().all(ErrandResult::succeeded) {
                    Progress::Done
                } else {
                    Progress::Failed
                }
            }
            (TaskState::Done, TaskKind::Deploy | TaskKind::Delete | TaskKind::Other) => {
                Progress::Done
            }
            (TaskState::Error, _) if locked_out() => Progress::Shut,
            _ => Progress::Failed,
        };
        if outcomes == Progress::Failed {
            self.bad_ends.insert(task.id, BadEnd::of(task, &results));
        }
        self.outcomes.insert(task.id, outcomes);
        Ok(outcomes)
    }

    /// A failing errand leaves its task `done`; each instance has its own exit code, and each counts.
    async fn errand_results(&self, task: TaskId) -> Result<Vec<ErrandResult>, ServiceError> {
        let director = &self.upstreams.director;
        let read = |call| async move { director.errand_results(&call, task).await };
        let results = self
            .retrier
            .retry("read the results of a lifecycle errand", read)
            .await?;
        for result in results.iter().filter(|result| !result.succeeded()) {
            log_failure(task, result);
        }
        Ok(results)
    }
}

fn log_failure(task: TaskId, result: &ErrandResult) {
    tracing::error!(
        code = %Code::LifecycleErrandFailed,
        bosh.task.id = task.number(),
        errand = %result.errand,
        instance = %format!("{}/{}", result.group, result.instance),
        exit_code = result.exit_code,
        stderr = %tail(&result.stderr),
        "a lifecycle errand failed"
    );
}

/// The end of an errand's output, redacted: it has the reason. The complete text is redacted first, because a secret
/// may begin before the cut.
fn tail(text: &str) -> String {
    let mut redaction = Redaction::default();
    let mut end = String::new();
    for line in text.trim().lines() {
        if !end.is_empty() {
            end.push_str(" | ");
        }
        end.push_str(&redaction.line(line));
        // Trimming from time to time is enough: the kept part is short, and each byte moves a few times at most.
        if end.len() > 16 * OUTPUT_TAIL {
            cut_to_tail(&mut end);
        }
    }
    cut_to_tail(&mut end);
    end
}

fn cut_to_tail(text: &mut String) {
    if let Some((start, _)) = text.char_indices().rev().nth(OUTPUT_TAIL - 1) {
        text.drain(..start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY_LINE: &str = "MIIEpAIBAAKCAQEAvhunter2hunter2hunter2hunter2hunter2hunter2hunter";

    fn key(lines: usize) -> String {
        let body = vec![KEY_LINE; lines].join("\n");
        format!("-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----")
    }

    #[test]
    fn no_line_of_a_key_gets_into_the_log() {
        // Of the longer one the last 1000 characters lack the beginning.
        for lines in [3, 40] {
            let reported = tail(&format!("writing key\n{}\ncannot connect\n", key(lines)));
            assert!(!reported.contains("hunter2"), "{reported}");
            assert!(reported.ends_with("cannot connect"), "{reported}");
        }
    }

    #[test]
    fn a_secret_that_begins_before_the_end_does_stays_out_of_the_log() {
        let value = "hunter2".repeat(OUTPUT_TAIL);
        let reported = tail(&format!("connecting\npassword: {value}"));
        assert!(!reported.contains("hunter2"), "{reported}");
    }

    #[test]
    fn the_end_of_a_long_output_is_reported() {
        let reported = tail(&format!(
            "{}the disk is full",
            "würde\n".repeat(10 * OUTPUT_TAIL)
        ));
        assert_eq!(reported.chars().count(), OUTPUT_TAIL);
        assert!(reported.ends_with("würde | the disk is full"), "{reported}");
    }
}
