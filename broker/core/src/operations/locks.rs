//! Locks of instances: one exclusive operation, or several concurrent requests about bindings. Instances do not wait
//! for each other.
//!
//! An instance has as many permits as requests about its bindings may run at once. Such a request takes one of them,
//! every other operation takes all. The semaphore is fair: a request for all permits is not overtaken by requests for
//! one. In addition, each binding id has a lock of its own, which is taken first, so that repetitions of one slow
//! request do not use up the permits of the instance.

use std::{
    collections::HashMap,
    num::NonZeroU32,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use odb_api_types::ids::{BindingId, InstanceId};
use odb_clients::http::Deadline;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::metrics::{Queue, metrics};

const PRUNE_ABOVE: usize = 256;

/// An instance, or a binding of it.
type Key = (InstanceId, Option<BindingId>);

#[derive(Clone, Debug)]
pub(super) struct Locks {
    /// A semaphore for each instance and each binding that is in use.
    used: Arc<Mutex<HashMap<Key, Weak<Semaphore>>>>,
    /// How many requests about bindings of one instance run at once.
    concurrent_bindings: NonZeroU32,
}

/// Holds a binding alone and its instance together with other bindings, until it is dropped: first the permit of the
/// instance.
pub(super) type BindingLock = [OwnedSemaphorePermit; 2];

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("another request on service instance `{instance}` took too long")]
pub struct LockTimeout {
    pub instance: InstanceId,
}

impl Locks {
    pub(super) fn new(concurrent_bindings: NonZeroU32) -> Self {
        Self {
            used: Arc::default(),
            concurrent_bindings,
        }
    }

    pub(super) async fn instance(
        &self,
        instance: &InstanceId,
        deadline: Deadline,
    ) -> Result<OwnedSemaphorePermit, LockTimeout> {
        let all = self.concurrent_bindings;
        let permits = self.acquire(instance, None, all, all);
        within(deadline, instance, permits).await
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
            let all = self.concurrent_bindings;
            let one = self.acquire(instance, None, NonZeroU32::MIN, all);
            [one.await, binding]
        };
        within(deadline, instance, permits).await
    }

    /// Waits until no other request works on the binding, whatever happens to its instance.
    pub(super) async fn binding_record(
        &self,
        instance: &InstanceId,
        binding: &BindingId,
        deadline: Deadline,
    ) -> Result<OwnedSemaphorePermit, LockTimeout> {
        within(deadline, instance, self.alone(instance, binding)).await
    }

    async fn alone(&self, instance: &InstanceId, binding: &BindingId) -> OwnedSemaphorePermit {
        let one = NonZeroU32::MIN;
        self.acquire(instance, Some(binding), one, one).await
    }

    /// Waits for `wanted` of the `all` permits of an instance or of a binding; first come, first served.
    async fn acquire(
        &self,
        instance: &InstanceId,
        binding: Option<&BindingId>,
        wanted: NonZeroU32,
        all: NonZeroU32,
    ) -> OwnedSemaphorePermit {
        self.of((instance.clone(), binding.cloned()), all)
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

async fn within<T>(
    deadline: Deadline,
    instance: &InstanceId,
    permits: impl Future<Output = T>,
) -> Result<T, LockTimeout> {
    let _waiting = metrics().wait(Queue::Instance);
    tokio::time::timeout_at(deadline.instant(), permits)
        .await
        .map_err(|_| LockTimeout {
            instance: instance.clone(),
        })
}

#[cfg(test)]
mod tests;
