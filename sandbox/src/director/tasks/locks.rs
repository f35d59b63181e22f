//! The lock that lets one task at a time work on a deployment.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};
use uuid::Uuid;

use super::TaskFailure;
use crate::{
    director::ids::{DeploymentName, TaskId},
    store::{Rows, Store, StoreError},
};

pub(in crate::director) struct Locks {
    held: Mutex<Rows<DeploymentName, Holder>>,
    released: Notify,
    /// How long a lock is good for when its holder does not renew it.
    lease: Duration,
}

/// The lock of one deployment. It stays when the value is dropped, as that of a worker that dies does.
#[must_use = "a lock that is not released is held until it expires"]
pub(in crate::director) struct DeploymentLock {
    locks: Arc<Locks>,
    deployment: DeploymentName,
    uid: Uuid,
}

/// A task's holder of a lock is gone: the lock expired and another owner has it.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::director) struct LostLock;

#[derive(Clone, Serialize, Deserialize)]
struct Holder {
    task: TaskId,
    description: String,
    uid: Uuid,
    expires_at: Timestamp,
}

impl Holder {
    /// A lock whose holder died is there until it expires.
    fn is_alive(&self) -> bool {
        self.expires_at > Timestamp::now()
    }
}

impl Locks {
    /// The locks in this store, good for `lease` each time they are taken or renewed.
    pub(in crate::director) fn open(store: &Store, lease: Duration) -> Result<Self, StoreError> {
        Ok(Self {
            held: Mutex::new(Rows::open(store, "director_locks")?),
            released: Notify::new(),
            lease,
        })
    }

    /// Waits for a deployment's lock, but not longer than `timeout`. A lock that has expired is taken over.
    pub(in crate::director) async fn acquire(
        self: &Arc<Self>,
        deployment: &DeploymentName,
        task: TaskId,
        description: &str,
        timeout: Duration,
    ) -> Result<DeploymentLock, TaskFailure> {
        let uid = Uuid::new_v4();
        let abandon = Instant::now() + timeout;
        loop {
            let released = self.released.notified();
            tokio::pin!(released);
            released.as_mut().enable();
            let Err(holder) = self.try_acquire(deployment, task, description, uid) else {
                return Ok(DeploymentLock {
                    locks: Arc::clone(self),
                    deployment: deployment.clone(),
                    uid,
                });
            };
            if Instant::now() >= abandon {
                return Err(TaskFailure::LockHeld {
                    deployment: deployment.clone(),
                    uid,
                    holder: holder.task,
                    description: holder.description,
                });
            }
            let expires_in = Timestamp::now().duration_until(holder.expires_at);
            let expires_in = Duration::try_from(expires_in).unwrap_or_default();
            tokio::select! {
                () = released => {}
                () = sleep_until(abandon.min(Instant::now() + expires_in)) => {}
            }
        }
    }

    /// Lengthens the lease of the locks that a task holds. Fails if it held one and it was taken over.
    pub(in crate::director) fn renew(
        &self,
        deployment: &DeploymentName,
        task: TaskId,
    ) -> Result<(), LostLock> {
        let mut held = self.lock();
        let end = self.end_of_lease();
        match held.get_mut(deployment) {
            Some(holder) if holder.task == task => {
                holder.expires_at = end;
                held.save();
                Ok(())
            }
            _ => Err(LostLock),
        }
    }

    /// Whether there is a lock on this deployment that has not expired.
    pub(in crate::director) fn is_held(&self, deployment: &DeploymentName) -> bool {
        self.lock().get(deployment).is_some_and(Holder::is_alive)
    }

    /// The locks as the API shows them: what has expired is not among them (the Director's source, `LocksController`).
    pub(in crate::director) fn view(&self) -> Vec<Value> {
        let held = self.lock();
        let held: &BTreeMap<DeploymentName, Holder> = &held;
        held.iter()
            .filter(|(_, holder)| holder.is_alive())
            .map(|(deployment, holder)| {
                let end = holder.expires_at;
                json!({
                    "type": "deployment",
                    "resource": [deployment],
                    "timeout": format!("{}.{:06}", end.as_second(), end.subsec_microsecond()),
                    "task_id": holder.task.to_string(),
                })
            })
            .collect()
    }

    fn try_acquire(
        &self,
        deployment: &DeploymentName,
        task: TaskId,
        description: &str,
        uid: Uuid,
    ) -> Result<(), Holder> {
        let mut held = self.lock();
        match held.get(deployment) {
            Some(holder) if holder.is_alive() => Err(holder.clone()),
            _ => {
                let holder = Holder {
                    task,
                    description: description.to_owned(),
                    uid,
                    expires_at: self.end_of_lease(),
                };
                held.insert(deployment.clone(), holder);
                held.save();
                Ok(())
            }
        }
    }

    fn end_of_lease(&self) -> Timestamp {
        Timestamp::now() + self.lease
    }

    fn lock(&self) -> MutexGuard<'_, Rows<DeploymentName, Holder>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DeploymentLock {
    /// Gives the lock back, unless it was taken over meanwhile.
    pub(in crate::director) fn release(self) {
        let mut held = self.locks.lock();
        if held.get(&self.deployment).map(|holder| holder.uid) == Some(self.uid) {
            held.remove(&self.deployment);
            held.save();
        }
        drop(held);
        self.locks.released.notify_waiters();
    }
}
