//! Locks of instances: one exclusive operation, or several concurrent requests about bindings. Instances do not wait
//! for each other.
//!
//! An instance has as many permits as requests about its bindings may run at once. Such a request takes one of them,
//! every other operation takes all. The semaphore is fair: a request for all permits is not overtaken by requests for
//! one. In addition, each binding id has a lock of its own, which is taken first, so that repetitions of one slow
//! request do not use up the permits of the instance.

use std::{
    collections::HashMap,
    hash::Hash,
    num::NonZeroU32,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use odb_api_types::ids::{BindingId, InstanceId};
use odb_clients::http::Deadline;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::LockTimeout;
use crate::metrics::{Queue, metrics};

/// Unused locks are removed when there are more than this.
const PRUNE_ABOVE: usize = 256;

/// The locks of all instances and bindings that requests work on.
#[derive(Clone, Debug)]
pub(super) struct Locks {
    instances: Semaphores<InstanceId>,
    bindings: Semaphores<(InstanceId, BindingId)>,
    /// How many requests about bindings of one instance run at once.
    concurrent_bindings: NonZeroU32,
}

/// Holds an instance alone, until it is dropped.
#[derive(Debug)]
pub(super) struct InstanceLock {
    _permits: OwnedSemaphorePermit,
}

/// Holds a binding alone and its instance together with other bindings, until it is dropped.
#[derive(Debug)]
pub(super) struct BindingLock {
    _instance: OwnedSemaphorePermit,
    _binding: OwnedSemaphorePermit,
}

/// Locks the record of a binding exclusively, independent of its instance.
#[derive(Debug)]
pub(super) struct BindingRecordLock {
    _binding: OwnedSemaphorePermit,
}

impl Locks {
    pub(super) fn new(concurrent_bindings: NonZeroU32) -> Self {
        Self {
            instances: Semaphores::default(),
            bindings: Semaphores::default(),
            concurrent_bindings,
        }
    }

    /// Waits until no other request works on the instance.
    pub(super) async fn instance(
        &self,
        instance: &InstanceId,
        deadline: Deadline,
    ) -> Result<InstanceLock, LockTimeout> {
        let permits = self.instances.acquire(
            instance.clone(),
            self.concurrent_bindings,
            self.concurrent_bindings,
        );
        let held = within(deadline, instance, permits).await;
        held.map(|permits| InstanceLock { _permits: permits })
    }

    /// Waits until no other request works on the binding, and few enough on other bindings of the instance.
    pub(super) async fn binding(
        &self,
        instance: &InstanceId,
        binding: &BindingId,
        deadline: Deadline,
    ) -> Result<BindingLock, LockTimeout> {
        let permits = async {
            let binding = self.alone(instance, binding).await;
            let one = NonZeroU32::MIN;
            let instance = instance.clone();
            let permit = self
                .instances
                .acquire(instance, one, self.concurrent_bindings);
            BindingLock {
                _instance: permit.await,
                _binding: binding,
            }
        };
        within(deadline, instance, permits).await
    }

    /// Waits until no other request works on the binding.
    pub(super) async fn binding_record(
        &self,
        instance: &InstanceId,
        binding: &BindingId,
        deadline: Deadline,
    ) -> Result<BindingRecordLock, LockTimeout> {
        let permit = self.alone(instance, binding);
        let held = within(deadline, instance, permit).await;
        held.map(|binding| BindingRecordLock { _binding: binding })
    }

    async fn alone(&self, instance: &InstanceId, binding: &BindingId) -> OwnedSemaphorePermit {
        let key = (instance.clone(), binding.clone());
        let one = NonZeroU32::MIN;
        self.bindings.acquire(key, one, one).await
    }
}

async fn within<T>(
    deadline: Deadline,
    instance: &InstanceId,
    permits: impl Future<Output = T>,
) -> Result<T, LockTimeout> {
    let _waiting = metrics().queues.wait(Queue::Instance);
    tokio::time::timeout_at(deadline.instant(), permits)
        .await
        .map_err(|_| LockTimeout {
            instance: instance.clone(),
        })
}

/// A semaphore for each key that is in use.
#[derive(Clone, Debug)]
struct Semaphores<Key> {
    used: Arc<Mutex<HashMap<Key, Weak<Semaphore>>>>,
}

impl<Key> Default for Semaphores<Key> {
    fn default() -> Self {
        Self {
            used: Arc::default(),
        }
    }
}

impl<Key: Eq + Hash> Semaphores<Key> {
    /// Waits for `wanted` of the `all` permits that the key has; first come, first served.
    async fn acquire(&self, key: Key, wanted: NonZeroU32, all: NonZeroU32) -> OwnedSemaphorePermit {
        self.of(key, all)
            .acquire_many_owned(wanted.get())
            .await
            .expect("no semaphore here is ever closed")
    }

    fn of(&self, key: Key, permits: NonZeroU32) -> Arc<Semaphore> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(semaphore) = used.get(&key).and_then(Weak::upgrade) {
            return semaphore;
        }
        if used.len() > PRUNE_ABOVE {
            used.retain(|_, semaphore| semaphore.strong_count() > 0);
        }
        let permits = usize::try_from(permits.get()).unwrap_or(Semaphore::MAX_PERMITS);
        let semaphore = Arc::new(Semaphore::new(permits));
        used.insert(key, Arc::downgrade(&semaphore));
        semaphore
    }
}

#[cfg(test)]
mod tests;
