//! Workers: take tasks from the queue and run them to their end.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex, mpsc};
use tokio_util::sync::CancellationToken;

use super::{
    EventLog, OutputType, Task, TaskFailure, Tasks,
    faults::{Arrival, Traveller},
    locks::LostLock,
    table::Begun,
};
use crate::director::{
    Director,
    audit::{Deed, Doer},
    deploy::{self, DeleteOrder, DeployOrder, ErrandOrder, VmStateOrder},
    ids::{DeploymentName, EventId, TaskId},
};

/// So many tasks wait for a worker at most.
const QUEUE_LIMIT: usize = 10_000;

/// Tasks that wait for a worker, the oldest first.
pub(in crate::director) struct Queue {
    tasks: Arc<Tasks>,
    waiting: mpsc::Sender<TaskId>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::director) enum Work {
    Deploy(Box<DeployOrder>),
    Delete(DeleteOrder),
    RunErrand(ErrandOrder),
    RetrieveVmState(VmStateOrder),
}

#[derive(Debug, thiserror::Error)]
#[error("too many tasks are waiting")]
pub(in crate::director) struct QueueFull;

#[derive(Clone)]
pub(in crate::director) struct TaskRun {
    pub(in crate::director) director: Director,
    pub(in crate::director) task: TaskId,
    pub(in crate::director) deployment: DeploymentName,
    pub(in crate::director) events: EventLog,
    user: Arc<str>,
    cancel: CancellationToken,
}

impl Queue {
    /// A queue with the tasks that were waiting when the Director stopped, and the end from which workers take.
    pub(in crate::director) fn new(tasks: Arc<Tasks>) -> (Self, mpsc::Receiver<TaskId>) {
        let (waiting, taken) = mpsc::channel(QUEUE_LIMIT);
        for task in tasks.waiting() {
            if waiting.try_send(task).is_err() {
                tracing::warn!(%task, "a task does not fit into the queue");
            }
        }
        (Self { tasks, waiting }, taken)
    }

    pub(in crate::director) fn add(&self, task: TaskId) -> Result<(), QueueFull> {
        self.waiting.try_send(task).map_err(|_| {
            let failure = TaskFailure::Unexpected(QueueFull.to_string());
            self.tasks.finish(task, Err(failure));
            QueueFull
        })
    }
}

