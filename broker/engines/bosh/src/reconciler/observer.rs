//! Reads the tasks of an operation and returns their results.

use std::collections::{BTreeMap, BTreeSet};

use odb_api_types::code::Code;
use odb_clients::{
    ServiceError,
    director::{ContextId, ErrandResult, Task, TaskId, TaskState},
    http::Call,
};
use odb_redaction::Redaction;
use tokio::time::Instant;

use crate::{
    instance::of_context,
    reconciler::{
        failure::BadEnd,
        next_step::{Progress, TaskKind, TaskOutcome},
        operation::{Context, Operation},
    },
};

/// How the Director's lock error begins (`spec/contracts/director-api.md`, "Deploying").
pub(crate) const LOCK_ERROR: &str = "Failed to acquire lock";

/// The longest end of an errand's output that is logged.
const OUTPUT_TAIL: usize = 1000;

pub(super) struct Observer {
    /// Tasks that were started or found; the Director's list by context might lag behind.
    pub(super) known: BTreeSet<TaskId>,
    /// The outcomes of ended tasks, which are final.
    outcomes: BTreeMap<TaskId, Progress>,
    pub(super) bad_ends: BTreeMap<TaskId, BadEnd>,
    /// Since when the Director has answered every request for the tasks. While it does not answer, requests to it may
    /// still be queued.
    pub(super) answered_since: Instant,
}

impl Observer {
    pub(super) fn new(operation: &Operation) -> Self {
        Self {
            known: operation.first_task.into_iter().collect(),
            outcomes: BTreeMap::new(),
            bad_ends: BTreeMap::new(),
            answered_since: Instant::now(),
        }
    }

    pub(super) fn newest(&self) -> Option<TaskId> {
        self.known.last().copied()
    }

    /// The tasks of the operation in the order of their ids, each with its result.
    pub(super) async fn look(
        &mut self,
        context: &Context,
    ) -> Result<Vec<TaskOutcome>, ServiceError> {
        let mut outcomes = Vec::new();
        for task in self.tasks(context).await? {
            outcomes.push(TaskOutcome {
                id: task.id,
                task_kind: TaskKind::of(&task.description),
                progress: self.judge(context, &task).await?,
            });
        }
        Ok(outcomes)
    }

    /// The tasks with this context id, such as those of an operation that is cut short.
    pub(super) async fn listed(
        &mut self,
        context: &Context,
        id: &ContextId,
    ) -> Result<Vec<Task>, ServiceError> {
        let (director, filter) = (&context.upstreams.director, &of_context(id));
        let list = |call| async move { director.tasks(&call, filter).await };
        let what = "list the tasks of the operation";
        let mut tasks = self.ask(context, what, list).await?;
        let deployment = context.operation.deployment();
        tasks.retain(|task| task.deployment.as_ref() == Some(&deployment));
        Ok(tasks)
    }

    async fn tasks(&mut self, context: &Context) -> Result<Vec<Task>, ServiceError> {
        let mut tasks = self
            .listed(context, &context.operation.record.context)
            .await?;
        let listed: BTreeSet<TaskId> = tasks.iter().map(|task| task.id).collect();
        let unlisted: Vec<TaskId> = self.known.difference(&listed).copied().collect();
        for id in unlisted {
            let director = &context.upstreams.director;
            let read = |call| async move { director.task(&call, id).await };
            let what = "read a task of the operation";
            tasks.extend(self.ask(context, what, read).await?);
        }
        tasks.sort_by_key(|task| task.id);
        self.known.extend(listed);
        Ok(tasks)
    }

    /// Asks for tasks, and notes whether the Director has answered at once.
    async fn ask<T, F: Future<Output = Result<T, ServiceError>>>(
        &mut self,
        context: &Context,
        what: &str,
        ask: impl Fn(Call) -> F,
    ) -> Result<T, ServiceError> {
        let asked = Instant::now();
        let (answer, unanswered) = context.retrier.retry_counting(what, ask).await?;
        if unanswered > 0 || asked.elapsed() >= context.upstreams.timings.lost_answer {
            self.answered_since = Instant::now();
        }
        Ok(answer)
    }

    async fn judge(&mut self, context: &Context, task: &Task) -> Result<Progress, ServiceError> {
        if let Some(outcome) = self.outcomes.get(&task.id) {
            return Ok(*outcome);
        }
        let results = if has_results(task) {
            errand_results(context, task.id).await?
        } else {
            Vec::new()
        };
        let outcome = judge(task, &results);
        if outcome == Progress::Failed {
            self.bad_ends.insert(task.id, BadEnd::of(task, &results));
        }
        if outcome != Progress::Running {
            self.outcomes.insert(task.id, outcome);
        }
        Ok(outcome)
    }
}

/// A failing errand leaves its task `done`; each instance has its own exit code, and each counts.
async fn errand_results(
    context: &Context,
    task: TaskId,
) -> Result<Vec<ErrandResult>, ServiceError> {
    let director = &context.upstreams.director;
    let read = |call| async move { director.errand_results(&call, task).await };
    let what = "read the results of a lifecycle errand";
    let results = context.retrier.retry(what, read).await?;
    for result in results.iter().filter(|result| !result.succeeded()) {
        log_failure(task, result);
    }
    Ok(results)
}

/// Whether a task has ended as one that leaves results of an errand.
pub(crate) fn has_results(task: &Task) -> bool {
    task.state == TaskState::Done && matches!(TaskKind::of(&task.description), TaskKind::Errand(_))
}

/// The state of a task; `results` are those of its errand.
pub(crate) fn judge(task: &Task, results: &[ErrandResult]) -> Progress {
    let text = task.result.as_deref().unwrap_or_default();
    match &task.state {
        state if !state.is_finished() => Progress::Running,
        TaskState::Done if results.iter().all(ErrandResult::succeeded) => Progress::Done,
        TaskState::Error if text.starts_with(LOCK_ERROR) => Progress::LockTimeout,
        _ => Progress::Failed,
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
