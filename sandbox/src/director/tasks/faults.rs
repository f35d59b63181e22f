//! Injected faults of tasks: a step that fails, a worker that dies, a task that is held.

use std::{
    collections::BTreeMap,
    future::pending,
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::TaskFailure;
use crate::director::ids::{DeploymentName, TaskId};

/// Something that happens to the next task that comes to a place. It happens once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskFault {
    /// To tasks of this deployment; without it to any task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployment: Option<String>,
    pub at: TaskPoint,
    pub effect: TaskEffect,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "place", rename_all = "snake_case", deny_unknown_fields)]
pub enum TaskPoint {
    /// In the queue: a worker is there, and the task has not been begun.
    Queue,
    /// A worker has begun the task, which has no lock yet.
    Start,
    /// A step of a stage has been begun, and nothing has been done for it.
    Step {
        /// The stage's name, such as `Creating missing vms`.
        stage: String,
        /// A part of the step's name, such as `redis/`; without it, the first step.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<String>,
        /// How far the step says it is, such as `executing drain`; without it its beginning.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<String>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum TaskEffect {
    /// The step fails, and the task with it.
    Fail {
        /// The number in the event log (`spec/contracts/director-api.md`, "Errors").
        code: u32,
        message: String,
    },
    /// The worker dies: the task stays as it is, and so does its lock until it expires.
    KillWorker,
    /// The process that the worker has started for the task is killed: the worker makes the task an `error` without a
    /// result or a line in the event log, and the lock stays until it expires.
    KillChild,
    /// The task is held until the fault is cleared. If it is cancelled meanwhile, it ends then.
    Hold,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TaskFaultId(u64);

/// A fault that was not injected yet, or a task that is held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ArmedTaskFault {
    pub id: TaskFaultId,
    #[serde(flatten)]
    pub fault: TaskFault,
    pub holds: Option<u64>,
}

#[derive(Default)]
pub(in crate::director) struct TaskFaults {
    table: Mutex<Table>,
    cleared: Notify,
}

#[derive(Default)]
struct Table {
    last: u64,
    armed: BTreeMap<TaskFaultId, Armed>,
}

struct Armed {
    fault: TaskFault,
    holds: Option<TaskId>,
}

/// A place, as a task comes to it.
#[derive(Clone, Copy, Debug)]
pub(in crate::director) enum Arrival<'a> {
    Queue,
    Start,
    Step {
        stage: &'a str,
        task: &'a str,
        status: Option<&'a str>,
    },
}

#[derive(Clone)]
pub(in crate::director) struct Traveller {
    pub(in crate::director) task: TaskId,
    pub(in crate::director) deployment: DeploymentName,
    pub(in crate::director) death: CancellationToken,
    /// Ends the process that the worker has started for the task.
    pub(in crate::director) child_death: CancellationToken,
}

impl TaskFaults {
    pub(in crate::director) fn arm(&self, fault: TaskFault) -> TaskFaultId {
        let mut table = self.lock();
        table.last += 1;
        let id = TaskFaultId(table.last);
        table.armed.insert(id, Armed { fault, holds: None });
        id
    }

    /// The armed faults, in the order of arming.
    pub(in crate::director) fn list(&self) -> Vec<ArmedTaskFault> {
        let table = self.lock();
        let armed = table.armed.iter().map(|(id, armed)| ArmedTaskFault {
            id: *id,
            fault: armed.fault.clone(),
            holds: armed.holds.map(TaskId::number),
        });
        armed.collect()
    }

    /// Removes a fault; a task that it holds continues. Returns whether there was one.
    pub(in crate::director) fn clear(&self, id: TaskFaultId) -> bool {
        let was_armed = self.lock().armed.remove(&id).is_some();
        self.cleared.notify_waiters();
        was_armed
    }

    pub(in crate::director) fn clear_all(&self) {
        self.lock().armed.clear();
        self.cleared.notify_waiters();
    }

    /// A task comes to a place: what is armed for it happens.
    pub(in crate::director) async fn meet(
        &self,
        traveller: &Traveller,
        location: Arrival<'_>,
    ) -> Result<(), TaskFailure> {
        while let Some((id, effect)) = self.next(traveller, location) {
            match effect {
                TaskEffect::Fail { code, message } => {
                    return Err(TaskFailure::Armed { code, message });
                }
                TaskEffect::KillWorker => {
                    traveller.death.cancel();
                    pending::<()>().await;
                }
                TaskEffect::KillChild => {
                    traveller.child_death.cancel();
                    pending::<()>().await;
                }
                TaskEffect::Hold => self.until_cleared(id).await,
            }
        }
        Ok(())
    }

    /// The next fault for this task at this location. It is used up, unless it holds the task.
    fn next(
        &self,
        traveller: &Traveller,
        location: Arrival<'_>,
    ) -> Option<(TaskFaultId, TaskEffect)> {
        let mut table = self.lock();
        let (id, armed) = table.armed.iter_mut().find(|(_, armed)| {
            armed.holds.is_none()
                && armed.fault.is_for(&traveller.deployment)
                && armed.fault.at.is(location)
        })?;
        let (id, effect) = (*id, armed.fault.effect.clone());
        if effect == TaskEffect::Hold {
            armed.holds = Some(traveller.task);
        } else {
            table.armed.remove(&id);
        }
        Some((id, effect))
    }

    async fn until_cleared(&self, id: TaskFaultId) {
        loop {
            let cleared = self.cleared.notified();
            tokio::pin!(cleared);
            cleared.as_mut().enable();
            if !self.lock().armed.contains_key(&id) {
                return;
            }
            cleared.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TaskFault {
    fn is_for(&self, deployment: &DeploymentName) -> bool {
        let wanted = self.deployment.as_deref();
        wanted.is_none_or(|wanted| wanted == deployment.as_ref())
    }
}

impl TaskPoint {
    fn is(&self, location: Arrival<'_>) -> bool {
        match (self, location) {
            (Self::Queue, Arrival::Queue) | (Self::Start, Arrival::Start) => true,
            (
                Self::Step {
                    stage,
                    task,
                    status,
                },
                Arrival::Step {
                    stage: at_stage,
                    task: at_task,
                    status: at_status,
                },
            ) => {
                stage == at_stage
                    && task.as_ref().is_none_or(|part| at_task.contains(part))
                    && status.as_deref() == at_status
            }
            _ => false,
        }
    }
}