/// Starts the workers, which run until the Director stops.
pub(in crate::director) fn start_workers(director: &Director, queue: mpsc::Receiver<TaskId>) {
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

async fn work_off(director: Director, queue: Arc<Mutex<mpsc::Receiver<TaskId>>>) {
    loop {
        let next = queue.lock().await.recv().await;
        let Some(task) = next else { return };
        if let Some(task) = director.inner.tasks.find(task) {
            // A worker that dies of it is replaced at once.
            Box::pin(take(&director, task)).await;
        }
    }
}

/// Takes a task from the queue and runs it, unless the worker dies of it.
async fn take(director: &Director, task: Task) {
    let inner = &director.inner;
    let traveller = Traveller {
        task: task.id,
        deployment: task.deployment.clone(),
        death: CancellationToken::new(),
        child_death: CancellationToken::new(),
    };
    let (death, child_death) = (traveller.death.clone(), traveller.child_death.clone());
    let events = EventLog::new(
        Arc::clone(&inner.tasks),
        Arc::clone(&inner.faults),
        traveller,
    );
    let id = task.id;
    // A panic in one task must not end the worker.
    let unwinding = AssertUnwindSafe(run(director, task, &events)).catch_unwind();
    let ended = Box::pin(child_death.run_until_cancelled(unwinding));
    match death.run_until_cancelled(ended).await {
        None => tracing::info!(task = %id, "a worker died"),
        Some(None) => {
            tracing::info!(task = %id, "the process of a task was killed");
            inner.tasks.mark_killed(id);
        }
        Some(Some(end)) => {
            let end = end
                .unwrap_or_else(|_| Err(TaskFailure::Unexpected("the worker panicked".to_owned())));
            match &end {
                Ok(summary) => log(&inner.tasks, id, 'I', &format!("Done: {summary}")),
                Err(failure) => {
                    log(&inner.tasks, id, 'E', &failure.to_string());
                    events.failure(failure);
                }
            }
            inner.tasks.finish(id, end);
        }
    }
}

async fn run(director: &Director, task: Task, events: &EventLog) -> Result<String, TaskFailure> {
    let inner = &director.inner;
    events.pass(Arrival::Queue).await?;
    log(
        &inner.tasks,
        task.id,
        'I',
        &format!("Looking for task with task id {}", task.id),
    );
    let Some(Begun { work, cancel }) = inner.tasks.begin(task.id) else {
        return Err(TaskFailure::Cancelled(task.id));
    };
    log(
        &inner.tasks,
        task.id,
        'I',
        &format!("Starting task: {}", task.id),
    );
    let run = TaskRun {
        director: director.clone(),
        task: task.id,
        deployment: task.deployment,
        events: events.clone(),
        user: task.user.into(),
        cancel,
    };
    let performing = perform(&run, &task.description, work);
    tokio::pin!(performing);
    let mut checkpoint = tokio::time::interval(inner.settings.durations.checkpoint_interval);
    loop {
        tokio::select! {
            end = &mut performing => return end,
            _ = checkpoint.tick() => inner.tasks.check_in(task.id),
        }
    }
}

async fn perform(run: &TaskRun, description: &str, work: Work) -> Result<String, TaskFailure> {
    let director = &run.director.inner;
    run.events.pass(Arrival::Start).await?;
    if let Work::Deploy(order) = &work {
        // A real Director's log has it like this, secrets and all.
        let manifest = order.text.as_deref().unwrap_or_default();
        let text = format!("Reading deployment manifest\nManifest:\n{manifest}");
        log(&director.tasks, run.task, 'D', &text);
    }
    let work = match work {
        // Looking needs no lock.
        Work::RetrieveVmState(order) => return deploy::retrieve_vm_state(run, &order).await,
        other => other,
    };
    let timeout = director.settings.durations.lock_wait;
    let waiting = director
        .locks
        .acquire(&run.deployment, run.task, description, timeout);
    let lock = run.unless_cancelled(waiting).await??;
    let name = format!("lock:deployment:{}", run.deployment);
    run.record(Deed::new("acquire", "lock").named(&name));
    let activity = async {
        match work {
            Work::Deploy(order) => deploy::deploy(run, *order).await,
            Work::Delete(order) => deploy::delete(run, order).await,
            Work::RunErrand(order) => deploy::run_errand(run, order).await,
            Work::RetrieveVmState(order) => deploy::retrieve_vm_state(run, &order).await,
        }
    };
    let end = tokio::select! {
        end = activity => end,
        LostLock = lost_lock(run) => Err(TaskFailure::Cancelled(run.task)),
    };
    lock.release();
    run.record(Deed::new("release", "lock").named(&name));
    end
}

/// Renews the lock of a task's deployment, and ends when another owner has taken it over.
async fn lost_lock(run: &TaskRun) -> LostLock {
    let director = &run.director.inner;
    let mut renewal = tokio::time::interval(director.settings.durations.lock_lease / 2);
    loop {
        renewal.tick().await;
        if let Err(lost) = director.locks.renew(&run.deployment, run.task) {
            return lost;
        }
    }
}

/// Writes to the log of a task as the real Director's logger does.
fn log(tasks: &Tasks, task: TaskId, level: char, text: &str) {
    let name = match level {
        'E' => "ERROR",
        'D' => "DEBUG",
        _ => " INFO",
    };
    let time = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%6f");
    let process = std::process::id();
    let line =
        format!("{level}, [{time} #{process}] [task:{task}] {name} -- DirectorJobRunner: {text}");
    tasks.write_line(task, OutputType::Debug, &line);
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
        activity: impl Future<Output = T>,
    ) -> Result<T, TaskFailure> {
        self.cancel
            .run_until_cancelled(activity)
            .await
            .ok_or(TaskFailure::Cancelled(self.task))
    }

    pub(in crate::director) fn record(&self, deed: Deed) -> EventId {
        let doer = Doer {
            user: &self.user,
            task: Some(self.task),
            deployment: Some(&self.deployment),
        };
        self.director.inner.audit.record(&doer, deed)
    }

    /// Writes down what the CPI was asked to do.
    pub(in crate::director) fn log_cpi(&self, method: &str) {
        let line = format!("DEBUG - Saving input for {method} <redacted>");
        let tasks = &self.director.inner.tasks;
        tasks.write_line(self.task, OutputType::Cpi, &line);
    }
}
