//! Looks at the tasks of an operation and says what they came to.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use odb_platform::director::{
    ContextId, DeploymentName, DirectorError, ErrandResult, Task, TaskId, TaskState,
};

use super::{
    Neighbours,
    insistence::insist,
    next_step::{Doing, Judged, Progress},
    of_context,
    operation::Operation,
};
use crate::{code::Code, ids::RequestId, telemetry::redact};

/// How the Director's lock error begins (`spec/contracts/director-api.md`, "Deploying").
const LOCK_ERROR: &str = "Failed to acquire lock";

/// The longest end of an errand's output that goes into the log.
const OUTPUT_TAIL: usize = 1000;

/// Looks at the tasks of one operation.
pub(super) struct Observer {
    neighbours: Arc<Neighbours>,
    deployment: DeploymentName,
    request: RequestId,
    /// Tasks that were started or found; the Director's list by context might lag behind.
    known: BTreeSet<TaskId>,
    /// What ended tasks came to; they do not change any more.
    judged: BTreeMap<TaskId, Progress>,
}

impl Observer {
    pub(super) fn new(neighbours: Arc<Neighbours>, operation: &Operation) -> Self {
        Self {
            neighbours,
            deployment: operation.deployment.clone(),
            request: operation.request.clone(),
            known: operation.first_task.into_iter().collect(),
            judged: BTreeMap::new(),
        }
    }

    /// Remembers a task that was started.
    pub(super) fn note(&mut self, task: TaskId) {
        self.known.insert(task);
    }

    /// The newest task so far.
    pub(super) fn newest(&self) -> Option<TaskId> {
        self.known.last().copied()
    }

    /// The tasks of the operation in the order of their ids, each with what it came to.
    pub(super) async fn look(
        &mut self,
        context: Option<&ContextId>,
    ) -> Result<Vec<Judged>, DirectorError> {
        let mut judged = Vec::new();
        for task in self.tasks(context).await? {
            judged.push(Judged {
                id: task.id,
                doing: Doing::of(&task.description),
                progress: self.judge(&task).await?,
            });
        }
        Ok(judged)
    }

    async fn tasks(&mut self, context: Option<&ContextId>) -> Result<Vec<Task>, DirectorError> {
        let director = &self.neighbours.director;
        let timings = &self.neighbours.timings;
        let mut tasks = match context {
            Some(context) => {
                let filter = &of_context(context);
                insist(
                    timings,
                    &self.request,
                    "list the tasks of the operation",
                    |call| async move { director.tasks(&call, filter).await },
                )
                .await?
            }
            None => Vec::new(),
        };
        tasks.retain(|task| task.deployment.as_ref() == Some(&self.deployment));
        let listed: BTreeSet<TaskId> = tasks.iter().map(|task| task.id).collect();
        for &id in self.known.difference(&listed) {
            let task = insist(
                timings,
                &self.request,
                "read a task of the operation",
                |call| async move { director.task(&call, id).await },
            )
            .await?;
            tasks.extend(task);
        }
        tasks.sort_by_key(|task| task.id);
        self.known.extend(listed);
        Ok(tasks)
    }

    async fn judge(&mut self, task: &Task) -> Result<Progress, DirectorError> {
        if !task.state.is_finished() {
            return Ok(Progress::Running);
        }
        if let Some(judged) = self.judged.get(&task.id) {
            return Ok(*judged);
        }
        let locked_out = || {
            task.result
                .as_deref()
                .is_some_and(|text| text.starts_with(LOCK_ERROR))
        };
        let judged = match (&task.state, Doing::of(&task.description)) {
            (TaskState::Done, Doing::Errand(_)) => self.judge_errand(task.id).await?,
            (TaskState::Done, Doing::Deploy | Doing::Delete | Doing::Other) => Progress::Done,
            (TaskState::Error, _) if locked_out() => Progress::Shut,
            _ => Progress::Failed,
        };
        self.judged.insert(task.id, judged);
        Ok(judged)
    }

    /// A failing errand leaves its task `done`; each instance has its own exit code, and each counts.
    async fn judge_errand(&self, task: TaskId) -> Result<Progress, DirectorError> {
        let director = &self.neighbours.director;
        let results = insist(
            &self.neighbours.timings,
            &self.request,
            "read the results of a lifecycle errand",
            |call| async move { director.errand_results(&call, task).await },
        )
        .await?;
        for result in results.iter().filter(|result| !result.succeeded()) {
            log_failure(task, result);
        }
        Ok(if results.iter().all(ErrandResult::succeeded) {
            Progress::Done
        } else {
            Progress::Failed
        })
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

/// The end of an errand's output, redacted: that is where the reason stands.
fn tail(text: &str) -> String {
    let text = text.trim();
    let skipped = text.chars().count().saturating_sub(OUTPUT_TAIL);
    let end: String = text.chars().skip(skipped).collect();
    end.lines().map(redact).collect::<Vec<_>>().join(" | ")
}
