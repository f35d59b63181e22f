//! One instance at a time, all instances at once: a lock for each instance id.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use odb_platform::http::Deadline;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

use super::LockTimeout;
use crate::{
    ids::InstanceId,
    telemetry::metrics::{Queue, metrics},
};

/// Locks are swept out when there are more than this.
const SWEEP_ABOVE: usize = 256;

/// The locks of all instances that somebody works on.
#[derive(Clone, Debug, Default)]
pub(super) struct Locks {
    held: Arc<Mutex<HashMap<InstanceId, Weak<AsyncMutex<()>>>>>,
}

impl Locks {
    /// Waits for its turn on the instance; first come, first served.
    pub(super) async fn acquire(
        &self,
        instance: &InstanceId,
        deadline: Deadline,
    ) -> Result<OwnedMutexGuard<()>, LockTimeout> {
        let lock = self.lock_of(instance);
        let _waiting = metrics().queues.wait(Queue::Instance);
        tokio::time::timeout_at(deadline.instant(), lock.lock_owned())
            .await
            .map_err(|_| LockTimeout {
                instance: instance.clone(),
            })
    }

    fn lock_of(&self, instance: &InstanceId) -> Arc<AsyncMutex<()>> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lock) = held.get(instance).and_then(Weak::upgrade) {
            return lock;
        }
        if held.len() > SWEEP_ABOVE {
            held.retain(|_, lock| lock.strong_count() > 0);
        }
        let lock = Arc::new(AsyncMutex::new(()));
        held.insert(instance.clone(), Arc::downgrade(&lock));
        lock
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn id(text: &str) -> InstanceId {
        InstanceId::try_from(text.to_owned()).unwrap()
    }

    #[tokio::test]
    async fn an_instance_is_worked_on_by_one_at_a_time() {
        let locks = Locks::default();
        let _first = locks
            .acquire(&id("a"), Deadline::after(Duration::from_secs(9)))
            .await
            .unwrap();
        let second = locks
            .acquire(&id("a"), Deadline::after(Duration::ZERO))
            .await;
        assert_eq!(second.unwrap_err().instance, id("a"));
    }

    #[tokio::test]
    async fn instances_do_not_wait_for_each_other() {
        let locks = Locks::default();
        let _first = locks
            .acquire(&id("a"), Deadline::after(Duration::from_secs(9)))
            .await
            .unwrap();
        assert!(
            locks
                .acquire(&id("b"), Deadline::after(Duration::from_secs(9)))
                .await
                .is_ok()
        );
    }

    #[tokio::test]
    async fn a_lock_that_was_let_go_can_be_had_again() {
        let locks = Locks::default();
        drop(
            locks
                .acquire(&id("a"), Deadline::after(Duration::from_secs(9)))
                .await
                .unwrap(),
        );
        assert!(
            locks
                .acquire(&id("a"), Deadline::after(Duration::from_secs(9)))
                .await
                .is_ok()
        );
    }
}
