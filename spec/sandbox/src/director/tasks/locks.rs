//! The lock that lets one task at a time work on a deployment.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::{sync::Notify, time::timeout};
use uuid::Uuid;

use super::TaskFailure;
use crate::director::ids::{DeploymentName, TaskId};

/// A holder renews its lock well within this time; what `/locks` shows is its end.
const LEASE: Duration = Duration::from_mins(4);

/// The locks of all deployments.
#[derive(Default)]
pub(in crate::director) struct Locks {
    held: Mutex<BTreeMap<DeploymentName, Holder>>,
    released: Notify,
}

/// Holds the lock of one deployment until it is gone.
pub(in crate::director) struct DeploymentLock {
    locks: Arc<Locks>,
    deployment: DeploymentName,
}

#[derive(Clone)]
struct Holder {
    task: TaskId,
    description: String,
    since: Timestamp,
}

impl Locks {
    /// Waits for a deployment's lock, but not longer than `patience`.
    pub(in crate::director) async fn acquire(
        self: &Arc<Self>,
        deployment: &DeploymentName,
        task: TaskId,
        description: &str,
        patience: Duration,
    ) -> Result<DeploymentLock, TaskFailure> {
        let waiting = async {
            loop {
                let released = self.released.notified();
                tokio::pin!(released);
                released.as_mut().enable();
                if let Some(lock) = self.try_acquire(deployment, task, description) {
                    return lock;
                }
                released.await;
            }
        };
        timeout(patience, waiting).await.map_err(|_| {
            let holder = self.with(|held| held.get(deployment).cloned());
            TaskFailure::LockHeld {
                deployment: deployment.clone(),
                uid: Uuid::new_v4(),
                holder: holder.as_ref().map_or(TaskId::NONE, |holder| holder.task),
                description: holder.map(|holder| holder.description).unwrap_or_default(),
            }
        })
    }

    /// Whether a task holds the lock of this deployment.
    pub(in crate::director) fn is_held(&self, deployment: &DeploymentName) -> bool {
        self.with(|held| held.contains_key(deployment))
    }

    /// The locks as the API shows them.
    pub(in crate::director) fn view(&self) -> Vec<Value> {
        self.with(|held| {
            held.iter()
                .map(|(deployment, holder)| {
                    let end = holder.since + LEASE;
                    json!({
                        "type": "deployment",
                        "resource": [deployment],
                        "timeout": format!("{}.{:06}", end.as_second(), end.subsec_microsecond()),
                        "task_id": holder.task.to_string(),
                    })
                })
                .collect()
        })
    }

    fn try_acquire(
        self: &Arc<Self>,
        deployment: &DeploymentName,
        task: TaskId,
        description: &str,
    ) -> Option<DeploymentLock> {
        self.with(|held| {
            if held.contains_key(deployment) {
                return None;
            }
            let holder = Holder {
                task,
                description: description.to_owned(),
                since: Timestamp::now(),
            };
            held.insert(deployment.clone(), holder);
            Some(DeploymentLock {
                locks: Arc::clone(self),
                deployment: deployment.clone(),
            })
        })
    }

    fn with<T>(&self, use_them: impl FnOnce(&mut BTreeMap<DeploymentName, Holder>) -> T) -> T {
        use_them(&mut self.held.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for DeploymentLock {
    fn drop(&mut self) {
        self.locks.with(|held| held.remove(&self.deployment));
        self.locks.released.notify_waiters();
    }
}
