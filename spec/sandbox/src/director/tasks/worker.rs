//! Workers: take tasks from the queue and run them to their end.

use std::{sync::Arc, time::Duration};

use tokio::sync::{Mutex, mpsc};
use tokio_util::sync::CancellationToken;

use super::{EventLog, OutputType, TaskFailure};
use crate::director::{
    Director,
    deploy::{self, DeleteOrder, DeployOrder, ErrandOrder},
    ids::{DeploymentName, TaskId},
};

/// So many tasks wait for a worker at most.
const QUEUE_LIMIT: usize = 10_000;

/// Tasks that wait for a worker, the oldest first.
pub(in crate::director) struct Queue {
    waiting: mpsc::Sender<Queued>,
}

/// A task that waits for a worker.
pub(in crate::director) struct Queued {
    pub(in crate::director) task: TaskId,
    pub(in crate::director) deployment: DeploymentName,
    pub(in crate::director) work: Work,
}

/// What a task has to do.
pub(in crate::director) enum Work {
    Deploy(DeployOrder),
    Delete(DeleteOrder),
    RunErrand(ErrandOrder),
}

/// No task can be added at the moment.
#[derive(Debug, thiserror::Error)]
#[error("too many tasks are waiting")]
pub(in crate::director) struct QueueFull;

/// What a task needs of its surroundings while it runs.
#[derive(Clone)]
pub(in crate::director) struct TaskRun {
    pub(in crate::director) director: Director,
    pub(in crate::director) task: TaskId,
    pub(in crate::director) deployment: DeploymentName,
    pub(in crate::director) events: EventLog,
    cancel: CancellationToken,
}

impl Queue {
    /// A queue and the end from which workers take.
    pub(in crate::director) fn new() -> (Self, mpsc::Receiver<Queued>) {
        let (waiting, taken) = mpsc::channel(QUEUE_LIMIT);
        (Self { waiting }, taken)
    }

    /// Adds a task.
    pub(in crate::director) fn add(&self, queued: Queued) -> Result<(), QueueFull> {
        self.waiting.try_send(queued).map_err(|_| QueueFull)
    }
}

/// Starts the workers, which run until the Director stops.
pub(in crate::director) fn start_workers(director: &Director, queue: mpsc::Receiver<Queued>) {
    let queue = Arc::new(Mutex::new(queue));
    for _ in 0..director.inner.settings.durations.workers.get() {
        let (worker, queue) = (director.clone(), Arc::clone(&queue));
        let work = async move {
            let stop = worker.inner.stop.clone();
            stop.run_until_cancelled(work_off(worker, queue)).await;
        };
        director
            .inner
            .workers
            .spawn_on(work, &director.inner.runtime);
    }
}

async fn work_off(director: Director, queue: Arc<Mutex<mpsc::Receiver<Queued>>>) {
    loop {
        let next = queue.lock().await.recv().await;
        let Some(queued) = next else { return };
        run(&director, queued).await;
    }
}

async fn run(director: &Director, queued: Queued) {
    let tasks = &director.inner.tasks;
    let events = EventLog::new(Arc::clone(tasks), queued.task);
    let log = |line: &str| tasks.write_line(queued.task, OutputType::Debug, line);
    log(&format!(
        "I, INFO -- DirectorJobRunner: Looking for task with task id {}",
        queued.task
    ));
    let end = match tasks.begin(queued.task) {
        None => Err(TaskFailure::Cancelled(queued.task)),
        Some(cancel) => {
            let run = TaskRun {
                director: director.clone(),
                task: queued.task,
                deployment: queued.deployment,
                events: events.clone(),
                cancel,
            };
            perform(&run, queued.work).await
        }
    };
    match &end {
        Ok(summary) => log(&format!("I, INFO -- DirectorJobRunner: Done: {summary}")),
        Err(failure) => {
            log(&format!("E, ERROR -- DirectorJobRunner: {failure}"));
            events.failure(failure);
        }
    }
    tasks.finish(queued.task, end);
}

async fn perform(run: &TaskRun, work: Work) -> Result<String, TaskFailure> {
    let director = &run.director.inner;
    let description = director
        .tasks
        .find(run.task)
        .map(|task| task.description)
        .unwrap_or_default();
    let patience = director.settings.durations.lock_wait;
    let _lock = run
        .unless_cancelled(
            director
                .locks
                .acquire(&run.deployment, run.task, &description, patience),
        )
        .await??;
    match work {
        Work::Deploy(order) => deploy::deploy(run, order).await,
        Work::Delete(order) => deploy::delete(run, order).await,
        Work::RunErrand(order) => deploy::run_errand(run, order).await,
    }
}

impl TaskRun {
    /// A place at which a task that was cancelled ends.
    pub(in crate::director) fn checkpoint(&self) -> Result<(), TaskFailure> {
        if self.cancel.is_cancelled() {
            Err(TaskFailure::Cancelled(self.task))
        } else {
            Ok(())
        }
    }

    /// Lets some time pass, unless the task is cancelled.
    pub(in crate::director) async fn pause(&self, time: Duration) -> Result<(), TaskFailure> {
        self.unless_cancelled(tokio::time::sleep(time)).await
    }

    /// Does something that can be dropped half-way, until the task is cancelled.
    pub(in crate::director) async fn unless_cancelled<T>(
        &self,
        doing: impl Future<Output = T>,
    ) -> Result<T, TaskFailure> {
        self.cancel
            .run_until_cancelled(doing)
            .await
            .ok_or(TaskFailure::Cancelled(self.task))
    }
}
